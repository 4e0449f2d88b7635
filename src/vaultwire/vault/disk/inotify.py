"""Linux's own file watching (inotify), asked only for the events that a vault needs: writes, creations, moves, deletions.

``watchfiles`` asks for opens too: then each file we read causes an event, and opening takes five times as long. It also polls
66 times a second; here the kernel wakes us. Linked and hidden folders are not watched, except the settings folder. If the
kernel drops events, that is known.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
from collections.abc import Callable, Iterator
from typing import Protocol

ADDED, CHANGED, DELETED = 1, 2, 3
"""The kinds of events, by the numbers of ``watchfiles``."""

# linux/inotify.h
_MODIFY, _ATTRIB, _CLOSE_WRITE, _MOVED_FROM, _MOVED_TO = 0x2, 0x4, 0x8, 0x40, 0x80
_CREATE, _DELETE, _DELETE_SELF, _MOVE_SELF = 0x100, 0x200, 0x400, 0x800
_Q_OVERFLOW, _IGNORED, _ONLYDIR, _DONT_FOLLOW, _ISDIR = 0x4000, 0x8000, 0x1000000, 0x2000000, 0x40000000
_MASK = (
    _MODIFY | _ATTRIB | _CLOSE_WRITE | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
    | _ONLYDIR | _DONT_FOLLOW
)  # fmt: skip
_EVENT = struct.Struct("iIII")
_BUFFER_BYTES = 1 << 16
# The folder is gone, is a link by now, or may not be read: the walk cannot read it either.
_IGNORED_ERRORS = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)
# Events are returned when none has come for this long: a save is several events.
_QUIET_MS = 8


class WaitEnd(Protocol):
    """Says when a wait is over."""

    def is_set(self) -> bool:
        """Tell whether the watch is being closed. Raises when the time of the wait is over."""

    def remaining(self) -> float:
        """Return how many seconds the wait may go on."""


class Overflow(Exception):  # noqa: N818 - the kernel's word for it
    """The kernel dropped events: anything may have changed."""


class Inotify:
    """The watches on a folder and all below it that are not hidden. Raises OSError where the system refuses."""

    def __init__(self, root: str, is_watched: Callable[[str], bool]) -> None:
        """``is_watched`` tells whether to watch a folder, by its vault-relative path."""
        self._root = root
        self._is_watched = is_watched
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._checked(self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK))
        self._woken, self._wake = os.pipe()
        self._folders: dict[int, str] = {}  # watch → folder, relative to the root
        self._poll = select.poll()
        self._poll.register(self._descriptor, select.POLLIN)
        self._poll.register(self._woken, select.POLLIN)
        try:
            self._add("")
        except BaseException:
            self.close()
            raise

    def watch(self, debounce_ms: int, _step_ms: int, _timeout_ms: int, end: WaitEnd) -> set[tuple[int, str]] | str:
        """Return the events since the last call, as soon as there is one. Raises Overflow, and OSError."""
        events: set[tuple[int, str]] = set()
        while not events:
            if end.is_set():
                return "stop"
            self._poll.poll(max(0.0, end.remaining()) * 1000)
            events |= set(self._events())
        for _ in range(0, debounce_ms, _QUIET_MS):
            if not self._poll.poll(_QUIET_MS):
                break
            if end.is_set():
                return "stop"
            events |= set(self._events())
        return events

    def wake(self) -> None:
        """Make a waiting ``watch`` check whether to end."""
        os.write(self._wake, b".")

    def close(self) -> None:
        """End all watches."""
        for descriptor in (self._descriptor, self._woken, self._wake):
            os.close(descriptor)

    def _events(self) -> Iterator[tuple[int, str]]:
        try:
            data = os.read(self._descriptor, _BUFFER_BYTES)
        except BlockingIOError:
            return
        position = 0
        while position < len(data):
            watch, mask, _, length = _EVENT.unpack_from(data, position)
            position += _EVENT.size
            name = os.fsdecode(data[position : position + length].rstrip(b"\0"))
            position += length
            if mask & _Q_OVERFLOW:
                raise Overflow
            folder = self._folders.get(watch)
            if folder is None:
                continue
            if mask & _IGNORED:
                del self._folders[watch]
            elif mask & (_DELETE_SELF | _MOVE_SELF):
                if not folder:
                    yield DELETED, self._root
            elif name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name):  # else not UTF-8
                yield from self._event(f"{folder}/{name}" if folder else name, mask)

    def _event(self, path: str, mask: int) -> Iterator[tuple[int, str]]:
        change = DELETED if mask & (_DELETE | _MOVED_FROM) else ADDED if mask & (_CREATE | _MOVED_TO) else CHANGED
        if mask & _ISDIR and change == DELETED:
            self._remove(path)
        elif mask & _ISDIR:
            # The folder is watched before it is reported, and so before it is walked: no file in it is missed. A changed
            # folder may be one that could not be read before.
            self._add(path)
        yield change, os.path.join(self._root, path)

    def _add(self, start: str) -> None:
        """Watch a folder and those below it. A folder that is gone by now is ignored."""
        pending = [start]
        while pending:
            folder = pending.pop()
            if folder and not self._is_watched(folder):
                continue
            place = os.path.join(self._root, folder)
            watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(place), _MASK)
            if watch < 0:
                reason = ctypes.get_errno()
                if folder and reason in _IGNORED_ERRORS:
                    continue
                raise OSError(reason, os.strerror(reason), place)
            self._folders[watch] = folder
            try:
                with os.scandir(place) as entries:
                    below = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
            except (FileNotFoundError, PermissionError):
                continue
            pending += [f"{folder}/{name}" if folder else name for name in below]

    def _remove(self, path: str) -> None:
        """Stop watching a moved folder and those below it: their events would come under their old names."""
        for watch, folder in list(self._folders.items()):
            if folder == path or folder.startswith(path + "/"):
                self._libc.inotify_rm_watch(self._descriptor, watch)
                del self._folders[watch]

    @staticmethod
    def _checked(result: int) -> int:
        if result < 0:
            reason = ctypes.get_errno()
            raise OSError(reason, os.strerror(reason))
        return result
