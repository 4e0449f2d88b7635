"""The changes that this process has made, or its watch has seen, and the index has not applied yet."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from vaultwire.vault.index.store.updater import IndexUpdater
from vaultwire.vault.value_types import NoProgress, Progress

# So many files are applied before the caller is asked whether it goes on: two seconds if all have changed. Each batch ends with
# a commit of the text index, which may need a second.
_BATCH = 5_000


class QueuedChanges:
    """Files and folders to check at the next call. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Files, and folders with a "/" behind. Each with a count that says when it was added.
        self._queued: dict[str, int] = {}
        self._count = 0
        self._holders = 0

    def __bool__(self) -> bool:
        """Tell whether there is something to apply now."""
        return bool(self._queued) and not self._holders

    @property
    def is_empty(self) -> bool:
        """Whether nothing is queued, nor has to wait (see ``held``)."""
        return not self._queued

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let what is queued wait while the block runs, as if nothing were queued.

        A large change makes tens of thousands of system calls. Beside a thread that parses the files it has written so far,
        each of them waits up to 5 ms for Python's lock: the change would take three times as long.
        """
        with self._lock:
            self._holders += 1
        try:
            yield
        finally:
            with self._lock:
                self._holders -= 1

    def add(self, paths: Iterable[str], folders: Iterable[str]) -> None:
        """Add files, and files anywhere below these folders."""
        with self._lock:
            self._count += 1
            self._queued |= dict.fromkeys(paths, self._count)
            self._queued |= dict.fromkeys((f"{folder}/" for folder in folders), self._count)

    def apply(self, updater: IndexUpdater, progress: Progress) -> None:
        """Check files and folders, some at a time, and forget them. What was not checked, or was added again, stays.

        ``progress`` may stop it after each batch: the next call goes on from there.
        """
        with updater.working(progress):
            with self._lock:
                folders = {path: when for path, when in self._queued.items() if path.endswith("/")}
            for folder, when in folders.items():
                below = updater.changed_below(folder[:-1], progress)
                with self._lock:
                    self._queued = dict.fromkeys(below, self._count) | self._queued
                self._forget({folder: when})
            with self._lock:
                queued = [(path, when) for path, when in self._queued.items() if not path.endswith("/")]
            for start in range(0, len(queued), _BATCH):
                if start:
                    progress.check()
                batch = dict(queued[start : start + _BATCH])
                updater.check_part(batch, start, len(queued), _Whole(progress))
                self._forget(batch)

    def _forget(self, checked: dict[str, int]) -> None:
        """Forget what was checked. Not sooner: other calls wait meanwhile."""
        with self._lock:
            self._queued = {path: when for path, when in self._queued.items() if when != checked.get(path)}


class _Whole(NoProgress):
    """Progress of a batch, which is applied whole: what is half done would wait for the next flush."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def report(self, done: int, total: int, message: str) -> None:
        """Report to the caller."""
        self._progress.report(done, total, message)
