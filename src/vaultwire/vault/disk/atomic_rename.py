"""Two atomic renames that Python lacks: one swaps two names, one renames only if the new name is free.

Each is one step, so nothing is overwritten, even if other programs write meanwhile. Linux has them since 3.15 (renameat2), on
most local file systems; macOS since 10.12 (renamex_np), on APFS. Paths here are absolute.
"""

from __future__ import annotations

import errno
import functools
import os
import sys
from collections.abc import Callable
from typing import TypeAlias

_Rename: TypeAlias = Callable[[str, str, bool], int]
"""Takes two paths and whether to swap them; returns an error number, 0 for success."""

# The errors of systems without the call, of file systems that cannot do it, and of sandboxes that refuse unknown calls
# (EPERM). Where no rename is allowed, the plain one fails too and says so.
_CANNOT = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EPERM, errno.EXDEV)
_AT_FDCWD = -100
# linux/fs.h; sys/stdio.h of macOS.
_LINUX_NOREPLACE, _LINUX_EXCHANGE = 1, 2
_MAC_SWAP, _MAC_EXCL = 2, 4
# For C libraries without the function: musl, glibc before 2.28.
_LINUX_CALLS = {"x86_64": 316, "aarch64": 276, "riscv64": 276, "armv7l": 382, "armv6l": 382, "i686": 353, "i386": 353}


def try_swap(one: str, other: str) -> bool:
    """Swap two names of one file system. False, with nothing done, where that is not possible. Raises OSError."""
    return _rename(one, other, is_swap=True)


def try_rename_no_replace(source: str, target: str) -> bool:
    """Rename source to target unless target exists (FileExistsError). False where that is not possible. Raises OSError."""
    return _rename(source, target, is_swap=False)


def _rename(source: str, target: str, *, is_swap: bool) -> bool:
    rename = system_rename()
    if rename is None:
        return False
    number = rename(source, target, is_swap)
    if number in _CANNOT:
        return False
    if number:
        raise OSError(number, os.strerror(number), source, None, target)
    return True


@functools.cache
def system_rename() -> _Rename | None:
    """Return the system's own call, None if there is none."""
    if sys.platform not in ("linux", "darwin"):
        return None
    import ctypes  # noqa: PLC0415 - it takes 10 ms, and only changes need it

    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except OSError:
        return None

    def called(call: Callable[..., int], *arguments: object) -> int:
        return ctypes.get_errno() if call(*arguments) else 0

    if sys.platform == "darwin":
        if not hasattr(libc, "renamex_np"):
            return None
        return lambda source, target, is_swap: called(
            libc.renamex_np,
            os.fsencode(source),
            os.fsencode(target),
            ctypes.c_uint(_MAC_SWAP if is_swap else _MAC_EXCL),
        )
    if hasattr(libc, "renameat2"):
        call, first = libc.renameat2, []
    elif os.uname().machine in _LINUX_CALLS:
        call, first = libc.syscall, [ctypes.c_long(_LINUX_CALLS[os.uname().machine])]
    else:
        return None
    here = ctypes.c_int(_AT_FDCWD)
    return lambda source, target, is_swap: called(
        call,
        *first,
        here,
        os.fsencode(source),
        here,
        os.fsencode(target),
        ctypes.c_uint(_LINUX_EXCHANGE if is_swap else _LINUX_NOREPLACE),
    )
