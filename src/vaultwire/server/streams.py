"""What goes to a client over HTTP: one ``Stream`` of frames for each request and one beside, and sessions that keep them.

Frames come from workers, on any thread, and are taken by whoever writes to the wire; a stream that belongs to a session
keeps what it sent, so that a client whose connection broke can ask for the rest (2025-11-25, "Resumability and
Redelivery"). All of it bounded. What frames look like on the wire is ``protocol.http``'s matter.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Workers

# Frames a client has not taken yet, or may ask for again: progress of a call that says something ten times a second for
# two minutes. The answer itself is never dropped.
_MOST_FRAMES = 1200
# What a session keeps of streams that have ended, for clients that come back: two of the largest attachments.
_MOST_KEPT_BYTES = 16 * 1024 * 1024
_MOST_KEPT_STREAMS = 32


class Stream:
    """The frames that answer one POST, or those of a session that answer nothing. Fills the workers' ``Outlet``."""

    __slots__ = (
        "_base", "_lock", "_wake", "can_ask", "code", "consumer", "delivered", "done", "frames", "home", "kept", "most",
        "number", "paused", "revision", "session", "session_id", "takes_more",
    )  # fmt: skip

    def __init__(self, workers: Workers, revision: Revision, *, takes_more: bool, kept: bool = False) -> None:
        """``takes_more``: the client takes other frames than the answer; ``kept``: it may ask for them again."""
        self._lock = workers.lock
        self._wake: Callable[[], None] | None = None
        self._base = 1  # the number of the first of the frames
        self.frames: list[bytes] = []
        self.revision = revision
        self.takes_more = takes_more
        self.kept = kept
        self.most = _MOST_FRAMES
        self.can_ask = kept and takes_more
        self.number = 0
        self.session: Session | None = None  # whose request it answers
        self.home: HttpSession | None = None  # where it is kept once it is more than a single answer
        self.session_id = ""  # to be told the client with the answer: the session this request opened
        self.code: int | None = None
        self.done = False
        self.paused = False
        self.consumer = 0
        self.delivered = 0  # the number of the last frame that a consumer took

    # ------------------------------------------------------------------ the workers' side (holds their lock)

    def send(self, frame: bytes) -> None:
        """Take a frame that is not the last."""
        if self.takes_more and not self.done:
            self.frames.append(frame)
            if len(self.frames) > self.most:
                del self.frames[0]
                self._base += 1
            self.wake()

    def answer(self, frame: bytes, code: int | None) -> None:
        """Take the last frame."""
        self.frames.append(frame)
        self.code = code
        self.abandon()

    def abandon(self) -> None:
        """Take no more."""
        self.done = True
        self.can_ask = False
        self.wake()

    def hang_up(self) -> None:
        """Let the client go until it asks for the rest, if it would know how."""
        if self.kept and self.takes_more and self.revision.primed_streams:
            self.paused = True
            self.wake()

    def wake(self) -> None:
        """Have the consumer look."""
        if self._wake is not None:
            self._wake()

    # ------------------------------------------------------------------ the consumer's side

    def attach(self, wake: Callable[[], None]) -> int:
        """Become the one that takes the frames, in place of whoever did; return what tells this one from others."""
        with self._lock:
            self.wake()
            self._wake = wake
            self.paused = False
            self.consumer += 1
            return self.consumer

    def begin(self) -> None:
        """Become a stream on the wire, which a client may come back to. A single answer is not kept: nobody could name it."""
        home, self.home = self.home, None
        if home is not None:
            home.keep(self)

    def detach(self, consumer: int) -> None:
        """Take no more frames."""
        with self._lock:
            if self.consumer == consumer:
                self._wake = None

    @property
    def is_attached(self) -> bool:
        """Whether somebody takes the frames."""
        return self._wake is not None

    def take(self, after: int) -> tuple[int, list[bytes]]:
        """Return the frames behind the frame of this number, and the number of the first of them."""
        with self._lock:
            start = max(after + 1, self._base)
            frames = self.frames[start - self._base :]
            if not self.kept:
                self._base += len(self.frames)
                self.frames = []
            return start, frames

    def is_over(self, after: int) -> bool:
        """Tell whether nothing comes behind the frame of this number."""
        return self.done and after + 1 >= self._base + len(self.frames)

    @property
    def size(self) -> int:
        """How many bytes are kept."""
        return sum(map(len, self.frames))


class HttpSession:
    """A session of the handshake era over HTTP: its protocol state, and the streams a client may come back to."""

    def __init__(self, id_: str, session: Session, principal: str, workers: Workers, revision: Revision) -> None:
        """``principal``: who opened it, and alone may use it."""
        self.id = id_
        self.session = session
        self.principal = principal
        self.revision = revision
        self.used = time.monotonic()
        self.aside = Stream(workers, revision, takes_more=True, kept=True)
        self.aside.can_ask = False
        self.streams: dict[int, Stream] = {0: self.aside}
        self._numbers = 0

    def keep(self, stream: Stream) -> None:
        """Give the stream a number by which the client can come back to it; forget the oldest that have ended."""
        self._numbers += 1
        stream.number = self._numbers
        self.streams[stream.number] = stream
        ended = [stream for stream in self.streams.values() if stream.done and not stream.is_attached]
        size = sum(stream.size for stream in ended)
        for count, old in enumerate(ended):
            if len(ended) - count <= _MOST_KEPT_STREAMS and size <= _MOST_KEPT_BYTES:
                break
            size -= old.size
            del self.streams[old.number]

    @property
    def is_busy(self) -> bool:
        """Whether a request is worked on, or the client listens."""
        return self.session.in_flight > 0 or any(stream.is_attached for stream in self.streams.values())
