"""Walks through the vault's folders and looks at files. It opens no file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.disk.placeholders import is_junction, is_placeholder
from vaultwire.vault.disk.vault_root import ListedNames, VaultRoot
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NoteStat, Problem, VaultPath

_MAY_BE_DATALESS = sys.platform in ("darwin", "win32")
_ON_WINDOWS = sys.platform == "win32"
# The factor is odd, so that two inode numbers never give one product. The largest number is SQLite's.
_MIXING = 0x9E3779B97F4A7C15
_LARGEST = (1 << 63) - 1


class WalkFilter(Protocol):
    """The part of a vault that a walk may see, where that is not all of it."""

    def may_enter(self, folder: str) -> bool:
        """Tell whether the walk looks into the folder."""

    def may_follow(self, path: str) -> bool:
        """Tell whether the walk sees the file that a link leads to."""


class _Walk(NamedTuple):
    """One walk: what it looks for, and where it puts what it cannot use."""

    root: VaultRoot
    problems: list[Problem]
    attachments: bool
    visible: WalkFilter | None


def walk_folders(
    root: VaultRoot,
    folder: VaultPath | None,
    problems: list[Problem],
    *,
    attachments: bool,
    visible: WalkFilter | None = None,
) -> Iterator[tuple[str, list[NoteStat]]]:
    """Yield every folder from ``folder`` down, the vault's own as ``""``, and the files right in it.

    Only notes, unless ``attachments``. In path order. The walk passes over hidden names and linked folders. What it cannot
    list or name it puts into ``problems``, and goes on. Raises VaultError (VAULT_NOT_FOUND) if the vault itself is gone:
    to say that it has no notes would be wrong.
    """
    root.check_exists()
    if folder and os.path.lexists(os.path.join(root.path, folder)) and not ListedNames(root.path).have(folder):
        return  # it has another name by now, or never had this one: the disk takes several for the same
    walk = _Walk(root, problems, attachments, visible)
    pending = [folder or ""]
    while pending:
        parent = pending.pop()
        try:
            with os.scandir(os.path.join(root.path, parent)) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            problems.append(Problem(parent or ".", f"folder cannot be listed: {error.strerror}"))
            continue
        files: list[NoteStat] = []
        folders: list[str] = []
        for entry in entries:
            if entry.name.startswith("."):
                continue
            path = f"{parent}/{entry.name}" if parent else entry.name
            try:
                file = _look(walk, entry, path, folders)
            except OSError as error:  # deleted meanwhile, or not ours to look at
                problems.append(Problem(path, f"cannot be examined: {error.strerror}"))
                continue
            if file is not None:
                files.append(file)
        yield parent, files
        pending += reversed(folders if visible is None else [*filter(visible.may_enter, folders)])


def _look(walk: _Walk, entry: os.DirEntry[str], path: str, folders: list[str]) -> NoteStat | None:
    """Return the facts of a file that the walk is about; put a folder into ``folders``."""
    if not _is_utf8(entry.name):
        shown = path.encode("utf-8", "replace").decode()
        walk.problems.append(Problem(shown, "name is not valid UTF-8, so no client can name it"))
        return None
    if entry.is_dir(follow_symlinks=False):
        if not (_ON_WINDOWS and is_junction(entry.stat(follow_symlinks=False))):  # there, the status is at hand
            folders.append(path)
        return None
    if not (walk.attachments or is_note(entry.name)):
        return None
    if entry.is_symlink():
        return _look_at_target(walk, path) if walk.visible is None or walk.visible.may_follow(path) else None
    status = entry.stat(follow_symlinks=False)
    if not stat.S_ISREG(status.st_mode):
        walk.problems.append(Problem(path, "is not a regular file"))
        return None
    return _note_stat(path, status)


def _look_at_target(walk: _Walk, path: str) -> NoteStat | None:
    """Return the facts of a linked file that lies in the vault."""
    try:
        status = os.stat(walk.root.real_path(VaultPath(path)))
    except VaultError:
        walk.problems.append(Problem(path, "is a link that leads out of the vault"))
        return None
    return _note_stat(path, status) if stat.S_ISREG(status.st_mode) else None


def look_at(root: VaultRoot, path: VaultPath) -> NoteStat | None:
    """Return a file's facts, None if there is no regular file of that name in the vault."""
    try:
        status = os.lstat(root.entry_path(path))
        if stat.S_ISLNK(status.st_mode):
            status = os.stat(root.real_path(path))
    except (OSError, VaultError):
        return None
    return _note_stat(path, status) if stat.S_ISREG(status.st_mode) else None


def is_dataless(root: VaultRoot, path: VaultPath) -> bool:
    """Tell whether only the file's name is on this computer (``placeholders``). This look fetches nothing."""
    if not _MAY_BE_DATALESS:
        return False
    try:
        return is_placeholder(os.stat(root.real_path(path)))
    except (OSError, VaultError):
        return False


def stamp_of(status: os.stat_result) -> int:
    """Return a number that changes when a file is replaced or written to, also by a program that sets its time back.

    Backup and sync programs do that. The number is made of the file's inode and of its ctime, when the system last saw it
    change; no program can set that. A rename or another mode changes it too, so a file with another stamp may hold the same
    bytes. On Windows it is only the time when the file was made: there, ``os.scandir`` says 0 for the inode of each file.
    """
    inode = 0 if _ON_WINDOWS else status.st_ino
    return (inode * _MIXING + status.st_ctime_ns) & _LARGEST


def _note_stat(path: str, status: os.stat_result) -> NoteStat:
    return NoteStat(VaultPath(path), status.st_size, status.st_mtime_ns, stamp_of(status))


def _is_utf8(name: str) -> bool:
    """Tell whether the name can be written in JSON, so that a client can name it."""
    return name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name)
