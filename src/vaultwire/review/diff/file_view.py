"""The view of one file's difference, as a dict that becomes JSON."""

from __future__ import annotations

from typing import Any

from vaultwire.markdown.diffs import Difference
from vaultwire.review.diff.elements import canvas_nodes, property_rows
from vaultwire.review.diff.link_changes import LinkChanges, Resolve, Side
from vaultwire.review.diff.notices import notice, notices_of
from vaultwire.review.diff.parts import counted
from vaultwire.review.diff.rows import File, Row, blocks_of, hunk_kind, moved_lines, rows_of, same_row, texts_of
from vaultwire.review.diff.words import LineKind, Steps, kinds_of
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.media_types import is_media, kind_of

# Characters of one page: a browser shows them at once.
_MOST_CHARACTERS = 1_000_000
# Lines that are unfolded at once.
_MOST_UNFOLDED = 2_000


def file_diff(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    resolve: Resolve | None = None,
    first_hunk: int = 0,
    max_rows: int = 2000,
    target: str | None = None,
) -> dict[str, Any]:
    """Return the difference of a file before and after; None stands for a file that is not there.

    ``target`` is the new path of a file that was moved. Hunks are given from ``first_hunk`` on until ``max_rows`` rows are
    reached. ``next_hunk`` is the ``first_hunk`` of the next page. A hunk that is too long for one page goes on there: it has
    the same index and ``is_continued``, and ``next_hunk`` is then no index (its remainder by the count of hunks is).

    The caller sets ``index``, ``rewritten_links`` and the state of each hunk. ``properties``, ``links``, ``nodes`` and
    ``notices`` are those of the whole file, and only on the first page. All texts but ``t`` of parts and the paths have the
    names of hidden characters in place of them.
    """
    kind = _kind(target or path, before, after)
    view: dict[str, Any] = {
        "index": 0,
        "action": _action(before, after, target),
        "path": path,
        "to": target,
        "kind": kind,
        "is_new": before is None and after is not None and target is None,
        "added": 0,
        "removed": 0,
        "rewritten_links": 0,
        "notices": [],
        "properties": [],
        "links": [],
        "nodes": [],
        "hunks": [],
        "hunk_count": 0,
        "next_hunk": None,
    }
    if kind in ("image", "binary"):
        view["notices"] = _sizes(before, after) if kind == "binary" else []
        return view
    if target is not None and after is None:  # a move alone
        return view
    old_text, new_text = plain_text(before or b""), plain_text(after or b"")
    file = _file(old_text, new_text, is_note=kind == "note")
    steps = Steps()
    hunks = file.texts.hunks
    view["added"] = sum(hunk.new_end - hunk.new_start for hunk in hunks)
    view["removed"] = sum(hunk.end - hunk.start for hunk in hunks)
    view["hunk_count"] = len(hunks)
    if first_hunk <= 0:
        view["notices"] = notices_of(file.texts, before, after, is_note=kind == "note")
        if kind == "note":
            view["properties"] = property_rows(old_text, new_text, steps)
            view["links"] = _links(file, path, target or path, resolve, view)
        elif kind == "canvas":
            view["nodes"], problem = canvas_nodes(old_text, new_text, steps)
            if problem:
                view["notices"].append(notice("canvas", 1, f"The canvas cannot be shown by its nodes: it {problem}."))
    if hunks:
        view["hunks"], view["next_hunk"] = _hunks(file, steps, max(0, first_hunk), max_rows)
    return view


def unchanged_rows(before: bytes | None, after: bytes | None, first: int, last: int) -> list[Row]:
    """Return rows for the unchanged lines ``first`` to ``last`` of the new text, from 1: to unfold what lies between hunks.

    At most 2,000 lines are returned; lines that changed are left out.
    """
    texts = texts_of(plain_text(before or b""), plain_text(after or b""))
    rows: list[Row] = []
    start = new_start = 0
    for hunk in [*texts.hunks, Difference(len(texts.old), len(texts.old), len(texts.new), len(texts.new))]:
        for new in range(max(new_start, first - 1), min(hunk.new_start, last)):
            if len(rows) < _MOST_UNFOLDED:
                rows.append(same_row(texts.new[new], start + new - new_start, new))
        start, new_start = hunk.end, hunk.new_end
    return rows


