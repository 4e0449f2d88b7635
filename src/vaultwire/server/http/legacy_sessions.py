"""Legacy SSE sessions (2024-11-05): messages come one by one at one address, everything else goes out on a stream at another.

A session begins and ends with the stream its client listens to; nothing is kept for a client that comes back. The form
of the stream on the wire: see ``transports.legacy_sse``.
"""

from __future__ import annotations

import secrets

from vaultwire.server.outlet import Outlet
from vaultwire.vault.memory_budget import MEMORY_BUDGET, UNCOUNTED_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.json_types import Json
    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Workers

# Each holds one of 200 connections open (``http_server``'s limits); the others are for sending messages.
MAX_SESSIONS = 50
# Requests in flight of one client. A message is accepted before it is worked on, so nothing else slows a client down.
MAX_IN_FLIGHT = 64
# A client with more bytes waiting loses its session: a few of the largest notes.
_MOST_WAITING_BYTES = 64 * 1024 * 1024


class LegacySession(Outlet):
    """The session of one client. An answer goes out on the stream like any other frame."""

    __slots__ = (
        "__weakref__",
        "_asked",
        "_frames",
        "_size",
        "can_ask",
        "id",
        "is_attached",
        "is_over",
        "principal",
        "session",
        "wake",
    )

    def __init__(self, session: Session, principal: str, wake: Callable[[], None]) -> None:
        self.id = secrets.token_urlsafe(24)
        self.session = session
        self.principal = principal
        self.can_ask = True
        self.is_over = False
        self.is_attached = False  # it is told of changes
        self.wake = wake
        """Has the consumer look for frames."""
        self._frames: list[bytes] = []  # these two under the account's lock
        self._size = 0
        self._asked = 0  # bytes of the messages that came since the first request in flight

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

    # ------------------------------------------------------------------ the consumer's side

    def take(self) -> list[bytes]:
        """Return the frames that have come since the last call."""
        with MEMORY_BUDGET.lock:
            frames, self._frames, self._size = self._frames, [], 0
            self._count()
            return frames

    def take_in(self, size: int) -> None:
        """Count a message of so many bytes until no request is in flight."""
        with MEMORY_BUDGET.lock:
            self._asked = (self._asked if self.session.in_flight else 0) + (size if size > UNCOUNTED_BYTES else 0)
            self._count()

    def leave(self) -> None:
        """End: take no more frames, and drop those that wait."""
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
        """End if frames wait, because then the client does not read. See ``MemoryHolder``."""
        if self._size:
            self.is_over = True
            self.can_ask = False
            self._frames, self._size = [], 0
            self.wake()
        return self._asked


class LegacySessions:
    """The sessions of one server. Used on one thread."""

    def __init__(self, workers: Workers, make_session: Callable[[Revision | None], Session]) -> None:
        self._workers = workers
        self._make_session = make_session
        self._sessions: dict[str, LegacySession] = {}
        self.is_closing = False
        """Whether streams end as soon as no request is in flight."""

    def open(self, principal: str, wake: Callable[[], None]) -> LegacySession | None:
        """Return a new session, None if there are too many. ``wake`` is called, on any thread, when there are frames."""
        if self.is_closing or len(self._sessions) >= MAX_SESSIONS:
            return None
        legacy = LegacySession(self._make_session(None), principal, wake)
        legacy.session.peer.principal = principal
        self._sessions[legacy.id] = legacy
        return legacy

    def find(self, id_: str, principal: str) -> LegacySession | None:
        """Return this caller's session with this id, None if there is none."""
        legacy = self._sessions.get(id_)
        return None if legacy is None or legacy.is_over or legacy.principal != principal else legacy

    def post(self, legacy: LegacySession, message: Json, size: int) -> bool:
        """Take one message of so many bytes; return False if too many requests are in flight."""
        session = legacy.session
        if session.in_flight >= MAX_IN_FLIGHT or (size > UNCOUNTED_BYTES and not MEMORY_BUDGET.has_room(size)):
            return False
        legacy.take_in(size)
        with self._workers.lock:
            events = session.receive_parsed(message)
        for event in events:
            self._workers.act(event, session, legacy)
        if session.revision is not None and not legacy.is_attached:
            legacy.is_attached = True
            self._workers.handlers.subscriptions.attach(self._workers.lock, session, legacy)
        return True

    def end(self, legacy: LegacySession) -> None:
        """End the session of a client that is gone: nobody else can get its answers."""
        self._sessions.pop(legacy.id, None)
        self._workers.handlers.subscriptions.end(legacy.session)
        with self._workers.lock:
            legacy.leave()
            events = legacy.session.withdraw_all()
        for event in events:
            self._workers.act(event, legacy.session, legacy)

    def close(self) -> None:
        """Open no more sessions, and end the streams that have no request in flight."""
        self.is_closing = True
        for legacy in list(self._sessions.values()):
            legacy.wake()
