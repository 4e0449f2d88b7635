"""Dates in the formats of Moment.js, read back from text: the opposite of ``moment_format``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import Final, NamedTuple

from vaultwire.bases.moment_format import MONTHS, WEEKDAYS, WRITERS, Piece, split_format, sunday_based
from vaultwire.vault.disk.paths import fold

# A text can be read in several ways where numbers without leading zeros follow one another. People's formats allow one
# way or two. A format that allows more than this does not say which day it means.
_MOST_READINGS = 1000


def parse_moment(form: str, text: str, period: str = "day") -> date | None:
    """Return the day that the text means in this format; None if it is no such text, or could mean several days.

    With a longer ``period`` (``vault.days``), the first day of the week, month, quarter or year that the text means.

    The text must be what ``format_moment`` writes, but for case and Unicode form, as names of notes are compared. A year of
    two digits lies between 1969 and 2068. Seconds count from 1970. The day of the week must be right.
    """
    days: set[date] = set()
    for reading in _readings(split_format(form), fold(text)):
        days.update(day for day in _days(_with_first_day(reading.values, period)) if reading.is_of(day))
    return days.pop() if len(days) == 1 else None


class _Reading(NamedTuple):
    """One way to read a text up to ``end``: the numbers by field, and the text read for each token of a date."""

    end: int
    values: dict[str, int]
    written: tuple[tuple[str, str], ...]

    def is_of(self, day: date) -> bool:
        """Tell whether this day gives the same text for each token."""
        moment = datetime.combine(day, time.min)
        return all(WRITERS[token](moment).lower() == text for token, text in self.written)


def _readings(pieces: tuple[Piece, ...], text: str) -> list[_Reading]:
    """Return every way to read the whole folded text; none if there are too many."""
    readings = [_Reading(0, {}, ())]
    for piece in pieces:
        if piece.is_literal:
            literal = fold(piece.text)
            readings = [
                _Reading(end + len(literal), values, written)
                for end, values, written in readings
                if text.startswith(literal, end)
            ]
        else:
            readings = [longer for reading in readings for longer in _read_on(reading, piece.text, text)]
        if not 0 < len(readings) <= _MOST_READINGS:
            return []
    return [reading for reading in readings if reading.end == len(text)]


def _read_on(reading: _Reading, token: str, text: str) -> Iterator[_Reading]:
    """Yield the reading with one more token, in each way that the text allows."""
    field, ways = _ways(token, text, reading.end)
    for value, end in ways:
        if reading.values.get(field, value) != value:
            continue
        least, most = _TIMES.get(field, (0, value))
        if least <= value <= most:
            written = reading.written
            if field not in _TIMES:
                written += ((token, text[reading.end : end]),)
            yield _Reading(end, {**reading.values, field: value}, written)


def _ways(token: str, text: str, start: int) -> tuple[str, list[tuple[int, int]]]:
    """Return the field that a token fills, and the numbers that the text may have for it, each with its end."""
    if token in _NAMES:
        field, names = _NAMES[token]
        found = ((number, start + len(name)) for number, name in enumerate(names) if text.startswith(name, start))
        return field, list(found)
    if token in _DIGITS:
        field, least, most = _DIGITS[token]
        suffix = 2 if token.endswith("o") else 0  # "st", "nd", "rd" or "th"; ``is_of`` checks that it is the right one
        digits = [text[start : start + length] for length in range(least, most + 1) if start + length <= len(text)]
        return field, [
            (int(piece), start + len(piece) + suffix) for piece in digits if piece.isascii() and piece.isdigit()
        ]
    zone = _ZONE.match(text, start) if token in ("Z", "ZZ") else None
    return "zone", [(0, zone.end())] if zone else []


def _days(values: dict[str, int]) -> Iterator[date]:
    """Yield the days that the numbers may mean. Some are wrong: ``_Reading.is_of`` tells."""
    if "X" in values or "x" in values:
        milliseconds = values["x"] if "x" in values else values["X"] * 1000
        try:
            yield (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)).astimezone().date()
        except (OverflowError, OSError, ValueError):  # a year that the system does not know
            pass
        return
    years = {values[field] for field in ("Y", "g", "G") if field in values}
    # As in Moment.js, 68 is 2068 and 69 is 1969.
    years |= {
        values[field] + (2000 if values[field] <= 68 else 1900)  # noqa: PLR2004
        for field in ("YY", "gg", "GG")
        if field in values
    }
    if not values.keys() >= {"Y", "M", "D"}:  # a week's year may differ by one from the year of its days
        years = {year + beside for year in years for beside in (-1, 0, 1)}
    for year in years:
        try:
            day = _day_of(year, values)
        except (ValueError, OverflowError):  # that year has no such day
            continue
        if day is not None:
            yield day


def _with_first_day(values: dict[str, int], period: str) -> dict[str, int]:
    """Return the numbers, with those of the period's first day where the text has none."""
    if period == "day":
        return values
    if period == "week":
        return {**({"E": 1} if "W" in values else {"d": 0} if "w" in values else {}), **values}
    month = {"M": 1} if period == "year" else {"M": 3 * values["Q"] - 2} if "Q" in values else {}
    return {**month, "D": 1, **values}


