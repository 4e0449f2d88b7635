"""Takes over the records of earlier versions, which had files of their own for changes, proposals and decisions.

Each file is removed once its records are in the store, synced to disk; a take-over that is killed goes on with the next file.
A file with damage is kept, as ``damaged-…``. It may happen again: an older version may run meanwhile. Where it gave a number
that is taken by now, its record gets the next one.

A record of a change was a mark, two lengths and a checksum, then a line of JSON (the header), then the files' bytes (the
payload). A change of many files had several records: parts, then the intent, which made it a change.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext, suppress
from typing import Any, BinaryIO, NamedTuple

from vaultwire.vault.changes.journal import (
    BEGUN,
    DONE,
    OPEN,
    READY,
    ROLLED_BACK,
    UNDONE,
    StepWriter,
    add_change,
    add_proposal,
    change_owner,
    proposal_owner,
)
from vaultwire.vault.changes.record_store import RecordStore, Transaction
from vaultwire.vault.disk.file_operations import remove_quietly

_SEGMENT = "changes.v2."
_PROPOSALS = os.path.join("review", "proposals")
_DECISIONS = os.path.join("review", "decisions.jsonl")
_PROPOSAL, _DECISION = "proposal-", ".decision"
_MARK = b"\nVW1"
_PREFIX = struct.Struct(">4sIQ8s")  # mark, length of the header, length of the payload, checksum of lengths and header
# No header is longer. A torn length must not cause gigabytes to be read.
_MAX_HEADER = 1 << 28
_STATES = {"ready": READY, "back": ROLLED_BACK, "done": DONE, "undone": UNDONE}


def has_old_files(folder: str) -> bool:
    """Tell whether an older version has recorded anything. Raises OSError."""
    return bool(_segments(folder) or _proposals(folder) or os.path.exists(os.path.join(folder, _DECISIONS)))


def count_old_changes(folder: str) -> int:
    """Return how many changes are recorded in old files. Raises OSError."""
    records = (record for name in _segments(folder) for record in _Records(os.path.join(folder, name)))
    return sum(record.kind == "intent" for record in records)


def take_over(folder: str, store: RecordStore) -> None:
    """Take over all old records, under the vault's lock. Raises OSError."""
    if has_old_files(folder):
        _TakeOver(folder, store).run()


def _segments(folder: str) -> list[str]:
    return sorted(name for name in _names(folder) if name.startswith(_SEGMENT) and name[len(_SEGMENT) :].isdecimal())


def _proposals(folder: str) -> list[str]:
    names = _names(os.path.join(folder, _PROPOSALS))
    return sorted(name for name in names if name.startswith(_PROPOSAL) and name[len(_PROPOSAL) :].isdecimal())


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


class _Record(NamedTuple):
    """A whole record. ``payload`` is None if its bytes are not those that were written."""

    header: dict[str, Any]
    payload: bytes | None

    @property
    def kind(self) -> str:
        kind: str = self.header["kind"]
        return kind


