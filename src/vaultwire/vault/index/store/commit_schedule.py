"""When the text index commits while many notes are put into it. Pure.

Each commit writes what is in memory into a segment of its own, so the number of notes between two commits bounds the memory.
But a search takes three times as long in eight segments as in one. tantivy merges eight segments of similar size into one
(its ``LogMergePolicy``; all segments of up to 10,000 notes count as similar). So there are eight commits, or a multiple.
"""

from __future__ import annotations

# So many segments are merged into one.
_MERGED = 8
# So many notes take 17 MB in the writer's memory, with 3 KB of text each. It must stay below 10,000: see the head.
_MAX_NOTES = 5_000
# A vault of so many notes is indexed in a few seconds. One commit is quicker than eight.
_ONE_COMMIT = 12_000
# Searches can have the first notes soon.
_FIRST = 2_000


def commit_points(notes: int) -> list[int]:
    """Return after how many notes each commit comes. The last one comes after all of them."""
    if notes <= _ONE_COMMIT:
        return [notes]
    commits = _MERGED * -(-notes // (_MERGED * _MAX_NOTES))
    return [_FIRST + (notes - _FIRST) * number // (commits - 1) for number in range(commits)]


def shown_points(points: list[int]) -> set[int]:
    """Return the points at which searches get to see what was committed.

    The first, second, fourth, then one after each merge, and the last: to show a commit needs a second at most. A search of
    100,000 notes in one process keeps open what it has seen, so segments that are about to be merged are better not shown.
    """
    return {*points[:4:3], *points[1:2], *points[_MERGED::_MERGED], points[-1]}
