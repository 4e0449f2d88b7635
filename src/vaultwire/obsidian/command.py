"""The running app: the official ``obsidian`` command (Obsidian 1.12.7 and later), its text form, and who answers without it.

Nothing here starts the app. Older versions of the command start it (help, "Obsidian CLI"), so each call checks first that
the app runs.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.edits import to_plain
from vaultwire.obsidian.known_vaults import command_is_on, is_same_folder, settings_folders, vault_ids
from vaultwire.vault.changes.change import Change, Write
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    OBSIDIAN_FAILED,
    OBSIDIAN_NOT_RUNNING,
    POLICY_DENIED,
    TIMEOUT,
    TOO_LARGE,
    VAULT_NOT_FOUND,
    VaultError,
)
from vaultwire.vault.value_types import Progress, VaultPath
from vaultwire.vault.vault import Vault

NOT_RUNNING = "Obsidian application is not running. Please start Obsidian and try again."

# The contract: "Operation exceeded 30s".
SECONDS = 30.0
# On Windows, a program without a console of its own would open one for each command.
_NO_WINDOW = getattr(subprocess, "CREATE_NO_WINDOW", 0)
# Between SIGTERM and SIGKILL for the command. It has nothing to save: the app does the work.
GRACE_SECONDS = 2.0
# The largest note, escaped. No client accepts more.
MAX_OUTPUT_BYTES = 10 * 1024 * 1024
# Between two checks of a running call: its deadline, its output, and whether its caller still waits.
_POLL_SECONDS = 0.1
# For a socket of this computer: it answers at once or never.
_CONNECT_SECONDS = 1.0

_SOCKET = ".obsidian-cli.sock"
# The app as a Flatpak has its own folder for the socket, below the user's.
_FLATPAK = os.path.join(".flatpak", "md.obsidian.Obsidian", "xdg-run")
# Where the app puts its command (help, "Obsidian CLI", "Troubleshooting"). They go before PATH, where ``obsidian`` may be
# the app itself.
_PLACES = {
    "darwin": ("/usr/local/bin/obsidian", "/Applications/Obsidian.app/Contents/MacOS/obsidian-cli"),
    "linux": ("~/.local/bin/obsidian",),
    "win32": (r"~\AppData\Local\Programs\Obsidian\Obsidian.com", r"~\AppData\Local\Obsidian\Obsidian.com"),
}


class Finished(NamedTuple):
    """The result of one call."""

    code: int
    output: str
    errors: str


class Command:
    """The command on this computer. One call at a time; safe to use from several threads."""

    def __init__(
        self,
        executable: str | None = None,
        *,
        seconds: float = SECONDS,
        grace_seconds: float = GRACE_SECONDS,
        max_output_bytes: int = MAX_OUTPUT_BYTES,
    ) -> None:
        """``executable``: the path of the command; None for the usual places."""
        self._executable = executable
        self._seconds = seconds
        self._grace_seconds = grace_seconds
        self._max_output_bytes = max_output_bytes
        self._lock = threading.Lock()

    def is_ready(self) -> bool:
        """Tell whether the command exists and the app runs. Starts nothing."""
        return self._find() is not None and is_running()

    def run(self, arguments: Sequence[str], progress: Progress) -> Finished:
        """Run the command with these arguments, without a shell.

        Raises VaultError: OBSIDIAN_NOT_RUNNING, TIMEOUT, TOO_LARGE for its output, INVALID_ARGUMENTS for a NUL; and
        ``Stopped``. The process and all its children have ended then.
        """
        if any("\0" in argument for argument in arguments):
            raise VaultError(INVALID_ARGUMENTS, "An argument for Obsidian may not hold a NUL character.")
        with self._held(progress):
            return self._run([self.check(), *arguments], progress)

    def check(self) -> str:
        """Return the path of the command. Raises VaultError (OBSIDIAN_NOT_RUNNING) if there is none or the app does not run."""
        executable = self._find()
        if executable is None:
            raise VaultError(
                OBSIDIAN_NOT_RUNNING,
                f"{NOT_RUNNING} (There is no obsidian command on this computer. Turn it on in Obsidian 1.12.7 or later: "
                "Settings, General, Command line interface.)",
            )
        if not is_running():
            raise VaultError(OBSIDIAN_NOT_RUNNING, NOT_RUNNING)
        return executable

    def _find(self) -> str | None:
        if self._executable is not None:
            return shutil.which(self._executable)
        return next((place for place in places_of_command() if not is_shim(place)), None)

    @contextmanager
    def _held(self, progress: Progress) -> Iterator[None]:
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            progress.check()
        try:
            progress.check()
            yield
        finally:
            self._lock.release()

    def _run(self, arguments: list[str], progress: Progress) -> Finished:
        # Files, not pipes: they need no thread that reads them, on any system. Nobody else can open them.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(  # noqa: S603 - an absolute path, and no shell
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # a process group, to be ended as a whole
                creationflags=_NO_WINDOW,
            )
            deadline = time.monotonic() + self._seconds
            try:
                while not _has_ended(process):
                    progress.check()
                    self._check_size(output.fileno(), errors.fileno())
                    self._check_time(deadline)
            except BaseException:
                self._end(process)
                raise
            self._check_size(output.fileno(), errors.fileno())
            texts = []
            for file in (output, errors):
                file.seek(0)
                texts.append(file.read().decode("utf-8", "replace"))
            return Finished(process.returncode, *texts)

    def _check_time(self, deadline: float) -> None:
        if time.monotonic() > deadline:
            raise VaultError(
                TIMEOUT,
                f"Obsidian did not answer within {self._seconds:g} seconds. If this was to change something, look whether it "
                "did.",
            )

    def _check_size(self, *files: int) -> None:
        if any(os.fstat(file).st_size > self._max_output_bytes for file in files):
            raise VaultError(
                TOO_LARGE, f"Obsidian's answer has more than {self._max_output_bytes} bytes. Ask for less."
            )

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        """End the process and its children: first with SIGTERM, then with SIGKILL."""
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(self._grace_seconds)
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # also children that outlive it
        process.wait()


SHIM_MARK = "vaultwire's stand-in for Obsidian's command"
"""Stands in our own program of that name (``obsidian_cli.shim``), which must not be taken for the app's."""


