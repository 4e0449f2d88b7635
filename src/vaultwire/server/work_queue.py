"""Queues of tasks and the threads that take from them. What a task is does not matter here, only whose it is.

Clients take turns: whoever puts many tasks has them wait behind one another, not others' behind all of them.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

    from vaultwire.server.tasks import Task


class WorkQueue:
    """A queue of tasks and the threads that take from it, started when they are first needed."""

    def __init__(
        self,
        run: Callable[[Task], None],
        most: int,
        most_each: int | None = None,
        client_of: Callable[[Task], Hashable] = lambda _: None,
    ) -> None:
        """``most``: tasks at once; ``most_each``: those of one client. Each client's begin in the order in which they came."""
        self._run = run
        self._most = most
        self._most_each = most_each or most
        self._client_of = client_of
        self._waiting: dict[Hashable, list[Task]] = {}  # whose turn it is next is first
        self._running: dict[Hashable, int] = {}  # without abandoned tasks, and those that wait for a person
        self._threads = 0  # as well
        self._idle: list[threading.Lock] = []  # the bells of threads that sleep
        self._lock = threading.Lock()

    def put(self, task: Task) -> None:
        """Have the task run as soon as a thread is free and it is its client's turn."""
        self.put_all((task,))

    def put_all(self, tasks: Iterable[Task]) -> None:
        """Do as ``put`` does with each of them, one after the other."""
        with self._lock:
            for task in tasks:
                task.queue = self
                self._waiting.setdefault(self._client_of(task), []).append(task)
            self._find_thread()

    def replace_thread(self, task: Task) -> None:
        """Count no longer on the thread of a task that was abandoned: what waits behind it must not wait with it."""
        with self._lock:
            self._threads -= 1
            self._leave(task)
            self._find_thread()

    def lend_thread(self, task: Task) -> None:
        """Count no longer on a thread that waits for a person: the tasks behind it go on, also those of its client."""
        self.replace_thread(task)

    def take_back_thread(self, task: Task) -> None:
        """Count on the thread again; for a while there may be more than the most."""
        with self._lock:
            self._threads += 1
            self._enter(task)

    def _find_thread(self) -> None:
        """See that what waits is taken soon. Holds the lock.

        One thread is woken, and wakes the next if it leaves something behind: for calls that are over before another
        thread is awake, that would only be one more that waits for Python.
        """
        if not self._waiting:
            return
        if self._idle:
            self._idle.pop().release()
        elif self._threads < self._most:
            self._threads += 1
            threading.Thread(target=self._work, daemon=True, name="vaultwire-worker").start()

    def _free(self, client: Hashable) -> int:
        """Return how many more tasks of a client may begin. Holds the lock."""
        return max(0, self._most_each - self._running.get(client, 0))

    def _take(self) -> Task | None:
        """Return the task whose turn it is, None if there is none. Holds the lock."""
        for client, tasks in self._waiting.items():
            if self._free(client):
                task = tasks.pop(0)
                del self._waiting[client]
                if tasks:
                    self._waiting[client] = tasks  # behind the others
                self._enter(task)
                return task
        return None

    def _enter(self, task: Task, count: int = 1) -> None:
        client = self._client_of(task)
        running = self._running.get(client, 0) + count
        # Below 0 for a moment, if a task was abandoned while its thread was lent.
        if running:
            self._running[client] = running
        else:
            self._running.pop(client, None)

    def _leave(self, task: Task) -> None:
        self._enter(task, -1)

    def _work(self) -> None:
        bell = threading.Lock()  # held while nobody has woken this thread
        bell.acquire()
        task: Task | None = None
        while True:
            with self._lock:
                if task is not None:
                    self._leave(task)
                if self._threads > self._most:  # a lent one is back: one of them ends
                    self._threads -= 1
                    self._find_thread()
                    return
                task = self._take()
                if task is None:
                    self._idle.append(bell)
                else:
                    self._find_thread()
            if task is None:
                bell.acquire()
                continue
            self._run(task)
            if task.is_abandoned:
                return  # another thread has taken this one's place
