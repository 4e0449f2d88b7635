"""File operations that differ between operating systems: rename, link, remove; mounts. Paths here are absolute.

No content of the vault is read or written here (``vault.disk.files``), only small private files of the program itself.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import json
import os
import re
import signal
import stat
import sys
import time
from collections.abc import Callable, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias, TypeVar

    _Result = TypeVar("_Result")


# Two atomic renames that Python lacks: one swaps two names, one renames only if the new name is free.
#
# Each is one step, so nothing is overwritten, even if other programs write meanwhile. Linux has them since 3.15 (renameat2), on
# most local file systems; macOS since 10.12 (renamex_np), on APFS. Paths here are absolute.

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


# Which file systems report every change on them, by any program or machine. Linux lists mounts in ``/proc``.

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


# Windows: a file that a virus scanner, indexer or sync client has open cannot be renamed, replaced or removed. They close it
# within 2.5 s.
_WAITS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0) if os.name == "nt" else ()
_OPEN_READ = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

# More than any private file of ours has.
_MAX_PRIVATE_BYTES = 65_536


class StaleFileError(OSError):
    """Another program has replaced the file that was to be renamed."""


def copy_attributes(source: str, target: str, descriptor: int) -> None:
    """Give the new file the old one's mode, and its owner and extended attributes where the system allows it."""
    status = os.stat(source)
    if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:  # only root may do that; the content matters more
            pass
    if hasattr(os, "listxattr"):
        try:
            for name in os.listxattr(source):
                os.setxattr(target, name, os.getxattr(source, name))
        except OSError:  # a file system without them, or a name only the system may set
            pass
    os.chmod(target, stat.S_IMODE(status.st_mode))


def rename_no_replace(source: str, target: str) -> None:
    """Rename source to target unless target exists (FileExistsError). Never overwrites, even if other programs write meanwhile.

    Where that takes two steps, StaleFileError says that another program saved ``source`` between them; that file stays.
    """
    if os.name == "nt":
        rename_entry(source, target)  # Windows itself refuses an existing target
        return
    if try_rename_no_replace(source, target):
        return
    try:
        os.link(source, target, follow_symlinks=os.link not in os.supports_follow_symlinks)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV):
            raise
        # No hard links here (FAT, some network and Android file systems): reserve the name with an empty file instead.
        os.close(os.open(target, OPEN_NEW, 0o666))
        try:
            os.replace(source, target)
        except OSError:
            remove_quietly(target)
            raise
        return
    try:
        if not os.path.samestat(os.lstat(source), os.lstat(target)):
            raise StaleFileError(errno.ESTALE, os.strerror(errno.ESTALE), source)
        os.unlink(source)
    except OSError:  # else it would be there twice, though the caller hears that nothing happened
        remove_quietly(target)
        raise


def has_hard_links(source: str, name: str) -> bool:
    """Tell whether a file can have a second name. ``name`` is unused; it is free again afterwards."""
    remove_quietly(name)
    try:
        os.link(source, name, follow_symlinks=os.link not in os.supports_follow_symlinks)
    except OSError:
        return False
    remove_quietly(name)
    return True


# Their syncfs writes everything to the disk, as fsync does. Others may pass on what they have and not wait.
_SYNCED_AS_A_WHOLE = frozenset(["btrfs", "ext3", "ext4", "f2fs", "xfs"])
_TELLS_ERRORS = (5, 8)  # syncfs(2): since this version of Linux it fails if any file could not be written


def try_sync_file_system(descriptor: int) -> bool:
    """Sync every file of the file system of an open file, which was opened before they were written; False where that
    would not be as safe as syncing each. Raises OSError.
    """
    call = _syncfs()
    if call is None or file_system_of_file(descriptor) not in _SYNCED_AS_A_WHOLE:
        return False
    number = call(descriptor)
    if number:
        raise OSError(number, os.strerror(number))
    return True


@functools.cache
def _syncfs() -> Callable[[int], int] | None:
    """Return the system's own call, which returns an error number, 0 for success; None if there is none to rely on."""
    if sys.platform != "linux" or tuple(map(int, re.findall(r"\d+", os.uname().release)[:2])) < _TELLS_ERRORS:
        return None
    import ctypes  # noqa: PLC0415 - it takes 10 ms, and only changes need it

    try:
        call = ctypes.CDLL(None, use_errno=True).syncfs
    except (OSError, AttributeError):
        return None
    return lambda descriptor: ctypes.get_errno() if call(ctypes.c_int(descriptor)) else 0