def _action(before: bytes | None, after: bytes | None, target: str | None) -> str:
    if target is not None:
        return "move"
    return "create" if before is None else "remove" if after is None else "edit"


def _kind(path: str, before: bytes | None, after: bytes | None) -> str:
    """Return how a file is shown: note, canvas, image, text or binary. Bytes with a NUL are no text; Git tells so, too."""
    if kind_of(path) == "image":
        return "image"
    if is_media(path) or any(data is not None and b"\0" in data for data in (before, after)):
        return "binary"
    if kind_of(path) == "canvas":
        return "canvas"
    return "note" if path.lower().endswith(".md") else "text"


def _sizes(before: bytes | None, after: bytes | None) -> list[dict[str, Any]]:
    data = after if after is not None else before
    if data is None:
        return []
    told = f", before {len(before):,}" if before is not None and after is not None and len(before) != len(after) else ""
    return [notice("size", len(data), f"{counted(len(data), 'byte')}{told}.")]


def _file(old_text: str, new_text: str, *, is_note: bool) -> File:
    texts = texts_of(old_text, new_text)

    def kinds(text: str, lines: list[str]) -> list[LineKind]:
        return kinds_of(text, lines) if is_note else ["code"] * len(lines)

    moved_to, moved_from = moved_lines(texts)
    return File(
        texts,
        kinds(old_text, texts.old),
        kinds(new_text, texts.new),
        moved_to,
        moved_from,
        _end_notes(old_text, new_text),
    )


def _end_notes(old_text: str, new_text: str) -> tuple[str, str]:
    """Return what to say of the last line of each text, if only one of the two ends with a line end."""
    if not old_text or not new_text or old_text.endswith("\n") == new_text.endswith("\n"):
        return "", ""
    if new_text.endswith("\n"):
        return "without a line end", "with a line end now"
    return "with a line end", "without a line end now"


def _links(file: File, path: str, new_path: str, resolve: Resolve | None, view: dict[str, Any]) -> list[dict[str, Any]]:
    if view["action"] == "remove":
        return []
    old, new = Side(path, file.texts.old, file.old_kinds), Side(new_path, file.texts.new, file.new_kinds)
    changes = LinkChanges(old, new, resolve, is_new=view["is_new"])
    for hunk in file.texts.hunks:
        changes.add(range(hunk.start, hunk.end), range(hunk.new_start, hunk.new_end))
    return changes.found


# ------------------------------------------------------------------ pages


def _hunks(file: File, steps: Steps, first: int, max_rows: int) -> tuple[list[dict[str, Any]], int | None]:
    """Return the hunks of a page, and where the next page begins: hunk + block of its lines x count of hunks."""
    count = len(file.texts.hunks)
    found: list[dict[str, Any]] = []
    rows = characters = 0
    block, start = divmod(first, count)
    for index in range(start, count):
        if found and (rows >= max_rows or characters >= _MOST_CHARACTERS):
            return found, index
        hunk = _hunk(file, index)
        if block:
            hunk["is_continued"] = True
        found.append(hunk)
        for each in rows_of(file, index, steps, block):
            hunk["rows"] += each
            block += 1
            rows += len(each)
            characters += sum(map(_length, each))
            if (rows >= max_rows or characters >= _MOST_CHARACTERS) and block < blocks_of(file, index):
                hunk["rows"].append(
                    {"kind": "gap", "old": None, "new": None, "parts": [], "note": "more lines of it follow"}
                )
                return found, index + block * count
        block = 0
    return found, None


def _length(row: Row) -> int:
    """Return about how many characters a row has in JSON."""
    pieces = [*row["parts"], *row.get("new_parts", ()), *(part for cell in row.get("cells", ()) for part in cell)]
    return sum(len(part["t"]) + 20 for part in pieces)


def _hunk(file: File, index: int) -> dict[str, Any]:
    hunk = file.texts.hunks[index]
    return {
        "index": index,
        "kind": hunk_kind(file, index),
        "old_start": hunk.start + 1,
        "old_lines": hunk.end - hunk.start,
        "new_start": hunk.new_start + 1,
        "new_lines": hunk.new_end - hunk.new_start,
        "state": "made",
        "rows": [],
    }
