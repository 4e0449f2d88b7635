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
# So few notes are indexed at once: eight commits of 20 ms would take longer than what they save after a kill.
_ONE_COMMIT = 800
# Searches can have the first notes soon.
_FIRST = 2_000


def commit_points(notes: int) -> list[int]:
    """Return after how many notes each commit comes. The last one comes after all of them."""
    if notes <= _ONE_COMMIT:
        return [notes]
    commits = _MERGED * -(-notes // (_MERGED * _MAX_NOTES))
    first = min(_FIRST, notes // commits)
    return [first + (notes - first) * number // (commits - 1) for number in range(commits)]
