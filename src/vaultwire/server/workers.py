"""The workers: they run the calls of every door, watch their deadlines and send their answers. They read no requests.

Reading calls run side by side. Calls that change a vault run on one thread of that vault: one by one, each client's in the
order in which they came. A watchdog answers for calls that pass their deadline. A ``FrameSink`` takes the answers; the doors
read the requests (``dispatcher``, ``mcp_endpoint``). Threads are started here and in ``dispatcher``.
"""

from __future__ import annotations

import sys
import threading
import time

from vaultwire.protocol.events import Answered, Cancel, Request, Send
from vaultwire.protocol.jsonrpc import INTERNAL_ERROR
from vaultwire.server.results import INTERNAL, Refusal, Result
from vaultwire.server.subscriptions import Listening
from vaultwire.vault.errors import SERVER_BUSY, TIMEOUT, Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
    from typing import Any, Protocol

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Event, Question
    from vaultwire.protocol.jsonrpc import Json, JsonObject
    from vaultwire.protocol.session import Session
    from vaultwire.server.results import Answer, FrameSink
    from vaultwire.server.subscriptions import Subscriptions
    from vaultwire.toolkit.registry import Ask
    from vaultwire.vault.value_types import Confirmation


class MustAsk(Exception):  # noqa: N818 - the work goes on once the person was asked
    """The person has not agreed to this plan yet."""

    def __init__(self, question: Confirmation) -> None:
        super().__init__(question.message)
        self.question = question


class InputRequired(Exception):  # noqa: N818 - an answer, not a failure
    """The work needs the client's answers to these questions."""

    def __init__(self, questions: Mapping[str, Ask]) -> None:
        super().__init__(", ".join(questions))
        self.questions = questions


# A person reads the question, thinks and types. After this long they have left the desk.
ASKING_SECONDS = 600.0


class Job:
    """Work for a worker thread, to be done within ``seconds``.

    ``changes_vault``: jobs that change the same ``vault`` run one at a time, in the order they came.
    """

    __slots__ = ("changes_vault", "give_up", "listed", "name", "offered", "polled_tasks", "run", "seconds", "vault")

    def __init__(
        self,
        name: str,
        run: Callable[[Any], Answer],
        give_up: Callable[[str, str], Answer],
        seconds: float,
        *,
        changes_vault: bool,
        vault: str = "",
    ) -> None:
        """``run`` does the work for a ``toolkit.registry.Client`` and returns the answer.

        ``give_up`` returns the answer for work that crashed or was not done in time, from an error code and a message.
        """
        self.name = name
        self.run = run
        self.give_up = give_up
        self.seconds = seconds
        self.changes_vault = changes_vault
        self.vault = vault
        self.offered: Callable[[], Sequence[dict[str, Any]]] = tuple
        """Returns the tools for ``Client.tools``."""
        self.listed: Callable[[], Collection[str]] = tuple
        """Returns the names for ``Client.listed``."""
        self.polled_tasks: PolledTasks | None = None
        """Where the call goes on as a task when it takes long; None if its client must wait for the answer."""


