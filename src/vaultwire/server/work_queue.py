"""Work queues: tasks that wait, and the worker threads that run them. A queue knows a task's client, not its content.

Clients take turns (round robin): a client with many tasks waits for its own, and others do not wait for all of them.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from vaultwire.server.tasks import Task


class WorkQueue:
    """A queue of tasks with its worker threads, which are started when they are first needed."""

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
