"""What a file's status says beyond POSIX: files that are only in a cloud (iCloud, OneDrive), and Windows' junctions.

Apart from the walk, because the first answer of a server loads it (``guides``).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

# macOS: SF_DATALESS (sys/stat.h); Windows: FILE_ATTRIBUTE_OFFLINE, …_RECALL_ON_OPEN, …_RECALL_ON_DATA_ACCESS.
_MAC_DATALESS = 0x40000000
_WINDOWS_DATALESS = 0x1000 | 0x40000 | 0x400000

_JUNCTION = 0xA0000003  # IO_REPARSE_TAG_MOUNT_POINT


def is_placeholder(status: os.stat_result) -> bool:
    """Tell whether reading a file with this status would fetch it from a cloud, which takes seconds."""
    flags: int = getattr(status, "st_flags", 0)
    attributes: int = getattr(status, "st_file_attributes", 0)
    return bool(flags & _MAC_DATALESS or attributes & _WINDOWS_DATALESS)


def is_junction(status: os.stat_result) -> bool:
    """Tell whether a status, taken without following links, is that of a junction: a folder that leads to another one.

    Python's other questions take a junction for a folder, not for a link.
    """
    return getattr(status, "st_reparse_tag", 0) == _JUNCTION
