"""Properties in a note's text: where each stands, the check of values against Obsidian's types, and their YAML.

YAML 1.2's core schema reads every value back as it was. A text gets quotes if it needs them, and also if a reader of YAML
1.1 would take it for something else. ``property_edits`` puts the YAML into a note.
"""

from __future__ import annotations

import math
import re
from calendar import monthrange
from collections.abc import Mapping
from typing import NamedTuple

from vaultwire.markdown.edits import clipped, to_plain
from vaultwire.markdown.parse import property_tag
from vaultwire.markdown.patterns import compile_pattern
from vaultwire.markdown.properties import parse_frontmatter, property_type
from vaultwire.markdown.yaml_core import PropertyValue, plain_scalar
from vaultwire.markdown.yaml_tree import YamlNode, read_tree

# The position of each property in a note's own text: its name, its value, the items of a list, its lines, as offsets.
#
# The positions come from ``yaml_core`` and the values from ``properties``, which read the same text. Frontmatter that is not
# YAML, or not made of ``name: value`` lines, is refused. Nothing is changed here.

_COLON = compile_pattern(r"[ \t]*:")
_DASH = compile_pattern(r" *-(?=[ \t]|\Z)")


class PropertyEditError(ValueError):
    """A property cannot be changed as asked. The message says why, and what would be possible."""


class Item(NamedTuple):
    """An item of a list, in offsets: its source, and its lines, which are used for block lists only."""

    style: str  # as a property's
    start: int
    end: int
    top: int
    bottom: int


class Property(NamedTuple):
    """A property, in offsets; ``end`` and ``bottom`` are behind the last character and the last line of its value."""

    name: str
    line: int  # counted from 1 in the note
    column: int
    top: int  # the start of its line
    key_start: int
    key_end: int
    colon: int  # behind it
    start: int  # of the value with its anchor and tag; ``start`` and ``end`` are ``colon`` if there is no value
    end: int
    bottom: int
    key_style: str
    style: str  # as ``YamlNode.style`` says it
    items: list[Item]
    anchors: frozenset[str]
    aliases: frozenset[str]


class Block(NamedTuple):
    """A note's frontmatter; all offsets are 0 if there is none."""

    values: dict[str, PropertyValue]
    properties: list[Property | None]  # in the order of ``values``; None if its line does not begin with its name
    start: int  # of the line behind the opening mark
    closing: int  # of the closing mark's line
    end: int  # behind that line

    def find(self, name: str) -> str | None:
        """Return a property's name as it is written, found in any case of letters. Raises PropertyEditError if two match."""
        if name in self.values:
            return name
        folded = name.casefold()
        names = [key for key in self.values if key.casefold() == folded]
        if len(names) > 1:
            raise PropertyEditError(f"{name!r} may be any of {', '.join(map(repr, names))}: write it as it is there")
        return names[0] if names else None

    def property(self, name: str) -> Property:
        """Return a property by its name as it is written. Raises PropertyEditError if it cannot be edited safely."""
        place = self.properties[list(self.values).index(name)]
        if place is None:
            raise PropertyEditError(f"{name!r} cannot be edited: its line does not begin with a plain or quoted name")
        return place


def read_block(text: str) -> Block:
    """Return the positions of the properties of a note; the text is the file's own, without byte order mark.

    Raises PropertyEditError, with the line, for frontmatter that is broken or not made of lines ``name: value``.
    """
    plain = to_plain(text)
    read = parse_frontmatter(plain)
    if read.problems:
        where = "" if read.problems[0].startswith("line ") else "line 1: "
        raise PropertyEditError(f"the frontmatter is broken and must be fixed first: {where}{read.problems[0]}")
    if not read.end:
        return Block({}, [], 0, 0, 0)
    rows = plain[: read.end].removesuffix("\n").split("\n")
    starts = [0]
    for _ in rows:
        starts.append(text.find("\n", starts[-1]) + 1 or len(text))
    places = _Places(rows[1:-1], starts[1:])
    return Block(read.values, places.properties(list(read.values)), starts[1], starts[-2], starts[-1])


