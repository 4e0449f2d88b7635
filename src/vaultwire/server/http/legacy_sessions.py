"""Sessions of the pair of addresses of 2024-11-05: messages come one by one at one of them, all else goes out at the other.

A session is as old as the stream its client listens to, and ends with it: nothing is kept for one that comes back. How
the stream looks on the wire is ``transports.legacy_sse``'s matter.
"""

from __future__ import annotations

import secrets

from vaultwire.vault.memory_budget import MEMORY_BUDGET, UNCOUNTED_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.json_types import Json
    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Workers

# Each holds a connection open, of 200 (``http_server``'s limits): room is left for those who send messages.
MAX_PAIRS = 50
# Requests of one client that are worked on: a message is accepted before it is, so nothing else would slow it down.
MAX_IN_FLIGHT = 64
# What waits for one client, beyond which it is let go: a few of the largest notes. Others cannot ask for it again.
_MOST_WAITING_BYTES = 64 * 1024 * 1024


class Pair:
    """One client. Fills the workers' ``Outlet``: what answers a message goes out like all else."""

    __slots__ = (
        "__weakref__",
        "_asked",
        "_frames",
        "_size",
        "_wake",
        "can_ask",
        "id",
        "is_attached",
        "is_over",
        "principal",
        "session",
    )

    def __init__(self, session: Session, principal: str, wake: Callable[[], None]) -> None:
        self.id = secrets.token_urlsafe(24)
        self.session = session
        self.principal = principal
        self.can_ask = True
        self.is_over = False
        self.is_attached = False  # hears of changes
        self._wake = wake
        self._frames: list[bytes] = []  # these two under the account's lock
        self._size = 0
        self._asked = 0  # bytes of the messages that came since something is worked on

    # ------------------------------------------------------------------ the workers' side (holds their lock)

    def send(self, frame: bytes) -> None:
        """Take a frame."""
        with MEMORY_BUDGET.lock:
            if self.is_over:
                return
            self._frames.append(frame)
            self._size += len(frame)
            if self._size > _MOST_WAITING_BYTES:
                self.leave()
            self._count()
        self.wake()

    def answer(self, frame: bytes, _code: int | None) -> None:
        """Take a frame that answers."""
        self.send(frame)

    def abandon(self) -> None:
        """Others are still answered."""

    def hang_up(self) -> None:
        """A client of this age would not come back for the rest."""

    def wake(self) -> None:
        """Have the consumer look."""
        self._wake()

    # ------------------------------------------------------------------ the consumer's side

    def take(self) -> list[bytes]:
        """Return what has come since."""
        with MEMORY_BUDGET.lock:
            frames, self._frames, self._size = self._frames, [], 0
            self._count()
            return frames

    def take_in(self, size: int) -> None:
        """Count a message of so many bytes until nothing is worked on."""
        with MEMORY_BUDGET.lock:
            self._asked = (self._asked if self.session.in_flight else 0) + (size if size > UNCOUNTED_BYTES else 0)
            self._count()

    def leave(self) -> None:
        """Take no more, and keep nothing."""
        with MEMORY_BUDGET.lock:
            self.is_over = True
            self.can_ask = False
            self._frames, self._size = [], 0
            self._count()

    def _count(self) -> None:
        if not self.session.in_flight:
            self._asked = 0
        MEMORY_BUDGET.record(self, self._size + self._asked)

    def evict(self) -> int:
        """End, if there is something to be dropped: its client does not read. See ``MemoryHolder``."""
        if self._size:
            self.is_over = True
            self.can_ask = False
            self._frames, self._size = [], 0
            self.wake()
        return self._asked


class Pairs:
    """The clients of one server. Used on one thread."""

    def __init__(self, workers: Workers, make_session: Callable[[Revision | None], Session]) -> None:
        self._workers = workers
        self._make_session = make_session
        self._pairs: dict[str, Pair] = {}
        self.is_closing = False
        """Whether streams end as soon as all is answered."""

    def open(self, principal: str, wake: Callable[[], None]) -> Pair | None:
        """Return a new session, None if there are too many. ``wake`` is called, on any thread, when something has come."""
        if self.is_closing or len(self._pairs) >= MAX_PAIRS:
            return None
        pair = Pair(self._make_session(None), principal, wake)
        pair.session.peer.principal = principal
        self._pairs[pair.id] = pair
        return pair

    def find(self, id_: str, principal: str) -> Pair | None:
        """Return a session, None if there is none of this id that is this caller's."""
        pair = self._pairs.get(id_)
        return None if pair is None or pair.is_over or pair.principal != principal else pair

    def post(self, pair: Pair, message: Json, size: int) -> bool:
        """Take one message, of so many bytes; False if too many are worked on."""
        session = pair.session
        if session.in_flight >= MAX_IN_FLIGHT or (size > UNCOUNTED_BYTES and not MEMORY_BUDGET.has_room(size)):
            return False
        pair.take_in(size)
        with self._workers.lock:
            events = session.receive_parsed(message)
        for event in events:
            self._workers.act(event, session, pair)
        if session.revision is not None and not pair.is_attached:
            pair.is_attached = True
            self._workers.handlers.subscriptions.attach(self._workers, session, pair)
        return True

    def end(self, pair: Pair) -> None:
        """Take note that the client is gone: nobody else can get its answers."""
        self._pairs.pop(pair.id, None)
        self._workers.handlers.subscriptions.end(pair.session)
        with self._workers.lock:
            pair.leave()
            events = pair.session.withdraw_all()
        for event in events:
            self._workers.act(event, pair.session, pair)

    def close(self) -> None:
        """Open no more, and have the streams end that have nothing under way."""
        self.is_closing = True
        for pair in list(self._pairs.values()):
            pair.wake()
