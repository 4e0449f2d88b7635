"""The workers: they run the calls of every door, watch their deadlines and send their answers. They read no requests.

Reading calls run side by side. Calls that change a vault run on one thread of that vault: one by one, each client's in the
order in which they came. A watchdog answers for calls that pass their deadline. An ``Outlet`` takes the answers; the doors
read the requests (``dispatcher``, ``http.mcp_endpoint``). Threads are started here, in ``work_queue`` and in ``dispatcher``.
"""

from __future__ import annotations

import sys
import threading
import time

from vaultwire.protocol.events import Answered, Cancel, Request, Send
from vaultwire.protocol.jsonrpc import INTERNAL_ERROR
from vaultwire.server.results import INTERNAL, Refusal, Result
from vaultwire.server.subscriptions import Listening
from vaultwire.server.tasks import Job, Task, client_of
from vaultwire.server.work_queue import WorkQueue
from vaultwire.vault.errors import TIMEOUT, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Protocol

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Event
    from vaultwire.protocol.session import Session
    from vaultwire.server.outlet import Outlet
    from vaultwire.server.results import Answer
    from vaultwire.server.subscriptions import Subscriptions

    class Methods(Protocol):
        """The methods that are served (``Handlers``)."""

        subscriptions: Subscriptions

        def handle(self, request: Request, dialect: Dialect, /) -> Answer | Job | Listening:
            """Return the answer, the job that makes it, or a ``Listening`` for a request that stays open."""

        def describe(self, tool: str) -> Mapping[str, Any] | None:
            """Return a tool's description, None if there is none of this name."""


# Reading calls of one client that run at once. All clients together may run one more, so that no client holds up all others.
# Python runs one thread at a time; a second uses the time in which the first waits for the disk, more gain little.
READERS = 4

BUSY = "SERVER_BUSY"
"""The error code of a call that was not begun, because too many are under way."""

_NO_ROOM = "The server waits for clients to read their answers and has no memory for more; try again in a moment."


