"""Work on its way: jobs, the threads that run them, their deadlines and their end. Every door's calls pass through here.

Reading calls run side by side; calls that change a vault run on one thread of that vault's own, whoever they come from, and
so are applied one by one, each client's in the order in which they came. A watchdog answers for calls that pass their
deadline. Where answers go is an ``Outlet``'s matter, who reads requests the doors' (``dispatcher``, ``mcp_endpoint``). Threads
are started here, in ``lanes`` and in ``dispatcher``.
"""

from __future__ import annotations

import sys
import threading
import time

from vaultwire.protocol.events import Answered, Cancel, Request, Send
from vaultwire.protocol.jsonrpc import INTERNAL_ERROR
from vaultwire.server.answers import INTERNAL, Refusal, Result
from vaultwire.server.lanes import Lane
from vaultwire.server.subscriptions import Listening
from vaultwire.server.tasks import Job, Task, client_of
from vaultwire.vault.errors import TIMEOUT, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Event
    from vaultwire.protocol.session import Session
    from vaultwire.server.answers import Answer
    from vaultwire.server.shapes import Outlet
    from vaultwire.server.subscriptions import Subscriptions

    class Methods(Protocol):
        """What is served (``Handlers``, over a vault)."""

        subscriptions: Subscriptions

        def handle(self, request: Request, dialect: Dialect, /) -> Answer | Job | Listening:
            """Answer the request, or return the job that will, or that it stays open."""

        def describe(self, tool: str) -> Mapping[str, Any] | None:
            """Return a tool's description, None if there is none of this name."""


# Reading calls of one client at once; all together one more, so that none holds up all others. Python runs one at a time; a
# second hides the waiting for the disk of a first, more hide little.
READERS = 4

BUSY = "SERVER_BUSY"
"""The error code of a call that was not begun because too many are."""

_NO_ROOM = "The server waits for clients to read their answers and has no memory for more; try again in a moment."