def places_of_command() -> list[str]:
    """Return the paths of the programs that may be the command, the app's usual places first."""
    places = [os.path.expanduser(place) for place in _PLACES.get(sys.platform, ())]
    return [*dict.fromkeys(filter(None, map(shutil.which, [*places, "obsidian"])))]


def is_shim(place: str) -> bool:
    """Tell whether a file is our own program."""
    try:
        with open(place, "rb") as file:
            return SHIM_MARK.encode() in file.read(200)
    except OSError:
        return False


def is_running() -> bool:
    """Tell whether the app runs and accepts commands."""
    if sys.platform == "win32":
        # Chromium keeps this file open while it runs, and Windows deletes it when the process ends in any way.
        return any(os.path.exists(os.path.join(folder, "lockfile")) for folder in settings_folders())
    return any(_answers(place) for place in _sockets())


def _sockets() -> Iterator[str]:
    """Yield the possible paths of the app's socket: in the run-time folder if there is one, and at home."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        yield os.path.join(runtime, _SOCKET)
        yield os.path.join(runtime, _FLATPAK, _SOCKET)
    yield os.path.join(os.path.expanduser("~"), _SOCKET)


def _answers(place: str) -> bool:
    if sys.platform == "win32" or not os.path.exists(place):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(_CONNECT_SECONDS)
        try:
            client.connect(place)
        except (OSError, ValueError):  # nobody listens, or the path is too long for a socket
            return False
    return True


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_POLL_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):  # it is gone already
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, number)


# ---------------------------------------------------------------------- the text form
#
# The text form of the official command: its arguments, errors and lists. Pure; it does not run the command.
#
# Sources: the help page "Obsidian CLI" for commands and parameters, and observed outputs of versions 1.12 and 1.13 for the
# rest: errors are lines that begin with ``Error:``, and the exit code is 0; an empty result is a sentence.

SAYS = "Obsidian says: "
"""Stands before an error of the app's in the messages here."""
_ERROR = "Error: "
# An app with an old installer prints this on stdout before its answer.
_PREAMBLE = re.compile(
    r"\A(?:(?:\d{4}-\d\d-\d\d \d\d:\d\d:\d\d Loading updated app package|Your Obsidian installer is out of date)"
    r"[^\n]*(?:\n|$))+"
)
_TURNED_OFF = "Command line interface is not enabled"
# "No tags found.", "No matches found.", "No workspaces saved."
_NOTHING = re.compile(r"No [a-z -]+ (?:found|saved)\.(?: [^\n]*)?")
_MISSING = re.compile(r'(?:File|Folder|Template|Property|Tag|Base|View|Heading) "[^"]*" not found\.')
_UNKNOWN_VAULT = re.compile(r"(?:Error: )?Vault (?:\"[^\"]*\" )?not found", re.IGNORECASE)
_AMBIGUOUS = re.compile(r"ambiguous|matches (?:multiple|several|\d+) files", re.IGNORECASE)
_CANDIDATE = re.compile(r"[^\s,;:\"'][^,;:\"'\n]*\.\w+")


