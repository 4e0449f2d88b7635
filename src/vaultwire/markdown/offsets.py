"""Offsets in texts: where lines start, replacements by offset, and offsets of a plain text as those of the file's own text."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
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
    for each in replacements:
        if start <= each.start and each.end <= end:
            pieces += text[start : each.start], each.text
            start = each.end
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
