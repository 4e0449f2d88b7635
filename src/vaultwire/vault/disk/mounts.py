"""Which file systems report every change on them, by any program or machine. Linux lists mounts in ``/proc``."""

from __future__ import annotations

import functools
import os
import re

_MOUNTS = "/proc/self/mountinfo"
# File systems whose files others may change without this kernel's knowledge: shares, and folders of the host of a virtual
# machine or container. inotify(7), "Limitations and caveats": there are no events for changes on the other side.
_SHARES = frozenset(["9p", "afs", "ceph", "cifs", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"])
_HOST_FOLDERS = frozenset(["drvfs", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"])
# Of the file systems in user space ("fuse.NAME"), these only encrypt a local folder: it changes only through the mount.
_SEEN_FUSE = frozenset(["fuse.cryfs", "fuse.encfs", "fuse.gocryptfs"])
# mountinfo escapes spaces, tabs, line ends and backslashes: proc_pid_mountinfo(5).
_ESCAPED = re.compile(r"\\([0-7]{3})")


def file_system_of(mounts: str, place: str) -> str:
    """Return the type of the file system that holds an absolute, resolved path; ``""`` if ``mounts`` does not say.

    ``mounts`` is the text of ``/proc/self/mountinfo``: fields 5 and, after a lone ``-``, the type
    (proc_pid_mountinfo(5)). Of several mounts on one folder the last one hides the others.
    """
    longest, kind = "", ""
    for line in mounts.splitlines():
        mount, separator, source = line.partition(" - ")
        fields = mount.split(" ")
        if not separator or len(fields) < 5:  # noqa: PLR2004 - the fifth is read below
            continue
        point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
        if len(point) >= len(longest) and f"{place}/".startswith(point.rstrip("/") + "/"):
            longest, kind = point, source.split(" ", 1)[0]
    return kind


def reports_all_changes(file_system: str) -> bool:
    """Tell whether a file system of this type, as Linux names it, reports all changes, by any program or machine."""
    if file_system == "fuse" or file_system.startswith("fuse."):
        return file_system in _SEEN_FUSE
    return file_system not in _SHARES | _HOST_FOLDERS


def unreported_file_system(root: str) -> str:
    """Return the type of the vault's file system if it does not report all changes, else ``""``. Only Linux is asked.

    On macOS and Windows the standard library does not tell the type of a mount.
    """
    try:
        # Its paths may be any bytes.
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            kind = file_system_of(file.read(), root)
    except OSError:
        return ""
    return "" if reports_all_changes(kind) else kind


def file_system_of_file(descriptor: int) -> str:
    """Return the type of the file system that holds an open file, ``""`` if that is not known."""
    status = os.fstat(descriptor)
    return _file_system_of_device(f"{os.major(status.st_dev)}:{os.minor(status.st_dev)}")


@functools.cache
def _file_system_of_device(device: str) -> str:
    """Return the type of the file system on a device: the third field is its number (proc_pid_mountinfo(5))."""
    try:
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            kinds = {line.partition(" - ")[2].split(" ", 1)[0] for line in file if line.split(" ", 3)[2:3] == [device]}
    except OSError:
        return ""
    return kinds.pop() if len(kinds) == 1 else ""
