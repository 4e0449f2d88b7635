"""What one thread hands to another in a row: the first of it wakes the other, which then takes all there is.

To wake a thread, and to have Python change to it, costs more than most calls do. So what comes together is handed over
together: tasks to the workers' threads, and their news back to the one thread of a door.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Handover:
    """The row, and whether the other side knows of it."""

    def __init__(self, wake: Callable[[Callable[[], None]], object], take: Callable[[list[Any]], object]) -> None:
        """``wake`` has a function called later, on the other side; ``take`` is given all that was put until then.

        ``wake`` may raise RuntimeError: the other side has ended, and nobody waits for what is handed over.
        """
        self._wake = wake
        self._take = take
        self._row: deque[Any] = deque()
        self._is_woken = False

    def put(self, each: Any) -> None:
        """Hand something over. From any thread, if ``wake`` can be called from any."""
        self._row.append(each)
        if not self._is_woken:
            self._is_woken = True
            try:
                self._wake(self._run)
            except RuntimeError:
                pass

    def _run(self) -> None:
        # Before the row is emptied: what is put from now on is either seen below or wakes this side again.
        self._is_woken = False
        row = self._row
        taken = []
        while row:
            taken.append(row.popleft())
        self._take(taken)


def call_each(functions: list[Callable[[], None]]) -> None:
    """Take functions that were handed over: call them."""
    for function in functions:
        function()
