"""The date formats of Moment.js, in which Obsidian's owners say how their daily notes are called: written and read back.

https://momentjs.com/docs/#/displaying/format/. Names of months and days are English, and so is the week of ``w``, ``e`` and
``gg``, which begins on Sunday: Obsidian's follow the language of the app, which no file in the vault tells. Which notes
are daily notes is said by ``vault.settings.daily_notes``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

from vaultwire.vault.disk.paths import fold

_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_DAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")

# Longest first. A text in brackets reaches to the last "]" before the next "[", as in the original.
_LOCAL = re.compile(r"\[[^\[]*\]|\\?(?:LTS|LT|L{1,4}|l{1,4})")
_LOCAL_FORMATS = {
    "LT": "h:mm A",
    "LTS": "h:mm:ss A",
    "L": "MM/DD/YYYY",
    "LL": "MMMM D, YYYY",
    "LLL": "MMMM D, YYYY h:mm A",
    "LLLL": "dddd, MMMM D, YYYY h:mm A",
    "l": "M/D/YYYY",
    "ll": "MMM D, YYYY",
    "lll": "MMM D, YYYY h:mm A",
    "llll": "ddd, MMM D, YYYY h:mm A",
}
_TOKEN = re.compile(
    r"\[[^\[]*\]|\\?(?:"
    r"[Hh]mm(?:ss)?|DDDo|Mo|Do|do|wo|Wo|Qo|yo|M{1,4}|D{1,4}|d{1,4}|w{1,2}|W{1,2}|Q|N{1,5}"
    r"|Y{4,6}|YY|Y|y{1,4}|g{4,5}|gg|G{4,5}|GG|e|E|a|A|h{1,2}|H{1,2}|k{1,2}|m{1,2}|s{1,2}|S{1,9}|x|X|z{1,2}|Z{1,2}|.)",
    re.DOTALL,
)
_COMPOUND = re.compile(r"([Hh])(mm)(ss)?")


class Piece(NamedTuple):
    """A part of a format: a token, or with ``is_literal`` the text that stands there."""

    text: str
    is_literal: bool


def format_moment(form: str, moment: date) -> str:
    """Return the moment as text in the format; a date without a time is its midnight.

    A moment without a time zone is in this computer's. Letters that are tokens are replaced wherever they stand outside
    ``[…]``, also within words: that is the format's rule.
    """
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time.min)
    return "".join(piece.text if piece.is_literal else _WRITERS[piece.text](moment) for piece in _split(form))


def parse_moment(form: str, text: str) -> date | None:
    """Return the day whose text in the format this is; None if it is none, or the format does not determine one day.

    Exactly as ``format_moment`` writes it, but for case and Unicode form, as names of notes are compared. A year of two
    digits is one from 1969 to 2068, a number of seconds one since 1970. What says the day of the week has to be right.
    """
    days: set[date] = set()
    for reading in _readings(_split(form), fold(text)):
        days.update(day for day in _days(reading.values) if reading.is_of(day))
    return days.pop() if len(days) == 1 else None


@lru_cache(maxsize=64)  # a vault has a few
def _split(form: str) -> tuple[Piece, ...]:
    """Return the format in pieces, neighbouring literals joined."""
    pieces: list[Piece] = []
    form = _LOCAL.sub(lambda match: _LOCAL_FORMATS.get(match[0], match[0]), form)
    for token in _TOKEN.findall(form):
        compound = _COMPOUND.fullmatch(token)
        if compound:
            pieces += [Piece(part, is_literal=False) for part in compound.groups() if part]
        elif token in _WRITERS:
            pieces.append(Piece(token, is_literal=False))
        else:
            literal = token.removeprefix("[").removesuffix("]") if len(token) > 1 and token[0] == "[" else token
            literal = literal if token[0] == "[" else literal.replace("\\", "")
            if pieces and pieces[-1].is_literal:
                literal = pieces.pop().text + literal
            pieces.append(Piece(literal, is_literal=True))
    return tuple(pieces)


# ---------------------------------------------------------------------- writing


def _ordinal(number: int) -> str:
    teen = number % 100 // 10 == 1
    return str(number) + ("th" if teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th"))


def _day_of_year(moment: date) -> int:
    return moment.toordinal() - date(moment.year, 1, 1).toordinal() + 1


def _sunday_based(moment: date) -> int:
    return moment.isoweekday() % 7


def _week(moment: date) -> tuple[int, int]:
    """Return year and number of the week from Sunday to Saturday; the first of a year is the one with January 1st."""
    saturday = _day_of_year(moment) + 6 - _sunday_based(moment)
    days = _day_of_year(date(moment.year, 12, 31))
    return (moment.year + 1, 1) if saturday > days else (moment.year, (saturday - 1) // 7 + 1)


def _offset(moment: datetime) -> timedelta:
    """Return how far local time is ahead of UTC."""
    try:
        return (moment if moment.tzinfo else moment.astimezone()).utcoffset() or timedelta()
    except (OverflowError, OSError, ValueError):  # beyond the years the system knows
        return timedelta()


def _zone(moment: datetime, colon: str) -> str:
    minutes = round(_offset(moment) / timedelta(minutes=1))
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{colon}{abs(minutes) % 60:02}"


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - what is counted from it has had its offset taken away


def _milliseconds(moment: datetime) -> int:
    return (moment.replace(tzinfo=None) - _offset(moment) - _EPOCH) // timedelta(milliseconds=1)


def _fraction(digits: int) -> Callable[[datetime], str]:
    # Moments have milliseconds; the digits after the third are zeros.
    return lambda moment: f"{moment.microsecond // 1000:03}000000"[:digits]


_Writer: TypeAlias = Callable[[datetime], str]

_WRITERS: Final[dict[str, _Writer]] = {
    "YY": lambda m: f"{m.year % 100:02}",
    "Y": lambda m: f"{m.year:04}",
    "YYYY": lambda m: f"{m.year:04}",
    "YYYYY": lambda m: f"{m.year:05}",
    "YYYYYY": lambda m: f"+{m.year:06}",
    "Q": lambda m: str((m.month + 2) // 3),
    "Qo": lambda m: _ordinal((m.month + 2) // 3),
    "M": lambda m: str(m.month),
    "Mo": lambda m: _ordinal(m.month),
    "MM": lambda m: f"{m.month:02}",
    "MMM": lambda m: _MONTHS[m.month - 1][:3],
    "MMMM": lambda m: _MONTHS[m.month - 1],
    "D": lambda m: str(m.day),
    "Do": lambda m: _ordinal(m.day),
    "DD": lambda m: f"{m.day:02}",
    "DDD": lambda m: str(_day_of_year(m)),
    "DDDo": lambda m: _ordinal(_day_of_year(m)),
    "DDDD": lambda m: f"{_day_of_year(m):03}",
    "d": lambda m: str(_sunday_based(m)),
    "do": lambda m: _ordinal(_sunday_based(m)),
    "dd": lambda m: _DAYS[_sunday_based(m)][:2],
    "ddd": lambda m: _DAYS[_sunday_based(m)][:3],
    "dddd": lambda m: _DAYS[_sunday_based(m)],
    "e": lambda m: str(_sunday_based(m)),
    "E": lambda m: str(m.isoweekday()),
    "w": lambda m: str(_week(m)[1]),
    "wo": lambda m: _ordinal(_week(m)[1]),
    "ww": lambda m: f"{_week(m)[1]:02}",
    "W": lambda m: str(m.isocalendar().week),
    "Wo": lambda m: _ordinal(m.isocalendar().week),
    "WW": lambda m: f"{m.isocalendar().week:02}",
    "gg": lambda m: f"{_week(m)[0] % 100:02}",
    "gggg": lambda m: f"{_week(m)[0]:04}",
    "ggggg": lambda m: f"{_week(m)[0]:05}",
    "GG": lambda m: f"{m.isocalendar().year % 100:02}",
    "GGGG": lambda m: f"{m.isocalendar().year:04}",
    "GGGGG": lambda m: f"{m.isocalendar().year:05}",
    "H": lambda m: str(m.hour),
    "HH": lambda m: f"{m.hour:02}",
    "h": lambda m: str(m.hour % 12 or 12),
    "hh": lambda m: f"{m.hour % 12 or 12:02}",
    "k": lambda m: str(m.hour or 24),
    "kk": lambda m: f"{m.hour or 24:02}",
    "m": lambda m: str(m.minute),
    "mm": lambda m: f"{m.minute:02}",
    "s": lambda m: str(m.second),
    "ss": lambda m: f"{m.second:02}",
    **{"S" * digits: _fraction(digits) for digits in range(1, 10)},
    "A": lambda m: "PM" if m.hour >= 12 else "AM",  # noqa: PLR2004 - noon
    "a": lambda m: "pm" if m.hour >= 12 else "am",  # noqa: PLR2004 - noon
    "X": lambda m: str(_milliseconds(m) // 1000),
    "x": lambda m: str(_milliseconds(m)),
    "Z": lambda m: _zone(m, ":"),
    "ZZ": lambda m: _zone(m, ""),
    "z": lambda _: "",  # a local moment knows no abbreviation
    "zz": lambda _: "",
    # The year and name of the era, which for all years Python knows is this one.
    "y": lambda m: str(m.year),
    "yy": lambda m: f"{m.year:02}",
    "yyy": lambda m: f"{m.year:03}",
    "yyyy": lambda m: f"{m.year:04}",
    "yo": lambda m: _ordinal(m.year),
    **dict.fromkeys(("N", "NN", "NNN", "NNNNN"), lambda _: "AD"),
    "NNNN": lambda _: "Anno Domini",
}


# ---------------------------------------------------------------------- reading

# A text can be read in several ways where numbers without zeros in front follow one another. Formats of people have one
# way or two; one with more than this does not say which day it is.
_MOST_READINGS = 1000


class _Reading(NamedTuple):
    """One way to read a text up to ``end``: the numbers in it by field, and what stands for each token of a date."""

    end: int
    values: dict[str, int]
    written: tuple[tuple[str, str], ...]

    def is_of(self, day: date) -> bool:
        """Tell whether each token is written so for this day."""
        moment = datetime.combine(day, time.min)
        return all(_WRITERS[token](moment).lower() == text for token, text in self.written)


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
    """Yield the reading with one more token, in each way the text allows."""
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
    """Return the field a token fills, and the numbers that may stand for it with where they end."""
    if token in _NAMES:
        field, names = _NAMES[token]
        found = ((number, start + len(name)) for number, name in enumerate(names) if text.startswith(name, start))
        return field, list(found)
    if token in _DIGITS:
        field, least, most = _DIGITS[token]
        suffix = 2 if token.endswith("o") else 0  # "st", "nd", "rd" or "th"; whether the right one is seen afterwards
        digits = [text[start : start + length] for length in range(least, most + 1) if start + length <= len(text)]
        return field, [
            (int(piece), start + len(piece) + suffix) for piece in digits if piece.isascii() and piece.isdigit()
        ]
    zone = _ZONE.match(text, start) if token in ("Z", "ZZ") else None
    return "zone", [(0, zone.end())] if zone else []


def _days(values: dict[str, int]) -> Iterator[date]:
    """Yield every day that the numbers may mean; more than they do mean, which ``_Reading.is_of`` sorts out."""
    if "X" in values or "x" in values:
        milliseconds = values["x"] if "x" in values else values["X"] * 1000
        try:
            yield (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=milliseconds)).astimezone().date()
        except (OverflowError, OSError, ValueError):  # beyond the years the system knows
            pass
        return
    years = {values[field] for field in ("Y", "g", "G") if field in values}
    # As Moment.js: 68 is 2068, 69 is 1969.
    years |= {
        values[field] + (2000 if values[field] <= 68 else 1900)  # noqa: PLR2004
        for field in ("YY", "gg", "GG")
        if field in values
    }
    if not values.keys() >= {"Y", "M", "D"}:  # the year of a week is that of its days or the one beside it
        years = {year + beside for year in years for beside in (-1, 0, 1)}
    for year in years:
        try:
            day = _day_of(year, values)
        except (ValueError, OverflowError):  # there is no such day in that year
            continue
        if day is not None:
            yield day


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
        return first + timedelta(7 * (values["w"] - 1) + weekday % 7 - _sunday_based(first))
    return None


_NAMES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    # The first month is 1.
    "MMM": ("M", ("\0", *(fold(name[:3]) for name in _MONTHS))),
    "MMMM": ("M", ("\0", *map(fold, _MONTHS))),
    "dd": ("d", tuple(fold(name[:2]) for name in _DAYS)),
    "ddd": ("d", tuple(fold(name[:3]) for name in _DAYS)),
    "dddd": ("d", tuple(map(fold, _DAYS))),
    "A": ("a", ("am", "pm")),
    "a": ("a", ("am", "pm")),
    "z": ("zone", ("",)),
    "zz": ("zone", ("",)),
}
"""The fields of tokens that are words, and the words from 0 on, folded."""

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
"""The fields of tokens that are numbers, and how many digits they have."""

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
"""The fields that say no day themselves, and their numbers."""

_ZONE: Final = re.compile(r"[+-]\d\d:?\d\d", re.ASCII)