class Task:
    """One job for one client. The job knows it as a ``Client``."""

    __slots__ = (
        "_done",
        "agreed",
        "answers",
        "deadline",
        "doing",
        "has_started",
        "id",
        "is_abandoned",
        "job",
        "polled",
        "polled_at",
        "queue",
        "request",
        "session",
        "sink",
        "stopped",
        "woken",
        "workers",
    )  # fmt: skip

    def __init__(self, workers: Workers, session: Session, request: Request, job: Job, sink: FrameSink) -> None:
        self.workers = workers
        self.session = session
        self.request = request
        self.job = job
        self.sink = sink
        self.queue: WorkQueue  # the one it was put into
        self.has_started = False
        self.is_abandoned = False  # its deadline passed while it ran: its thread may never come back
        self.deadline = time.monotonic() + job.seconds
        self.polled: PolledTask | None = None
        """What the client asks for the answer; None while it waits for the answer itself."""
        self.polled_at = float("inf") if job.polled_tasks is None else time.monotonic() + job.polled_tasks.seconds
        self._done = 0  # as last reported
        self.doing = ""  # likewise
        self.stopped = False  # cancelled, or its deadline has passed: nobody waits for the answer
        self.woken: threading.Event | None = None  # while it waits for the client's answers
        self.id = workers.current_id()
        self.agreed: set[str] | None = None
        """The keys of the plans to which the person agreed; None where the client does not ask its person for us."""
        self.answers: Mapping[str, Any] | None = None
        """The client's answers in earlier rounds (``call_runner.run_round``); None where it is asked while the call waits."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """The capabilities that the client declared, none where it cannot be asked."""
        return self.request.capabilities if self.sink.can_ask or self.answers is not None else {}

    @property
    def asks_person(self) -> bool:
        """Whether a change can wait until the person agrees to it in the client."""
        return self.agreed is not None

    @property
    def due(self) -> float:
        """When the watchdog has something to do for it."""
        return min(self.deadline, self.polled_at)

    def check(self) -> None:
        """Raise ``Stopped`` once nobody waits for the answer."""
        if self.stopped:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        """Send progress, if the client asked for it. A change that makes progress is not late, nor are those behind it."""
        with self.workers.lock:
            self.doing = message
            if self.job.changes_vault and done != self._done:
                self._done = done
                self.workers.extend(self)
            if self.request.progress_token is not None:
                self._send(self.session.report(self.request, done, total, message))

    def confirm(self, question: Confirmation) -> None:
        """Return if the person agreed to exactly this plan, or need not be asked. Raises MustAsk."""
        if self.agreed is not None and question.key not in self.agreed:
            raise MustAsk(question)

    def log(self, level: str, data: Json, logger: str = "vaultwire.tools") -> None:
        """Send a log message, if the client asked for this level."""
        with self.workers.lock:
            self._send(self.session.log(self.request, level, logger, data))

    def tools(self) -> Sequence[dict[str, Any]]:
        """Return the tools that the client may call."""
        return self.job.offered()

    def listed(self) -> Collection[str]:
        """Return the names of the tools that are listed to the client."""
        return self.job.listed()

    def hang_up(self) -> None:
        """Have the client fetch the rest of the answer later, where door and revision can do that."""
        with self.workers.lock:
            if not self.stopped:
                self.sink.hang_up()

    def ask(self, questions: Mapping[str, Ask]) -> dict[str, JsonObject]:
        """Return the client's answers: those of earlier rounds, else ask and wait.

        Raises VaultError when it refuses or does not answer, ``Stopped``, CapabilityMissing, and InputRequired where the
        questions go out with the result.
        """
        from vaultwire.toolkit.registry import (  # noqa: PLC0415 - loaded with the tools
            check_answers,
            check_capabilities,
            is_answer,
        )

        check_capabilities(questions, self.capabilities)
        if self.answers is not None:
            missing = {key: ask for key, ask in questions.items() if not is_answer(ask, self.answers.get(key))}
            if missing:
                raise InputRequired(missing)
            return {key: self.answers[key] for key in questions}
        woken = threading.Event()
        with self.workers.lock:
            sent: dict[str, Question] = {}
            until = time.monotonic() + ASKING_SECONDS
            left = self.deadline - time.monotonic()
            self.woken, self.deadline = woken, float("inf")  # asking has a time limit of its own
            for key, ask in questions.items():
                sent[key], frame = self.session.ask(ask.method, ask.params)
                sent[key].waiting = woken
                self._send(frame)
        self.queue.replace_thread(self)
        try:
            while not self.stopped and self.sink.can_ask and not all(each.is_answered for each in sent.values()):
                if not woken.wait(until - time.monotonic()):
                    break
                woken.clear()
        finally:
            self.queue.take_back_thread(self)
            with self.workers.lock:
                self.woken = None
                for question in sent.values():
                    self.session.forget(question)
                if not self.stopped:
                    self.deadline = time.monotonic() + left
                    self.workers.watch(self)
        self.check()
        return check_answers(questions, {key: (question.result, question.error) for key, question in sent.items()})

    def stop(self) -> None:
        """Tell the work to stop: nobody waits for it. Holds the lock."""
        self.stopped = True
        if self.woken is not None:
            self.woken.set()

    def _send(self, frame: bytes | None) -> None:
        if frame is not None and not self.stopped:
            self.sink.send(frame)


def client_of(task: Task) -> Hashable:
    """Return the client of a task."""
    return task.request.peer.owner


class WorkQueue:
    """A queue of tasks with its worker threads, which are started when they are first needed. It knows a task's client only.

    Clients take turns (round robin): a client with many tasks waits for its own, and others do not wait for all of them.
    """

    def __init__(
        self,
        run: Callable[[Task], None],
        most: int,
        most_each: int | None = None,
        client_of: Callable[[Task], Hashable] = lambda _: None,
    ) -> None:
        """``most`` tasks run at once, ``most_each`` of one client. A client's tasks begin in the order in which they came."""
        self._run = run
        self._most = most
        self._most_each = most_each or most
        self._client_of = client_of
        self._waiting: dict[Hashable, list[Task]] = {}  # the client whose turn is next comes first
        self._running: dict[Hashable, int] = {}  # without tasks that are abandoned or wait for a person
        self._threads = 0  # without theirs
        self._idle: list[threading.Lock] = []  # of sleeping threads: released to wake one
        self._lock = threading.Lock()

    def put(self, task: Task) -> None:
        """Add a task. It runs as soon as a thread is free and its client has its turn."""
        with self._lock:
            task.queue = self
            self._waiting.setdefault(self._client_of(task), []).append(task)
            self._find_thread()

    def replace_thread(self, task: Task) -> None:
        """Replace the thread of a task that is abandoned or waits for a person: the tasks behind it must not wait for it."""
        with self._lock:
            self._threads -= 1
            self._count(task, -1)
            self._find_thread()

    def take_back_thread(self, task: Task) -> None:
        """Count the thread again. There may be more than the most until one of them has done its task."""
        with self._lock:
            self._threads += 1
            self._count(task, 1)

    def _find_thread(self) -> None:
        """Wake or start one thread if tasks wait. Holds the lock.

        Only one: that thread wakes the next if it leaves tasks behind. Most calls are over before a second thread would be
        awake.
        """
        if not self._waiting:
            return
        if self._idle:
            self._idle.pop().release()
        elif self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._work, daemon=True, name="vaultwire-worker").start()

    def _take(self) -> Task | None:
        """Remove and return the next task, None if none may begin. Holds the lock."""
        for client, tasks in self._waiting.items():
            if self._running.get(client, 0) < self._most_each:
                task = tasks.pop(0)
                del self._waiting[client]
                if tasks:
                    self._waiting[client] = tasks  # behind the others
                self._count(task, 1)
                return task
        return None

    def _count(self, task: Task, count: int) -> None:
        client = self._client_of(task)
        running = self._running.get(client, 0) + count
        # It is below 0 for a moment if a task was abandoned while it waited for a person.
        if running:
            self._running[client] = running
        else:
            self._running.pop(client, None)

    def _work(self) -> None:
        wake_up = threading.Lock()  # released by who wakes this thread
        wake_up.acquire()
        task: Task | None = None
        while True:
            with self._lock:
                if task is not None:
                    self._count(task, -1)
                if self._threads > self._most:  # one that waited for a person is back: one of them ends
                    self._threads -= 1
                    self._find_thread()
                    return
                task = self._take()
                if task is None:
                    self._idle.append(wake_up)
                else:
                    self._find_thread()
            if task is None:
                wake_up.acquire()
                continue
            self._run(task)
            if task.is_abandoned:
                return  # another thread has taken this one's place


