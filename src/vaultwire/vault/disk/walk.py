"""Where a path in the vault leads, and walks through its folders. It opens no file."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Container, Iterator
from typing import NamedTuple, Protocol

from vaultwire.vault.disk.paths import fold, is_note, may_be_second_name, other_spellings
from vaultwire.vault.disk.placeholders import is_junction, is_placeholder
from vaultwire.vault.errors import PATH_OUTSIDE_VAULT, PERMISSION_DENIED, VAULT_NOT_FOUND, VaultError
from vaultwire.vault.value_types import NoteStat, Problem, VaultPath

# The vault's folder on the disk: vault paths to absolute paths, none outside the vault. All paths pass through here.


class VaultRoot:
    """The folder of one vault. ``path`` is its absolute path, links resolved."""

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)
        self._prefix = os.path.join(self.path, "")  # the root of a drive or file system ends with a separator already

    def check_exists(self) -> None:
        """Raise VAULT_NOT_FOUND if the folder is gone."""
        if not os.path.isdir(self.path):
            raise VaultError(VAULT_NOT_FOUND, "The vault's folder is not there any more.")

    def real_path(self, path: VaultPath) -> str:
        """Return the absolute path with all links followed. Raises PATH_OUTSIDE_VAULT if that is not in the vault."""
        real = self._prefix + path
        if not self.has_links(path):
            return real
        real = os.path.realpath(real)
        self._check_inside(path, real)
        return real

    def entry_path(self, path: VaultPath) -> str:
        """Return the absolute path of the directory entry: links in its folder are followed, the entry itself is not.

        So a link can be moved or deleted.
        """
        end = path.rfind("/")
        folder = VaultPath(path[: max(end, 0)])
        if not (folder and self.has_links(folder)):
            return self._prefix + path
        return os.path.join(self.real_path(folder), path[end + 1 :])

    def has_links(self, path: VaultPath) -> bool:
        """Tell whether a part of the path below the root is a link. On Windows always True: a junction looks like a folder."""
        if os.name == "nt":
            return True
        end = -1
        try:
            while (end := path.find("/", end + 1)) >= 0:
                if stat.S_ISLNK(os.lstat(self._prefix + path[:end]).st_mode):
                    return True
            return stat.S_ISLNK(os.lstat(self._prefix + path).st_mode)
        except OSError:  # not there, so nothing is below it either
            return False

    def second_name(self, path: VaultPath) -> str | None:
        """Return the first part of a path by which the disk finds an entry that has another name; None if there is none.

        Case and Unicode form do not count: they are compared by ``fold``. An example is ``PRIVAT~1`` on NTFS.
        """
        folder = self.path
        for part in path.split("/"):
            place = os.path.join(folder, part)
            if may_be_second_name(part) and os.path.lexists(place) and not has_entry(folder, part):
                key = fold(part)
                try:
                    if not any(fold(name) == key for name in os.listdir(folder)):
                        return part
                except OSError:
                    return part
            folder = place
        return None

    def _check_inside(self, path: VaultPath, real: str) -> None:
        if real != self.path and not real.startswith(self._prefix):
            raise VaultError(PATH_OUTSIDE_VAULT, f"{path!r} is a link that leads out of the vault.", path=path)
        below = real[len(self._prefix) :].split(os.sep)
        if any(part.startswith(".") for part in below) and below != path.split("/"):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is a link to a hidden file or folder.", path=path)


class ListedNames:
    """Tells whether paths of a vault are spelt as their folders list them. Asks each folder for its names once at most.

    For one look at many paths: what changes meanwhile is not noticed.
    """

    def __init__(self, root: str) -> None:
        """``root`` is the vault's absolute path."""
        self._root = root
        self._names: dict[str, frozenset[str]] = {}
        self._folders: dict[str, bool] = {"": True}

    def have(self, path: str) -> bool:
        """Tell whether something is there and each part of its path is spelt so."""
        folder, _, name = path.rpartition("/")
        if folder not in self._folders:
            self._folders[folder] = self.have(folder)
        return self._folders[folder] and has_entry(os.path.join(self._root, folder), name, self._list)

    def _list(self, folder: str) -> frozenset[str]:
        if folder not in self._names:
            self._names[folder] = frozenset(os.listdir(folder))
        return self._names[folder]


def has_entry(folder: str, name: str, listing: Callable[[str], Container[str]] = os.listdir) -> bool:
    """Tell whether a folder, given by its absolute path, has an entry of exactly this name.

    Many disks find an entry by another spelling, too: those of macOS and Windows, but also memory sticks, shares of a NAS and
    Windows' own disks on Linux. Only such a disk is asked for its names (``listing``), which takes longer.
    """
    if not os.path.lexists(os.path.join(folder, name)):
        return False
    others = other_spellings(name)
    if others is not None and not any(os.path.lexists(os.path.join(folder, each)) for each in others):
        return True
    try:
        return name in listing(folder)
    except OSError:
        return False


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
