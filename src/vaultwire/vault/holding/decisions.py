"""The log of what the person decided, in the order in which it was decided.

It is what the page marks as kept, and what the agent is told with its next result. The changes themselves are in the journal.
"""

from __future__ import annotations

import json
import time
from collections.abc import Hashable
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.vault.changes.record_store import RecordStore

DecisionKind: TypeAlias = Literal["kept", "unkept", "undone", "accepted", "edited", "refused", "told"]


class Decision(NamedTuple):
    """A decision about a change on record, or a proposal, or a part of it.

    ``session`` and ``client`` are those of the agent that it concerns, and ``text`` is what that agent is told; empty for
    nothing. "told" is no decision: up to the position ``text`` in the log, a client was told of those that concern it.
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
        lines = [(json.dumps(each._replace(time_ns=each.time_ns or now)._asdict()),) for each in decisions]

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
