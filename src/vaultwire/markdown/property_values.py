"""Values of properties: the check against Obsidian's types, and their YAML.

YAML 1.2's core schema reads every value back as it was. A text gets quotes if it needs them, and also if a reader of YAML
1.1 would take it for something else. ``property_edits`` puts the YAML into a note.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from vaultwire.markdown.parse import property_tag
from vaultwire.markdown.properties import property_type
from vaultwire.markdown.property_spans import PropertyEditError
from vaultwire.markdown.yaml_core import PropertyValue, plain_scalar

# A text that needs quotes: it begins with an indicator of YAML, holds what would end it, or characters that no editor shows.
_NEEDS_QUOTES = re.compile(
    r"""[\s,\[\]{}#&*!|>'"%@`]|[-?:](?:\s|\Z)|---|\.\.\.|.*(?::(?:\s|\Z)|\s\#|\s\Z|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff])""",
    re.DOTALL,
)
_NEEDS_QUOTES_IN_FLOW = re.compile(r"[-?:]|.*[,\[\]{}]", re.DOTALL)
# Booleans, numbers and other signs of YAML 1.1 (its type repository) that are texts in 1.2. To Obsidian they are texts with
# and without quotes; to Hugo, Jekyll and PyYAML only with them. Dates get no quotes: every reader takes them for dates.
_OTHER_IN_1_1 = re.compile(
    r"(?:yes|no|on|off)\Z|[-+]?(?:0b[01_]+|0x[0-9a-f_]+|[0-9][0-9_]*(?::[0-5]?[0-9])*(?:\.[0-9_]*)?)\Z|<<\Z|=\Z",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ESCAPED = re.compile(rf'["\\]|{_CONTROL.pattern}')
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SURROGATE = re.compile(r"[\ud800-\udfff]")

_DATE = re.compile(r"(\d{4})-(0[1-9]|1[0-2])-(\d\d)(T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)?\Z", re.ASCII)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_EXPECTED = {
    "text": "a text",
    "multitext": "a list of texts or numbers",
    "aliases": "a list of texts or numbers",
    "tags": "a list of tags, each a text without spaces or commas and not only of digits",  # Obsidian passes over others
    "number": "a number",
    "checkbox": "true or false",
    "date": "YYYY-MM-DD",
    "datetime": "YYYY-MM-DDTHH:MM:SS",
}
_LISTS = frozenset(("multitext", "tags", "aliases"))
# Every reader of YAML can do this; Obsidian itself shows no level below the first.
_MAX_DEPTH = 20
# Our reader takes numbers of up to 300 characters for numbers (``yaml_core``).
_MAX_INTEGER = 10**299
# Up to here JavaScript has whole numbers exactly, and writes them without a fraction.
_MAX_EXACT = 2**53
_SHOWN = 60
_FEWEST_LINES = 2  # below that, quotes are shorter


class WrittenInt(int):
    """A whole number with its spelling in a note, such as ``007``, in which it is written again."""

    written: str


class WrittenFloat(float):
    """A number with its spelling in a note, such as ``1.20``, in which it is written again."""

    written: str


def same_value(one: PropertyValue, other: PropertyValue) -> bool:
    """Tell whether two values are the same to Obsidian: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, (int, float)) and isinstance(other, (int, float)):
        return one == other or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_value, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_value(value, other[key]) for key, value in one.items())
    return type(one) is type(other) and one == other


def read_text(text: str) -> bool | float | str:
    """Return the number, true or false that YAML reads in a text, if it is written so again; else the text."""
    value = plain_scalar(text) if text else text
    is_typed = isinstance(value, float) or (isinstance(value, int) and abs(value) < _MAX_INTEGER)
    return value if is_typed and one_line(value) == text else text  # type: ignore[return-value]


def as_text(value: PropertyValue) -> PropertyValue:
    """Return a number, true or false, or those in a list, as texts; any other value as it is."""
    if isinstance(value, list):
        return [*map(as_text, value)]
    return one_line(value) if isinstance(value, (int, float)) else value


def checked(name: str, value: PropertyValue, old: PropertyValue, types: Mapping[str, str]) -> PropertyValue:
    """Return the value in the form of the property's type: a single value for a list becomes a list of it.

    A text becomes a number, true or false, and the reverse, only if it is written so again: 1.20 stays a text. ``types`` is
    what the vault declares, by folded name; tags, aliases and cssclasses are always lists. None fits every type, and an item
    that the list has already is not checked. Raises PropertyEditError.
    """
    kind = property_type(name, None, types)
    if value is None or (kind == "text" and types.get(name.casefold()) != "text"):
        return value
    if kind not in _LISTS:
        if isinstance(value, str) and kind in ("number", "checkbox"):
            value = read_text(value)
        elif not isinstance(value, list) and kind == "text":
            value = as_text(value)
        if _fits(kind, value):
            return value
    elif not isinstance(value, (list, dict)):
        value = [value]
    if kind in _LISTS and isinstance(value, list):
        held = old if isinstance(old, list) else []
        if all(_fits(kind, item) or any(same_value(item, there) for there in held) for item in value):
            return value
    raise PropertyEditError(f"{name}: expected {_EXPECTED[kind]}, not {_shown(value)}{other_spelling(kind, value)}")


def other_spelling(kind: str, value: PropertyValue) -> str:
    """Return words about how YAML would write a number, true or false that a text spells in another way; or nothing."""
    read = plain_scalar(value) if isinstance(value, str) and value else None
    if (
        kind not in ("number", "checkbox")
        or not _fits(kind, read)
        or (isinstance(read, int) and abs(read) >= _MAX_INTEGER)
    ):
        return ""
    return f", which would become {one_line(read)}: give that if it is meant"


def _fits(kind: str, value: PropertyValue) -> bool:
    """Tell whether a value, or an item of a list, is of a type."""
    if kind == "text":
        return isinstance(value, str)
    if kind == "tags":
        return isinstance(value, str) and value.strip() == value and bool(property_tag(value))
    if kind in _LISTS:
        return isinstance(value, (str, int, float))
    if kind == "checkbox":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    found = _DATE.match(value) if isinstance(value, str) else None
    return found is not None and bool(found[4]) == (kind == "datetime") and _is_day(*map(int, found.group(1, 2, 3)))


def _is_day(year: int, month: int, day: int) -> bool:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 1 <= day <= (28 if month == 2 and not is_leap else _DAYS[month - 1])  # noqa: PLR2004 - February


def one_line(value: PropertyValue, quote: str = "", depth: int = 0) -> str:
    """Return a value as YAML on one line, lists and maps as ``[a]`` and ``{a: b}``; a text in ``quote`` if possible.

    ``depth`` is above 0 within a list or map. Raises PropertyEditError for a value that YAML cannot hold.
    """
    if isinstance(value, str):
        return _text(value, quote, in_flow=depth > 0)
    if isinstance(value, (WrittenInt, WrittenFloat)):
        return value.written
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _number(value)
    if depth >= _MAX_DEPTH:
        raise PropertyEditError(f"a value is nested more than {_MAX_DEPTH} levels deep")
    if isinstance(value, list):
        return f"[{', '.join(one_line(item, quote, depth + 1) for item in value)}]"
    if isinstance(value, dict):
        pairs = (
            f"{written_name(key, in_flow=True)}: {one_line(item, quote, depth + 1)}" for key, item in value.items()
        )
        return f"{{{', '.join(pairs)}}}"
    raise PropertyEditError(f"a property holds text, numbers, true, false, lists and maps, not {_shown(value)}")


def block_text(text: str, indent: str) -> list[str] | None:
    """Return a text of several lines as a YAML block, its ``|`` first; None if only quotes can hold it exactly."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) < _FEWEST_LINES or lines[0].lstrip() != lines[0] or any(line.rstrip() != line for line in lines):
        return None
    if not lines[0] or not lines[-1] or _CONTROL.search("".join(lines)):
        return None
    return ["|" if text.endswith("\n") else "|-", *(indent + line if line else "" for line in lines)]


def written_name(name: str, quote: str = "", *, in_flow: bool = False) -> str:
    """Return the YAML of a property's name. Raises PropertyEditError if the name is not one line of text."""
    if not name.strip() or _CONTROL.search(name):
        raise PropertyEditError(f"a property's name is one line of text, not {_shown(name)}")
    return _text(name, quote, in_flow=in_flow)


def _text(text: str, quote: str, *, in_flow: bool) -> str:
    if _SURROGATE.search(text):
        raise PropertyEditError(f"a text holds half a character, which no file can: {_shown(text)}")
    if not quote and not (
        not text
        or _NEEDS_QUOTES.match(text)
        or (in_flow and _NEEDS_QUOTES_IN_FLOW.match(text))
        or plain_scalar(text) is not text
        or _OTHER_IN_1_1.match(text)
    ):
        return text
    if quote == "'" and _CONTROL.search(text) is None:
        return "'" + text.replace("'", "''") + "'"
    return '"' + _ESCAPED.sub(lambda found: _ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04x}", text) + '"'


def _number(value: float) -> str:
    if isinstance(value, int):
        if abs(value) >= _MAX_INTEGER:
            raise PropertyEditError("a number has too many digits; a text holds any")
        return str(value)
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    return str(int(value)) if value.is_integer() and abs(value) <= _MAX_EXACT else repr(value)


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
