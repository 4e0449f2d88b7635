"""Waits for what happens beside a test, and leaves the processor to it meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Callable

_PAUSE_SECONDS = 0.05


def wait_for(is_so: Callable[[], object]) -> None:
    """Ask until it is so; the test's own time limit ends what never is."""
    pause = threading.Event()
    while not is_so():
        pause.wait(_PAUSE_SECONDS)