def to_arguments(vault: str, command: str, values: Mapping[str, str], flags: Sequence[str]) -> list[str]:
    """Return the command line after the program's name; the vault must come first.

    Each value comes after its own ``name=``, so that no value looks like a flag, an option or another parameter.
    """
    return [f"vault={vault}", command, *(f"{name}={value}" for name, value in values.items()), *flags]


def check_answer(finished: Finished, text: str | None = None) -> str:
    """Return the command's output without its last line end. Raises VaultError for an error.

    ``text``: the answer should be this text of a note, which may itself begin like an error. Another answer that begins so
    is an error if it is a single line.
    """
    said = to_plain(finished.output).removesuffix("\n")
    if said != text:
        said = _PREAMBLE.sub("", said)
    if finished.code != 0:
        _fail(to_plain(finished.errors).strip() or said.strip() or f"it ended with exit code {finished.code}")
    may_be_error = text is None or (said != text and "\n" not in said)
    if may_be_error and (said.startswith((_ERROR, _TURNED_OFF)) or _UNKNOWN_VAULT.match(said)):
        _fail(said.removeprefix(_ERROR))
    return said


def _fail(why: str) -> None:
    """Raise the VaultError for an error text."""
    if "unable to find Obsidian" in why:
        raise VaultError(OBSIDIAN_NOT_RUNNING, NOT_RUNNING)
    if _UNKNOWN_VAULT.match(why):
        raise VaultError(
            VAULT_NOT_FOUND, "The running Obsidian does not know this vault. Open it there, then try again."
        )
    if why.startswith(_TURNED_OFF):
        raise VaultError(
            OBSIDIAN_FAILED,
            "Obsidian's command is turned off. Turn it on in Settings, General, Command line interface.",
        )
    if _MISSING.search(why):
        raise VaultError(FILE_NOT_FOUND, SAYS + why)
    if _AMBIGUOUS.search(why):
        candidates = [match.strip() for match in _CANDIDATE.findall(why.partition(":")[2] or why)]
        raise VaultError(AMBIGUOUS_NAME, SAYS + why, candidates=candidates)
    raise VaultError(OBSIDIAN_FAILED, SAYS + why)


def to_lines(said: str) -> list[str]:
    """Return the lines of a list; none for the sentence of an empty list."""
    return [] if _NOTHING.fullmatch(said) else [line for line in said.split("\n") if line.strip()]


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


# ---------------------------------------------------------------------- who answers
#
# Who answers what the ``obsidian_*`` tools cannot read from files: the running app, or our journal and an error.

_MAX_VERSIONS = 50


