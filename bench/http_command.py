"""The HTTP part of the bench: runs rounds of measurements, writes a table and JSON, compares with the targets."""

from __future__ import annotations

import importlib.metadata
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from bench.client import compile_sources
from bench.engine_command import say
from bench.http_measures import APP, ASGI, BARE, FLIGHTS, MODES, STATELESS, HttpBench
from bench.measures import COMMAND, RIVAL, Samples
from bench.report import aligned, by_measure, environment, number, write_result
from bench.sample_vault import write_vault

_TIMES = 2.0  # as good as the rival, at least: calls/s and p50
_MOST_START_MS = 400.0
_MOST_MEMORY_MIB = 60.0
_HEADINGS = ("", "vaultwire", "least", "most", BARE, ASGI, APP, "mcp SDK", "better by", "target", "met")
_NOTE = """\
bare loop and uvicorn answer the same bytes to everything: what lies below them is the system's and the client's, and no
server in Python can be better than that. "ours on uvicorn" is vaultwire.app:asgi on the server that the rival uses.
At 1 in flight the client does not sleep while it waits, so its time is all of the call's. "client us" is the processor time
of the client itself for one call, "server us" that of the server."""


class Row(NamedTuple):
    """One line: a measure, what it must be at most, or how many times as good as the rival's."""

    label: str
    measure: str
    times: float | None = None
    most: float | None = None
    more_is_better: bool = False


def _rows() -> list[Row]:
    rows = []
    for in_flight in FLIGHTS:
        for mode in MODES:
            where = f"{mode}, {in_flight} in flight"
            rows += [
                Row(f"{where}: calls/s", f"{where}: calls/s", _TIMES, more_is_better=True),
                Row("  p50 us", f"{where}: p50 us", _TIMES),
                Row("  p99 us", f"{where}: p99 us"),
                Row("  server us", f"{where}: server us"),
                Row("  client us", f"{where}: client us"),
            ]
    rows.append(Row("spawn to first answer, ms", "start ms", most=_MOST_START_MS))
    rows += [
        Row(f"memory after {moment}, MiB", f"memory after {moment} MiB", most=_MOST_MEMORY_MIB)
        for moment in ("first answer", "first job", "load")
    ]
    return rows


def run(runs: int, path: Path) -> list[str]:
    """Measure HTTP, print the table, write the JSON; return the missed targets."""
    facts = environment(
        rival=f"mcp {importlib.metadata.version('mcp')} (official Python SDK, low-level server), JSON answers, on "
        f"uvicorn {importlib.metadata.version('uvicorn')} with uvloop and httptools",
        runs=f"{runs} of each figure, round robin; medians",
    )
    print("\n".join(f"{name}: {value}" for name, value in facts.items()) + "\n", flush=True)
    compile_sources()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="vaultwire-bench-") as folder:
        vault = Path(folder) / "vault"
        vault.mkdir()
        write_vault(vault)
        bench = HttpBench(vault, Path(folder))
        bench.warm_up()
        for turn in range(runs):
            say(f"starts and memory {turn + 1} of {runs}")
            bench.measure_starts()
            bench.measure_memory()
        bench.measure_calls(runs, say)
    say("")
    facts["took s"] = f"{time.perf_counter() - began:.0f}"
    rows = _rows()
    print("\n".join(aligned([_HEADINGS, *(_cells(row, bench.samples) for row in rows)])), f"\n{_NOTE}", sep="\n")
    judged = [
        {"label": row.measure, "better_by": _ratio(row, bench.samples), "met": _met(row, bench.samples)} for row in rows
    ]
    write_result(path, {"environment": facts, "rows": judged, "samples": by_measure(bench.samples)})
    return [f"{row.measure} ({_missed(row, bench.samples)})" for row in rows if _met(row, bench.samples) is False]


def _cells(row: Row, samples: Samples) -> tuple[str, ...]:
    taken = samples.get((row.measure, COMMAND), [])
    ratio, met = _ratio(row, samples), _met(row, samples)
    target = f">= {row.times:g}x" if row.times else f"<= {number(row.most)}" if row.most else ""
    return (
        row.label,
        number(samples.median(row.measure, COMMAND)),
        number(min(taken, default=None)),
        number(max(taken, default=None)),
        *(number(_floor(row, subject, samples)) for subject in (BARE, ASGI)),
        number(samples.median(row.measure, APP)),
        number(samples.median(row.measure, RIVAL)),
        "" if ratio is None else f"{ratio:.2f}x",
        target,
        "" if met is None else "yes" if met else "NO",
    )


def _floor(row: Row, subject: str, samples: Samples) -> float | None:
    """Return a floor's figure, which is the same for every measure."""
    measure = row.measure
    for mode in MODES:
        measure = measure.replace(mode + ", ", STATELESS + ", ", 1) if measure.startswith(mode) else measure
    return samples.median(measure, subject)


def _ratio(row: Row, samples: Samples) -> float | None:
    ours, rival = samples.median(row.measure, COMMAND), samples.median(row.measure, RIVAL)
    if not ours or not rival:
        return None
    return ours / rival if row.more_is_better else rival / ours


def _met(row: Row, samples: Samples) -> bool | None:
    if row.times is not None:
        ratio = _ratio(row, samples)
        return None if ratio is None else ratio >= row.times
    ours = samples.median(row.measure, COMMAND)
    return None if row.most is None or ours is None else ours <= row.most


def _missed(row: Row, samples: Samples) -> str:
    if row.times is not None:
        return f"{_ratio(row, samples) or 0:.2f} times as good as the rival, not {row.times:g}"
    return f"{number(samples.median(row.measure, COMMAND))} > {number(row.most)}"
