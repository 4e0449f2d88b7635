"""Chooses the backend of a vault: the running app, the files, or the app while it runs."""

from __future__ import annotations

import threading
from typing import Literal, NoReturn, TypeAlias

from vaultwire.obsidian.app_backend import AppBackend
from vaultwire.obsidian.app_vault import AppVault
from vaultwire.obsidian.command import Command
from vaultwire.obsidian.files_backend import FilesBackend
from vaultwire.vault.errors import POLICY_DENIED, VaultError
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

Choice: TypeAlias = Literal["app", "files", "auto"]

_ON_FILES = " (This server works on the vault's files alone, because it was started with --backend files.)"


class Backends:
    """The backends of one server's vaults."""

    def __init__(self, choice: Choice, command: Command) -> None:
        """``auto``: the app if it runs and knows the vault, checked for each call; else the files."""
        self._choice = choice
        self._command = command
        self._vaults: dict[str, AppVault] = {}
        self._making = threading.Lock()

    def backend_of(self, vault: Vault) -> FilesBackend:
        """Return the backend for a call on this vault."""
        if self._choice == "files":
            return FilesBackend(vault, _ON_FILES)
        with self._making:
            app = self._vaults.setdefault(vault.root, AppVault(self._command, vault.root))
        if self._choice == "auto" and not app.is_ready():
            return FilesBackend(vault)
        return RestrictedBackend(vault, app) if vault.hides_some or vault.can_hold else AppBackend(vault, app)


class RestrictedBackend(FilesBackend):
    """The files of a vault beside a running app that may not be asked: it would answer with hidden notes, too, or would write
    what the person wants to see first.

    The app is only asked to show a visible note. Everything else is done on the files.
    """

    def __init__(self, vault: Vault, app: AppVault) -> None:
        super().__init__(vault)
        self._app = app

    def open(self, path: VaultPath, progress: Progress, *, newtab: bool) -> None:
        """Show a note in the app."""
        AppBackend(self.vault, self._app).open(path, progress, newtab=newtab)

    def _refuse(self) -> NoReturn:
        if not self.vault.hides_some:
            raise VaultError(
                POLICY_DENIED,
                "The policy of this server lets changes wait for the person, and what the app changes cannot wait. "
                "Use the tools that work on notes, such as edit_note.",
            )
        raise VaultError(
            POLICY_DENIED, "The policy of this server hides some notes, and the app's answer could contain them."
        )
