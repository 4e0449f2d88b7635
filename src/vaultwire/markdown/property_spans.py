"""The position of each property in a note's own text: its name, its value, the items of a list, its lines, as offsets.

The positions come from ``yaml_tree`` and the values from ``properties``, which read the same text. Frontmatter that is not
YAML, or not made of ``name: value`` lines, is refused. Nothing is changed here.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.markdown.yaml_tree import YamlNode, read_tree

_COLON = re.compile(r"[ \t]*:")
_DASH = re.compile(r" *-(?=[ \t]|\Z)")


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
        found = [key for key in self.values if key.casefold() == folded]
        if len(found) > 1:
            raise PropertyEditError(f"{name!r} may be any of {', '.join(map(repr, found))}: write it as it is there")
        return found[0] if found else None

    def property(self, name: str) -> Property:
        """Return a property by its name as it is written. Raises PropertyEditError if it cannot be edited safely."""
        found = self.properties[list(self.values).index(name)]
        if found is None:
            raise PropertyEditError(f"{name!r} cannot be edited: its line does not begin with a plain or quoted name")
        return found


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
