"""Runs one view of a base: filters, sorts, groups, limits and sums up. Cells are made when they are first asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple

from vaultwire.bases.base import Base, Condition, Expression, Filter, Group, Sorting, View
from vaultwire.bases.comparing import is_empty, is_last, is_truthy, key_bytes, sort_key
from vaultwire.bases.evaluation import Compiled, compile_expression, evaluate, run
from vaultwire.bases.parser import Member, Name, Node
from vaultwire.bases.row import Query, Row
from vaultwire.bases.summaries import needed, summarize
from vaultwire.bases.values import ErrorValue, Value, size_of, text_of
from vaultwire.vault.base_queries.failures import FILTER, GROUPING, SORTING, SUMMARY, Failures
from vaultwire.vault.base_queries.host import VaultHost
from vaultwire.vault.base_queries.narrowing import Judge, narrowed
from vaultwire.vault.base_queries.results import Column, ResultGroup
from vaultwire.vault.index.rows import Every, RowFile, Rows
from vaultwire.vault.value_types import NO_PROGRESS, Progress

NO_GROUP = "None"
"""The app's name of the group of files without a value."""

_FIRST_COLUMN = "file.name"
# 2 ms of work between two reports.
_REPORT_EVERY = 200


class Outcome(NamedTuple):
    """The files of a view in their order, the group of each (none without groups), the groups, the summaries by column id.

    ``total``: the number of files before the limit.
    """

    files: list[RowFile]
    places: list[int]
    groups: list[ResultGroup]
    summaries: dict[str, Value]
    total: int


class _Members(NamedTuple):
    """A group: its value, its text, its files."""

    value: Value
    text: str
    files: list[RowFile]


class FailedFilter(NamedTuple):
    """A filter that gave an error for a file: neither it nor its opposite holds. ``message``: the error in the app's words."""

    text: str
    message: str


