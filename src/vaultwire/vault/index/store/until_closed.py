"""The progress of work that no caller waits for: it ends when the index is closed."""

from __future__ import annotations

import threading

from vaultwire.vault.errors import Stopped
from vaultwire.vault.value_types import NoProgress


class UntilClosed(NoProgress):
    """Tells work to stop once an event is set."""

    def __init__(self, closing: threading.Event) -> None:
        self._closing = closing

    def check(self) -> None:
        """Raise Stopped once the index is closed."""
        if self._closing.is_set():
            raise Stopped
