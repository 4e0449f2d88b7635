"""Evaluates expressions, and runs a query over rows.

A tree becomes a Python function once; it runs for each row. A query's commands are done in the order of the text, then its
columns. Rows that fail are left out, and told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from difflib import get_close_matches
from itertools import groupby, zip_longest
from typing import Any, Final, NamedTuple, TypeAlias

from vaultwire.bases.value_functions import DATE_FIELDS
from vaultwire.bases.values import (
    Budget,
    CellError,
    Date,
    Duration,
    Link,
    Memory,
    Value,
    check_count,
    parse_date,
    size_of,
)
from vaultwire.dataview.functions import FUNCTION_NAMES, FUNCTIONS, OVER_ITEMS, Frame, Shared, apply, call
from vaultwire.dataview.pages import Item, Page
from vaultwire.dataview.parser import (
    Applied,
    Binary,
    Call,
    Column,
    Command,
    DateLiteral,
    Index,
    Lambda,
    LinkLiteral,
    Literal,
    Name,
    Node,
    Not,
    Query,
    QueryProblem,
    QueryType,
)
from vaultwire.dataview.values import (
    UNIT_MS,
    Embed,
    Record,
    as_plain,
    is_list,
    is_truthy,
    length_ms,
    order_key,
    shown,
    type_of,
)

Compiled: TypeAlias = Callable[[Frame], Value]
"""Gives an expression's value for a row. Raises CellError."""


class Overlay(Record):
    """A row with more names in front of its own: what FLATTEN adds, or what a lambda names."""

    __slots__ = ("_more", "row")

    def __init__(self, row: Mapping[str, Value], more: Mapping[str, Value]) -> None:
        self.row = row
        self._more = more

    def as_link(self) -> Link:
        """Return the link of the row."""
        return self.row.as_link() if isinstance(self.row, Record) else Link("")

    def __getitem__(self, name: str) -> Value:
        return self._more[name] if name in self._more else self.row[name]

    def __iter__(self) -> Iterator[str]:
        return iter([*self._more, *(name for name in self.row if name not in self._more)])


def evaluate(compiled: Compiled, frame: Frame) -> Value:
    """Return the value of an expression for a row. Raises CellError, and nothing else."""
    try:
        return compiled(frame)
    except RecursionError:
        raise CellError("This expression is nested too deeply.") from None


def compile_expression(node: Node) -> Compiled:
    """Return the expression as a function. What can never work, such as an unknown function, fails for each row."""
    if isinstance(node, Literal):
        value: Value = node.value
        return lambda _: value
    if isinstance(node, DateLiteral):
        text = node.text
        return lambda frame: _date(text, frame)
    if isinstance(node, Name):
        return _name(node.name)
    if (make := _MADE_OF.get(type(node))) is not None:
        return make(node)
    if isinstance(node, Lambda):
        return _failing(
            "A lambda stands only as an argument of map, filter, any, all, none, minby, maxby, sort or reduce."
        )
    if isinstance(node, Not):
        operand = compile_expression(node.operand)
        return lambda frame: not is_truthy(operand(frame))
    assert isinstance(node, Binary)
    return _binary(node)


def check_calls(nodes: Iterable[Node], text: str) -> None:
    """Raise QueryProblem for a call that fails whatever the row is: of no function, or with too few arguments or too many."""
    for node in nodes:
        if isinstance(node, Call) and (wrong := _wrong_call(node)):
            raise QueryProblem(wrong, text, node.start)


def _wrong_call(node: Call) -> str:
    name, nodes = node.name, node.arguments
    if name not in FUNCTION_NAMES:
        near = get_close_matches(name.lower(), FUNCTION_NAMES, 1)
        return f"There is no function {name!r}." + (f" There is {near[0]}." if near else "")
    if nodes and isinstance(nodes[-1], Lambda):
        takes_one = len(nodes) == _WITH_LAMBDA and (name in OVER_ITEMS or name == "reduce")
        return "" if takes_one else f"{name} takes no lambda there."
    entry = FUNCTIONS.get(name)
    if entry is None:
        return f"{name} needs a list and a lambda, as in {name}(list, (x) => x)."
    if entry.least <= len(nodes) <= entry.most:
        return ""
    count = f"{entry.least}" if entry.least == entry.most else f"{entry.least} to {entry.most}"
    return f"{name} takes {count} {'argument' if count == '1' else 'arguments'}, not {len(nodes)}."


# The list, and the lambda.
_WITH_LAMBDA: Final = 2


def _failing(message: str) -> Compiled:
    def fail(_: Frame) -> Value:
        raise CellError(message)

    return fail


