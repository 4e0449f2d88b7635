"""The proposals of one vault: changes that wait for the person. On disk, so that any process can make and decide them.

A proposal is two files: one with its steps, written before its asker is answered, and one with the decision. Whoever creates
the second file first has decided: no proposal is decided twice, also not by two processes.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Hashable, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from vaultwire.vault.changes.change import Author, Intent, PriorState, Step, paths_of
from vaultwire.vault.changes.journal_records import (
    PREFIX_SIZE,
    Recorded,
    frame,
    is_whole,
    parse_header,
    parse_intent,
    parse_prefix,
    to_records,
)
from vaultwire.vault.disk.file_operations import sync_file
from vaultwire.vault.value_types import NO_PROGRESS, Stages

Kind: TypeAlias = Literal["write", "diff"]
State: TypeAlias = Literal["waiting", "accepted", "refused", "withdrawn"]

_PREFIX, _DECIDED, _TEMPORARY = "proposal-", ".decision", ".part"
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Proposal(NamedTuple):
    """A change that waits for the person, or has waited.

    ``kind``: "write" is a call that the policy holds, "diff" one that an editor shows. ``steps`` have the bytes it was made
    from, and those it would write. ``label``: the asker's name for it. ``outside`` is the path of a file outside the vault,
    which only an editor can propose; such a proposal is made of one write to a path of that name. ``change`` is the change
    that it became, ``is_edited`` says that the person changed it first; of a diff, ``edited_text`` is what they made of it.
    """

    id: int
    time_ns: int
    kind: Kind
    author: Author
    label: str
    steps: tuple[Step, ...]
    state: State = "waiting"
    reason: str = ""
    change: int | None = None
    is_edited: bool = False
    decided_ns: int = 0
    outside: str = ""
    edited_text: str | None = None


class ProposalStore:
    """The proposals in one folder, which need not exist yet. Safe to use from several threads and processes."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._known: dict[int, Proposal] = {}

    def add(self, kind: Kind, author: Author, steps: Sequence[Step], label: str = "", outside: str = "") -> Proposal:
        """Add a proposal; it is on the disk when this returns. Raises OSError."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        number = max(self._numbers(), default=0) + 1
        while True:
            temporary = f"{self._path(number)}.{os.urandom(4).hex()}{_TEMPORARY}"
            proposal = Proposal(number, time.time_ns(), kind, author, label, tuple(steps), outside=outside)
            descriptor = os.open(temporary, _OPEN_NEW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                for record in _to_records(proposal):
                    file.write(record)
                file.flush()
                sync_file(file.fileno())
            try:
                os.link(temporary, self._path(number))  # never onto another process's proposal
            except FileExistsError:
                number += 1
                continue
            finally:
                os.unlink(temporary)
            return self.get(number) or proposal

    def all(self) -> list[Proposal]:
        """Return the proposals, the oldest first. Those that are decided are not read again. Raises OSError."""
        return [found for number in self._numbers() if (found := self.get(number)) is not None]

    def get(self, number: int) -> Proposal | None:
        """Return one proposal, None if there is none of this number."""
        known = self._known.get(number)
        if known is None:
            known = _read(self._path(number))
            if known is None:
                return None
            self._known[number] = known
        if known.state == "waiting":
            decided = self._decision(number)
            if decided is not None:
                known = self._known[number] = known._replace(**decided)
        return known

    def decide(
        self,
        number: int,
        state: State,
        *,
        reason: str = "",
        change: int | None = None,
        is_edited: bool = False,
        edited_text: str | None = None,
    ) -> bool:
        """Decide a proposal; False if it is decided already, or gone. Raises OSError."""
        if self.get(number) is None:
            return False
        fields = {
            "state": state,
            "reason": reason,
            "change": change,
            "is_edited": is_edited,
            "edited_text": edited_text,
            "decided_ns": time.time_ns(),
        }
        temporary = f"{self._path(number)}.{os.urandom(4).hex()}{_TEMPORARY}"
        with os.fdopen(os.open(temporary, _OPEN_NEW, 0o600), "wb") as file:
            file.write(json.dumps(fields).encode())
            file.flush()
            sync_file(file.fileno())
        try:
            os.link(temporary, self._path(number) + _DECIDED)
        except FileExistsError:
            return False
        finally:
            os.unlink(temporary)
        return True

    def stamp(self) -> Hashable:
        """Return a value that differs once a proposal was added or decided, by any process."""
        try:
            return os.stat(self._folder).st_mtime_ns, len(os.listdir(self._folder))
        except FileNotFoundError:
            return None

    def _numbers(self) -> list[int]:
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        found = (name.removeprefix(_PREFIX) for name in names if name.startswith(_PREFIX))
        return sorted(int(digits) for digits in found if digits.isdecimal())

    def _decision(self, number: int) -> dict[str, Any] | None:
        try:
            with open(self._path(number) + _DECIDED, encoding="utf-8") as file:
                found: dict[str, Any] = json.load(file)
        except FileNotFoundError:
            return None
        return found

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"{_PREFIX}{number:08d}")


def _to_records(proposal: Proposal) -> list[bytes]:
    header = {
        "kind": "proposal",
        "as": proposal.kind,
        "label": proposal.label,
        "outside": proposal.outside,
    }
    priors = tuple(PriorState(paths_of(step)[0]) for step in proposal.steps)
    intent = Intent(
        proposal.id,
        "",
        proposal.time_ns,
        proposal.author,
        (),
        proposal.steps,
        priors,
        new_folders=(),
        removed_folders=(),
    )
    return [frame(header), *to_records(intent, Stages(NO_PROGRESS))]


def _read(path: str) -> Proposal | None:
    """Return the proposal in a file, with contents that are read from there when they are needed; None for no proposal."""
    records: list[Recorded] = []
    try:
        with open(path, "rb") as file:
            while True:
                prefix = parse_prefix(file.read(PREFIX_SIZE))
                header = None if prefix is None else parse_header(prefix, file.read(prefix.header))
                if prefix is None or header is None:
                    break
                start = file.tell()
                payload = file.read(prefix.payload)
                if not is_whole(header, payload):
                    return None
                records.append(Recorded(header, payload, path, start))
    except FileNotFoundError:
        return None
    if not records or records[0].header["kind"] != "proposal":
        return None
    head = records[0].header
    intent = parse_intent(records[1:])
    if intent is None:
        return None
    return Proposal(
        intent.id, intent.time_ns, head["as"], intent.author, head["label"], intent.steps, outside=head["outside"]
    )
