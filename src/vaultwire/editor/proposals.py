"""The diffs of editors' clients: ties each proposal in the vault's store to the client that waits for its answer.

The store is on disk, and any process may decide. Nothing is written to the vault here: the client writes the file.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Hashable
from typing import NamedTuple

from vaultwire.editor.recording import Recorder, restyled
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.disk.note_text import plain_text
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.holding import Holding
from vaultwire.vault.holding.proposals import Proposal as Stored
from vaultwire.vault.value_types import VaultPath

# Between two looks for decisions of other processes, and for the writes of clients.
_LOOK_SECONDS = 0.25
TOOL = "openDiff"


class Decision(NamedTuple):
    """The person's decision. ``text`` is what they accepted, perhaps after editing it; None means refused."""

    text: str | None


class Diff(NamedTuple):
    """What a client proposes: ``new`` for the file at ``path``. ``label`` is the client's name for the diff.

    ``before`` are the file's bytes, None for a new file. ``outside`` is the absolute path of a file whose content must not
    be shown, and whose ``path`` is only its name; "" for any other.
    """

    path: str
    label: str
    before: bytes | None
    new: str
    outside: str = ""


class Proposal(NamedTuple):
    """A diff that waits; ``id`` as people see it. Texts have ``\\n`` line ends; ``old`` is None if it must not be shown."""

    id: str
    path: str
    label: str
    old: str | None
    new: str


class _Asker(NamedTuple):
    """A client that waits for the decision on its text."""

    diff: Diff
    owner: object
    on_decision: Callable[[Decision], None]


class Proposals:
    """The diffs whose clients are connected to this process. Safe to use from several threads; each is decided once."""

    def __init__(self, holding: Callable[[], Holding]) -> None:
        """``holding``: where the vault keeps its proposals, opened when it is first needed."""
        self._holding = holding
        self._lock = threading.Lock()
        self._looking = threading.Lock()
        self._askers: dict[int, _Asker] = {}
        self._stamp: Hashable = object()
        self._listeners: list[Callable[[], None]] = []
        self._recorder = Recorder(holding)
        self._ended = threading.Event()

    def listen(self, on_change: Callable[[], None]) -> None:
        """Call ``on_change``, on any thread, when proposals are added or decided, by any process that is noticed."""
        self._listeners.append(on_change)

    def propose(self, diff: Diff, author: Author, owner: object, on_decision: Callable[[Decision], None]) -> str:
        """Store a proposal and return its id. ``on_decision`` is called once, on any thread.

        Raises ValueError if it cannot be stored.
        """
        after = restyled(diff.new, diff.before).encode("utf-8", "replace")
        step = Write(VaultPath(diff.path), diff.before, after)
        try:
            with self._lock:  # so that a look does not see it before its asker
                stored = self._holding().proposals.add("diff", author, [step], diff.label, diff.outside)
                self._askers[stored.id] = _Asker(diff, owner, on_decision)
        except OSError as error:
            raise ValueError(f"the change cannot be kept for the person: {error.strerror or error}") from None
        except VaultError as error:
            raise ValueError(error.message) from None
        self._tell()
        return f"p{stored.id}"

    @property
    def waiting(self) -> list[Proposal]:
        """The proposals without a decision, the oldest first."""
        with self._lock:
            return [_shown(number, asker.diff) for number, asker in sorted(self._askers.items())]

    def decide(self, id: str, decision: Decision) -> bool:  # noqa: A002 - the field's name
        """Decide a proposal, and answer its client at once. False if it is decided already. Raises VaultError."""
        number = int(id[1:]) if id[:1] == "p" and id[1:].isdecimal() else 0
        asker = self._askers.get(number)
        if asker is None:
            return False
        with contextlib.suppress(VaultError) if decision.text is None else contextlib.nullcontext():
            if decision.text is None:
                self._holding().refuse(number)
            else:
                is_same = decision.text == asker.diff.new
                edited = restyled(decision.text, asker.diff.before).encode("utf-8", "replace")
                self._holding().accept(number, {} if is_same else {0: edited})
        self.look()
        return True

    def withdraw(self, owner: object | None = None, label: str | None = None) -> int:
        """Withdraw the proposals of one owner, or of one label, or all: their client does not ask any more.

        Return their number. Each client is told that it is refused, should it still listen. It may have been answered in the
        terminal: what is written then is recorded if it is what was proposed.
        """
        with self._lock:
            numbers = [
                number
                for number, asker in self._askers.items()
                if (owner is None or asker.owner is owner) and (label is None or asker.diff.label == label)
            ]
        store = self._holding().proposals
        for number in numbers:
            with contextlib.suppress(OSError):
                store.decide(number, "withdrawn")
        if numbers:
            self.look()
        return len(numbers)

    # ------------------------------------------------------------------ decisions of any process

    def begin(self) -> None:
        """Withdraw what a killed process has left, and wait for the writes it waited for. For the one bridge of a vault."""
        holding = self._holding()
        for stored in holding.proposals.all():
            if stored.kind == "diff" and stored.state == "waiting":
                holding.proposals.decide(stored.id, "withdrawn")
            elif stored.kind == "diff" and stored.state == "accepted":
                self._recorder.resume(stored)

    def run(self) -> None:
        """Look for decisions of other processes, and for the writes of clients, until ``close``."""
        while not self._ended.wait(_LOOK_SECONDS):
            self.look()
            self._recorder.look()
        self._recorder.look(is_last=True)

    def close(self) -> None:
        """End ``run``."""
        self._ended.set()

    def look(self) -> None:
        """Answer the clients whose proposals are decided, by whatever process."""
        with self._looking:
            store = self._holding().proposals
            stamp = store.stamp()
            if stamp == self._stamp:
                return
            with self._lock:
                found = [(number, store.get(number)) for number in self._askers]
            self._stamp = stamp
        for number, stored in found:
            if stored is None or stored.state != "waiting":
                self._answer(number, stored)
        self._tell()

    def record(self) -> None:
        """Record what clients have written by now of what was accepted."""
        self._recorder.look()

    def _answer(self, number: int, stored: Stored | None) -> None:
        with self._lock:
            asker = self._askers.pop(number, None)
        if asker is None:
            return
        text = None
        if stored is not None and stored.state == "accepted":
            text = asker.diff.new if stored.edited_text is None else _like(asker.diff.new, stored.edited_text)
        if stored is not None and stored.state != "refused":
            self._recorder.expect(stored)  # before the client can write
        asker.on_decision(Decision(text))

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


def _shown(number: int, diff: Diff) -> Proposal:
    is_unread = diff.outside and os.path.lexists(diff.outside)
    old = None if is_unread else plain_text(diff.before or b"")
    return Proposal(f"p{number}", diff.outside or diff.path, diff.label, old, diff.new)


def _like(proposed: str, edited: str) -> str:
    """Return an edited text in the form in which its client sends texts: with ``\\n`` line ends, unless it sent others."""
    text = edited if proposed.startswith("\ufeff") else edited.removeprefix("\ufeff")
    return text if "\r" in proposed else text.replace("\r\n", "\n")