class _Places:
    """Turns the nodes of a block's lines into offsets of the note's own text."""

    def __init__(self, rows: list[str], starts: list[int]) -> None:
        self._rows = rows  # without line ends
        self._starts = starts

    def properties(self, names: list[str]) -> list[Property | None]:
        root = read_tree("".join(row + "\n" for row in self._rows))
        if root is None:
            return []
        if root.style() != ":":
            raise PropertyEditError(
                f"line {root.start[0] + 2}: the frontmatter is written in one piece; "
                "properties can be edited where each has a line of its own, name: value"
            )
        pairs = zip(names, root.inner[::2], root.inner[1::2], strict=True)
        return [self._property(name, key, value) for name, key, value in pairs]

    def _property(self, name: str, key: YamlNode, value: YamlNode) -> Property | None:
        row, column = key.start
        colon = _COLON.match(self._rows[row], key.end[1]) if key.end[0] == row else None
        is_bare = key.kind == "ScalarEvent" and not key.anchors and key.event.tag is None  # type: ignore[attr-defined]
        if not is_bare or colon is None or self._rows[row][:column].strip(" ") or key.start == key.end:
            return None
        behind_colon = self._starts[row] + colon.end()
        is_there = value.start != value.end or value.kind != "ScalarEvent"
        return Property(
            name,
            row + 2,
            column,
            self._starts[row],
            self._offset(key.start),
            self._offset(key.end),
            behind_colon,
            self._offset(value.start) if is_there else behind_colon,
            self._end(value) if is_there else behind_colon,
            self._starts[self._last_row(value) + 1],
            key.style(),
            value.style(),
            self._items(value) if value.kind == "SequenceStartEvent" else [],
            frozenset(value.anchors),
            frozenset(value.aliases),
        )

    def _items(self, value: YamlNode) -> list[Item]:
        """Return a list's items; an item of a block list has the lines from its dash to its last."""
        items = []
        is_flow = value.style() == "["
        top = value.start[0]
        for item in value.inner:
            # An anchor, comments and blank lines may stand before a dash.
            while not is_flow and _DASH.match(self._rows[top]) is None:
                top += 1
            behind = self._last_row(item) + 1
            start, end = self._offset(item.start), self._end(item)
            items.append(Item(item.style(), start, end, self._starts[top], self._starts[behind]))
            if not is_flow:
                top = behind
        return items

    def _last_row(self, node: YamlNode) -> int:
        """Return the last row of a node that is not blank. The end mark of a block text is only where the next token begins."""
        row = node.end[0] if node.end[1] else node.end[0] - 1
        while row > node.start[0] and not self._rows[row].strip(" \t"):
            row -= 1
        return row

    def _end(self, node: YamlNode) -> int:
        row = self._last_row(node)
        return self._offset(node.end) if row == node.end[0] else self._starts[row] + len(self._rows[row])

    def _offset(self, place: tuple[int, int]) -> int:
        return self._starts[place[0]] + place[1]


# A text that needs quotes: it begins with an indicator of YAML, holds what would end it, or characters that no editor shows.
_NEEDS_QUOTES = compile_pattern(
    r"""[\s,\[\]{}#&*!|>'"%@`]|[-?:](?:\s|\Z)|---|\.\.\.|.*(?::(?:\s|\Z)|\s\#|\s\Z|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff])""",
    re.DOTALL,
)
_NEEDS_QUOTES_IN_FLOW = compile_pattern(r"[-?:]|.*[,\[\]{}]", re.DOTALL)
# Booleans, numbers and other signs of YAML 1.1 (its type repository) that are texts in 1.2. To Obsidian they are texts with
# and without quotes; to Hugo, Jekyll and PyYAML only with them. Dates get no quotes: every reader takes them for dates.
_OTHER_IN_1_1 = compile_pattern(
    r"(?:yes|no|on|off)\Z|[-+]?(?:0b[01_]+|0x[0-9a-f_]+|[0-9][0-9_]*(?::[0-5]?[0-9])*(?:\.[0-9_]*)?)\Z|<<\Z|=\Z",
    re.IGNORECASE,
)
_CONTROL_CHARACTER = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
_CONTROL = compile_pattern(_CONTROL_CHARACTER)
_ESCAPED = compile_pattern(rf'["\\]|{_CONTROL_CHARACTER}')
_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_SURROGATE = compile_pattern(r"[\ud800-\udfff]")

_DATE = compile_pattern(r"(\d{4})-(0[1-9]|1[0-2])-(\d\d)(T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d)?)?\Z", re.ASCII)
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
    if found is None or bool(found[4]) != (kind == "datetime"):
        return False
    return 1 <= int(found[3]) <= monthrange(int(found[1]), int(found[2]))[1]


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
    return clipped(repr(value), _SHOWN)
