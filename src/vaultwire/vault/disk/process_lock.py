"""A lock between processes: a file outside the vault. It is free again when its holder ends, also when that is killed.

Some file systems grant a lock to everybody, others have none (network and FUSE file systems). There nobody gets a lock that is
needed: SQLite, in which changes are recorded, does not work there either.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultwire.vault.value_types import Progress

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Waiting for another process to index a large vault takes a minute; 20 polls a second cost nothing.
_POLL_SECONDS = 0.05
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
# winnt.h, winerror.h, winbase.h
_SYNCHRONIZE, _ACCESS_DENIED, _WAIT_TIMEOUT = 0x100000, 5, 0x102


class ProcessLock:
    """One lock file. Not for two threads of one process at once."""

    def __init__(
        self, path: str, waiting_for: str, *, needed: bool = False, poll_seconds: float = _POLL_SECONDS
    ) -> None:
        """``waiting_for`` is reported to the caller that waits; ``needed``: nothing may happen without the lock file.

        ``poll_seconds``: the time between two attempts to take the lock.
        """
        self._path = path
        self._waiting_for = waiting_for
        self._needed = needed
        self._poll_seconds = poll_seconds
        self._is_exclusive: bool | None = None  # whether the file system refuses a second holder; None until tried

    @contextmanager
    def held(self, progress: Progress) -> Iterator[None]:
        """Hold the lock; wait for its holder.

        Raises OSError if the lock is needed, and its file cannot be created or would keep nobody out.
        """
        try:
            descriptor = os.open(self._path, _OPEN, 0o600)
        except OSError:
            if self._needed:
                raise
            yield  # the folder is gone, so no other process comes for the lock
            return
        try:
            while (is_taken := _take(descriptor)) is False:
                self._wait(progress)
            if self._is_exclusive is None:
                self._is_exclusive = is_taken is True and _is_refused(self._path)
            if self._needed and not self._is_exclusive:
                reason = "its file system has no locks that keep a second program out; a local disk has"
                raise OSError(errno.ENOLCK, reason, self._path)
            yield
        finally:
            _release(descriptor)
            os.close(descriptor)

    def _wait(self, progress: Progress) -> None:
        progress.check()
        progress.report(0, 0, self._waiting_for)
        time.sleep(self._poll_seconds)


def is_held(path: str) -> bool:
    """Tell whether another process has the lock of a file. Where that cannot be told, nobody has."""
    try:
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
    except OSError:
        return False
    try:
        return _take(descriptor) is False
    finally:
        _release(descriptor)
        os.close(descriptor)


def _is_refused(path: str) -> bool:
    """Tell whether the system refuses a second holder of a lock that this process has just taken."""
    descriptor = os.open(path, _OPEN, 0o600)
    try:
        return _take(descriptor) is False
    finally:
        os.close(descriptor)


if sys.platform == "win32":

    def _take(descriptor: int) -> bool | None:
        """Take the lock; False if it is held, None if the file system has no locks."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            return False if error.errno in (errno.EACCES, errno.EDEADLK) else None
        return True

    def _release(descriptor: int) -> None:
        """Give the lock back. Windows would do that some time after the file is closed."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)
        except OSError:  # it was not taken
            pass

else:

    def _take(descriptor: int) -> bool | None:
        """Take the lock; False if it is held, None if the file system has no locks."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True

    def _release(descriptor: int) -> None:
        """Do nothing: closing the file gives the lock back."""


def is_running(process: int) -> bool:
    """Tell whether a process of this computer runs."""
    if sys.platform == "win32":  # there, os.kill would end the process
        import ctypes  # noqa: PLC0415 - there only

        kernel = ctypes.WinDLL("kernel32", use_last_error=True)
        kernel.OpenProcess.restype = ctypes.c_void_p
        kernel.WaitForSingleObject.argtypes = [ctypes.c_void_p, ctypes.c_uint32]
        kernel.CloseHandle.argtypes = [ctypes.c_void_p]
        return is_running_on_windows(process, kernel, ctypes.get_last_error)
    try:
        os.kill(process, 0)
    except PermissionError:  # another user's process
        return True
    except (OSError, OverflowError):
        return False
    return True


def is_running_on_windows(process: int, kernel: Any, last_error: Callable[[], int]) -> bool:
    """See ``is_running``. ``kernel`` is the system's library kernel32."""
    handle = kernel.OpenProcess(_SYNCHRONIZE, False, process)
    if not handle:
        return last_error() == _ACCESS_DENIED  # another user's process
    try:
        # A process that has ended still exists as long as somebody has a handle of it.
        return bool(kernel.WaitForSingleObject(handle, 0) == _WAIT_TIMEOUT)
    finally:
        kernel.CloseHandle(handle)
