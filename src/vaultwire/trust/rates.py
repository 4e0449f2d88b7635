"""Rate limits: sliding windows of one minute for each client. It refuses and never waits. Pure but for the given clock.

The numbers come from ``limits`` and the settings; the caller decides what one client is.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Collection, Hashable, Mapping

WINDOW_SECONDS = 60.0

TOTAL, EACH, CHANGES = "total", "each", "changes"
"""The rates that are not of one tool: all calls of a client, calls of each tool, of each tool that changes the vault."""

# Seconds. A client that waits as told must get in, however the numbers round.
_ROUNDING = 1e-6
# Without keys, clients choose their own names. A client that makes up many names must not fill the memory.
_MAX_WINDOWS = 10_000


class TooOften(Exception):  # noqa: N818 - a refusal, no error
    """Too many calls in the last minute; ``retry_after`` is in whole seconds, at least 1."""

    def __init__(self, most: int, of: str, retry_after: int) -> None:
        super().__init__(f"at most {most} {of} a minute; try again in {retry_after} seconds")
        self.retry_after = retry_after


class Rates:
    """The calls of the last minute, by client. Safe to use from several threads."""

    def __init__(self, most: Mapping[str, int], now: Callable[[], float]) -> None:
        """``most``: calls in a minute, by a tool's name or by TOTAL, EACH and CHANGES; others are not limited.

        A tool's own number is used before CHANGES, and CHANGES before EACH. ``now``: seconds of a monotonic clock.
        """
        self._most = dict(most)
        self._now = now
        self._lock = threading.Lock()
        self._windows: dict[tuple[Hashable, str], deque[float]] = {}  # the one used last is last

    def count(self, client: Hashable, tool: str, *, changes: bool, also: Collection[str] = ()) -> None:
        """Count a call. Raises TooOften; a refused call does not count.

        ``also``: tools whose work the call does, too. It counts for those that have a number of their own.
        """
        most = self._most.get(tool)
        if most is None:
            most = self._most.get(CHANGES) if changes else None
        if most is None:
            most = self._most.get(EACH)
        total = self._most.get(TOTAL)
        now = self._now()
        with self._lock:
            windows = []
            if most is not None:
                windows.append(self._checked((client, tool), most, f"calls of {tool}", now))
            windows += [
                self._checked((client, name), self._most[name], f"calls of {name}", now)
                for name in also
                if name in self._most
            ]
            if total is not None:
                windows.append(self._checked((client, ""), total, "calls", now))
            for window in windows:
                window.append(now)
            while len(self._windows) > _MAX_WINDOWS:
                del self._windows[next(iter(self._windows))]

    def _checked(self, key: tuple[Hashable, str], most: int, of: str, now: float) -> deque[float]:
        """Return the window without calls older than a minute. Raises TooOften if it is full. The caller holds the lock."""
        window = self._windows.pop(key, None)
        if window is None:
            window = deque()
        self._windows[key] = window
        while window and window[0] <= now - WINDOW_SECONDS + _ROUNDING:
            window.popleft()
        if len(window) >= most:
            free_at = window[len(window) - most] + WINDOW_SECONDS if most else now + WINDOW_SECONDS
            raise TooOften(most, of, max(1, math.ceil(free_at - now)))
        return window
