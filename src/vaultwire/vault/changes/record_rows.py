"""The rows of changes and proposals: what they are, each step of them, and the bytes before and after it.

A row has a sum, so that damage is not taken for a record. The bytes are read from their rows when they are needed. They are
compressed, and of an edit whose old bytes are there, only the part that differs is kept of the new ones.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Any

from vaultwire.vault.changes.change import Move, PriorState, Step, Write
from vaultwire.vault.changes.record_store import RecordsAwayError, RecordStore, Transaction
from vaultwire.vault.disk.contents import Content, Patched, patch_of
from vaultwire.vault.errors import JOURNAL_FAILED, SERVER_BUSY, VaultError
from vaultwire.vault.value_types import VaultPath

# A change of many files is written in several batches, so that neither writing nor reading it takes much memory, and no other
# process waits long.
_BATCH_BYTES, _BATCH_STEPS = 1 << 20, 1000
# Of larger files a sample is compressed first: to compress a picture of 5 MB takes 0.2 s and gains nothing.
_SAMPLE = 1 << 16
_MAX_RATIO = 0.9


class StepWriter:
    """Writes the steps of one owner: ``add`` each, then ``write`` the last ones together with the owner's own row."""

    def __init__(
        self, owner: str, writing: Callable[[], AbstractContextManager[Transaction]], *, whole: bool = False
    ) -> None:
        """``writing``: what a batch is written in. ``whole``: of an edit, too, all new bytes are kept; else what differs."""
        self._owner = owner
        self._writing = writing
        self._whole = whole
        self._steps: list[tuple[str, int, str]] = []
        self._contents: list[tuple[str, int, str, bool, bytes]] = []
        self._digest = _new_digest()
        self._count = self._waiting = self.size = 0

    def add(self, step: Step, prior: PriorState) -> None:
        """Add a step. Raises OSError, and VaultError if the bytes of a note are gone."""
        if self._waiting >= _BATCH_BYTES or len(self._steps) >= _BATCH_STEPS:
            with self._writing() as transaction:
                self.write(transaction)
        facts = self._facts_of_move(step, prior) if isinstance(step, Move) else self._facts_of_write(step, prior)
        self.add_facts(facts)

    def add_facts(self, facts: dict[str, Any]) -> None:
        """Add a step as it is kept, after its ``add_bytes``."""
        line = json.dumps(facts, separators=(",", ":"))
        self._digest.update(line.encode())
        self._steps.append((self._owner, self._count, line))
        self._count += 1
        self.size += len(line)

    def add_bytes(self, part: str, data: bytes, *, is_compressed: bool) -> None:
        """Add bytes of the step whose ``add_facts`` is next."""
        self._contents.append((self._owner, self._count, part, is_compressed, data))
        self._waiting += len(data)
        self.size += len(data)

    def write(self, transaction: Transaction) -> None:
        """Write what is not written yet."""
        if self._count == len(self._steps):  # the first ones; a change that was stopped or killed may have left some
            remove_steps(transaction, [self._owner])
        transaction.executemany("INSERT INTO steps VALUES (?, ?, ?)", self._steps)
        transaction.executemany("INSERT INTO contents VALUES (?, ?, ?, ?, ?)", self._contents)
        self._steps, self._contents, self._waiting = [], [], 0

    @property
    def seal(self) -> list[int | str]:
        """What tells later whether the steps are all there and as they were written."""
        return [self._count, self._digest.hexdigest()]

    def _facts_of_move(self, step: Move, prior: PriorState) -> dict[str, Any]:
        return {
            "move": step.source,
            "to": step.target,
            "content": self._add_content("content", prior.content),
            "inode": prior.inode,
            "names": prior.hard_links,
            "folder": prior.is_folder,
            "fresh": prior.was_free,
        }

    def _facts_of_write(self, step: Write, prior: PriorState) -> dict[str, Any]:
        facts: dict[str, Any] = {
            "write": step.path,
            "before": self._add_content("before", step.old),
            "inode": prior.inode,
            "fresh": prior.was_free,
        }
        if prior.place != step.path:
            facts["at"] = prior.place
        if self._whole or step.old is None or step.new is None:
            return {**facts, "after": self._add_content("after", step.new)}
        # An append to a long note is one line here.
        patch = patch_of(step.old, step.new)
        self._add_data("after", patch.middle)
        return {**facts, "between": [patch.head, patch.tail, step.new.size, step.new.digest.hex()]}

    def _add_content(self, part: str, content: Content | None) -> list[int | str] | None:
        if content is None:
            return None
        self._add_data(part, content.data)
        return [content.size, content.digest.hex()]

    def _add_data(self, part: str, data: bytes) -> None:
        packed = _compressed(data)
        self.add_bytes(part, data if packed is None else packed, is_compressed=packed is not None)


def _compressed(data: bytes) -> bytes | None:
    if len(data) > _SAMPLE and len(zlib.compress(data[:_SAMPLE], 1)) > _SAMPLE * _MAX_RATIO:
        return None
    packed = zlib.compress(data, 1)
    return packed if len(packed) < len(data) else None


def _new_digest() -> hashlib.blake2b:
    return hashlib.blake2b(digest_size=8)


