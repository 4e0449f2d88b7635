"""Dates and durations as the app has them: those of Moment.js, in which months and days have no fixed length."""

from __future__ import annotations

import calendar
import math
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final

from vaultwire.bases.values import Date, Duration

_DATE = re.compile(
    r"(\d{4})-(\d{2})(?:-(\d{2})(?:[T ](\d{1,2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?\s*(Z|[+-]\d{2}:?\d{2})?)?)?"
)
_DIGITS = re.compile(r"(\d{4})(\d{2})(\d{2})(?:T?(\d{2})(\d{2})(\d{2})?)?")
_PART = re.compile(r"\s*([+-]?\s*\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*,?")
_DAY_MS: Final = 86_400_000
# A month has as many days as the average of 400 years (Moment.js, "bubbling").
_DAYS_IN_MONTH: Final = 146_097 / 4_800
_UNITS: Final[dict[str, tuple[str, float]]] = {
    **dict.fromkeys(("y", "year", "years"), ("months", 12)),
    **dict.fromkeys(("M", "month", "months"), ("months", 1)),
    **dict.fromkeys(("w", "week", "weeks"), ("days", 7)),
    **dict.fromkeys(("d", "day", "days"), ("days", 1)),
    **dict.fromkeys(("h", "hour", "hours"), ("milliseconds", 3_600_000)),
    **dict.fromkeys(("m", "minute", "minutes"), ("milliseconds", 60_000)),
    **dict.fromkeys(("s", "second", "seconds"), ("milliseconds", 1_000)),
    **dict.fromkeys(("ms", "millisecond", "milliseconds"), ("milliseconds", 1)),
}
# Longer texts say none; they would be kept.
_MOST_DATE = 60
_MOST_DURATION = 1_000
# Python has the years 1 to 9999.
_MOST_MONTHS = 9_999 * 12


def parse_date(text: str, zone: tzinfo) -> Date | None:
    """Return the date that a text says, in local time unless it names an offset; None if it says none."""
    written = text.strip()
    return _parse_date(written, zone) if len(written) <= _MOST_DATE else None


@lru_cache(maxsize=8192)  # a vault has the same days again and again
def _parse_date(text: str, zone: tzinfo) -> Date | None:
    found = _DATE.fullmatch(text) or _DIGITS.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    fraction, offset = found.groups()[6:] if found.re is _DATE else (None, None)
    micro = int((fraction or "0").ljust(6, "0")[:6])
    try:
        at = datetime(year, month, day or 1, hour, minute, second, micro, _offset(offset) or zone)
    except (ValueError, OverflowError):
        return None
    return Date(at.astimezone(zone) if offset else _on_clock(at), has_time=found[4] is not None)


def _offset(text: str | None) -> timezone | None:
    if not text:
        return None
    if text == "Z":
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def parse_duration(text: str) -> Duration | None:
    """Return the duration that a text says, such as ``1d`` or ``2 hours 30 minutes``; None if it says none."""
    return _parse_duration(text) if len(text) <= _MOST_DURATION else None


@lru_cache(maxsize=1024)  # the same texts stand in formulas
def _parse_duration(text: str) -> Duration | None:
    parts = {"months": 0.0, "days": 0.0, "milliseconds": 0.0}
    at = 0
    while at < len(text):
        found = _PART.match(text, at)
        unit = found and (_UNITS.get(found[2]) or _UNITS.get(found[2].lower()))
        if found is None or unit is None:
            return None
        parts[unit[0]] += float(found[1].replace(" ", "")) * unit[1]
        at = found.end()
    if at == 0:
        return None
    return Duration(round(parts["months"]), parts["days"], parts["milliseconds"])


def add(date: Date, duration: Duration, sign: int = 1) -> Date | None:
    """Return the date that much later, or earlier with ``sign`` -1; None beyond the years 1 to 9999.

    A day keeps being a day unless hours or less are added.
    """
    try:
        at = _add_months(date.at, sign * duration.months)
        # Days count on the clock, so that a change of summer time does not move the hour; hours count in real time.
        at = _on_clock(at + timedelta(days=sign * duration.days))
        if duration.milliseconds:
            moved = at.astimezone(UTC) + timedelta(milliseconds=sign * duration.milliseconds)
            at = moved.astimezone(at.tzinfo)
    except (ValueError, OverflowError):
        return None
    return Date(at, date.has_time or duration.milliseconds != 0)


