"""The summaries under a column: the fifteen of the app by name, and a base's own."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from vaultwire.bases.base import Expression
from vaultwire.bases.comparing import is_empty
from vaultwire.bases.dates import difference
from vaultwire.bases.evaluation import compile_expression, run
from vaultwire.bases.row import Query, Row
from vaultwire.bases.texts import text_of, type_name
from vaultwire.bases.values import Date, Value

_NAMES = frozenset(("values",))


def _numbers(values: Sequence[Value]) -> list[float]:
    return [each for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]


def _dates(values: Sequence[Value]) -> list[Date]:
    return sorted((each for each in values if isinstance(each, Date)), key=lambda date: date.at)


def _mean(values: Sequence[Value]) -> Value:
    found = _numbers(values)
    return math.fsum(found) / len(found) if found else None


def _range(values: Sequence[Value]) -> Value:
    found, dates = _numbers(values), _dates(values)
    if found:
        return max(found) - min(found)
    return difference(dates[-1], dates[0]) if dates else None


def _unique(values: Sequence[Value]) -> Value:
    return len({(type_name(each), text_of(each)) for each in values if not is_empty(each)})


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
    "Unique": _unique,
}
DEFAULT_SUMMARIES: Final = (*_SUMMARIES,)


def default_summary(name: str) -> str | None:
    """Return the app's name of a summary, as it stands in any case; None if the app has none of this name."""
    return next((each for each in _SUMMARIES if each.casefold() == name.casefold()), None)


def summarize(name: str, custom: Mapping[str, Expression], values: Sequence[Value], query: Query) -> Value:
    """Return the summary of a column's values; null for a name that means none. Errors are values, too."""
    if name in custom:
        row = Row(query, "", names={"values": list(values)})
        row.budget.spend(-len(values) * 10)  # a column may be as long as the vault
        return run(compile_expression(custom[name], _NAMES), row)
    known = default_summary(name)
    return None if known is None else _SUMMARIES[known](values)