def row_sum(*facts: object) -> bytes:
    """Return the sum of a row."""
    digest = _new_digest()
    digest.update(" ".join(map(str, facts)).encode("utf-8", "surrogatepass"))
    return digest.digest()


def change_owner(number: int) -> str:
    """Return whose steps those of a change are."""
    return f"c{number}"


def proposal_owner(number: int) -> str:
    """Return whose steps those of a proposal are."""
    return f"p{number}"


def add_change(
    transaction: Transaction, facts: tuple[int, int, int], state: str, fields: dict[str, Any], steps: StepWriter
) -> None:
    """Add the row of a change, whose steps are written. ``facts``: its number, its time, the proposal it is made of."""
    header, size = _header(fields, steps)
    row = (*facts, state, "[]", size, header, row_sum(*facts, header))
    transaction.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def add_proposal(
    transaction: Transaction, facts: tuple[int, int, str], fields: dict[str, Any], steps: StepWriter
) -> None:
    """Add the row of a proposal, whose steps are written. ``facts``: its number, its time, its client."""
    header, size = _header(fields, steps)
    row = (*facts, "waiting", 0, size, header, row_sum(*facts, header), "")
    transaction.execute("INSERT INTO proposals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def _header(fields: dict[str, Any], steps: StepWriter) -> tuple[str, int]:
    header = json.dumps({**fields, "steps": steps.seal}, separators=(",", ":"))
    return header, steps.size + len(header)


def remove_steps(transaction: Transaction, owners: Iterable[str]) -> None:
    """Remove the steps of these changes and proposals, with their bytes."""
    for owner in owners:
        transaction.execute("DELETE FROM steps WHERE owner = ?", (owner,))
        transaction.execute("DELETE FROM contents WHERE owner = ?", (owner,))


# ---------------------------------------------------------------------- reading


class InStore:
    """Bytes in a row of the store (``disk.contents.Source``)."""

    __slots__ = ("_number", "_owner", "_part", "_store")

    def __init__(self, store: RecordStore, owner: str, number: int, part: str) -> None:
        self._store = store
        self._owner = owner
        self._number = number
        self._part = part

    def read(self) -> bytes:
        """See ``Source``."""
        try:
            return _bytes_in(self._store, self._owner, self._number, self._part)
        except RecordsAwayError as error:
            # It is asked for before a change and after one. No retryAfter: a second try may double it.
            message = (
                f"The records cannot be read: {error.strerror}. Look before you repeat a change: perhaps it is made."
            )
            raise VaultError(SERVER_BUSY, message) from error
        except OSError as error:
            raise self.damage() from error

    def damage(self) -> VaultError:
        """See ``Source``."""
        return _lost()


def _bytes_in(store: RecordStore, owner: str, number: int, part: str) -> bytes:
    """Return bytes of a step. Raises VaultError if they are damaged, and OSError."""
    sql = "SELECT is_compressed, data FROM contents WHERE owner = ? AND number = ? AND part = ?"
    rows = store.rows(sql, owner, number, part)
    try:
        [(is_compressed, data)] = rows
        return zlib.decompress(data) if is_compressed else bytes(data)
    except (ValueError, TypeError, zlib.error) as error:
        raise _lost() from error


def _lost() -> VaultError:
    return VaultError(JOURNAL_FAILED, "A record of the journal of changes cannot be read any more, or is damaged.")


def read_steps(store: RecordStore, owner: str, seal: list[int | str]) -> list[tuple[Step, PriorState]] | None:
    """Return the steps of an owner, None if one of them is lost or damaged. Raises OSError."""
    lines = [line for (line,) in store.rows("SELECT facts FROM steps WHERE owner = ? ORDER BY number", owner)]
    digest = _new_digest()
    for line in lines:
        digest.update(str(line).encode())
    if [len(lines), digest.hexdigest()] != seal:
        return None
    try:
        return [*_unpacked(store, owner, lines)]
    except VaultError:  # the bytes of an edit
        return None


def _unpacked(store: RecordStore, owner: str, lines: Iterable[str]) -> Iterator[tuple[Step, PriorState]]:
    for number, line in enumerate(lines):
        facts = json.loads(line)

        def content(part: str, entry: list[Any] | None, number: int = number) -> Content | None:
            if entry is None:
                return None
            size, digest = entry
            return Content(InStore(store, owner, number, part), size, bytes.fromhex(digest))

        if "move" in facts:
            source, target = VaultPath(facts["move"]), VaultPath(facts["to"])
            prior = facts["inode"], facts["names"], facts["folder"], facts["fresh"]
            yield Move(source, target), PriorState(source, content("content", facts["content"]), *prior)
            continue
        path = VaultPath(facts["write"])
        before = content("before", facts["before"])
        if "between" in facts and before is not None:
            head, tail, size, digest = facts["between"]
            middle = _bytes_in(store, owner, number, "after")
            after: Content | None = Content(Patched(before, head, tail, middle), size, bytes.fromhex(digest))
        else:
            after = content("after", facts["after"])
        place = VaultPath(facts.get("at", path))
        yield Write(path, before, after), PriorState(place, None, facts["inode"], was_free=facts["fresh"])
