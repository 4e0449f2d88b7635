"""The values of the language of Bases, and their texts as the app writes them."""

from __future__ import annotations

import calendar
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import Final, TypeAlias

# The errors of a cell, in the app's words where they are known, and the limits of one.

# More than a person's formula needs: a cell that does more ends with an error instead of keeping everyone waiting.
MOST_STEPS = 50_000
MOST_TEXT = 200_000
MOST_ITEMS = 20_000
REGEXP_SECONDS = 0.05
# All regular expressions of a row together have half a second.
NANOSECONDS_A_STEP = 10_000
# A query has 64 MB: 16 for the row that is computed, and 48 for all that it keeps of the others.
MOST_ROW_BYTES = 16_000_000
MOST_KEPT_BYTES = 48_000_000
# A cell that holds more cannot be shown.
MOST_CELL_BYTES = 4_000_000
_ITEM_BYTES = 64
_PLAIN_BYTES = 100


class CellError(Exception):
    """A cell has no value. The message is the app's, where it is known."""


def cannot_find(name: str, type_name: str) -> CellError:
    """Return the error of a field that values of this type do not have."""
    return CellError(f'Cannot find "{name}" on type {type_name}')


def no_function(name: str, type_name: str = "") -> CellError:
    """Return the error of a function that is not there."""
    return CellError(f'Cannot find function "{name}"' + (f" on type {type_name}" if type_name else ""))


def invalid_operator(left: str, right: str) -> CellError:
    """Return the error of an operator that the two types do not have."""
    return CellError(f"Invalid operator between {left} and {right}")


def cannot_parse(text: str, what: str) -> CellError:
    """Return the error of a text that is no number, date or duration."""
    return CellError(f'Unable to parse "{text[:100]}" as a {what}.')


class TooMuchMemoryError(Exception):
    """A query keeps more than it may: the query ends. The message says what for."""


def size_of(value: Value, most: float = MOST_KEPT_BYTES) -> int:
    """Return the bytes that a value takes, about; a part counts wherever it stands. It stops counting beyond ``most``."""
    if isinstance(value, str):
        return sys.getsizeof(value)
    if value is None or isinstance(value, (bool, int, float)):
        return _ITEM_BYTES // 2
    size = 0
    waiting: list[Value] = [value]
    while waiting and size <= most:
        part = waiting.pop()
        if part is None or isinstance(part, (bool, int, float)):
            size += _ITEM_BYTES // 2
        elif isinstance(part, str):
            size += sys.getsizeof(part)
        elif isinstance(part, Mapping):
            size += _PLAIN_BYTES
            waiting += (*part, *part.values())
        elif isinstance(part, Sequence):
            size += _PLAIN_BYTES
            waiting += part
        else:
            size += _PLAIN_BYTES
            waiting += _texts_in(part)
    return size


def _texts_in(value: Value) -> tuple[Value, ...]:
    if isinstance(value, Link):
        return value.linktext, value.display
    if isinstance(value, Image):
        return (value.of,)
    if isinstance(value, Html):
        return (value.text,)
    return (value.message,) if isinstance(value, ErrorValue) else ()


def checked_cell(value: Value) -> Value:
    """Return the value of a cell. Raises CellError for one that is too large to be shown."""
    if value is None or isinstance(value, (str, int, float, Date)):  # the usual ones, and quickly told
        return value
    if isinstance(value, (Sequence, Mapping)) and size_of(value, MOST_CELL_BYTES) > MOST_CELL_BYTES:
        raise CellError(f"This value is larger than {MOST_CELL_BYTES // 1_000_000} MB.")
    return value


@dataclass(slots=True)
class Memory:
    """What a query keeps of its rows: keys that it sorts by, groups, values that are summed up."""

    most: int = MOST_KEPT_BYTES
    kept: int = 0

    def keep(self, size: int, why: str) -> None:
        """Count bytes that are kept from now on. ``why``: what keeps them, for the error. Raises TooMuchMemoryError."""
        self.kept += size
        if self.kept > self.most:
            raise TooMuchMemoryError(f"{why} needs more than {self.most // 1_000_000} MB of memory")


