"""Runs a connection: events to handlers, answers to frames. The only module that starts a thread.

``serve`` drives a duplex door. A few threads, the hands, take turns: the one whose turn it is reads; what it gets it
works on itself, after passing the turn on. So a call waits for no other thread to wake up (which costs more than most
calls), and a cancellation can still overtake the call it cancels. Calls that change the vault go to one thread of their
own and so are applied in the order in which they came. A watchdog answers for calls that pass their deadline. The
caller's own thread works on nothing: it waits for the end, and hears signals.

A client that does not read its answers is, once the pipe is full, not read from either: memory stays bounded.
"""

from __future__ import annotations

import sys
import threading
import time

from vaultwire.protocol.events import Call, Cancel, Exit, Send
from vaultwire.protocol.jsonrpc import INTERNAL_ERROR
from vaultwire.server.handlers import INTERNAL, Job, Refusal, Result
from vaultwire.vault.errors import TIMEOUT, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from vaultwire.protocol.events import Event, Request
    from vaultwire.protocol.session import Session
    from vaultwire.server.handlers import Answer, Handlers

    class Stream(Protocol):
        """A duplex door's bytes, cut into frames."""

        def receive(self) -> bytes | None:
            """Wait for the next frame; None when the peer will send no more. Raises FrameTooLarge and goes on after it."""

        def send(self, frame: bytes) -> None:
            """Send one frame, whole. A peer that is gone is no error: ``receive`` will say so."""


# Reading calls at once. Python runs one at a time; a second hides the waiting for the disk of a first, more hide little.
_READERS = 4
# One more, so that somebody always reads.
_HANDS = _READERS + 1


