"""The official ``obsidian`` command (Obsidian 1.12.7 and later): runs it, and knows the text form of what it takes and says.

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
from typing import NamedTuple

from vaultwire.markdown.edits import to_plain
from vaultwire.obsidian.known_vaults import settings_folders
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    OBSIDIAN_FAILED,
    OBSIDIAN_NOT_RUNNING,
    TIMEOUT,
    TOO_LARGE,
    VAULT_NOT_FOUND,
    VaultError,
)
from vaultwire.vault.value_types import Progress

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
        places = [os.path.expanduser(place) for place in _PLACES.get(sys.platform, ())]
        return next(filter(None, map(shutil.which, [*places, "obsidian"])), None)

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


# The text form of the official command: its arguments, errors and lists. Pure; it does not run the command.
#
# Sources: the help page "Obsidian CLI" for commands and parameters, and observed outputs of versions 1.12 and 1.13 for the
# rest: errors are lines that begin with ``Error:``, and the exit code is 0; an empty result is a sentence.

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
        raise VaultError(FILE_NOT_FOUND, f"Obsidian says: {why}")
    if _AMBIGUOUS.search(why):
        candidates = [match.strip() for match in _CANDIDATE.findall(why.partition(":")[2] or why)]
        raise VaultError(AMBIGUOUS_NAME, f"Obsidian says: {why}", candidates=candidates)
    raise VaultError(OBSIDIAN_FAILED, f"Obsidian says: {why}")


def to_lines(said: str) -> list[str]:
    """Return the lines of a list; none for the sentence of an empty list."""
    return [] if _NOTHING.fullmatch(said) else [line for line in said.split("\n") if line.strip()]
