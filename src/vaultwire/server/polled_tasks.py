"""The Tasks extension of MCP (``io.modelcontextprotocol/tasks``, SEP-2663): calls that are answered later.

A call that takes long is answered with a task. It goes on as before, under its own deadline, and its answer is kept for the
client, which asks with ``tasks/get``. Whether a call becomes a task is for the server to say: a client declares the extension
and has no word for a single call. A question of the tool to the client is in the task, and ``tasks/update`` brings the answer:
the work then runs again with it, as with every round of questions (``call_runner``).

A task belongs to the client that made the call: to its key, or to its session where it has none. Tasks end with the process.
Status notifications, which the extension leaves to the server, are not sent. When calls run is for ``workers``.

Facts: modelcontextprotocol/ext-tasks, specification 2026-07-28.
"""

from __future__ import annotations

import os
import threading
import time

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.revisions import MISSING_CLIENT_CAPABILITY, TASK_METHODS, TASKS
from vaultwire.server.results import TASK_PLACE, Refusal, Result, object_in, text_in
from vaultwire.vault.caller import MEMORY_BUDGET
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.results import Answer
    from vaultwire.server.workers import Task

KEEP_SECONDS = 900.0
"""How long an answer, or a question to the client, is kept: as long as a round of questions stays open."""
MOST_EACH = 32
"""Tasks of one client that are kept. With more the calls are answered when they are done, so nothing is lost."""
MOST = 1000
TASK_NOT_FOUND = "TASK_NOT_FOUND"
_POLL_MS = 2000

WORKING, INPUT_REQUIRED, COMPLETED, FAILED, CANCELLED = "working", "input_required", "completed", "failed", "cancelled"


def declares_tasks(request: Request) -> bool:
    """Tell whether the client declared, with this request, that it knows tasks."""
    extensions = request.capabilities.get("extensions")
    return request.revision.tasks and isinstance(extensions, dict) and TASKS in extensions


def undeclared(request: Request) -> Refusal:
    """Return the error for a request about tasks from a client that did not declare them."""
    what = request.method if request.method in TASK_METHODS else f"taskIds in {request.method}"
    message = f"{what} needs the extension {TASKS} among the client's capabilities of this request"
    return Refusal(MISSING_CLIENT_CAPABILITY, message, {"requiredCapabilities": {"extensions": {TASKS: {}}}})


