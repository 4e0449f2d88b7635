"""Runs a duplex connection: events to handlers, answers to frames.

``serve`` drives a duplex door. A few threads, the hands, take turns: the one whose turn it is reads; what it gets it
works on itself; if that takes longer than most calls do, another takes the turn from it. So a call waits for no other
thread to wake up (which costs more than most calls), and a cancellation can still overtake the call it cancels. The
caller's own thread works on nothing: it waits for the end, and hears signals. What happens to a call besides is the
``workers``' matter.

A client that does not read its answers is, once the pipe is full, not read from either: memory stays bounded.
"""

from __future__ import annotations

import threading

from vaultwire.protocol.events import Exit
from vaultwire.server.workers import READERS, Workers, log_crash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from vaultwire.protocol.session import Session
    from vaultwire.server.tasks import Task
    from vaultwire.server.workers import Methods

    class Entry(Protocol):
        """A second way in, for frames that came on the stream and found nobody to take them there."""

        def __call__(self, frame: bytes, is_known: bool, /) -> None:
            """Take a frame. ``is_known``: only take note of it, its answer has been given."""

    class Stream(Protocol):
        """A duplex door's bytes, cut into frames."""

        def receive(self) -> bytes | None:
            """Wait for the next frame; None when the peer will send no more. Raises FrameTooLarge and goes on after it."""

        def send(self, frame: bytes) -> None:
            """Send one frame, whole. A peer that is gone is no error: ``receive`` will say so."""


# One more, so that somebody always reads.
_HANDS = READERS + 1

# Waking a hand for each call would take the interpreter from the one that works, for 0.1 ms. So one looks on, this often ...
_LOOK_SECONDS = 0.01
# ... while calls come, and for so many looks more.
_LAST_LOOKS = 20


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
    lend: Callable[[Entry], None] | None = None,
) -> None:
    """Serve one duplex connection until the peer ends it, then finish what is in flight and return.

    ``on_ready`` is called once, on a thread of its own, when the first answer is out: what would delay it belongs there,
    and what goes on beside the calls. ``on_end`` tells it to come to its end, which is waited for. ``lend`` is given the
    connection's second way in.
    """
    connection = _Connection(stream, session, handlers, on_ready)
    handlers.subscriptions.attach(connection, session, connection)
    if lend is not None:
        lend(connection.enter)
    connection.start()
    connection.drain()
    if on_end is not None:
        on_end()
    connection.join()


class _Turn:
    """Whose turn it is to read. Who works with the turn in hand loses it after a while, if somebody waits for it."""

    def __init__(self) -> None:
        self.waiting = 0
        self._turn = threading.Lock()
        self._lock = threading.Lock()  # what follows
        self._works = 0  # pieces of work begun by whoever had the turn
        self._kept = 0  # the number of the one that is done with the turn in hand
        self._is_watched = False  # somebody who waits looks on, and takes the turn from work that goes on and on

    def take(self) -> None:
        """Wait for the turn."""
        with self._lock:
            self.waiting += 1
            watches, self._is_watched = not self._is_watched, True
        if not (watches and self._look_on()):
            self._turn.acquire()
        with self._lock:
            self.waiting -= 1

    def _look_on(self) -> bool:
        """Return True with the turn, False when no work has been begun for a while."""
        seen, looks = self._works, 0
        while not self._turn.acquire(timeout=_LOOK_SECONDS):
            with self._lock:
                if self._works != seen:
                    seen, looks = self._works, 0
                elif self._kept:
                    self._kept = 0
                    break
                elif looks == _LAST_LOOKS:
                    self._is_watched = False
                    return False
                looks += 1
        with self._lock:
            self._is_watched = False
        return True

    def keep(self) -> int:
        """Begin a piece of work, with the turn in hand if somebody looks on, else without; return its number for ``regain``."""
        with self._lock:
            self._works += 1
            if self._is_watched:
                self._kept = self._works
                return self._kept
        self._turn.release()
        return 0

    def regain(self, number: int) -> bool:
        """End a piece of work; tell whether the turn still is in hand."""
        with self._lock:
            if not number or self._kept != number:
                return False
            self._kept = 0
            return True

    def pass_on(self) -> None:
        """Give up the turn."""
        self._turn.release()


