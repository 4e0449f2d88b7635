"""Changes and proposals in plain words."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from vaultwire.review.diff.parts import visible
from vaultwire.vault.changes.change import FileChange
from vaultwire.vault.disk.paths import TRASH, lies_in

_DONE = {"create": "created", "edit": "edited", "remove": "removed", "move": "moved"}
_WANTED = {"create": "create", "edit": "edit", "remove": "remove", "move": "move"}


def moment(time_ns: int) -> str:
    """Return a time as ISO 8601 with the person's time zone."""
    return datetime.fromtimestamp(time_ns / 1_000_000_000).astimezone().isoformat(timespec="seconds")


def summary(files: Sequence[FileChange], *, is_wish: bool = False) -> str:
    """Return what a change did to its files: "edited Plan.md and 2 more". ``is_wish``: what a proposal would do."""
    if not files:
        return "change nothing" if is_wish else "changed nothing"
    verbs = _WANTED if is_wish else _DONE
    first = files[0]
    words = _one(first, verbs)
    same = sum(_kind(each) == _kind(first) for each in files) - 1
    others = len(files) - 1 - same
    if same:
        words += f" and {same} more"
    if others:
        kinds = {_kind(each) for each in files} - {_kind(first)}
        verb = verbs[kinds.pop()] if len(kinds) == 1 else "changed" if not is_wish else "change"
        words += f", {verb} {counted(others, 'other file' if same == 0 else 'file')}"
    return words


def counted(count: int, noun: str) -> str:
    """Return a number with its noun: "1 file", "2 files"."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _kind(file: FileChange) -> str:
    return "remove" if file.target is not None and lies_in(file.target, TRASH) else file.kind


def _one(file: FileChange, verbs: dict[str, str]) -> str:
    kind = _kind(file)
    if kind == "move":
        return f"{verbs['move']} {visible(file.path)} to {visible(file.target or '')}"
    return f"{verbs[kind]} {visible(file.path)}"
