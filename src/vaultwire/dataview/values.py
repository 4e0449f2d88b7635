"""Order, truth and texts of values in Dataview. The values are those of bases; where the two differ, this follows Dataview.

null comes before all else, and values of two types are ordered by the names of their types. Texts are compared as in a
dictionary. A month has 30 days and a year 365 where a duration is compared or told in one unit (Luxon's casual lengths).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from vaultwire.bases.comparing import letters_of
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
from vaultwire.dataview.luxon_format import format_luxon

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
