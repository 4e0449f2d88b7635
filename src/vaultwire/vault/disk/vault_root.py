"""The vault's folder on the disk: vault paths to absolute paths, none outside the vault. All paths pass through here."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Container

from vaultwire.vault.disk.paths import fold, may_be_second_name, other_spellings
from vaultwire.vault.errors import PATH_OUTSIDE_VAULT, PERMISSION_DENIED, VAULT_NOT_FOUND, VaultError
from vaultwire.vault.value_types import VaultPath


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
