"""Dates in the formats of Moment.js, in which people tell Obsidian the names of their daily notes: written as text.

https://momentjs.com/docs/#/displaying/format/. Names of months and days are English. So is the week of ``w``, ``e`` and
``gg``, which begins on Sunday: Obsidian's follow the language of the app, which no file in the vault tells. Reading is in
``vault.settings``; so is which notes are daily notes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from typing import Final, NamedTuple, TypeAlias

MONTHS = tuple("January February March April May June July August September October November December".split())  # noqa: SIM905 - one line instead of twelve
WEEKDAYS = tuple("Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split())  # noqa: SIM905

# The longest token comes first. A text in brackets ends at the last "]" before the next "[", as in Moment.js.
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
    """A part of a format: a token, or with ``is_literal`` a text."""

    text: str
    is_literal: bool


def format_moment(form: str, moment: date) -> str:
    """Return the moment as text in the format; a date without a time means its midnight.

    A moment without a time zone is in this computer's. Letters that are tokens are replaced everywhere outside ``[…]``,
    also within words: that is the format's rule.
    """
    if not isinstance(moment, datetime):
        moment = datetime.combine(moment, time.min)
    return "".join(piece.text if piece.is_literal else WRITERS[piece.text](moment) for piece in split_format(form))


@lru_cache(maxsize=64)  # a vault has a few
def split_format(form: str) -> tuple[Piece, ...]:
    """Return the format in pieces; literals next to each other are one piece."""
    pieces: list[Piece] = []
    form = _LOCAL.sub(lambda match: _LOCAL_FORMATS.get(match[0], match[0]), form)
    for token in _TOKEN.findall(form):
        compound = _COMPOUND.fullmatch(token)
        if compound:
            pieces += [Piece(part, is_literal=False) for part in compound.groups() if part]
        elif token in WRITERS:
            pieces.append(Piece(token, is_literal=False))
        else:
            literal = token.removeprefix("[").removesuffix("]") if len(token) > 1 and token[0] == "[" else token
            literal = literal if token[0] == "[" else literal.replace("\\", "")
            if pieces and pieces[-1].is_literal:
                literal = pieces.pop().text + literal
            pieces.append(Piece(literal, is_literal=True))
    return tuple(pieces)


def _ordinal(number: int) -> str:
    teen = number % 100 // 10 == 1
    return str(number) + ("th" if teen else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th"))


def _day_of_year(moment: date) -> int:
    return moment.toordinal() - date(moment.year, 1, 1).toordinal() + 1


def sunday_based(moment: date) -> int:
    """Return the day of the week, from Sunday, 0, to Saturday, 6."""
    return moment.isoweekday() % 7


def _week(moment: date) -> tuple[int, int]:
    """Return year and number of the week from Sunday to Saturday. The first week of a year is the one with January 1st."""
    saturday = _day_of_year(moment) + 6 - sunday_based(moment)
    days = _day_of_year(date(moment.year, 12, 31))
    return (moment.year + 1, 1) if saturday > days else (moment.year, (saturday - 1) // 7 + 1)


def _offset(moment: datetime) -> timedelta:
    """Return how far local time is ahead of UTC."""
    try:
        return (moment if moment.tzinfo else moment.astimezone()).utcoffset() or timedelta()
    except (OverflowError, OSError, ValueError):  # a year that the system does not know
        return timedelta()


def _zone(moment: datetime, colon: str) -> str:
    minutes = round(_offset(moment) / timedelta(minutes=1))
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}{colon}{abs(minutes) % 60:02}"


_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - times are counted from it without their offset


def _milliseconds(moment: datetime) -> int:
    return (moment.replace(tzinfo=None) - _offset(moment) - _EPOCH) // timedelta(milliseconds=1)


def _fraction(digits: int) -> Callable[[datetime], str]:
    # Moment.js has milliseconds: the digits after the third are zeros.
    return lambda moment: f"{moment.microsecond // 1000:03}000000"[:digits]


_Writer: TypeAlias = Callable[[datetime], str]

WRITERS: Final[dict[str, _Writer]] = {
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
    "MMM": lambda m: MONTHS[m.month - 1][:3],
    "MMMM": lambda m: MONTHS[m.month - 1],
    "D": lambda m: str(m.day),
    "Do": lambda m: _ordinal(m.day),
    "DD": lambda m: f"{m.day:02}",
    "DDD": lambda m: str(_day_of_year(m)),
    "DDDo": lambda m: _ordinal(_day_of_year(m)),
    "DDDD": lambda m: f"{_day_of_year(m):03}",
    "d": lambda m: str(sunday_based(m)),
    "do": lambda m: _ordinal(sunday_based(m)),
    "dd": lambda m: WEEKDAYS[sunday_based(m)][:2],
    "ddd": lambda m: WEEKDAYS[sunday_based(m)][:3],
    "dddd": lambda m: WEEKDAYS[sunday_based(m)],
    "e": lambda m: str(sunday_based(m)),
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
    "z": lambda _: "",  # a local moment has no abbreviation
    "zz": lambda _: "",
    # Year and name of the era, which is AD for all years that Python knows.
    "y": lambda m: str(m.year),
    "yy": lambda m: f"{m.year:02}",
    "yyy": lambda m: f"{m.year:03}",
    "yyyy": lambda m: f"{m.year:04}",
    "yo": lambda m: _ordinal(m.year),
    **dict.fromkeys(("N", "NN", "NNN", "NNNNN"), lambda _: "AD"),
    "NNNN": lambda _: "Anno Domini",
}
