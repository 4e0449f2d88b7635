"""Work on its way: jobs, the threads that run them, their deadlines and their end. Every door's calls pass through here.

Reading calls run side by side; calls that change the vault run on one thread of their own, whoever they come from, and so
are applied in the order in which they came. A watchdog answers for calls that pass their deadline. Where answers go is an
``Outlet``'s matter, who reads requests the doors' (``dispatcher``, ``exchange``). Threads are started here, in
``lanes`` and in ``dispatcher``.
"""

from __future__ import annotations

import sys
import threading
import time

from vaultwire.protocol.events import Answered, Call, Cancel, Send
from vaultwire.protocol.jsonrpc import INTERNAL_ERROR
from vaultwire.server.handlers import INTERNAL, Job, Refusal, Result
from vaultwire.server.lanes import Lane
from vaultwire.server.subscriptions import Listening
from vaultwire.vault.errors import TIMEOUT, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any, Protocol

    from vaultwire.protocol.events import Event, Question, Request
    from vaultwire.protocol.messages import Json, JsonObject
    from vaultwire.protocol.session import Session
    from vaultwire.server.handlers import Answer, Handlers
    from vaultwire.tools.registry import Ask

    class Outlet(Protocol):
        """Where the frames of one exchange go. Called while the workers' lock is held: it must not wait for long."""

        can_ask: bool
        """Whether a question of ours would reach the client."""

        def send(self, frame: bytes) -> None:
            """Send a frame that is not the last. A peer that is gone is no error."""

        def answer(self, frame: bytes, code: int | None) -> None:
            """Send the answer; ``code`` is its error's, None if it is none."""

        def abandon(self) -> None:
            """Take note that there will be no answer: the request was cancelled."""

        def hang_up(self) -> None:
            """Let the client ask for the rest later, where it can (2025-11-25, "Sending Messages to the Server")."""


# Reading calls at once. Python runs one at a time; a second hides the waiting for the disk of a first, more hide little.
READERS = 4

# A call that takes no longer costs less than handing it to a thread and its answer back (which takes 60 µs when nothing
# else goes on, and up to 5 ms when Python has to be talked into changing threads), and holds nobody up.
_QUICK_SECONDS = 0.001
# How much of the slowest late call of a tool still counts one call later: a tool that took 50 ms once is watched for the
# next forty calls.
_STILL_COUNTS = 0.9

# A person who is asked something reads it, thinks and types; after this long they have left the desk.
ASKING_SECONDS = 600.0


