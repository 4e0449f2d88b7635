"""The proposals of one vault: changes that wait for the person; and the log of what the person decided.

On disk, so that any process can make and decide them.

A proposal is on disk, with all its bytes, before its asker is answered. It and its decision are rows of the vault's
``RecordStore``, each written in one piece: no proposal is decided twice.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Hashable, Sequence
from contextlib import nullcontext
from typing import Any, Literal, NamedTuple, TypeAlias

from vaultwire.vault.changes.change import Author, PriorState, Step, Write, paths_of
from vaultwire.vault.changes.journal import (
    DONE,
    KEEP,
    Retention,
    StepWriter,
    add_proposal,
    proposal_owner,
    read_steps,
    remove_steps,
    row_sum,
)
from vaultwire.vault.changes.record_store import RecordStore, Transaction
from vaultwire.vault.errors import TOO_MANY_WAITING, VaultError

Kind: TypeAlias = Literal["write", "diff", "delayed"]
State: TypeAlias = Literal["waiting", "accepted", "refused", "withdrawn"]

# Steps of proposals that are kept in memory, about 1 KB each. Beyond, those of the oldest ones are read again when needed.
_MOST_STEPS = 30_000
# What is kept back (``delayed_writes``) waits for no person. The kind is the first field of the header.
_DELAYED = """p.header LIKE '{"kind":"delayed"%'"""
_DECIDED = ("accepted", "refused", "withdrawn")
# A process may be killed after an accepted proposal was executed and before that is written here: the journal knows.
_MADE = f"LEFT JOIN changes c ON c.proposal = p.id AND c.proposal > 0 AND c.state = '{DONE}'"
_SELECT = f"""
SELECT p.id, p.time_ns, p.client, p.state, p.decided_ns, p.header, p.sum, p.decision, c.id FROM proposals p {_MADE}
"""


class Proposal(NamedTuple):
    """A change that waits for the person, or has waited.

    ``kind``: "write" is a call that the policy holds, "diff" one that an editor shows, "delayed" a write that is kept back and
    is no person's to decide (``delayed_writes``). ``steps`` have the bytes it was made
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


class Room(NamedTuple):
    """How many proposals may wait, and how many bytes they may take together."""

    number: int
    size: int


ROOM_OF_CLIENT = Room(200, 100_000_000)
"""For each client: more than a person decides in a week. One write of the largest note takes 20 MB."""
ROOM = Room(1_000, 300_000_000)
"""For all clients together, because a client without a key can give itself any name."""


