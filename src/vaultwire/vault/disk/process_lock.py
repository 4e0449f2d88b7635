"""A lock between processes: a file outside the vault, free again when its holder ends, however it ends.

Some file systems take a lock and admit everybody all the same, others know none (network and FUSE file systems). There a
second file stands for the lock, made only if it is not there; one whose maker has ended on this computer is removed.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from vaultwire.vault.value_types import Progress

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

# Waiting for another process to index a large vault takes a minute; 20 looks a second cost nothing.
_PATIENCE = 0.05
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
# A file that says nothing is being written at this moment, or its maker was killed just then.
_SILENT_SECONDS = 60.0


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
        self._is_kept: bool | None = None  # whether the file system keeps others out; None until that was tried

    @contextmanager
    def held(self, progress: Progress) -> Iterator[None]:
        """Hold the lock, waiting for whoever has it. Raises OSError if it is needed and its file cannot be made."""
        if self._path is None:
            yield
            return
        try:
            descriptor = os.open(self._path, _OPEN, 0o600)
        except OSError:
            if self._needed:
                raise
            yield  # the folder is gone: nobody else comes here for it
            return
        try:
            while (is_taken := _take(descriptor)) is False:
                self._wait(progress)
            if self._is_kept is None:
                self._is_kept = is_taken is True and _is_refused(self._path)
            if self._is_kept:
                yield
                return
            standing = _StandingFile(f"{self._path}.held")
            while not standing.make():
                self._wait(progress)
            try:
                yield
            finally:
                standing.remove()
        finally:
            os.close(descriptor)

    def _wait(self, progress: Progress) -> None:
        progress.check()
        progress.report(0, 0, self._waiting_for)
        time.sleep(self._patience)


def _is_refused(path: str) -> bool:
    """Tell whether a lock that this process has just taken is refused to the next who asks."""
    descriptor = os.open(path, _OPEN, 0o600)
    try:
        return _take(descriptor) is False
    finally:
        os.close(descriptor)


if sys.platform == "win32":

    def _take(descriptor: int) -> bool | None:
        """Take the lock; False if somebody has it, None if there are no locks here."""
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            return False if error.errno in (errno.EACCES, errno.EDEADLK) else None
        return True

else:

    def _take(descriptor: int) -> bool | None:
        """Take the lock; False if somebody has it, None if there are no locks here."""
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True


class _StandingFile:
    """A file that stands for a lock as long as it is there. It says who made it: computer, boot and process."""

    _held: set[str] = set()  # noqa: RUF012 - by this process, which is alive whether it still holds one or not
    _one_at_a_time = threading.Lock()  # in this process

    def __init__(self, path: str) -> None:
        self._path = path

    def make(self) -> bool:
        """Make the file; False if it is there. Raises OSError."""
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
        """Let others make it."""
        with self._one_at_a_time:
            self._held.discard(self._path)
            try:
                os.unlink(self._path)
            except FileNotFoundError:  # by a person
                pass

    def _clear(self) -> None:
        """Remove the file if its maker is not there any more."""
        seen = self._read()
        if seen is None or not self._is_left(seen):
            return
        # One at a time: otherwise the second would remove the file that the first has made since.
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

    def _is_left(self, seen: bytes) -> bool:
        computer, _, process = seen.decode("utf-8", "replace").rstrip("\n").rpartition("\n")
        if not process.isdecimal():
            try:
                return time.time() - os.stat(self._path).st_mtime > _SILENT_SECONDS
            except FileNotFoundError:
                return False
        here, there = _computer().split("\n"), computer.split("\n")
        if here != there:
            return here[0] == there[0]  # the same computer, before it was started last; of another one nothing is known
        if int(process) == os.getpid():
            return self._path not in self._held
        return not _is_running(int(process))


def _computer() -> str:
    """Return which computer this is, and, where the system says so, when it was started last, a line each."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    return f"{_name()}\n{boot}"


def _name() -> str:
    """Return the computer's name."""
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "")


def _is_running(process: int) -> bool:
    if os.name == "nt":  # where asking would end it; such a file is a person's to remove
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True
