"""Evaluates expressions. A tree becomes a Python function once; it runs for each row."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from difflib import get_close_matches
from itertools import zip_longest
from typing import Any, Final, TypeAlias

from vaultwire.bases.values import (
    CellError,
    Date,
    Duration,
    Link,
    Value,
    check_count,
    parse_date,
)
from vaultwire.dataview.functions import FUNCTION_NAMES, FUNCTIONS, OVER_ITEMS, Frame, call
from vaultwire.dataview.operators import apply
from vaultwire.dataview.pages import Page
from vaultwire.dataview.parser import QueryProblem
from vaultwire.dataview.tree import (
    Applied,
    Binary,
    Call,
    DateLiteral,
    DurationLiteral,
    Index,
    Lambda,
    LinkLiteral,
    ListLiteral,
    Literal,
    Name,
    Node,
    Not,
    ObjectLiteral,
    children,
)
from vaultwire.dataview.values import UNIT_MS, Embed, Record, is_truthy, length_ms, type_of

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
    if isinstance(node, DurationLiteral):
        duration = node.duration
        return lambda _: duration
    if isinstance(node, ListLiteral):
        items = [compile_expression(item) for item in node.items]
        return lambda frame: frame.budget.made([item(frame) for item in items])
    if isinstance(node, ObjectLiteral):
        pairs = [(name, compile_expression(item)) for name, item in node.items]
        return lambda frame: {name: item(frame) for name, item in pairs}
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
    waiting = [*nodes]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call) and (wrong := _wrong_call(node)):
            raise QueryProblem(wrong, text, node.start)
        waiting += children(node)


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
        return _DATE_FIELDS[index](of.at) if index in _DATE_FIELDS else None
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


_DATE_FIELDS: Final[Mapping[object, Callable[[datetime], Value]]] = {
    "year": lambda at: at.year,
    "month": lambda at: at.month,
    "day": lambda at: at.day,
    "hour": lambda at: at.hour,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
    "millisecond": lambda at: at.microsecond // 1000,
    "weekday": lambda at: at.isoweekday(),
    # Dataview's week is that of the month, and its weekyear the number of the week in the year.
    "week": lambda at: at.day // 7 + 1,
    "weekyear": lambda at: at.isocalendar().week,
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