def _on_clock(at: datetime) -> datetime:
    """Return a time as the clock shows it: when summer time begins, it jumps over an hour."""
    try:
        return at.astimezone(UTC).astimezone(at.tzinfo)
    except OverflowError:
        return at


def _add_months(at: datetime, months: int) -> datetime:
    if not months:
        return at
    if abs(months) > _MOST_MONTHS:
        raise OverflowError
    year, month = divmod(at.year * 12 + at.month - 1 + months, 12)
    if not 1 <= year <= 9_999:  # noqa: PLR2004 - Python's years
        raise OverflowError
    return at.replace(year=year, month=month + 1, day=min(at.day, calendar.monthrange(year, month + 1)[1]))


def difference(later: Date, earlier: Date) -> Duration:
    """Return how long it is from one date to another, as Moment.js does: in milliseconds."""
    return Duration(milliseconds=to_ms(later) - to_ms(earlier))


def to_ms(date: Date) -> float:
    """Return the milliseconds since 1970, UTC."""
    return math.floor((date.at - _EPOCH) / timedelta(microseconds=1) / 1000)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def from_ms(milliseconds: float, zone: tzinfo) -> Date | None:
    """Return the moment that many milliseconds after 1970, UTC; None beyond the years 1 to 9999."""
    try:
        return Date((_EPOCH + timedelta(milliseconds=milliseconds)).astimezone(zone))
    except (ValueError, OverflowError):
        return None


def day_of(date: Date) -> Date:
    """Return the date without its time."""
    return Date(date.at.replace(hour=0, minute=0, second=0, microsecond=0), has_time=False)


def date_text(date: Date) -> str:
    """Return the text of a date: its day, with the time if it has one."""
    return date.at.strftime(f"{date.at.year:04}-%m-%dT%H:%M:%S" if date.has_time else f"{date.at.year:04}-%m-%d")


def total_ms(duration: Duration) -> float:
    """Return a duration in milliseconds; months count with their average length."""
    return (duration.months * _DAYS_IN_MONTH + duration.days) * _DAY_MS + duration.milliseconds


def scaled(duration: Duration, factor: float) -> Duration:
    """Return a duration so many times as long. Parts of months become days."""
    months = duration.months * factor
    whole = math.trunc(months)
    days = duration.days * factor + (months - whole) * _DAYS_IN_MONTH
    return replace(duration, months=whole, days=days, milliseconds=duration.milliseconds * factor)


def joined(one: Duration, other: Duration, sign: int = 1) -> Duration:
    """Return two durations added, or with ``sign`` -1 subtracted."""
    return Duration(
        one.months + sign * other.months,
        one.days + sign * other.days,
        one.milliseconds + sign * other.milliseconds,
    )


def humanized(duration: Duration) -> str:
    """Return a duration in words, with the thresholds of Moment.js: ``a day``, ``14 days``."""
    ms = abs(total_ms(duration))
    seconds, minutes, hours, days = (_rounded(ms / each) for each in (1_000, 60_000, 3_600_000, _DAY_MS))
    months = _rounded(ms / _DAY_MS / _DAYS_IN_MONTH)
    years = _rounded(ms / _DAY_MS / _DAYS_IN_MONTH / 12)
    if seconds < 45:  # noqa: PLR2004 - Moment.js: relativeTimeThreshold
        return "a few seconds"
    for amount, too_many, one, several in (
        (minutes, 45, "a minute", "minutes"),
        (hours, 22, "an hour", "hours"),
        (days, 26, "a day", "days"),
        (months, 11, "a month", "months"),
    ):
        if amount < too_many:
            return one if amount <= 1 else f"{amount} {several}"
    return "a year" if years <= 1 else f"{years} years"


def relative(date: Date, now: datetime) -> str:
    """Return how far a date is from now: ``3 days ago``, ``in 74 years``."""
    ms = to_ms(date) - to_ms(Date(now))
    words = humanized(Duration(milliseconds=ms))
    return f"in {words}" if ms > 0 else f"{words} ago"


def _rounded(number: float) -> int:
    return math.floor(number + 0.5)
