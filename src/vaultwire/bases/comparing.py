"""Equality, order and truth of values."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import tzinfo
from typing import Any

from vaultwire.bases.row import Host
from vaultwire.bases.values import (
    Date,
    Duration,
    ErrorValue,
    File,
    Html,
    Icon,
    Image,
    Link,
    Regexp,
    Value,
    joined,
    parse_date,
    text_of,
    to_ms,
    total_ms,
)

# Lists and objects deeper than this are equal to none.
_MOST_DEEP = 50
_NUMBERS = re.compile("([0-9]+)")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+", re.ASCII)
# ASCII's signs in the order of the Unicode Collation Algorithm, as characters that come before all others.
_SIGNS = {ord(sign): chr(place) for place, sign in enumerate("\t\n\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$", 1)}
# Letters that stand beside another one, as those with accents do.
_LETTERS = str.maketrans({"ø": "o", "đ": "d", "ħ": "h", "ł": "l", "æ": "ae", "œ": "oe"})
# Stands for the number that follows: after every sign, before every letter.
_A_NUMBER = "0"
# The order of types where a column has several.
# Checkboxes and numbers come first, as 0 and 1.
_RANKS: tuple[tuple[type | tuple[type, ...], int], ...] = (
    ((Date, Duration), 2),
    ((str, Link, File, Html, Icon, Image, Regexp), 3),
    ((Sequence, Mapping), 4),
)


def is_truthy(value: Value) -> bool:
    """Tell whether a value counts as true: null, false, 0, an empty text and an empty list do not."""
    if isinstance(value, (int, float)):
        return bool(value) and not math.isnan(value)
    if isinstance(value, (str, Mapping, Sequence)):
        return len(value) > 0
    return value is not None and not isinstance(value, ErrorValue)


def is_empty(value: Value) -> bool:
    """Tell whether a cell shows nothing: null, an empty text or list."""
    if value is None or isinstance(value, (int, float)):
        return value is None
    return isinstance(value, (str, Mapping, Sequence)) and len(value) == 0


def target(value: Link | File, host: Host) -> str | None:
    """Return the path of the file that a link leads to, or of a file."""
    return value.path if isinstance(value, File) else host.resolve(value.linktext, value.source)


def equal(one: Value, other: Value, host: Host, zone: tzinfo, depth: int = 0) -> bool:
    """Tell whether two values are equal. Links are, if they lead to the same file, or say the same where they lead nowhere."""
    if isinstance(one, (Link, File)) or isinstance(other, (Link, File)):
        return _same_target(one, other, host)
    if isinstance(one, bool) or isinstance(other, bool) or one is None or other is None:
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other
    if isinstance(one, Date) or isinstance(other, Date):
        order = compare(one, other, zone)
        return order == 0
    if isinstance(one, Duration) and isinstance(other, Duration):
        return total_ms(one) == total_ms(other)
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    if depth > _MOST_DEEP:
        return False
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(
            equal(each, other[name], host, zone, depth + 1) for name, each in one.items()
        )
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return len(one) == len(other) and all(
            equal(each, its, host, zone, depth + 1) for each, its in zip(one, other, strict=True)
        )
    return type(one) is type(other) and one == other


def _same_target(one: Value, other: Value, host: Host) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        text, link = (one, other) if isinstance(one, str) else (other, one)
        return isinstance(link, Link) and text in (link.linktext, text_of(link))
    if not isinstance(one, (Link, File)) or not isinstance(other, (Link, File)):
        return False
    to_one, to_other = target(one, host), target(other, host)
    if to_one is None and to_other is None and isinstance(one, Link) and isinstance(other, Link):
        return one.linktext == other.linktext
    return to_one is not None and to_one == to_other


def compare(one: Value, other: Value, zone: tzinfo) -> int | None:
    """Return -1, 0 or 1 for ``<``, the same or ``>``; None for values that have no order among each other.

    A date compares with a text that says a date, a number with a text that says a number.
    """
    left, right = _ordered(one, other, zone), _ordered(other, one, zone)
    if isinstance(left, str) != isinstance(right, str):
        left, right = (number_in(each) if isinstance(each, str) else each for each in (left, right))
    if left is None or right is None:
        return None
    if left == right:
        return 0
    return -1 if left < right else 1 if left > right else None  # type: ignore[operator]  # NaN has no order


def _ordered(value: Value, beside: Value, zone: tzinfo) -> float | str | None:
    if isinstance(value, str) and isinstance(beside, Date):
        parsed = parse_date(value, zone)
        return None if parsed is None else to_ms(parsed)
    if isinstance(value, Date):
        return to_ms(value) if isinstance(beside, (Date, str)) else None
    if isinstance(value, Duration):
        return total_ms(value) if isinstance(beside, Duration) else None
    if isinstance(value, bool):
        return float(value)
    if isinstance(value, (int, float, str)):
        return value
    return text_of(value) if isinstance(value, (Link, File)) else None


def number_in(text: str) -> float | None:
    """Return the number that a text says, as JavaScript reads it; None if it says none."""
    written = text.strip()
    if _NUMBER.fullmatch(written) is None:
        return None
    return int(written, 16) if written[:2] == "0x" else float(written)


def sort_key(value: Value) -> Any:
    """Return a key that puts values in the order of a sorted column: numbers by size, texts by letters in any case.

    Empty cells and errors come last whatever the direction: ask ``is_last`` first.
    """
    if isinstance(value, (int, float)):  # a checkbox is one, too
        return (not isinstance(value, bool), math.inf if math.isnan(value) else float(value), "")
    rank = next((rank for kind, rank in _RANKS if isinstance(value, kind)), 5)
    if isinstance(value, Date):
        return (rank, to_ms(value), "")
    if isinstance(value, Duration):
        return (rank, total_ms(value), "")
    text = shown_text(value)
    return (rank, _natural(text), text)


def key_bytes(key: Any) -> int:
    """Return the bytes that a key of ``sort_key`` takes, about."""
    return 200 + 3 * len(key[2])


def is_last(value: Value) -> bool:
    """Tell whether a cell comes after all others in a sorted column: it is empty, or an error."""
    return not isinstance(value, (int, float)) and (isinstance(value, ErrorValue) or is_empty(value))


def shown_text(value: Value) -> str:
    """Return what a reader sees of a cell: of a link its display text, of a note its name, of an error ``Error:`` and why."""
    if isinstance(value, Link):
        return value.linktext if value.display is None else value.display
    if isinstance(value, File):
        return value.path.rsplit("/", 1)[-1].removesuffix(".md")
    if isinstance(value, Image):
        return value.of if isinstance(value.of, str) else shown_text(value.of)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return joined(", ", map(shown_text, value))
    return text_of(value)


def letters_of(text: str) -> str:
    """Return a text by which texts sort as in a dictionary: without case and accents, signs before figures before letters."""
    folded = text.casefold()
    if not folded.isascii():
        # Letters without their accents: é would come after z otherwise.
        folded = unicodedata.normalize("NFD", folded).translate(_LETTERS)
        folded = "".join(each for each in folded if not unicodedata.combining(each))
    return folded.translate(_SIGNS)


def _natural(text: str) -> tuple[str | int, ...]:
    """Return a key by which texts sort as people expect, and as the app's own lists do.

    Signs come before figures and figures before letters, "Note 2" before "Note 10", and é beside e; case does not count.
    """
    first, *rest = _NUMBERS.split(letters_of(text))
    if not rest:
        return (first,)
    key: list[str | int] = [first + _A_NUMBER]
    for place in range(0, len(rest), 2):
        figures, after = rest[place].lstrip("0"), rest[place + 1]
        key += [len(figures), figures, after + _A_NUMBER if place + 2 < len(rest) else after]
    return tuple(key)


# Values as JSON with their types: numbers, booleans, dates as ISO 8601, links with their paths.


def to_json(value: Value, host: Host, depth: int = 0) -> Any:
    """Return a value as JSON. A link has its path (null if it leads nowhere), linktext and display, a file its path.

    A duration has its milliseconds and its text, an error its message. What is no number in JSON is null.
    """
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        return _number(value)
    if isinstance(value, Date):
        return value.at.isoformat(timespec="seconds") if value.has_time else f"{value.at:%Y-%m-%d}"
    if isinstance(value, Duration):
        return {"milliseconds": total_ms(value), "text": text_of(value)}
    if isinstance(value, Link):
        return {"path": target(value, host), "link": value.linktext, "display": shown_text(value)}
    if isinstance(value, File):
        return {"path": value.path}
    if isinstance(value, Image):
        return {"image": value.of if isinstance(value.of, str) else to_json(value.of, host)}
    if isinstance(value, ErrorValue):
        return {"error": value.message}
    if depth < _MOST_DEEP and isinstance(value, Mapping):
        return {str(name): to_json(each, host, depth + 1) for name, each in value.items()}
    if depth < _MOST_DEEP and isinstance(value, Sequence):
        return [to_json(each, host, depth + 1) for each in value]
    return text_of(value)


def _number(value: float) -> float | int | None:
    if not math.isfinite(value):
        return None
    return int(value) if float(value).is_integer() and abs(value) < 2**53 else value
