"""The report on the samples: compared with the rival, and with the project's targets for a start, a call and memory."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from bench.measures import COMMAND, FLOOR, LOOP, MODULE, RIVAL, Samples

_MOST_FLOORS = 3.0  # a bare `sys` + `json` loop takes 1.5 to 2
_MOST_INITIALIZE_MS = 100.0  # the contract's
_MOST_LIST_MS = 120.0


class Row(NamedTuple):
    """One line of the table: a measure of ours, and its target, an upper limit in the same unit."""

    label: str
    measure: str
    unit: str
    subject: str = COMMAND
    most: float | None = None
    in_floors: bool = False  # the value is a multiple of the floor, medians of the same run
    above_loop: bool = False  # the value is what is left when the bare loop's median of the same run is taken off
    more_is_better: bool = False


def _start_rows(subject: str) -> list[Row]:
    initialize = f"spawn to initialize reply, {subject}"
    return [
        Row(initialize, "initialize ms", "ms", subject, _MOST_INITIALIZE_MS),
        Row("  in floors", "initialize ms", "x", subject, _MOST_FLOORS, in_floors=True),
        Row(f"spawn to tools/list reply, {subject}", "tools/list ms", "ms", subject, _MOST_LIST_MS),
    ]


ROWS = [
    Row(f"floor: {FLOOR}, to exit", "process ms", "ms", FLOOR),
    *_start_rows(COMMAND),
    *_start_rows(MODULE),
    Row("end of input to exit", "exit ms", "ms"),
    Row("read_note of 4 KB, p50", "read_note p50 us", "us", most=1000.0),
    Row("read_note of 4 KB, p99", "read_note p99 us", "us"),
    Row("tools/call of a no-op, p50", "tools/call p50 us", "us"),
    # What a call costs over two pipes and a JSON loop: those vary five-fold here with how deep the cores sleep.
    Row("  overhead: above the bare loop", "tools/call p50 us", "us", most=150.0, above_loop=True),
    Row("tools/call of a no-op, p99", "tools/call p99 us", "us"),
    Row("no-op calls with 64 in flight", "calls/s", "1/s", more_is_better=True),
    Row("resident memory, 1,000 notes", "memory MiB", "MiB", most=30.0),
    Row("  its peak", "peak memory MiB", "MiB"),
    Row("search_notes, common word", "search_notes, common word, ms", "ms"),
    Row("search_notes, rare word", "search_notes, rare word, ms", "ms"),
    Row("search_by_tags", "search_by_tags ms", "ms"),
    Row("list_notes, first 100", "list_notes ms", "ms"),
    Row("read_note by its bare name", "read_note by bare name ms", "ms"),
]
_HEADINGS = ("", "median", "least", "most", "unit", LOOP, RIVAL, "better by", "target", "met")


def environment(**more: str) -> dict[str, str]:
    """Return the facts besides the code on which the figures depend, together with ``more``."""
    load = " ".join(f"{value:.2f}" for value in os.getloadavg()) if hasattr(os, "getloadavg") else "unknown"
    return {
        "load average": load,
        "CPUs": str(os.cpu_count()),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "vaultwire": importlib.metadata.version("vaultwire"),
        **more,
    }


def table(samples: Samples) -> str:
    """Return the table for a person."""
    lines = aligned([_HEADINGS, *(_cells(row, samples) for row in ROWS)])
    if samples.median("memory MiB", COMMAND) is None:
        lines.append("(no /proc here, so no figures of memory)")
    return "\n".join(lines)


def aligned(lines: Sequence[tuple[str, ...]]) -> list[str]:
    """Return a table's lines, headings first: words are left-aligned, figures right-aligned."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    table = [
        "  ".join(
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    ]
    table.insert(1, "-" * (sum(widths) + 2 * (len(widths) - 1)))
    return table


def missed_targets(samples: Samples) -> list[str]:
    """Return in words the targets that this run missed."""
    missed = []
    for row in ROWS:
        if row.most is not None and _met(row, samples) is False:
            limit = number(row.most)
            missed.append(f"{row.label.strip()} ({row.subject}) {number(_value(row, samples))} > {limit} {row.unit}")
    return missed


def write_json(path: Path, facts: dict[str, str], samples: Samples) -> None:
    """Write the rows and every sample behind them."""
    rows = [
        {
            "label": row.label.strip(),
            "subject": row.subject,
            "measure": row.measure,
            "unit": row.unit,
            "median": _value(row, samples),
            "bare_loop": _value(row, samples, LOOP),
            "rival": _value(row, samples, RIVAL),
            "better_by": _ratio(row, samples),
            "target_at_most": row.most,
            "met": _met(row, samples),
        }
        for row in ROWS
    ]
    write_result(path, {"environment": facts, "rows": rows, "samples": by_measure(samples)})


def by_measure(samples: Samples) -> dict[str, dict[str, list[float]]]:
    """Return the samples as JSON."""
    taken: dict[str, dict[str, list[float]]] = {}
    for (measure, subject), values in samples.items():
        taken.setdefault(measure, {})[subject] = [round(value, 4) for value in values]
    return taken


def write_result(path: Path, result: dict[str, Any]) -> None:
    """Write a result as JSON, making its folder."""
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _cells(row: Row, samples: Samples) -> tuple[str, ...]:
    met = _met(row, samples)
    ratio = _ratio(row, samples)
    return (
        row.label,
        number(_value(row, samples)),
        number(_value(row, samples, pick=min)),
        number(_value(row, samples, pick=max)),
        row.unit,
        "" if row.above_loop else number(_value(row, samples, LOOP)),
        number(_value(row, samples, RIVAL)),
        "" if ratio is None else f"{ratio:.2f}x",
        "" if row.most is None else f"<= {number(row.most)}",
        "" if met is None else "yes" if met else "NO",
    )


def _value(
    row: Row, samples: Samples, subject: str | None = None, pick: Callable[[list[float]], float] = statistics.median
) -> float | None:
    """Return a row's figure for its own subject or another; by default the median."""
    taken = samples.get((row.measure, subject or row.subject))
    if not taken:
        return None
    if row.above_loop:
        loop = samples.median(row.measure, LOOP)
        return None if loop is None else pick(taken) - loop
    if not row.in_floors:
        return pick(taken)
    floor = samples.median("process ms", FLOOR)
    return pick(taken) / floor if floor else None


def _ratio(row: Row, samples: Samples) -> float | None:
    """Return how many times better than the rival we are; below 1, the rival is better."""
    ours, rival = _value(row, samples), _value(row, samples, RIVAL)
    if not ours or not rival or row.in_floors or row.above_loop:  # it would be the row above once more
        return None
    return ours / rival if row.more_is_better else rival / ours


def _met(row: Row, samples: Samples) -> bool | None:
    value = _value(row, samples)
    return None if row.most is None or value is None else value <= row.most


def number(value: float | None) -> str:
    """Return a number with about three digits; an empty text for None."""
    if value is None:
        return ""
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}" if value < 100 else f"{value:.0f}"
