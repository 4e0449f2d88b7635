"""The rows of a hunk: its lines with those around them, changed lines paired and compared by words, in bounded pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from vaultwire.review.diff.cells import cells_of_line, cells_of_pair
from vaultwire.review.diff.hunks import Texts, context_around
from vaultwire.review.diff.line_kinds import LineKind, item_of
from vaultwire.review.diff.lookalikes import swapped_words
from vaultwire.review.diff.parts import MAX_LINE, Marking, Part, parts_of
from vaultwire.review.diff.row_notes import note_of_pair, uses_other_indentation
from vaultwire.review.diff.tokens import is_word, tokens_of
from vaultwire.review.diff.words import Line, Segment, Steps, compared, paired

Row = dict[str, Any]
# Lines of each side that are searched for pairs together; the work grows with the square.
BLOCK = 30
# Of a longer line only the beginning is compared when pairs are searched.
_MOST_COMPARED = 2_000
_OPS = {"same": "=", "removed": "-", "added": "+"}


class File(NamedTuple):
    """The lines of a file before and after, what each line is, and where moved lines went and came from."""

    texts: Texts
    old_kinds: list[LineKind]
    new_kinds: list[LineKind]
    moved_to: dict[int, int]
    moved_from: dict[int, int]
    end_notes: tuple[str, str]  # of the last line before and after, if it has another line end than the other


def blocks_of(file: File, index: int) -> int:
    """Return in how many blocks the rows of a hunk come."""
    hunk = file.texts.hunks[index]
    longer = max(hunk.end - hunk.start, hunk.new_end - hunk.new_start)
    return max(1, -(-longer // BLOCK))


def rows_of(file: File, index: int, steps: Steps, first_block: int = 0) -> Iterator[list[Row]]:
    """Yield the rows of a hunk, block by block from ``first_block`` on, with the unchanged lines around the hunk.

    A block has as large a share of the removed lines as of the added ones.
    """
    hunk = file.texts.hunks[index]
    above, below = context_around(file.texts.hunks, index, len(file.texts.old))
    count = blocks_of(file, index)
    removed, added = hunk.end - hunk.start, hunk.new_end - hunk.new_start
    builder = _Rows(file, index, steps)
    for block in range(first_block, count):
        rows: list[Row] = []
        if block == 0:
            rows += [builder.same(hunk.start - each, hunk.new_start - each) for each in range(above, 0, -1)]
        rows += builder.changes(
            range(hunk.start + removed * block // count, hunk.start + removed * (block + 1) // count),
            range(hunk.new_start + added * block // count, hunk.new_start + added * (block + 1) // count),
        )
        if block == count - 1:
            rows += [builder.same(hunk.end + each, hunk.new_end + each) for each in range(below)]
        yield rows


class _Rows:
    """Makes the rows of one hunk."""

    def __init__(self, file: File, index: int, steps: Steps) -> None:
        self._file = file
        self._old, self._new = file.texts.old, file.texts.new
        self._steps = steps
        hunk = file.texts.hunks[index]
        self._hunk = hunk
        self._swapped = swapped_words(self._old[hunk.start : hunk.end], self._new[hunk.new_start : hunk.new_end])

    def same(self, old: int, new: int) -> Row:
        line = self._new[new]
        row = same_row(line, old, new)
        if self._file.new_kinds[new] == "table" and (cells := cells_of_line(line, "=", Marking())):
            row["cells"] = cells
        return row

    def changes(self, old: range, new: range) -> Iterator[Row]:
        """Yield the rows of lines that were removed and added: pairs in order, the others before the pair they stand above."""
        file = self._file
        own_old, own_new = range(self._hunk.start, self._hunk.end), range(self._hunk.new_start, self._hunk.new_end)
        before = [
            self._line(place, self._old, file.old_kinds, file.moved_to.get(place, own_new.start) not in own_new)
            for place in old
        ]
        after = [
            self._line(place, self._new, file.new_kinds, file.moved_from.get(place, own_old.start) not in own_old)
            for place in new
        ]
        i = j = 0
        for one, other in [*paired(before, after), (len(before), len(after))]:
            yield from (self._removed(old[place]) for place in range(i, one))
            yield from (self._added(new[place]) for place in range(j, other))
            if one < len(before):
                yield self._changed(old[one], new[other])
            i, j = one + 1, other + 1

    def _line(self, place: int, lines: list[str], kinds: list[LineKind], is_elsewhere: bool) -> Line:
        line = lines[place][:_MOST_COMPARED]
        words = None if is_elsewhere else frozenset(filter(is_word, tokens_of(line, kinds[place])))
        return Line(line, words)

    def _removed(self, place: int) -> Row:
        to = self._file.moved_to.get(place)
        notes = [f"moved to line {to + 1}" if to is not None else "", self._end_note(place, self._old, 0)]
        return self._alone("removed", place, self._old[place], self._file.old_kinds[place], notes)

    def _added(self, place: int) -> Row:
        origin = self._file.moved_from.get(place)
        notes = [
            f"moved here from line {origin + 1}" if origin is not None else "",
            self._end_note(place, self._new, 1),
        ]
        return self._alone("added", place, self._new[place], self._file.new_kinds[place], notes)

    def _alone(self, kind: str, place: int, line: str, line_kind: LineKind, notes: list[str]) -> Row:
        marking = Marking(self._swapped, show_end=True)
        parts = parts_of(line, [Segment(_OPS[kind], line)] if line else [], marking)
        row = _row(kind, place if kind == "removed" else None, place if kind == "added" else None, parts)
        if line_kind == "table" and (cells := cells_of_line(line, _OPS[kind], marking)):
            row["cells"] = cells
        return _noted(row, notes)

    def _changed(self, old: int, new: int) -> Row:
        before, after = self._old[old], self._new[new]
        kind = self._file.new_kinds[new]
        indents = before[: len(before) - len(before.lstrip())], after[: len(after) - len(after.lstrip())]
        marking = Marking(self._swapped, show_end=True, show_indent=uses_other_indentation(*indents))
        old_segments, new_segments = self._segments(before, after, old, new)
        row = _row("changed", old, new, parts_of(before, old_segments, marking))
        row["new_parts"] = parts_of(after, new_segments, marking)
        if kind == self._file.old_kinds[old] == "table":
            cells = cells_of_pair(before, after, Marking(self._swapped), self._steps)
            if cells:
                row["cells"] = cells
        return _noted(row, [note_of_pair(before, after, kind), self._end_note(new, self._new, 1)])

    def _segments(self, before: str, after: str, old: int, new: int) -> tuple[list[Segment], list[Segment]]:
        if max(len(before), len(after)) > 5 * MAX_LINE:  # such lines are not prose
            return [Segment("-", before)] if before else [], [Segment("+", after)] if after else []
        old_tokens = tokens_of(before, self._file.old_kinds[old])
        return compared(old_tokens, tokens_of(after, self._file.new_kinds[new]), self._steps)

    def _end_note(self, place: int, lines: list[str], side: int) -> str:
        return self._file.end_notes[side] if place == len(lines) - 1 else ""


def same_row(line: str, old: int, new: int) -> Row:
    """Return the row of a line that is in both texts; its places count from 0."""
    return _row("same", old, new, parts_of(line, [Segment("=", line)] if line else []))


def _row(kind: str, old: int | None, new: int | None, parts: list[Part]) -> Row:
    return {
        "kind": kind,
        "old": None if old is None else old + 1,
        "new": None if new is None else new + 1,
        "parts": parts,
    }


def _noted(row: Row, notes: list[str]) -> Row:
    if note := "; ".join(note for note in notes if note):
        row["note"] = note
    return row


def hunk_kind(file: File, index: int) -> str:
    """Return what all changed lines of a hunk are: text, properties, table, list, task or code. Empty lines do not count."""
    hunk = file.texts.hunks[index]
    kinds: set[str] = set()
    sides = (
        (file.texts.old, file.old_kinds, range(hunk.start, hunk.end)),
        (file.texts.new, file.new_kinds, range(hunk.new_start, hunk.new_end)),
    )
    for lines, line_kinds, places in sides:
        for place in places:
            kind: str = line_kinds[place]
            if kind == "text":
                if not lines[place].strip():
                    continue
                item = item_of(lines[place])
                kind = "text" if item is None else "list" if item.mark is None else "task"
            kinds.add(kind)
            if kind == "text":
                return "text"
    if kinds == {"list", "task"}:
        return "list"
    return kinds.pop() if len(kinds) == 1 else "text"
