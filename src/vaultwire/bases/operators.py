"""The operators between two values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from vaultwire.bases.comparing import compare, equal
from vaultwire.bases.dates import add, difference, joined, parse_duration, scaled, total_ms
from vaultwire.bases.errors import CellError, cannot_parse, check_count, checked_text, invalid_operator
from vaultwire.bases.row import Row
from vaultwire.bases.texts import text_of, type_name
from vaultwire.bases.values import Date, Duration, Value


def _is_number(value: Value) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_list(value: Value) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def apply(operator: str, left: Value, right: Value, row: Row) -> Value:
    """Return what an operator gives, but for ``&&`` and ``||``. Raises CellError."""
    if operator in ("==", "!="):
        return equal(left, right, row.host, row.zone) is (operator == "==")
    if operator in _ORDERS:
        order = compare(left, right, row.zone)
        return order is not None and _ORDERS[operator](order)
    if isinstance(left, (int, float)) and isinstance(right, (int, float)) and _is_number(left) and _is_number(right):
        return _ARITHMETIC[operator](left, right)
    return _other(operator, left, right)


_ORDERS: Mapping[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


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


_ARITHMETIC: Mapping[str, Callable[[float, float], float]] = {
    "+": _safely(lambda left, right: left + right),
    "-": _safely(lambda left, right: left - right),
    "*": _safely(lambda left, right: left * right),
    "/": _safely(_divide),
    "%": _safely(_remainder),
}


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
    moved = add(left, right, 1 if operator == "+" else -1)
    if moved is None:
        raise CellError("This date is before the year 1 or after 9999.")
    return moved


def _of_duration(operator: str, left: Duration, right: Value) -> Value:
    if isinstance(right, (int, float)) and _is_number(right) and operator in "*/":
        if right == 0 and operator == "/":
            raise CellError("A duration cannot be divided by 0.")
        factor = right if operator == "*" else 1 / right
        if not math.isfinite(factor) or abs(factor) > _MOST_FACTOR:
            raise CellError("This duration is too long.")
        return scaled(left, factor)
    if operator in "+-":
        other = parse_duration(right) if isinstance(right, str) else right
        if isinstance(other, Duration):
            return joined(left, other, 1 if operator == "+" else -1)
        if isinstance(other, Date) and operator == "+":
            return add(other, left)
    if operator == "/" and isinstance(right, Duration):
        return _divide(total_ms(left), total_ms(right))
    if operator == "+" and isinstance(right, str):
        return text_of(left) + right
    if right is None:
        return None
    raise invalid_operator("Duration", type_name(right))


_MOST_FACTOR = 1e9
