"""Folders outside the vault from which the person lets files be taken. No other file is read, and nothing is changed."""

from __future__ import annotations

import os
from collections.abc import Sequence

from vaultwire.vault.disk.file_operations import folder_identity
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import parse_path
from vaultwire.vault.errors import FILE_NOT_FOUND, POLICY_DENIED, TOO_LARGE, VaultError


class AllowedFolders:
    """Some folders, by their absolute paths."""

    def __init__(self, folders: Sequence[str], vaults: Sequence[str] = ()) -> None:
        """``vaults``: folders in these that count as outside, because some of their files may be hidden."""
        self._roots = [Files(folder, 0) for folder in folders]
        self._vaults = [found for folder in vaults if (found := folder_identity(folder))]

    def read(self, path: str, max_bytes: int) -> bytes:
        """Return the bytes of a file below one of the folders: by its absolute path, or a path below one of them.

        Hidden files count as outside. A link that leads out counts as not there. Raises VaultError: POLICY_DENIED for a file
        outside, whether it exists or not; FILE_NOT_FOUND, TOO_LARGE.
        """
        given = os.path.expanduser(path)
        is_below_one = False
        for root in self._roots:
            if self._is_in_a_vault(os.path.join(root.root, given)):
                continue
            try:
                below = parse_path(os.path.relpath(_real_place(given), root.root) if os.path.isabs(given) else given)
                is_below_one = True
                found, is_file = root.spell(below)
                if is_file:
                    return root.read(found, max_bytes).data
            except (VaultError, ValueError) as error:  # ValueError: on another drive
                if isinstance(error, VaultError) and error.code == TOO_LARGE:
                    raise
        if is_below_one:
            raise VaultError(FILE_NOT_FOUND, f"There is no file {path!r} in {self._names()}.", path=path)
        raise VaultError(
            POLICY_DENIED, f"{path!r} is not in a folder that files may be taken from here: {self._names()}.", path=path
        )

    def _is_in_a_vault(self, path: str) -> bool:
        """Tell whether the path leads into a vault, however its folders are spelt. Whether the file exists does not matter."""
        folder = os.path.dirname(_real_place(path))
        while self._vaults:
            if folder_identity(folder) in self._vaults:
                return True
            if os.path.dirname(folder) == folder:
                return False
            folder = os.path.dirname(folder)
        return False

    def _names(self) -> str:
        return ", ".join(repr(root.root) for root in self._roots)


def _real_place(path: str) -> str:
    """Return the path with all links in its folder followed. Whether the file itself is a link is seen when it is read."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name)
