"""Offsets in texts: where lines start, replacements by offset, and offsets of a plain text as those of the
file's own text; and the bounds up to which a text is parsed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple


class Replacement(NamedTuple):
    """The characters from ``start`` to ``end`` are replaced by ``text``."""

    start: int
    end: int
    text: str


def apply_replacements(text: str, replacements: Iterable[Replacement], start: int = 0, end: int | None = None) -> str:
    """Return the text from ``start`` to ``end`` with the replacements, in order, that lie within it."""
    pieces: list[str] = []
    end = len(text) if end is None else end
    for edit in replacements:
        if start <= edit.start and edit.end <= end:
            pieces += text[start : edit.start], edit.text
            start = edit.end
    return "".join([*pieces, text[start:end]])


def line_starts(text: str) -> list[int]:
    """Return the offset of each line; ``bisect_right`` over them gives the number of an offset's line, from 1."""
    return [0, *(found.end() for found in re.finditer("\n", text))]


class FileOffsets:
    """Turns offsets of the plain text, with ``\\n`` line ends, into those of the file's own text."""

    def __init__(self, text: str, plain: str) -> None:
        self._starts = line_starts(plain)
        self._removed = [0] * len(self._starts)  # carriage returns before each line, which stand at line ends only
        if text != plain:
            lines = text.split("\n")[:-1]
            self._removed = [0, *accumulate(len(line) - len(line.rstrip("\r")) for line in lines)]

    def of(self, offset: int) -> int:
        """Return the offset in the file's own text."""
        return offset + self._removed[bisect_right(self._starts, offset) - 1]

    def line(self, offset: int) -> int:
        """Return the number of the line that an offset of the plain text is on, from 1."""
        return bisect_right(self._starts, offset)


# Bounds on how much of a note is parsed. No note written by a person reaches them.
#
# A text of 10 MB can hold five million links, or one tag with five million levels, and each part of a parsed note needs memory.
# So the parts are counted first, at the speed of ``str.count``, and the note is parsed up to the bound. Search and reading
# still use all of its text.

MOST_MARKS = 200_000
"""Marks that begin a link, a tag, a heading, a task or a block id. The largest note known has 20,000."""

MOST_LINES = 1_000_000

MOST_PROPERTIES = 500_000
"""Characters of frontmatter, or of a base, which are YAML: reading them takes a second at most, editing them two."""

MOST_LEVELS = 50
"""Levels of one tag. Deeper levels are cut off its name, as are characters beyond ``_MOST_TAG``."""

MOST_ABOVE = 20_000
"""Parent tags of the tags of one note, repetitions counted."""

_MOST_TAG = 500  # characters
_MARKS = "#[^"
# Text is counted in pieces of this size.
_PIECE = 1 << 16


def end_of_reading(text: str, start: int = 0) -> int:
    """Return the offset up to which a note is parsed from ``start`` on: nearly always its end, else the end of a line."""
    if len(text) - start <= MOST_MARKS:
        return len(text)
    lines = marks = 0
    for position in range(start, len(text), _PIECE):
        end = min(position + _PIECE, len(text))
        lines += text.count("\n", position, end)
        marks += sum(text.count(mark, position, end) for mark in _MARKS)
        if lines > MOST_LINES or marks > MOST_MARKS:
            # Only whole lines: half a line may mean something else.
            return text.rfind("\n", start, position) + 1 or start
    return len(text)


def unread_problem(text: str, end: int) -> str:
    """Return the problem of a note that is parsed only up to ``end``."""
    return (
        f"line {text.count(chr(10), 0, end) + 1}: from here on links, tags, headings and tasks are not known: a note is "
        f"looked into up to {MOST_MARKS:,} of the characters # [ ^ and {MOST_LINES:,} lines"
    )


def bounded_tags(tags: Iterable[str]) -> list[str]:
    """Return the tags, those that are too long or too deep cut to their first levels; two that differ only in case are one."""
    known = list(tags)
    # A tag this short cannot have too many levels.
    if all(len(tag) < 2 * MOST_LEVELS for tag in known):
        return known
    by_name: dict[str, str] = {}
    for tag in known:
        bounded = _bounded(tag)
        by_name.setdefault(bounded.casefold(), bounded)
    return list(by_name.values())


def _bounded(tag: str) -> str:
    if len(tag) > _MOST_TAG:
        kept, slash, _ = tag[: _MOST_TAG + 1].rpartition("/")
        tag = kept if slash else tag[:_MOST_TAG]
    return tag if tag.count("/") < MOST_LEVELS else "/".join(tag.split("/")[:MOST_LEVELS])


def tags_and_above(tags: Iterable[str]) -> Iterator[str]:
    """Yield each tag after its parents: ``a`` and ``a/b`` for ``a/b``. Past ``MOST_ABOVE`` parents only the tags."""
    left = MOST_ABOVE
    for tag in tags:
        slash = tag.find("/") if left > 0 else -1
        while slash >= 0:
            left -= 1
            yield tag[:slash]
            slash = tag.find("/", slash + 1)
        yield tag