class Backend:
    """One vault, and the running app where it may be asked. What is in the vault's files the tools read themselves.

    The app always gets an exact path, so that it neither uses the open note nor chooses one of several. It is only asked to
    show a visible note where a policy hides notes, which would be in its answers, or holds changes, which it would make at
    once.
    """

    def __init__(self, vault: Vault, app: AppVault | None = None, why: str = "") -> None:
        """``app``: None where it does not run, or is not to be used. ``why`` is then added to the error of a request to it."""
        self.vault = vault
        self.app = app
        self._why = why

    @property
    def _is_restricted(self) -> bool:
        return self.vault.hides_some or self.vault.can_hold

    def open(self, path: VaultPath, progress: Progress, *, newtab: bool) -> None:
        """Show a note in the app."""
        self._there().run(progress, "open", {"path": path}, ["newtab"] if newtab else [])

    def history(self, path: VaultPath, progress: Progress) -> list[tuple[int, str]]:
        """Return a note's earlier versions, the latest first: a number from 1, and a label.

        They are those of the app's file recovery or, without the app, of the changes on record, by time and tool.
        """
        if self.app is None or self._is_restricted:
            return [(number, _label(change)) for number, (change, _) in enumerate(self._versions(path), 1)]
        versions: list[tuple[int, str]] = []
        for line in to_lines(self.app.run(progress, "history", {"path": path})):
            numbered = _NUMBERED.fullmatch(line)
            if numbered is not None and int(numbered[1]) == len(versions) + 1:
                versions.append((int(numbered[1]), " ".join(numbered[2].split())))
        return versions

    def version(self, path: VaultPath, number: int, progress: Progress) -> str:
        """Return the text of a note's earlier version. Raises VaultError (FILE_NOT_FOUND)."""
        if self.app is not None and not self._is_restricted:
            return self.app.run(progress, "history:read", {"path": path, "version": str(number)}, text="")
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

    def commands(self, prefix: str, progress: Progress) -> list[str]:
        """Return the ids of the app's commands."""
        return to_lines(self._asked().run(progress, "commands", {"filter": prefix} if prefix else {}))

    def workspace(self, progress: Progress) -> str:
        """Return the app's panes and tabs, as a tree."""
        return self._asked().run(progress, "workspace")

    def evaluate(self, code: str, progress: Progress) -> str:
        """Run JavaScript in the app and return its value."""
        return self._asked().run(progress, "eval", {"code": code}).removeprefix("=> ")

    def _there(self) -> AppVault:
        """Return the app. Raises VaultError (OBSIDIAN_NOT_RUNNING) where there is none."""
        if self.app is None:
            raise VaultError(OBSIDIAN_NOT_RUNNING, NOT_RUNNING + self._why)
        return self.app

    def _asked(self) -> AppVault:
        """Return the app for what its answer tells or changes. Raises VaultError as ``_there`` does, and POLICY_DENIED."""
        app = self._there()
        if self.vault.can_hold:
            raise VaultError(
                POLICY_DENIED,
                "The policy of this server lets changes wait for the person. What the app does cannot wait, so it is not "
                "asked. Use the tools that work on notes, such as edit_note.",
            )
        if self.vault.hides_some:
            raise VaultError(
                POLICY_DENIED, "The policy of this server hides some notes, and the app's answer could contain them."
            )
        return app


def _label(change: Change) -> str:
    """Return the time of a change, in UTC, and its tool."""
    when = datetime.fromtimestamp(change.time_ns // 1_000_000_000, UTC)
    return f"{when:%Y-%m-%d %H:%M:%S}Z {change.author.tool}".strip()


BackendName: TypeAlias = Literal["app", "files", "auto"]

_ON_FILES = " (This server works on the vault's files alone, because it was started with --backend files.)"


class Backends:
    """The backends of one server's vaults."""

    def __init__(self, choice: BackendName, command: Command) -> None:
        """``auto``: with the app if it runs and knows the vault, checked for each call."""
        self._choice = choice
        self._command = command
        self._vaults: dict[str, AppVault] = {}
        self._making = threading.Lock()

    def backend_of(self, vault: Vault) -> Backend:
        """Return the backend for a call on this vault.

        Raises VaultError (OBSIDIAN_NOT_RUNNING, VAULT_NOT_FOUND) where every call needs the app, and it cannot be asked.
        """
        if self._choice == "files":
            return Backend(vault, why=_ON_FILES)
        with self._making:
            app = self._vaults.setdefault(vault.root, AppVault(self._command, vault.root))
        if self._choice == "app":
            app.check()
        return Backend(vault, app if self._choice == "app" or app.is_ready() else None)
