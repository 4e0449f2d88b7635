"""Proposals: changes that wait for the person's decision. Knows no wire, and writes nothing: the asker writes the file."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from typing import NamedTuple


class Decision(NamedTuple):
    """The person's decision. ``text`` is what they accepted, perhaps after editing it; None means rejected."""

    text: str | None


REJECTED = Decision(None)


class Proposal(NamedTuple):
    """A proposed change. ``id`` cannot be guessed; ``label`` is the asker's name for it; texts have ``\\n`` line ends.

    ``old`` is None if the file's content must not be shown.
    """

    id: str
    path: str
    label: str
    old: str | None
    new: str


class Proposals:
    """The proposals that wait. Safe to use from several threads; each proposal is decided once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, tuple[Proposal, object, Callable[[Decision], None]]] = {}
        self._listeners: list[Callable[[], None]] = []

    def listen(self, on_change: Callable[[], None]) -> None:
        """Call ``on_change``, on any thread, when the waiting proposals change."""
        self._listeners.append(on_change)

    def propose(
        self, path: str, label: str, old: str | None, new: str, owner: object, on_decision: Callable[[Decision], None]
    ) -> Proposal:
        """Add a proposal. ``on_decision`` is called once, on any thread."""
        proposal = Proposal(secrets.token_urlsafe(16), path, label, old, new)
        with self._lock:
            self._open[proposal.id] = proposal, owner, on_decision
        self._tell()
        return proposal

    @property
    def waiting(self) -> list[Proposal]:
        """The proposals without a decision, the oldest first."""
        with self._lock:
            return [proposal for proposal, _, _ in self._open.values()]

    def get(self, id: str) -> Proposal | None:  # noqa: A002 - the field's name
        """Return the proposal with this id, None if it is gone."""
        found = self._open.get(id)
        return None if found is None else found[0]

    def decide(self, id: str, decision: Decision) -> bool:  # noqa: A002 - the field's name
        """Decide a proposal; False if it is gone."""
        with self._lock:
            found = self._open.pop(id, None)
        if found is None:
            return False
        found[2](decision)
        self._tell()
        return True

    def reject_all(self, owner: object | None = None, label: str | None = None) -> int:
        """Reject the proposals of one owner, or of one label, or all; return their number."""
        with self._lock:
            ids = [
                id_
                for id_, (proposal, its_owner, _) in self._open.items()
                if (owner is None or its_owner is owner) and (label is None or proposal.label == label)
            ]
        return sum(self.decide(id_, REJECTED) for id_ in ids)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
