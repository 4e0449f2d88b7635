"""A lock between processes: a file outside the vault, free again when its holder ends, however it ends."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from vaultwire.vault.model import Progress

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Waiting for another process to index a large vault takes a minute; 20 looks a second cost nothing.
_PATIENCE = 0.05


class ProcessLock:
    """One lock file; None for none. Not for two threads of one process at once."""

    def __init__(
        self, path: str | None, waiting_for: str, *, needed: bool = False, patience: float = _PATIENCE
    ) -> None:
        """``waiting_for`` is what those who wait are told; ``needed`` says that nothing may happen without the lock file.

        ``patience``: seconds between two looks whether the lock is free.
        """
        self._path = path
        self._waiting_for = waiting_for
        self._needed = needed
        self._patience = patience

    @contextmanager
    def held(self, progress: Progress) -> Iterator[None]:
        """Hold the lock, waiting for whoever has it. A file system that knows no locks gives it to everybody.

        Raises OSError if the lock is needed and its file cannot be made.
        """
        if self._path is None:
            yield
            return
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except OSError:
            if self._needed:
                raise
            yield  # the folder is gone: nobody else comes here for it
            return
        try:
            while not _take(descriptor):
                progress.check()
                progress.report(0, 0, self._waiting_for)
                time.sleep(self._patience)
            yield
        finally:
            os.close(descriptor)


if sys.platform == "win32":

    def _take(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _take(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:  # no locks here
            return True
        return True
