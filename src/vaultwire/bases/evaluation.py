"""Evaluates expressions. A tree becomes a Python function once; it runs for each row. An error is the cell's own value."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from operator import add as add_numbers
from operator import ge, gt, le, lt, mul, sub
from typing import Any, Final, TypeAlias

from vaultwire.bases.base import Broken, Expression
from vaultwire.bases.comparing import compare, equal, is_empty, is_truthy
from vaultwire.bases.functions import CHOICE, FILE_FIELDS, GLOBAL, LAMBDAS, has_tag, method
from vaultwire.bases.parser import Binary, Call, Index, ListLiteral, Literal, Member, Name, Node, RegexpLiteral, Unary
from vaultwire.bases.row import Query, Row, all_properties, has_property, property_value
from vaultwire.bases.value_functions import DATE_FIELDS, DURATION_FIELDS
from vaultwire.bases.values import (
    CellError,
    Date,
    Duration,
    ErrorValue,
    File,
    Regexp,
    TagList,
    Value,
    add,
    cannot_find,
    cannot_parse,
    check_count,
    checked_cell,
    checked_text,
    difference,
    invalid_operator,
    joined_duration,
    moved,
    no_function,
    parse_duration,
    scaled,
    size_of,
    text_of,
    to_ms,
    total_ms,
    type_name,
)

# The operators between two values.


_NUMBERS = frozenset((int, float))


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_list(value: Value) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _compared(operator: str, left: Value, right: Value, row: Row) -> bool:
    if operator in ("==", "!="):
        return equal(left, right, row.host, row.zone) is (operator == "==")
    order = compare(left, right, row.zone)
    return order is not None and ORDERS[operator](order, 0)


ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {"<": lt, "<=": le, ">": gt, ">=": ge}
"""The operators between two values that have an order."""


def _divide(left: float, right: float) -> float:
    if right == 0:
        return math.nan if left == 0 or math.isnan(left) else math.copysign(math.inf, left) * math.copysign(1, right)
    return left / right


def _remainder(left: float, right: float) -> float:
    if right == 0 or math.isinf(left):
        return math.nan
    return math.fmod(left, right)


def _safely(compute: Callable[[float, float], float]) -> Callable[[float, float], float]:
    """Compute with doubles as JavaScript does: what is too large is infinite."""

    def computed(left: float, right: float) -> float:
        try:
            return compute(float(left), float(right))
        except OverflowError:
            return math.inf

    return computed


ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": _safely(add_numbers),
    "-": _safely(sub),
    "*": _safely(mul),
    "/": _safely(_divide),
    "%": _safely(_remainder),
}
"""The operators between two numbers."""


def _other(operator: str, left: Value, right: Value) -> Value:
    """Return what an operator gives for values that are not both numbers."""
    if isinstance(left, Date) and operator in "+-":
        return _of_date(operator, left, right)
    if isinstance(left, Duration):
        return _of_duration(operator, left, right)
    if operator == "+":
        if isinstance(left, str) or isinstance(right, str):
            return checked_text(text_of(left) + text_of(right))
        if isinstance(left, Sequence) and _is_list(left):
            both = [*left, *(right if isinstance(right, Sequence) and not isinstance(right, str) else [right])]
            check_count(len(both))
            return both
    if left is None or right is None:
        return None
    raise invalid_operator(type_name(left), type_name(right))


def _of_date(operator: str, left: Date, right: Value) -> Value:
    if isinstance(right, Date) and operator == "-":
        return difference(left, right)
    if right is None:
        return None
    if isinstance(right, (int, float)) and _is_number(right):
        right = Duration(milliseconds=right)
    if isinstance(right, str):
        duration = parse_duration(right)
        if duration is None and operator == "+":
            return checked_text(text_of(left) + right)
        if duration is None:
            raise cannot_parse(right, "duration")
        right = duration
    if not isinstance(right, Duration):
        raise invalid_operator("Date", type_name(right))
    return moved(left, right, 1 if operator == "+" else -1)


def _of_duration(operator: str, left: Duration, right: Value) -> Value:
    if isinstance(right, (int, float)) and _is_number(right) and operator in "*/":
        if right == 0 and operator == "/":
            raise CellError("A duration cannot be divided by 0.")
        return scaled(left, right if operator == "*" else 1 / right)
    if operator in "+-":
        other = parse_duration(right) if isinstance(right, str) else right
        if isinstance(other, Duration):
            return joined_duration(left, other, 1 if operator == "+" else -1)
        if isinstance(other, Date) and operator == "+":
            return add(other, left)
    if operator == "/" and isinstance(right, Duration):
        return _divide(total_ms(left), total_ms(right))
    if operator == "+" and isinstance(right, str):
        return text_of(left) + right
    if right is None:
        return None
    raise invalid_operator("Duration", type_name(right))


Compiled: TypeAlias = Callable[[Row], Value]
"""Gives an expression's value for a row. Raises CellError."""

