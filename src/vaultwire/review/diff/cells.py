"""The cells of a table's row, each with what changed in it."""

from __future__ import annotations

from vaultwire.markdown.diffs import Difference, differences
from vaultwire.markdown.patterns import DELIMITER_ROW
from vaultwire.review.diff.line_kinds import cells_of
from vaultwire.review.diff.parts import Marking, Part, merged, parts_of
from vaultwire.review.diff.tokens import tokens_of
from vaultwire.review.diff.words import Segment, Steps, compared

# A row of more cells is shown as a line.
_MOST_CELLS = 200


def cells_of_line(line: str, op: str, marking: Marking) -> list[list[Part]]:
    """Return the cells of a row that is only there before or after, or in both; none for a row of dashes."""
    texts = _texts(line)
    return [parts_of(text, [Segment(op, text)], marking) for text in texts] if len(texts) <= _MOST_CELLS else []


def cells_of_pair(old: str, new: str, marking: Marking, steps: Steps) -> list[list[Part]]:
    """Return the cells of a row that was changed. A cell that was added or removed stands where it is or was."""
    before, after = _texts(old), _texts(new)
    if not before or not after or max(len(before), len(after)) > _MOST_CELLS:
        return []
    cells: list[list[Part]] = []
    position = 0
    for place in [*differences(before, after), Difference(len(before), len(before), len(after), len(after))]:
        cells += [parts_of(text, [Segment("=", text)], marking) for text in before[position : place.start]]
        removed, added = before[place.start : place.end], after[place.new_start : place.new_end]
        both = min(len(removed), len(added))
        cells += [_changed(*texts, marking, steps) for texts in zip(removed[:both], added[:both], strict=True)]
        cells += [parts_of(text, [Segment("-", text)], marking) for text in removed[both:]]
        cells += [parts_of(text, [Segment("+", text)], marking) for text in added[both:]]
        position = place.end
    return cells


def _changed(old: str, new: str, marking: Marking, steps: Steps) -> list[Part]:
    old_segments, new_segments = compared(tokens_of(old, "table"), tokens_of(new, "table"), steps)
    return merged(parts_of(old, old_segments, marking), parts_of(new, new_segments, marking))


def _texts(line: str) -> list[str]:
    if DELIMITER_ROW.match(line.lstrip(" \t>")):
        return []
    return [line[start:end] for start, end in cells_of(line)]
