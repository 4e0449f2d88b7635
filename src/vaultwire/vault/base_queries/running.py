"""Runs one view of a base: filters, sorts, groups, limits and sums up. Cells are made when they are first asked for."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, overload

from vaultwire.bases.base import (
    Base,
    Broken,
    Condition,
    Expression,
    Filter,
    Group,
    Sorting,
    View,
    conditions,
    normal_id,
)
from vaultwire.bases.comparing import is_empty, is_last, is_truthy, key_bytes, sort_key
from vaultwire.bases.evaluation import (
    DEFAULT_SUMMARIES,
    compile_expression,
    default_summary,
    evaluate,
    needed,
    run,
    summarize,
)
from vaultwire.bases.functions import GLOBALS, METHOD_NAMES
from vaultwire.bases.parser import Call, Member, Name, Node, children, field_of
from vaultwire.bases.row import Query, Row
from vaultwire.bases.values import ErrorValue, Value, no_function, size_of, text_of
from vaultwire.vault.base_queries.host import VaultHost
from vaultwire.vault.base_queries.narrowing import narrowed, property_ids
from vaultwire.vault.index.rows import Every, RowFile, Rows
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath

# What fails in a view, so that no answer hides it: expressions that cannot be read, and those that give errors for files.

FILTER, FORMULA, SORTING, GROUPING, SUMMARY = "The filter", "The formula", "Sorting by", "Grouping by", "The summary of"


class Failures:
    """The failures of one view. Those of its text are known from the start; those of files are added while it runs."""

    def __init__(self, base: Base, view: View) -> None:
        self._base = base
        filters = [(FILTER, each.text, each.expression) for each in conditions(base.filter, view.filter)]
        seen: set[str] = set()
        of_rows = dict(_failures_of_text(base, filters, [], seen))
        named = [each.removeprefix("formula.") for each in property_ids(view) if each.startswith("formula.")]
        own = [
            (SUMMARY, column, base.summaries[name]) for column, name in view.summaries.items() if name in base.summaries
        ]
        self._of_text = of_rows | dict(_failures_of_text(base, own, named, seen)) | dict(_unknown_summaries(base, view))
        self._of_files: dict[tuple[str, str], tuple[str, str, int]] = {}
        # What is wrong with the order counts where a limit leaves only the first files.
        self.of_rows = [*base.problems, *_in_words(of_rows if view.limit is None else self._of_text)]
        """What was not understood of those parts that say which files the view shows, in words."""

    def add(self, of: str, text: str, message: str, path: str) -> None:
        """Add a failure for one file; "" is for all together. ``of``: a word above; ``text``: the expression or the id."""
        first, at, count = self._of_files.get((of, text), (message, path, 0))
        self._of_files[of, text] = first, at, count + 1

    @property
    def all(self) -> list[str]:
        """All that was not understood or failed, in words. Cells say themselves that they failed."""
        failed: dict[tuple[str, str], str] = {}
        for place, (message, path, count) in self._of_files.items():
            files = f" for {path!r}" if count == 1 else f" for {count} files, first {path!r}"
            failed[place] = f"failed{files if path else ''}: {message}"
        return [*self._base.problems, *_in_words(failed | self._of_text)]


_Wrong: TypeAlias = tuple[tuple[str, str], str]
"""Where something is wrong: of what, and its text; and what is wrong."""


def _in_words(wrong: Mapping[tuple[str, str], str]) -> Iterator[str]:
    return (f"{of} {text!r} {what}" for (of, text), what in wrong.items())


def _unknown_summaries(base: Base, view: View) -> Iterator[_Wrong]:
    for column, name in view.summaries.items():
        if name not in base.summaries and default_summary(name) is None:
            known = ", ".join((*base.summaries, *DEFAULT_SUMMARIES))
            yield (SUMMARY, column), f"is {name!r}, which there is not. There are: {known}."


def _failures_of_text(
    base: Base, expressions: Sequence[tuple[str, str, Expression]], formulas: Sequence[str], seen: set[str]
) -> Iterator[_Wrong]:
    """Yield what fails for every file, in expressions and in the formulas that they need. ``seen``: formulas known before."""
    waiting = [*expressions]
    named = [*formulas]
    while waiting or named:
        for formula in named:
            if formula in seen:
                continue
            seen.add(formula)
            if formula in base.formulas:
                waiting.append((FORMULA, formula, base.formulas[formula]))
            else:
                yield (FORMULA, formula), f"is not there. There are: {', '.join(base.formulas) or 'none'}."
        named = []
        for of, text, expression in waiting:
            if isinstance(expression, Broken):
                yield (of, text), f"cannot be read: {expression.message} {expression.words}".rstrip()
                continue
            wrong, needed = _unknown(expression)
            named += needed
            if wrong:
                yield (of, text), f"fails: {wrong}"
        waiting = []


def _unknown(expression: Node) -> tuple[str, list[str]]:
    """Return the error of the first function that no value has ("" if all are known), and the formulas that are asked for."""
    wrong = ""
    formulas: list[str] = []
    waiting: list[Node] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call):
            name, is_global = node.function.name, isinstance(node.function, Name)
            if name not in (GLOBALS if is_global else METHOD_NAMES):
                wrong = wrong or str(no_function(name))
            waiting += node.arguments if isinstance(node.function, Name) else (node.function.of, *node.arguments)
            continue
        field = field_of(node)
        formulas += [field[1]] if field is not None and field[0] == "formula" else []
        waiting += children(node)
    return wrong, formulas


# What a query of a base is asked with, and what it gives. No behaviour.


class BaseSource(NamedTuple):
    """Where a base is: a ``.base`` file; the block of that number (from 1) in the note ``path``; or the ``text`` given.

    ``path`` may be written as people name files: without extension, or as a link. With a ``text`` it says where the base
    counts as being, for relative links and ``this``; it may be empty.
    """

    path: str = ""
    block: int = 0
    text: str = ""


class Column(NamedTuple):
    """A column of a result: the id of its property (``note.status``) and the name that a person sees."""

    id: str
    name: str


class ResultRow(NamedTuple):
    """One file with its cells, one for each column. ``group``: its place in the groups; -1 without groups.

    ``image``: the value of the property that the view's own setting ``image`` names, which may be none of the columns.
    """

    path: VaultPath
    cells: tuple[Value, ...]
    group: int = -1
    image: Value = None


@dataclass(frozen=True, slots=True)
class ResultGroup:
    """A group of rows: the value they share, its text, how many rows of the result it has, their summaries by column id."""

    value: Value
    text: str
    count: int
    summaries: Mapping[str, Value] = field(default_factory=dict)


class BaseResult(NamedTuple):
    """The result of one view. ``summaries`` by column id. ``total``: the number of files before the limit.

    ``problems``: what was not understood, and what failed outside of the cells, in words; ``problems_of_rows``: those that
    leave it open which files the view shows. ``path``: the file that holds the base; "" for a base given as text without a
    place. ``kept_bytes``: what groups and summaries take.
    """

    base: Base
    view: View
    columns: list[Column]
    rows: ResultRows
    groups: list[ResultGroup]
    summaries: Mapping[str, Value]
    total: int
    problems: list[str]
    problems_of_rows: list[str]
    path: str = ""
    kept_bytes: int = 0


class BaseBlock(NamedTuple):
    """A base in a code block of a note: its number (from 1), the line of its first line of text, the text, its views' names."""

    number: int
    line: int
    text: str
    views: list[str]