MOST_KNOWN: Final = 60_000
"""So many values of formulas are kept for other views of a base: about 10 MB."""
_ITEM_NAMES = frozenset(("value", "index", "acc"))


def evaluate(expression: Expression, row: Row) -> Value:
    """Return the value of an expression for a row. It is compiled once a query. Never raises: an error is an ErrorValue."""
    known = row.query.compiled.get(id(expression))
    if known is None:
        # The expression is kept with it, so that no other one gets its id.
        known = row.query.compiled[id(expression)] = expression, compile_expression(expression)
    return run(known[1], row)


def run(compiled: Compiled, row: Row) -> Value:
    """Return what a compiled expression gives for a row. Never raises: an error is an ErrorValue."""
    try:
        return checked_cell(compiled(row))
    except CellError as error:
        return ErrorValue(str(error))
    except RecursionError:
        return ErrorValue("This formula is nested too deeply.")


def compile_expression(expression: Expression, names: frozenset[str] = frozenset()) -> Compiled:
    """Return the expression as a function. ``names``: names with a meaning of their own, such as ``values``."""
    if isinstance(expression, Broken):
        return _failing(CellError(expression.message))
    return _compiled(expression, names)


def formula_value(name: str, row: Row) -> Value:
    """Return the value of a formula for a row; it is computed once. A formula that needs itself is an error."""
    if name not in row.formulas:
        known = row.query.known.get(name)
        if known is not None and row.path in known:
            return known[row.path]
        if name in row.computing:
            return ErrorValue(f'Formula "{name}" refers to itself')
        expression = row.query.formulas.get(name)
        if expression is None:
            return None
        row.computing.add(name)
        held, row.names = row.names, {}
        before = row.budget.bytes
        value = row.formulas[name] = evaluate(expression, row)
        row.budget.bytes = before - size_of(value)
        row.names = held
        row.computing.discard(name)
        if known is not None and len(known) < MOST_KNOWN // len(row.query.known) and _is_small(value):
            known[row.path] = value
    return row.formulas[name]


def _is_small(value: Value) -> bool:
    """Tell whether a value may be kept for other views. An error may pass: a regular expression that took too long."""
    return (
        value is None or isinstance(value, (int, float, Date)) or (isinstance(value, str) and len(value) <= _MOST_KEPT)
    )


def _failing(error: CellError) -> Compiled:
    def fail(_: Row) -> Value:
        raise error

    return fail


def _compiled(node: Node, names: frozenset[str]) -> Compiled:
    if isinstance(node, Literal):
        value = node.value
        return lambda _: value
    if isinstance(node, RegexpLiteral):
        regexp = Regexp(node.pattern, node.flags)
        return lambda _: regexp
    if isinstance(node, ListLiteral):
        items = [_compiled(each, names) for each in node.items]
        return lambda row: row.budget.made([item(row) for item in items])
    if isinstance(node, Name):
        return _name(node.name, names)
    if isinstance(node, Member):
        return _member(node.of, node.name, names)
    if isinstance(node, Index):
        return _index(node, names)
    if isinstance(node, Call):
        return _call(node, names)
    return _unary(node, names) if isinstance(node, Unary) else _binary(node, names)


