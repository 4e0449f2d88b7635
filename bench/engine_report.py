"""The report on the engine's samples, compared with ripgrep and with the project's targets."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.engine_checks import CHANGED, COLD, SAME
from bench.engine_edits import BACKLINKS
from bench.engine_lists import FAILS
from bench.engine_measures import RIPGREP
from bench.engine_session import EngineSamples
from bench.engine_targets import targets_of
from bench.measures import COMMAND
from bench.report import aligned, by_measure, number

NOTE = f"""\
notes: found by the searches compared (median). p50: every query five times, hundreds of others in between; of case, parts
and regular expressions once. first: p50 of the first time. again: p50 right after it was asked. {RIPGREP}: one process on
the vault's folder, the files in the system's cache, its output read; of several words it gets the rarest only or those that
OR separates, which favours it, and of names of notes, diacritics, word edges, -not and tags it knows nothing. faster: its
median over our p50 of the same queries. after a change: the first call after a note was written.
The answers of these calls were compared with the notes themselves; what failed or was wrong is named below."""

# Classes that the index alone cannot answer: they have targets of their own.
_PATTERNS = {
    *("match-case:", "line:", "section:", "block:"),
    *("regex with a literal", "regex with alternatives", "regex without a literal"),
}


class Figure(NamedTuple):
    """One figure and its target: a maximum, or with ``is_least`` a minimum."""

    label: str
    value: float | None
    unit: str
    target: float | None = None
    is_least: bool = False
    least: float | None = None
    most: float | None = None

    @property
    def limit(self) -> str:
        """The target in words."""
        return "" if self.target is None else f"{'>=' if self.is_least else '<='} {number(self.target)}"

    @property
    def met(self) -> bool | None:
        """Whether it is met; None without a target or a figure."""
        if self.target is None or self.value is None:
            return None
        return self.value >= self.target if self.is_least else self.value <= self.target


def tables(notes: int, samples: EngineSamples) -> str:
    """Return the tables of one vault: searches by class, lists, changes of many notes, and everything else."""
    head = ("notes", "p50 ms", "first", "again", "p95 ms", "p99 ms", RIPGREP, "faster", "calls", "missed")
    searches: list[tuple[str, ...]] = [(f"search, {notes:,} notes", *head)]
    for kind in _rows(samples, "search ms"):
        calls = str(len(samples["search ms", kind]))
        searches.append(_line(kind, _search_figures(notes, samples, kind), samples, calls))
    for label, kind in (("target", "OR"), ("target of case, parts and regular expressions", "line:")):
        searches.append((label, *(figure.limit for figure in _search_figures(notes, samples, kind)), "", ""))
    lists: list[tuple[str, ...]] = [
        (f"lists, {notes:,} notes", "p50 ms", "first", "p95 ms", "after a change", "target", "calls", "missed")
    ]
    for row in _rows(samples, "list ms"):
        figures = _list_figures(notes, samples, row)
        lists.append(_line(row, figures, samples, figures[0].limit, str(len(samples["list ms", row]))))
    changes: list[tuple[str, ...]] = [(f"large changes, {notes:,} notes", *_CHANGE_HEADS, "missed")]
    rows = _rows(samples, "dry run s")
    changes += [_line(row, _change_figures(notes, samples, row), samples) for row in rows]
    if rows:
        changes.append(("target", *(figure.limit for figure in _change_figures(notes, samples, rows[0])), ""))
    others = [(f"the rest, {notes:,} notes", "median", "least", "most", "unit", "target", "met")]
    for figure in _other_figures(notes, samples):
        met = "" if figure.met is None else "yes" if figure.met else "NO"
        values = (number(figure.value), number(figure.least), number(figure.most))
        others.append((figure.label, *values, figure.unit, figure.limit, met))
    blocks = ["\n".join(aligned(table)) for table in (searches, lists, changes, others) if len(table) > 1]
    return "\n\n".join([*blocks, *_failures(samples)])


def missed_targets(notes: int, samples: EngineSamples) -> list[str]:
    """Return in words the targets that this vault's figures missed, and what failed or was wrong."""
    missed = [
        f"{figure.label.strip()} at {notes:,} notes {number(figure.value)} {figure.unit}, not {figure.limit}"
        for figure in _figures(notes, samples)
        if figure.met is False
    ]
    return missed + [f"{failure} (at {notes:,} notes)" for failure in _failures(samples)]


