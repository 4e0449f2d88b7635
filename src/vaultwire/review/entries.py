"""One entry of the list: a change, a proposal, or a proposal with the change that it became; its state, its words, its dict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from vaultwire.review.diff.characters import visible
from vaultwire.vault.changes.change import Author, Change, FileChange, files_of
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.holding.decisions import Decision, DecisionLog
from vaultwire.vault.holding.proposals import Proposal

# What the person has decided about changes, as the log of decisions says: which are kept, and which parts were undone.


class UndonePart(NamedTuple):
    """A part of a change that was undone, by another change: one file, or one hunk of it."""

    file: int
    hunk: int | None
    by: int


class Kept:
    """Which parts of one change are kept. A later decision about a larger part replaces those about its parts."""

    def __init__(self) -> None:
        self._whole = False
        self._parts: dict[tuple[int, int | None], bool] = {}

    def set(self, file: int | None, hunk: int | None, *, is_kept: bool) -> None:
        """Keep a part, or keep it no longer; ``file`` None: all of the change."""
        if file is None:
            self._whole = is_kept
            self._parts.clear()
            return
        if hunk is None:
            self._parts = {part: kept for part, kept in self._parts.items() if part[0] != file}
        self._parts[file, hunk] = is_kept

    def has(self, file: int, hunk: int | None) -> bool:
        """Tell whether a part is kept."""
        return self._parts.get((file, hunk), self._parts.get((file, None), self._whole))

    @property
    def is_whole(self) -> bool:
        """Whether all of the change is kept."""
        return self._whole and all(self._parts.values())


class Marks:
    """The decisions of one vault, read on as they are added. For one thread at a time."""

    def __init__(self, log: DecisionLog) -> None:
        self._log = log
        self._position = 0
        self._kept: dict[int, Kept] = defaultdict(Kept)
        self._undone: dict[int, list[UndonePart]] = {}
        self._of_part: dict[int, int] = {}

    def read_on(self) -> set[int]:
        """Read the decisions that were added, and return the changes that they concern. Raises OSError."""
        found, self._position = self._log.since(self._position)
        for decision in found:
            self._add(decision)
        return {each.change for each in found if each.change is not None}

    def _add(self, decision: Decision) -> None:
        if decision.change is None:
            return
        if decision.kind in ("kept", "unkept"):
            self._kept[decision.change].set(decision.file, decision.hunk, is_kept=decision.kind == "kept")
        elif decision.kind == "undone" and decision.file is not None and decision.by is not None:
            part = UndonePart(decision.file, decision.hunk, decision.by)
            self._undone.setdefault(decision.change, []).append(part)
            self._of_part[decision.by] = decision.change

    def kept(self, change: int) -> Kept:
        """Return which parts of a change are kept."""
        return self._kept.get(change) or Kept()

    def undone(self, change: int) -> list[UndonePart]:
        """Return the parts of a change that were undone, whether their undo still holds or not."""
        return self._undone.get(change, [])

    def undid_part_of(self, change: int) -> int | None:
        """Return the change of which this one undid a part, None if it did not."""
        return self._of_part.get(change)


# Changes and proposals in plain words.

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


PERSON, DESK = "you", "desk"
"""The client and the tool that the journal names for what the person does at the desk."""

_MAX_FILES, _MAX_ID = 20, 20
_KINDS = {"write": "held", "diff": "diff"}
_LETTERS = {"c": "change", "p": "proposal"}


class Entry(NamedTuple):
    """A change, a proposal, or both. ``parts`` were undone, and their undo holds. ``undid_part_of``: a change."""

    change: Change | None
    proposal: Proposal | None
    parts: tuple[UndonePart, ...] = ()
    is_kept: bool = False
    undid_part_of: int | None = None

    @property
    def id(self) -> str:
        """The item's id. A proposal keeps its own when it is accepted, so that it stays where it is in the list."""
        return f"p{self.proposal.id}" if self.proposal is not None else f"c{self.change.id if self.change else 0}"

    @property
    def key(self) -> tuple[int, int]:
        """Where it is in the list, the oldest first."""
        if self.proposal is not None:
            return self.proposal.time_ns, -self.proposal.id
        return (self.change.time_ns, self.change.id) if self.change is not None else (0, 0)

    @property
    def author(self) -> Author:
        """Who asked for it."""
        return (self.proposal or self.change).author  # type: ignore[union-attr]  # one of them is there

    @property
    def files(self) -> tuple[FileChange, ...]:
        """What it does to each file."""
        if self.change is not None:
            return self.change.files
        return files_of(self.proposal.steps) if self.proposal is not None else ()

    @property
    def kind(self) -> str:
        """Its kind in the list."""
        return "change" if self.proposal is None else _KINDS[self.proposal.kind]

    @property
    def state(self) -> str:
        """Its state; whether a proposal is stale, the disk tells."""
        if self.change is not None:
            if self.change.undone_by is not None:
                return "undone"
            if self.parts:
                return "undone in part"
            if self.change.unrestored:
                return "made"
        if self.proposal is None:
            return "made"
        if self.change is not None and self.proposal.state == "waiting":
            return "accepted"  # its change is on record, and a kill came before the decision was
        if self.proposal.state == "accepted" and self.proposal.is_edited:
            return "accepted as edited"
        return self.proposal.state

    @property
    def waits(self) -> bool:
        """Whether it waits for the person."""
        return self.change is None and self.proposal is not None and self.proposal.state == "waiting"

    @property
    def is_reviewed(self) -> bool:
        """Whether the person has decided about all of it, or made it."""
        if self.proposal is not None:
            return not self.waits
        return self.is_kept or self.state == "undone" or is_by_person(self.author)


