"""Which lines are most like a text that is not there: for errors, so that a caller can correct itself. Pure."""

from __future__ import annotations

from collections.abc import Iterable

# Two letters that are swapped in a short word leave 0.43; texts that have nothing to do with each other share 0.1 to 0.2.
_LEAST_ALIKE = 0.4
# Enough of a line to compare, and enough lines: an error has to come at once. 100,000 characters take 20 ms.
_MAX_LINE = 400
_MAX_CHARACTERS = 100_000


def nearest(text: str, lines: Iterable[str], most: int = 1) -> list[int]:
    """Return the positions of the lines that are most like a text or a part of it, the best first; none if none is.

    They are compared by their trigrams, without case: neither typos nor the order of words hide a likeness. Only the first
    lines are compared, 100,000 characters in all.
    """
    sought = _trigrams(text[:_MAX_LINE])
    found: list[tuple[float, int, int]] = []
    compared = 0
    for position, line in enumerate(lines):
        line_trigrams = _trigrams(line[:_MAX_LINE])
        alike = len(sought & line_trigrams) / len(sought) if sought else 0
        if alike >= _LEAST_ALIKE:
            found.append((-alike, len(line_trigrams), position))
        compared += len(line) + 1
        if compared > _MAX_CHARACTERS:
            break
    return [position for _, _, position in sorted(found)[:most]]


def _trigrams(text: str) -> set[str]:
    padded = f" {' '.join(text.casefold().split())} "
    return {padded[start : start + 3] for start in range(len(padded) - 2)}
