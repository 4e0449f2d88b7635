"""What the C library keeps of memory that the text index is done with: only glibc needs to be told. All else is left alone."""

from __future__ import annotations

import sys

# mallopt's own numbers (malloc.h).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
# The text index takes a few megabytes for each commit, on a thread of that commit's. Blocks of this size go back to the
# system when they are freed. By default the first one freed teaches glibc to keep those to come: up to 32 MB in each arena.
_MMAP_BYTES = 1 << 20
# A search for what a thousand words hold takes two megabytes in small blocks. By default whatever is free over 128 KB goes
# back, and getting it again costs a search as many page faults: a tenth of its time.
_TRIM_BYTES = 4 << 20
# One for Python and one for all other threads; by default eight times as many as there are cores, each with its own leavings.
_ARENAS = 2


def keep_little() -> None:
    """Have freed memory go back to the system: after sixty writes the process then holds 38 MB, not 139."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - there only, where watching for changes needs it anyway

    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):  # another library may take these numbers for something else
        library.mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        library.mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        library.mallopt(_M_ARENA_MAX, _ARENAS)
