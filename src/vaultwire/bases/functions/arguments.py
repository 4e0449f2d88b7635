"""Reads the arguments of a function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from vaultwire.bases.row import Row
from vaultwire.bases.values import CellError, Value, text_of, type_name

Function: TypeAlias = Callable[[Value, Sequence[Value], Row], Value]
"""A function: the value before the dot (None for a global one), its arguments, the row. Raises CellError."""


def argument(arguments: Sequence[Value], place: int) -> Value:
    """Return an argument, null if it is not there."""
    return arguments[place] if place < len(arguments) else None


def text(arguments: Sequence[Value], place: int) -> str:
    """Return an argument as text."""
    return text_of(argument(arguments, place))


def number(value: Value, function: str) -> float:
    """Return a number. Raises CellError for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CellError(f"{function} needs a number, not {type_name(value)}")
    return value


def whole(arguments: Sequence[Value], place: int, default: int, function: str) -> int:
    """Return an argument as a whole number, as JavaScript cuts it; ``default`` if it is not there."""
    value = argument(arguments, place)
    if value is None:
        return default
    found = number(value, function)
    return 0 if math.isnan(found) else int(max(-(2**53), min(2**53, found)))


def items(value: Value) -> Sequence[Value]:
    """Return the items of a list; anything else is a list of it, null an empty one."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return value
    return [] if value is None else [value]


def is_list(value: Value) -> bool:
    """Tell whether a value is a list."""
    return isinstance(value, Sequence) and not isinstance(value, (str, Mapping))
