"""Where a path leads on the disk, and whether that still is the vault: the one check every path passes."""

from __future__ import annotations

import os
import stat

from vaultwire.vault.errors import PATH_OUTSIDE_VAULT, PERMISSION_DENIED, VAULT_NOT_FOUND, VaultError
from vaultwire.vault.value_types import VaultPath


class VaultRoot:
    """The places below one vault's ``root``, which is a resolved path."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._prefix = os.path.join(self.root, "")  # a drive's or the system's own root ends with a separator as it is

    def check_root(self) -> None:
        """Raise VAULT_NOT_FOUND if the vault's folder is gone."""
        if not os.path.isdir(self.root):
            raise VaultError(VAULT_NOT_FOUND, "The vault's folder is not there any more.")

    def real_path(self, path: VaultPath) -> str:
        """Return where the path leads once every link is followed. Raises PATH_OUTSIDE_VAULT if that is not in the vault."""
        real = self._prefix + path
        if not self.has_links(path):
            return real
        real = os.path.realpath(real)
        self._check_inside(path, real)
        return real

    def entry_path(self, path: VaultPath) -> str:
        """Return the directory entry itself: its folder's links are followed, its own is not, so a link can be deleted."""
        end = path.rfind("/")
        folder = VaultPath(path[: max(end, 0)])
        if not (folder and self.has_links(folder)):
            return self._prefix + path
        return os.path.join(self.real_path(folder), path[end + 1 :])

    def has_links(self, path: VaultPath) -> bool:
        """Tell whether a part of the path is a link. Asks for the parts below the root only: realpath asks for all."""
        if os.name == "nt":
            return True  # a junction does not look like a link
        end = -1
        try:
            while (end := path.find("/", end + 1)) >= 0:
                if stat.S_ISLNK(os.lstat(self._prefix + path[:end]).st_mode):
                    return True
            return stat.S_ISLNK(os.lstat(self._prefix + path).st_mode)
        except OSError:  # not there, so there is nothing below it either
            return False

    def _check_inside(self, path: VaultPath, real: str) -> None:
        if real != self.root and not real.startswith(self._prefix):
            raise VaultError(PATH_OUTSIDE_VAULT, f"{path!r} is a link that leads out of the vault.", path=path)
        below = real[len(self._prefix) :].split(os.sep)
        if any(part.startswith(".") for part in below) and below != path.split("/"):
            raise VaultError(PERMISSION_DENIED, f"{path!r} is a link to a hidden file or folder.", path=path)
