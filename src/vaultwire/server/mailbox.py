"""A mailbox of calls for an event loop: the first call put in wakes the loop, which then makes all there are.

To wake a thread, and to have Python switch to it, costs more than most calls do. So the news of worker threads that come
together wake the loop of a door once.
"""

from __future__ import annotations

from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


class Mailbox:
    """The calls that wait for the loop, and whether it has been woken for them."""

    def __init__(self, wake: Callable[[Callable[[], None]], object]) -> None:
        """``wake`` has a function called on the loop (``call_soon_threadsafe``).

        It may raise RuntimeError: the loop has ended, and nobody waits for the calls.
        """
        self._wake = wake
        self._calls: deque[Callable[[], None]] = deque()
        self._is_woken = False

    def put(self, call: Callable[[], None]) -> None:
        """Have the loop make a call. From any thread."""
        self._calls.append(call)
        if not self._is_woken:
            self._is_woken = True
            try:
                self._wake(self._make_calls)
            except RuntimeError:
                pass

    def _make_calls(self) -> None:
        # First of all: a call that is put in from now on is either made below or wakes the loop again.
        self._is_woken = False
        for _ in range(len(self._calls)):
            self._calls.popleft()()