def _link(node: LinkLiteral) -> Compiled:
    kind = Embed if node.is_embed else Link

    def link(frame: Frame) -> Value:
        this = frame.shared.this
        source = this.path if this else ""
        return kind(node.linktext if node.linktext.strip("#") else source, node.display, source)

    return link


def _name(name: str) -> Compiled:
    def value(frame: Frame) -> Value:
        try:
            return frame.names[name]
        except KeyError:
            return frame.shared.this if name == "this" else None

    return value


_STARTS: Final = {"w": "week", "m": "month", "y": "year"}


def _date(text: str, frame: Frame) -> Value:
    now = frame.shared.now.astimezone(frame.shared.vault.zone)
    if text == "now":
        return Date(now)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    days = {"today": 0, "yesterday": -1, "tomorrow": 1}.get(text)
    if days is not None:
        return Date(today + timedelta(days=days), has_time=False)
    if text[0].isdigit():
        return parse_date(text, frame.shared.vault.zone)
    unit = _STARTS.get(text[-1:]) if len(text) == len("sow") else text.rpartition("-")[2]
    start = _start(today, str(unit))
    if text.startswith("s"):
        return Date(start, has_time=False)
    after = (
        start + timedelta(days=7)
        if unit == "week"
        else _start(start + timedelta(days=31 if unit == "month" else 366), str(unit))
    )
    return Date(after - timedelta(milliseconds=1))


def _start(day: datetime, unit: str) -> datetime:
    if unit == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if unit == "month" else day.replace(month=1, day=1)


def _index(node: Index) -> Compiled:
    index = compile_expression(node.index)
    if isinstance(node.of, Name) and node.of.name == "row":

        def of_row(frame: Frame) -> Value:
            return _field(frame.names, index(frame), frame)

        return of_row
    of = compile_expression(node.of)
    return lambda frame: _field(of(frame), index(frame), frame)


def _field(of: Value, index: Value, frame: Frame) -> Value:
    if not isinstance(index, (str, int, float)) or isinstance(index, bool):
        raise CellError(f"An index is a text or a number, not {type_of(index)}.")
    if isinstance(of, Mapping):
        if not isinstance(index, str):
            raise CellError('An object has names: a.b or a["b"].')
        return of.get(index)
    if isinstance(of, Link):
        path = frame.shared.vault.notes.resolve(of.linktext, of.source)
        page = Page(frame.shared.vault, path) if path is not None and path.lower().endswith(".md") else None
        return _field(page, index, frame) if page is not None else None
    if isinstance(of, str):
        if isinstance(index, str):
            raise CellError("A text is indexed by a number.")
        return of[int(index)] if math.isfinite(index) and 0 <= index < len(of) else None
    if isinstance(of, Sequence):
        return _of_list(of, index, frame)
    if isinstance(of, Date):
        return _DATE_FIELDS[index](of) if index in _DATE_FIELDS else None
    if isinstance(of, Duration) and isinstance(index, str):
        unit = UNIT_MS.get(index.removesuffix("s"))
        if index.startswith(("year", "month")):
            months = of.months + (of.days * UNIT_MS["day"] + of.milliseconds) / UNIT_MS["month"]
            return months / 12 if index.startswith("year") else months
        return None if unit is None else length_ms(of) / unit
    return None


def _of_list(of: Sequence[Value], index: str | float, frame: Frame) -> Value:
    """Return an item by its number, or a field of each item as a list."""
    if not isinstance(index, str):
        return of[int(index)] if math.isfinite(index) and 0 <= index < len(of) else None
    results: list[Value] = []
    for item in of:
        frame.budget.spend()
        try:
            results.append(_field(item, index, frame))
        except CellError:
            if frame.budget.steps < 0 or frame.budget.bytes < 0:
                raise
    return frame.budget.made(results)


_DATE_FIELDS: Final[Mapping[Any, Callable[[Date], Value]]] = {
    **DATE_FIELDS,
    "weekday": lambda date: date.at.isoweekday(),
    # Dataview's week is that of the month, and its weekyear the number of the week in the year.
    "week": lambda date: date.at.day // 7 + 1,
    "weekyear": lambda date: date.at.isocalendar().week,
}


def _call(node: Call) -> Compiled:
    wrong = _wrong_call(node)
    if wrong:
        return _failing(wrong)
    name, nodes = node.name, node.arguments
    if nodes and isinstance(nodes[-1], Lambda):
        return _with_lambda(name, nodes[0], nodes[-1])
    arguments = [compile_expression(each) for each in nodes]
    return lambda frame: call(name, [argument(frame) for argument in arguments], frame)