def _name(name: str, names: frozenset[str]) -> Compiled:
    if name in names:
        return lambda row: row.names.get(name)
    if name == "file":
        return lambda row: File(row.path)
    if name == "this":
        return lambda row: File(row.query.this) if row.query.this else None
    if name in ("note", "property"):
        return lambda row: all_properties(row, row.path)
    if name == "formula":
        return lambda row: {each: _formula(each, row) for each in row.query.formulas}
    return lambda row: property_value(name, row, row.path)


def _formula(name: str, row: Row) -> Value:
    value = formula_value(name, row)
    if isinstance(value, ErrorValue):
        raise CellError(value.message)
    return value


def _named(of: Node, name: str, names: frozenset[str]) -> Compiled | None:
    """Return what a name in ``note``, ``formula`` or ``this`` gives; None for a field of any other value."""
    if not isinstance(of, Name) or of.name in names:
        return None
    if of.name in ("note", "property"):
        return lambda row: property_value(name, row, row.path)
    if of.name == "formula":
        return lambda row: _formula(name, row)
    return (lambda row: _of_this(name, row)) if of.name == "this" else None


def _of_this(name: str, row: Row) -> Value:
    this = row.query.this
    if not this:
        return None
    if name != "file" and has_property(name, row, this):
        return property_value(name, row, this)
    return FILE_FIELDS[name](this, row) if name in FILE_FIELDS else None


def _member(of: Node, name: str, names: frozenset[str]) -> Compiled:
    known = _named(of, name, names)
    if known is not None:
        return known
    if isinstance(of, Name) and of.name == "file" and name in FILE_FIELDS:
        field = FILE_FIELDS[name]
        return lambda row: field(row.path, row)
    value = _compiled(of, names)
    return lambda row: _field(value(row), name, row)


def _field(of: Value, name: str, row: Row) -> Value:
    """Return a field of a value; of null it is null. Raises CellError."""
    if of is None:
        return None
    if isinstance(of, Mapping):
        return of.get(name)
    if isinstance(of, File) and name in FILE_FIELDS:
        return FILE_FIELDS[name](of.path, row)
    if isinstance(of, Date) and name in DATE_FIELDS:
        return DATE_FIELDS[name](of)
    if isinstance(of, Duration) and name in DURATION_FIELDS:
        return DURATION_FIELDS[name](of)
    if name == "length" and isinstance(of, Sequence):
        return len(of)
    raise cannot_find(name, type_name(of))


def _index(node: Index, names: frozenset[str]) -> Compiled:
    if isinstance(node.index, Literal) and isinstance(node.index.value, str):
        return _member(node.of, node.index.value, names)
    of, index = _compiled(node.of, names), _compiled(node.index, names)

    def item(row: Row) -> Value:
        value, place = of(row), index(row)
        if isinstance(place, str):
            return _field(value, place, row)
        if isinstance(value, Sequence) and isinstance(place, (int, float)) and not isinstance(place, bool):
            is_there = math.isfinite(place) and place == int(place) and 0 <= place < len(value)
            return value[int(place)] if is_there else None
        return None if value is None else _field(value, text_of(place), row)

    return item


