"""Which lines are most like a text that is not there: for errors, so that a caller can correct itself. Pure."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

# Two letters that are swapped in a short word leave 0.43; texts that have nothing to do with each other share 0.1 to 0.2.
_LEAST_ALIKE = 0.4
# Enough of a line to compare, and enough lines: an error has to come at once. 100,000 characters take 20 ms.
_MAX_LINE = 400
_MAX_CHARACTERS = 100_000
# Of a text that is not there; each is looked for in the whole note.
_MAX_LINES = 50
# Characters of a line in a hint.
_MAX_SHOWN = 80


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


def hint_at(text: str, lines: Sequence[str]) -> str:
    """Return where a text may stand that is not in these lines as it is, as the end of an error; empty if nothing is like it.

    That is a place that has it except for case and spaces, else the line most like it; of a text of several lines, the line
    most like the first of them that is nowhere.
    """
    plain = "\n".join(lines)
    key = " ".join(text.lower().split())
    flat = " ".join(plain.lower().split())
    place = flat.find(key) if key else -1
    if place >= 0:
        words = flat.count(" ", 0, place)  # before it
        counts = itertools.accumulate(len(line.split()) for line in lines)
        line = next(number for number, count in enumerate(counts, 1) if count > words)
        return f" Except for case and spaces it is in line {line}: {_shown(lines[line - 1])}."
    sought = [line.strip() for line in text.split("\n", _MAX_LINES)[:_MAX_LINES] if line.strip()]
    missing = next((line for line in sought if line not in plain), None)
    if missing is None:
        return " Each of its lines is there, but they do not follow each other so." if sought else ""
    found = nearest(missing, lines)
    if not found:
        return ""
    which = f" to {_shown(missing)}" if len(sought) > 1 else ""
    return f" The nearest{which} is line {found[0] + 1}: {_shown(lines[found[0]])}."


def _shown(line: str) -> str:
    return repr(line if len(line) <= _MAX_SHOWN else line[:_MAX_SHOWN] + "…")
