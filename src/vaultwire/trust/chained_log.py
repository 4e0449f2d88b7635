"""A log that is only ever appended to, by any number of processes, and shows when it was tampered with.

A line is a JSON object that holds the SHA-256 of the line before (``prev``), across files: a file that is full is given a
number and a new one begun. Of many full files the oldest are removed, which a line of the log says first: so a file that
somebody else has removed shows. Who can write the file can also make a whole new chain; ``verify`` therefore tells the
last hash, for those who keep it elsewhere. What the lines say is ``audit``'s matter.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from vaultwire.vault.disk.process_lock import ProcessLock

# Some 13,000 calls: more is slow to look through, and less a heap of files.
FULL = 10_000_000
# Numbered files kept; 500 MB in all, so that a log nobody looks after does not fill the disk.
KEPT = 50
FIRST = "0" * 64
"""What the very first line holds in place of the hash of a line before."""

ROTATION = "rotation"
"""The type of a line of the log's own, which tells what it removes: ``removed`` has the files' numbers, and the hash of the
last line of each."""

_TAIL = 65_536
# Somebody else writes one line, in 0.1 ms. A process that was stopped meanwhile would hold up everybody.
_POLL_SECONDS, _LONGEST_WAIT = 0.001, 2.0
_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class ChainedLog:
    """One log. Safe to use from several threads and processes."""

    def __init__(self, path: str, full: int = FULL, kept: int = KEPT) -> None:
        """``full``: bytes after which a file is numbered; ``kept``: how many of those are kept."""
        self.path = path
        self._full = full
        self._kept = kept
        self._threads = threading.Lock()
        self._lock = ProcessLock(f"{path}.lock", "", needed=True, poll_seconds=_POLL_SECONDS)
        self._seen = (-1, -1)  # inode and size of the file as this process left it
        self._number = 0  # of the last full file by then
        self._last = ""  # hash of the last line by then

    def prepare(self) -> None:
        """Make the folder and the file if they are not there. Raises OSError where nothing can be written."""
        os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
        os.close(os.open(self.path, _FLAGS, 0o600))

    def append(self, record: dict[str, Any]) -> None:
        """Add a line. Raises OSError; then the file is as it was."""
        with self._threads, self._lock.held(_Impatient()):
            descriptor = os.open(self.path, _FLAGS, 0o600)
            try:
                if os.fstat(descriptor).st_size >= self._full and self._put_away(descriptor):
                    os.close(descriptor)
                    descriptor = os.open(self.path, _FLAGS, 0o600)
                    self._remove_oldest(descriptor)
                self._add(descriptor, record)
            finally:
                os.close(descriptor)

    def _add(self, descriptor: int, record: dict[str, Any]) -> None:
        found = os.fstat(descriptor)
        last, torn = self._last, False
        if (found.st_ino, found.st_size) != self._seen:
            last, torn = self._find_last(descriptor, found)
        line = json.dumps({**record, "prev": last}).encode()
        self._write(descriptor, b"\n" * torn + line + b"\n", found.st_size)
        self._seen = (found.st_ino, found.st_size + torn + len(line) + 1)
        self._last = hashlib.sha256(line).hexdigest()

    def _write(self, descriptor: int, data: bytes, size: int) -> None:
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(descriptor, rest) :]
        except BaseException:
            os.ftruncate(descriptor, size)
            raise

    def _find_last(self, descriptor: int, found: os.stat_result) -> tuple[str, bool]:
        """Return the hash the next line has to hold, and whether the line before was never finished.

        Where the file no longer has what this process wrote, that is the hash of its own last line, so that the break shows.
        """
        number = max(_numbers(self.path), default=0)
        was_put_away, self._number = number != self._number, number
        tail, torn = _tail(descriptor, found.st_size)
        has_grown = self._seen[0] == found.st_ino and found.st_size >= self._seen[1]
        if self._last and not has_grown and not was_put_away:
            return self._last, torn
        if found.st_size == 0:
            if number == 0:
                return FIRST, False
            return _last_hash(_numbered(self.path, number)), False
        return hashlib.sha256(tail).hexdigest(), torn

    def _put_away(self, descriptor: int) -> bool:
        """Give the full file a number. False where that cannot be: somebody reads it on Windows, or it is half a line."""
        size = os.fstat(descriptor).st_size
        if _tail(descriptor, size)[1]:
            return False  # the line is ended first, by the next one
        try:
            os.rename(self.path, _numbered(self.path, max(_numbers(self.path), default=0) + 1))
        except OSError:
            return False
        return True

    def _remove_oldest(self, descriptor: int) -> None:
        """Remove the full files that are too many, once the log says so. Raises OSError where it cannot say it."""
        numbers = sorted(_numbers(self.path))
        too_many = numbers[: max(0, len(numbers) - self._kept)]
        if not too_many:
            return
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        removed = {str(number): _last_hash(_numbered(self.path, number)) for number in too_many}
        self._add(descriptor, {"type": ROTATION, "timestamp": when, "removed": removed})
        for number in too_many:
            try:
                os.unlink(_numbered(self.path, number))
            except OSError:  # somebody reads it on Windows: next time, it and those after it, so that no gap is left
                return


class Problem(NamedTuple):
    """Where a chain is broken, and how that shows. ``line`` counts from 1."""

    file: str
    line: int
    what: str


class Report(NamedTuple):
    """What ``verify`` found. ``last``: the hash of the last line; ``is_complete``: the first file is still there."""

    files: int
    lines: int
    last: str
    is_complete: bool
    has_wanted: bool
    problems: list[Problem]


def verify(path: str, wanted: str | None = None) -> Report:
    """Look whether every line holds the hash of the one before. Raises OSError, FileNotFoundError if there is no log.

    ``wanted``: the hash of a line that must be there.
    """
    names = files(path)
    if not names:
        raise FileNotFoundError(2, "there is no log", path)
    is_complete = min(_numbers(path), default=1) == 1
    problems: list[Problem] = []
    last = FIRST if is_complete else None
    first: str | None = None  # what the first line there is holds
    removed: dict[str, Any] = {}  # hashes of last lines, by the numbers of files the log removed itself
    lines, has_wanted = 0, wanted is None
    for name in names:
        with open(name, "rb") as file:
            for number, raw in enumerate(file, 1):
                line = raw.removesuffix(b"\n")
                record = _parsed(line) or {}
                before = _before(record)
                first = before if lines == 0 else first
                if record.get("type") == ROTATION and isinstance(record.get("removed"), dict):
                    removed |= record["removed"]
                if before is None or raw == line:
                    problems.append(Problem(name, number, "is not whole: its writing was cut short, or it was changed"))
                elif last is not None and before != last:
                    what = "does not follow the line before: lines were changed, removed or put in"
                    problems.append(Problem(name, number, what))
                last = hashlib.sha256(line).hexdigest()
                has_wanted = has_wanted or last == wanted
                lines += 1
    if not is_complete and (first is None or removed.get(str(min(_numbers(path)) - 1)) != first):
        what = "follows a file that is not there, and that this log did not remove itself"
        problems.insert(0, Problem(names[0], 1, what))
    if names[-1] != path:
        problems.append(Problem(path, 0, "is not there, though full files before it are"))
    return Report(len(names), lines, last or FIRST, is_complete, has_wanted, problems)


def files(path: str) -> list[str]:
    """Return the log's files that are there, the oldest first."""
    names = [_numbered(path, number) for number in sorted(_numbers(path))]
    return [*names, path] if os.path.exists(path) else names