def _applying(function: Lambda) -> Callable[..., Value]:
    """Return what gives the value of a lambda, of a frame and its arguments."""
    body, parameters = compile_expression(function.body), function.parameters

    def applied(frame: Frame, *values: Value) -> Value:
        frame.budget.spend()
        more = dict(zip_longest(parameters, values[: len(parameters)]))
        return body(Frame(frame.shared, Overlay(frame.names, more), frame.budget))

    return applied


def _applied(node: Applied) -> Compiled:
    function, arguments = _applying(node.function), [compile_expression(each) for each in node.arguments]
    return lambda frame: frame.budget.made(function(frame, *(argument(frame) for argument in arguments)))


def _with_lambda(name: str, node: Node, function: Lambda) -> Compiled:
    of, inner = compile_expression(node), _applying(function)

    def called(frame: Frame) -> Value:
        items = of(frame)
        if items is None:
            return None
        if not isinstance(items, Sequence) or isinstance(items, str):
            raise CellError(f"No implementation of '{name}' found for arguments: {type_of(items)}, function")
        check_count(len(items))
        if name != "reduce":
            return frame.budget.made(OVER_ITEMS[name](items, lambda item: inner(frame, item), frame))
        result: Value = items[0] if items else None
        for item in items[1:]:
            result = result if item is None else inner(frame, result, item)
        return result

    return called


def _binary(node: Binary) -> Compiled:
    left, right, operator = compile_expression(node.left), compile_expression(node.right), node.operator
    if operator == "&":
        return lambda frame: is_truthy(left(frame)) and is_truthy(right(frame))
    if operator == "|":
        return lambda frame: is_truthy(left(frame)) or is_truthy(right(frame))

    def joined(frame: Frame) -> Value:
        frame.budget.spend()
        return frame.budget.made(
            apply(operator, left(frame), right(frame), frame.shared.vault.notes, frame.shared.vault.texts)
        )

    return joined


_MADE_OF: Final[Mapping[type, Callable[[Any], Compiled]]] = {
    Applied: _applied,
    Call: _call,
    Index: _index,
    LinkLiteral: _link,
}


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
            rows = _STEPS[command.word](self, command, rows)
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

    def where(self, command: Command, rows: list[Row]) -> list[Row]:
        holds = _compiled(command.columns[0])
        return [row for row, (value,) in self._each(command.text, [holds], rows) if is_truthy(value)]

    def sorted(self, command: Command, rows: list[Row]) -> list[Row]:
        keys = [*map(_compiled, command.columns)]
        keyed: list[tuple[Row, list[object]]] = []
        for row, values in self._each(command.text, keys, rows):
            self._memory.keep(_ROW_BYTES + sum(3 * _size(value) for value in values), "Sorting")
            keyed.append((row, [order_key(value, self._shared.vault.notes) for value in values]))
        for place in reversed(range(len(keys))):
            keyed.sort(key=lambda pair: pair[1][place], reverse=command.is_descending[place])  # type: ignore[arg-type,return-value]
        return [row for row, _ in keyed]

    def grouped(self, command: Command, rows: list[Row]) -> list[Row]:
        (by,), notes = command.columns, self._shared.vault.notes
        keyed: list[tuple[tuple[object, ...], Value, Row]] = []
        for row, (value,) in self._each(command.text, [_compiled(by)], rows):
            self._memory.keep(_ROW_BYTES + 4 * _size(value), "Grouping")
            keyed.append((order_key(value, notes), value, row))
        keyed.sort(key=lambda each: each[0])
        groups: list[Row] = []
        for _, same in groupby(keyed, key=lambda each: each[0]):
            members = [*same]
            key = members[0][1]
            data: dict[str, Value] = {"key": key, "rows": [row.data for _, _, row in members]}
            groups.append(Row(key, {**data, by.name: key}))
        self._groups.append(by.name)
        return groups

    def flattened(self, command: Command, rows: list[Row]) -> list[Row]:
        (by,) = command.columns
        made: list[Row] = []
        for row, (value,) in self._each(command.text, [_compiled(by)], rows):
            items = value if isinstance(value, Sequence) and is_list(value) else [value]
            self._memory.keep(sum(_ROW_BYTES + _size(item) for item in items), "FLATTEN")
            made += [Row(row.id, Overlay(row.data, {by.name: item})) for item in items]
        if self._groups and self._groups[-1] == by.name:
            self._groups.pop()
        return made

    def limited(self, command: Command, rows: list[Row]) -> list[Row]:
        try:
            count = evaluate(_compiled(command.columns[0]), Frame(self._shared, {}, Budget()))
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


_STEPS: Final[Mapping[str, Callable[[_Run, Command, list[Row]], list[Row]]]] = {
    "WHERE": _Run.where,
    "SORT": _Run.sorted,
    "GROUP BY": _Run.grouped,
    "FLATTEN": _Run.flattened,
    "LIMIT": _Run.limited,
}
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
