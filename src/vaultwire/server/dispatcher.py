"""The dispatcher of a duplex connection: one thread reads frames, the session makes events of them, the workers act on these.

Not how calls run (``workers``), and not the bytes of a door (``transports.stdio``). The reader never works on a call, so a
cancellation overtakes the call that it cancels. The caller's thread only waits for the end, and hears signals.

A client that does not read its answers is not read from either once the pipe is full: the thread that sends holds the lock
that the reader needs, so memory stays bounded.
"""

from __future__ import annotations

import threading

from vaultwire.protocol.events import Exit
from vaultwire.server.results import FrameSink
from vaultwire.server.workers import Workers, log_crash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol, TypeAlias

    from vaultwire.protocol.events import Event
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Methods

    Entry: TypeAlias = Callable[[bytes, bool], None]
    """A second way in, for frames that came on the stream and found nobody to take them there (``_Connection.enter``)."""

    class Stream(Protocol):
        """A duplex door's bytes, cut into frames."""

        def receive(self) -> bytes | None:
            """Wait for the next frame; None when the peer will send no more. Raises FrameTooLarge and goes on after it."""

        def send(self, frame: bytes) -> None:
            """Send one frame, whole. A peer that is gone is no error: ``receive`` will say so."""


class FrameTooLarge(Exception):  # noqa: N818 - says what happened to the frame
    """The peer sent a frame beyond ``limit`` bytes. It was thrown away; the next one can be received."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"frame of more than {limit} bytes")
        self.limit = limit


def serve(
    stream: Stream,
    session: Session,
    handlers: Methods,
    on_ready: Callable[[], None] | None = None,
    on_end: Callable[[], None] | None = None,
    attach: Callable[[Entry], None] | None = None,
) -> None:
    """Serve one duplex connection until the peer ends it, then finish what is in flight and return.

    ``on_ready`` is called once, on a thread of its own, when the first answer is out: work that would delay the answer, and
    work that goes on beside the calls. ``on_end`` tells that work to end; its end is waited for. ``attach`` is given the
    connection's second way in.
    """
    connection = _Connection(stream, session, handlers, on_ready)
    handlers.subscriptions.attach(connection.lock, session, connection)
    if attach is not None:
        attach(connection.enter)
    connection.drain()
    if on_end is not None:
        on_end()
    connection.join()


class _Connection(Workers, FrameSink):
    """One peer: its session, its reader, and the sink of all its calls."""

    def __init__(
        self, stream: Stream, session: Session, handlers: Methods, on_ready: Callable[[], None] | None
    ) -> None:
        super().__init__(handlers)
        self.session = session
        self.can_ask = True
        self._stream = stream
        self._on_ready = on_ready
        self._background: threading.Thread | None = None
        self._input_ended = threading.Event()

    # ------------------------------------------------------------------ the caller's thread

    def drain(self) -> None:
        """Read until the peer ends the connection, then wait until every task has ended or passed its deadline."""
        threading.Thread(target=self._read, daemon=True, name="vaultwire-reader").start()
        self._input_ended.wait()
        self.wait_until_idle()

    def join(self) -> None:
        """Wait for the background work: a thread frozen while it imports holds a lock the process's end needs."""
        if self._background is not None:
            self._background.join()

    # ------------------------------------------------------------------ the reader

    def _read(self) -> None:
        """Receive frames and act on them until the peer sends no more or asks us to end."""
        try:
            while self._read_frame():
                pass
        except Exception:  # noqa: BLE001 - a connection nobody reads must not look alive
            log_crash("the connection")
        with self.lock:
            self.can_ask = False
            self.wake_asking()
        self._input_ended.set()

    def _read_frame(self) -> bool:
        """Receive one frame and act on it; return False if it was the last."""
        try:
            frame = self._stream.receive()
        except FrameTooLarge as error:
            with self.lock:
                events = self.session.receive_oversized(error.limit)
        else:
            if frame is None:
                return False
            with self.lock:
                events = self.session.receive(frame)
        self._act_on(events)
        return not any(isinstance(event, Exit) for event in events)

    def _act_on(self, events: list[Event]) -> None:
        for event in events:
            self.act(event, self.session, self)

    def enter(self, frame: bytes, is_known: bool) -> None:
        """Take a frame that did not come on the stream, or no more. Safe from any thread.

        ``is_known``: only take note of it, its answer has been given.
        """
        with self.lock:
            events = self.session.receive(frame)
        if not is_known:
            self._act_on(events)

    # ------------------------------------------------------------------ out (all hold the lock)

    def send(self, frame: bytes) -> None:
        """Send what the session made."""
        self._stream.send(frame)
        if self._on_ready is not None:
            self._background = threading.Thread(target=self._on_ready, name="vaultwire-background")
            self._on_ready = None
            self._background.start()
