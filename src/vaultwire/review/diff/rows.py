"""The hunks of a file and their rows: lines with those around them, changed lines paired and compared, in bounded pieces.

Also the notices: what is to be known of the difference beside its words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from vaultwire.markdown.diffs import Difference, differences, lines_of
from vaultwire.markdown.patterns import DELIMITER_ROW
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.review.diff.parts import (
    MAX_LINE,
    Marking,
    MarkKind,
    Part,
    counted,
    hidden_in,
    lookalikes_in,
    may_hide,
    merged,
    parts_of,
    same_letters,
    swapped_words,
)
from vaultwire.review.diff.words import (
    Line,
    LineKind,
    Segment,
    Steps,
    cells_of,
    compared,
    heading_level,
    is_word,
    item_of,
    paired,
    tokens_of,
)

# Which lines of two texts differ, in numbered hunks, and which unchanged lines are shown around each.

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


# ---------------------------------------------------------------------- cells of tables

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


# ---------------------------------------------------------------------- what happened to one line, in words

# A shorter line that is no list item, such as a brace, says nothing by standing elsewhere.
_LEAST_MOVED = 12
_MARKS = {"x": "done", "X": "done", "-": "cancelled", "/": "in progress", ">": "forwarded"}
_LINE_BREAK = "  "


def note_of_pair(old: str, new: str, kind: LineKind) -> str:
    """Return what happened to a line that was changed, beside its words; empty for nothing worth a note."""
    if kind == "code":
        return _indentation(old, new)
    notes = [_task(old, new), _item(old, new), _heading(old, new)]
    if kind == "table" and old != new and _cell_texts(old) == _cell_texts(new):
        notes.append("only the spaces between the cells")
    notes.append(_line_break(old, new, kind))
    if same_letters(old, new):
        notes.append("the same letters, stored in another Unicode form")
    elif old.split() == new.split() and kind == "text":
        notes.append(_indentation(old, new) or ("only spaces" if old.strip() != new.strip() else ""))
    return "; ".join(note for note in notes if note)


def _task(old: str, new: str) -> str:
    one, other = item_of(old), item_of(new)
    if one is None or other is None or one.mark == other.mark:
        return ""
    if other.mark is None:
        return "no task any more"
    if one.mark is None:
        return "a task now" + ("" if other.mark == " " else f", {_MARKS.get(other.mark, 'marked ' + other.mark)}")
    if other.mark == " ":
        return "task open again"
    return f"task {_MARKS.get(other.mark, 'marked ' + other.mark)}"


def _item(old: str, new: str) -> str:
    one, other = item_of(old), item_of(new)
    if one is None and other is None:
        return ""
    if one is None:
        return "a list item now"
    if other is None:
        return "no list item any more"
    before, after = _width(one.indent), _width(other.indent)
    if before != after:
        return "further out in the list" if after < before else "further in, under another item"
    if one.marker != other.marker and one.marker[:-1].isdigit() and other.marker[:-1].isdigit():
        return f"number {other.marker[:-1]}, before {one.marker[:-1]}" if one.marker[:-1] != other.marker[:-1] else ""
    return ""


def _heading(old: str, new: str) -> str:
    before, after = heading_level(old), heading_level(new)
    if before == after:
        return ""
    if not before:
        return f"a heading of level {after} now"
    return f"heading of level {after}, before {before}" if after else "no heading any more"


def _line_break(old: str, new: str, kind: LineKind) -> str:
    """Return what became of a line break that two spaces at the end of a line make in Markdown."""
    if kind != "text":
        return ""
    before, after = (line.endswith(_LINE_BREAK) and bool(line.strip()) for line in (old, new))
    if before == after:
        return ""
    return "two spaces at the end: a line break now" if after else "no line break at the end any more"


def _indentation(old: str, new: str) -> str:
    before, after = old[: len(old) - len(old.lstrip(" \t"))], new[: len(new) - len(new.lstrip(" \t"))]
    if before == after or not uses_other_indentation(before, after):
        return ""
    return (
        "indented with tabs now, with spaces before" if "\t" in after else "indented with spaces now, with tabs before"
    )


def uses_other_indentation(before: str, after: str) -> bool:
    """Tell whether of two indentations one has tabs and the other only spaces."""
    return bool(before) and bool(after) and ("\t" in before) != ("\t" in after)


def _cell_texts(line: str) -> list[str]:
    return [line[start:end] for start, end in cells_of(line)]


def _width(indent: str) -> int:
    return len(indent.expandtabs(4))


def moved_lines(texts: Texts) -> tuple[dict[int, int], dict[int, int]]:
    """Return the lines that were moved: old place → new place, and new place → old place, both from 0.

    Such a line was removed and added once each, with the same text. The number of a list's item and the indentation do not
    count.
    """
    if not any(hunk.end > hunk.start for hunk in texts.hunks):
        return {}, {}
    old_places = _only_places(texts.old, (range(hunk.start, hunk.end) for hunk in texts.hunks))
    new_places = _only_places(texts.new, (range(hunk.new_start, hunk.new_end) for hunk in texts.hunks))
    pairs = [(place, new_places[key]) for key, place in old_places.items() if key in new_places]
    return dict(pairs), {new: old for old, new in pairs}


def _only_places(lines: list[str], hunks: Iterable[range]) -> dict[str, int]:
    """Return the place of each line that is there once, by what makes it the same line."""
    found: dict[str, int] = {}
    several: set[str] = set()
    for places in hunks:
        for place in places:
            key = _key(lines[place])
            if key in found:
                several.add(key)
            elif key:
                found[key] = place
    return {key: place for key, place in found.items() if key not in several}


def _key(line: str) -> str:
    item = item_of(line)
    if item is not None:
        text = line[item.text :].strip()
        return text and f"- [{item.mark}] {text}"
    text = line.strip()
    return text if len(text) >= _LEAST_MOVED and any(map(str.isalnum, text)) else ""


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


# ---------------------------------------------------------------------- notices
#
# What a reader should know of a file's difference beside its words: hidden characters, line ends, spaces, in counts.
# Lines that did not change are not counted. Usual characters are none.

Notice = dict[str, Any]
_BOM = b"\xef\xbb\xbf"
# Names of different characters in one sentence.
_MOST_NAMED = 5
_MEANINGS: dict[MarkKind, tuple[str, str]] = {
    "direction": ("character that changes the direction of writing", "the text can look other than it is"),
    "zero-width": ("character without width", "a reader sees nothing there, and a search does not find the word"),
    "invisible": ("other invisible character", "a reader sees nothing there"),
    "space": ("unusual space", "Markdown and searches do not take that for a space"),
    "lookalike": ("letter that looks like another one", "the word is not what it looks like"),
}
_PLURALS = {
    "character that changes the direction of writing": "characters that change the direction of writing",
    "character without width": "characters without width",
    "letter that looks like another one": "letters that look like others",
}


def notice(what: str, count: int, words: str) -> Notice:
    """Return a notice."""
    return {"what": what, "count": count, "words": words}


def notices_of(texts: Texts, before: bytes | None, after: bytes | None, *, is_note: bool) -> list[Notice]:
    """Return the notices of a text file; what it is to be removed has none of its characters."""
    notices = _not_utf8(before, after)
    if before is not None and after is not None:
        notices += _of_bytes(before, after)
    notices += _of_characters(texts, is_removal=after is None)
    if after is not None:
        notices += _of_blanks(texts, is_note=is_note)
    if is_note and after is not None:
        problems = parse_frontmatter("\n".join(texts.new)).problems
        if problems:
            notices.append(
                notice("properties", len(problems), f"The properties cannot be read as they are: {problems[0]}.")
            )
    return notices


# ------------------------------------------------------------------ bytes


def _not_utf8(before: bytes | None, after: bytes | None) -> list[Notice]:
    counts = [_invalid(data) for data in (before, after)]
    if not any(counts):
        return []
    if after is None or not counts[1]:
        return [notice("not-utf-8", counts[0], f"{_bytes(counts[0])} before, shown as �.")]
    told = (
        "" if counts[0] == counts[1] or before is None else f", {counts[0]:,} before" if counts[0] else ", none before"
    )
    return [notice("not-utf-8", counts[1], f"{_bytes(counts[1])}{told}: each is shown as �, and the file keeps it.")]


def _bytes(count: int) -> str:
    return f"{counted(count, 'piece')} of the file {'is' if count == 1 else 'are'} no text in UTF-8"


def _invalid(data: bytes | None) -> int:
    """Return how many replacement characters stand for bytes that are not UTF-8."""
    if data is None:
        return 0
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("utf-8", "replace").count("\ufffd") - data.count("\ufffd".encode())
    return 0


def _of_bytes(before: bytes, after: bytes) -> list[Notice]:
    notices: list[Notice] = []
    ends = [_line_ends(data) for data in (before, after)]
    if ends[0] and ends[1] and ends[0] != ends[1]:
        notices.append(
            notice(
                "line-ends",
                after.count(b"\n"),
                f"The line ends are {ends[1]} now; they were {ends[0]} before. No word changes.",
            )
        )
    if before.startswith(_BOM) != after.startswith(_BOM):
        is_there = after.startswith(_BOM)
        change = (
            "begins with a byte order mark (U+FEFF) now" if is_there else "has no byte order mark (U+FEFF) any more"
        )
        notices.append(notice("bom", 1, f"The file {change}."))
    if before and after and before.endswith(b"\n") != after.endswith(b"\n"):
        change = "with a line end now" if after.endswith(b"\n") else "without a line end now"
        notices.append(notice("final-newline", 1, f"The last line ends {change}."))
    return notices


def _line_ends(data: bytes) -> str:
    """Return the line ends of a file in words; empty if it has none."""
    windows, total = data.count(b"\r\n"), data.count(b"\n")
    if not total:
        return ""
    if not windows:
        return "those of Linux and macOS (LF)"
    return "those of Windows (CRLF)" if windows == total else "mixed (CRLF and LF)"


# ------------------------------------------------------------------ characters


class _Counts(NamedTuple):
    """How many marks of each kind there are, and how often each name is among them."""

    kinds: Counter[MarkKind]
    names: dict[MarkKind, Counter[str]]


def _of_characters(texts: Texts, *, is_removal: bool) -> list[Notice]:
    old, new = _Counts(Counter(), {}), _Counts(Counter(), {})
    for hunk in texts.hunks:
        removed, added = texts.old[hunk.start : hunk.end], texts.new[hunk.new_start : hunk.new_end]
        swapped = swapped_words(removed, added)
        if not swapped and all(line.isascii() and line.isprintable() for line in removed + added):
            continue  # most text
        _count(removed, swapped, old)
        _count(added, swapped, new)
    notices: list[Notice] = []
    for kind, (name, meaning) in _MEANINGS.items():
        before, after = old.kinds[kind], new.kinds[kind]
        if is_removal or not before + after or (kind == "space" and before == after):
            continue  # pasted text is full of no-break spaces: those that stay are no news
        counts = new if after else old
        names = [
            each if count == 1 else f"{each} ({count:,} times)"
            for each, count in counts.names[kind].most_common(_MOST_NAMED)
        ]
        more = len(counts.names[kind]) - len(names)
        named = ", ".join(names) + (f" and {more:,} others" if more else "")
        if after:
            told = f", {before:,} of them there before" if before and before <= after else ""
            words = f"{_counted(after, name)} in changed lines{told}: {named}; {meaning}."
        else:
            words = f"{_counted(before, name)} removed: {named}."
        notices.append(notice(kind, after, words[0].upper() + words[1:]))
    return notices


def _counted(count: int, name: str) -> str:
    return f"{count:,} {_PLURALS.get(name, name + 's')}" if count > 1 else f"1 {name}"


def _count(lines: Iterable[str], swapped: dict[str, list[int]], counts: _Counts) -> None:
    for line in lines:
        marks = list(hidden_in(line)) if may_hide(line) else []
        if swapped or not line.isascii():
            marks += lookalikes_in(line, swapped)
        for mark in marks:
            counts.kinds[mark.kind] += 1
            counts.names.setdefault(mark.kind, Counter())[mark.name] += 1


# ------------------------------------------------------------------ spaces and tabs


def _of_blanks(texts: Texts, *, is_note: bool) -> list[Notice]:
    ending = gone = breaks = 0
    to_tabs = to_spaces = 0
    for hunk in texts.hunks:
        removed, added = texts.old[hunk.start : hunk.end], texts.new[hunk.new_start : hunk.new_end]
        trailing = [line for line in added if line[-1:] in (" ", "\t")]
        ending += len(trailing)
        breaks += sum(line.endswith("  ") and bool(line.strip()) for line in trailing)
        gone += sum(line[-1:] in (" ", "\t") for line in removed)
        indented = {line.lstrip(" \t"): line for line in removed if line[:1] in (" ", "\t")}
        for line in added if indented else ():
            bare = line.lstrip(" \t")
            other = indented.get(bare) if bare else None
            if other is not None and uses_other_indentation(other[: -len(bare)], line[: -len(bare)]):
                is_tab = "\t" in line[: -len(bare)]
                to_tabs += is_tab
                to_spaces += not is_tab
    notices: list[Notice] = []
    if ending > gone:
        means = (
            f"; two spaces there are a line break in Markdown ({counted(breaks, 'line')})" if is_note and breaks else ""
        )
        verb = "ends" if ending == 1 else "end"
        notices.append(
            notice("trailing-spaces", ending, f"{counted(ending, 'changed line')} {verb} with spaces or tabs{means}.")
        )
    elif ending < gone:
        notices.append(
            notice("trailing-spaces", ending, f"The spaces at the end of {counted(gone - ending, 'line')} are gone.")
        )
    for count, now, then in ((to_tabs, "tabs", "spaces"), (to_spaces, "spaces", "tabs")):
        if count:
            verb = "is" if count == 1 else "are"
            notices.append(
                notice("tabs", count, f"{counted(count, 'line')} {verb} indented with {now} now, with {then} before.")
            )
    return notices