class Workers:
    """The tasks of one door, and the lock that orders them, their sessions and what is sent."""

    def __init__(
        self,
        handlers: Methods,
        *,
        most_tasks: float = float("inf"),
        current_id: Callable[[], bytes] = bytes,
        on_crash: Callable[..., None] | None = None,
        has_room: Callable[[int], bool] | None = None,
    ) -> None:
        """``most_tasks``: more calls than this are refused, for doors whose clients need not wait for answers.

        ``on_crash`` is called in the exception's handler, with ``what`` crashed and the ``id`` that ``current_id`` gave
        when the call came. ``has_room`` tells whether so many more bytes can be kept for clients, for doors whose clients
        need not take an answer to get the next: without room no call begins.
        """
        self.lock = threading.Lock()
        self.handlers = handlers
        self.current_id = current_id
        self._most_tasks = most_tasks
        self._on_crash = on_crash or log_crash
        self._has_room = has_room or (lambda _: True)
        self._tasks: dict[Request, Task] = {}
        self._ended = threading.Condition(self.lock)  # a task has ended
        # A deadline has come that is earlier than those that the watchdog knows. A condition of its own: waking the watchdog
        # at every call would double the cost of a call.
        self._earlier = threading.Condition(self.lock)
        self._watched_until = 0.0  # when the watchdog looks next; 0.0: it has not been started
        # By the vault's name: a long change in one vault holds up nothing in another.
        self._write_queues: dict[str, WorkQueue] = {}
        # A thread that reads requests never runs a task: any file may keep it waiting, a file on a share or in a cloud for as
        # long as the network does.
        self.read_queue = WorkQueue(self.run, READERS + 1, READERS, client_of)

    def act(self, event: Event, session: Session, outlet: Outlet) -> None:
        """Do what the event asks for, or put it into a queue."""
        match event:
            case Request():
                self._call(event, session, outlet)
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

    def wake_asking(self) -> None:
        """Wake the tasks that wait for the client's answers: the client may be gone. Holds the lock."""
        for task in self._tasks.values():
            if task.woken is not None:
                task.woken.set()

    def _cancel(self, request: Request) -> None:
        """Stop the work on a cancelled request. Holds the lock."""
        task = self._tasks.get(request)
        if task is not None:
            task.stop()
            task.outlet.abandon()
        else:
            self.handlers.subscriptions.end(request)

    def _call(self, request: Request, session: Session, outlet: Outlet) -> None:
        try:
            answer = self.handlers.handle(request, session.dialect)
        except Exception:  # noqa: BLE001 - the client must get an answer in any case
            self._on_crash(what=request.method, id=self.current_id())
            answer = Refusal(INTERNAL_ERROR, "Internal error; the server's log says more", {"errorCode": INTERNAL})
        if not isinstance(answer, Job):
            with self.lock:
                if isinstance(answer, Listening):
                    self.handlers.subscriptions.listen(self.lock, session, outlet, request, answer)
                else:
                    self._answer(session, request, answer, outlet)
            return
        task = Task(self, session, request, answer, outlet)
        with self.lock:
            if self._is_too_much(task):
                message = "The server works on too many calls at once; try again when some are done."
                self._answer(session, request, answer.give_up(BUSY, message), outlet)
                return
            self._tasks[request] = task
            self.watch(task)
        if answer.changes_vault:
            self._write_queue(answer.vault).put(task)
        else:
            self.read_queue.put(task)

    def _write_queue(self, vault: str) -> WorkQueue:
        with self.lock:
            queue = self._write_queues.get(vault)
            if queue is None:
                queue = self._write_queues[vault] = WorkQueue(self.run, 1, client_of=client_of)
            return queue

    def _is_too_much(self, task: Task) -> bool:
        """Tell whether too many calls are under way. One client may have half of the most. Holds the lock."""
        if len(self._tasks) * 2 < self._most_tasks:
            return False
        own = sum(1 for each in self._tasks.values() if client_of(each) == client_of(task))
        return len(self._tasks) >= self._most_tasks or own * 2 >= self._most_tasks

    # ------------------------------------------------------------------ on the threads

    def run(self, task: Task) -> None:
        """Run the task's job and send its answer, if the client still waits for it."""
        job = task.job
        answer: Answer | None = None
        task.has_started = True  # before it reads ``stopped``; the watchdog sets ``stopped`` before it reads this
        try:
            if not task.stopped:  # cancelled or timed out while it waited for a thread
                answer = job.run(task) if self._has_room(0) else job.give_up(BUSY, _NO_ROOM)
        except Stopped:
            pass
        except Exception:  # noqa: BLE001 - the client must get an answer in any case
            answer = self._crashed(task)
        with self.lock:
            self._tasks.pop(task.request, None)
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
        """Log the exception that is being handled and return the answer for the client."""
        name = task.job.name
        self._on_crash(what=name, id=task.id)
        return task.job.give_up(INTERNAL, f"{name} failed inside the server; the server's log says more.")

    def end(self, seconds: float) -> None:
        """Stop all tasks and wait until they have ended, so many seconds at most.

        A thread that still works in the index while the process ends would crash the process.
        """
        with self.lock:
            for task in self._tasks.values():
                task.stop()
        self.wait_until_idle(seconds)

    def wait_until_idle(self, seconds: float | None = None) -> None:
        """Wait until every task has ended or passed its deadline, so many seconds at most."""
        with self._ended:
            self._ended.wait_for(lambda: not self._tasks, seconds)

    # ------------------------------------------------------------------ the watchdog

    def watch(self, task: Task) -> None:
        """Have the watchdog look when the task's deadline comes. Holds the lock."""
        if not self._watched_until:
            self._watched_until = task.deadline
            threading.Thread(target=self._watchdog, daemon=True, name="vaultwire-watchdog").start()
        elif task.deadline < self._watched_until:
            self._watched_until = task.deadline
            self._earlier.notify()

    def extend(self, task: Task) -> None:
        """Begin the task's time again, and that of the changes that wait behind it. Holds the lock."""
        now = time.monotonic()
        for each in self._tasks.values():
            if each.job.changes_vault and each.job.vault == task.job.vault:
                each.deadline = max(each.deadline, now + each.job.seconds)

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
        """Answer for a task whose time is up. Its own answer is dropped, if it ever comes."""
        task.stop()
        del self._tasks[task.request]
        self._ended.notify_all()
        if task.has_started:  # else a thread skips it when it takes it
            task.is_abandoned = True
            task.queue.replace_thread(task)
        job = task.job
        unsure = " It may still have happened: read the note to see." if job.changes_vault else ""
        doing = f" It was here: {task.doing}." if task.doing else ""
        message = f"{job.name} took longer than {job.seconds:g} seconds and was stopped.{doing}{unsure}"
        self._answer(task.session, task.request, job.give_up(TIMEOUT, message), task.outlet)

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
        """Send the result of the call as a log message, if the client asked for those."""
        failed = isinstance(answer, Refusal) or answer.value.get("isError") is True
        level = "warning" if failed else "debug"
        frame = task.session.log(task.request, level, "vaultwire.tools", {"tool": task.job.name, "failed": failed})
        if frame is not None:
            task.outlet.send(frame)


def log_crash(what: str, id: bytes = b"") -> None:  # noqa: A002, ARG001 - calls of a duplex connection have none
    """Write the traceback of the exception that is being handled to stderr: clients keep it as the server's log."""
    import traceback  # noqa: PLC0415 - only when something crashed

    if sys.stderr is not None:
        sys.stderr.write(f"vaultwire: {what} crashed\n{traceback.format_exc()}")
