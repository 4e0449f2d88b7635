"""The changes that this process has made and the index has not applied yet."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable


class QueuedChanges:
    """Files and folders to check at the next call. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Files, and folders with a "/" behind. Each with a count that says when it was added.
        self._queued: dict[str, int] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._queued)

    def add(self, paths: Iterable[str], folders: Iterable[str]) -> None:
        """Add files, and files anywhere below these folders."""
        with self._lock:
            self._count += 1
            self._queued |= dict.fromkeys(paths, self._count)
            self._queued |= dict.fromkeys((f"{folder}/" for folder in folders), self._count)

    def apply(self, check: Callable[[list[str], list[str]], object]) -> None:
        """Check files and folders, and forget them. What could not be checked, or was added again, stays."""
        with self._lock:
            queued = dict(self._queued)
        if queued:
            folders = [path[:-1] for path in queued if path.endswith("/")]
            check([path for path in queued if not path.endswith("/")], folders)
            # Only now: other calls wait meanwhile.
            with self._lock:
                self._queued = {path: when for path, when in self._queued.items() if when != queued.get(path)}
