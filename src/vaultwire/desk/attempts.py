"""How often wrong keys may be given to the desk. A key cannot be guessed; this keeps somebody who tries from taking time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_MOST, _SECONDS = 10, 60.0


class Attempts:
    """The latest failed attempts of all clients together. On one thread."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._failed: deque[float] = deque(maxlen=_MOST)

    def may_try(self) -> bool:
        """Tell whether a key may be given now."""
        return len(self._failed) < _MOST or self._now() - self._failed[0] >= _SECONDS

    def failed(self) -> None:
        """Note that a wrong key was given."""
        self._failed.append(self._now())