def is_by_person(author: Author) -> bool:
    """Tell whether the person did it at the desk. A client can choose any name, but no tool of this name."""
    return author.client == PERSON and author.tool == DESK


def entry_of(change: Change, proposal: Proposal | None, marks: Marks, holds: Callable[[int], bool]) -> Entry:
    """Return the entry of a change. ``holds`` tells whether a change is on record and not undone."""
    parts = tuple(part for part in marks.undone(change.id) if holds(part.by))
    return Entry(change, proposal, parts, marks.kept(change.id).is_whole, marks.undid_part_of(change.id))


def item_of(entry: Entry, vault: str, *, is_stale: bool) -> dict[str, Any]:
    """Return the dict of an entry, without its bytes."""
    change, proposal, files = entry.change, entry.proposal, entry.files
    words = summary(files, is_wish=change is None)
    if change is not None and change.undoes:
        named = ", ".join(map(str, change.undoes))
        words = f"undid change{'s' if len(change.undoes) > 1 else ''} {named}: {words}"
    elif entry.undid_part_of is not None:
        words = f"undid a part of change {entry.undid_part_of}: {words}"
    return {
        "id": entry.id,
        "vault": vault,
        "time": moment(entry.key[0]),
        "kind": entry.kind,
        "client": entry.author.client,
        "session": entry.author.session,
        "tool": entry.author.tool,
        "label": proposal.label if proposal is not None else "",
        "state": "stale" if is_stale else entry.state,
        "is_reviewed": entry.is_reviewed,
        "undoes": [f"c{each}" for each in (change or proposal).undoes],  # type: ignore[union-attr]  # one is there
        "undone_by": change.undone_by if change is not None else None,
        "change": change.id if change is not None and proposal is not None else None,
        "reason": proposal.reason if proposal is not None else "",
        "summary": words,
        "files": [_file(file) for file in files[:_MAX_FILES]],
        "file_count": len(files),
    }


def _file(file: FileChange) -> dict[str, Any]:
    return {"action": file.kind, "path": file.path, "to": file.target}


def parse_id(text: object) -> tuple[str, int]:
    """Return "c" or "p", and the number. Raises VaultError (INVALID_ARGUMENTS)."""
    if isinstance(text, str) and text[:1] in _LETTERS and text[1:].isascii() and text[1:].isdecimal():
        if len(text) <= _MAX_ID:  # Python refuses to read numbers of thousands of digits
            return text[0], int(text[1:])
        text = f"{text[:_MAX_ID]}…"
    raise VaultError(
        INVALID_ARGUMENTS, f"{text!r} is no id: give 'c57' for change 57, 'p12' for proposal 12.", argument="id"
    )


def not_there(id_: str) -> VaultError:
    """Return the error for an id that nothing has."""
    letter, number = parse_id(id_)
    return VaultError(FILE_NOT_FOUND, f"There is no {_LETTERS[letter]} {number} on record.", id=number)
