"""The journal of one vault, a write-ahead log: the changes that were made, the one that is open, and which a run may see.

One process at a time writes it, under the vault's lock (``changes.executor``). Any process may read it at any time. Its rows
are in the vault's ``RecordStore``.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, suppress
from itertools import accumulate
from typing import Any, NamedTuple

from vaultwire.vault.changes.change import (
    Author,
    Change,
    DetailedChange,
    FileChange,
    Intent,
    Move,
    PriorState,
    Step,
    Write,
    files_of,
    moves_of,
    paths_of,
)
from vaultwire.vault.changes.projected_tree import MovePaths
from vaultwire.vault.changes.record_store import DamagedStoreError, RecordsAwayError, RecordStore, Transaction
from vaultwire.vault.disk.contents import Content, Patched, patch_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import JOURNAL_FAILED, SERVER_BUSY, VaultError
from vaultwire.vault.value_types import Stages, VaultPath
from vaultwire.vault.visibility.visible_files import can_be_private

# The rows of changes and proposals: what they are, each step of them, and the bytes before and after it.
#
# A row has a sum, so that damage is not taken for a record. The bytes are read from their rows when they are needed. They are
# compressed, and of an edit whose old bytes are there, only the part that differs is kept of the new ones.

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
    header, size = _packed_header(fields, steps)
    row = (*facts, state, "[]", size, header, row_sum(*facts, header))
    transaction.execute("INSERT INTO changes VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)


def add_proposal(
    transaction: Transaction, facts: tuple[int, int, str], fields: dict[str, Any], steps: StepWriter
) -> None:
    """Add the row of a proposal, whose steps are written. ``facts``: its number, its time, its client."""
    header, size = _packed_header(fields, steps)
    row = (*facts, "waiting", 0, size, header, row_sum(*facts, header), "")
    transaction.execute("INSERT INTO proposals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)


def _packed_header(fields: dict[str, Any], steps: StepWriter) -> tuple[str, int]:
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


_NS_PER_DAY = 86_400 * 1_000_000_000
# So much is left when the oldest changes are removed because there are too many bytes: not one with each change.
_LEFT = 0.9
# After so much of the free room it is measured again: another process may have written as much meanwhile.
_PART_OF_ROOM = 0.1
# The contents of a change of so few files and bytes stay in memory while it is made and answered.
_HELD_STEPS, _HELD_BYTES = 20, 1 << 20
# States of a change: words, so that a flipped bit makes none of them another one.
BEGUN, READY, ROLLED_BACK, DONE, UNDONE = "begun", "ready", "rolled back", "done", "undone"
OPEN = (BEGUN, READY, ROLLED_BACK)
_SELECT = "SELECT id, time_ns, proposal, state, unrestored, header, sum FROM changes WHERE"


class Retention(NamedTuple):
    """How long changes are kept, and how many bytes of them at most.

    90 days, as long as a person may look for what an assistant did last quarter; 500 MB, some 100,000 edits of notes.
    """

    days: int = 90
    total_bytes: int = 500_000_000

    def oldest_ns(self) -> int:
        """Return the time before which nothing is kept."""
        return time.time_ns() - self.days * _NS_PER_DAY


KEEP = Retention()


class Ending(NamedTuple):
    """How a change ended: done, or undone because it failed or was killed half-way. ``unrestored`` as in ``Change``."""

    is_undone: bool
    unrestored: tuple[VaultPath, ...] = ()


class Journal:
    """The journal in one store. Safe to read from several threads.

    The methods up to ``end`` are for the holder of the vault's lock. All of them raise OSError.
    """

    def __init__(self, store: RecordStore, retention: Retention = KEEP) -> None:
        self._store = store
        self._retention = retention
        self._lock = threading.Lock()
        self._stamp: Hashable = object()  # of the list below
        self._listed: list[Change] = []
        self._opened = 0  # the file that these are from
        self._ended: dict[int, Change] = {}  # by their numbers, in this order
        self._rolled_back: set[int] = set()  # those of them that were undone, but for some files
        self._last_ended = 0
        self._room, self._next_old_ns = 0.0, 0  # until so much is added, and until then, no change has to go

    # ------------------------------------------------------------------ writing, under the vault's lock

    def catch_up(self) -> Intent | None:
        """Return the change that another process left open, None if there is none."""
        return self._store.repaired(self._open_change)

    def _open_change(self) -> Intent | None:
        for row in self._store.rows(f"{_SELECT} state IN {OPEN} ORDER BY id LIMIT 1"):
            intent = _intent(self._store, row)
            if row[3] not in OPEN:
                raise DamagedStoreError(errno.EIO, "an index is not as it was written")
            if intent is not None:
                return intent
            self.end(row[0], Ending(is_undone=True))  # damaged: nobody knows any more what it was
        return None

    def next_id(self) -> int:
        """Return the number of the next change: none is given twice."""
        return self._store.last_number("changes") + 1

    def begin(self, intent: Intent, stages: Stages) -> None:
        """Record, synced to disk, that a change begins. From now on its contents are read from there, unless they are small.

        Then they are in memory: the answer to a change that is made must not depend on a store that may be away by then.
        """
        pairs = [*zip(intent.steps, intent.priors, strict=True)]
        contents = [content for pair in pairs for content in _contents(*pair) if content is not None]
        is_small = len(pairs) <= _HELD_STEPS and sum(content.size for content in contents) <= _HELD_BYTES
        if is_small:
            for content in contents:
                content.hold()
        steps = self._store.repaired(lambda: self._add(intent, stages, BEGUN, reads_back=not is_small))
        for ours, kept in () if is_small else zip(pairs, steps, strict=True):
            for our, its in zip(_contents(*ours), _contents(*kept), strict=True):
                if our is not None and its is not None:
                    our.keep_like(its)
        with suppress(OSError):  # not before: a change may be what another one is undone with
            self._remove_old(intent.id)

    def add_made(self, intent: Intent, stages: Stages) -> None:
        """Record, synced to disk, a change that is made already, with its end."""
        self._store.repaired(lambda: self._add(intent, stages, DONE))

    def mark_ready(self, number: int) -> None:
        """Record that a change's first step is next. Not synced: after a power cut, the files themselves must tell."""
        self._set_state(number, READY)

    def mark_rolled_back(self, number: int, unrestored: tuple[VaultPath, ...]) -> None:
        """Record that all steps of a change are rolled back, but for the files ``unrestored``. Not synced."""
        self._set_state(number, ROLLED_BACK, unrestored)

    def end(self, number: int, ending: Ending) -> None:
        """Record how a change ended. Not synced: the files themselves tell how the last change ended."""
        self._set_state(number, UNDONE if ending.is_undone else DONE, ending.unrestored)

    def _set_state(self, number: int, state: str, unrestored: tuple[VaultPath, ...] = ()) -> None:
        def write() -> None:
            with self._store.writing(sync=False) as transaction:
                sql = "UPDATE changes SET state = ?, unrestored = ? WHERE id = ?"
                transaction.execute(sql, (state, json.dumps(unrestored), number))

        self._store.repaired(write)

    def _add(
        self, intent: Intent, stages: Stages, state: str, *, reads_back: bool = False
    ) -> list[tuple[Step, PriorState]]:
        """Add a change. Return its steps as they are kept, if they are read back."""
        writer = StepWriter(change_owner(intent.id), lambda: self._store.writing(sync=False))
        pairs = [*zip(intent.steps, intent.priors, strict=True)]
        for step, prior in stages.each(stages.RECORDING, "recorded", pairs):
            writer.add(step, prior)
        with self._store.writing() as transaction:
            writer.write(transaction)
            fields = {
                "token": intent.token,
                "author": intent.author,
                "undoes": intent.undoes,
                "made": intent.new_folders,
                "emptied": intent.removed_folders,
                "files": files_of(intent.steps),
            }
            add_change(transaction, (intent.id, intent.time_ns, intent.proposal), state, fields, writer)
        self._room -= writer.size
        if not (reads_back or self._store.reads_back):
            return []
        steps = read_steps(self._store, change_owner(intent.id), writer.seal)
        if steps is None:
            raise DamagedStoreError(errno.EIO, "a record is not as it was written")
        return steps

    def _remove_old(self, latest: int) -> None:
        """Remove changes that are too old, and the oldest ones while there are too many bytes; never the last one."""
        store, retention = self._store, self._retention
        oldest = retention.oldest_ns()
        if self._room > 0 and oldest < self._next_old_ns:
            return
        last = 0  # of those to remove
        first = store.rows("SELECT CAST(time_ns AS bigint) FROM changes ORDER BY id LIMIT 1")
        self._next_old_ns = (first[0][0] if first else None) or 0
        if self._next_old_ns < oldest:
            [(last,)] = store.rows("SELECT coalesce(max(id), 0) FROM changes WHERE time_ns < ?", oldest)
        size = store.size()
        self._room = (retention.total_bytes - size) * _PART_OF_ROOM
        if size > retention.total_bytes:
            sizes = store.rows("SELECT id, size FROM changes ORDER BY id DESC")
            [(proposed,)] = store.rows("SELECT coalesce(sum(size), 0) FROM proposals")
            recorded = sum(size for _, size in sizes)
            most = retention.total_bytes * (recorded + proposed) / size  # in the file, all takes more room
            if recorded > most:
                kept = accumulate(size for _, size in sizes)
                too_many = (number for (number, _), size in zip(sizes, kept, strict=True) if size > most * _LEFT)
                last = max(last, next(too_many, 0))
        numbers = store.rows("SELECT id FROM changes WHERE id <= ? AND id < ?", last, latest)
        if numbers:
            with store.writing(sync=False) as transaction:
                transaction.executemany("DELETE FROM changes WHERE id = ?", numbers)
                remove_steps(transaction, (change_owner(number) for (number,) in numbers))
            store.give_back_room()

    # ------------------------------------------------------------------ reading

    def stamp(self) -> Hashable:
        """Return a value that differs once a record was added or removed, by any process."""
        return self._store.stamp()

    def changes(self) -> list[Change]:
        """Return the changes on record that left a trace in the vault, in the order of their ids."""
        stamp = self._store.stamp()
        with self._lock:
            if stamp != self._stamp:  # 10,000 changes take 12 ms, and one look at the desk asks several times
                self._read_on()
                self._stamp, self._listed = stamp, self._ended_changes()
            return self._listed.copy()

    def is_made_of(self, proposal: int) -> bool:
        """Tell whether a change on record was made of a proposal; the open one is not yet made."""
        sql = f"SELECT 1 FROM changes WHERE proposal = ? AND proposal > 0 AND state = '{DONE}'"
        return bool(self._store.rows(sql, proposal))

    def load(self, number: int) -> DetailedChange | None:
        """Return one of ``changes`` with its bytes, None if it is not on record any more."""
        return next(self.load_all([number]), None)

    def load_all(self, numbers: Iterable[int]) -> Iterator[DetailedChange]:
        """Yield those of ``changes`` with these numbers, with their bytes, without those that are not on record any more."""
        asked = list(numbers)
        if not asked:  # as of each change that undoes none: the list of 10,000 changes takes 10 ms
            return
        changes = {change.id: change for change in self.changes()}
        for number in asked:
            for row in self._store.rows(f"{_SELECT} id = ?", number):
                intent = _intent(self._store, row) if number in changes else None
                if intent is not None:
                    contents = tuple(prior.content for prior in intent.priors)
                    yield DetailedChange(changes[number], intent.steps, contents, intent.new_folders)

    def _read_on(self) -> None:
        """Read the changes that have ended since, and forget those that were removed."""
        rows = self._store.rows("SELECT min(id) FROM changes")
        oldest = (rows[0][0] if rows else None) or 0
        if self._opened != self._store.opened:
            self._opened = self._store.opened
            self._ended, self._rolled_back, self._last_ended = {}, set(), 0
        for number in [each for each in self._ended if each < oldest]:
            del self._ended[number]
        sql = f"{_SELECT} id > ? AND state IN {(DONE, UNDONE)} ORDER BY id"
        for row in self._store.rows(sql, self._last_ended):
            self._last_ended = row[0]
            change = _change(row)
            if change is None or (row[3] == UNDONE and not change.unrestored):
                continue
            self._ended[change.id] = change
            if row[3] == UNDONE:
                self._rolled_back.add(change.id)

    def _ended_changes(self) -> list[Change]:
        """Return the changes in the order of their ids, each with the one that undid it."""
        undone_by: dict[int, int] = {}
        changes = []
        for number, change in reversed(self._ended.items()):
            by = undone_by.get(number)
            changes.append(change if by is None else change._replace(undone_by=by))
            # An undo that was undone itself does not hold any more.
            if number not in undone_by and number not in self._rolled_back:
                undone_by |= dict.fromkeys(change.undoes, number)
        return changes[::-1]