def _call(node: Call, names: frozenset[str]) -> Compiled:
    if isinstance(node.function, Name):
        return _global_call(node.function.name, node.arguments, names)
    of, name = _compiled(node.function.of, names), node.function.name
    if name in LAMBDAS:
        return _lambda(name, of, node.arguments, names)
    arguments = [_compiled(each, names) for each in node.arguments]

    def called(row: Row) -> Value:
        value = of(row)
        row.budget.spend()
        if name == "contains" and isinstance(value, TagList):
            return any(has_tag(value, text_of(argument(row))) for argument in arguments[:1])
        function = method(name, type_name(value))
        if function is None:
            if value is None:
                return None
            raise no_function(name, type_name(value))
        return row.budget.made(function(value, [argument(row) for argument in arguments], row))

    return called


def _global_call(name: str, nodes: Sequence[Node], names: frozenset[str]) -> Compiled:
    arguments = [_compiled(each, names) for each in nodes]
    if name == CHOICE:
        none: Compiled = lambda _: None  # noqa: E731 - what stands for an argument that is not there
        condition, then, otherwise = [*arguments, none, none, none][:3]
        return lambda row: then(row) if is_truthy(condition(row)) else otherwise(row)
    function = GLOBAL.get(name)
    if function is None:
        return _failing(no_function(name))

    def called(row: Row) -> Value:
        row.budget.spend()
        return row.budget.made(function(None, [argument(row) for argument in arguments], row))

    return called


def _lambda(name: str, of: Compiled, nodes: Sequence[Node], names: frozenset[str]) -> Compiled:
    """Compile ``filter``, ``map`` and ``reduce``: their first argument is evaluated for each item."""
    each = _compiled(nodes[0], names | _ITEM_NAMES) if nodes else None
    start = _compiled(nodes[1], names) if len(nodes) > 1 else None

    def called(row: Row) -> Value:
        items = of(row)
        if items is None:
            return None
        if isinstance(items, (str, Mapping)) or not isinstance(items, Sequence):
            raise no_function(name, type_name(items))
        if each is None:
            raise CellError(f"{name} needs an expression")
        check_count(len(items))
        held = row.names
        row.names = {**held}
        try:
            if name == "reduce":
                return _reduce(items, each, start(row) if start is not None else None, row)
            return _each(items, each, row, is_filter=name == "filter")
        finally:
            row.names = held

    return called


def _each(items: Sequence[Value], function: Compiled, row: Row, *, is_filter: bool) -> list[Value]:
    results: list[Value] = []
    before = counted = row.budget.bytes
    for index, value in enumerate(items):
        row.budget.spend()
        row.names["value"], row.names["index"] = value, index
        result = function(row)
        if not is_filter:
            results.append(result)
        elif is_truthy(result):
            results.append(value)
        counted = row.budget.give_back(None if is_filter else results, before, counted)
    return results


def _reduce(items: Sequence[Value], function: Compiled, start: Value, row: Row) -> Value:
    acc = start
    before = counted = row.budget.bytes
    for index, value in enumerate(items):
        row.budget.spend()
        row.names["value"], row.names["index"], row.names["acc"] = value, index, acc
        acc = function(row)
        counted = row.budget.give_back(acc, before, counted)
    return acc


def _unary(node: Unary, names: frozenset[str]) -> Compiled:
    operand = _compiled(node.operand, names)
    if node.operator == "!":
        return lambda row: not is_truthy(operand(row))

    def negated(row: Row) -> Value:
        value = operand(row)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return -value
        if isinstance(value, Duration):
            return Duration(-value.months, -value.days, -value.milliseconds)
        if value is None:
            return None
        raise CellError(f"Invalid operator on {type_name(value)}")

    return negated


def _binary(node: Binary, names: frozenset[str]) -> Compiled:
    left, right, operator = _compiled(node.left, names), _compiled(node.right, names), node.operator
    if operator == "&&":
        return lambda row: is_truthy(left(row)) and is_truthy(right(row))
    if operator == "||":
        return lambda row: is_truthy(left(row)) or is_truthy(right(row))
    compute = ARITHMETIC.get(operator)
    if compute is None:
        return lambda row: _compared(operator, left(row), right(row), row)

    def computed(row: Row) -> Value:
        one, other = left(row), right(row)
        if type(one) in _NUMBERS and type(other) in _NUMBERS:
            return compute(one, other)  # type: ignore[arg-type]  # they are numbers
        return row.budget.made(_other(operator, one, other))

    return computed


