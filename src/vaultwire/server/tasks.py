"""Jobs, and tasks: a task is one job that is being done for a client. Threads and deadlines are the workers' matter."""

from __future__ import annotations

import threading
import time

from vaultwire.vault.errors import Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
    from typing import Any, Protocol

    from vaultwire.protocol.events import Question, Request
    from vaultwire.protocol.jsonrpc import Json, JsonObject
    from vaultwire.protocol.session import Session
    from vaultwire.server.outlet import Outlet
    from vaultwire.server.results import Answer
    from vaultwire.toolkit.registry import Ask
    from vaultwire.vault.value_types import Confirmation

    class Owner(Protocol):
        """The workers, as a task knows them (``workers.Workers``)."""

        lock: threading.Lock
        current_id: Callable[[], bytes]

        def watch(self, task: Task) -> None:
            """Have the watchdog look when the task's deadline comes. Holds the lock."""

        def extend(self, task: Task) -> None:
            """Begin the task's time again, and that of the changes behind it. Holds the lock."""

    class Queue(Protocol):
        """The queue, as a task knows it (``work_queue.WorkQueue``)."""

        def replace_thread(self, task: Task) -> None:
            """Replace the thread of a task that is abandoned, or waits for a person."""

        def take_back_thread(self, task: Task) -> None:
            """Count the thread again."""


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

    __slots__ = ("changes_vault", "give_up", "listed", "name", "offered", "run", "seconds", "vault")

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


class Task:
    """One job for one client. The job knows it as a ``Client``."""

    __slots__ = (
        "_done", "agreed", "answers", "deadline", "doing", "has_started", "id", "is_abandoned", "job", "outlet", "queue",
        "request", "session", "stopped", "woken", "workers",
    )  # fmt: skip

    def __init__(self, workers: Owner, session: Session, request: Request, job: Job, outlet: Outlet) -> None:
        self.workers = workers
        self.session = session
        self.request = request
        self.job = job
        self.outlet = outlet
        self.queue: Queue  # the one it was put into
        self.has_started = False
        self.is_abandoned = False  # its deadline passed while it ran: its thread may never come back
        self.deadline = time.monotonic() + job.seconds
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
        return self.request.capabilities if self.outlet.can_ask or self.answers is not None else {}

    @property
    def asks_person(self) -> bool:
        """Whether a change can wait until the person agrees to it in the client."""
        return self.agreed is not None

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
                self.outlet.hang_up()

    def ask(self, wanted: Mapping[str, Ask]) -> dict[str, JsonObject]:
        """Return the client's answers: those of earlier rounds, else ask and wait.

        Raises VaultError when it refuses or does not answer, ``Stopped``, CapabilityMissing, and InputRequired where the
        questions go out with the result.
        """
        from vaultwire.toolkit.registry import (  # noqa: PLC0415 - loaded with the tools
            check_answers,
            check_capabilities,
            is_answer,
        )

        check_capabilities(wanted, self.capabilities)
        if self.answers is not None:
            missing = {key: ask for key, ask in wanted.items() if not is_answer(ask, self.answers.get(key))}
            if missing:
                raise InputRequired(missing)
            return {key: self.answers[key] for key in wanted}
        woken = threading.Event()
        with self.workers.lock:
            questions: dict[str, Question] = {}
            until = time.monotonic() + ASKING_SECONDS
            left = self.deadline - time.monotonic()
            self.woken, self.deadline = woken, float("inf")  # asking has a time limit of its own
            for key, ask in wanted.items():
                questions[key], frame = self.session.ask(ask.method, ask.params)
                questions[key].waiting = woken
                self._send(frame)
        self.queue.replace_thread(self)
        try:
            while not self.stopped and self.outlet.can_ask and not all(map(_is_answered, questions.values())):
                if not woken.wait(until - time.monotonic()):
                    break
                woken.clear()
        finally:
            self.queue.take_back_thread(self)
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
        """Tell the work to stop: nobody waits for it. Holds the lock."""
        self.stopped = True
        if self.woken is not None:
            self.woken.set()

    def _send(self, frame: bytes | None) -> None:
        if frame is not None and not self.stopped:
            self.outlet.send(frame)


def client_of(task: Task) -> Hashable:
    """Return the client of a task: all that come with the same key are one, else each session is."""
    peer = task.request.peer
    return peer.principal or peer


def _is_answered(question: Question) -> bool:
    return question.result is not None or question.error is not None
