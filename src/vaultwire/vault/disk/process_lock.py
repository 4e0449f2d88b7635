"""A lock between processes: a file outside the vault. It is free again when its holder ends, also when that is killed.

Some file systems grant a lock to everybody, others have none (network and FUSE file systems). There a second file is the
lock: it is created only if it does not exist. One whose creator has ended on this computer is removed.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from vaultwire.vault.value_types import Progress

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Waiting for another process to index a large vault takes a minute; 20 polls a second cost nothing.
_POLL_SECONDS = 0.05
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
# An empty lock file is being written at this moment, or its creator was killed right then.
_EMPTY_SECONDS = 60.0
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
        """Hold the lock; wait for its holder. Raises OSError if the lock is needed and its file cannot be created."""
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
            if self._is_exclusive:
                yield
                return
            existence_lock = _ExistenceLock(f"{self._path}.held")
            while not existence_lock.create():
                self._wait(progress)
            try:
                yield
            finally:
                existence_lock.remove()
        finally:
            _release(descriptor)
            os.close(descriptor)

    def _wait(self, progress: Progress) -> None:
        progress.check()
        progress.report(0, 0, self._waiting_for)
        time.sleep(self._poll_seconds)


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


class _ExistenceLock:
    """A file that is the lock as long as it exists. It names its creator: computer, boot and process."""

    # Those that this process holds: that it runs does not tell whether it still holds one.
    _held: set[str] = set()  # noqa: RUF012 - of the process
    _one_at_a_time = threading.Lock()  # in this process

    def __init__(self, path: str) -> None:
        self._path = path

    def create(self) -> bool:
        """Create the file; False if it exists. Raises OSError."""
        with self._one_at_a_time:
            try:
                descriptor = os.open(self._path, _MAKE, 0o600)
            except FileExistsError:
                self._clear()
                return False
            self._held.add(self._path)
            try:
                os.write(descriptor, f"{_computer()}\n{os.getpid()}\n".encode())
            finally:
                os.close(descriptor)
            return True

    def remove(self) -> None:
        """Remove the file, so that others can create it."""
        with self._one_at_a_time:
            self._held.discard(self._path)
            try:
                os.unlink(self._path)
            except FileNotFoundError:  # by a person
                pass

    def _clear(self) -> None:
        """Remove the file if its creator has ended."""
        seen = self._read()
        if seen is None or not self._is_abandoned(seen):
            return
        # One process at a time: otherwise a second one could remove the file that the first has created meanwhile.
        try:
            os.mkdir(f"{self._path}.clearing", 0o700)
        except FileExistsError:
            return
        try:
            if self._read() == seen:
                os.unlink(self._path)
        finally:
            os.rmdir(f"{self._path}.clearing")

    def _read(self) -> bytes | None:
        try:
            with open(self._path, "rb") as file:
                return file.read(1000)
        except FileNotFoundError:
            return None

    def _is_abandoned(self, seen: bytes) -> bool:
        computer, _, process = seen.decode("utf-8", "replace").rstrip("\n").rpartition("\n")
        if not process.isdecimal():
            try:
                return time.time() - os.stat(self._path).st_mtime > _EMPTY_SECONDS
            except FileNotFoundError:
                return False
        here, there = _computer().split("\n"), computer.split("\n")
        if here != there:
            return here[0] == there[0]  # the same computer, before its last start; of another computer nothing is known
        if int(process) == os.getpid():
            return self._path not in self._held
        return not is_running(int(process))


def _computer() -> str:
    """Return the computer's name and, on Linux, the id of its last start, a line each."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    return f"{_name()}\n{boot}"


def _name() -> str:
    """Return the computer's name."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


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
