"""The journal's segment files: append to the last one, read on in any of them, remove the oldest.

Records are only appended. Where a file ends in half a record, a new file is begun, so that nothing is written after bytes that
cannot be read, and nothing that could be read is cut.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from itertools import accumulate
from typing import Any, BinaryIO, NamedTuple

from vaultwire.vault.changes.journal_records import MARK, PREFIX_SIZE, Recorded, is_whole, parse_header, parse_prefix
from vaultwire.vault.disk.file_operations import sync_file

_PREFIX = (
    "changes.v2."  # the format is in the name: another version of the program must not take this for half a record
)
_NS_PER_DAY = 86_400 * 1_000_000_000
# The first change of a process waits until the last segment is read: 15 µs a record, 10 ms for this size.
_MAX_SIZE = 2 << 20
# No record of a change is shorter.
_MIN_RECORD = 150
# How many days of changes one segment may hold: so much longer than allowed its oldest record may be kept.
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
    """A record in a segment: its position, its header, and the position of its payload."""

    at: int
    header: dict[str, Any]
    start: int
    length: int


class Segment:
    """One file of the journal."""

    def __init__(self, folder: str, number: int) -> None:
        self.number = number
        self.path = os.path.join(folder, f"{_PREFIX}{number:08d}")
        self.end = 0  # up to where it has been read: the end of the last whole record
        self.began_ns = 0  # when its first record was written
        self.last_id = 0  # the highest number in it
        self.damaged_at = -1  # where the last damage begins, -1 for none; half a record at the end is no damage
        self.lost = 0  # how many changes there may have been after the last whole record

    def size(self) -> int:
        """Return the file's size, 0 if it is gone."""
        try:
            return os.stat(self.path).st_size
        except OSError:
            return 0

    def read_on(self) -> Iterator[Record]:
        """Yield the records that were added since the last call, without damaged ones and half a record at the end.

        Parts of a change whose last record is not there come again with the next call: they are like half a record.
        """
        try:
            with open(self.path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                position = self.end
                while position < size:
                    record = self._record_at(file, position, size)
                    if record is None:
                        start = self._next_whole(file, position, size)
                        if start is None:
                            return
                        self.damaged_at, position = position, start
                        continue
                    position = record.start + record.length
                    self.began_ns = self.began_ns or record.header.get("time", 0)
                    self.lost = int(record.header["kind"] == "part")
                    if not self.lost:
                        self.last_id = max(self.last_id, _id_of(record))
                        self.end = position
                    yield record
        except FileNotFoundError:
            pass

    def _record_at(self, file: BinaryIO, position: int, size: int) -> Record | None:
        """Return the whole record that begins at a position, None if there is none."""
        file.seek(position)
        prefix = parse_prefix(file.read(PREFIX_SIZE))
        if prefix is None or position + PREFIX_SIZE + prefix.header > size:
            return None
        header = parse_header(prefix, file.read(prefix.header))
        start = position + PREFIX_SIZE + prefix.header
        return (
            None if header is None or start + prefix.payload > size else Record(position, header, start, prefix.payload)
        )

    def _next_whole(self, file: BinaryIO, position: int, size: int) -> int | None:
        """Return the position of the next whole record after a broken one at ``position``, None if the rest is lost or is
        not written yet.

        Where the lengths of the broken record are intact, the next one follows right after it. Otherwise it is found by
        its mark, and by a number that is not lower than those before: bytes of a note may look like a record as well.
        """
        file.seek(position)
        rest = file.read(size - position)
        prefix = parse_prefix(rest)
        if prefix is not None:
            header = parse_header(prefix, rest[PREFIX_SIZE : PREFIX_SIZE + prefix.header])
            if header is not None:  # its payload is still being written, or was cut off: nothing follows
                self.lost = 1
                return None
            following = position + PREFIX_SIZE + prefix.header + prefix.payload
            if following < size and self._record_at(file, following, size) is not None:
                return following
        at = rest.find(MARK, 1)
        while at >= 0:
            record = self._record_at(file, position + at, size)
            if record is not None and _id_of(record) >= self.last_id:
                return position + at
            at = rest.find(MARK, at + 1)
        # A kill leaves the beginning of one record, a power cut that or zeros; anything else is damage.
        is_cut = len(rest) < PREFIX_SIZE + (0 if prefix is None else prefix.header + prefix.payload)
        if not is_cut and rest.strip(b"\0"):
            self.damaged_at = position
        self.lost = 1 if is_cut else 1 + len(rest) // _MIN_RECORD
        return None

    def recorded(self, position: int) -> Recorded | None:
        """Return the record at a position with its payload, None if that is damaged or the segment is gone."""
        try:
            with open(self.path, "rb") as file:
                record = self._record_at(file, position, os.fstat(file.fileno()).st_size)
                if record is None:
                    return None
                file.seek(record.start)
                data = file.read(record.length)
        except FileNotFoundError:
            return None
        return Recorded(record.header, data, self.path, record.start) if is_whole(record.header, data) else None

    def append(self, records: Iterable[bytes], *, sync: bool) -> None:
        """Add records, all or nothing; with ``sync``, they are on the disk when this returns. Raises OSError."""
        descriptor = os.open(self.path, _OPEN_APPEND | (os.O_CREAT if self.end == 0 else 0), 0o600)
        try:
            try:
                for data in records:
                    rest = memoryview(data)
                    while rest:
                        rest = rest[os.write(descriptor, rest) :]
                if sync:
                    sync_file(descriptor)
            except BaseException:
                os.ftruncate(descriptor, self.end)
                raise
        finally:
            os.close(descriptor)
        if sync and self.end == 0:
            sync_folder(os.path.dirname(self.path))

    def is_usable(self) -> bool:
        """Tell whether the next change may be added: no torn record at the end, not full, not too old."""
        is_recent = time.time_ns() - self.began_ns < _MAX_DAYS * _NS_PER_DAY
        return self.size() == self.end < _MAX_SIZE and (is_recent or self.end == 0)


def _id_of(record: Record) -> int:
    """Return the number of a record's change, or of the last change before the segment."""
    number: int = record.header.get("id") or record.header.get("last") or 0
    return number


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
    """Remove whole segments that are too old, and the oldest ones while there are too many bytes; never the last one."""
    segments = [Segment(folder, number) for number in segment_numbers(folder)]
    sizes = [segment.size() for segment in segments]
    for segment, size_and_later in zip(segments[:-1], reversed([*accumulate(reversed(sizes))]), strict=False):
        try:
            age = time.time_ns() - os.stat(segment.path).st_mtime_ns
            if age > retention.days * _NS_PER_DAY or size_and_later > retention.total_bytes:
                os.unlink(segment.path)
        except OSError:  # gone already, or open on Windows: next time
            continue


def sync_folder(folder: str) -> None:
    """Sync a folder's new names to the disk, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, _OPEN_READ)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse; the file itself is synced
        pass
    finally:
        os.close(descriptor)
