"""The difference of two texts, also as a unified diff. ``edits`` applies diffs, ``three_way`` joins two changes of one text.

Texts are compared by lines, which end with ``\\n``. A carriage return is part of its line: so ``unified`` is for plain texts.
"""

from __future__ import annotations

import itertools
import operator
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

T = TypeVar("T")

# Lines around a change that a diff shows, as in diff(1) and Git.
_CONTEXT = 3
# Steps of the comparison, each about 1 µs: after half a second all the rest counts as changed.
_MAX_STEPS = 400_000
_NO_LINE_END = "\\ No newline at end of file"


class Difference(NamedTuple):
    """Lines ``start`` to ``end`` of one text, in place of which the other has its lines ``new_start`` to ``new_end``.

    They count from 0, without the end; one of the two ranges may be empty.
    """

    start: int
    end: int
    new_start: int
    new_end: int


def unified(old: str, new: str, path: str) -> str:
    """Return the unified diff of two plain texts, with three lines of context; empty if they are equal."""
    old_lines, new_lines = lines_of(old), lines_of(new)
    pieces: list[str] = []
    for group in _hunks(differences(old_lines, new_lines)):
        first, last = group[0], group[-1]
        before = min(_CONTEXT, first.start)
        after = min(_CONTEXT, len(old_lines) - last.end)
        removed = _range(first.start - before, last.end + after)
        pieces.append(f"@@ -{removed} +{_range(first.new_start - before, last.new_end + after)} @@\n")
        position = first.start - before
        for difference in group:
            pieces += _marked(" ", old_lines[position : difference.start])
            pieces += _marked("-", old_lines[difference.start : difference.end])
            pieces += _marked("+", new_lines[difference.new_start : difference.new_end])
            position = difference.end
        pieces += _marked(" ", old_lines[position : position + after])
    return f"--- a/{path}\n+++ b/{path}\n{''.join(pieces)}" if pieces else ""


def _hunks(changes: list[Difference]) -> Iterator[list[Difference]]:
    """Yield the differences in groups: those whose context would meet are together."""
    group: list[Difference] = []
    for change in changes:
        if group and change.start - group[-1].end > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _range(start: int, end: int) -> str:
    """Return a range for a hunk's header: the first line, from 1, and the count; for no lines, the line before."""
    count = end - start
    return f"{start + 1}" if count == 1 else f"{start + 1 if count else start},{count}"


def _marked(mark: str, lines: list[str]) -> list[str]:
    return [mark + (line if line.endswith("\n") else f"{line}\n{_NO_LINE_END}\n") for line in lines]


def lines_of(text: str) -> list[str]:
    """Return the lines of a text, each with its ``\\n``, except possibly the last."""
    lines = [line + "\n" for line in text.split("\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


# ------------------------------------------------------------------ comparing


def common_ends(old: Sequence[T], new: Sequence[T], same: Callable[[T, T], bool] = operator.eq) -> tuple[int, int]:
    """Return how many items two sequences share at the start, and how many of the rest at the end."""
    head = 0
    shorter = min(len(old), len(new))
    while head < shorter and same(old[head], new[head]):
        head += 1
    tail = 0
    while tail < shorter - head and same(old[-1 - tail], new[-1 - tail]):
        tail += 1
    return head, tail


def differences(old: list[str], new: list[str], max_steps: int = _MAX_STEPS) -> list[Difference]:
    """Return where two lists of lines differ, in order, with as many lines in common as possible.

    Past a bound on the work (thousands of lines in another order), all of them count as one difference.
    """
    head, tail = common_ends(old, new)
    old_end, new_end = len(old) - tail, len(new) - tail
    # A line that only one of them has is never common. Without such lines a rewritten text is compared fast.
    shared = set(old[head:old_end]).intersection(new[head:new_end])
    old_places = [place for place in range(head, old_end) if old[place] in shared]
    new_places = [place for place in range(head, new_end) if new[place] in shared]
    pairs = _common([old[place] for place in old_places], [new[place] for place in new_places], max_steps)
    changes: list[Difference] = []
    start, new_start = head, head
    for one, other in [*((old_places[one], new_places[other]) for one, other in pairs), (old_end, new_end)]:
        if one > start or other > new_start:
            changes.append(Difference(start, one, new_start, other))
        start, new_start = one + 1, other + 1
    return changes


def _common(old: list[str], new: list[str], max_steps: int) -> list[tuple[int, int]]:
    """Return a longest common subsequence as pairs of indexes; none if the search takes too long.

    E. W. Myers, "An O(ND) Difference Algorithm and Its Variations", 1986: for each number of edits, how far each diagonal
    reaches.
    """
    if not old or not new:
        return []
    total, new_total = len(old), len(new)
    reach = [-1, 0]  # for every other diagonal, between two sentinels
    trace = [reach]
    steps = 0
    for edits in range(total + new_total + 1):
        now = [-1]
        for index in range(edits + 1):
            diagonal = 2 * index - edits
            place = start = max(reach[index + 1], reach[index] + 1)
            while place < total and place - diagonal < new_total and old[place] == new[place - diagonal]:
                place += 1
            if place >= total and place - diagonal >= new_total:
                return _way_back(trace, total, index)
            steps += place - start + 1
            now.append(place)
        if steps > max_steps:
            break
        reach = [*now, -1]
        trace.append(reach)
    return []


def _way_back(trace: list[list[int]], place: int, index: int) -> list[tuple[int, int]]:
    """Return the pairs of equal lines on the path that ends at ``place`` of the diagonal with this index."""
    pairs: list[tuple[int, int]] = []
    for edits in range(len(trace) - 1, -1, -1):
        diagonal = 2 * index - edits
        down, right = trace[edits][index + 1], trace[edits][index] + 1
        start = max(down, right)
        while place > start:
            place -= 1
            pairs.append((place, place - diagonal))
        if down < right:
            place, index = right - 1, index - 1
    return pairs[::-1]


# Which lines are most like a text that is not there: for errors, so that a caller can correct itself. Pure.

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
    likenesses: list[_Likeness] = []
    compared = 0
    for position, line in enumerate(lines):
        trigrams = _trigrams(line)
        if sought and len(sought.intersection(trigrams)) >= _LEAST_ALIKE * len(sought):
            share, start = _best_part(sought, trigrams, width)
            if share >= _LEAST_ALIKE:
                likenesses.append(_Likeness(1 - share, len(trigrams), position, start))
        compared += len(line) + 1
        if compared > _MAX_CHARACTERS:
            break
    return sorted(likenesses)


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
    likenesses = _ranked(missing, lines)
    if not likenesses:
        return ""
    which = f" to {_shown(missing)}" if len(sought) > 1 else ""
    best = likenesses[0]
    return f" The nearest{which} is line {best.position + 1}: {_shown(lines[best.position], best.start)}."


def _shown(line: str, start: int = 0) -> str:
    """Return a line to show; of a long one, the part that begins a little before ``start``."""
    line = line.strip()
    if len(line) <= _MAX_SHOWN:
        return repr(line)
    start = min(max(0, start - _BEFORE), len(line) - _MAX_SHOWN)
    end = start + _MAX_SHOWN
    return repr(("…" if start else "") + line[start:end] + ("…" if end < len(line) else ""))