@dataclass(slots=True)
class Budget:
    """What one cell may still do."""

    steps: int = MOST_STEPS
    bytes: int = MOST_ROW_BYTES

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises CellError when they are used up."""
        self.steps -= steps
        if self.steps < 0:
            raise CellError("This formula takes too long.")

    def made(self, value: Value) -> Value:
        """Count the bytes of a text or list that was made, and return it. Raises CellError when too many are used."""
        if isinstance(value, str):
            self.take(len(value))
        elif isinstance(value, list):
            self.take(8 * len(value) + _ITEM_BYTES)
        return value

    def take(self, size: int) -> None:
        """Count bytes. Raises CellError when too many are used."""
        self.bytes -= size
        if self.bytes < 0:
            raise CellError(f"This formula needs more than {MOST_ROW_BYTES // 1_000_000} MB of memory.")

    def give_back(self, kept: Value, before: int, counted: int) -> int:
        """Give back what was used since ``before`` bytes were left, but for a value: what the work is at. Raises CellError.

        Values are counted only where many bytes were used since there were ``counted``; the new number is returned.
        """
        if counted - self.bytes <= MOST_CELL_BYTES:
            return counted
        self.bytes = before
        self.take(size_of(kept))
        return self.bytes


def checked_text(text: str) -> str:
    """Return the text. Raises CellError if it is too long."""
    if len(text) > MOST_TEXT:
        raise CellError(f"This text is longer than {MOST_TEXT:,} characters.")
    return text


def check_count(count: float) -> None:
    """Raise CellError for a list that would be too long."""
    if count > MOST_ITEMS:
        raise CellError(f"This list has more than {MOST_ITEMS:,} items.")


# Dates and durations as the app has them: those of Moment.js, in which months and days have no fixed length.

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
_MOST_FACTOR = 1e9


def parse_date(text: str, zone: tzinfo) -> Date | None:
    """Return the date that a text says, in local time unless it names an offset; None if it says none."""
    written = text.strip()
    return _parse_date(written, zone) if len(written) <= _MOST_DATE else None


@lru_cache(maxsize=8192)  # a vault has the same days again and again
def _parse_date(text: str, zone: tzinfo) -> Date | None:
    match = _DATE.fullmatch(text) or _DIGITS.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, offset = match.groups()[6:] if match.re is _DATE else (None, None)
    micro = int((fraction or "0").ljust(6, "0")[:6])
    try:
        at = datetime(year, month, day or 1, hour, minute, second, micro, _offset(offset) or zone)
    except (ValueError, OverflowError):
        return None
    return Date(at.astimezone(zone) if offset else _on_clock(at), has_time=match[4] is not None)


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
    parts = duration_parts(text, _PART, lambda unit: _UNITS.get(unit) or _UNITS.get(unit.lower()))
    return None if parts is None else Duration(round(parts["months"]), parts["days"], parts["milliseconds"])


def duration_parts(
    text: str, part: re.Pattern[str], unit_of: Callable[[str], tuple[str, float] | None]
) -> dict[str, float] | None:
    """Return the months, days and milliseconds that a text says; None if it says none.

    ``part``: a number and its unit. ``unit_of``: which of the three a unit counts as, and how many of it.
    """
    parts = {"months": 0.0, "days": 0.0, "milliseconds": 0.0}
    at = 0
    while at < len(text):
        match = part.match(text, at)
        unit = match and unit_of(match[2])
        if match is None or unit is None:
            return None
        parts[unit[0]] += float(match[1].replace(" ", "")) * unit[1]
        at = match.end()
    return parts if at else None


def moved(date: Date, duration: Duration, sign: int) -> Date:
    """Return what ``add`` does. Raises CellError beyond the years 1 to 9999."""
    there = add(date, duration, sign)
    if there is None:
        raise CellError("This date is before the year 1 or after 9999.")
    return there


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
    return (date.at - _EPOCH) // _MILLISECOND


_EPOCH, _MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)


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
    """Return a duration so many times as long. Parts of months become days. Raises CellError for one that is too long."""
    if not math.isfinite(factor) or abs(factor) > _MOST_FACTOR:
        raise CellError("This duration is too long.")
    months = duration.months * factor
    whole = math.trunc(months)
    days = duration.days * factor + (months - whole) * _DAYS_IN_MONTH
    return replace(duration, months=whole, days=days, milliseconds=duration.milliseconds * factor)


def joined_duration(one: Duration, other: Duration, sign: int = 1) -> Duration:
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


# The values of the language of Bases. Null, booleans, numbers, texts, lists and objects are Python's own.
#
# A number is a double, as in JavaScript: Python's whole numbers come in from properties only, and ``1`` and ``1.0`` are equal.


@dataclass(frozen=True, slots=True)
class Date:
    """A moment. ``at`` has a time zone; without ``has_time`` only its day counts as text."""

    at: datetime
    has_time: bool = True


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time in the parts that Moment.js keeps apart, because months and days have no fixed length."""

    months: int = 0
    days: float = 0
    milliseconds: float = 0