class ProposalStore:
    """The proposals in one store. Safe to use from several threads and processes. All methods raise OSError."""

    def __init__(
        self,
        store: RecordStore,
        retention: Retention = KEEP,
        *,
        of_client: Room = ROOM_OF_CLIENT,
        of_all: Room = ROOM,
    ) -> None:
        """``of_client``, ``of_all``: how much may wait, of one client and together."""
        self._store = store
        self._retention = retention
        self._of_client, self._of_all = of_client, of_all
        self._lock = threading.Lock()
        self._steps: dict[int, tuple[Step, ...]] = {}
        self._held = 0  # how many steps these are
        self._opened = 0  # the file that these are from
        self._damaged: set[int] = set()

    # ------------------------------------------------------------------ writing

    def add(
        self,
        kind: Kind,
        author: Author,
        steps: Sequence[Step],
        label: str = "",
        outside: str = "",
        undoes: tuple[int, ...] = (),
        time_ns: int = 0,
    ) -> Proposal:
        """Add a proposal; it is on the disk, with all its bytes, when this returns. ``time_ns``: when it was made, if it
        is what a person has left of an earlier one, whose room it takes.

        Raises VaultError: STALE_EDIT if the notes are not what the steps were made from any more, TOO_MANY_WAITING.
        """
        made = Proposal(0, time_ns or time.time_ns(), kind, author, label, tuple(steps), outside=outside, undoes=undoes)
        made = self._store.repaired(lambda: self._added(made, checks_room=not time_ns))
        return self.get(made.id) or made

    def replace(self, earlier: Proposal, kind: Kind, author: Author, steps: Sequence[Step]) -> Proposal:
        """Add a proposal in the place of an earlier one, which is removed. It is as old as that, and takes its room."""
        new = Proposal(0, earlier.time_ns, kind, author, author.tool, tuple(steps))
        made = self._store.repaired(lambda: self._added(new, earlier.id, checks_room=False))
        return self.get(made.id) or made

    def _added(self, made: Proposal, replaces: int | None = None, *, checks_room: bool) -> Proposal:
        with self._store.writing() as transaction:
            if checks_room:
                self._check_room(made.author.client, made.steps)
            self._remove_old(transaction)
            made = made._replace(id=self._store.last_number("proposals") + 1)
            writer = StepWriter(proposal_owner(made.id), lambda: nullcontext(transaction), whole=True)
            for step in made.steps:
                writer.add(step, PriorState(paths_of(step)[0]))
            writer.write(transaction)
            fields = {name: getattr(made, name) for name in ("kind", "author", "label", "outside", "undoes")}
            add_proposal(transaction, (made.id, made.time_ns, made.author.client), fields, writer)
            if replaces is not None:  # last, because its bytes may be those of the new one
                _remove(transaction, replaces)
        return made

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
        """Decide a proposal; False if it is decided already, or gone."""
        decision = {"reason": reason, "change": change, "is_edited": is_edited, "edited_text": edited_text}

        def write() -> bool:
            with self._store.writing() as transaction:
                sql = "UPDATE proposals SET state = ?, decided_ns = ?, decision = ? WHERE id = ? AND state = 'waiting'"
                return transaction.execute(sql, (state, time.time_ns(), json.dumps(decision), number)).rowcount == 1

        return self._store.repaired(write)

    def used_room(self) -> dict[str, Room]:
        """Return what waits of each client: how many proposals, and the bytes that they take."""
        which = "WHERE p.state = 'waiting' AND c.id IS NULL GROUP BY p.client"
        sql = f"SELECT p.client, count(*), sum(p.size) FROM proposals p {_MADE} {which}"
        return {client: Room(number, size) for client, number, size in self._store.rows(sql)}

    def _check_room(self, client: str, steps: Sequence[Step]) -> None:
        """Raise VaultError (TOO_MANY_WAITING) if no more of this client, or of all, may wait."""
        used = self.used_room()
        contents = [content for step in steps if isinstance(step, Write) for content in (step.old, step.new)]
        size = sum(content.size for content in contents if content is not None)
        own = used.get(client, Room(0, 0))
        together = Room(sum(each.number for each in used.values()), sum(each.size for each in used.values()))
        for room, most, whose in ((own, self._of_client, "of yours"), (together, self._of_all, "of all clients")):
            if room.number >= most.number or room.size + size > most.size:
                raise VaultError(
                    TOO_MANY_WAITING,
                    f"This change must wait for the person, but {room.number} changes {whose} wait already, with "
                    f"{room.size / 1e6:.1f} MB; this has {size / 1e6:.1f} MB. At most {most.number} may wait, with "
                    f"{most.size // 1_000_000} MB. Nothing was written. The person has to decide some at the desk first, "
                    "or withdraw some of yours with pending_changes.",
                    waiting=room.number,
                    bytes=room.size,
                )

    def _remove_old(self, transaction: Transaction) -> None:
        """Remove decided proposals that are too old, and the oldest ones while there are too many bytes.

        A proposal that waits is never removed.
        """
        total, oldest = 0, self._retention.oldest_ns()
        sql = "SELECT id, size, decided_ns FROM proposals WHERE state != 'waiting' ORDER BY id DESC"
        for number, size, decided_ns in transaction.execute(sql).fetchall():
            total += size
            if decided_ns < oldest or total > self._retention.total_bytes:
                _remove(transaction, number)

    def remove(self, number: int) -> None:
        """Remove what was kept back and is written."""

        def write() -> None:
            with self._store.writing() as transaction:
                _remove(transaction, number)

        self._store.repaired(write)

    # ------------------------------------------------------------------ reading

    def all(self) -> list[Proposal]:
        """Return the proposals, the oldest first. Steps that are known are not read again."""
        with self._lock:
            return self._read(f"WHERE NOT {_DELAYED} ORDER BY p.id")

    def waiting(self) -> list[Proposal]:
        """Return the proposals that wait, the oldest first; reads no others."""
        with self._lock:
            return self._read(f"WHERE p.state = 'waiting' AND c.id IS NULL AND NOT {_DELAYED} ORDER BY p.id")

    def delayed(self) -> list[Proposal]:
        """Return what is kept back, the oldest first; "accepted" is one that a killed process has written."""
        with self._lock:
            return self._read(f"WHERE {_DELAYED} ORDER BY p.id")

    def get(self, number: int) -> Proposal | None:
        """Return one proposal, None if there is none of this number, or it cannot be read."""
        with self._lock:
            return next(iter(self._read("WHERE p.id = ?", number)), None)

    def unreadable(self) -> list[int]:
        """Return the proposals that ``all`` could not read: they are kept, and the person is told."""
        return sorted(self._damaged)

    def stamp(self) -> Hashable:
        """Return a value that differs once a proposal was added or decided, by any process."""
        return self._store.stamp()

    def _read(self, which: str, *values: object) -> list[Proposal]:
        """Return the proposals in some rows. Under the lock."""
        proposals = []
        for row in self._store.rows(f"{_SELECT} {which}", *values):
            try:
                proposals.append(self._proposal(row))
                self._damaged.discard(row[0])
            except (LookupError, ValueError, TypeError):
                self._damaged.add(row[0])
        return proposals

    def _proposal(self, row: tuple[Any, ...]) -> Proposal:
        """Return the proposal in a row. Raises ValueError, LookupError or TypeError if the row or a step is damaged."""
        number, time_ns, client, state, decided_ns, header, checksum, decision, made = row
        if row_sum(number, time_ns, client, header) != checksum:
            raise ValueError(number)
        facts = json.loads(header)
        proposal = Proposal(
            number,
            time_ns,
            facts["kind"],
            Author(*facts["author"]),
            facts["label"],
            self._steps_of(number, facts["steps"]),
            outside=facts["outside"],
            undoes=tuple(facts["undoes"]),
        )
        if state == "waiting":
            return proposal if made is None else proposal._replace(state="accepted", change=made)
        try:
            _DECIDED.index(state)
            return proposal._replace(state=state, decided_ns=decided_ns, **json.loads(decision))
        except (ValueError, TypeError):  # nothing is written because of it
            return proposal._replace(state="refused", reason="The record of the decision cannot be read.")

    def _steps_of(self, number: int, seal: list[int | str]) -> tuple[Step, ...]:
        if self._opened != self._store.opened:
            self._opened = self._store.opened
            self._steps, self._held = {}, 0
        steps = self._steps.get(number)
        if steps is None:
            pairs = read_steps(self._store, proposal_owner(number), seal)
            if pairs is None:
                raise ValueError(number)
            steps = self._steps[number] = tuple(step for step, _ in pairs)
            self._held += len(steps)
            while self._held > _MOST_STEPS and len(self._steps) > 1:
                self._held -= len(self._steps.pop(next(iter(self._steps))))
        return steps