def to_json(notes: int, samples: EngineSamples) -> dict[str, Any]:
    """Return the figures, the failures and all samples."""
    rows = [
        {**figure._asdict(), "label": figure.label.strip(), "met": figure.met} for figure in _figures(notes, samples)
    ]
    return {"notes": notes, "rows": rows, "failures": _failures(samples), "samples": by_measure(samples)}


def _failures(samples: EngineSamples) -> list[str]:
    return [f"{row}: {times} x {reason}" for row, (times, reason) in samples.failures.items()]


def _line(row: str, figures: Sequence[Figure], samples: EngineSamples, *more: str) -> tuple[str, ...]:
    missed = [figure.label.split(": ")[-1] for figure in figures if figure.met is False]
    if row in samples.failures:
        times, reason = samples.failures[row]
        missed.append(f"{times} {'WRONG' if 'WRONG' in reason else 'failed'}")
    return (row, *(number(figure.value) for figure in figures), *more, ", ".join(missed))


def _figures(notes: int, samples: EngineSamples) -> list[Figure]:
    return [
        *(figure for kind in _rows(samples, "search ms") for figure in _search_figures(notes, samples, kind)),
        *(figure for row in _rows(samples, "list ms") for figure in _list_figures(notes, samples, row)),
        *(figure for row in _rows(samples, "dry run s") for figure in _change_figures(notes, samples, row)),
        *_other_figures(notes, samples),
    ]


def _rows(samples: EngineSamples, sought: str) -> list[str]:
    return [subject for measure, subject in samples if measure == sought]


def _search_figures(notes: int, samples: EngineSamples, kind: str) -> list[Figure]:
    target, is_pattern = targets_of(notes), kind in _PATTERNS
    ripgrep, ours = samples.median("ripgrep ms", kind), samples.median("search as ripgrep's ms", kind)

    def figure(what: str, value: float | None, most: float | None = None) -> Figure:
        return Figure(f"search, {kind}: {what}", value, "ms", most)

    return [
        Figure(f"search, {kind}: notes found", samples.median("notes found", kind), "notes"),
        figure(
            "p50",
            samples.median("search ms", kind),
            target.pattern_p50_ms if is_pattern else target.search_p50_ms,
        ),
        figure("first p50", samples.median("search for the first time ms", kind)),
        figure("again p50", samples.median("search again ms", kind)),
        figure("p95", _part(samples, "search ms", kind, 95), target.pattern_p95_ms if is_pattern else None),
        figure("p99", _part(samples, "search ms", kind, 99), None if is_pattern else target.search_p99_ms),
        figure(RIPGREP, ripgrep),
        Figure(
            f"search, {kind}: faster",
            ripgrep / ours if ripgrep and ours else None,
            "x",
            None if is_pattern else target.least_faster,
            is_least=True,
        ),
    ]


def _list_figures(notes: int, samples: EngineSamples, row: str) -> list[Figure]:
    target = targets_of(notes)
    of_kinds = (FAILS, target.fails_ms), ("graph", target.graph_ms), ("find_notes, mistyped", target.fuzzy_ms)
    most = next((most for kind, most in of_kinds if row.startswith(kind)), target.list_ms)
    return [
        Figure(f"{row}: p50", samples.median("list ms", row), "ms", most),
        Figure(f"{row}: first", samples.median("list for the first time ms", row), "ms", most),
        Figure(f"{row}: p95", _part(samples, "list ms", row, 95), "ms"),
        Figure(f"{row}: after a change", samples.median("list after a change ms", row), "ms", most),
    ]


_CHANGE_HEADS = (
    *("files", "dry run s", "change s", "ms a file", "peak MiB", "search meanwhile ms", "slowest ms", "progress"),
    *("undo s", "undo ms a file"),
)


