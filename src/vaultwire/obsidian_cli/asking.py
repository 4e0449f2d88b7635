"""One command as it is answered: the vault, what it is given, which file it means, and the app for what we cannot do."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from vaultwire.obsidian_cli.commands import APP, GROUPS, Line, OfficialError
from vaultwire.toolkit.catalog import APP_CATALOG, Toolset, load_catalog
from vaultwire.toolkit.registry import Outcome, Tool
from vaultwire.vault.disk.paths import fold, is_canvas, is_note, sort_key
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    OBSIDIAN_NOT_RUNNING,
    PATH_OUTSIDE_VAULT,
    POLICY_DENIED,
    VaultError,
)
from vaultwire.vault.value_types import NoteStat, Progress, VaultPath
from vaultwire.vault.vault import Vault

if TYPE_CHECKING:
    from vaultwire.obsidian.command import AppVault

# More files than a vault has.
ALL = 1 << 60
NO_ACTIVE_FILE = "No active file. Use file=<name> or path=<path> to specify a file."
# The tools under whose rules commands change a file that is there.
_CHANGING = ("edit_note", "move_notes", "delete_note", "set_properties", "set_task", "write_note")
_NOT_THERE = (FILE_NOT_FOUND, INVALID_ARGUMENTS, PATH_OUTSIDE_VAULT)
# The groups that ``notes`` answers. ``lists`` answers the others.
_IN_NOTES = (
    "Daily notes",
    "File history",
    "Files and folders",
    "Random notes",
    "Templates",
    "Unique notes",
    "Word count",
    "Outline",
)


class Asked:
    """A command for one vault. Methods raise OfficialError and VaultError."""

    def __init__(
        self, line: Line, vault: Vault, progress: Progress, command: str | None = None, *, may_show: bool = True
    ) -> None:
        """``command``: the path of the app's own command; None for the usual places. ``may_show``: it may show a file."""
        self.vault = vault
        self.progress = progress
        self._line = line
        self._command = command
        self._may_show = may_show

    def text(self, name: str) -> str:
        """Return the value of a parameter, empty if it is not given."""
        return self._line.given.get(name, "")

    def has(self, *flags: str) -> bool:
        """Tell whether one of these flags or parameters is given."""
        return any(flag in self._line.given for flag in flags)

    def number(self, name: str, default: int) -> int:
        """Return the value of a parameter that is a number."""
        text = self.text(name) or str(default)
        if not (text.isascii() and text.isdecimal()):
            raise OfficialError(f"Invalid number: {text}")
        return min(int(text), ALL)

    # ------------------------------------------------------------------ files

    def file(self) -> VaultPath:
        """Return the file that ``path`` or ``file`` names, else the one that is open in the app."""
        if path := self.text("path"):
            return self.exact(path)
        if name := self.text("file"):
            return self.named(name)
        return self._active()

    def scope(self) -> VaultPath | None:
        """Return the file that a list is asked of, None for the whole vault."""
        return self.file() if self.has("file", "path", "active") else None

    def note(self, problem: str) -> VaultPath:
        """Return the note that is named. ``problem``: what is said of a file that is no note."""
        path = self.file()
        if not is_note(path):
            raise OfficialError(problem)
        return path

    def exact(self, path: str) -> VaultPath:
        """Return the file at exactly this path."""
        stat = self.vault.look_at(path)
        if stat is not None and fold(stat.path) == fold(path.strip("/")):
            return stat.path
        if self.is_folder(path):
            raise OfficialError(f'"{path}" is a folder, not a file.')
        raise OfficialError(f'File "{path}" not found.')

    def named(self, name: str) -> VaultPath:
        """Return the file of a name, as a wikilink finds it. A change wants a name that only one file has."""
        try:
            if is_canvas(name):
                return self.vault.read_canvas(name, self.progress).path
            return self.vault.find_attachment(name, self.progress) or self.vault.locate(name, self.progress)
        except VaultError as error:
            if error.code == AMBIGUOUS_NAME:
                # A link leads to the one with the shortest path. Nobody sees before a change which one that is.
                if self._line.command.tool_for(self._line.given) in _CHANGING:
                    paths = ", ".join(error.details["candidates"])
                    raise OfficialError(f'"{name}" matches several files: {paths}. Use path=<path>.') from None
                return VaultPath(error.details["candidates"][0])
            if error.code in _NOT_THERE:
                raise OfficialError(f'File "{name}" not found.') from None
            raise

    def is_folder(self, path: str) -> bool:
        """Tell whether there is a folder of this path."""
        try:
            self.vault.overview.list_notes(path, self.progress)
        except VaultError:
            return False
        return True

    def folder(self, name: str) -> str:
        """Return the path of the folder that a parameter names, empty for the whole vault."""
        path = self.text(name).strip().strip("/")
        if path and not self.is_folder(path):
            is_file = self.vault.look_at(path) is not None
            raise OfficialError(
                f'"{path}" is a file, not a folder.' if is_file else f'Folder "{self.text(name)}" not found.'
            )
        return path

    def stats(self, folder: str = "") -> list[NoteStat]:
        """Return the facts of all files below a folder, in the order of their paths."""
        stats, _ = self.vault.overview.list_files("", ALL, self.progress)
        below = (stat for stat in stats if not folder or stat.path.startswith(f"{folder}/"))
        return sorted(below, key=lambda stat: sort_key(stat.path))

    def read(self, path: VaultPath) -> str:
        """Return the text of a file."""
        if is_note(path) or is_canvas(path):
            return self.vault.read(path, self.progress).text
        data = self.vault.read_attachment(path).data
        try:
            return data.decode()
        except UnicodeDecodeError:
            raise OfficialError(f'"{path}" is not a text file.') from None

    # ------------------------------------------------------------------ the app

    def _active(self) -> VaultPath:
        app = self._app()
        if app is None:
            raise OfficialError(NO_ACTIVE_FILE)
        facts = dict(line.partition("\t")[::2] for line in app.run(self.progress, "file").split("\n"))
        return self.exact(facts.get("path", ""))

    def _app(self) -> AppVault | None:
        from vaultwire.obsidian.command import AppVault, Command  # noqa: PLC0415 - few commands need the app, as below

        app = AppVault(Command(self._command), self.vault.root)
        return app if app.is_ready() else None

    def ask_app(self) -> str:
        """Have the app run the command, and return its answer.

        Not where notes are hidden or changes must wait: the app knows no policy.
        """
        from vaultwire.obsidian.command import SAYS  # noqa: PLC0415

        name = self._line.command.name
        app = self._app()
        if app is None:
            raise VaultError(
                OBSIDIAN_NOT_RUNNING,
                f"{name} needs the Obsidian app, which does not run here with this vault and its command turned on.",
            )
        if self.vault.hides_some or self.vault.can_hold:
            raise VaultError(POLICY_DENIED, f"{name} needs the Obsidian app, which does not keep to the policy.")
        takes = self._line.command.takes
        values = {key: value for key, value in self._line.given.items() if takes[key][0]}
        try:
            return app.run(self.progress, name, values, [key for key in self._line.given if key not in values])
        except VaultError as error:
            if error.message.startswith(SAYS):  # the app's own error
                raise OfficialError(error.message.removeprefix(SAYS)) from None
            raise

    def show(self, path: VaultPath) -> None:
        """Show a file in the app, if that is asked for and it runs. What was asked for first is done: nothing fails here."""
        app = self._app() if self._may_show and self.has("open", "newtab", "paneType") else None
        if app is not None:
            with suppress(VaultError):
                app.run(self.progress, "open", {"path": path}, ["newtab"] if self.has("newtab") else [])


