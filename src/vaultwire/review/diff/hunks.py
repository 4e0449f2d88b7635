"""Which lines of two texts differ, in numbered hunks, and which unchanged lines are shown around each."""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.markdown.diffs import Difference, differences, lines_of

# Unchanged lines on each side, as in diff(1) and Git.
CONTEXT = 3


class Texts(NamedTuple):
    """A text before and after: the lines of each, without their line ends, and where they differ.

    Two last lines that differ only by their line end are in a hunk, too.
    """

    old: list[str]
    new: list[str]
    hunks: list[Difference]


def hunks_of(before: str, after: str) -> list[Difference]:
    """Return the hunks of two plain texts (without BOM, ``\\n`` line ends): where their lines differ, in order.

    A hunk's number is its index here. Lines are those of ``markdown.diffs.lines_of``.
    """
    return differences(lines_of(before), lines_of(after))


def texts_of(before: str, after: str) -> Texts:
    """Return the lines of two plain texts and their hunks."""
    return Texts(bare_lines(before), bare_lines(after), hunks_of(before, after))


def bare_lines(text: str) -> list[str]:
    """Return the lines of a text without their line ends, as many as ``lines_of`` returns."""
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    return lines


def context_around(hunks: list[Difference], index: int, total: int) -> tuple[int, int]:
    """Return how many unchanged lines are shown before a hunk and behind it; ``total`` lines are in the old text.

    Lines between two hunks are shown once: those behind the first go before those above the second.
    """
    hunk = hunks[index]
    above = min(CONTEXT, hunk.start)
    if index:
        between = hunk.start - hunks[index - 1].end
        above = min(CONTEXT, max(0, between - CONTEXT))
    end = hunks[index + 1].start if index + 1 < len(hunks) else total
    return above, min(CONTEXT, end - hunk.end)
