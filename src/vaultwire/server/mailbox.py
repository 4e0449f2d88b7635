"""A mailbox between threads: the first item put in wakes the reader, which then takes all there are.

To wake a thread, and to have Python switch to it, costs more than most calls do. So items that come together are taken
together: tasks by the worker threads, and their news by the event loop of a door.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Mailbox:
    """Items for one reader, and whether it has been woken for them."""

    def __init__(self, wake: Callable[[Callable[[], None]], object], take: Callable[[list[Any]], object]) -> None:
        """``wake`` has a function called later, by the reader; ``take`` is given all items that were put in until then.

        ``wake`` may raise RuntimeError: the reader has ended, and nobody waits for the items.
        """
        self._wake = wake
        self._take = take
        self._items: deque[Any] = deque()
        self._is_woken = False

    def put(self, item: Any) -> None:
        """Put an item in. From any thread, if ``wake`` can be called from any."""
        self._items.append(item)
        if not self._is_woken:
            self._is_woken = True
            try:
                self._wake(self._run)
            except RuntimeError:
                pass

    def _run(self) -> None:
        # First of all: an item that is put in from now on is either seen below or wakes the reader again.
        self._is_woken = False
        items = self._items
        taken = []
        while items:
            taken.append(items.popleft())
        self._take(taken)


def call_each(functions: list[Callable[[], None]]) -> None:
    """Call functions that were put in."""
    for function in functions:
        function()
