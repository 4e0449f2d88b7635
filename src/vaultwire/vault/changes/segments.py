"""The journal's files: appending to the last one, reading on in any of them, letting go of the oldest.

Records are only ever appended. A file that ends in half a record is left as it is and a new one begun, so that nothing is
ever written behind what cannot be read, and nothing that could be read is cut.
"""

from __future__ import annotations

import os
import time
from typing import Any, BinaryIO, NamedTuple

from vaultwire.vault.changes.records import PREFIX_SIZE, is_whole, parse_header, parse_prefix

_PREFIX = (
    "changes.v1."  # the format is in the name: another version of the program must not take this for half a record
)
_NS_PER_DAY = 86_400 * 1_000_000_000
# Looking through the last segment is what the first change of a process waits for: 15 µs a record, 10 ms for this much.
_FULL = 2 << 20
# How much longer than allowed the oldest record of a segment may be kept because of the youngest in it.
_MAX_DAYS = 7

_OPEN_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_OPEN_APPEND = os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Retention(NamedTuple):
    """How long changes are kept, and how many bytes of them at most.

    90 days, as long as a person may look for what an assistant did last quarter; 500 MB, some 100,000 edits of notes.
    """

    days: int = 90
    total_bytes: int = 500_000_000


KEEP = Retention()


class Record(NamedTuple):
    """A record found: its header, and where its payload lies."""

    header: dict[str, Any]
    start: int
    length: int


class Segment:
    """One file of the journal."""

    def __init__(self, folder: str, number: int) -> None:
        self.number = number
        self.path = os.path.join(folder, f"{_PREFIX}{number:08d}")
        self.end = 0  # up to where it has been read; every record before is whole
        self.began_ns = 0  # when its first record was written
        self.is_damaged = False  # whether more than one record that was being written is lost behind ``end``

    def size(self) -> int:
        """Return the file's size, 0 if it is gone."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def read_on(self) -> list[Record]:
        """Return the records that were added since the last call; half a one is not returned."""
        found: list[Record] = []
        try:
            with open(self.path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                while self.end < size:
                    file.seek(self.end)
                    prefix = parse_prefix(file.read(PREFIX_SIZE))
                    start = self.end + PREFIX_SIZE + (prefix.header if prefix else 0)
                    if prefix is not None and start + prefix.payload > size:
                        break  # not written to its end, or not yet
                    header = parse_header(prefix, file.read(prefix.header)) if prefix else None
                    if prefix is None or header is None:
                        self.is_damaged = self._is_followed(file, start + prefix.payload if prefix else start, size)
                        break
                    self.began_ns = self.began_ns or header.get("time", 0)
                    found.append(Record(header, start, prefix.payload))
                    self.end = start + prefix.payload
        except FileNotFoundError:
            pass
        return found

    def _is_followed(self, file: BinaryIO, behind: int, size: int) -> bool:
        """Tell whether there is more behind a broken record. A power cut leaves nothing there, or zeroes."""
        file.seek(min(behind, size))
        return bool(file.read().strip(b"\0"))

    def payload(self, record: Record) -> bytes | None:
        """Return a record's payload, None if the disk has lost it."""
        try:
            with open(self.path, "rb") as file:
                file.seek(record.start)
                data = file.read(record.length)
        except FileNotFoundError:
            return None
        return data if is_whole(record.header, data) else None

    def append(self, data: bytes, *, sync: bool) -> None:
        """Add records, all or nothing; on the disk when this returns, if ``sync``. Raises OSError."""
        descriptor = os.open(self.path, _OPEN_APPEND | (os.O_CREAT if self.end == 0 else 0), 0o600)
        try:
            try:
                rest = memoryview(data)
                while rest:
                    rest = rest[os.write(descriptor, rest) :]
                if sync:
                    os.fsync(descriptor)
            except BaseException:
                os.ftruncate(descriptor, self.end)
                raise
        finally:
            os.close(descriptor)
        if sync and self.end == 0:
            sync_folder(os.path.dirname(self.path))

    def is_usable(self) -> bool:
        """Tell whether the next change may be added here: nothing torn at the end, not full, not too old."""
        is_recent = time.time_ns() - self.began_ns < _MAX_DAYS * _NS_PER_DAY
        return self.size() == self.end < _FULL and (is_recent or self.end == 0)


def segment_numbers(folder: str) -> list[int]:
    """Return the numbers of the segments in a folder, ascending; none if it is not there."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(
        int(name[len(_PREFIX) :]) for name in names if name.startswith(_PREFIX) and name[len(_PREFIX) :].isdecimal()
    )


def remove_old(folder: str, retention: Retention) -> None:
    """Remove whole segments that are too old, and the oldest as long as there are too many bytes; never the last."""
    segments = [Segment(folder, number) for number in segment_numbers(folder)]
    sizes = [segment.size() for segment in segments]
    for segment, size_and_later in zip(segments[:-1], _sums_from(sizes), strict=False):
        try:
            age = time.time_ns() - os.stat(segment.path).st_mtime_ns
            if age > retention.days * _NS_PER_DAY or size_and_later > retention.total_bytes:
                os.unlink(segment.path)
        except OSError:  # gone already, or open on Windows: next time
            continue


def sync_folder(folder: str) -> None:
    """Have the folder's new names on the disk, where the system lets a folder be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, _OPEN_READ)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse; the file itself is synced
        pass
    finally:
        os.close(descriptor)


def _sums_from(sizes: list[int]) -> list[int]:
    """Return for each size the sum of it and all later ones."""
    total, sums = 0, []
    for size in reversed(sizes):
        total += size
        sums.append(total)
    return sums[::-1]
