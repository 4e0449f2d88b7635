"""Which lines of a note a search shows. Pure. Whether a note matches is decided in ``vault.search.matching``."""

from __future__ import annotations

from math import log

from vaultwire.vault.search.terms import AnyNeedle, Leaf, Text
from vaultwire.vault.value_types import Line

# Shown per note; all matching lines are counted. A long line is cut to this many characters around its match.
MAX_LINES_SHOWN = 5
_MAX_LINE_CHARACTERS = 200
_PATTERN_LENGTH = 5  # a regular expression says as much as a word of so many characters


def first_columns(whole: str, needle: AnyNeedle, form: int) -> dict[int, int]:
    """Return each line of a text in ``form`` that holds the needle, counted from 0, and the needle's first column on it."""
    columns: dict[int, int] = {}
    index = counted = 0
    position = needle.find_in(whole, form)
    while position >= 0:
        index += whole.count("\n", counted, position)
        columns[index] = position - whole.rfind("\n", counted, position) - 1
        counted = whole.find("\n", position)
        position = needle.find_in(whole, form, counted + 1) if counted >= 0 else -1
    return columns


def add_lines(first: int, columns: dict[int, int], lines: dict[int, int]) -> None:
    """Add lines, counted from ``first``, to ``lines``; of a line's columns the first is kept."""
    for index, column in columns.items():
        number = first + index
        lines[number] = min(column, lines.get(number, column))


def leaf_weight(leaf: Leaf, found: int, text: str) -> float:
    """Return what it says of a line of the text that it holds the leaf, which ``found`` of the lines do.

    The rarer in this note, the more; and the longer, the more: the little words of most languages are short. No other note
    counts, so the same note and query always show the same lines.
    """
    length = len(leaf.text) if isinstance(leaf, Text) else _PATTERN_LENGTH
    return length * log(1 + (text.count("\n") + 1) / found) if found else 0.0


def best_lines(lines: dict[int, int], says: dict[int, float], top: int) -> dict[int, int]:
    """Return the lines that say most; of equal ones the first. Lines up to ``top`` come last."""
    ranked = sorted(lines, key=lambda number: (number <= top, -says.get(number, 0.0), number))
    return {number: lines[number] for number in ranked[:MAX_LINES_SHOWN]}


def snippets(lines: dict[int, int], text: str) -> list[Line]:
    """Return the first few of these lines of a text; ``lines`` are line numbers with the column to show."""
    first = sorted(lines.items())[:MAX_LINES_SHOWN]
    plain = text.split("\n", first[-1][0]) if first else []
    return [Line(number, _excerpt(plain[number - 1], column)) for number, column in first]


def _excerpt(line: str, column: int) -> str:
    """Return the line, cut around ``column`` if it is long. Folding may shift columns a little, so the cut is wide."""
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line.strip()
    start = max(0, min(column - _MAX_LINE_CHARACTERS // 3, len(line) - _MAX_LINE_CHARACTERS))
    end = start + _MAX_LINE_CHARACTERS
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")
