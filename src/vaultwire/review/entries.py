"""One entry of the list: a change, a proposal, or a proposal with the change that it became; and its dict."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from vaultwire.review.marks import Marks, UndonePart
from vaultwire.review.wording import moment, summary
from vaultwire.vault.changes.change import Author, Change, FileChange, files_of
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.holding.proposals import Proposal

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