if TYPE_CHECKING:

    class PolledTask(Protocol):
        """A call that is answered later (``polled_tasks``)."""

        def created(self) -> Result:
            """Return the answer to the call: that it goes on as a task."""

        def end(self, answer: Answer | None, /) -> None:
            """Keep the answer of the work, None if it was stopped before it had one."""

    class PolledTasks(Protocol):
        """The calls that are answered later."""

        seconds: float

        def add(self, task: Task, /) -> PolledTask | None:
            """Make a task of a call; None if there are too many."""

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

    def act(self, event: Event, session: Session, sink: FrameSink) -> None:
        """Do what the event asks for, or put it into a queue."""
        match event:
            case Request():
                self._call(event, session, sink)
            case Send(frame, code):
                with self.lock:
                    sink.answer(frame, code)
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
            task.sink.abandon()
        else:
            self.handlers.subscriptions.end(request)

    def _call(self, request: Request, session: Session, sink: FrameSink) -> None:
        try:
            answer = self.handlers.handle(request, session.dialect)
        except Exception:  # noqa: BLE001 - the client must get an answer in any case
            self._on_crash(what=request.method, id=self.current_id())
            answer = Refusal(INTERNAL_ERROR, "Internal error; the server's log says more", {"errorCode": INTERNAL})
        if not isinstance(answer, Job):
            with self.lock:
                if isinstance(answer, Listening):
                    self.handlers.subscriptions.listen(self.lock, session, sink, request, answer)
                else:
                    self._answer(session, request, answer, sink)
            return
        task = Task(self, session, request, answer, sink)
        with self.lock:
            if self._is_too_much(task):
                message = "The server works on too many calls at once; try again when some are done."
                self._answer(session, request, answer.give_up(SERVER_BUSY, message), sink)
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
                answer = job.run(task) if self._has_room(0) else job.give_up(SERVER_BUSY, _NO_ROOM)
        except Stopped:
            pass
        except Exception:  # noqa: BLE001 - the client must get an answer in any case
            answer = self._crashed(task)
        with self.lock:
            self._tasks.pop(task.request, None)
            self._ended.notify_all()
            if task.polled is None and (answer is None or task.stopped):
                return
            if answer is not None and task.session.log_level(task.request) is not None:
                self._log(task, answer)
            try:
                self._deliver(task, answer)
            except (TypeError, ValueError):  # not JSON; nothing went out
                self._deliver(task, self._crashed(task))

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

    def end_in(self, vault: str, seconds: float) -> None:
        """Wait until the calls in one vault have ended, so many seconds at most, and stop those that have not."""
        with self._ended:
            self._ended.wait_for(lambda: not any(task.job.vault == vault for task in self._tasks.values()), seconds)
            for task in self._tasks.values():
                if task.job.vault == vault:
                    task.stop()

    def wait_until_idle(self, seconds: float | None = None) -> None:
        """Wait until every task has ended or passed its deadline, so many seconds at most."""
        with self._ended:
            self._ended.wait_for(lambda: not self._tasks, seconds)

    # ------------------------------------------------------------------ the watchdog

    def watch(self, task: Task) -> None:
        """Have the watchdog look when the task is due. Holds the lock."""
        if not self._watched_until:
            self._watched_until = task.due
            threading.Thread(target=self._watchdog, daemon=True, name="vaultwire-watchdog").start()
        elif task.due < self._watched_until:
            self._watched_until = task.due
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
                for task in [task for task in self._tasks.values() if task.polled_at <= now]:
                    self._begin_polling(task)
                # With nothing to watch: asleep until a task comes, which watch makes known.
                self._watched_until = min((task.due for task in self._tasks.values()), default=float("inf"))
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
        self._deliver(task, job.give_up(TIMEOUT, message))

    def _begin_polling(self, task: Task) -> None:
        """Answer that the call goes on as a task, unless the client has too many of these. Holds the lock."""
        task.polled_at = float("inf")
        assert task.job.polled_tasks is not None
        polled = None if task.stopped else task.job.polled_tasks.add(task)
        if polled is not None:
            task.polled = polled
            self._answer(task.session, task.request, polled.created(), task.sink)

    def run_again(self, ended: Task) -> Task:
        """Run the job of a task that has ended, with what its request now says; return the new task. Holds the lock."""
        task = Task(self, ended.session, ended.request, ended.job, ended.sink)
        task.polled, task.polled_at = ended.polled, float("inf")
        self._tasks[task.request] = task
        self.watch(task)
        ended.queue.put(task)
        return task

    # ------------------------------------------------------------------ out (all hold the lock)

    def _deliver(self, task: Task, answer: Answer | None) -> None:
        """Send the answer of a call, or keep it where the client asks for it. None: the call was stopped before."""
        if task.polled is not None:
            task.polled.end(answer)
        elif answer is not None:
            self._answer(task.session, task.request, answer, task.sink)

    def _answer(self, session: Session, request: Request, answer: Answer, sink: FrameSink) -> None:
        code: int | None = None
        if isinstance(answer, Result):
            frame = session.reply(request, answer.value)
        else:
            code = answer.code
            frame = session.refuse(request, code, answer.message, answer.data)
        if frame is not None:
            sink.answer(frame, code)

    def _log(self, task: Task, answer: Answer) -> None:
        """Send the result of the call as a log message, if the client asked for those."""
        failed = isinstance(answer, Refusal) or answer.value.get("isError") is True
        level = "warning" if failed else "debug"
        frame = task.session.log(task.request, level, "vaultwire.tools", {"tool": task.job.name, "failed": failed})
        if frame is not None:
            task.sink.send(frame)


def log_crash(what: str, id: bytes = b"") -> None:  # noqa: A002, ARG001 - calls of a duplex connection have none
    """Write the traceback of the exception that is being handled to stderr: clients keep it as the server's log."""
    import traceback  # noqa: PLC0415 - only when something crashed

    if sys.stderr is not None:
        sys.stderr.write(f"vaultwire: {what} crashed\n{traceback.format_exc()}")