def _day_of(year: int, values: dict[str, int]) -> date | None:
    if "M" in values and "D" in values:
        return date(year, values["M"], values["D"])
    if "DDD" in values:
        return date(year, 1, 1) + timedelta(values["DDD"] - 1)
    weekday = values.get("E", (values["d"] or 7) if "d" in values else None)  # from Monday, 1, to Sunday, 7
    if weekday is None:
        return None
    if "W" in values:
        return date.fromisocalendar(year, values["W"], weekday)
    if "w" in values:
        first = date(year, 1, 1)
        return first + timedelta(7 * (values["w"] - 1) + weekday % 7 - sunday_based(first))
    return None


_NAMES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    # The first month is 1.
    "MMM": ("M", ("\0", *(fold(name[:3]) for name in MONTHS))),
    "MMMM": ("M", ("\0", *map(fold, MONTHS))),
    "dd": ("d", tuple(fold(name[:2]) for name in WEEKDAYS)),
    "ddd": ("d", tuple(fold(name[:3]) for name in WEEKDAYS)),
    "dddd": ("d", tuple(map(fold, WEEKDAYS))),
    "A": ("a", ("am", "pm")),
    "a": ("a", ("am", "pm")),
    "z": ("zone", ("",)),
    "zz": ("zone", ("",)),
}
"""Tokens that are words: the field of each, and its words, folded, counted from 0."""

_DIGITS: Final[dict[str, tuple[str, int, int]]] = {
    **dict.fromkeys(("YYYY", "Y", "yyyy"), ("Y", 4, 4)),
    "YY": ("YY", 2, 2),
    **dict.fromkeys(("Q", "Qo"), ("Q", 1, 1)),
    **dict.fromkeys(("M", "Mo"), ("M", 1, 2)),
    "MM": ("M", 2, 2),
    **dict.fromkeys(("D", "Do"), ("D", 1, 2)),
    "DD": ("D", 2, 2),
    **dict.fromkeys(("DDD", "DDDo"), ("DDD", 1, 3)),
    "DDDD": ("DDD", 3, 3),
    **dict.fromkeys(("d", "do", "e"), ("d", 1, 1)),
    "E": ("E", 1, 1),
    **dict.fromkeys(("w", "wo"), ("w", 1, 2)),
    "ww": ("w", 2, 2),
    **dict.fromkeys(("W", "Wo"), ("W", 1, 2)),
    "WW": ("W", 2, 2),
    "gg": ("gg", 2, 2),
    "gggg": ("g", 4, 4),
    "GG": ("GG", 2, 2),
    "GGGG": ("G", 4, 4),
    **{token: (token[0], 1, 2) for token in ("H", "h", "k", "m", "s")},
    **{token: (token[0], 2, 2) for token in ("HH", "hh", "kk", "mm", "ss")},
    **{"S" * digits: ("S" * digits, digits, digits) for digits in range(1, 10)},
    "X": ("X", 1, 12),  # up to the year 9999
    "x": ("x", 1, 15),
}
"""Tokens that are numbers: the field of each, and the least and most digits."""

_TIMES: Final[dict[str, tuple[int, int]]] = {
    "H": (0, 23),
    "h": (1, 12),
    "k": (1, 24),
    "m": (0, 59),
    "s": (0, 59),
    "a": (0, 1),
    "zone": (0, 0),
    **{"S" * digits: (0, 999_999_999) for digits in range(1, 10)},
    "X": (0, 253_402_300_799),  # the end of 9999
    "x": (0, 253_402_300_799_999),
}
"""The fields that do not say a day, and the least and greatest number of each."""

_ZONE: Final = re.compile(r"[+-]\d\d:?\d\d", re.ASCII)
