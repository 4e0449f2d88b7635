"""Order, truth and texts of values in Dataview. The values are those of bases; where the two differ, this follows Dataview.

null comes before all else, and values of two types are ordered by the names of their types. Texts are compared as in a
dictionary. A month has 30 days and a year 365 where a duration is compared or told in one unit (Luxon's casual lengths).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from functools import partial
from typing import Any, Final, NamedTuple

from vaultwire.bases.comparing import letters_of
from vaultwire.bases.moment_format import MONTHS, WEEKDAYS, WRITERS
from vaultwire.bases.row import Host
from vaultwire.bases.values import (
    CellError,
    Date,
    Duration,
    Link,
    Value,
    add,
    joined,
    number_text,
    to_ms,
)

_DAY_MS: Final = 86_400_000
_DAYS_IN_MONTH: Final = 30
_DAYS_IN_YEAR: Final = 365
# Values deeper than this are cut off.
_MOST_DEEP = 30
NOTHING = "-"
"""How a cell without a value is shown."""


class TextSettings(NamedTuple):
    """Settings of the plugin for texts that an expression makes of values, and for names of columns; formats are Luxon's."""

    day: str = "MMMM dd, yyyy"
    moment: str = "h:mm a - MMMM dd, yyyy"
    nothing: str = NOTHING
    file_column: str = "File"
    group_column: str = "Group"


DEFAULT_TEXTS: Final = TextSettings()
UNIT_MS: Final[dict[str, float]] = {
    "year": _DAYS_IN_YEAR * _DAY_MS,
    "month": _DAYS_IN_MONTH * _DAY_MS,
    "week": 7 * _DAY_MS,
    "day": _DAY_MS,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1_000,
    "millisecond": 1,
}
"""Milliseconds of the units of a duration."""


@dataclass(frozen=True, slots=True)
class Embed(Link):
    """A link that is an embed: ``![[picture.png]]``."""


class Record(Mapping[str, Value]):
    """A note, its file or an item of a list: an object whose fields are read when they are asked for."""

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def as_link(self) -> Link:
        """Return what stands for it where there is no room for all its fields."""
        raise NotImplementedError


