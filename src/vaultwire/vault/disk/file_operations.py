"""Putting finished files in their place: what operating systems make hard about renaming. Paths here are absolute."""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys
import time

from vaultwire.vault.disk.atomic_rename import try_rename_no_replace

# Windows: os.replace fails while a virus scanner, indexer or sync client holds the file; reports end within 2.5 s.
_REPLACE_WAITS = (0.05, 0.1, 0.2, 0.4, 0.8, 1.0) if os.name == "nt" else ()
OPEN_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class StaleFileError(OSError):
    """Another program has put another file in the place of one that was about to be renamed."""


def copy_attributes(source: str, target: str, descriptor: int) -> None:
    """Give the new file the old one's mode, and owner and extended attributes where the system lets us."""
    status = os.stat(source)
    if hasattr(os, "fchown") and (status.st_uid, status.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, status.st_uid, status.st_gid)
        except PermissionError:  # only root may give files away; the content matters more
            pass
    if hasattr(os, "listxattr"):
        try:
            for name in os.listxattr(source):
                os.setxattr(target, name, os.getxattr(source, name))
        except OSError:  # a file system without them, or a name only the system may set
            pass
    os.chmod(target, stat.S_IMODE(status.st_mode))


def rename_no_replace(source: str, target: str) -> None:
    """Rename source to target unless target exists (FileExistsError). Never overwrites, whoever else is writing.

    Where that takes two steps, StaleFileError says that another program saved ``source`` between them; it is as that left it.
    """
    if os.name == "nt":
        rename_entry(source, target)  # Windows' rename refuses an existing target by itself
        return
    if try_rename_no_replace(source, target):
        return
    try:
        os.link(source, target, follow_symlinks=os.link not in os.supports_follow_symlinks)
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EXDEV):
            raise
        # No hard links here (FAT, some network and Android file systems): hold the name with an empty file instead.
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
    except OSError:  # it would be there twice, and the caller told that nothing happened
        remove_quietly(target)
        raise


def has_hard_links(source: str, name: str) -> bool:
    """Tell whether a file can be given a second name; ``name`` is one that nobody else uses, and is free again then."""
    remove_quietly(name)
    try:
        os.link(source, name, follow_symlinks=os.link not in os.supports_follow_symlinks)
    except OSError:
        return False
    remove_quietly(name)
    return True


def replace_file(source: str, target: str) -> None:
    """Rename source to target, whether target exists or not, in one step."""
    for wait in _REPLACE_WAITS:
        try:
            os.replace(source, target)
        except PermissionError:
            time.sleep(wait)
        else:
            return
    os.replace(source, target)


def rename_entry(source: str, target: str) -> None:
    """Rename a file or folder to a name that is free, or is its own in another spelling."""
    for wait in _REPLACE_WAITS:
        try:
            os.rename(source, target)
        except FileExistsError:
            raise
        except PermissionError:
            time.sleep(wait)
        else:
            return
    os.rename(source, target)


def is_open_for_writing(path: str) -> bool:
    """Tell whether a program has the file open for writing, so that more may come. Only Linux says; False elsewhere."""
    if sys.platform != "linux":
        return False
    import fcntl  # noqa: PLC0415 - not everywhere

    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # To read undisturbed is granted only while nobody has it open for writing (fcntl(2), "Leases"). Who opens it by
        # another name right then causes a signal: SIGIO would end this process, SIGURG is ignored.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:  # others: another user's file, or a file system without leases
        return error.errno == errno.EAGAIN
    finally:
        os.close(descriptor)
    return False


def remove_quietly(path: str) -> None:
    """Remove a file that may be gone already."""
    try:
        os.unlink(path)
    except OSError:
        pass


def remove_empty_folders(made: list[str]) -> None:
    """Remove those of the folders, given outermost first, that are there and empty."""
    for folder in reversed(made):
        try:
            os.rmdir(folder)
        except OSError:  # somebody else's file is in it by now
            continue
