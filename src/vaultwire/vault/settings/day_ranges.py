"""Ranges of days as a caller names them: ``last 7 days``, ``this week``, ``2026-03``, ``2026-03-01..2026-03-10``. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.settings.daily_notes import parse_day

MAX_DAYS = 366
"""The days of the longest range: a year."""

_LAST_DAYS = re.compile(r"(?:(?:last|past|previous) )?(\d{1,3}) ?d(?:ays?)?")
_WEEKS = {"this week": 0, "last week": -1, "next week": 1}
_MONTHS = {"this month": 0, "last month": -1, "next month": 1}
_MONTH = re.compile(r"(\d{4})-(\d\d)")
_BETWEEN = re.compile(r" *\.\.\.? *| to | until | - ")
_DAYS_OF_WEEK, _MONTHS_OF_YEAR = 7, 12


class DayRange(NamedTuple):
    """The days from ``first`` to ``last``, both included."""

    first: date
    last: date

    def days(self) -> Iterator[date]:
        """Yield the days, the earliest first."""
        for number in range((self.last - self.first).days + 1):
            yield self.first + timedelta(number)


def parse_day_range(text: str, today: date) -> DayRange:
    """Return the days that a caller means: a day (``daily_notes.parse_day``), a named range, a month, or two days.

    Weeks begin on Monday. Raises VaultError (INVALID_ARGUMENTS) for anything else, and for more than 366 days.
    """
    words = " ".join(text.strip().lower().split())
    try:
        found = _named(words, today) or _two_days(words, today)
    except OverflowError:
        raise _wrong(text) from None
    except VaultError:
        raise _wrong(text) from None
    if found.last < found.first:
        found = DayRange(found.last, found.first)
    if (found.last - found.first).days >= MAX_DAYS:
        raise VaultError(
            INVALID_ARGUMENTS, f"{text!r} is more than {MAX_DAYS} days. Ask for a shorter range.", most=MAX_DAYS
        )
    return found


def _named(words: str, today: date) -> DayRange | None:
    last_days = _LAST_DAYS.fullmatch(words)
    if last_days is not None and int(last_days[1]):
        return DayRange(today - timedelta(int(last_days[1]) - 1), today)
    if words in _WEEKS:
        monday = today - timedelta(today.weekday()) + timedelta(weeks=_WEEKS[words])
        return DayRange(monday, monday + timedelta(_DAYS_OF_WEEK - 1))
    if words in _MONTHS:
        return _month(today.year * _MONTHS_OF_YEAR + today.month - 1 + _MONTHS[words])
    month = _MONTH.fullmatch(words)
    if month is not None and 1 <= int(month[2]) <= _MONTHS_OF_YEAR:
        return _month(int(month[1]) * _MONTHS_OF_YEAR + int(month[2]) - 1)
    return None


def _month(number: int) -> DayRange:
    """Return the days of a month, by the number of months since the year 0."""
    first = _first_of(number)
    return DayRange(first, _first_of(number + 1) - timedelta(1))


def _first_of(number: int) -> date:
    try:
        return date(number // _MONTHS_OF_YEAR, number % _MONTHS_OF_YEAR + 1, 1)
    except ValueError:  # before the year 1 or after the year 9999
        raise OverflowError from None


def _two_days(words: str, today: date) -> DayRange:
    first, *others = _BETWEEN.split(words)
    last = others[0] if len(others) == 1 else first if not others else ""
    return DayRange(parse_day(first, today), parse_day(last, today))


def _wrong(text: str) -> VaultError:
    return VaultError(
        INVALID_ARGUMENTS,
        f"{text!r} names no days. Give 'last 7 days', 'this week', 'last month', a month such as '2026-03', two days such as "
        "'2026-03-01..2026-03-10' or '-7..today', or one day.",
        argument="days",
    )
