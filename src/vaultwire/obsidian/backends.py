"""Who answers what the ``obsidian_*`` tools cannot read from files: the running app, or our journal and an error."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, NoReturn, TypeAlias

from vaultwire.obsidian.command import NOT_RUNNING, Command, check_answer, to_arguments, to_lines
from vaultwire.obsidian.known_vaults import command_is_on, is_same_folder, vault_ids
from vaultwire.vault.changes.change import Change, Write
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.errors import FILE_NOT_FOUND, OBSIDIAN_NOT_RUNNING, POLICY_DENIED, VAULT_NOT_FOUND, VaultError
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

_MAX_VERSIONS = 50


class FilesBackend:
    """One vault without the app: what is in its files the tools read themselves, the rest is said to need the app."""

    def __init__(self, vault: Vault, why: str = "") -> None:
        """``why`` is added to the error of a request that only the app can answer."""
        self.vault = vault
        self._why = why

    def history(self, path: VaultPath, _: Progress) -> list[tuple[int, str]]:
        """Return a note's earlier versions, the latest first: a number from 1, and the time and tool of the change."""
        return [(number, _label(change)) for number, (change, _) in enumerate(self._versions(path), 1)]

    def version(self, path: VaultPath, number: int, _: Progress) -> str:
        """Return the text of a note's earlier version. Raises VaultError (FILE_NOT_FOUND)."""
        versions = self._versions(path)
        if number > len(versions):
            raise VaultError(FILE_NOT_FOUND, f"{path!r} has {len(versions)} recorded earlier versions.", path=path)
        return plain_text(versions[number - 1][1])

    def _versions(self, path: VaultPath) -> list[tuple[Change, bytes]]:
        return [
            (change, step.before)
            for change in self.vault.history.latest(path, _MAX_VERSIONS, None)
            for step in self.vault.history.show(change.id).steps
            if isinstance(step, Write) and step.path == path and step.before is not None
        ]

    def open(self, path: VaultPath, _: Progress, *, newtab: bool) -> None:  # noqa: ARG002 - for the app
        """Show a note in the app."""
        self._refuse()

    def commands(self, prefix: str, _: Progress) -> list[str]:  # noqa: ARG002
        """Return the ids of the app's commands."""
        self._refuse()

    def workspace(self, _: Progress) -> str:
        """Return the app's panes and tabs, as a tree."""
        self._refuse()

    def evaluate(self, code: str, _: Progress) -> str:  # noqa: ARG002
        """Run JavaScript in the app and return its value."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise VaultError(OBSIDIAN_NOT_RUNNING, NOT_RUNNING + self._why)


def _label(change: Change) -> str:
    """Return the time of a change, in UTC, and its tool."""
    when = datetime.fromtimestamp(change.time_ns // 1_000_000_000, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}Z {change.author.tool}".strip()


# ---------------------------------------------------------------------- the running app

_NUMBERED = re.compile(r"\s*(\d+)[\t :.)]+(.*)")


class AppVault:
    """One vault in the app, named by its id, and the command for it. Shared by all callers."""

    def __init__(self, command: Command, root: str) -> None:
        self._command = command
        self._root = root
        self._checked = ""  # the id that was checked

    def is_ready(self) -> bool:
        """Tell whether the app runs, its command is turned on, and it knows the vault."""
        return self._command.is_ready() and command_is_on() and bool(vault_ids(self._root))

    def check(self) -> None:
        """Raise VaultError (OBSIDIAN_NOT_RUNNING, VAULT_NOT_FOUND) unless the app runs and knows the vault. Starts nothing."""
        self._command.check()
        if not vault_ids(self._root):
            raise _unknown_vault()

    def run(
        self,
        progress: Progress,
        command: str,
        values: Mapping[str, str] | None = None,
        flags: Sequence[str] = (),
        text: str | None = None,
    ) -> str:
        """Run a command on the vault and return its output; ``text`` as for ``check_answer``.

        Raises VaultError as ``Command.run`` and ``check_answer`` do.
        """
        arguments = to_arguments(self._id(progress), command, values or {}, flags)
        return check_answer(self._command.run(arguments, progress), text)

    def _id(self, progress: Progress) -> str:
        """Return the vault's id in the app. Raises VaultError (VAULT_NOT_FOUND).

        The app might run a command for an unknown vault in the vault that is open. So it is asked once where the vault with
        this id is.
        """
        self.check()
        ids = vault_ids(self._root)
        if self._checked in ids:
            return self._checked
        for id_ in ids:
            asking = to_arguments(id_, "vault", {"info": "path"}, ())
            answer = check_answer(self._command.run(asking, progress))
            if is_same_folder(answer.strip(), self._root):
                self._checked = id_
                return id_
        raise _unknown_vault()


def _unknown_vault() -> VaultError:
    return VaultError(
        VAULT_NOT_FOUND,
        "Obsidian does not know this vault: open its folder in Obsidian once ('Open folder as vault'), then try again.",
    )


class AppBackend(FilesBackend):
    """The files of a vault beside the running app.

    The app always gets an exact path, so that it neither uses the open note nor chooses one of several.
    """

    def __init__(self, vault: Vault, app: AppVault) -> None:
        super().__init__(vault)
        self._app = app

    def open(self, path: VaultPath, progress: Progress, *, newtab: bool) -> None:
        """Show a note in the app."""
        self._app.run(progress, "open", {"path": path}, ["newtab"] if newtab else [])

    def history(self, path: VaultPath, progress: Progress) -> list[tuple[int, str]]:
        """Return a note's versions in the app's file recovery, the latest first."""
        versions: list[tuple[int, str]] = []
        for line in to_lines(self._app.run(progress, "history", {"path": path})):
            numbered = _NUMBERED.fullmatch(line)
            if numbered is not None and int(numbered[1]) == len(versions) + 1:
                versions.append((int(numbered[1]), " ".join(numbered[2].split())))
        return versions

    def version(self, path: VaultPath, number: int, progress: Progress) -> str:
        """Return the text of a version."""
        return self._app.run(progress, "history:read", {"path": path, "version": str(number)}, text="")

    def commands(self, prefix: str, progress: Progress) -> list[str]:
        """Return the ids of the app's commands."""
        return to_lines(self._app.run(progress, "commands", {"filter": prefix} if prefix else {}))

    def workspace(self, progress: Progress) -> str:
        """Return the app's panes and tabs, as a tree."""
        return self._app.run(progress, "workspace")

    def evaluate(self, code: str, progress: Progress) -> str:
        """Run JavaScript in the app and return its value."""
        return self._app.run(progress, "eval", {"code": code}).removeprefix("=> ")


class RestrictedBackend(FilesBackend):
    """The files of a vault beside a running app that may not be asked: it would answer with hidden notes, too, or would change
    what the person wants to see first.

    The app is only asked to show a visible note.
    """

    def __init__(self, vault: Vault, app: AppVault) -> None:
        super().__init__(vault)
        self._app = app

    def open(self, path: VaultPath, progress: Progress, *, newtab: bool) -> None:
        """Show a note in the app."""
        AppBackend(self.vault, self._app).open(path, progress, newtab=newtab)

    def _refuse(self) -> NoReturn:
        if self.vault.can_hold:
            raise VaultError(
                POLICY_DENIED,
                "The policy of this server lets changes wait for the person. What the app does cannot wait, so it is not "
                "asked. Use the tools that work on notes, such as edit_note.",
            )
        raise VaultError(
            POLICY_DENIED, "The policy of this server hides some notes, and the app's answer could contain them."
        )


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
