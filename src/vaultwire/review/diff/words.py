"""Which words of two lines differ, and which lines of a hunk belong together: bounded work for any text."""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.diffs import Difference, common_ends, differences
from vaultwire.review.diff.tokens import is_word

# Steps of comparing words on one page, each about 1 µs; then lines are shown as wholes. A pair of lines may take a part.
PAGE_STEPS = 600_000
_PAIR_STEPS = 20_000
# Lines that share this much of their words are one line that was changed; a lone pair of lines may share less.
_LEAST_ALIKE = 0.4
_LEAST_ALIKE_ALONE = 0.25
# Words that begin and end alike, such as a typo that was corrected.
_LEAST_ENDS = 0.6
_MOST_ENDS = 80
_BEFORE_TEXT = re.compile(r"[\s>]*(?:[-*+]\s|\d{1,9}[.)]\s|#{1,6}\s)?\s*(?:\[.\])?\s*")


class Segment(NamedTuple):
    """A part of a line: ``=`` is in both lines, ``-`` only in the old one, ``+`` only in the new one."""

    op: str
    text: str


class Steps:
    """The steps that are left for comparing words on one page."""

    def __init__(self, left: int = PAGE_STEPS) -> None:
        self.left = left
        self.taken = 0

    def take(self, count: int) -> None:
        """Count steps that were taken."""
        self.left -= count
        self.taken += count


def compared(old: list[str], new: list[str], steps: Steps) -> tuple[list[Segment], list[Segment]]:
    """Return the segments of an old and a new line by their tokens."""
    most = min(_PAIR_STEPS, steps.left)
    head, tail = common_ends(old, new)
    short = len(old) - head - tail, len(new) - head - tail
    if most <= 0 or sum(short) > most:
        found = [Difference(head, len(old) - tail, head, len(new) - tail)] if any(short) else []
        steps.take(head + tail)
    else:
        found = differences(old, new, most)
        edits = sum(each.end - each.start + each.new_end - each.new_start for each in found)
        steps.take(len(old) + len(new) + min(most, edits * edits // 2))
    return _segments(old, new, _readable(old, found))


def _segments(old: list[str], new: list[str], found: list[Difference]) -> tuple[list[Segment], list[Segment]]:
    old_segments: list[Segment] = []
    new_segments: list[Segment] = []
    position = 0
    for each in [*found, Difference(len(old), len(old), len(new), len(new))]:
        if same := "".join(old[position : each.start]):
            old_segments.append(Segment("=", same))
            new_segments.append(Segment("=", same))
        if removed := "".join(old[each.start : each.end]):
            old_segments.append(Segment("-", removed))
        if added := "".join(new[each.new_start : each.new_end]):
            new_segments.append(Segment("+", added))
        position = each.end
    return old_segments, new_segments


def _readable(old: list[str], found: list[Difference]) -> list[Difference]:
    """Return differences in which those are one that have little between them: a space, or a short word of long ones."""
    joined: list[Difference] = []
    for each in found:
        if joined:
            last = joined[-1]
            between = old[last.end : each.start]
            size = sum(map(len, between))
            is_mark = size <= 3 and not any(map(is_word, between))  # noqa: PLR2004 - such as ", " or "** "
            if is_mark or 2 * size <= min(_size(old, last), _size(old, each)):
                joined[-1] = Difference(last.start, each.end, last.new_start, each.new_end)
                continue
        joined.append(each)
    return joined


def _size(old: list[str], place: Difference) -> int:
    """Return about how many characters a difference has: a token that was added counts as a usual word."""
    return max(sum(map(len, old[place.start : place.end])), 3 * (place.new_end - place.new_start))


# ------------------------------------------------------------------ pairing


class Line(NamedTuple):
    """A line that may be paired, and its words; None for one that has its pair elsewhere."""

    text: str
    words: frozenset[str] | None


def paired(old: list[Line], new: list[Line]) -> list[tuple[int, int]]:
    """Return which lines of two short lists are the same line before and after: pairs of indexes, in order.

    The pairs are those with the most words in common.
    """
    least = _LEAST_ALIKE_ALONE if len(old) == len(new) == 1 else _LEAST_ALIKE
    alike = [[likeness if (likeness := _likeness(one, other)) >= least else 0.0 for other in new] for one in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        below, row, own = best[i + 1], best[i], alike[i]
        for j in range(len(new) - 1, -1, -1):
            row[j] = max(below[j], row[j + 1], own[j] and own[j] + below[j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if alike[i][j] and best[i][j] == alike[i][j] + best[i + 1][j + 1]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return pairs


def _likeness(old: Line, new: Line) -> float:
    """Return how much two lines have in common, from 0 to 1."""
    if old.words is None or new.words is None:
        return 0.0
    if not old.words or not new.words:
        if old.words or new.words:
            return 0.0
        return 1.0 if old.text.split() == new.text.split() else 0.0  # without words, only spaces may differ
    shared = 2 * len(old.words & new.words) / (len(old.words) + len(new.words))
    if shared or len(old.text) > _MOST_ENDS or len(new.text) > _MOST_ENDS:
        return shared
    one, other = _bare(old.text), _bare(new.text)
    head, tail = common_ends(one, other)
    ends = (head + tail) / max(len(one), len(other), 1)
    return ends if ends >= _LEAST_ENDS else 0.0


def _bare(line: str) -> str:
    return line[_BEFORE_TEXT.match(line).end() :]  # type: ignore[union-attr] # matches anything