class ViewQuery:
    """One view of a base, with all that its expressions are evaluated with. For one thread at a time."""

    def __init__(self, rows: Rows, host: VaultHost, base: Base, view: View, *, this: str, now: datetime) -> None:
        """``this``: the path of the file around the base; "" for none. ``now`` has a time zone."""
        self.base = base
        self.view = view
        self.this = this
        self.host = host
        self._rows = rows
        self.shared = Query(host, now, base.formulas, this)
        self.failures = Failures(base, view)

    def row(self, path: str) -> Row:
        """Return what expressions are evaluated with for one file."""
        return Row(self.shared, path)

    def holds(self, wanted: Filter, row: Row) -> bool | FailedFilter:
        """Tell whether a filter lets a file pass. A filter that fails is returned, unless the others decide without it."""
        if isinstance(wanted, Condition):
            value = value_of(wanted.expression, row)
            return FailedFilter(wanted.text, value.message) if isinstance(value, ErrorValue) else is_truthy(value)
        failed: FailedFilter | None = None
        for each in wanted.filters:
            found = self.holds(each, row)
            if isinstance(found, FailedFilter):
                failed = failed or found
            elif found is (wanted.kind != "and"):
                return wanted.kind == "or"
        return failed or wanted.kind != "or"

    @property
    def filter(self) -> Filter | None:
        """The filters of base and view together."""
        both = tuple(each for each in (self.base.filter, self.view.filter) if each is not None)
        return both[0] if len(both) == 1 else Group("and", both) if both else None

    @property
    def columns(self) -> list[Column]:
        """The columns of the view, in its order, with the names that a person sees."""
        ids = self.view.order or (_FIRST_COLUMN,)
        return [Column(each, self.base.display_names.get(each) or display_name(each)) for each in ids]

    def outcome(self, judge: Judge | None, progress: Progress) -> Outcome:
        """Run the query. ``judge``: for what the index can answer of the filters; None to look at every file."""
        found = self._ordered(self._filtered(judge, progress), progress)
        total = len(found)
        members = self._grouped(found, progress)
        places = [place for place, each in enumerate(members) for _ in each.files]
        found = [file for each in members for file in each.files] if members else found
        limit = self.view.limit
        if limit is not None:
            found, places = found[:limit], places[:limit]
        self.host.list_files(found)
        counts = [count for _, count in sorted(Counter(places).items())]  # a limit leaves the first groups
        parts = [slice(end - count, end) for count, end in zip(counts, accumulate(counts), strict=True)]
        summaries: list[dict[str, Value]] = [{} for _ in (None, *parts)]
        for column, name in self.view.summaries.items():
            what = f"The summary {name!r} of {column!r}"
            with self._kept_for(what) as keep:
                values = self._values(column, name, found, keep, progress)
                for summed, part in zip(summaries, (slice(None), *parts), strict=True):
                    summed[column] = self._summary(column, name, values[part])
                    keep(size_of(summed[column]))
            self.shared.memory.keep(sum(size_of(summed[column]) for summed in summaries), what)
        groups = [
            ResultGroup(group.value, group.text, count, summed)
            for group, count, summed in zip(members, counts, summaries[1:], strict=False)
        ]
        return Outcome(found, places, groups, summaries[0], total)

    @contextmanager
    def _kept_for(self, what: str) -> Iterator[Callable[[int], None]]:
        """Give what counts the bytes that are kept for a part of the work, and give them back at its end."""
        memory = self.shared.memory
        before = memory.kept
        yield lambda size: memory.keep(size, what)
        memory.kept = before

    def end(self) -> None:
        """Say that the caller of the query no longer waits: cells may still be asked for."""
        self.host.progress = NO_PROGRESS

    # ------------------------------------------------------------------

    def _filtered(self, judge: Judge | None, progress: Progress) -> list[RowFile]:
        wanted = self.filter
        plan = None if judge is None else narrowed(wanted, judge)
        found = self._rows.find(Every(()) if plan is None else plan.possible, progress)
        rest = wanted if plan is None else plan.rest
        self.host.list_files(found)
        if rest is None:
            return found
        return [file for file in _watched(found, progress, "files filtered") if self._passes(rest, file.path)]

    def _passes(self, wanted: Filter, path: str) -> bool:
        is_in = self.holds(wanted, self.row(path))
        if isinstance(is_in, FailedFilter):
            self.failures.add(FILTER, is_in.text, is_in.message, path)
        return is_in is True

    def _ordered(self, files: list[RowFile], progress: Progress) -> list[RowFile]:
        """Return the files as the view sorts them; those that are equal there stay in path order."""
        for sorting in reversed(self.view.sort):
            files = self._sorted(sorting, files, progress)
        return files

    def _sorted(self, sorting: Sorting, files: list[RowFile], progress: Progress) -> list[RowFile]:
        """Return the files sorted by one property; those without a value come last in both directions.

        A checkbox without a value counts as not checked.
        """
        compiled = compile_expression(node_of(sorting.property))
        keys: list[tuple[Any, int]] = []
        last: list[int] = []
        unset: list[int] = []
        kinds: set[type] = set()
        with self._kept_for(f"Sorting by {sorting.property!r}") as keep:
            for place, file in enumerate(_watched(files, progress, "files sorted")):
                value = self._value(compiled, file.path, SORTING, sorting.property)
                if is_last(value):
                    (unset if value is None else last).append(place)
                    continue
                kinds.add(type(value))
                key = sort_key(value)
                keep(key_bytes(key))
                # Where values are equal the place decides: the sort is stable in both directions.
                keys.append((key, -place if sorting.is_descending else place))
            if self._is_checkbox(sorting.property, kinds):
                keys += [(sort_key(False), -place if sorting.is_descending else place) for place in unset]
                unset = []
            keys.sort(reverse=sorting.is_descending)
            return [files[abs(place)] for _, place in keys] + [files[place] for place in sorted(last + unset)]

    def _is_checkbox(self, property_id: str, kinds: set[type]) -> bool:
        """Tell whether a property is declared as a checkbox, or is not declared and has the values of one."""
        kind, _, name = property_id.partition(".")
        declared = self.host.property_type(name) if kind == "note" else "none"
        return declared == "checkbox" or (not declared and kinds == {bool})

    def _grouped(self, files: list[RowFile], progress: Progress) -> list[_Members]:
        """Return the groups in their order; "None" comes last. None without groups in the view."""
        sorting = self.view.group_by
        if sorting is None:
            return []
        compiled = compile_expression(node_of(sorting.property))
        groups: dict[str | None, _Members] = {}
        for file in _watched(files, progress, "files grouped"):
            value = self._value(compiled, file.path, GROUPING, sorting.property)
            text = None if is_empty(value) else text_of(value)
            if text not in groups:
                self.shared.memory.keep(size_of(value) + size_of(text), f"Grouping by {sorting.property!r}")
                groups[text] = _Members(None if text is None else value, NO_GROUP if text is None else text, [])
            groups[text].files.append(file)
        nobody = groups.pop(None, None)
        found = sorted(groups.values(), key=lambda group: sort_key(group.value), reverse=sorting.is_descending)
        return found if nobody is None else [*found, nobody]

    def _values(
        self, column: str, name: str, files: list[RowFile], keep: Callable[[int], None], progress: Progress
    ) -> list[Value]:
        """Return what a summary needs of a column's values."""
        compiled = compile_expression(node_of(column))
        values: list[Value] = []
        for file in _watched(files, progress, "values summed up"):
            value = needed(name, self.base.summaries, self._value(compiled, file.path, SUMMARY, column))
            keep(size_of(value))
            values.append(value)
        return values

    def _value(self, compiled: Compiled, path: str, of: str, property_id: str) -> Value:
        """Return the value of a property for a file. An error is named among the failures: no cell may show it."""
        value = run(compiled, self.row(path))
        if isinstance(value, ErrorValue):
            self.failures.add(of, property_id, value.message, path)
        return value

    def _summary(self, column: str, name: str, values: Sequence[Value]) -> Value:
        value = summarize(name, self.base.summaries, values, self.shared)
        if isinstance(value, ErrorValue):
            self.failures.add(SUMMARY, column, value.message, "")
        return value


def value_of(expression: Expression, row: Row) -> Value:
    """Return what an expression gives for a file; of a broken one its error."""
    return evaluate(expression, row)


def cells_of(columns: Sequence[Column]) -> Callable[[Row], tuple[Value, ...]]:
    """Return what makes the cells of a row."""
    compiled = [compile_expression(node_of(column.id)) for column in columns]
    return lambda row: tuple([run(each, row) for each in compiled])


def node_of(property_id: str) -> Node:
    """Return the expression that gives a property of a file, by its id (``ids.normal_id``)."""
    if property_id == "file.file":
        return Name("file")
    kind, _, name = property_id.partition(".")
    return Member(Name(kind), name)


def display_name(property_id: str) -> str:
    """Return the name that the app gives a column: ``status`` for a property of notes, ``file name`` for ``file.name``."""
    kind, _, name = property_id.partition(".")
    return f"file {name}" if kind == "file" else name


def _watched(files: list[RowFile], progress: Progress, doing: str) -> Iterator[RowFile]:
    """Yield the files, and let the caller stop the work or hear how far it is."""
    for number, file in enumerate(files):
        progress.check()
        if number % _REPORT_EVERY == 0:
            progress.report(number, len(files), f"{number} of {len(files)} {doing}")
        yield file