def records(path: str) -> Iterator[dict[str, Any]]:
    """Yield what every whole line says, the oldest first. Raises OSError."""
    for name in files(path):
        with open(name, "rb") as file:
            for line in file:
                record = _parsed(line)
                if record is not None:
                    yield record


class _Impatient:
    """A wait that ends."""

    def __init__(self) -> None:
        self._until = 0.0

    def check(self) -> None:
        now = time.monotonic()
        self._until = self._until or now + _LONGEST_WAIT
        if now > self._until:
            raise BlockingIOError(11, "another process holds on to the log")

    def report(self, done: int, total: int, message: str) -> None:
        """Nobody is told."""

    def confirm(self, question: object) -> None:
        """Nobody is asked."""


def _numbered(path: str, number: int) -> str:
    return f"{path}.{number:06d}"


def _numbers(path: str) -> list[int]:
    folder, name = os.path.split(os.path.abspath(path))
    try:
        found = os.listdir(folder)
    except FileNotFoundError:
        return []
    endings = [each[len(name) + 1 :] for each in found if each.startswith(name + ".")]
    return [int(ending) for ending in endings if ending.isascii() and ending.isdecimal()]


def _tail(descriptor: int, size: int) -> tuple[bytes, bool]:
    """Return the last line, and whether it lacks its end."""
    read, start = b"", size
    while start > 0 and b"\n" not in read[:-1]:
        start = max(0, start - _TAIL)
        os.lseek(descriptor, start, os.SEEK_SET)
        read = b""
        while len(read) < size - start:
            part = os.read(descriptor, size - start - len(read))
            if not part:
                break
            read += part
    line = read.removesuffix(b"\n")
    return line[line.rfind(b"\n") + 1 :], size > 0 and not read.endswith(b"\n")


def _last_hash(path: str) -> str:
    """Return the hash of a file's last line."""
    with open(path, "rb") as file:
        tail, _ = _tail(file.fileno(), os.fstat(file.fileno()).st_size)
    return hashlib.sha256(tail).hexdigest()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) else None


def _before(record: dict[str, Any]) -> str | None:
    """Return the hash a line holds, None for one that is no line of ours."""
    before = record.get("prev")
    return before if isinstance(before, str) else None