class _Records:
    """The records in one file, without damaged ones and half a record at the end."""

    def __init__(self, path: str, start: int = 0) -> None:
        self._path = path
        self._start = start
        self.size = 0
        self.is_damaged = False  # half a record at the end is no damage

    def __iter__(self) -> Iterator[_Record]:
        last = 0
        with open(self._path, "rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            position = self._start
            while position < self.size:
                record_and_end = self._record_at(file, position)
                if record_and_end is None:
                    position = self._next_mark(file, position, last)
                    continue
                record, position = record_and_end
                last = max(last, _number(record))
                yield record

    def _record_at(self, file: BinaryIO, position: int) -> tuple[_Record, int] | None:
        """Return the whole record that begins at a position, and the position after it; None if there is none."""
        file.seek(position)
        prefix = file.read(_PREFIX.size)
        if len(prefix) < _PREFIX.size:
            return None
        mark, length, payload, checksum = _PREFIX.unpack(prefix)
        end = position + _PREFIX.size + length + payload
        if mark != _MARK or not 0 < length <= _MAX_HEADER or end > self.size:
            return None
        line = file.read(length)
        if hashlib.blake2b(line + payload.to_bytes(8, "big"), digest_size=8).digest() != checksum:
            return None
        header = json.loads(line)
        data = file.read(payload)
        is_whole = header["sum"] == hashlib.blake2b(data, digest_size=8).hexdigest()
        return _Record(header, data if is_whole else None), end

    def _next_mark(self, file: BinaryIO, position: int, last: int) -> int:
        """Return the position of the next whole record after a broken one, the end of the file if there is none.

        Its number is not lower than those before: the bytes of a note may look like a record as well.
        """
        file.seek(position)
        rest = file.read()
        at = rest.find(_MARK, 1)
        while at >= 0:
            record_and_end = self._record_at(file, position + at)
            if record_and_end is not None and _number(record_and_end[0]) >= last:
                self.is_damaged = True
                return position + at
            at = rest.find(_MARK, at + 1)
        # A kill leaves the beginning of one record, a power cut that or zeros; anything else is damage.
        prefix = rest[: _PREFIX.size].ljust(_PREFIX.size, b"\0")
        mark, header, payload, _ = _PREFIX.unpack(prefix)
        is_cut = len(rest) < _PREFIX.size + (header + payload if mark == _MARK else 0)
        if not is_cut and rest.strip(b"\0"):
            self.is_damaged = True
        return self.size


def _number(record: _Record) -> int:
    """Return the number of a record's change, or of the last change before the file."""
    number: int = record.header.get("id") or record.header.get("last") or 0
    return number


class _TakeOver:
    def __init__(self, folder: str, store: RecordStore) -> None:
        self._folder = folder
        self._store = store
        self._changes: dict[int, int] = {}  # the numbers that they get, where those they had are taken
        self._proposals: dict[int, int] = {}
        self._taken: list[int] = []  # the changes, by their new numbers

    def run(self) -> None:
        last = self._store.last_number("proposals")
        for number in (int(name[len(_PROPOSAL) :]) for name in _proposals(self._folder)):
            last = max(last + 1, number)
            self._proposals[number] = last
        self._take_segments()
        self._take_proposals()
        self._take_decisions()

    def _start(self, transaction: Transaction, name: str) -> int:
        """Return how much of a file is taken already: a take-over was killed before the file was removed."""
        row = transaction.execute("SELECT size FROM taken_over WHERE name = ?", (name,)).fetchone()
        transaction.execute(
            "INSERT OR REPLACE INTO taken_over VALUES (?, ?)", (name, os.stat(self._path(name)).st_size)
        )
        return int(row[0]) if row else 0

    def _path(self, name: str) -> str:
        return os.path.join(self._folder, name)

    def _remove(self, names: Iterable[str], damaged: Sequence[str] = ()) -> None:
        for name in names:
            if name in damaged:
                os.replace(self._path(name), self._path(f"damaged-{os.path.basename(name)}"))
            else:
                remove_quietly(self._path(name))
        with self._store.writing(sync=False) as transaction:
            transaction.executemany("DELETE FROM taken_over WHERE name = ?", [(name,) for name in names])

    # ------------------------------------------------------------------ changes

    def _take_segments(self) -> None:
        names = _segments(self._folder)
        for name in names:
            with self._store.writing() as transaction:
                records = _Records(self._path(name), self._start(transaction, name))
                is_broken = self._take_records(transaction, records)
                if name == names[-1]:
                    self._end(transaction, is_lost=records.is_damaged)
            self._remove([name], [name] if is_broken or records.is_damaged else [])

    def _take_records(self, transaction: Transaction, records: _Records) -> bool:
        """Take the records of one file; return whether the bytes of a change are damaged."""
        parts: list[_Record] = []
        is_broken = False
        for record in records:
            if record.kind == "segment":
                last = max(record.header["last"], record.header.get("taken", 0))
                self._store.use_up(transaction, "changes", last)
            elif record.kind in ("part", "intent"):
                parts.append(record)
            else:
                self._set_state(transaction, record)
            if record.kind == "intent":
                is_broken = not self._take_change(transaction, parts) or is_broken
            if record.kind != "part":
                parts = []
        return is_broken

    def _take_change(self, transaction: Transaction, records: list[_Record]) -> bool:
        header = records[-1].header
        number = header["id"]
        is_whole = len(records) == header["parts"] + 1 and all(
            each.payload is not None and each.header["id"] == number for each in records
        )
        last = self._store.last_number("changes")
        if number <= last:
            self._changes[number] = number = last + 1
        if not is_whole:
            self._store.use_up(transaction, "changes", number)
            return False
        steps = self._take_steps(transaction, change_owner(number), records)
        proposal = header.get("proposal", 0)
        fields = {
            **self._origin(header),
            "token": header["token"],
            "made": header["made"],
            "emptied": header["emptied"],
            "files": [_file(each) for record in records for each in record.header["steps"]],
        }
        proposal = self._proposals.get(proposal, proposal)
        add_change(transaction, (number, header["time"], proposal), BEGUN, fields, steps)
        self._taken.append(number)
        return True

    def _origin(self, header: dict[str, Any]) -> dict[str, Any]:
        """Return who made a change or a proposal, and which changes it undoes."""
        undoes = () if header["undoes"] is None else (header["undoes"], *header.get("undoes_also", ()))
        return {
            "author": (*header["author"], header.get("session", "")),
            "undoes": [self._changes.get(number, number) for number in undoes],
        }

    def _take_steps(self, transaction: Transaction, owner: str, records: list[_Record]) -> StepWriter:
        writer = StepWriter(owner, lambda: nullcontext(transaction))
        for record in records:
            payload, position = record.payload or b"", 0
            for fields in record.header["steps"]:
                facts = dict(fields)
                for part in ("content", "before", "after"):
                    if facts.get(part) is None:
                        continue
                    length, is_compressed, *content = facts.pop(part)
                    piece = payload[position : position + length]
                    writer.add_bytes(part, piece, is_compressed=bool(is_compressed))
                    position += length
                    if content:  # else these are only what differs
                        facts[part] = content
                writer.add_facts(facts)
            writer.write(transaction)
        return writer

    def _set_state(self, transaction: Transaction, record: _Record) -> None:
        number = record.header["id"]
        values = _STATES[record.kind], json.dumps(record.header.get("left", [])), self._changes.get(number, number)
        transaction.execute("UPDATE changes SET state = ?, unrestored = ? WHERE id = ?", values)

    def _end(self, transaction: Transaction, *, is_lost: bool) -> None:
        """Only the last change can be open. What an ending of another one said cannot be read: most likely it was made."""
        for number in self._taken if is_lost else self._taken[:-1]:
            transaction.execute(f"UPDATE changes SET state = '{DONE}' WHERE id = ? AND state IN {OPEN}", (number,))

    # ------------------------------------------------------------------ proposals and decisions

    def _take_proposals(self) -> None:
        names = [os.path.join(_PROPOSALS, name) for name in _proposals(self._folder)]
        if names:
            with self._store.writing() as transaction:
                damaged = [
                    name
                    for name in names
                    if not self._start(transaction, name) and not self._take_proposal(transaction, name)
                ]
            self._remove(names, damaged)
        place = self._path(_PROPOSALS)
        for name in _names(place):
            remove_quietly(os.path.join(place, name))
        with suppress(OSError):
            os.rmdir(place)

    def _take_proposal(self, transaction: Transaction, name: str) -> bool:
        records = _Records(self._path(name))
        head, *steps = [*records] or [None]
        if head is None or head.kind != "proposal" or not steps or any(each.payload is None for each in steps):
            return False
        header = steps[-1].header
        if header["kind"] != "intent" or header["parts"] != len(steps) - 1 or records.is_damaged:
            return False
        number = self._proposals[header["id"]]
        fields = {
            **self._origin(header),
            "kind": head.header["as"],
            "label": head.header["label"],
            "outside": head.header["outside"],
        }
        writer = self._take_steps(transaction, proposal_owner(number), steps)
        add_proposal(transaction, (number, header["time"], header["author"][0]), fields, writer)
        try:
            with open(self._path(name + _DECISION), encoding="utf-8") as file:
                decision = json.load(file)
            state, decided_ns = decision.pop("state"), decision.pop("decided_ns")
            change = decision.get("change")
            decision["change"] = self._changes.get(change, change)
        except FileNotFoundError:
            return True
        except (
            OSError,
            ValueError,
            LookupError,
            TypeError,
            AttributeError,
        ):  # it was decided: nothing is written for it
            state, decided_ns, decision = "refused", 0, {"reason": "The record of the decision cannot be read."}
        sql = "UPDATE proposals SET state = ?, decided_ns = ?, decision = ? WHERE id = ?"
        transaction.execute(sql, (state, decided_ns, json.dumps(decision), number))
        return True

    def _take_decisions(self) -> None:
        path = self._path(_DECISIONS)
        if not os.path.exists(path):
            return
        with self._store.writing() as transaction:
            start = self._start(transaction, _DECISIONS)
            with open(path, "rb") as file:
                data = file.read()
            position, ends = start, list[int]()  # where in the file the decisions end, for what clients were told
            first = self._store.last_number("decisions")
            for line in data[start:].splitlines(keepends=True):
                position += len(line)
                try:
                    fields = json.loads(line)
                    if fields["kind"] == "told":
                        fields["text"] = str(first + sum(end <= int(fields["text"]) for end in ends))
                    fields["change"] = self._changes.get(fields["change"], fields["change"])
                    fields["by"] = self._changes.get(fields["by"], fields["by"])
                    fields["proposal"] = self._proposals.get(fields["proposal"], fields["proposal"])
                except (ValueError, LookupError, TypeError):  # empty, or torn by a kill
                    continue
                transaction.execute("INSERT INTO decisions (fields) VALUES (?)", (json.dumps(fields),))
                ends.append(position)
        self._remove([_DECISIONS])


def _file(fields: dict[str, Any]) -> tuple[str, str, str | None]:
    if "move" in fields:
        return "move", fields["move"], fields["to"]
    kind = "create" if fields["before"] is None else "remove" if fields["after"] is None else "edit"
    return kind, fields["write"], None
