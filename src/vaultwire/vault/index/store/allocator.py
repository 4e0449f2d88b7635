"""Settings of the C library's memory allocator that the text index needs (glibc's ``mallopt``). No effect elsewhere.

They are process-wide. They are here because people notice the difference: after 120 edits of a vault of 1,000 notes the
process has 43 MB resident with them, 186 MB without.
"""

from __future__ import annotations

import sys

# mallopt's own numbers (malloc.h).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
# The text index takes a few megabytes for each commit, on a thread of that commit. Blocks of this size go back to the system
# when they are freed. By default the first one freed makes glibc keep the next ones: up to 32 MB in each arena.
_MMAP_BYTES = 1 << 20
# A search for what a thousand words contain takes two megabytes in small blocks. By default glibc gives back all above
# 128 KB, and the page faults of getting it again take a tenth of the search's time.
_TRIM_BYTES = 4 << 20
# One arena for Python and one for all other threads. By default there are eight for each core, and each keeps free memory.
_ARENAS = 2


def limit_kept_memory() -> None:
    """Have freed memory go back to the system."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - loaded only where watching for changes needs it anyway

    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):  # other libraries may give these numbers another meaning
        library.mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        library.mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        library.mallopt(_M_ARENA_MAX, _ARENAS)


def give_back_memory() -> None:
    """Give all free memory back to the system. Blocks below the limit above would stay: 30 MB after a large build."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - as above

    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)
