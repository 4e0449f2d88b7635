"""Streams of frames to a client over HTTP, and the sessions that keep them. Not their form on the wire (``protocol.http``).

One ``Stream`` for each request, and one standalone for each session. Workers put frames in on any thread; the writer of the
response takes them out. A stream of a session keeps what it sent, so that a client whose connection broke can ask for the
rest (2025-11-25, "Resumability and Redelivery"). All of it is bounded, for each session and all together
(``vault.caller``).
"""

from __future__ import annotations

import time

from vaultwire.server.results import Outlet
from vaultwire.vault.caller import MEMORY_BUDGET, UNCOUNTED_BYTES, Reservation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Workers

# Frames that a client has not taken yet, or may ask for again: those of a call that reports progress ten times a second
# for two minutes. The answer itself is never dropped.
_MOST_FRAMES = 1200
# What a session keeps of ended streams, for a client that comes back: two of the largest attachments.
_MOST_KEPT_BYTES = 16 * 1024 * 1024
_MOST_KEPT_STREAMS = 32
# The cost of a session that keeps nothing yet.
_SESSION_BYTES = 12_000


class Stream(Outlet):
    """The frames that answer one POST, or the unasked ones of a session."""

    __slots__ = (
        "__weakref__", "_base", "_held", "_lock", "_wake", "can_ask", "code", "consumer", "delivered", "done", "frames",
        "home", "keeper", "most", "number", "paused", "resumable", "revision", "session", "session_id", "size", "takes_more",
    )  # fmt: skip

    def __init__(self, workers: Workers, revision: Revision, *, takes_more: bool, resumable: bool = False) -> None:
        """``takes_more``: the client takes other frames than the answer. ``resumable``: it may ask for them again."""
        self._lock = workers.lock
        self._held: Reservation | None = None  # the message that it answers, until it is answered
        self.keeper: HttpSession | None = None  # the session that counts its frames
        self._wake: Callable[[], None] | None = None
        self._base = 1  # the number of the first of the frames
        self.frames: list[bytes] = []  # these under the account's lock
        self.size = 0  # of all of them, in bytes
        self.revision = revision
        self.takes_more = takes_more
        self.resumable = resumable
        self.most = _MOST_FRAMES
        self.can_ask = resumable and takes_more
        self.number = 0
        self.session: Session | None = None  # whose request it answers
        self.home: HttpSession | None = None  # the session that keeps it once it is more than a single answer
        self.session_id = ""  # of the session that this request opened
        self.code: int | None = None
        self.done = False
        self.paused = False
        self.consumer = 0
        self.delivered = 0  # the number of the last frame that a consumer took

    # ------------------------------------------------------------------ the workers' side (holds their lock)

    def hold(self, size: int) -> None:
        """Count the message that is answered here, of so many bytes, until then."""
        with MEMORY_BUDGET.lock:
            if not self.done:
                self._held = Reservation(size)

    def send(self, frame: bytes) -> None:
        """Add a frame that is not the last. A notification that repeats one still waiting says nothing new."""
        if self.takes_more and not self.done and not self._repeats_waiting(frame):
            self._add(frame, self.most)
            self.wake()

    def answer(self, frame: bytes, code: int | None) -> None:
        """Add the last frame, unless the session has ended meanwhile and nobody can ask for it."""
        if not self.done:
            self._add(frame, self.most + 1)
            self.code = code
        self.abandon()

    def abandon(self) -> None:
        """End: add no more frames."""
        with MEMORY_BUDGET.lock:
            self.done = True
            if self._held is not None:
                self._held.end()
                self._held = None
        self.can_ask = False
        self.wake()

    def _repeats_waiting(self, frame: bytes) -> bool:
        with MEMORY_BUDGET.lock:
            return self._base + len(self.frames) - 1 > self.delivered and self.frames[-1:] == [frame]

    def _add(self, frame: bytes, most: int) -> None:
        with MEMORY_BUDGET.lock:
            self.frames.append(frame)
            self.size += len(frame)
            if len(self.frames) > most:
                self.size -= len(self.frames.pop(0))
                self._base += 1
            self.count()

    def count(self) -> None:
        """Tell the account how much is kept here."""
        if self.keeper is not None:
            self.keeper.count(is_used=self is not self.keeper.standalone)
        elif self.size > UNCOUNTED_BYTES:
            MEMORY_BUDGET.record(self, self.size)

    def evict(self) -> int:
        """Keep all frames: a client waits for them, and its connection counts as well. See ``MemoryHolder``."""
        return self.size

    def empty(self) -> None:
        """Drop all frames. Holds the account's lock."""
        self._base += len(self.frames)
        self.frames = []
        self.size = 0

    def hang_up(self) -> None:
        """Close the response until the client asks for the rest, if its revision has that."""
        if self.resumable and self.takes_more and self.revision.primed_streams:
            self.paused = True
            self.wake()

    def wake(self) -> None:
        """Have the consumer look for frames."""
        if self._wake is not None:
            self._wake()

    # ------------------------------------------------------------------ the consumer's side

    def attach(self, wake: Callable[[], None]) -> int:
        """Become the consumer, in place of the one before; return the consumer's number."""
        with self._lock:
            self.wake()
            self._wake = wake
            self.paused = False
            self.consumer += 1
            return self.consumer

    def begin(self) -> None:
        """Become a stream on the wire, which a client may come back to. A single answer is not kept: it has no event id."""
        home, self.home = self.home, None
        if home is not None:
            home.keep(self)

    def detach(self, consumer: int) -> None:
        """Stop being the consumer. Drop frames that no client can come back to.

        Not left to the end of the stream: after a wait it is part of a cycle, and waits for the garbage collector.
        """
        with self._lock:
            if self.consumer == consumer:
                self._wake = None
                if self.done and not self.resumable:
                    self.take(self.delivered)

    @property
    def is_attached(self) -> bool:
        """Whether there is a consumer."""
        return self._wake is not None

    def take(self, after: int) -> tuple[int, list[bytes]]:
        """Return the frames after the frame with this number, and the number of the first of them."""
        with MEMORY_BUDGET.lock:
            start = max(after + 1, self._base)
            frames = self.frames[start - self._base :]
            if not self.resumable and self.frames:
                self.empty()
                MEMORY_BUDGET.record(self, 0)
            return start, frames

    def is_over(self, after: int) -> bool:
        """Tell whether no frame comes after the frame with this number."""
        return self.done and after + 1 >= self._base + len(self.frames)


