"""The vault's folder on the disk: vault paths to absolute paths, none outside the vault. All paths pass through here."""

from __future__ import annotations

import os
import stat

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

    def _check_inside(self, path: VaultPath, real: str) -> None:
        if real != self.path and not real.startswith(self._prefix):
            raise VaultError(PATH_OUTSIDE_VAULT, f"{path!r} is a link that leads out of the vault.", path=path)
        below = real[len(self._prefix) :].split(os.sep)
        if any(part.startswith(".") for part in below) and below != path.split("/"):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is a link to a hidden file or folder.", path=path)
