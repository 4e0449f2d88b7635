"""What each line of a note is, as far as its difference is shown in another way: properties, code, table, list, task.

A quick look at the lines, not the parser of ``markdown``: 60,000 lines take 30 ms. It decides only how a line is shown.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.patterns import DELIMITER_ROW, compile_pattern
from vaultwire.markdown.properties import parse_frontmatter

LineKind: TypeAlias = Literal["text", "properties", "table", "code"]

_MARKERS = r"[ \t]*+(?:>[ \t]?+)*+[ \t]*+"
_ITEM = compile_pattern(rf"({_MARKERS})([-*+]|[0-9]{{1,9}}[.)])(?:[ \t]++(?:\[(.)\](?=[ \t]|\Z))?|\Z)")
_FENCE = compile_pattern(
    rf"{_MARKERS}(?:(?:[-*+]|[0-9]{{1,9}}[.)])[ \t]++)?(`{{3,}}(?=[^`]*\Z)|~{{3,}}|\$\$(?!.*\$\$))"
)
_HEADING = compile_pattern(r" {0,3}(#{1,6})(?=[ \t]|\Z)")


class Item(NamedTuple):
    """A list item: what stands before its marker, the marker, the mark in its box (None: no task) and the text's offset."""

    indent: str
    marker: str
    mark: str | None
    text: int


def kinds_of(text: str, lines: list[str]) -> list[LineKind]:
    """Return the kind of each line of a note."""
    top = parse_frontmatter(text).end
    above = text.count("\n", 0, top) + (top > 0 and not text.endswith("\n", 0, top))
    kinds: list[LineKind] = ["properties"] * above
    fence = ""
    in_table = False
    for place in range(above, len(lines)):
        line = lines[place]
        if fence:
            kinds.append("code")
            if fence in line and _closes(line, fence):
                fence = ""
            continue
        if ("```" in line or "~~~" in line or "$$" in line) and (opening := _FENCE.match(line)):
            fence, in_table = opening[1], False
            kinds.append("code")
            continue
        if "|" not in line:
            in_table = False
        elif not in_table:
            below = lines[place + 1] if place + 1 < len(lines) else ""
            in_table = "-" in below and "|" in below and DELIMITER_ROW.match(below.lstrip(" \t>")) is not None
        kinds.append("table" if in_table else "text")
    return kinds


def _closes(line: str, fence: str) -> bool:
    text = line.strip(" \t>")
    if fence[0] == "$":
        return text.endswith(fence)
    return len(text) >= len(fence) and not text.strip(fence[0])


def item_of(line: str) -> Item | None:
    """Return the list item that begins on a line; None if none does."""
    found = _ITEM.match(line)
    if found is None:
        return None
    return Item(found[1], found[2], found[3], found.end())


def heading_level(line: str) -> int:
    """Return the level of the heading on a line, 0 if there is none."""
    found = _HEADING.match(line)
    return len(found[1]) if found else 0


_CELL = compile_pattern(r"(?:[^|\\]++|\\.|\\\Z)*+", re.DOTALL)


def cells_of(line: str) -> list[tuple[int, int]]:
    """Return where each cell of a table's row begins and ends, without the spaces around its text.

    A bar behind a backslash ends no cell.
    """
    found: list[tuple[int, int]] = []
    position, end = 0, len(line.rstrip())
    while position <= end:
        cell_end = _CELL.match(line, position, end).end()  # type: ignore[union-attr] # matches anything
        text = line[position:cell_end]
        is_outside = not text.strip() and (not found or cell_end == end) and (position == 0 or cell_end == end)
        if not is_outside:
            start = position + len(text) - len(text.lstrip())
            found.append((start, max(start, position + len(text.rstrip()))))
        position = cell_end + 1
    return found