@dataclass(frozen=True, slots=True)
class Link:
    """A link as written in ``source`` (a path; "" is the vault's root): linkpath and subpath, and what is shown instead."""

    linktext: str
    display: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the vault, by its path."""

    path: str


@dataclass(frozen=True, slots=True)
class Regexp:
    """A regular expression of JavaScript."""

    pattern: str
    flags: str = ""


@dataclass(frozen=True, slots=True)
class Html:
    """Text that the app shows as HTML."""

    text: str


@dataclass(frozen=True, slots=True)
class Icon:
    """The name of one of the app's icons."""

    name: str


@dataclass(frozen=True, slots=True)
class Image:
    """An image: an address, or a link or file of the vault."""

    of: str | Link | File


@dataclass(frozen=True, slots=True)
class ErrorValue:
    """What a cell holds instead of a value: the error in the app's words."""

    message: str


class TagList(list["Value"]):
    """Tags, without ``#``. ``contains`` finds a tag in any case, and a tag above another one."""


Value: TypeAlias = (
    bool
    | int
    | float
    | str
    | Date
    | Duration
    | Sequence["Value"]
    | Mapping[str, "Value"]
    | Link
    | File
    | Regexp
    | Html
    | Icon
    | Image
    | ErrorValue
    | None
)
"""Any value."""


# JavaScript writes larger and smaller numbers with an exponent.
_LARGEST = 1e21
_SMALLEST = 1e-6
# A note may be called "Re: lunch"; an address has no space there.
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(?=\S)")


def text_of(value: Value) -> str:
    """Return the text of any value. Of a file its name is shown, of a link its brackets, of a list its items."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, Date):
        return date_text(value)
    if isinstance(value, Duration):
        return humanized(value)
    if isinstance(value, Link):
        return link_text(value)
    if isinstance(value, File):
        return value.path
    if isinstance(value, Html):
        return value.text
    if isinstance(value, Icon):
        return value.name
    if isinstance(value, Image):
        return f"![]({value.of})" if isinstance(value.of, str) else f"!{text_of(_as_link(value.of))}"
    if isinstance(value, Regexp):
        return f"/{value.pattern}/{value.flags}"
    if isinstance(value, ErrorValue):
        return f"Error: {value.message}"
    if isinstance(value, Mapping):
        return joined(", ", (f"{name}: {text_of(each)}" for name, each in value.items()))
    return joined(", ", map(text_of, value))


def joined(between: str, texts: Iterable[str], most: int = MOST_CELL_BYTES) -> str:
    """Return texts as one. Raises CellError for one of more than ``most`` characters, before it is made."""
    parts: list[str] = []
    length = -len(between)
    for text in texts:
        length += len(text) + len(between)
        if length > most:
            raise CellError(f"This text is longer than {most:,} characters.")
        parts.append(text)
    return between.join(parts)


def _as_link(value: Link | File) -> Link:
    return value if isinstance(value, Link) else Link(value.path)


def link_text(link: Link) -> str:
    """Return a link in its brackets, or the address of a page."""
    if _ADDRESS.match(link.linktext):
        return link.linktext
    return f"[[{link.linktext}]]" if link.display is None else f"[[{link.linktext}|{link.display}]]"


def number_text(number: float) -> str:
    """Return a number as JavaScript writes it."""
    if isinstance(number, int) and abs(number) < _LARGEST:
        return str(number)
    number = float(number)
    if math.isnan(number) or math.isinf(number):
        return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"
    if number.is_integer() and abs(number) < _LARGEST:
        return str(int(number))
    written = repr(number)
    if "e" not in written:
        return written
    digits, exponent = written.split("e")
    if _SMALLEST <= abs(number) < _LARGEST:
        return _without_exponent(digits, int(exponent))
    return f"{digits}e{int(exponent):+d}"


def _without_exponent(digits: str, exponent: int) -> str:
    sign = "-" if digits[0] == "-" else ""
    figures = digits.lstrip("-").replace(".", "")
    return f"{sign}0.{'0' * (-exponent - 1)}{figures}"


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "Boolean"),
    (int, "Number"),
    (float, "Number"),
    (str, "String"),
    (Date, "Date"),
    (Duration, "Duration"),
    (Link, "Link"),
    (File, "File"),
    (Regexp, "Regexp"),
    (Html, "HTML"),
    (Icon, "Icon"),
    (Image, "Image"),
    (ErrorValue, "Error"),
    (Mapping, "Object"),
    (Sequence, "List"),
)


def type_name(value: Value) -> str:
    """Return the name of a value's type as the app's errors have it."""
    return "Null" if value is None else next(name for kind, name in _TYPES if isinstance(value, kind))