class PolledTask:
    """One call that is answered later. The lock of its workers guards it; the memory budget's lock guards what it keeps."""

    def __init__(self, task: Task, place: int) -> None:
        """``place``: the number of its vault."""
        self.id = f"{os.urandom(16).hex()}{TASK_PLACE}{place}"
        self.owner = task.request.peer.owner
        self.status = WORKING
        self.is_dropped = False
        """Whether its answer is gone, because others needed the memory."""
        self.task = task
        self._created_at = time.time()
        self._created = self._changed = time.monotonic()
        self._outcome: JsonObject = {}  # what the task has besides in its status
        self._state = ""  # the ``requestState`` of the questions
        self._given: JsonObject = {}  # the answers to some of them, until all have one

    @property
    def is_over(self) -> bool:
        """Whether it is kept no longer. Work that goes on has a deadline of its own."""
        return self.is_dropped or (self.status != WORKING and time.monotonic() > self._changed + KEEP_SECONDS)

    def created(self) -> Result:
        """Return the answer to the call: that it goes on as a task."""
        return Result({**self._fields(), "resultType": "task"})

    def current(self) -> Result:
        """Return the task as it is now, with its answer, its error or its questions."""
        with self.task.workers.lock, MEMORY_BUDGET.lock:
            return Result({**self._fields(), **self._outcome})

    def end(self, answer: Answer | None) -> None:
        """Keep the answer of the work; None if it was stopped before it had one. Holds the workers' lock.

        A late answer of work that was given up is dropped. Raises TypeError or ValueError for an answer that is not JSON.
        """
        if self.status != WORKING:
            return
        if answer is None:
            self._change(CANCELLED, {})
        elif isinstance(answer, Refusal):
            error: JsonObject = {"code": answer.code, "message": answer.message}
            if answer.data is not None:
                error["data"] = answer.data
            self._change(FAILED, {"statusMessage": answer.message, "error": error})
        elif answer.value.get("resultType") == INPUT_REQUIRED:
            self._state = answer.value["requestState"]
            self._change(INPUT_REQUIRED, {"inputRequests": answer.value["inputRequests"]})
        else:
            self._change(COMPLETED, {"result": {"resultType": "complete", **answer.value}})

    def cancel(self) -> None:
        """Tell the work to stop. What has its answer all the same, such as a change that is done, keeps that."""
        with self.task.workers.lock:
            if self.status == INPUT_REQUIRED:
                self._change(CANCELLED, {})
            elif self.status == WORKING:
                self.task.stop()

    def update(self, responses: JsonObject) -> None:
        """Run the work again once all its questions have answers. Answers to what is not asked are passed over."""
        with self.task.workers.lock:
            asked = self._outcome.get("inputRequests", {})
            if not asked.keys() & responses.keys():
                return
            self._given |= {key: responses[key] for key in asked.keys() & responses.keys()}
            left = {key: question for key, question in asked.items() if key not in responses}
            if left:
                self._change(INPUT_REQUIRED, {"inputRequests": left})
                return
            request = self.task.request
            request.params = {**request.params, "inputResponses": self._given, "requestState": self._state}
            self._given = {}
            self._change(WORKING, {})
            self.task = self.task.workers.run_again(self.task)

    def evict(self) -> int:
        """Drop the answer. See ``MemoryHolder``."""
        self.is_dropped = True
        self._outcome = {}
        return 0

    def _change(self, status: str, outcome: JsonObject) -> None:
        size = len(jsonrpc.to_frame(outcome))
        with MEMORY_BUDGET.lock:
            self.status, self._outcome = status, outcome
            self._changed = time.monotonic()
            MEMORY_BUDGET.record(self, size)

    def _fields(self) -> JsonObject:
        """Return what every task has: its time to live grows while the work goes on."""
        last = time.monotonic() if self.status == WORKING else self._changed
        fields: JsonObject = {
            "taskId": self.id,
            "status": self.status,
            "createdAt": _to_stamp(self._created_at),
            "lastUpdatedAt": _to_stamp(self._created_at + self._changed - self._created),
            "ttlMs": int((last - self._created + KEEP_SECONDS) * 1000),
            "pollIntervalMs": _POLL_MS,
        }
        if self.status == WORKING and self.task.doing:
            fields["statusMessage"] = self.task.doing
        return fields


class PolledTasks:
    """The tasks of one server. Safe to call from several threads."""

    def __init__(self, seconds: float, vaults: Sequence[str]) -> None:
        """``seconds``: a call that takes longer becomes a task. ``vaults``: the names of all vaults."""
        self.seconds = seconds
        self._vaults = vaults
        self._lock = threading.Lock()
        self._tasks: dict[str, PolledTask] = {}

    def add(self, task: Task) -> PolledTask | None:
        """Make a task of a call; None if its client, or all together, have as many as are kept."""
        polled = PolledTask(task, self._vaults.index(task.job.vault))
        with self._lock:
            self._tasks = {id_: each for id_, each in self._tasks.items() if not each.is_over}
            own = sum(each.owner == polled.owner for each in self._tasks.values())
            if own >= MOST_EACH or len(self._tasks) >= MOST:
                return None
            self._tasks[polled.id] = polled
        return polled

    def answer(self, request: Request) -> Answer:
        """Return the answer to ``tasks/get``, ``tasks/update`` or ``tasks/cancel``. Raises VaultError."""
        if not declares_tasks(request):
            return undeclared(request)
        polled = self._find(request)
        if request.method == "tasks/get":
            return polled.current()
        if request.method == "tasks/cancel":
            polled.cancel()
            return Result({})
        polled.update(object_in(request.params, "inputResponses"))
        return Result({})

    def _find(self, request: Request) -> PolledTask:
        id_ = text_in(request.params, "taskId")
        with self._lock:
            polled = self._tasks.get(id_)
        if polled is None or polled.is_over or polled.owner != request.peer.owner:
            kept = (
                f"A task is kept for {KEEP_SECONDS / 60:.0f} minutes after it ended, for the client that made the call."
            )
            raise VaultError(TASK_NOT_FOUND, f"Unknown task: {id_[:80]!r}. {kept}")
        return polled


def _to_stamp(seconds: float) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(seconds % 1 * 1000):03}Z"
