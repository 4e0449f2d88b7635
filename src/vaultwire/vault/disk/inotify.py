"""Linux's own file watching, asked for what a vault needs: what was written, made, moved or deleted; not what was opened.

``watchfiles`` asks for openings too, so with it each file we read tells us that we read it: opening takes five times as
long. It also looks for news 66 times a second; here the kernel wakes us. Folders behind links and hidden ones are not
watched, but for the settings folder; what is lost by the kernel is known to be lost.
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
"""What happened to a path, by the numbers that ``watchfiles`` has."""

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
# Gone since, a link by now, or not ours to look into: neither can the walk.
_PASSED_OVER = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES)
# News are handed out when none has come for so long: a save is several events.
_QUIET_MS = 8


class End(Protocol):
    """When a wait is over."""

    def is_set(self) -> bool:
        """Tell whether the watch is being closed. Raises at the end of the wait's time."""

    def remaining(self) -> float:
        """Return how many seconds the wait may go on."""


class Overflow(Exception):  # noqa: N818 - the kernel's word for it
    """The kernel dropped events: anything may have changed."""


class Inotify:
    """The watches on a folder and all below it that are not hidden. Raises OSError where the system refuses."""

    def __init__(self, root: str, is_watched: Callable[[str], bool]) -> None:
        """``is_watched`` tells of a folder's vault-relative path whether it is one to watch."""
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

    def watch(self, debounce_ms: int, _step_ms: int, _timeout_ms: int, end: End) -> set[tuple[int, str]] | str:
        """Return what happened since the last call, as soon as anything has. Raises Overflow, and OSError."""
        news: set[tuple[int, str]] = set()
        while not news:
            if end.is_set():
                return "stop"
            self._poll.poll(max(0.0, end.remaining()) * 1000)
            news |= set(self._events())
        for _ in range(0, debounce_ms, _QUIET_MS):
            if not self._poll.poll(_QUIET_MS):
                break
            if end.is_set():
                return "stop"
            news |= set(self._events())
        return news

    def wake(self) -> None:
        """Have a waiting ``watch`` ask whether to end."""
        os.write(self._wake, b".")

    def close(self) -> None:
        """Give up all watches."""
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
            elif name.isascii() or not any(
                "\udc80" <= character <= "\udcff" for character in name
            ):  # not UTF-8: no note
                yield from self._event(f"{folder}/{name}" if folder else name, mask)

    def _event(self, path: str, mask: int) -> Iterator[tuple[int, str]]:
        change = DELETED if mask & (_DELETE | _MOVED_FROM) else ADDED if mask & (_CREATE | _MOVED_TO) else CHANGED
        if mask & _ISDIR and change == DELETED:
            self._remove(path)
        elif mask & _ISDIR:
            # Watched before it is reported, and so before it is looked through: nothing put into it is missed. A changed
            # one may be one that nobody was allowed to look into before.
            self._add(path)
        yield change, os.path.join(self._root, path)

    def _add(self, start: str) -> None:
        """Watch a folder and those below it. One that is gone by now is passed over."""
        pending = [start]
        while pending:
            folder = pending.pop()
            if folder and not self._is_watched(folder):
                continue
            place = os.path.join(self._root, folder)
            watch = self._libc.inotify_add_watch(self._descriptor, os.fsencode(place), _MASK)
            if watch < 0:
                reason = ctypes.get_errno()
                if folder and reason in _PASSED_OVER:
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
        """Watch a folder that was moved, and those below it, no more: they would go on under their old names."""
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