def type_of(value: Value) -> str:
    """Return the name of a value's type, as ``typeof`` gives it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    for kind, name in _TYPES:
        if isinstance(value, kind):
            return name
    return "object"


_TYPES: Final[tuple[tuple[Any, str], ...]] = (
    ((int, float), "number"),
    (str, "string"),
    (Date, "date"),
    (Duration, "duration"),
    (Link, "link"),
    (Mapping, "object"),
    (Sequence, "array"),
)


def is_list(value: Value) -> bool:
    """Tell whether a value is a list."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def is_truthy(value: Value) -> bool:
    """Tell whether a value counts as true: null, false, 0, what is empty, and no time at all do not."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, (int, float)):
        return value != 0
    if isinstance(value, (Date, Duration)):
        return (to_ms(value) if isinstance(value, Date) else length_ms(value)) != 0
    if isinstance(value, Link):
        return bool(value.linktext)
    return bool(len(value)) if isinstance(value, (str, Mapping, Sequence)) else True


def path_of(link: Link, host: Host) -> str:
    """Return the path of the file that a link leads to; where it leads nowhere, what it says."""
    return host.resolve(link.linktext, link.source) or link.linktext.partition("#")[0]


def order_key(value: Value, host: Host, depth: int = 0) -> tuple[Any, ...]:
    """Return a key that orders all values among each other. Values with the same key are equal in Dataview."""
    kind = "" if value is None else type_of(value)
    if value is None or depth > _MOST_DEEP:
        return (kind,)
    if isinstance(value, (int, float)):
        return (kind, math.inf if math.isnan(value) else value)
    if isinstance(value, str):
        return (kind, *_text_key(value))
    if isinstance(value, Date):
        return (kind, to_ms(value))
    if isinstance(value, Duration):
        return (kind, length_ms(value))
    if isinstance(value, Link):
        subpath = value.linktext.partition("#")[2]
        return (
            kind,
            *_text_key(path_of(value, host)),
            "block" if subpath[:1] == "^" else "header" * bool(subpath),
            subpath,
        )
    if isinstance(value, Record):
        link = value.as_link()
        return (kind, "", link.source, link.linktext)
    if isinstance(value, Mapping):
        names = sorted(value)
        return (kind, *names, tuple(order_key(value[name], host, depth + 1) for name in names))
    if isinstance(value, Sequence):
        return (kind, tuple(order_key(item, host, depth + 1) for item in value))
    return (kind,)


def _text_key(text: str) -> tuple[str, str, str, str]:
    # As a dictionary has them; then accents; then small letters before large ones. "ß" is not "ss", though all these are.
    return letters_of(text), text.casefold(), text.swapcase(), text


def equal(one: Value, other: Value, host: Host) -> bool:
    """Tell whether two values are equal."""
    return order_key(one, host) == order_key(other, host)


# ---------------------------------------------------------------------- durations


def length_ms(duration: Duration) -> float:
    """Return a duration in milliseconds."""
    years, months = divmod(duration.months, 12)
    return (years * _DAYS_IN_YEAR + months * _DAYS_IN_MONTH + duration.days) * _DAY_MS + duration.milliseconds


def between(later: Date, earlier: Date) -> Duration:
    """Return how long it is from one date to another: whole months, then whole days, then the rest."""
    if later.at < earlier.at:
        back = between(earlier, later)
        return Duration(-back.months, -back.days, -back.milliseconds)
    to, start = later.at, earlier.at
    months = (to.year - start.year) * 12 + to.month - start.month
    moved = add(earlier, Duration(months))
    if moved is None or moved.at > to:
        months -= 1
        moved = add(earlier, Duration(months)) or earlier
    days = max((to.date() - moved.at.date()).days, 0)
    after = add(moved, Duration(days=days))
    if after is None or after.at > to:
        days -= 1
        after = add(moved, Duration(days=days)) or moved
    return Duration(months, days, to_ms(later) - to_ms(after))


def duration_parts(duration: Duration) -> list[tuple[float, str]]:
    """Return a duration in its units, the largest first; each with its number, which is not 0."""
    years, months = (int(each) for each in (duration.months / 12, math.fmod(duration.months, 12)))
    whole_days = math.trunc(duration.days)
    rest = duration.milliseconds + (duration.days - whole_days) * _DAY_MS
    more_days, rest = math.trunc(rest / _DAY_MS), math.fmod(rest, _DAY_MS)
    days = whole_days + more_days
    weeks, days = math.trunc(days / 7), int(math.fmod(days, 7))
    hours, rest = math.trunc(rest / 3_600_000), math.fmod(rest, 3_600_000)
    minutes, rest = math.trunc(rest / 60_000), math.fmod(rest, 60_000)
    amounts = (years, months, weeks, days, hours, minutes, round(rest / 1000, 3))
    units = ("year", "month", "week", "day", "hour", "minute", "second")
    return [(amount, unit) for amount, unit in zip(amounts, units, strict=True) if amount]


def duration_text(duration: Duration) -> str:
    """Return a duration in words: ``1 year, 6 months, 1 week``."""
    parts = duration_parts(duration) or [(0, "second")]
    return ", ".join(f"{number_text(amount)} {unit}{'' if amount == 1 else 's'}" for amount, unit in parts)


# ---------------------------------------------------------------------- texts


def date_text(at: datetime, texts: TextSettings = DEFAULT_TEXTS) -> str:
    """Return a date as Dataview shows it."""
    return format_luxon(texts.moment if at.hour or at.minute or at.second else texts.day, at)


def text_of(value: Value, texts: TextSettings = DEFAULT_TEXTS, depth: int = 0) -> str:
    """Return a value as text within an expression: what ``string()`` and ``+`` make of it. Raises CellError if too long."""
    if value is None or depth > _MOST_DEEP:
        return texts.nothing
    if isinstance(value, str):
        return value
    if isinstance(value, Date):
        return date_text(value.at, texts)
    if isinstance(value, Duration):
        return duration_text(value)
    if isinstance(value, Link):
        return f"{'!' if isinstance(value, Embed) else ''}[[{value.linktext}|{shown_link(value)}]]"
    if isinstance(value, Record):
        return text_of(value.as_link(), texts)
    if isinstance(value, Mapping):
        return (
            "{ " + joined(", ", (f"{name}: {text_of(part, texts, depth + 1)}" for name, part in value.items())) + " }"
        )
    if isinstance(value, Sequence):
        text = joined(", ", (text_of(part, texts, depth + 1) for part in value))
        return f"[{text}]" if depth else text
    if isinstance(value, bool):
        return "true" if value else "false"
    return number_text(value) if isinstance(value, (int, float)) else ""


def shown_link(link: Link) -> str:
    """Return what a reader sees of a link: its own text, else the name of the note and the part of it."""
    if link.display is not None:
        return link.display
    path, _, subpath = link.linktext.partition("#")
    name = path.rsplit("/", 1)[-1].removesuffix(".md")
    return f"{name} > {subpath.removeprefix('^')}" if subpath else name


def shown(value: Value, depth: int = 0) -> str:
    """Return what a cell shows: dates as ISO 8601, links by their names. Raises CellError if it is too long."""
    if isinstance(value, Date):
        return value.at.isoformat(timespec="seconds") if value.has_time else f"{value.at:%Y-%m-%d}"
    if isinstance(value, Link):
        return shown_link(value)
    if isinstance(value, Record):
        return shown_link(value.as_link())
    if isinstance(value, Mapping) and depth <= _MOST_DEEP:
        return "{ " + joined(", ", (f"{name}: {shown(part, depth + 1)}" for name, part in value.items())) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str) and depth <= _MOST_DEEP:
        text = joined(", ", (shown(part, depth + 1) for part in value))
        return f"[{text}]" if depth else text
    return text_of(value)


def as_plain(value: Value, depth: int = 0) -> Value:
    """Return a value without records: each is its link. What a cell holds. Raises CellError for one that is too deep."""
    if isinstance(value, Record):
        return value.as_link()
    if depth > _MOST_DEEP:
        raise CellError("This value is nested too deeply.")
    if isinstance(value, Mapping):
        return {name: as_plain(part, depth + 1) for name, part in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [as_plain(part, depth + 1) for part in value]
    return value


# Dates and durations in the formats of Luxon, which Dataview's ``dateformat`` and ``durationformat`` take. In English.
#
# https://moment.github.io/luxon/#/formatting?id=table-of-tokens and ``parsing``.

_TOKEN = re.compile(r"'(?P<quoted>[^']*)'|(?P<token>([A-Za-z])\3*)|(?P<other>.)", re.DOTALL)


def _short_offset(at: datetime) -> str:
    sign, hours, minutes = WRITERS["Z"](at)[0], *WRITERS["Z"](at)[1:].split(":")
    return f"{sign}{int(hours)}" + (f":{minutes}" if minutes != "00" else "")


# Luxon's tokens that mean what one of Moment.js does, each after a slash.
_AS_MOMENT: Final = """SSS/SSS u/SSS s/s ss/ss m/m mm/mm h/h hh/hh H/H HH/HH ZZ/Z ZZZ/ZZ a/A d/D dd/DD c/E E/E ccc/ddd EEE/ddd
    cccc/dddd EEEE/dddd L/M M/M LL/MM MM/MM LLL/MMM MMM/MMM LLLL/MMMM MMMM/MMMM y/y yy/YY yyyy/YYYY kk/GG kkkk/GGGG
    W/W WW/WW o/DDD ooo/DDDD q/Q X/X x/x"""
# Those that stand for a whole format.
_FORMATS: Final = {
    "D": "M/d/yyyy", "DD": "MMM d, yyyy", "DDD": "MMMM d, yyyy", "DDDD": "EEEE, MMMM d, yyyy",
    "t": "h:mm a", "tt": "h:mm:ss a", "T": "HH:mm", "TT": "HH:mm:ss",
    "f": "D, t", "ff": "DD, t", "fff": "DDD, t", "ffff": "DDDD, t", "F": "D, tt",
}  # fmt: skip


def _formatted(form: str, at: datetime) -> str:
    return format_luxon(form, at)


_WRITERS: Final[Mapping[str, Callable[[datetime], str]]] = {
    **{token: WRITERS[moment] for token, _, moment in (pair.partition("/") for pair in _AS_MOMENT.split())},
    **{token: partial(_formatted, form) for token, form in _FORMATS.items()},
    "S": lambda at: str(at.microsecond // 1000),
    "Z": _short_offset,
    **dict.fromkeys(("ccccc", "EEEEE"), lambda at: WRITERS["dddd"](at)[0]),
    **dict.fromkeys(("LLLLL", "MMMMM"), lambda at: WRITERS["MMMM"](at)[0]),
    "yyyyyy": lambda at: f"{at.year:06}",
    "G": lambda _: "AD",
    "qq": lambda at: f"{(at.month + 2) // 3:02}",
}


def format_luxon(form: str, at: datetime) -> str:
    """Return the time in the format. Letters that are no token stay; text in single quotes stays without them."""

    def written(match: re.Match[str]) -> str:
        if match["quoted"] is not None:
            return str(match["quoted"])
        writer = _WRITERS.get(match["token"] or "")
        return match[0] if writer is None else writer(at)

    return _TOKEN.sub(written, form)


_DIGITS: Final = {
    "yyyy": (r"\d{4}", "year"), "yy": (r"\d{2}", "short_year"), "y": (r"\d{1,6}", "year"),
    **dict.fromkeys(("M", "L", "MM", "LL"), (r"\d{1,2}", "month")),
    **dict.fromkeys(("d", "dd"), (r"\d{1,2}", "day")), **dict.fromkeys(("H", "HH"), (r"\d{1,2}", "hour")),
    **dict.fromkeys(("h", "hh"), (r"\d{1,2}", "hour12")), **dict.fromkeys(("m", "mm"), (r"\d{1,2}", "minute")),
    **dict.fromkeys(("s", "ss"), (r"\d{1,2}", "second")), "SSS": (r"\d{3}", "ms"), "S": (r"\d{1,3}", "ms"),
    "x": (r"-?\d{1,15}", "unix_ms"), "X": (r"-?\d{1,12}", "unix"), "a": (r"[AaPp][Mm]", "meridiem"),
    **dict.fromkeys(("MMMM", "LLLL"), ("|".join(MONTHS), "month_name")),
    **dict.fromkeys(("MMM", "LLL"), ("|".join(name[:3] for name in MONTHS), "month_name")),
    **dict.fromkeys(("EEEE", "cccc"), ("|".join(WEEKDAYS), "")), **dict.fromkeys(("EEE", "ccc"), ("[A-Za-z]{3}", "")),
}  # fmt: skip
# Longer formats say no date.
_MOST_FORMAT = 100


def parse_luxon(text: str, form: str, zone: tzinfo) -> datetime | None:
    """Return the local time that a text says in the format; None if it says none, and for tokens that are not read."""
    names: list[str] = []
    pattern = ""
    if len(form) > _MOST_FORMAT or len(text) > _MOST_FORMAT:
        return None
    for match in _TOKEN.finditer(form):
        if match["token"] is None:
            pattern += re.escape(match["quoted"] if match["quoted"] is not None else match["other"])
            continue
        digits, name = _DIGITS.get(match["token"], ("", "unknown"))
        if name == "unknown":
            return None
        names.append(name)
        pattern += f"({digits})"
    found = re.fullmatch(pattern, text, re.IGNORECASE)
    return None if found is None else _moment(dict(zip(names, found.groups(), strict=True)), zone)


# Luxon's cut-off: 60 is 2060, 61 is 1961.
_CENTURY: Final = 2000
_LAST_OF_CENTURY: Final = 60


def _moment(parts: Mapping[str, str], zone: tzinfo) -> datetime | None:
    try:
        if "unix_ms" in parts or "unix" in parts:
            ms = int(parts.get("unix_ms") or int(parts["unix"]) * 1000)
            return (datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms)).astimezone(zone)
        year = int(parts.get("year", 0))
        if not year:
            short = int(parts["short_year"])
            year = short + (_CENTURY if short <= _LAST_OF_CENTURY else _CENTURY - 100)
        month = int(parts.get("month", 1))
        if "month_name" in parts:
            name = parts["month_name"].casefold()[:3]
            month = next(number for number, each in enumerate(MONTHS, 1) if each.casefold().startswith(name))
        hour = int(parts.get("hour", 0))
        if "hour12" in parts:
            hour = int(parts["hour12"]) % 12 + (12 if parts.get("meridiem", "am").lower() == "pm" else 0)
        minute, second, ms = (int(parts.get(name, 0)) for name in ("minute", "second", "ms"))
        return datetime(year, month, int(parts.get("day", 1)), hour, minute, second, ms * 1000, zone)
    except (ValueError, OverflowError, KeyError):
        return None


_DURATION_UNITS: Final = (
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("S", 1),
)
_YEAR_MS: Final = 31_536_000_000
_MONTH_MS: Final = 2_592_000_000
# A word with a letter that is no unit stays as it is.
_DURATION_TOKEN = re.compile(
    r"'(?P<quoted>[^']*)'|(?P<word>[A-Za-z]*[^yMwdhmsS\W\d_][A-Za-z]*)|(?P<token>([yMwdhmsS])\4*)", re.DOTALL
)


def format_duration(form: str, months: int, ms: float) -> str:
    """Return a length of so many months and milliseconds in the format; its largest units take what they can."""
    units = {match["token"][0] for match in _DURATION_TOKEN.finditer(form) if match["token"]}
    sign, months, ms = ("-", -months, -ms) if months < 0 or ms < 0 else ("", months, ms)
    years, months = divmod(months, 12)
    amounts: dict[str, float] = {}
    if "y" in units:
        more, ms = divmod(ms, _YEAR_MS)
        amounts["y"] = years + more
    elif "M" in units:
        months += years * 12
    else:
        ms += years * _YEAR_MS
    if "M" in units:
        more, ms = divmod(ms, _MONTH_MS)
        amounts["M"] = months + more
    else:
        ms += months * _MONTH_MS
    for unit, length in _DURATION_UNITS:
        if unit in units:
            amounts[unit], ms = divmod(ms, length)

    def written(match: re.Match[str]) -> str:
        if match["token"] is None:
            return str(match["word"] if match["quoted"] is None else match["quoted"])
        return sign + number_text(amounts[match["token"][0]]).rjust(len(match["token"]), "0")

    return _DURATION_TOKEN.sub(written, form)
