"""A vault of the running app, named by its id. The id is checked before the first command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from vaultwire.obsidian import command_text
from vaultwire.obsidian.command import Command
from vaultwire.obsidian.known_vaults import command_is_on, is_same_folder, vault_ids
from vaultwire.vault.errors import VAULT_NOT_FOUND, VaultError
from vaultwire.vault.value_types import Progress


class AppVault:
    """One vault in the app, and the command for it. Shared by all callers."""

    def __init__(self, command: Command, root: str) -> None:
        self._command = command
        self._root = root
        self._checked = ""  # the id that was checked

    def is_ready(self) -> bool:
        """Tell whether the app runs, its command is turned on, and it knows the vault."""
        return self._command.is_ready() and command_is_on() and bool(vault_ids(self._root))

    def run(
        self,
        progress: Progress,
        command: str,
        values: Mapping[str, str] | None = None,
        flags: Sequence[str] = (),
        text: str | None = None,
    ) -> str:
        """Run a command on the vault and return its output; ``text`` as for ``check``.

        Raises VaultError as ``Command.run`` and ``check`` do.
        """
        arguments = command_text.to_arguments(self._id(progress), command, values or {}, flags)
        return command_text.check(self._command.run(arguments, progress), text)

    def _id(self, progress: Progress) -> str:
        """Return the vault's id in the app. Raises VaultError (VAULT_NOT_FOUND).

        The app might run a command for an unknown vault in the vault that is open. So it is asked once where the vault with
        this id is.
        """
        ids = vault_ids(self._root)
        if self._checked in ids:
            return self._checked
        for id_ in ids:
            asking = command_text.to_arguments(id_, "vault", {"info": "path"}, ())
            if is_same_folder(command_text.check(self._command.run(asking, progress)).strip(), self._root):
                self._checked = id_
                return id_
        if not ids:  # raises if the app does not run
            self._command.run(["version"], progress)
        raise VaultError(
            VAULT_NOT_FOUND,
            "Obsidian does not know this vault: open its folder in Obsidian once ('Open folder as vault'), then try again.",
        )