def toolset_for(line: Line, command: str | None, *, may_show: bool = True) -> Toolset:
    """Return the tools of a run that answers one command, as a call of the tool whose rules hold for it.

    Policy, journal and undo are as for that tool; its data has the ``output``. ``command``, ``may_show``: as for ``Asked``.
    """
    tool = line.command.tool_for(line.given)

    def work(vault: Any, progress: Any, /) -> Outcome[Any]:
        try:
            return Outcome([], {"output": answer(Asked(line, vault, progress, command, may_show=may_show), line)})
        except OfficialError as error:
            return Outcome([], {"output": f"Error: {error}"})

    def descriptions() -> list[dict[str, Any]]:
        known = [*load_catalog(), *(load_catalog(APP_CATALOG) if line.command.where == APP else ())]
        no_arguments = {"inputSchema": {"type": "object", "properties": {}}}
        return [{**each, **no_arguments} if each["name"] == tool else each for each in known]

    return Toolset(descriptions, lambda description: Tool(work, description["title"], {}, {}))


def answer(asked: Asked, line: Line) -> str:
    """Return what a command prints, without the last line end. Raises OfficialError and VaultError."""
    if line.command.where == APP:
        return asked.ask_app()
    group = next(heading for heading, commands in GROUPS.items() if line.command in commands)
    module = import_module(f"vaultwire.obsidian_cli.{'notes' if group in _IN_NOTES else 'lists'}")
    text: str = getattr(module, line.command.function)(asked)
    return text
