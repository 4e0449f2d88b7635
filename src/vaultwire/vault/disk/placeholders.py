"""Files of which only the name is on this computer: iCloud, OneDrive and the like evict files in this way."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

# macOS: SF_DATALESS (sys/stat.h); Windows: FILE_ATTRIBUTE_OFFLINE, …_RECALL_ON_OPEN, …_RECALL_ON_DATA_ACCESS.
_MAC_DATALESS = 0x40000000
_WINDOWS_DATALESS = 0x1000 | 0x40000 | 0x400000


def is_placeholder(status: os.stat_result) -> bool:
    """Tell whether reading a file with this status would fetch it from a cloud, which takes seconds."""
    flags: int = getattr(status, "st_flags", 0)
    attributes: int = getattr(status, "st_file_attributes", 0)
    return bool(flags & _MAC_DATALESS or attributes & _WINDOWS_DATALESS)
