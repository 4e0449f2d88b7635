"""What days a caller means: a day, or a week, month, quarter or year, by its name or from today. Pure; it reads no clock."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final, NamedTuple

from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

_ADVERBS: Final = {"daily": "day", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}
_NAMED_DAYS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
_NAMED_PERIODS: Final = {"last": -1, "previous": -1, "this": 0, "current": 0, "next": 1}
_FROM_TODAY = re.compile(r"([+-]\d{1,7})(?: ?(day|week|month|quarter|year)s?)?", re.ASCII)
_PERIOD = re.compile(r"(?:([a-z]+) )?(week|month|quarter|year)")
_DATED = re.compile(r"(\d{4})(?:-?(w)(\d\d?)|-?(q)([1-4])|-(\d\d))?", re.ASCII)
_WEEKDAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_WEEKDAY = re.compile(rf"(next|coming|this|last|previous|past) ({'|'.join(_WEEKDAYS)})")
_LAST_DAYS = re.compile(r"(?:(?:last|past|previous) )?([1-9]\d{0,2}) ?d(?:ays?)?", re.ASCII)
_BETWEEN = re.compile(r" *\.\.\.? *| to | until ")
_A_DAY = timedelta(1)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_FORMS = (
    "'today', 'yesterday', 'tomorrow', a date such as '2024-01-31', days from today ('+3', '-1'), or more days "
    "('this week', '2024-W05', '2024-01', '2024-Q1', '2024')"
)


class Days(NamedTuple):
    """A day, week, month, quarter or year: its first and last day."""

    period: str
    first: date
    last: date


def parse_days(text: str, today: date, *, iso_weeks: bool = True) -> Days:
    """Return the days that a caller means. Weeks are from Monday (ISO 8601), or else from Sunday, as in American calendars.

    Raises VaultError (INVALID_ARGUMENTS).
    """
    word = " ".join(text.lower().split())
    word = _ADVERBS.get(word, word)
    try:
        if word in _NAMED_DAYS:
            return days_around("day", today + timedelta(_NAMED_DAYS[word]))
        if (match := _FROM_TODAY.fullmatch(word)) is not None:
            return shifted(days_around(match[2] or "day", today, iso_weeks=iso_weeks), int(match[1]))
        match = _PERIOD.fullmatch(word)
        if match is not None and (match[1] is None or match[1] in _NAMED_PERIODS):
            steps = _NAMED_PERIODS[match[1] or "this"]
            return shifted(days_around(match[2], today, iso_weeks=iso_weeks), steps)
        if (match := _WEEKDAY.fullmatch(word)) is not None:
            return days_around("day", _weekday(match[1], _WEEKDAYS.index(match[2]), today, iso_weeks=iso_weeks))
        if (match := _DATED.fullmatch(word)) is not None:
            return _dated(match, iso_weeks=iso_weeks)
        return days_around("day", date.fromisoformat(word.upper()))
    except (ValueError, OverflowError):
        raise VaultError(INVALID_ARGUMENTS, f"{text!r} is not a date I understand. Give {_FORMS}.") from None


def days_between(text: str, parse: Callable[[str], Days]) -> Days | None:
    """Return the days of ``last 7 days``, or from one time to another: ``2026-03-01..2026-03-10``, ``-7 to today``.

    None for a text of neither form. ``parse`` reads one time. Raises VaultError (INVALID_ARGUMENTS) if it is none.
    """
    words = " ".join(text.lower().split())
    last_days = _LAST_DAYS.fullmatch(words)
    if last_days is not None:
        today = parse("today").first
        return Days("days", today - timedelta(int(last_days[1]) - 1), today)
    ends = _BETWEEN.split(words)
    if len(ends) != 2:  # noqa: PLR2004 - from and to
        return None
    one, other = map(parse, ends)
    return Days("days", min(one.first, other.first), max(one.last, other.last))


def parse_day(text: str, today: date) -> date:
    """Return the day that a caller means, as ``parse_days`` does. Raises VaultError (INVALID_ARGUMENTS) for more than a day."""
    days = parse_days(text, today)
    if days.period != "day":
        raise VaultError(INVALID_ARGUMENTS, f"{text!r} is a {days.period}; give one day of it, such as '{days.first}'.")
    return days.first


def parse_day_range(text: str, argument: str, parse: Callable[[str], Days]) -> tuple[str, str]:
    """Return the first and the last day, as ISO 8601, of a range that a caller gives; empty for no bound.

    A range is a day or longer time, or one or two of these with ``<``, ``<=``, ``>`` or ``>=`` before it. ``parse`` reads
    one. Raises VaultError (INVALID_ARGUMENTS) that names the argument.
    """
    parts = re.split(r"\s*(<=|>=|<|>)\s*", f" {text.strip()}")
    first, last = "", ""
    try:
        if parts[0].strip():
            days = parse(text)
            return days.first.isoformat(), days.last.isoformat()
        for sign, word in zip(parts[1::2], parts[2::2], strict=True):
            days = parse(word.rstrip(" ,"))
            if sign[0] == "<":
                last = min(filter(None, (last, (days.last if sign == "<=" else days.first - _A_DAY).isoformat())))
            else:
                first = max(first, (days.first if sign == ">=" else days.last + _A_DAY).isoformat())
    except (VaultError, OverflowError) as error:
        raise VaultError(
            INVALID_ARGUMENTS,
            f"{argument}: {error} With '<', '<=', '>' or '>=' before it: '<today', '>=2024-01-01 <2024-02-01'.",
            argument=argument,
        ) from None
    return first, last


def days_around(period: str, day: date, *, iso_weeks: bool = True) -> Days:
    """Return the week, month, quarter or year that holds the day; or the day."""
    if period == "day":
        return Days(period, day, day)
    if period == "week":
        first = day - timedelta(day.weekday() if iso_weeks else day.isoweekday() % 7)
        return Days(period, first, first + timedelta(6))
    months = _MONTHS[period]
    first = date(day.year, (day.month - 1) // months * months + 1, 1)
    return Days(period, first, _month_after(first, months) - _A_DAY)


def shifted(days: Days, steps: int) -> Days:
    """Return the day, week, month, quarter or year that comes so many later."""
    if days.period in ("day", "week"):
        by = timedelta(steps * (1 if days.period == "day" else 7))
        return Days(days.period, days.first + by, days.last + by)
    return days_around(days.period, _month_after(days.first, steps * _MONTHS[days.period]))


def named(period: str, first: date) -> str:
    """Return what a day, week … with this first day is called; of a week its days, too, as it may begin on Sunday."""
    year = f"{first.year:04}"
    if period == "day":
        return first.isoformat()
    if period == "week":
        last = first + timedelta(6)
        january = date(last.year, 1, 1)
        if first.weekday() == 0:
            week_year, week, _ = first.isocalendar()
        else:
            week_year, week = last.year, (first - days_around("week", january, iso_weeks=False).first).days // 7 + 1
        return f"{week_year:04}-W{week:02} ({first} to {last})"
    if period == "year":
        return year
    return f"{year}-{first.month:02}" if period == "month" else f"{year}-Q{(first.month + 2) // 3}"


def later(day: date, steps: int, period: str) -> date:
    """Return the day so many days, weeks, months … later; of a month that is too short, its last day."""
    if period in ("day", "week"):
        return day + timedelta(steps * (7 if period == "week" else 1))
    month = shifted(days_around("month", day), steps * _MONTHS[period])
    return month.first + timedelta(min(day.day, month.last.day) - 1)


def _weekday(which: str, number: int, today: date, *, iso_weeks: bool) -> date:
    """Return the next such day after today, the last one before it, or that of this week. Monday is 0."""
    if which == "this":
        first = days_around("week", today, iso_weeks=iso_weeks).first
        return first + timedelta((number - first.weekday()) % 7)
    if which in ("next", "coming"):
        return today + timedelta((number - today.weekday() - 1) % 7 + 1)
    return today - timedelta((today.weekday() - number - 1) % 7 + 1)


def _dated(match: re.Match[str], *, iso_weeks: bool) -> Days:
    """Return the week, quarter, month or year of a match of ``_DATED``. Raises ValueError if there is none."""
    year = int(match[1])
    if match[2]:
        if iso_weeks:
            return days_around("week", date.fromisocalendar(year, int(match[3]), 1))
        week = days_around("week", date(year, 1, 1) + timedelta(7 * (int(match[3]) - 1)), iso_weeks=False)
        if match[3].strip("0") == "" or week.last.year != year:  # that week is the next year's first
            raise ValueError(match[0])
        return week
    if match[4]:
        return days_around("quarter", date(year, int(match[5]) * 3, 1))
    return days_around("month", date(year, int(match[6]), 1)) if match[6] else days_around("year", date(year, 1, 1))


def _month_after(first: date, months: int) -> date:
    years, month = divmod(first.month - 1 + months, 12)
    return date(first.year + years, month + 1, 1)
