"""Which file systems tell of every change on them, by whomever. Linux says what lies where in ``/proc``."""

from __future__ import annotations

import re

_MOUNTS = "/proc/self/mountinfo"
# File systems whose files others may change without this kernel knowing: shares, and folders of the host of a virtual
# machine or container. inotify(7), "Limitations and caveats": no events for what happens on the other side.
_SHARES = frozenset(["9p", "afs", "ceph", "cifs", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"])
_HOST_FOLDERS = frozenset(["drvfs", "prl_fs", "vboxsf", "virtiofs", "vmhgfs"])
# Of what runs in user space ("fuse.NAME"), these only encrypt a local folder: nobody changes it but through the mount.
_SEEN_FUSE = frozenset(["fuse.cryfs", "fuse.encfs", "fuse.gocryptfs"])
_ESCAPED = re.compile(
    r"\\([0-7]{3})"
)  # mountinfo writes blanks, tabs, line ends and backslashes so: proc_pid_mountinfo(5)


def file_system_of(mounts: str, place: str) -> str:
    """Return the type of the file system an absolute, resolved path lies on, ``""`` if ``mounts`` does not say.

    ``mounts`` is the text of ``/proc/self/mountinfo``: fields 5 and, after a lone ``-``, the type
    (proc_pid_mountinfo(5)). Of several mounts on one folder the last one hides the others.
    """
    longest, kind = "", ""
    for line in mounts.splitlines():
        mount, separator, source = line.partition(" - ")
        fields = mount.split(" ")
        if not separator or len(fields) < 5:  # noqa: PLR2004 - the fifth is the one wanted
            continue
        point = _ESCAPED.sub(lambda match: chr(int(match[1], 8)), fields[4])
        if len(point) >= len(longest) and f"{place}/".startswith(point.rstrip("/") + "/"):
            longest, kind = point, source.split(" ", 1)[0]
    return kind


def reports_all_changes(file_system: str) -> bool:
    """Tell whether a file system of this type, as Linux names it, reports whatever changes on it, by whomever."""
    if file_system == "fuse" or file_system.startswith("fuse."):
        return file_system in _SEEN_FUSE
    return file_system not in _SHARES | _HOST_FOLDERS


def unseen_file_system(root: str) -> str:
    """Return the type of the vault's file system if that does not report all changes. Only Linux is asked.

    On macOS and Windows the type of a mount is not to be had from the standard library.
    """
    try:
        # Names in it are bytes of any kind, as in every path.
        with open(_MOUNTS, encoding="utf-8", errors="surrogateescape") as file:
            kind = file_system_of(file.read(), root)
    except OSError:
        return ""
    return "" if reports_all_changes(kind) else kind