class FilterVerdict(NamedTuple):
    """What one filter gave for a file. ``depth``: how deep it is nested. ``of``: ``base`` or ``view``.

    ``text``: the expression, or ``and``, ``or``, ``not``. ``value``: what the expression gave; of a group, whether it holds.
    """

    of: str
    depth: int
    text: str
    value: Value
    holds: bool


class FormulaResult(NamedTuple):
    """What one formula gave for a file."""

    name: str
    text: str
    value: Value


class Explanation(NamedTuple):
    """Why a file is in a view or not. ``dropped_by``: the first filters that did not hold, in words; empty if it is in it.

    ``problems``: as of a ``BaseResult``.
    """

    path: VaultPath
    view: View
    is_in: bool
    filters: list[FilterVerdict]
    formulas: list[FormulaResult]
    dropped_by: list[str]
    problems: Sequence[str] = ()


NO_GROUP = "None"
"""The app's name of the group of files without a value."""

_FIRST_COLUMN = "file.name"
# 2 ms of work between two reports.
_REPORT_EVERY = 200
# Rows kept once they were made: a few pages of usual columns.
_MOST_KEPT_BYTES = 1_000_000


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

    def __init__(
        self,
        rows: Rows,
        host: VaultHost,
        base: Base,
        view: View,
        *,
        this: str,
        now: datetime,
        known: Mapping[str, dict[str, Value]] | None = None,
    ) -> None:
        """``this``: the path of the file around the base; "" for none. ``now`` has a time zone. ``known``: see ``Query``."""
        self.base = base
        self.view = view
        self.this = this
        self.host = host
        self._rows = rows
        self.shared = Query(host, now, base.formulas, this, known=known or {})
        self._known = {f"formula.{name}": values for name, values in self.shared.known.items()}
        self.failures = Failures(base, view)

    def row(self, path: str) -> Row:
        """Return what expressions are evaluated with for one file."""
        return Row(self.shared, path)

    def holds(self, condition: Filter, row: Row) -> bool | FailedFilter:
        """Tell whether a filter lets a file pass. A filter that fails is returned, unless the others decide without it."""
        if isinstance(condition, Condition):
            value = evaluate(condition.expression, row)
            return FailedFilter(condition.text, value.message) if isinstance(value, ErrorValue) else is_truthy(value)
        failed: FailedFilter | None = None
        for each in condition.filters:
            result = self.holds(each, row)
            if isinstance(result, FailedFilter):
                failed = failed or result
            elif result is (condition.kind != "and"):
                return condition.kind == "or"
        return failed or condition.kind != "or"

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

    def outcome(self, progress: Progress, *, by_index: bool = True) -> Outcome:
        """Run the query. ``by_index``: the index answers what it can of the filters; else all files are looked at."""
        files = self._ordered(self._filtered(progress, by_index=by_index), progress)
        total = len(files)
        members = self._grouped(files, progress)
        places = [place for place, each in enumerate(members) for _ in each.files]
        files = [file for each in members for file in each.files] if members else files
        limit = self.view.limit
        if limit is not None:
            files, places = files[:limit], places[:limit]
        self.host.list_files(files)
        counts = [count for _, count in sorted(Counter(places).items())]  # a limit leaves the first groups
        parts = [slice(end - count, end) for count, end in zip(counts, accumulate(counts), strict=True)]
        summaries: list[dict[str, Value]] = [{} for _ in (None, *parts)]
        for column, name in self.view.summaries.items():
            what = f"The summary {name!r} of {column!r}"
            with self._kept_for(what) as keep:
                values = self._values(column, name, files, keep, progress)
                for summed, part in zip(summaries, (slice(None), *parts), strict=True):
                    summed[column] = self._summary(column, name, values[part])
                    keep(size_of(summed[column]))
            self.shared.memory.keep(sum(size_of(summed[column]) for summed in summaries), what)
        groups = [
            ResultGroup(group.value, group.text, count, summed)
            for group, count, summed in zip(members, counts, summaries[1:], strict=False)
        ]
        return Outcome(files, places, groups, summaries[0], total)

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

    def _filtered(self, progress: Progress, *, by_index: bool) -> list[RowFile]:
        possible, rest = (
            narrowed(self.filter, self.shared, self._rows, progress) if by_index else (Every(()), self.filter)
        )
        candidates = self._rows.find(possible, progress)
        self.host.list_files(candidates)
        if rest is None:
            return candidates
        return [file for file in _watched(candidates, progress, "files filtered") if self._passes(rest, file.path)]

    def _passes(self, condition: Filter, path: str) -> bool:
        is_in = self.holds(condition, self.row(path))
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
        keys: list[tuple[Any, int]] = []
        last: list[int] = []
        unset: list[int] = []
        kinds: set[type] = set()
        with self._kept_for(f"Sorting by {sorting.property!r}") as keep:
            for place, value in enumerate(self._in_turn(sorting.property, SORTING, files, progress, "files sorted")):
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
        groups: dict[str | None, _Members] = {}
        values = self._in_turn(sorting.property, GROUPING, files, progress, "files grouped")
        for file, value in zip(files, values, strict=True):
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
        values: list[Value] = []
        for value in self._in_turn(column, SUMMARY, files, progress, "values summed up"):
            part = needed(name, self.base.summaries, value)
            keep(size_of(part))
            values.append(part)
        return values

    def _in_turn(
        self, property_id: str, of: str, files: Sequence[RowFile], progress: Progress, doing: str
    ) -> Iterable[Value]:
        """Return the value of a property for each file; it is computed when it is asked for, unless all are known."""
        known = self._known.get(property_id)
        if known is not None and len(known) >= len(files):
            with suppress(KeyError):
                return [known[file.path] for file in files]
        return self._computed(property_id, of, files, progress, doing)

    def _computed(
        self, property_id: str, of: str, files: Sequence[RowFile], progress: Progress, doing: str
    ) -> Iterator[Value]:
        """Yield the values. An error is named among the failures: no cell may show it."""
        compiled = compile_expression(node_of(property_id))
        for file in _watched(files, progress, doing):
            value = run(compiled, self.row(file.path))
            if isinstance(value, ErrorValue):
                self.failures.add(of, property_id, value.message, file.path)
            yield value

    def _summary(self, column: str, name: str, values: Sequence[Value]) -> Value:
        value = summarize(name, self.base.summaries, values, self.shared)
        if isinstance(value, ErrorValue):
            self.failures.add(SUMMARY, column, value.message, "")
        return value


