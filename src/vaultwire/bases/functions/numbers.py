"""The functions of numbers, dates and durations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

from vaultwire.bases.dates import day_of, humanized, relative, total_ms
from vaultwire.bases.errors import CellError
from vaultwire.bases.functions.arguments import Function, text, whole
from vaultwire.bases.moment_format import format_moment
from vaultwire.bases.row import Row
from vaultwire.bases.texts import number_text
from vaultwire.bases.values import Date, Duration, Value

_MOST_DIGITS = 100
_LARGEST_FIXED = 1e21
_MOST_FORMAT = 1000


def _number(of: Value) -> float:
    assert isinstance(of, (int, float)), "the table calls it for numbers only"
    return of


def _whole(change: Callable[[float], int]) -> Function:
    def changed(of: Value, _: Sequence[Value], __: Row) -> Value:
        number = _number(of)
        return change(number) if math.isfinite(number) else number

    return changed


def _round(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    number = _number(of)
    digits = whole(arguments, 0, 0, "round")
    if not math.isfinite(number) or abs(digits) > _MOST_DIGITS:
        return number
    if digits == 0:
        return math.floor(number + 0.5)
    factor = 10.0**digits
    scaled = number * factor
    return math.floor(scaled + 0.5) / factor if math.isfinite(scaled) else number


def _to_fixed(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    digits = whole(arguments, 0, 0, "toFixed")
    if not 0 <= digits <= _MOST_DIGITS:
        raise CellError("toFixed() digits argument must be between 0 and 100")
    number = _number(of)
    if not math.isfinite(number) or abs(number) >= _LARGEST_FIXED:
        return number_text(number)
    return str(Decimal(number).quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))


NUMBER: Mapping[str, Function] = {
    "abs": lambda of, _, __: abs(_number(of)),
    "ceil": _whole(math.ceil),
    "floor": _whole(math.floor),
    "round": _round,
    "toFixed": _to_fixed,
}


def _date(of: Value) -> Date:
    assert isinstance(of, Date), "the table calls it for dates only"
    return of


def _format(of: Value, arguments: Sequence[Value], _: Row) -> Value:
    # Without a format, or with an empty one, Moment.js writes ISO 8601 with the offset.
    form = text(arguments, 0)[:_MOST_FORMAT] or "YYYY-MM-DDTHH:mm:ssZ"
    return format_moment(form, _date(of).at)


DATE: Mapping[str, Function] = {
    "date": lambda of, _, __: day_of(_date(of)),
    "format": _format,
    "time": lambda of, _, __: f"{_date(of).at:%H:%M:%S}",
    "relative": lambda of, _, row: relative(_date(of), row.query.now),
}
DATE_FIELDS: Mapping[str, Callable[[Date], Value]] = {
    "year": lambda date: date.at.year,
    "month": lambda date: date.at.month,
    "day": lambda date: date.at.day,
    "hour": lambda date: date.at.hour,
    "minute": lambda date: date.at.minute,
    "second": lambda date: date.at.second,
    "millisecond": lambda date: date.at.microsecond // 1000,
}


def _duration(of: Value) -> Duration:
    assert isinstance(of, Duration), "the table calls it for durations only"
    return of


DURATION: Mapping[str, Function] = {
    "humanize": lambda of, _, __: humanized(_duration(of)),
}
# The whole duration in each unit, not a part of it.
DURATION_FIELDS: Mapping[str, Callable[[Duration], Value]] = {
    "days": lambda duration: total_ms(duration) / 86_400_000,
    "hours": lambda duration: total_ms(duration) / 3_600_000,
    "minutes": lambda duration: total_ms(duration) / 60_000,
    "seconds": lambda duration: total_ms(duration) / 1_000,
    "milliseconds": total_ms,
}
