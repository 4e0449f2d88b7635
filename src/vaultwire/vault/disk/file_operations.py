"""File operations that differ between operating systems: rename, link, remove. Paths here are absolute.

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
from typing import Any, TypeVar

from vaultwire.vault.disk.atomic_rename import try_rename_no_replace
from vaultwire.vault.disk.mounts import file_system_of_file

# Windows: a file that a virus scanner, indexer or sync client has open cannot be renamed, replaced or removed. They close it
# within 2.5 s.
_WAITS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0) if os.name == "nt" else ()
OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)

# More than any private file of ours has.
_MAX_PRIVATE_BYTES = 65_536

_Result = TypeVar("_Result")


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
