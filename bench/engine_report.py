"""The report on the engine's samples, compared with ripgrep and with the project's targets."""

from __future__ import annotations

import statistics
from typing import Any, NamedTuple

from bench.engine_edits import BACKLINKS
from bench.engine_measures import RIPGREP
from bench.measures import COMMAND, Samples
from bench.report import aligned, by_measure, number

# The size of a usual vault; larger ones have other targets.
_USUAL_NOTES = 10_000
_MOST_BUILD_MS_A_NOTE = 0.6
_MOST_WARM_START_MS = (400.0, 1500.0)  # usual, larger
_MOST_SEARCH_P50_MS = (2.0, 3.0)
_MOST_SEARCH_P99_MS = 15.0
_LEAST_FASTER = 30.0
_MOST_STRUCTURE_MS = 2.0
_MOST_REINDEX_MS = 10.0
_MOST_UNSEEN_MS = 100.0
_MOST_APPEND_MS = 3.0
_MOST_RENAME_MS = 1500.0
_MOST_DRY_RUN_MS = 300.0
_MOST_MEMORY_MIB = 114.0  # 120 MB

NOTE = f"""\
notes: found by the searches compared (median). p50: every query five times, hundreds of others in between. first: p50 of
the first time. again: p50 right after it was asked, as for the next page. {RIPGREP}: one process on the vault's folder, the
files in the system's cache, its output read; of three words it gets the rarest only, which favours it, and of names of
notes, diacritics, word edges and tags it knows nothing. faster: its median over our p50 of the same queries.
The hits of these queries were compared with the notes themselves."""


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


def tables(notes: int, samples: Samples) -> str:
    """Return both tables of one vault: searches by class, and everything else."""
    searches = [
        (
            f"search, {notes:,} notes",
            "notes",
            "calls",
            "p50 ms",
            "first",
            "again",
            "p99 ms",
            "ripgrep",
            "faster",
            "missed",
        )
    ]
    for kind in _kinds(samples):
        row = _search_figures(notes, samples, kind)
        calls = f"{len(samples['search ms', kind])}"
        missed = ", ".join(figure.label.split(": ")[1] for figure in row if figure.met is False)
        found, p50, first, again, p99, ripgrep, faster = (number(figure.value) for figure in row)
        searches.append((kind, found, calls, p50, first, again, p99, ripgrep, f"{faster}x", missed))
    p50, _, _, p99, _, faster = (figure.limit for figure in _search_figures(notes, samples, _kinds(samples)[0])[1:])
    searches.append(("target", "", "", p50, "", "", p99, "", f"{faster}x", ""))
    others = [(f"the rest, {notes:,} notes", "median", "least", "most", "unit", "target", "met")]
    for figure in _other_figures(notes, samples):
        met = "" if figure.met is None else "yes" if figure.met else "NO"
        values = (number(figure.value), number(figure.least), number(figure.most))
        others.append((figure.label, *values, figure.unit, figure.limit, met))
    return "\n".join([*aligned(searches), "", *aligned(others)])


def missed_targets(notes: int, samples: Samples) -> list[str]:
    """Return in words the targets that this vault's figures missed."""
    return [
        f"{figure.label.strip()} at {notes:,} notes {number(figure.value)} {figure.unit}, not {figure.limit}"
        for figure in _figures(notes, samples)
        if figure.met is False
    ]


def to_json(notes: int, samples: Samples) -> dict[str, Any]:
    """Return the figures and all samples."""
    rows = [
        {**figure._asdict(), "label": figure.label.strip(), "met": figure.met} for figure in _figures(notes, samples)
    ]
    return {"notes": notes, "rows": rows, "samples": by_measure(samples)}


def _figures(notes: int, samples: Samples) -> list[Figure]:
    searches = [figure for kind in _kinds(samples) for figure in _search_figures(notes, samples, kind)]
    return searches + _other_figures(notes, samples)


def _kinds(samples: Samples) -> list[str]:
    return [subject for measure, subject in samples if measure == "search ms"]


def _search_figures(notes: int, samples: Samples, kind: str) -> list[Figure]:
    taken = sorted(samples["search ms", kind])
    ripgrep, ours = samples.median("ripgrep ms", kind), samples.median("search as ripgrep's ms", kind)
    p50 = _MOST_SEARCH_P50_MS[notes > _USUAL_NOTES]
    return [
        Figure(f"search, {kind}: notes found", samples.median("notes found", kind), "notes"),
        Figure(f"search, {kind}: p50", statistics.median(taken), "ms", p50),
        Figure(f"search, {kind}: first p50", samples.median("search for the first time ms", kind), "ms"),
        Figure(f"search, {kind}: again p50", samples.median("search again ms", kind), "ms"),
        Figure(f"search, {kind}: p99", taken[len(taken) * 99 // 100], "ms", _MOST_SEARCH_P99_MS),
        Figure(f"search, {kind}: {RIPGREP}", ripgrep, "ms"),
        Figure(
            f"search, {kind}: faster", ripgrep / ours if ripgrep and ours else None, "x", _LEAST_FASTER, is_least=True
        ),
    ]


def _other_figures(notes: int, samples: Samples) -> list[Figure]:
    def figure(label: str, measure: str, unit: str = "ms", target: float | None = None) -> Figure:
        taken = samples.get((measure, COMMAND), [])
        if not taken:  # no /proc here, so no figures of memory
            return Figure(label, None, unit, target)
        return Figure(label, statistics.median(taken), unit, target, least=min(taken), most=max(taken))

    build, warm = samples.median("first build ms", COMMAND), samples.median("warm start ms", COMMAND)
    append, synced = samples.median("append ms", COMMAND), samples.median("disk of an append ms", COMMAND)
    # Without an index nothing was built.
    per_note = (build - warm) / notes if build and warm and samples.median("index MB", COMMAND) else None
    return [
        figure("empty cache: spawn to first search's answer", "first build ms"),
        Figure("  above the warm start, a note", per_note, "ms", _MOST_BUILD_MS_A_NOTE),
        figure(
            "warm: spawn to first search's answer", "warm start ms", target=_MOST_WARM_START_MS[notes > _USUAL_NOTES]
        ),
        figure("list_backlinks", "list_backlinks ms", target=_MOST_STRUCTURE_MS),
        figure("list_tags", "list_tags ms", target=_MOST_STRUCTURE_MS),
        figure("get_outline", "get_outline ms", target=_MOST_STRUCTURE_MS),
        figure("write_note of a changed note", "write_note ms"),
        figure("  first search after it", "search after write_note ms"),
        figure("  both together", "write_note and search ms", target=_MOST_REINDEX_MS),
        figure("edit_note, a line appended", "append ms"),
        figure("  of it the disk: two files synced, one put in place", "disk of an append ms"),
        Figure("  of it ours", append - synced if append and synced else None, "ms", _MOST_APPEND_MS),
        figure(f"move_note, {BACKLINKS} links rewritten", "rename ms", target=_MOST_RENAME_MS),
        figure("  its dry run", "dry run of rename ms", target=_MOST_DRY_RUN_MS),
        figure("change from outside, to the search that finds it", "change from outside ms", target=_MOST_UNSEEN_MS),
        figure("searches so far when memory is read", "searches before memory", ""),
        figure("resident memory", "memory MiB", "MiB", _MOST_MEMORY_MIB),
        figure("  of it no file's", "memory of its own MiB", "MiB"),
        figure("  its peak at the first build", "first build peak MiB", "MiB"),
        figure("index on the disk", "index MB", "MB"),
    ]