class _Connection(Workers):
    """One peer: its session, its hands, and the outlet of all its calls."""

    def __init__(
        self, stream: Stream, session: Session, handlers: Methods, on_ready: Callable[[], None] | None
    ) -> None:
        super().__init__(handlers)
        self.session = session
        self.can_ask = True
        self._stream = stream
        self._on_ready = on_ready
        self._beside: threading.Thread | None = None
        self._turn = _Turn()
        self._hands = 0  # without those of abandoned tasks
        self._has_ended = False

    # ------------------------------------------------------------------ the caller's thread

    def start(self) -> None:
        """Have the connection read."""
        with self.lock:
            self._add_hand()

    def drain(self) -> None:
        """Wait until the peer ends the connection, and then until every task has ended or passed its deadline."""
        with self._ended:
            while self._tasks or not self._has_ended:
                self._ended.wait()

    def join(self) -> None:
        """Wait for what goes on beside the calls: a thread frozen while it imports holds a lock the process's end needs."""
        if self._beside is not None:
            self._beside.join()

    # ------------------------------------------------------------------ hands

    def _add_hand(self) -> None:
        """Start one more hand. Holds the lock."""
        self._hands += 1
        threading.Thread(target=self._lend_hand, daemon=True, name="vaultwire-hand").start()

    def _lend_hand(self) -> None:
        """Take turns until the connection ends: read, work."""
        has_turn = False
        while True:
            if not has_turn:
                self._turn.take()
            try:
                task = None if self._has_ended else self._read_until_task()
            except Exception:  # noqa: BLE001 - a connection nobody reads must not look alive
                log_crash("the connection")
                task = None
            if task is None:
                with self._ended:
                    self._has_ended = True
                    self.awaited += 1  # before, the end of a task is no news to anybody
                    self.can_ask = False
                    self.wake_asking()
                    self._ended.notify_all()
                self._turn.pass_on()
                return
            number = self._turn.keep()
            self.run(task)
            has_turn = self._turn.regain(number)
            if task.is_abandoned:  # another hand has taken this one's place
                if has_turn:
                    self._turn.pass_on()
                return

    def _read_until_task(self) -> Task | None:
        """Receive and act until there is a task for this hand; None once the peer sends no more or asks us to end."""
        while True:
            try:
                frame = self._stream.receive()
            except FrameTooLarge as error:
                with self.lock:
                    events = self.session.receive_oversized(error.limit)
            else:
                if frame is None:
                    return None
                with self.lock:
                    events = self.session.receive(frame)
            tasks = [task for event in events if (task := self.act(event, self.session, self)) is not None]
            is_last = any(isinstance(event, Exit) for event in events)  # in a batch there may be more beside it
            mine = tasks.pop() if tasks and not is_last and self._has_successor() else None
            for task in tasks:
                self.read_queue.put(task)
            if mine is not None or is_last:
                return mine

    def _has_successor(self) -> bool:
        """Tell whether another hand will read if this one works; adds a hand for that if there may be more."""
        with self.lock:
            if not self._turn.waiting and self._hands < _HANDS:
                self._add_hand()
                return True
            return self._turn.waiting > 0

    def enter(self, frame: bytes, is_known: bool) -> None:
        """Take a frame that did not come on the stream, or no more. Safe from any thread."""
        with self.lock:
            events = self.session.receive(frame)
        for event in events if not is_known else ():
            task = self.act(event, self.session, self)
            if task is not None:
                self.read_queue.put(task)

    # ------------------------------------------------------------------ out (all hold the lock)

    def send(self, frame: bytes) -> None:
        """Send what the session made."""
        self._stream.send(frame)
        if self._on_ready is not None:
            self._beside = threading.Thread(target=self._on_ready, name="vaultwire-beside")
            self._on_ready = None
            self._beside.start()

    def answer(self, frame: bytes, code: int | None) -> None:  # noqa: ARG002 - this door has no use for it
        """Send an answer."""
        self.send(frame)

    def abandon(self) -> None:
        """Nothing to do: the connection goes on."""

    def hang_up(self) -> None:
        """Nothing to do: there is one stream and it stays."""

    def lose_thread(self) -> None:
        """Count no longer on a hand that may never come back. Holds the lock."""
        self._hands -= 1