def _header_of(row: tuple[Any, ...]) -> dict[str, Any] | None:
    """Return the header of a change, None if its row is damaged."""
    number, time_ns, proposal, _, _, header, checksum = row
    if row_sum(number, time_ns, proposal, header) != checksum:
        return None
    found: dict[str, Any] = json.loads(header)
    return found


def _unrestored(text: object) -> tuple[VaultPath, ...]:
    try:
        return tuple(map(VaultPath, json.loads(str(text))))
    except (ValueError, TypeError):  # damaged
        return ()


def _change(row: tuple[Any, ...]) -> Change | None:
    header = _header_of(row)
    if header is None:
        return None
    files = tuple(
        FileChange(kind, VaultPath(path), None if target is None else VaultPath(target))
        for kind, path, target in header["files"]
    )
    author, undoes = Author(*header["author"]), tuple(header["undoes"])
    return Change(row[0], row[1], author, files, undoes, unrestored=_unrestored(row[4]), proposal=row[2])


def _intent(store: RecordStore, row: tuple[Any, ...]) -> Intent | None:
    """Return the record of a change, None if any part of it is damaged."""
    header = _header_of(row)
    pairs = None if header is None else read_steps(store, change_owner(row[0]), header["steps"])
    if header is None or pairs is None:
        return None
    return Intent(
        row[0],
        header["token"],
        row[1],
        Author(*header["author"]),
        tuple(header["undoes"]),
        tuple(step for step, _ in pairs),
        tuple(prior for _, prior in pairs),
        tuple(header["made"]),
        tuple(header["emptied"]),
        is_ready=row[3] == READY,
        unrestored=_unrestored(row[4]) if row[3] == ROLLED_BACK else None,
        proposal=row[2],
    )