def replace_file(source: str, target: str) -> None:
    """Rename source to target, whether target exists or not, in one step."""
    when_closed(os.replace, source, target)


def rename_entry(source: str, target: str) -> None:
    """Rename a file or folder to a name that is free, or to its own name in another spelling."""
    when_closed(os.rename, source, target)


def remove_file(path: str) -> None:
    """Remove a file. Raises OSError."""
    when_closed(os.unlink, path)


def when_closed(call: Callable[..., _Result], *arguments: object, waits: Sequence[float] = _WAITS) -> _Result:
    """Call a function of the system. Where that is refused, call it again after each of the ``waits``.

    Windows does not always tell a file that is open elsewhere from one that this person may not use.
    """
    for wait in waits:
        try:
            return call(*arguments)
        except PermissionError:
            time.sleep(wait)
    return call(*arguments)


def sync_file(descriptor: int, flush_drive: Callable[[int], object] | None = None) -> None:
    """Return when what was written to an open file is on the disk. Raises OSError.

    On macOS ``fsync`` passes the bytes to the drive, which may still lose them in a power cut; ``flush_drive``, by default the
    system's own call, makes the drive write all it has.
    """
    os.fsync(descriptor)
    flush_drive = flush_drive or _FLUSH_DRIVE
    if flush_drive is not None:
        try:
            flush_drive(descriptor)
        except OSError:  # network file systems have no such call
            pass


def sync_folder(folder: str) -> None:
    """Sync a folder's new names to the disk, where the system can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, _OPEN_READ)
    try:
        os.fsync(descriptor)
    except OSError:  # some network file systems refuse; the file itself is synced
        pass
    finally:
        os.close(descriptor)


def _flush_drive() -> Callable[[int], object] | None:
    if sys.platform == "darwin":
        import fcntl  # noqa: PLC0415 - not everywhere

        return lambda descriptor: fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
    return None


_FLUSH_DRIVE = _flush_drive()


def is_open_for_writing(path: str) -> bool:
    """Tell whether a program has the file open for writing, so that it may write more. Only Linux knows; False elsewhere."""
    if sys.platform != "linux":
        return False
    import fcntl  # noqa: PLC0415 - not everywhere

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # A read lease is granted only while no process has the file open for writing (fcntl(2), "Leases"). A program that opens
        # the file right then causes a signal: SIGIO would end this process, SIGURG is ignored.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:  # other errors: another user's file, or a file system without leases
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False


def folder_identity(folder: str) -> tuple[int, int] | None:
    """Return what tells this folder from another folder at its path; None if there is no folder."""
    try:
        status = os.stat(folder)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def make_private(folder: str) -> None:
    """Make a folder that only its owner may enter, with those above it that are missing. Raises OSError.

    ``os.makedirs`` gives its mode to the last folder only.
    """
    if os.path.isdir(folder):
        return
    above = os.path.dirname(os.path.abspath(folder))
    if above != folder:
        make_private(above)
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if not os.path.isdir(folder):
            raise


def keep_private(*folders: str) -> None:
    """Close folders of ours to other users, if an earlier version left them open."""
    for folder in folders if os.name == "posix" else ():
        with contextlib.suppress(OSError):
            found = os.stat(folder)
            if found.st_uid == os.geteuid() and found.st_mode & 0o077:
                os.chmod(folder, 0o700)


def write_private(path: str, value: object) -> None:
    """Write a value as a JSON file that only its owner can read. Readers never find half of it. Raises OSError."""
    temporary = f"{path}.{os.urandom(4).hex()}.part"
    try:
        with os.fdopen(os.open(temporary, OPEN_NEW, 0o600), "w", encoding="utf-8") as file:
            json.dump(value, file)
        replace_file(temporary, path)
    except OSError:
        remove_quietly(temporary)
        raise


def read_private(path: str) -> Any:
    """Return the value in a JSON file, None where there is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.loads(file.read(_MAX_PRIVATE_BYTES))
    except (OSError, ValueError, RecursionError):
        return None


def remove_quietly(path: str) -> None:
    """Remove a file; ignore all errors. It may be gone already."""
    try:
        remove_file(path)
    except OSError:
        pass


def remove_empty_folders(folders: list[str]) -> None:
    """Remove the folders, given outermost first, that exist and are empty."""
    for folder in reversed(folders):
        try:
            os.rmdir(folder)
        except OSError:  # another program has put a file into it
            continue
