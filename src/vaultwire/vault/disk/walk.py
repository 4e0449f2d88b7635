"""Going through the vault's folders and looking at files, without opening any."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.disk.vault_root import VaultRoot
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NoteStat, VaultPath

# macOS: SF_DATALESS (sys/stat.h); Windows: FILE_ATTRIBUTE_OFFLINE, …_RECALL_ON_OPEN, …_RECALL_ON_DATA_ACCESS.
_MAC_DATALESS = 0x40000000
_WINDOWS_DATALESS = 0x1000 | 0x40000 | 0x400000
_MAY_BE_DATALESS = sys.platform in ("darwin", "win32")
# Odd, so that no two numbers of files become one; what a column of SQLite holds.
_MIXING = 0x9E3779B97F4A7C15
_LARGEST = (1 << 63) - 1


class Oddity(NamedTuple):
    """Something the walk passed over, for ``doctor``."""

    path: str
    problem: str


class Sight(Protocol):
    """What of a vault may be seen, where that is not all of it."""

    def enters(self, folder: str) -> bool:
        """Tell whether a walk looks into the folder."""

    def follows(self, path: str) -> bool:
        """Tell whether the file that a link leads to is there."""


def walk_folders(
    vault_root: VaultRoot,
    folder: VaultPath | None,
    oddities: list[Oddity],
    *,
    attachments: bool,
    sight: Sight | None = None,
) -> Iterator[tuple[str, list[NoteStat]]]:
    """Yield every folder from ``folder`` down, ``""`` being the vault's own, and the files right in it.

    Notes only, unless ``attachments``. In path order; hidden names and linked folders are passed over. What cannot be
    listed or named is put into ``oddities`` and never stops the walk. Raises VaultError (VAULT_NOT_FOUND) if the vault
    itself is gone: "no notes" would be a lie.
    """
    vault_root.check_root()
    pending = [folder or ""]
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(os.path.join(vault_root.root, prefix)) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            oddities.append(Oddity(prefix or ".", f"folder cannot be listed: {error.strerror}"))
            continue
        files: list[NoteStat] = []
        folders: list[str] = []
        below = f"{prefix}/" if prefix else ""
        for entry in entries:
            name = entry.name
            if name.startswith("."):
                continue
            path = below + name
            try:
                if name.isascii() and entry.is_file(follow_symlinks=False) and (attachments or is_note(name)):
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISREG(status.st_mode):  # all of the files but a few: a call less takes a tenth less
                        files.append(NoteStat(VaultPath(path), status.st_size, status.st_mtime_ns, stamp_of(status)))
                        continue
                file = _look(vault_root, entry, path, folders, oddities, sight, attachments=attachments)
            except OSError as error:  # gone since, or not ours to look at
                oddities.append(Oddity(path, f"cannot be examined: {error.strerror}"))
                continue
            if file is not None:
                files.append(file)
        yield prefix, files
        pending += reversed(folders if sight is None else [*filter(sight.enters, folders)])


def look_at(vault_root: VaultRoot, path: VaultPath) -> NoteStat | None:
    """Return a file's facts, None if there is no regular file of that name in the vault."""
    try:
        status = os.lstat(vault_root.entry_path(path))
        if stat.S_ISLNK(status.st_mode):
            status = os.stat(vault_root.real_path(path))
    except (OSError, VaultError):
        return None
    return _facts(path, status) if stat.S_ISREG(status.st_mode) else None


def is_dataless(vault_root: VaultRoot, path: VaultPath) -> bool:
    """Tell whether only the file's name is on this computer: reading would fetch it from a cloud, for seconds each.

    iCloud, OneDrive and their like evict files so. Looking at them fetches nothing.
    """
    if not _MAY_BE_DATALESS:
        return False
    try:
        status = os.stat(vault_root.real_path(path))
    except (OSError, VaultError):
        return False
    flags: int = getattr(status, "st_flags", 0)
    attributes: int = getattr(status, "st_file_attributes", 0)
    return bool(flags & _MAC_DATALESS or attributes & _WINDOWS_DATALESS)


def _look(
    vault_root: VaultRoot,
    entry: os.DirEntry[str],
    path: str,
    folders: list[str],
    oddities: list[Oddity],
    sight: Sight | None,
    *,
    attachments: bool,
) -> NoteStat | None:
    if not _is_sayable(entry.name):
        oddities.append(
            Oddity(path.encode("utf-8", "replace").decode(), "name is not valid UTF-8, so no client can name it")
        )
        return None
    if entry.is_dir(follow_symlinks=False):
        folders.append(path)
        return None
    if not (attachments or is_note(entry.name)):
        return None
    if entry.is_symlink():
        return _look_through(vault_root, path, oddities) if sight is None or sight.follows(path) else None
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        oddities.append(Oddity(path, "is not a regular file"))
        return None
    return _facts(path, status)


def _look_through(vault_root: VaultRoot, path: str, oddities: list[Oddity]) -> NoteStat | None:
    """Return the facts of a linked file that stays in the vault."""
    try:
        status = os.stat(vault_root.real_path(VaultPath(path)))
    except VaultError:
        oddities.append(Oddity(path, "is a link that leads out of the vault"))
        return None
    return _facts(path, status) if stat.S_ISREG(status.st_mode) else None


def stamp_of(status: os.stat_result) -> int:
    """Return a number that is another once a file was replaced, or written to in place: also by a program that sets its
    time back, as backup and sync programs do.

    The file system's number for it, and when the system saw it change last (on Windows: when it was made), which nobody can
    set. That is also when it was renamed or got another mode, so a file with another stamp may hold what it held.
    """
    return (status.st_ino * _MIXING + status.st_ctime_ns) & _LARGEST


def _facts(path: str, status: os.stat_result) -> NoteStat:
    return NoteStat(VaultPath(path), status.st_size, status.st_mtime_ns, stamp_of(status))


def _is_sayable(name: str) -> bool:
    """Tell whether the name can be written in JSON and so be named by a client."""
    return name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name)
