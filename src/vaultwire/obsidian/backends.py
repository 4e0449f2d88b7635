"""Chooses the backend of a vault: beside the running app, the files alone, or either by whether the app runs."""

from __future__ import annotations

import threading
from typing import Literal, TypeAlias

from vaultwire.obsidian.app_backend import AppBackend, AppVault, RestrictedBackend
from vaultwire.obsidian.command import Command
from vaultwire.obsidian.files_backend import FilesBackend
from vaultwire.vault.vault import Vault

Choice: TypeAlias = Literal["app", "files", "auto"]

_ON_FILES = " (This server works on the vault's files alone, because it was started with --backend files.)"


class Backends:
    """The backends of one server's vaults."""

    def __init__(self, choice: Choice, command: Command) -> None:
        """``auto``: with the app if it runs and knows the vault, checked for each call."""
        self._choice = choice
        self._command = command
        self._vaults: dict[str, AppVault] = {}
        self._making = threading.Lock()

    def backend_of(self, vault: Vault) -> FilesBackend:
        """Return the backend for a call on this vault.

        Raises VaultError (OBSIDIAN_NOT_RUNNING, VAULT_NOT_FOUND) where every call needs the app, and it cannot be asked.
        """
        if self._choice == "files":
            return FilesBackend(vault, _ON_FILES)
        with self._making:
            app = self._vaults.setdefault(vault.root, AppVault(self._command, vault.root))
        if self._choice == "app":
            app.check()
        elif not app.is_ready():
            return FilesBackend(vault)
        return RestrictedBackend(vault, app) if vault.hides_some or vault.can_hold else AppBackend(vault, app)