# The summaries under a column: the fifteen of the app by name, and a base's own.

_NAMES = frozenset(("values",))
# A digest is shorter than a longer text.
_MOST_KEPT = 64


def _numbers(values: Sequence[Value]) -> list[float]:
    return [each for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]


def _dates(values: Sequence[Value]) -> list[Date]:
    return sorted((each for each in values if isinstance(each, Date)), key=to_ms)


def _mean(values: Sequence[Value]) -> Value:
    found = _numbers(values)
    return math.fsum(found) / len(found) if found else None


def _range(values: Sequence[Value]) -> Value:
    found, dates = _numbers(values), _dates(values)
    if found:
        return max(found) - min(found)
    return difference(dates[-1], dates[0]) if dates else None


def _number_or_date(value: Value) -> Value:
    return value if isinstance(value, (int, float, Date)) and not isinstance(value, bool) else None


def _filled(value: Value) -> Value:
    return None if is_empty(value) else True


def _identity(value: Value) -> Value:
    """Return what two values share that count as one."""
    if is_empty(value):
        return None
    text = f"{type_name(value)} {text_of(value)}"
    return text if len(text) <= _MOST_KEPT else hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


_SUMMARIES: Final[Mapping[str, Callable[[Sequence[Value]], Value]]] = {
    "Average": _mean,
    "Min": lambda values: min(_numbers(values), default=None),
    "Max": lambda values: max(_numbers(values), default=None),
    "Sum": lambda values: math.fsum(_numbers(values)) if _numbers(values) else None,
    "Range": _range,
    "Median": lambda values: statistics.median(_numbers(values)) if _numbers(values) else None,
    "Stddev": lambda values: statistics.pstdev(_numbers(values)) if _numbers(values) else None,
    "Earliest": lambda values: next(iter(_dates(values)), None),
    "Latest": lambda values: next(reversed(_dates(values)), None),
    "Checked": lambda values: sum(each is True for each in values),
    "Unchecked": lambda values: sum(each is False for each in values),
    "Empty": lambda values: sum(map(is_empty, values)),
    "Filled": lambda values: sum(not is_empty(each) for each in values),
    "Unique": lambda values: len({each for each in values if each is not None}),
}
# What of a value a summary needs: a column may have many long texts.
_NEEDED: Final[Mapping[str, Callable[[Value], Value]]] = {
    "Checked": lambda value: value if isinstance(value, bool) else None,
    "Unchecked": lambda value: value if isinstance(value, bool) else None,
    "Empty": _filled,
    "Filled": _filled,
    "Unique": _identity,
}
DEFAULT_SUMMARIES: Final = (*_SUMMARIES,)


def default_summary(name: str) -> str | None:
    """Return the app's name of a summary, as it stands in any case; None if the app has none of this name."""
    return next((each for each in _SUMMARIES if each.casefold() == name.casefold()), None)


def needed(name: str, custom: Mapping[str, Expression], value: Value) -> Value:
    """Return what of a value a summary needs: all of it for one of the base's own."""
    if name in custom:
        return value
    known = default_summary(name)
    return None if known is None else _NEEDED.get(known, _number_or_date)(value)


def summarize(name: str, custom: Mapping[str, Expression], values: Sequence[Value], query: Query) -> Value:
    """Return the summary of what is ``needed`` of a column's values; null for a name that means none."""
    if name in custom:
        row = Row(query, "", names={"values": list(values)})
        row.budget.spend(-len(values) * 10)  # a column may be as long as the vault
        return run(compile_expression(custom[name], _NAMES), row)
    known = default_summary(name)
    return None if known is None else _SUMMARIES[known](values)
