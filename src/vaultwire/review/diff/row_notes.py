"""What happened to one line, in words: a task done, an item moved or indented, a line break that spaces make."""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.review.diff.hunks import Texts
from vaultwire.review.diff.line_kinds import LineKind, cells_of, heading_level, item_of
from vaultwire.review.diff.lookalikes import same_letters

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
