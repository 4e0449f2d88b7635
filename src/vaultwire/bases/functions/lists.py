"""The functions of lists and objects. ``filter``, ``map`` and ``reduce`` are in ``lambdas``: they evaluate for each item."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from vaultwire.bases.comparing import compare, equal, is_empty, is_last, key_bytes, sort_key
from vaultwire.bases.errors import MOST_TEXT, check_count
from vaultwire.bases.functions.arguments import Function, argument, is_list, items, number, text, whole
from vaultwire.bases.row import Row
from vaultwire.bases.texts import joined, text_of, type_name
from vaultwire.bases.values import Date, Value


def has(found: Sequence[Value], wanted: Value, row: Row) -> bool:
    """Tell whether an item of a list is equal to a value."""
    row.budget.spend(len(found) // 4 + 1)
    return any(equal(each, wanted, row.host, row.zone) for each in found)


def _flat(of: Value, _: Sequence[Value], row: Row) -> Value:
    """Put the items of lists within a list into it; lists within those stay, as in JavaScript."""
    flat: list[Value] = []
    for each in items(of):
        row.budget.spend()
        flat += items(each) if is_list(each) else [each]
        check_count(len(flat))
    return flat


def _unique(of: Value, _: Sequence[Value], row: Row) -> Value:
    found: dict[tuple[str, str], Value] = {}
    for each in items(of):
        row.budget.spend()
        text = text_of(each)
        if not isinstance(each, str):
            row.budget.take(len(text))
        found.setdefault((type_name(each), text), each)
    return list(found.values())


def _sort(of: Value, _: Sequence[Value], row: Row) -> Value:
    row.budget.spend(len(items(of)))

    def key(value: Value) -> Any:
        made = sort_key(value)
        row.budget.take(key_bytes(made))
        return made

    present = sorted((each for each in items(of) if not is_last(each)), key=key)
    return [*present, *(each for each in items(of) if is_last(each))]


def _slice(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    found = items(of)
    return list(found[whole(arguments, 0, 0, "slice") : whole(arguments, 1, len(found), "slice")])


def _join(of: Value, arguments: Sequence[Value], row: Row) -> Value:
    row.budget.spend(len(items(of)))
    between = "," if argument(arguments, 0) is None else text(arguments, 0)
    check_count(len(items(of)))
    return joined(between, map(text_of, items(of)), MOST_TEXT)


def numbers(of: Value, function: str) -> list[float]:
    """Return the numbers of a list, without empty items. Raises CellError for others."""
    return [number(each, function) for each in items(of) if not is_empty(each)]


def _mean(of: Value, _: Sequence[Value], __: Row) -> Value:
    found = numbers(of, "mean")
    return math.fsum(found) / len(found) if found else None


def _median(of: Value, _: Sequence[Value], __: Row) -> Value:
    found = numbers(of, "median")
    return statistics.median(found) if found else None


def _stddev(of: Value, _: Sequence[Value], __: Row) -> Value:
    found = numbers(of, "stddev")
    return statistics.pstdev(found) if found else None


def _extreme(sign: int, kinds: tuple[type, ...]) -> Function:
    def chosen(of: Value, _: Sequence[Value], row: Row) -> Value:
        best: Value = None
        for each in items(of):
            row.budget.spend()
            if not isinstance(each, kinds) or isinstance(each, bool):
                continue
            order = None if best is None else compare(each, best, row.zone)
            if best is None or (order is not None and order * sign > 0):
                best = each
        return best

    return chosen


LIST: Mapping[str, Function] = {
    "contains": lambda of, arguments, row: has(items(of), argument(arguments, 0), row),
    "containsAll": lambda of, arguments, row: all(has(items(of), each, row) for each in arguments),
    "containsAny": lambda of, arguments, row: any(has(items(of), each, row) for each in arguments),
    "flat": _flat,
    "join": _join,
    "reverse": lambda of, _, __: list(reversed(items(of))),
    "slice": _slice,
    "sort": _sort,
    "unique": _unique,
    "mean": _mean,
    "average": _mean,
    "median": _median,
    "stddev": _stddev,
    "sum": lambda of, _, __: math.fsum(numbers(of, "sum")),
    "min": _extreme(-1, (int, float, Date)),
    "max": _extreme(1, (int, float, Date)),
    "earliest": _extreme(-1, (Date,)),
    "latest": _extreme(1, (Date,)),
}


def _keys(of: Value, _: Sequence[Value], __: Row) -> Value:
    return list(of) if isinstance(of, Mapping) else []


def _values(of: Value, _: Sequence[Value], __: Row) -> Value:
    return list(of.values()) if isinstance(of, Mapping) else []


OBJECT: Mapping[str, Function] = {
    "keys": _keys,
    "values": _values,
}