def _change_figures(notes: int, samples: EngineSamples, row: str) -> list[Figure]:
    target = targets_of(notes)
    searches = samples.get(("search meanwhile ms", row), [])
    return [
        Figure(f"{row}: files changed", samples.median("files changed", row), "files"),
        Figure(f"{row}: dry run", samples.median("dry run s", row), "s", target.dry_run_s),
        Figure(f"{row}: change", samples.median("change s", row), "s"),
        Figure(f"{row}: ms a file", samples.median("change ms a file", row), "ms", target.change_ms_a_file),
        Figure(f"{row}: peak", samples.median("change peak MiB", row), "MiB", target.change_peak_mib),
        Figure(f"{row}: search meanwhile", statistics.median(searches) if searches else None, "ms"),
        Figure(f"{row}: slowest search meanwhile", max(searches, default=None), "ms"),
        Figure(f"{row}: progress reports", samples.median("progress reports", row), ""),
        Figure(f"{row}: undo", samples.median("undo s", row), "s"),
        Figure(f"{row}: undo ms a file", samples.median("undo ms a file", row), "ms", target.change_ms_a_file),
    ]


def _part(samples: EngineSamples, measure: str, row: str, percent: int) -> float | None:
    taken = sorted(samples.get((measure, row), []))
    return taken[len(taken) * percent // 100] if taken else None


def _other_figures(notes: int, samples: EngineSamples) -> list[Figure]:
    target = targets_of(notes)

    def figure(label: str, measure: str, unit: str = "ms", target: float | None = None, row: str = COMMAND) -> Figure:
        taken = samples.get((measure, row), [])
        if not taken:  # not measured; memory only where there is a /proc
            return Figure(label, None, unit, target)
        return Figure(label, statistics.median(taken), unit, target, least=min(taken), most=max(taken))

    build, warm = samples.median("first build ms", COMMAND), samples.median("warm start ms", COMMAND)
    append, synced = samples.median("append ms", COMMAND), samples.median("disk of an append ms", COMMAND)
    # Without an index nothing was built.
    per_note = (build - warm) / notes if build and warm and samples.median("index MB", COMMAND) else None
    return [
        figure("empty cache: spawn to a search's answer from all notes", "first build ms"),
        Figure("  in seconds", build / 1e3 if build else None, "s", target.build_s),
        Figure("  above the warm start, a note", per_note, "ms", target.build_ms_a_note),
        figure("  spawn to the first answer", "first answer of a build ms"),
        figure("  of the notes searched in it", "notes in the first answer %", "%"),
        figure("  a search meanwhile", "search in a build ms"),
        figure("  peak memory", "first build peak MiB", "MiB", target.peak_mib),
        figure("  memory afterwards", "memory after build MiB", "MiB", target.memory_after_build_mib),
        figure("index on the disk", "index MB", "MB"),
        figure("  by the size of the notes", "index by text", "x", target.index_by_text),
        figure("warm: spawn to first search's answer", "warm start ms", target=target.warm_start_ms),
        figure("  peak memory", "warm start peak MiB", "MiB", target.peak_mib),
        figure("searches so far when memory is read", "searches before memory", ""),
        figure("resident memory", "memory MiB", "MiB", target.memory_mib),
        figure("  of it no file's", "memory of its own MiB", "MiB"),
        figure("  its peak after the searches for words and the lists", "peak of calls MiB", "MiB", target.peak_mib),
        figure("  and after those of case, parts and patterns", "peak with patterns MiB", "MiB", target.peak_mib),
        figure("lines that link to a note", "backlinks ms", target=target.structure_ms),
        figure("outline of a note", "outline ms", target=target.structure_ms),
        figure(COLD, "check s", "s", target.check_s, COLD),
        figure("  progress reports", "progress reports", "", row=COLD),
        figure(CHANGED, "check s", "s", target.check_again_s, CHANGED),
        figure(SAME, "check s", "s", target.check_same_s, SAME),
        figure("write_note of a changed note", "write_note ms"),
        figure("  first search after it", "search after write_note ms"),
        figure("  both together", "write_note and search ms", target=target.reindex_ms),
        figure("edit_note, a line appended", "append ms"),
        figure("  of it the disk: two files synced, one put in place", "disk of an append ms"),
        Figure("  of it ours", append - synced if append and synced else None, "ms", target.append_ms),
        figure(f"move_notes, {BACKLINKS} links rewritten", "rename ms", target=target.rename_ms),
        figure("  its dry run", "dry run of rename ms", target=target.rename_dry_run_ms),
        figure("change from outside, to the search that finds it", "change from outside ms", target=target.outside_ms),
    ]