class ResultRows(Sequence[ResultRow]):
    """The rows of a result. A row is made when it is first asked for: most callers read one page of many.

    Safe to use from several threads: one makes rows at a time.
    """

    def __init__(self, query: ViewQuery, outcome: Outcome) -> None:
        self._query = query
        self._files = outcome.files
        self._places = outcome.places
        self._cells = cells_of(query.columns)
        self._image = cells_of(_image_of(query.view))
        self._made: dict[int, tuple[ResultRow, int]] = {}
        self._kept = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, place: int) -> ResultRow: ...

    @overload
    def __getitem__(self, place: slice) -> list[ResultRow]: ...

    def __getitem__(self, place: int | slice) -> ResultRow | list[ResultRow]:
        wanted = range(len(self._files))[place]
        with self._lock:
            return self._row(wanted)[0] if isinstance(wanted, int) else [self._row(each)[0] for each in wanted]

    def paths(self) -> list[VaultPath]:
        """Return the paths of all rows, without making their cells."""
        return [file.path for file in self._files]

    def page(self, numbers: Iterable[int], most_bytes: int, progress: Progress) -> list[ResultRow]:
        """Return the rows of these numbers, the first of them, as far as their cells take no more bytes; at least one.

        The formulas of one row may take half a second: the caller may stop between two.
        """
        rows: list[ResultRow] = []
        for number in numbers:
            progress.check()
            with self._lock:
                row, size = self._row(number)
            most_bytes -= size
            if most_bytes < 0 and rows:
                break
            rows.append(row)
        return rows

    def release(self) -> None:
        """Give back the memory of what can be made or read again. While rows are made, nothing is given back."""
        if self._lock.acquire(blocking=False):
            try:
                self._made.clear()
                self._kept = 0
                self._query.host.release()
            finally:
                self._lock.release()

    def _row(self, place: int) -> tuple[ResultRow, int]:
        """Return a row, and the bytes that it takes."""
        known = self._made.get(place)
        if known is not None:
            return known
        path = self._files[place].path
        row = self._query.row(path)
        group = self._places[place] if self._places else -1
        made = ResultRow(path, self._cells(row), group, next(iter(self._image(row)), None))
        size = sum(map(size_of, (*made.cells, made.image)))
        self._kept += size
        if self._kept > _MOST_KEPT_BYTES:
            self._made.clear()
            self._kept = size
        if size <= _MOST_KEPT_BYTES:
            self._made[place] = made, size
        return made, size


def _image_of(view: View) -> list[Column]:
    """Return the property whose value is the picture of a card; none for most views."""
    written = view.settings.get("image")
    return [Column(normal_id(written), written)] if isinstance(written, str) and written.strip() else []


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


def _watched(files: Sequence[RowFile], progress: Progress, doing: str) -> Iterator[RowFile]:
    """Yield the files, and let the caller stop the work or hear how far it is."""
    for number, file in enumerate(files):
        progress.check()
        if number % _REPORT_EVERY == 0:
            progress.report(number, len(files), f"{number} of {len(files)} {doing}")
        yield file
