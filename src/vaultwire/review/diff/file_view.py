"""The view of one file's difference, as a dict that becomes JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from vaultwire.review.diff.hunks import Texts, context_around, texts_of
from vaultwire.vault.disk.note_text import plain_text
from vaultwire.vault.media_types import kind_of

Resolve = Callable[[str, str], str | None]
"""Where a link leads: its linktext and the path of the note that has it → the path of a file, None if it leads nowhere."""


def file_diff(
    path: str,
    before: bytes | None,
    after: bytes | None,
    *,
    resolve: Resolve | None = None,  # noqa: ARG001
    first_hunk: int = 0,
    max_rows: int = 2000,
    target: str | None = None,
) -> dict[str, Any]:
    """Return the difference of a file before and after; None stands for a file that is not there.

    ``target`` is the new path of a file that was moved. Hunks are given from ``first_hunk`` on until ``max_rows`` rows are
    reached; ``next_hunk`` tells where to go on. The caller sets ``index``, ``rewritten_links`` and the state of each hunk.
    """
    texts = texts_of(plain_text(before or b""), plain_text(after or b""))
    view: dict[str, Any] = {
        "index": 0,
        "action": _action(before, after, target),
        "path": path,
        "to": target,
        "kind": _kind(target or path, before, after),
        "is_new": before is None and target is None,
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
    if view["kind"] in ("image", "binary"):
        return view
    view["added"] = sum(hunk.new_end - hunk.new_start for hunk in texts.hunks)
    view["removed"] = sum(hunk.end - hunk.start for hunk in texts.hunks)
    view["hunk_count"] = len(texts.hunks)
    rows = 0
    for index in range(first_hunk, len(texts.hunks)):
        if rows >= max_rows:
            view["next_hunk"] = index
            break
        hunk = _hunk(texts, index)
        rows += len(hunk["rows"])
        view["hunks"].append(hunk)
    return view


def _action(before: bytes | None, after: bytes | None, target: str | None) -> str:
    if target is not None:
        return "move"
    return "create" if before is None else "remove" if after is None else "edit"


def _kind(path: str, before: bytes | None, after: bytes | None) -> str:
    kind = kind_of(path)
    if kind == "image":
        return "image"
    if any(data is not None and b"\0" in data for data in (before, after)):
        return "binary"
    if kind == "canvas":
        return "canvas"
    return "note" if path.lower().endswith(".md") else "text"


def _hunk(texts: Texts, index: int) -> dict[str, Any]:
    hunk = texts.hunks[index]
    above, below = context_around(texts.hunks, index, len(texts.old))
    rows = [
        _row("same", hunk.start - each, hunk.new_start - each, texts.old[hunk.start - each])
        for each in range(above, 0, -1)
    ]
    rows += [_row("removed", place, None, texts.old[place]) for place in range(hunk.start, hunk.end)]
    rows += [_row("added", None, place, texts.new[place]) for place in range(hunk.new_start, hunk.new_end)]
    rows += [_row("same", hunk.end + each, hunk.new_end + each, texts.old[hunk.end + each]) for each in range(below)]
    return {
        "index": index,
        "kind": "text",
        "old_start": hunk.start + 1,
        "old_lines": hunk.end - hunk.start,
        "new_start": hunk.new_start + 1,
        "new_lines": hunk.new_end - hunk.new_start,
        "state": "made",
        "rows": rows,
    }


def _row(kind: str, old: int | None, new: int | None, text: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "old": None if old is None else old + 1,
        "new": None if new is None else new + 1,
        "parts": [{"t": text, "op": {"same": "=", "removed": "-", "added": "+"}[kind]}],
    }