class FrameTooLarge(Exception):  # noqa: N818 - says what happened to the frame
    """The peer sent a frame beyond ``limit`` bytes. It was thrown away; the next one can be received."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"frame of more than {limit} bytes")
        self.limit = limit


def serve(
    stream: Stream,
    session: Session,
    handlers: Handlers,
    on_ready: Callable[[], None] | None = None,
    on_end: Callable[[], None] | None = None,
) -> None:
    """Serve one duplex connection until the peer ends it, then finish what is in flight and return.

    ``on_ready`` is called once, on a thread of its own, when the first answer is out: what would delay it belongs there,
    and what goes on beside the calls. ``on_end`` tells it to come to its end, which is waited for.
    """
    connection = _Connection(stream, session, handlers, on_ready)
    connection.start()
    connection.drain()
    if on_end is not None:
        on_end()
    connection.join()


class _Task:
    """One job on its way; what the job sees of it is ``Progress``."""

    def __init__(self, connection: _Connection, request: Request, job: Job) -> None:
        self.connection = connection
        self.request = request
        self.job = job
        self.lane: _Lane | None = None  # None: a hand works on it
        self.has_started = False
        self.is_abandoned = False  # past its deadline while it ran: its thread may never come back
        self.deadline = time.monotonic() + job.seconds
        self.stopped = False  # cancelled or past the deadline: nobody waits for the answer

    def check(self) -> None:
        """Raise ``Stopped`` once nobody waits for the answer."""
        if self.stopped:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        """Tell the client how far the work is, if it asked to be told."""
        if self.request.progress_token is not None:
            connection = self.connection
            with connection.lock:
                connection.send(connection.session.report(self.request, done, total, message))


class _Lane:
    """A queue of tasks and the threads that take from it, started when they are first needed."""

    def __init__(self, connection: _Connection, most: int) -> None:
        self._connection = connection
        self._most = most
        self._waiting: list[_Task] = []
        self._threads = 0  # without those of abandoned tasks
        self._idle = 0
        self._ready = threading.Condition(threading.Lock())

    def put(self, task: _Task) -> None:
        """Have the task run as soon as a thread is free."""
        with self._ready:
            self._waiting.append(task)
            if self._idle >= len(self._waiting):
                self._ready.notify()
            elif self._threads < self._most:
                self._start_thread()

    def replace_thread(self) -> None:
        """Count no longer on the thread of a task that was abandoned: what waits behind it must not wait with it."""
        with self._ready:
            self._threads -= 1
            if self._waiting:
                self._start_thread()

    def _start_thread(self) -> None:
        """Add a thread. Holds the lock."""
        self._threads += 1
        threading.Thread(target=self._work, daemon=True, name="vaultwire-worker").start()

    def _work(self) -> None:
        while True:
            with self._ready:
                self._idle += 1
                while not self._waiting:
                    self._ready.wait()
                self._idle -= 1
                task = self._waiting.pop(0)
            self._connection.run(task)
            if task.is_abandoned:
                return  # another thread has taken this one's place


class _Connection:
    """One peer: its session, its tasks and the lock that orders both."""

    def __init__(
        self, stream: Stream, session: Session, handlers: Handlers, on_ready: Callable[[], None] | None
    ) -> None:
        self.session = session
        self.lock = threading.Lock()  # the session, the tasks, and what goes out in which order
        self._stream = stream
        self._handlers = handlers
        self._on_ready = on_ready
        self._beside: threading.Thread | None = None
        self._tasks: dict[Request, _Task] = {}
        self._ended = threading.Condition(self.lock)  # a task ended; the drain waits for that
        # A deadline came that is earlier than those the watchdog knows. Apart from the other: waking the watchdog at every
        # call would double what a call costs.
        self._earlier = threading.Condition(self.lock)
        self._watched_until = 0.0  # when the watchdog looks again; 0.0: it has not been started
        self._changing_lane = _Lane(self, 1)
        self._spare_lane = _Lane(self, _READERS)  # reading calls that no hand can take: all are busy, or a batch
        self._turn = threading.Lock()  # the hand that holds it reads
        self._hands = 0  # without those of abandoned tasks
        self._followers = 0  # hands that wait for their turn
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
        """Take turns until the connection ends: read, pass the turn on, work."""
        while True:
            with self.lock:
                self._followers += 1
            with self._turn:
                with self.lock:
                    self._followers -= 1
                try:
                    task = None if self._has_ended else self._read_until_task()
                except Exception:  # noqa: BLE001 - a connection nobody reads must not look alive
                    _log_crash("the connection")
                    task = None
                if task is None:
                    with self._ended:
                        self._has_ended = True
                        self._ended.notify_all()
                    return
            self.run(task)
            if task.is_abandoned:
                return  # another hand has taken this one's place

    def _read_until_task(self) -> _Task | None:
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
            tasks = [task for event in events if (task := self._act(event)) is not None]
            is_last = any(isinstance(event, Exit) for event in events)  # in a batch there may be more beside it
            mine = tasks.pop() if tasks and not is_last and self._has_successor() else None
            for task in tasks:
                task.lane = self._spare_lane
                task.lane.put(task)
            if mine is not None or is_last:
                return mine

    def _has_successor(self) -> bool:
        """Tell whether another hand will read if this one works; adds a hand for that if there may be more."""
        with self.lock:
            if not self._followers and self._hands < _HANDS:
                self._add_hand()
                return True
            return self._followers > 0

    def _act(self, event: Event) -> _Task | None:
        """Do what the event asks for; return the task of a reading call, which somebody has to take."""
        match event:
            case Send(frame):
                with self.lock:
                    self.send(frame)
            case Call(request):
                return self._call(request)
            case Cancel(request):
                with self.lock:
                    task = self._tasks.get(request)
                    if task is not None:
                        task.stopped = True
        return None

    def _call(self, request: Request) -> _Task | None:
        try:
            answer = self._handlers.handle(request, self.session.dialect)
        except Exception:  # noqa: BLE001 - whatever it is, the client must get an answer
            _log_crash(request.method)
            answer = Refusal(INTERNAL_ERROR, "Internal error; the server's log says more", {"errorCode": INTERNAL})
        if not isinstance(answer, Job):
            with self.lock:
                self._answer(request, answer)
            return None
        task = _Task(self, request, answer)
        with self.lock:
            self._tasks[request] = task
            self._watch(task)
        if not answer.changes_vault:
            return task
        task.lane = self._changing_lane
        task.lane.put(task)
        return None

    # ------------------------------------------------------------------ workers

    def run(self, task: _Task) -> None:
        """Run the task's job and send its answer, if anybody still waits for it."""
        job = task.job
        answer: Answer | None = None
        with self.lock:
            task.has_started = True
        try:
            if not task.stopped:  # cancelled or timed out while it waited for a thread
                answer = job.run(task)
        except Stopped:
            pass
        except Exception:  # noqa: BLE001 - whatever it is, the client must get an answer
            answer = _crashed(job)
        with self.lock:
            if self._tasks.pop(task.request, None) is not None:
                self._ended.notify_all()
            if answer is None or task.stopped:
                return
            self._log(task, answer)
            try:
                self._answer(task.request, answer)
            except (TypeError, ValueError):  # not JSON; nothing went out
                self._answer(task.request, _crashed(job))

    # ------------------------------------------------------------------ the watchdog

    def _watch(self, task: _Task) -> None:
        """Have the watchdog look when the task's deadline comes. Holds the lock."""
        if not self._watched_until:
            self._watched_until = task.deadline
            threading.Thread(target=self._watchdog, daemon=True, name="vaultwire-watchdog").start()
        elif task.deadline < self._watched_until:
            self._watched_until = task.deadline
            self._earlier.notify()

    def _watchdog(self) -> None:
        with self.lock:
            while True:
                now = time.monotonic()
                for task in [task for task in self._tasks.values() if task.deadline <= now]:
                    self._time_out(task)
                # With nothing to watch: asleep until a task comes, which _watch makes known.
                self._watched_until = min((task.deadline for task in self._tasks.values()), default=float("inf"))
                self._earlier.wait(None if self._watched_until == float("inf") else self._watched_until - now)

    def _time_out(self, task: _Task) -> None:
        """Answer for a task whose time is up; if it ever ends, its own answer is dropped."""
        task.stopped = True
        del self._tasks[task.request]
        self._ended.notify_all()
        if task.has_started:  # one that still waits for a thread is skipped when its turn comes
            task.is_abandoned = True
            if task.lane is not None:
                task.lane.replace_thread()
            else:
                self._hands -= 1
        job = task.job
        unsure = " It may still have happened: read the note to see." if job.changes_vault else ""
        message = f"{job.name} took longer than {job.seconds:g} seconds and was stopped.{unsure}"
        self._answer(task.request, job.give_up(TIMEOUT, message))

    # ------------------------------------------------------------------ out (all hold the lock)

    def send(self, frame: bytes | None) -> None:
        """Send what the session made, if it made anything."""
        if frame is None:
            return
        self._stream.send(frame)
        if self._on_ready is not None:
            self._beside = threading.Thread(target=self._on_ready, name="vaultwire-beside")
            self._on_ready = None
            self._beside.start()

    def _answer(self, request: Request, answer: Answer) -> None:
        match answer:
            case Result(value):
                self.send(self.session.reply(request, value))
            case Refusal(code, message, data):
                self.send(self.session.refuse(request, code, message, data))

    def _log(self, task: _Task, answer: Answer) -> None:
        """Tell a client that asked for log messages how the call went."""
        failed = isinstance(answer, Refusal) or answer.value.get("isError") is True
        level = "warning" if failed else "debug"
        data = {"tool": task.job.name, "failed": failed}
        self.send(self.session.log(task.request, level, "vaultwire.tools", data))


def _crashed(job: Job) -> Answer:
    """Log the exception at hand and return what the client is told of it."""
    _log_crash(job.name)
    return job.give_up(INTERNAL, f"{job.name} failed inside the server; the server's log says more.")


def _log_crash(what: str) -> None:
    """Put the traceback of the exception at hand on stderr, where clients keep their servers' logs."""
    import traceback  # noqa: PLC0415 - only when something crashed

    if sys.stderr is not None:
        sys.stderr.write(f"vaultwire: {what} crashed\n{traceback.format_exc()}")