class Task:
    """One job on its way; what the job sees of it is ``Client``."""

    def __init__(self, workers: Workers, session: Session, request: Request, job: Job, outlet: Outlet) -> None:
        self.workers = workers
        self.session = session
        self.request = request
        self.job = job
        self.outlet = outlet
        self.lane: Lane | None = None  # None: a thread that is not a lane's works on it
        self.has_started = False
        self.is_abandoned = False  # past its deadline while it ran: its thread may never come back
        self.deadline = time.monotonic() + job.seconds
        self.stopped = False  # cancelled or past the deadline: nobody waits for the answer
        self.woken: threading.Event | None = None  # while it waits for the client's answers
        self.is_at_once = False  # runs on the thread that reads, which must not wait

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What the client said it can do."""
        return self.request.capabilities if self.outlet.can_ask else {}

    def check(self) -> None:
        """Raise ``Stopped`` once nobody waits for the answer."""
        if self.stopped:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        """Tell the client how far the work is, if it asked to be told."""
        if self.request.progress_token is not None:
            with self.workers.lock:
                self._send(self.session.report(self.request, done, total, message))

    def log(self, level: str, data: Json, logger: str = "vaultwire.tools") -> None:
        """Send the client a log message, if it asked for those of this level."""
        with self.workers.lock:
            self._send(self.session.log(self.request, level, logger, data))

    def hang_up(self) -> None:
        """Have the client ask for the rest of the answer later, where door and revision know how."""
        with self.workers.lock:
            if not self.stopped:
                self.outlet.hang_up()

    def ask(self, wanted: Mapping[str, Ask]) -> dict[str, JsonObject]:
        """Ask the client and wait. Raises VaultError when it refuses, ``Stopped``, and CapabilityMissing."""
        from vaultwire.tools.registry import check_answers, check_capabilities  # noqa: PLC0415 - loaded with the tools

        check_capabilities(wanted, self.capabilities)
        if self.is_at_once:
            raise _MustWait
        woken = threading.Event()
        with self.workers.lock:
            questions: dict[str, Question] = {}
            left = self.deadline - time.monotonic()
            self.woken, self.deadline = woken, time.monotonic() + ASKING_SECONDS
            for key, ask in wanted.items():
                questions[key], frame = self.session.ask(ask.method, ask.params)
                questions[key].waiting = woken
                self._send(frame)
        if self.lane is not None:
            self.lane.lend_thread()
        try:
            while not self.stopped and self.outlet.can_ask and not all(map(_is_answered, questions.values())):
                woken.wait()
                woken.clear()
        finally:
            if self.lane is not None:
                self.lane.take_back_thread()
            with self.workers.lock:
                self.woken = None
                for question in questions.values():
                    self.session.forget(question)
                if not self.stopped:
                    self.deadline = time.monotonic() + left
                    self.workers.watch(self)
        self.check()
        return check_answers(wanted, {key: (question.result, question.error) for key, question in questions.items()})

    def stop(self) -> None:
        """Tell the work that nobody waits for it. Holds the lock."""
        self.stopped = True
        if self.woken is not None:
            self.woken.set()

    def _send(self, frame: bytes | None) -> None:
        if frame is not None and not self.stopped:
            self.outlet.send(frame)


def _is_answered(question: Question) -> bool:
    return question.result is not None or question.error is not None


class _MustWait(BaseException):
    """Work begun on the thread that reads turns out to wait for the client. No Exception: tools catch those."""


class Workers:
    """The tasks of one door and the lock that orders them, the sessions they belong to, and what goes out."""

    def __init__(self, handlers: Handlers) -> None:
        self.lock = threading.Lock()
        self.handlers = handlers
        self._tasks: dict[Request, Task] = {}
        self._ended = threading.Condition(self.lock)  # a task ended; the drain waits for that
        # A deadline came that is earlier than those the watchdog knows. Apart from the other: waking the watchdog at every
        # call would double what a call costs.
        self._earlier = threading.Condition(self.lock)
        self._watched_until = 0.0  # when the watchdog looks again; 0.0: it has not been started
        self._changing_lane = Lane(self.run, 1)
        self.reading_lane = Lane(self.run, READERS)
        self._paces: dict[str, float] = {}  # the seconds that each kind of reading job may be expected to take

    def act(self, event: Event, session: Session, outlet: Outlet) -> Task | None:
        """Do what the event asks for; return the task of a reading call, which somebody has to take."""
        match event:
            case Send(frame, code):
                with self.lock:
                    outlet.answer(frame, code)
            case Call(request):
                return self._call(request, session, outlet)
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
            log_crash(request.method)
            answer = Refusal(INTERNAL_ERROR, "Internal error; the server's log says more", {"errorCode": INTERNAL})
        if isinstance(answer, Listening):
            with self.lock:
                self.handlers.subscriptions.listen(self, session, outlet, request, answer)
            return None
        if not isinstance(answer, Job):
            with self.lock:
                self._answer(session, request, answer, outlet)
            return None
        task = Task(self, session, request, answer, outlet)
        with self.lock:
            self._tasks[request] = task
            self.watch(task)
        if not answer.changes_vault:
            return task
        self._changing_lane.put(task)
        return None

    # ------------------------------------------------------------------ on the threads

    def run_soon(self, task: Task) -> None:
        """Run a reading task: at once if such tasks are quick, else on a thread. For doors whose one thread must not wait.

        Only what looks at single files runs at once: what a search takes depends on what is searched for.
        """
        if task.job.is_bounded and self._paces.get(task.job.name, 1.0) < _QUICK_SECONDS:
            task.is_at_once = True
            try:
                self.run(task)
            except _MustWait:  # it has changed nothing yet, and is begun anew
                task.is_at_once = False
                self._paces[task.job.name] = float("inf")
            else:
                return
        self.reading_lane.put(task)

    def run(self, task: Task) -> None:
        """Run the task's job and send its answer, if anybody still waits for it."""
        job = task.job
        answer: Answer | None = None
        with self.lock:
            task.has_started = True
        started = time.perf_counter()
        try:
            if not task.stopped:  # cancelled or timed out while it waited for a thread
                answer = job.run(task)
        except Stopped:
            pass
        except Exception:  # noqa: BLE001 - whatever it is, the client must get an answer
            answer = _crashed(job)
        if job.is_bounded:
            took = time.perf_counter() - started
            self._paces[job.name] = max(took, self._paces.get(job.name, 0.0) * _STILL_COUNTS)
        with self.lock:
            if self._tasks.pop(task.request, None) is not None:
                self._ended.notify_all()
            if answer is None or task.stopped:
                return
            self._log(task, answer)
            try:
                self._answer(task.session, task.request, answer, task.outlet)
            except (TypeError, ValueError):  # not JSON; nothing went out
                self._answer(task.session, task.request, _crashed(job), task.outlet)

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
        self._ended.notify_all()
        if task.has_started:  # one that still waits for a thread is skipped when its turn comes
            task.is_abandoned = True
            if task.lane is not None:
                task.lane.replace_thread()
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
        match answer:
            case Result(value):
                frame, code = session.reply(request, value), None
            case Refusal(code, message, data):
                frame = session.refuse(request, code, message, data)
        if frame is not None:
            outlet.answer(frame, code)

    def _log(self, task: Task, answer: Answer) -> None:
        """Tell a client that asked for log messages how the call went."""
        failed = isinstance(answer, Refusal) or answer.value.get("isError") is True
        level = "warning" if failed else "debug"
        frame = task.session.log(task.request, level, "vaultwire.tools", {"tool": task.job.name, "failed": failed})
        if frame is not None:
            task.outlet.send(frame)


def _crashed(job: Job) -> Answer:
    """Log the exception at hand and return what the client is told of it."""
    log_crash(job.name)
    return job.give_up(INTERNAL, f"{job.name} failed inside the server; the server's log says more.")


def log_crash(what: str) -> None:
    """Put the traceback of the exception at hand on stderr, where clients keep their servers' logs."""
    import traceback  # noqa: PLC0415 - only when something crashed

    if sys.stderr is not None:
        sys.stderr.write(f"vaultwire: {what} crashed\n{traceback.format_exc()}")
