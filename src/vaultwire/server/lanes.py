"""Queues of tasks and the threads that take from them. What a task is does not matter here."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.server.workers import Task


class Lane:
    """A queue of tasks and the threads that take from it, started when they are first needed."""

    def __init__(self, run: Callable[[Task], None], most: int) -> None:
        self._run = run
        self._most = most
        self._waiting: list[Task] = []
        self._threads = 0  # without those of abandoned tasks
        self._idle = 0
        self._ready = threading.Condition(threading.Lock())

    def put(self, task: Task) -> None:
        """Have the task run as soon as a thread is free."""
        task.lane = self
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

    def lend_thread(self) -> None:
        """Count no longer on a thread that waits for a person. One that changes the vault keeps the others waiting."""
        if self._most > 1:
            self.replace_thread()

    def take_back_thread(self) -> None:
        """Count on the thread again; for a while there may be more than the most."""
        if self._most > 1:
            with self._ready:
                self._threads += 1

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
            self._run(task)
            if task.is_abandoned:
                return  # another thread has taken this one's place
