"""The bench's command line: options in, rounds of measurements, table and JSON out."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.client import compile_sources
from bench.measures import Bench
from bench.report import environment, missed_targets, table, write_json
from bench.sample_vault import write_vault

_FEWEST_RUNS = 7  # below that a median says little


def main() -> int:
    """Measure and report. Exit code 1 only with ``--strict`` and a missed target: figures of a busy machine prove nothing."""
    options = _parser().parse_args()
    if min(options.starts, options.runs) < _FEWEST_RUNS:
        print(f"medians of fewer than {_FEWEST_RUNS} runs are not worth printing", file=sys.stderr)
        return 2
    facts = environment(options.starts, options.runs)
    print("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n", flush=True)
    compile_sources()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        write_vault(Path(folder))
        bench = Bench(Path(folder))
        bench.warm_up()
        # Round robin: whatever disturbs the machine for a while disturbs every measure alike.
        for number in range(options.starts):
            _say(f"starts {number + 1} of {options.starts}")
            bench.measure_starts()
        for number in range(options.runs):
            _say(f"calls {number + 1} of {options.runs}")
            bench.measure_calls()
    _say("")
    facts["took s"] = f"{time.perf_counter() - began:.0f}"
    print(table(bench.samples))
    path = Path(__file__).parent / "results" / f"{options.name}.json"
    write_json(path, facts, bench.samples)
    print(f"\nmeasured in {facts['took s']} s, written to {path.relative_to(Path(__file__).parents[1])}")
    missed = missed_targets(bench.samples)
    if missed:
        print(f"missed in this run: {'; '.join(missed)}")
    return 1 if missed and options.strict else 0


def _say(text: str) -> None:
    """Show how far it is, where somebody watches."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--starts", type=int, default=21, help="processes per start-up figure (default: 21)")
    parser.add_argument("--runs", type=int, default=7, help="processes per latency and memory figure (default: 7)")
    parser.add_argument("--name", default="stdio", help="name of the file in bench/results (default: stdio)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target was missed")
    return parser
