"""Runs a query over rows: its commands in the order of the text, then its columns. Rows that fail are left out, and told."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple, TypeAlias

from vaultwire.bases.values import Budget, CellError, Date, Link, Memory, Value, size_of
from vaultwire.dataview.evaluation import Compiled, Overlay, compile_expression, evaluate
from vaultwire.dataview.functions import Frame, Shared
from vaultwire.dataview.pages import Item, Page
from vaultwire.dataview.tree import (
    Column,
    Command,
    Flatten,
    Group,
    Limit,
    Query,
    QueryType,
    Sort,
    Where,
)
from vaultwire.dataview.values import Record, as_plain, is_list, is_truthy, order_key, shown, type_of

# What a row takes beside its cells.
_ROW_BYTES = 200
# 2 ms of work between two looks at whether the work must stop.
_CHECK_EVERY = 100


class Row(NamedTuple):
    """A row on its way: what names it (its note, or the key of its group), and its fields."""

    id: Value
    data: Mapping[str, Value]


class ResultRow(NamedTuple):
    """A row of a result: its cells, one for each column. ``path``: its note, empty for a group.

    Of a task also its line (from 1), what is in its box (None for an item that is no task), how deep it stands below another
    task of the result, and the keys of its groups, the outermost first.
    """

    path: str
    cells: tuple[Value, ...]
    line: int = 0
    status: str | None = None
    depth: int = 0
    groups: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class Result:
    """What a query gives. ``problems``: what failed, in words; rows that failed are not there."""

    type: QueryType
    columns: list[str]
    rows: list[ResultRow]
    problems: list[str] = field(default_factory=list)


Check: TypeAlias = Callable[[], None]
"""Called from time to time; it raises where the work must stop."""


def run(query: Query, paths: Iterable[str], shared: Shared, check: Check) -> Result:
    """Return what a query gives over the notes of these paths. Raises TooMuchMemoryError, and what ``check`` raises."""
    return _Run(query, shared, check).result(paths)


class _Run:
    def __init__(self, query: Query, shared: Shared, check: Check) -> None:
        self._query = query
        self._shared = shared
        self._check = check
        self._memory = Memory()
        self._problems: list[str] = []
        self._count = 0
        # The names of the groups that the rows are, the innermost last.
        self._groups: list[str] = []

    def result(self, paths: Iterable[str]) -> Result:
        rows = self._start(paths)
        for command in self._query.commands:
            rows = self._done(command, rows)
        kind, texts = self._query.type, self._shared.vault.texts
        if kind == "task":
            return Result(kind, ["Task"], self._tasks(rows), self._problems)
        if kind == "calendar":
            return Result(kind, ["Date", texts.file_column], self._calendar(rows), self._problems)
        columns = self._query.columns
        has_id = self._query.has_id or not columns
        name = self._groups[-1] if self._groups else texts.file_column
        names = [
            *([name if kind == "table" or not self._groups else texts.group_column] if has_id else []),
            *(column.name for column in columns),
        ]
        return Result(kind, names, self._cells(columns, rows, has_id=has_id), self._problems)

    def _start(self, paths: Iterable[str]) -> list[Row]:
        rows: list[Row] = []
        for path in paths:
            page = Page(self._shared.vault, path)
            if self._query.type == "task":
                self._tick()
                items = [Item(self._shared.vault, page, item) for item in self._shared.vault.notes.fields(path).items]
                rows += [Row(item.as_link(), item.inheriting()) for item in items if item.item.status is not None]
                self._memory.keep(sum(_ROW_BYTES + len(item.item.text) for item in items), "The list of tasks")
            else:
                rows.append(Row(page.as_link(), page))
        self._memory.keep(_ROW_BYTES * len(rows), "The list of notes")
        return rows

    def _done(self, command: Command, rows: list[Row]) -> list[Row]:
        if isinstance(command, Where):
            return self._where(command, rows)
        if isinstance(command, Sort):
            return self._sorted(command, rows)
        if isinstance(command, Group):
            return self._grouped(command, rows)
        if isinstance(command, Flatten):
            return self._flattened(command, rows)
        return self._limited(command, rows)

    def _tick(self) -> None:
        self._count += 1
        if self._count % _CHECK_EVERY == 0:
            self._check()

    def _each(
        self, what: str, expressions: Sequence[Compiled], rows: Sequence[Row]
    ) -> Iterable[tuple[Row, list[Value]]]:
        """Yield rows with the values of expressions for them; rows that fail are left out and counted."""
        failed, first = 0, ""
        for row in rows:
            self._tick()
            frame = Frame(self._shared, row.data, Budget())
            try:
                values = [evaluate(expression, frame) for expression in expressions]
            except CellError as error:
                failed += 1
                first = first or f"{str(error).rstrip('.')} ({_named(row)})"
                continue
            yield row, values
        if failed:
            how_many = "all rows" if failed == len(rows) else f"{failed} of {len(rows)} rows"
            self._problems.append(f"{what} failed for {how_many}, which are left out: {first}.")

    def _where(self, command: Where, rows: list[Row]) -> list[Row]:
        holds = compile_expression(command.condition)
        return [row for row, (value,) in self._each(command.text, [holds], rows) if is_truthy(value)]

    def _sorted(self, command: Sort, rows: list[Row]) -> list[Row]:
        keys = [compile_expression(key) for key, _ in command.keys]
        keyed: list[tuple[Row, list[object]]] = []
        for row, values in self._each(command.text, keys, rows):
            self._memory.keep(_ROW_BYTES + sum(3 * _size(value) for value in values), "Sorting")
            keyed.append((row, [order_key(value, self._shared.vault.notes) for value in values]))
        for place in reversed(range(len(keys))):
            keyed.sort(key=lambda pair: pair[1][place], reverse=command.keys[place][1])  # type: ignore[arg-type,return-value]
        return [row for row, _ in keyed]

    def _grouped(self, command: Group, rows: list[Row]) -> list[Row]:
        notes = self._shared.vault.notes
        keyed: list[tuple[tuple[object, ...], Value, Row]] = []
        for row, (value,) in self._each(command.text, [_compiled(command.by)], rows):
            self._memory.keep(_ROW_BYTES + 4 * _size(value), "Grouping")
            keyed.append((order_key(value, notes), value, row))
        keyed.sort(key=lambda each: each[0])
        groups: list[Row] = []
        for _, same in groupby(keyed, key=lambda each: each[0]):
            members = [*same]
            key = members[0][1]
            data: dict[str, Value] = {"key": key, "rows": [row.data for _, _, row in members]}
            groups.append(Row(key, {**data, command.by.name: key}))
        self._groups.append(command.by.name)
        return groups

    def _flattened(self, command: Flatten, rows: list[Row]) -> list[Row]:
        made: list[Row] = []
        for row, (value,) in self._each(command.text, [_compiled(command.by)], rows):
            items = value if isinstance(value, Sequence) and is_list(value) else [value]
            self._memory.keep(sum(_ROW_BYTES + _size(item) for item in items), "FLATTEN")
            made += [Row(row.id, Overlay(row.data, {command.by.name: item})) for item in items]
        if self._groups and self._groups[-1] == command.by.name:
            self._groups.pop()
        return made

    def _limited(self, command: Limit, rows: list[Row]) -> list[Row]:
        try:
            count = evaluate(compile_expression(command.count), Frame(self._shared, {}, Budget()))
        except CellError as error:
            self._problems.append(f"{command.text} failed: {error}")
            return []
        if not isinstance(count, (int, float)) or isinstance(count, bool) or math.isnan(count):
            self._problems.append(f"{command.text} failed: a number is expected, not {type_of(count)}.")
            return []
        return rows[: int(max(-len(rows), min(len(rows), count)))]

    def _cells(self, columns: Sequence[Column], rows: list[Row], *, has_id: bool) -> list[ResultRow]:
        results: list[ResultRow] = []
        compiled = [_plain(column) for column in columns]
        for row, values in self._each("The columns", compiled, rows):
            cells = (*([row.id] if has_id else []), *values)
            self._keep(cells)
            results.append(ResultRow(_path(row), cells))
        return results

    def _calendar(self, rows: list[Row]) -> list[ResultRow]:
        results: list[ResultRow] = []
        column = self._query.columns[0]
        for row, (value,) in self._each(f"CALENDAR {column.name}", [_plain(column)], rows):
            if value is None:
                continue
            if not isinstance(value, Date):
                self._problems.append(f"CALENDAR {column.name} is not a date but a {type_of(value)} ({_named(row)}).")
                continue
            results.append(ResultRow(_path(row), (value, row.id)))
        return sorted(results, key=lambda each: order_key(each.cells[0], self._shared.vault.notes))

    def _keep(self, cells: Iterable[Value]) -> None:
        self._memory.keep(_ROW_BYTES + sum(map(size_of, cells)), "The result")

    # ------------------------------------------------------------------ tasks

    def _tasks(self, rows: Sequence[Row]) -> list[ResultRow]:
        results: list[ResultRow] = []
        self._add_tasks([row.data for row in rows], len(self._groups), (), results)
        return results

    def _add_tasks(
        self, rows: Sequence[Value], depth: int, groups: tuple[Value, ...], results: list[ResultRow]
    ) -> None:
        if depth:
            for group in rows:
                if isinstance(group, Mapping):
                    inner = group.get("rows")
                    key = as_plain(group.get("key"))
                    self._add_tasks(inner if isinstance(inner, Sequence) else [], depth - 1, (*groups, key), results)
            return
        items = [item for row in rows if (item := _item_of(row)) is not None]
        there = {(item.page.path, item.item.line) for item in items}
        for item in items:
            if not _stands_in(item, there, self._shared):
                self._add_task(item, 0, groups, results)

    def _add_task(self, item: Item, depth: int, groups: tuple[Value, ...], results: list[ResultRow]) -> None:
        """Add a task and all that stand in it: they belong to it, whether they match or not."""
        self._tick()
        text = item.item.text
        self._keep((text,))
        results.append(ResultRow(item.page.path, (text,), item.item.line, item.item.status, depth, groups))
        if depth < _MOST_NESTED:
            children = item.get("children")
            for child in children if isinstance(children, Sequence) else ():
                if isinstance(child, Item):
                    self._add_task(child, depth + 1, groups, results)


_MOST_NESTED: Final = 30


def _item_of(row: Value) -> Item | None:
    while isinstance(row, Overlay):
        row = row.row
    return row if isinstance(row, Item) else None


def _stands_in(item: Item, there: set[tuple[str, int]], shared: Shared) -> bool:
    """Tell whether one of the items around it is in the result, too."""
    by_line = {each.line: each for each in shared.vault.notes.fields(item.page.path).items} if item.item.parent else {}
    parent = item.item.parent
    while parent:
        if (item.page.path, parent) in there:
            return True
        parent = by_line[parent].parent if parent in by_line else 0
    return False


def _compiled(column: Column) -> Compiled:
    return compile_expression(column.expression)


def _plain(column: Column) -> Compiled:
    compiled = _compiled(column)
    return lambda frame: as_plain(compiled(frame))


def _named(row: Row) -> str:
    return shown(row.id)[:100] or "-"


def _path(row: Row) -> str:
    return row.id.source if isinstance(row.id, Link) and isinstance(row.data, Record) else ""


def _size(value: Value) -> int:
    """Return the bytes of a value, about; a record is only what stands for it."""
    if isinstance(value, Record):
        return _ROW_BYTES
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _ROW_BYTES + sum(map(_size, value))
    return size_of(value) if not isinstance(value, Mapping) else _ROW_BYTES + sum(map(_size, value.values()))