class HttpSession:
    """A session of the handshake era over HTTP: its protocol state, and the streams a client may come back to."""

    def __init__(self, id_: str, session: Session, principal: str, workers: Workers, revision: Revision) -> None:
        """``principal``: the key it was opened with; no other may use it."""
        self.id = id_
        self.session = session
        self.principal = principal
        self.revision = revision
        self.used = time.monotonic()
        self.is_over = False
        """Whether it has ended because others needed the memory."""
        self.standalone = Stream(workers, revision, takes_more=True, resumable=True)
        self.standalone.can_ask = False
        self.standalone.keeper = self
        self.streams: dict[int, Stream] = {0: self.standalone}
        self._numbers = 0
        self.use()

    def keep(self, stream: Stream) -> None:
        """Number the stream, so that the client can come back to it; drop the oldest streams that have ended."""
        with MEMORY_BUDGET.lock:
            self._numbers += 1
            stream.number = self._numbers
            self.streams[stream.number] = stream
            MEMORY_BUDGET.record(stream, 0)
            stream.keeper = self
            ended = self._ended()
            size = sum(stream.size for stream in ended)
            for count, old in enumerate(ended):
                if len(ended) - count <= _MOST_KEPT_STREAMS and size <= _MOST_KEPT_BYTES:
                    break
                size -= old.size
                del self.streams[old.number]
            self.count()

    def _ended(self) -> list[Stream]:
        return [stream for stream in self.streams.values() if stream.done and not stream.is_attached]

    def use(self) -> None:
        """Note that the client is there."""
        self.used = time.monotonic()
        with MEMORY_BUDGET.lock:
            self._base = _SESSION_BYTES + self.session.peer.size
            self.count()

    def count(self, *, is_used: bool = True) -> None:
        """Tell the account how much is kept. Holds its lock. ``is_used``: the client has asked for something."""
        if not self.is_over:
            size = self._base + sum(stream.size for stream in self.streams.values())
            MEMORY_BUDGET.record(self, size, is_used=is_used)

    def evict(self) -> int:
        """End; or, if an answer is awaited or being sent, drop the streams that have ended. See ``MemoryHolder``."""
        if self.session.in_flight or any(
            stream.is_attached for stream in self.streams.values() if stream is not self.standalone
        ):
            for stream in self._ended():
                if stream is not self.standalone:
                    del self.streams[stream.number]
            return self._base + sum(stream.size for stream in self.streams.values())
        self.is_over = True
        for stream in self.streams.values():
            stream.empty()
            stream.abandon()
        return 0

    @property
    def is_busy(self) -> bool:
        """Whether a request is in flight, or the client listens."""
        return self.session.in_flight > 0 or any(stream.is_attached for stream in self.streams.values())
