"""Which lines are most like a text that is not there: for errors, so that a caller can correct itself. Pure."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

# Two letters that are swapped in a short word leave 0.43; texts that have nothing to do with each other share 0.1 to 0.2.
_LEAST_ALIKE = 0.4
# Enough of a line to compare, and enough lines: an error has to come at once. 100,000 characters take 20 ms.
_MAX_LINE = 400
_MAX_CHARACTERS = 100_000
# Of a text that is not there; each is looked for in the whole note.
_MAX_LINES = 50
# Characters of a line in a hint.
_MAX_SHOWN = 80
_BEFORE = 10


class _Likeness(NamedTuple):
    """How much of the sought text is not in a line's best part, the line's length and position, and where that part begins."""

    missing: float
    length: int
    position: int
    start: int


def nearest(text: str, lines: Iterable[str], most: int = 1) -> list[int]:
    """Return the positions of the lines that are most like a text or have a part like it, the best first; none if none is.

    They are compared by their trigrams, without case: neither typos nor the order of words hide a likeness. Only the first
    lines are compared, 100,000 characters in all.
    """
    return [found.position for found in _ranked(text, lines)[:most]]


def _ranked(text: str, lines: Iterable[str]) -> list[_Likeness]:
    sought = set(_trigrams(text))
    width = 2 * len(sought)
    found: list[_Likeness] = []
    compared = 0
    for position, line in enumerate(lines):
        trigrams = _trigrams(line)
        if sought and len(sought.intersection(trigrams)) >= _LEAST_ALIKE * len(sought):
            share, start = _best_part(sought, trigrams, width)
            if share >= _LEAST_ALIKE:
                found.append(_Likeness(1 - share, len(trigrams), position, start))
        compared += len(line) + 1
        if compared > _MAX_CHARACTERS:
            break
    return sorted(found)


def _best_part(sought: set[str], trigrams: list[str], width: int) -> tuple[float, int]:
    """Return how many of the sought trigrams the best part of a line has, as a share, and where that part begins."""
    hits = [start for start, trigram in enumerate(trigrams) if trigram in sought]
    within: Counter[str] = Counter()
    best, begin, first = 0, 0, 0
    for hit in hits:
        within[trigrams[hit]] += 1
        while hit - hits[first] > width:
            within[trigrams[hits[first]]] -= 1
            if not within[trigrams[hits[first]]]:
                del within[trigrams[hits[first]]]
            first += 1
        if len(within) > best:
            best, begin = len(within), hits[first]
    return best / len(sought), begin


def _trigrams(text: str) -> list[str]:
    padded = f" {text[:_MAX_LINE].strip().casefold()} "
    return [padded[start : start + 3] for start in range(len(padded) - 2)]


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
    found = _ranked(missing, lines)
    if not found:
        return ""
    which = f" to {_shown(missing)}" if len(sought) > 1 else ""
    return f" The nearest{which} is line {found[0].position + 1}: {_shown(lines[found[0].position], found[0].start)}."


def _shown(line: str, start: int = 0) -> str:
    """Return a line to show; of a long one, the part that begins a little before ``start``."""
    line = line.strip()
    if len(line) <= _MAX_SHOWN:
        return repr(line)
    start = min(max(0, start - _BEFORE), len(line) - _MAX_SHOWN)
    end = start + _MAX_SHOWN
    return repr(("…" if start else "") + line[start:end] + ("…" if end < len(line) else ""))
