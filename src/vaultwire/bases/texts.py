"""The text of a value, as the app writes it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence

from vaultwire.bases.dates import date_text, humanized
from vaultwire.bases.errors import MOST_CELL_BYTES, CellError
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
)

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