def _remove(transaction: Transaction, number: int) -> None:
    transaction.execute("DELETE FROM proposals WHERE id = ?", (number,))
    remove_steps(transaction, [proposal_owner(number)])


# The log of what the person decided, in the order in which it was decided.
#
# It is what the page marks as kept, and what the agent is told with its next result. The changes themselves are in the journal.

DecisionKind: TypeAlias = Literal["kept", "unkept", "undone", "accepted", "edited", "refused", "offered", "told"]


class Decision(NamedTuple):
    """A decision about a change on record, or a proposal, or a part of it.

    ``session`` and ``client`` are those of the agent that it concerns, and ``text`` is what that agent is told; empty for
    nothing. "offered" is no decision: a write that was kept back waits for the person now. Nor is "told": up to the position
    ``text`` in the log, a client was told of those that concern it.
    ``file`` is the index of a step, ``hunk`` that of a hunk in it; None for all. ``by``: the change that did it.
    """

    kind: DecisionKind
    session: str = ""
    client: str = ""
    change: int | None = None
    proposal: int | None = None
    file: int | None = None
    hunk: int | None = None
    by: int | None = None
    text: str = ""
    time_ns: int = 0


class DecisionLog:
    """The log in one store. Several processes may add to it at once. All methods raise OSError."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    def add(self, *decisions: Decision) -> None:
        """Add decisions, synced to disk."""
        now = time.time_ns()
        lines = [(json.dumps(decision._replace(time_ns=decision.time_ns or now)._asdict()),) for decision in decisions]

        def write() -> None:
            with self._store.writing() as transaction:
                transaction.executemany("INSERT INTO decisions (fields) VALUES (?)", lines)

        self._store.repaired(write)

    def all(self) -> list[Decision]:
        """Return all decisions, the oldest first."""
        return self.since(0)[0]

    def since(self, position: int) -> tuple[list[Decision], int]:
        """Return the decisions after a position (0: the first), and the position after them."""
        rows = self._store.rows("SELECT id, fields FROM decisions WHERE id > ? ORDER BY id", position)
        decisions = [decision for _, fields in rows if (decision := _parse(fields)) is not None]
        return decisions, rows[-1][0] if rows else position

    def stamp(self) -> Hashable:
        """Return a value that differs once a decision was added."""
        return self.end()

    def end(self) -> int:
        """Return the position after the last decision."""
        return self._store.last_number("decisions")


def _parse(fields: str) -> Decision | None:
    """Return the decision in a row, None for none: a damaged one, or one of a later version."""
    try:
        return Decision(**json.loads(fields))
    except (ValueError, TypeError):
        return None
