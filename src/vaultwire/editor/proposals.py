"""Changes that are laid before the person: what a file has, what it is to have, and what they decide. Knows no wire.

Nothing is written here: whoever asked writes what was accepted.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import NamedTuple


class Decision(NamedTuple):
    """What came of it. ``text`` is what was accepted, which the person may have edited; None means rejected."""

    text: str | None


REJECTED = Decision(None)


class Proposal(NamedTuple):
    """A change to look at. ``id`` cannot be guessed; ``label`` is what the asker calls it; texts have ``\\n`` line ends.

    ``old`` is None where the file holds something that is not to be read here.
    """

    id: str
    path: str
    label: str
    old: str | None
    new: str


class Proposals:
    """The changes that wait for the person. Safe to use from several threads; each is decided once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Proposal, object, Callable[[Decision], None]]] = {}
        self._listeners: list[Callable[[], None]] = []

    def listen(self, on_change: Callable[[], None]) -> None:
        """Have ``on_change`` called, on whatever thread it may be, when there are others than before."""
        self._listeners.append(on_change)

    def propose(
        self, path: str, label: str, old: str | None, new: str, owner: object, on_decision: Callable[[Decision], None]
    ) -> Proposal:
        """Lay a change before the person. ``on_decision`` is called once, on whatever thread it may be."""
        proposal = Proposal(secrets.token_urlsafe(16), path, label, old, new)
        with self._lock:
            self._open[proposal.id] = proposal, owner, on_decision
        self._tell()
        return proposal

    @property
    def waiting(self) -> list[Proposal]:
        """Those not decided yet, the oldest first."""
        with self._lock:
            return [proposal for proposal, _, _ in self._open.values()]

    def get(self, id: str) -> Proposal | None:  # noqa: A002 - the field's name
        """Return the one of this id, None if there is none any more."""
        found = self._open.get(id)
        return None if found is None else found[0]

    def decide(self, id: str, decision: Decision) -> bool:  # noqa: A002 - the field's name
        """Decide one; False if there is none of this id any more."""
        with self._lock:
            found = self._open.pop(id, None)
        if found is None:
            return False
        found[2](decision)
        self._tell()
        return True

    def reject_all(self, owner: object | None = None, label: str | None = None) -> int:
        """Reject those of one owner, or of one label of theirs, or all; return how many there were."""
        with self._lock:
            ids = [
                id_
                for id_, (proposal, whose, _) in self._open.items()
                if (owner is None or whose is owner) and (label is None or proposal.label == label)
            ]
        return sum(self.decide(id_, REJECTED) for id_ in ids)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
