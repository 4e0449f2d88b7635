"""The engine's part of the bench: measures vaults of several sizes in turn, writes tables and JSON."""

from __future__ import annotations

import importlib.metadata
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import engine_report
from bench.client import compile_sources
from bench.engine_measures import EngineBench
from bench.engine_session import EngineSamples
from bench.engine_vault import kept_vault
from bench.report import environment, write_result

_WARM_STARTS = 5
# The index of a large vault takes half a minute to build, so one build is exact enough.
_BUILDS, _BUILDS_OF_LARGE, _LARGE = 3, 1, 20_000


def run(sizes: Sequence[int], path: Path) -> list[str]:
    """Measure the engine on vaults of these sizes, print tables, write JSON; return the missed targets."""
    facts = environment(ripgrep=importlib.metadata.version("ripgrep"), sizes=" ".join(map(str, sizes)))
    print("\n".join(f"{name}: {value}" for name, value in facts.items()), flush=True)
    compile_sources()
    results, missed = [], []
    for notes in sizes:
        vault, is_new = kept_vault(notes)
        print(f"\n{vault}{' (written now)' if is_new else ''}", flush=True)
        samples = _measure(notes, vault)
        print(engine_report.tables(notes, samples), flush=True)
        results.append(engine_report.to_json(notes, samples))
        missed += engine_report.missed_targets(notes, samples)
        write_result(path, {"environment": facts, "vaults": results})  # after each size: a later one may fail
    print(f"\n{engine_report.NOTE}")
    return missed


def _measure(notes: int, vault: Path) -> EngineSamples:
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        say(f"{notes} notes: reading them")
        bench = EngineBench(vault, Path(folder))
        for number in range(_BUILDS_OF_LARGE if notes > _LARGE else _BUILDS):
            say(f"{notes} notes: first build {number + 1}")
            bench.measure_first_build(number)
        for number in range(_WARM_STARTS):
            say(f"{notes} notes: warm start {number + 1} of {_WARM_STARTS}")
            bench.measure_warm_start(number)
        say(f"{notes} notes: searches, ripgrep, lists, small changes")
        bench.measure_calls()
        say(f"{notes} notes: checks")
        bench.measure_checks()
        say(f"{notes} notes: large changes")
        bench.measure_large_changes()
    say("")
    return bench.samples


def say(text: str) -> None:
    """Show the progress if stderr is a terminal."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