class Workers:
    """The tasks of one door and the lock that orders them, the sessions they belong to, and what goes out."""

    def __init__(
        self,
        handlers: Methods,
        *,
        most_tasks: float = float("inf"),
        current_id: Callable[[], bytes] = bytes,
        on_crash: Callable[..., None] | None = None,
        has_room: Callable[[int], bool] | None = None,
    ) -> None:
        """``most_tasks``: calls beyond so many under way are refused, for doors whose clients need not wait for answers.

        ``on_crash`` is told ``what`` crashed, while the exception is at hand, and the ``id`` that ``current_id`` gave when
        the call came. ``has_room`` tells whether so many bytes more can be kept for clients, where a client need not take
        an answer to get the next: without room no call begins.
        """
        self.lock = threading.Lock()
        self.handlers = handlers
        self.current_id = current_id
        self._most_tasks = most_tasks
        self._on_crash = on_crash or log_crash
        self._has_room = has_room or (lambda _: True)
        self._tasks: dict[Request, Task] = {}
        self._ended = threading.Condition(self.lock)  # a task ended; the drain waits for that
        self.awaited = 0  # how many wait for that
        # A deadline came that is earlier than those the watchdog knows. Apart from the other: waking the watchdog at every
        # call would double what a call costs.
        self._earlier = threading.Condition(self.lock)
        self._watched_until = 0.0  # when the watchdog looks again; 0.0: it has not been started
        # By the vault's name: a long change in one vault holds up nothing in another.
        self._changing_lanes: dict[str, Lane] = {}
        self.reading_lane = Lane(self.run, READERS + 1, READERS, client_of)
        self.run_soon: Callable[[Task], None] = self.reading_lane.put
        """Have a thread run a reading task. For doors whose one thread reads for all clients and so never runs a task:
        any file may keep its reader waiting, one on a share or in a cloud for as long as the network does."""

    def act(self, event: Event, session: Session, outlet: Outlet) -> Task | None:
        """Do what the event asks for; return the task of a reading call, which somebody has to take."""
        if isinstance(event, Request):  # as most are
            return self._call(event, session, outlet)
        match event:
            case Send(frame, code):
                with self.lock:
                    outlet.answer(frame, code)
            case Cancel(request):
                with self.lock:
                    self._cancel(request)
            case Answered(question):
                with self.lock:
                    if question.waiting is not None:
                        question.waiting.set()
        return None

    def wake_asking(self) -> None:
        """Have the tasks that wait for the client look again whether they still can. Holds the lock."""
        for task in self._tasks.values():
            if task.woken is not None:
                task.woken.set()

    def _cancel(self, request: Request) -> None:
        """Stop the work on a request that will not be answered. Holds the lock."""
        task = self._tasks.get(request)
        if task is not None:
            task.stop()
            task.outlet.abandon()
        else:
            self.handlers.subscriptions.end(request)

    def _call(self, request: Request, session: Session, outlet: Outlet) -> Task | None:
        try:
            answer = self.handlers.handle(request, session.dialect)
        except Exception:  # noqa: BLE001 - whatever it is, the client must get an answer
            self._on_crash(what=request.method, id=self.current_id())
            answer = Refusal(INTERNAL_ERROR, "Internal error; the server's log says more", {"errorCode": INTERNAL})
        if not isinstance(answer, Job):
            with self.lock:
                if isinstance(answer, Listening):
                    self.handlers.subscriptions.listen(self, session, outlet, request, answer)
                else:
                    self._answer(session, request, answer, outlet)
            return None
        task = Task(self, session, request, answer, outlet)
        with self.lock:
            if self._is_too_much(task):
                message = "The server works on too many calls at once; try again when some are done."
                self._answer(session, request, answer.give_up(BUSY, message), outlet)
                return None
            self._tasks[request] = task
            self.watch(task)
        if not answer.changes_vault:
            return task
        self._changing_lane(answer.vault).put(task)
        return None

    def _changing_lane(self, vault: str) -> Lane:
        with self.lock:
            lane = self._changing_lanes.get(vault)
            if lane is None:
                lane = self._changing_lanes[vault] = Lane(self.run, 1, client_of=client_of)
            return lane

    def _is_too_much(self, task: Task) -> bool:
        """Tell whether as many calls are under way as may be; a client alone may have half of them. Holds the lock."""
        if len(self._tasks) * 2 < self._most_tasks:
            return False
        mine = sum(1 for each in self._tasks.values() if client_of(each) == client_of(task))
        return len(self._tasks) >= self._most_tasks or mine * 2 >= self._most_tasks

    # ------------------------------------------------------------------ on the threads

    def run(self, task: Task) -> None:
        """Run the task's job and send its answer, if anybody still waits for it."""
        job = task.job
        answer: Answer | None = None
        task.has_started = True  # then looks whether it was stopped; the watchdog does it the other way round
        try:
            if not task.stopped:  # cancelled or timed out while it waited for a thread
                answer = job.run(task) if self._has_room(0) else job.give_up(BUSY, _NO_ROOM)
        except Stopped:
            pass
        except Exception:  # noqa: BLE001 - whatever it is, the client must get an answer
            answer = self._crashed(task)
        with self.lock:
            if self._tasks.pop(task.request, None) is not None and self.awaited:
                self._ended.notify_all()
            if answer is None or task.stopped:
                return
            if task.session.log_level(task.request) is not None:
                self._log(task, answer)
            try:
                self._answer(task.session, task.request, answer, task.outlet)
            except (TypeError, ValueError):  # not JSON; nothing went out
                self._answer(task.session, task.request, self._crashed(task), task.outlet)

    def _crashed(self, task: Task) -> Answer:
        """Log the exception at hand and return what the client is told of it."""
        name = task.job.name
        self._on_crash(what=name, id=task.id)
        return task.job.give_up(INTERNAL, f"{name} failed inside the server; the server's log says more.")

    def end(self, seconds: float) -> None:
        """Stop what nobody waits for any more, and wait until it has, so many seconds at most.

        A thread that is at work in the index when the process takes that down would bring the process down.
        """
        with self.lock:
            for task in self._tasks.values():
                task.stop()
        self.wait_until_idle(seconds)

    def wait_until_idle(self, seconds: float | None = None) -> None:
        """Wait until every task has ended or passed its deadline, so many seconds at most."""
        with self._ended:
            self.awaited += 1
            self._ended.wait_for(lambda: not self._tasks, seconds)
            self.awaited -= 1

    # ------------------------------------------------------------------ the watchdog

    def watch(self, task: Task) -> None:
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
                # With nothing to watch: asleep until a task comes, which watch makes known.
                self._watched_until = min((task.deadline for task in self._tasks.values()), default=float("inf"))
                self._earlier.wait(None if self._watched_until == float("inf") else self._watched_until - now)

    def _time_out(self, task: Task) -> None:
        """Answer for a task whose time is up; if it ever ends, its own answer is dropped."""
        task.stop()
        del self._tasks[task.request]
        if self.awaited:
            self._ended.notify_all()
        if task.has_started:  # one that still waits for a thread is skipped when its turn comes
            task.is_abandoned = True
            if task.lane is not None:
                task.lane.replace_thread(task)
            else:
                self.lose_thread()
        job = task.job
        unsure = " It may still have happened: read the note to see." if job.changes_vault else ""
        message = f"{job.name} took longer than {job.seconds:g} seconds and was stopped.{unsure}"
        self._answer(task.session, task.request, job.give_up(TIMEOUT, message), task.outlet)

    def lose_thread(self) -> None:
        """Count no longer on the thread of an abandoned task that was in no lane. Holds the lock."""

    # ------------------------------------------------------------------ out (all hold the lock)

    def _answer(self, session: Session, request: Request, answer: Answer, outlet: Outlet) -> None:
        code: int | None = None
        if isinstance(answer, Result):
            frame = session.reply(request, answer.value)
        else:
            code = answer.code
            frame = session.refuse(request, code, answer.message, answer.data)
        if frame is not None:
            outlet.answer(frame, code)

    def _log(self, task: Task, answer: Answer) -> None:
        """Tell a client that asked for log messages how the call went."""
        failed = isinstance(answer, Refusal) or answer.value.get("isError") is True
        level = "warning" if failed else "debug"
        frame = task.session.log(task.request, level, "vaultwire.tools", {"tool": task.job.name, "failed": failed})
        if frame is not None:
            task.outlet.send(frame)


def log_crash(what: str, id: bytes = b"") -> None:  # noqa: A002, ARG001 - a duplex connection's calls have none
    """Put the traceback of the exception at hand on stderr, where clients keep their servers' logs."""
    import traceback  # noqa: PLC0415 - only when something crashed

    if sys.stderr is not None:
        sys.stderr.write(f"vaultwire: {what} crashed\n{traceback.format_exc()}")
