"""The files of proposals: one with the steps, and one with the decision. Written whole or not at all, read with care.

The records are the journal's, but each file's bytes are stored whole: they are read from there when they are needed, so that
a proposal that is kept in memory holds no text.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
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
from vaultwire.vault.changes.journal_segments import sync_folder
from vaultwire.vault.disk.file_operations import remove_quietly, replace_file, sync_file
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS, Stages

Kind: TypeAlias = Literal["write", "diff"]
State: TypeAlias = Literal["waiting", "accepted", "refused", "withdrawn"]

PREFIX, DECIDED, TEMPORARY = "proposal-", ".decision", ".part"
_OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_STATES = ("accepted", "refused", "withdrawn")


class Proposal(NamedTuple):
    """A change that waits for the person, or has waited.

    ``kind``: "write" is a call that the policy holds, "diff" one that an editor shows. ``steps`` have the bytes it was made
    from, and those it would write. ``label``: the asker's name for it. ``outside`` is the path of a file outside the vault,
    which only an editor can propose; such a proposal is made of one write to a path of that name. ``change`` is the change
    that it became, ``is_edited`` says that the person changed it first; of a diff, ``edited_text`` is what they made of it.
    ``undoes`` are the changes that it would undo.
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
    undoes: tuple[int, ...] = ()
    edited_text: str | None = None


class DamagedProposal(Exception):  # noqa: N818 - names what was found
    """A file of a proposal that cannot be read, or is not what was written."""


def write_proposal(path: str, proposal: Proposal) -> None:
    """Write a proposal, synced to disk. Under the store's lock. Raises OSError, and VaultError if a note's bytes are gone."""
    head = frame({"kind": "proposal", "as": proposal.kind, "label": proposal.label, "outside": proposal.outside})
    intent = Intent(
        proposal.id,
        "",
        proposal.time_ns,
        proposal.author,
        proposal.undoes,
        proposal.steps,
        tuple(PriorState(paths_of(step)[0]) for step in proposal.steps),
        new_folders=(),
        removed_folders=(),
    )
    _put(path, [head], to_records(intent, Stages(NO_PROGRESS), whole=True))


def write_decision(path: str, fields: dict[str, Any]) -> None:
    """Write a decision, synced to disk. Under the store's lock. Raises OSError."""
    _put(path, [json.dumps(fields).encode()], ())


def _put(path: str, first: Sequence[bytes], rest: Iterable[bytes]) -> None:
    """Write a file under a temporary name, then give it its own: no file system needs more than a rename for that."""
    temporary = f"{path}.{os.urandom(4).hex()}{TEMPORARY}"
    try:
        with os.fdopen(os.open(temporary, _OPEN_NEW, 0o600), "wb") as file:
            for record in (*first, *rest):
                file.write(record)
            file.flush()
            sync_file(file.fileno())
        replace_file(temporary, path)
    except (OSError, VaultError):
        remove_quietly(temporary)
        raise
    sync_folder(os.path.dirname(path))


def read_proposal(path: str) -> Proposal | None:
    """Return the proposal in a file, None if there is no file. Raises DamagedProposal."""
    try:
        records = _read_records(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise DamagedProposal(str(error)) from error
    try:
        head = records[0].header
        intent = parse_intent(records[1:]) if head["kind"] == "proposal" else None
        if intent is not None:
            return Proposal(
                intent.id,
                intent.time_ns,
                head["as"],
                intent.author,
                head["label"],
                intent.steps,
                outside=head["outside"],
                undoes=intent.undoes,
            )
    except (LookupError, ValueError, TypeError) as error:
        raise DamagedProposal(str(error)) from error
    raise DamagedProposal("no proposal")


def _read_records(path: str) -> list[Recorded]:
    records: list[Recorded] = []
    with open(path, "rb") as file:
        while data := file.read(PREFIX_SIZE):
            prefix = parse_prefix(data)
            header = None if prefix is None else parse_header(prefix, file.read(prefix.header))
            if prefix is None or header is None:
                raise DamagedProposal("a torn record")
            start = file.tell()
            payload = file.read(prefix.payload)
            if not is_whole(header, payload):
                raise DamagedProposal("damaged bytes")
            # The bytes stay on the disk; the steps name their places there.
            records.append(Recorded(header, b"", path, start))
    return records


def read_decision(path: str) -> dict[str, Any] | None:
    """Return the fields of a decision, None if there is none. A damaged one is a refusal: nothing is written because of it."""
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        _STATES.index(found["state"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, LookupError, TypeError):
        return {"state": "refused", "reason": "The record of the decision cannot be read."}
    known = ("state", "reason", "change", "is_edited", "edited_text", "decided_ns")
    return {name: found[name] for name in known if name in found}