def _contents(step: Step, prior: PriorState) -> tuple[Content | None, ...]:
    return (step.old, step.new) if isinstance(step, Write) else (prior.content,)


# The changes on record that a run may see if some of the vault is hidden from it: those that concern nothing hidden.
#
# A change that concerns something hidden is not on record for such a run, with all its files: a part of it would give the rest
# away. Nothing is changed here.


class VisibleChanges:
    """The changes of one journal that this run may see. Safe to use from several threads."""

    def __init__(self, journal: Journal, files: Files) -> None:
        self._journal = journal
        self._files = files
        self._private: dict[int, bool] = {}  # whether the bytes of a change are private; they never change

    def all(self) -> list[Change]:
        """Return them, in the order of their ids. Raises OSError."""
        visible: list[Change] = []
        changes = self._journal.changes()
        moves = MovePaths(enumerate(move for change in changes for move in moves_of(change)))
        count = sum(len(moves_of(change)) for change in changes)  # of the moves up to this change
        private: set[VaultPath] = set()  # where notes that were private lay last
        for change in reversed(changes):
            paths = {path for file in change.files for path in (file.path, file.target) if path is not None}
            paths.update(change.unrestored)
            paths |= {moves.after(path, count) for path in paths}
            if self._is_private(change.id):
                private |= paths
            elif all(self._may_be_seen(path, private) for path in paths):
                visible.append(change)
            count -= len(moves_of(change))
        return visible[::-1]

    def _may_be_seen(self, path: VaultPath, private: set[VaultPath]) -> bool:
        files = self._files
        if lies_in(path, TRASH):
            return True  # its former path is checked as well
        if os.path.lexists(files.entry_path(path)):
            return files.is_taken(path)
        return files.may_be_seen(path) and path not in private

    def _is_private(self, number: int) -> bool:
        if not self._files.hides_private_notes:
            return False
        known = self._private.get(number)
        if known is None:
            detailed = self._journal.load(number)
            # Bytes that are lost, or were too large to be kept, may have been private.
            known = self._private[number] = detailed is None or any(
                can_be_private(path) if data is None else self._files.is_private(path, data)
                for path, data in _contents_of(detailed)
            )
        return known


def _contents_of(detailed: DetailedChange) -> Iterable[tuple[VaultPath, bytes | None]]:
    """Yield the bytes of a change's files before and after it, with each path they had; None for bytes that are not kept."""
    for step, content in zip(detailed.steps, detailed.contents, strict=True):
        if isinstance(step, Write):
            yield from ((step.path, each.data) for each in (step.old, step.new) if each is not None)
        else:
            yield from ((path, None if content is None else content.data) for path in paths_of(step))
