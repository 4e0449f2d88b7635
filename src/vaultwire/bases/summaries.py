"""The summaries under a column: the fifteen of the app by name, and a base's own."""

from __future__ import annotations

import hashlib
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vaultwire.bases.base import Expression
from vaultwire.bases.comparing import is_empty
from vaultwire.bases.evaluation import compile_expression, run
from vaultwire.bases.row import Query, Row
from vaultwire.bases.values import Date, Value, difference, text_of, to_ms, type_name

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
