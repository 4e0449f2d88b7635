"""When a file was made, as its disk says.

Windows and macOS say it with each look at a file. Linux has ``statx`` for it, which Python's ``os`` lacks before 3.15; ext4,
btrfs, xfs and tmpfs keep the time. Where the disk does not keep it (FAT under Linux, some network disks), the earlier of the
two times of the last change stands for it: the file was there by then. A copy, a restored backup and a ``git clone`` are new
files, so the time is that of the copy; in Obsidian it is the same.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

# linux/stat.h. The struct begins with the mask of what is in it; the time of birth is at 80: seconds, nanoseconds.
_AT_FDCWD, _STATX_BTIME, _STATX_BYTES = -100, 0x800, 256
_MASK = struct.Struct("I")
_TIME, _TIME_AT = struct.Struct("qI"), 80


def created_ns(place: str) -> int:
    """Return when the file at an absolute path was made, in nanoseconds since 1970. Raises OSError if there is no such file."""
    status = os.stat(place)
    known: float | None = getattr(status, "st_birthtime", None)
    if known is not None:
        exact: int | None = getattr(status, "st_birthtime_ns", None)  # Windows, from Python 3.12 on
        return int(known * 1e9) if exact is None else exact
    if sys.platform == "win32":
        return status.st_ctime_ns
    statx = _statx()
    found = None if statx is None else _born(statx, place)
    return min(status.st_mtime_ns, status.st_ctime_ns) if found is None else found


@cache
def _statx() -> Callable[..., int] | None:
    """Return the C library's function; None where it has none."""
    if sys.platform != "linux":
        return None
    function: Any = getattr(ctypes.CDLL(None), "statx", None)
    if function is not None:
        function.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_char_p]
    return None if function is None else function


def _born(statx: Callable[..., int], place: str) -> int | None:
    answer = ctypes.create_string_buffer(_STATX_BYTES)
    if statx(_AT_FDCWD, os.fsencode(place), 0, _STATX_BTIME, answer) != 0:
        return None
    (mask,) = _MASK.unpack_from(answer)
    if not mask & _STATX_BTIME:
        return None
    seconds, nanoseconds = _TIME.unpack_from(answer, _TIME_AT)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
