"""The operators between two values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from vaultwire.bases.evaluation import ARITHMETIC
from vaultwire.bases.row import Host
from vaultwire.bases.values import (
    MOST_TEXT,
    CellError,
    Date,
    Duration,
    Value,
    add,
    check_count,
    checked_text,
    joined_duration,
    scaled,
)
from vaultwire.dataview.values import TextSettings, between, is_list, is_truthy, order_key, text_of, type_of

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": lambda one, other: one == other,
    "!=": lambda one, other: one != other,
    "<": lambda one, other: one < other,
    "<=": lambda one, other: one <= other,
    ">": lambda one, other: one > other,
    ">=": lambda one, other: one >= other,
}
_MOST_FACTOR = 1e9


def apply(operator: str, left: Value, right: Value, host: Host, texts: TextSettings) -> Value:
    """Return what an operator gives. Raises CellError for two types that it does not join."""
    if operator in _ORDERS:
        if isinstance(left, str) and isinstance(right, str) and operator in ("=", "!="):
            return (left == right) is (operator == "=")
        return _ORDERS[operator](order_key(left, host), order_key(right, host))
    if operator in "&|":
        return (is_truthy(left) and is_truthy(right)) if operator == "&" else (is_truthy(left) or is_truthy(right))
    if (
        isinstance(left, (int, float))
        and isinstance(right, (int, float))
        and "boolean" not in (type_of(left), type_of(right))
    ):
        return ARITHMETIC[operator](left, right)
    if left is None and right is None:
        return None
    if operator == "+" and (isinstance(left, str) or isinstance(right, str)):
        return checked_text(text_of(left, texts) + text_of(right, texts))
    value = _ADDING[operator](left, right) if operator in _ADDING else _of_product(operator, left, right)
    if value is NotImplemented:
        raise CellError(f"No implementation found for '{type_of(left)} {operator} {type_of(right)}'")
    result: Value = value
    return result


def _plus(left: Value, right: Value) -> Any:
    if isinstance(left, Date) or isinstance(right, Date):
        return _moved(left, right, 1) if isinstance(left, Date) else _moved(right, left, 1)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return joined_duration(left, right)
    if is_list(left) and is_list(right) and isinstance(left, Sequence) and isinstance(right, Sequence):
        check_count(len(left) + len(right))
        return [*left, *right]
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return {**left, **right}
    return NotImplemented


def _minus(left: Value, right: Value) -> Any:
    if isinstance(left, Date) and isinstance(right, Date):
        return between(left, right)
    if isinstance(left, Date):
        return _moved(left, right, -1)
    if isinstance(left, Duration) and isinstance(right, Duration):
        return joined_duration(left, right, -1)
    return None if left is None and isinstance(right, Date) else NotImplemented


_ADDING: Final[Mapping[str, Callable[[Value, Value], Any]]] = {"+": _plus, "-": _minus}


def _moved(date: Value, by: Value, sign: int) -> Any:
    if by is None:
        return None
    if not isinstance(by, Duration) or not isinstance(date, Date):
        return NotImplemented
    moved = add(date, by, sign)
    if moved is None:
        raise CellError("This date is before the year 1 or after 9999.")
    return moved


def _of_product(operator: str, left: Value, right: Value) -> Any:
    if operator == "*" and isinstance(left, (int, float)):
        left, right = right, left
    if not isinstance(right, (int, float)) or isinstance(right, bool) or operator == "%":
        return NotImplemented
    if isinstance(left, Duration):
        factor = right if operator == "*" else math.inf if right == 0 else 1 / right
        if not math.isfinite(factor) or abs(factor) > _MOST_FACTOR:
            raise CellError("This duration is too long.")
        return scaled(left, factor)
    if isinstance(left, str) and operator == "*" and math.isfinite(right):
        if right * len(left) > MOST_TEXT:
            raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
        return left * int(right)
    return NotImplemented
