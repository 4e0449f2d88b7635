"""The official ``obsidian`` command (Obsidian 1.12.7 and later): where it is, whether the app runs, and running it once.

What is said to it and what it answers is the business of ``answers`` and ``running``. Nothing here starts the app: older
versions of the command do that when it does not run (help, "Obsidian CLI"), so the app is looked for before each call.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from vaultwire.obsidian.known_vaults import settings_folders
from vaultwire.vault.errors import INVALID_ARGUMENTS, OBSIDIAN_NOT_RUNNING, TIMEOUT, TOO_LARGE, VaultError
from vaultwire.vault.value_types import Progress

NOT_RUNNING = "Obsidian application is not running. Please start Obsidian and try again."

# The contract: "Operation exceeded 30s".
SECONDS = 30.0
# Between asking the command to end and ending it. It has nothing to save: the app does the work.
GRACE_SECONDS = 2.0
# As much as the largest note, escaped; what is longer no client takes.
MAX_OUTPUT_BYTES = 10 * 1024 * 1024
# How often a running call is looked at, for its deadline, its size and whether anybody still waits for it.
_LOOK_SECONDS = 0.1
# Asking a socket of this computer; it answers at once or never.
_CONNECT_SECONDS = 1.0

_SOCKET = ".obsidian-cli.sock"
# The app as a Flatpak sees a folder of its own for the socket, below the user's.
_FLATPAK = os.path.join(".flatpak", "md.obsidian.Obsidian", "xdg-run")
# Where the app puts its command (help, "Obsidian CLI", "Troubleshooting"); before what else is called so in PATH, which may
# be the app itself.
_PLACES = {
    "darwin": ("/usr/local/bin/obsidian", "/Applications/Obsidian.app/Contents/MacOS/obsidian-cli"),
    "linux": ("~/.local/bin/obsidian",),
    "win32": (r"~\AppData\Local\Programs\Obsidian\Obsidian.com", r"~\AppData\Local\Obsidian\Obsidian.com"),
}


class Finished(NamedTuple):
    """What a call of the command came to."""

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
        """``executable``: its path; None for where the app puts it."""
        self._executable = executable
        self._seconds = seconds
        self._grace_seconds = grace_seconds
        self._max_output_bytes = max_output_bytes
        self._turn = threading.Lock()

    def is_ready(self) -> bool:
        """Tell whether the command is there and the app runs, without starting anything."""
        return self._find() is not None and is_running()

    def run(self, arguments: Sequence[str], progress: Progress) -> Finished:
        """Run the command with these arguments, each passed as it is, without a shell.

        Raises VaultError: OBSIDIAN_NOT_RUNNING, TIMEOUT, TOO_LARGE for its output, INVALID_ARGUMENTS for an argument no
        program can be given; and ``Stopped``. The process is gone by then, and every one that it started.
        """
        if any("\0" in argument for argument in arguments):
            raise VaultError(INVALID_ARGUMENTS, "An argument for Obsidian may not hold a NUL character.")
        with self._held(progress):
            executable = self._find()
            if executable is None:
                raise VaultError(
                    OBSIDIAN_NOT_RUNNING,
                    f"{NOT_RUNNING} (There is no obsidian command on this computer. Turn it on in Obsidian 1.12.7 or later: "
                    "Settings, General, Command line interface.)",
                )
            if not is_running():
                raise VaultError(OBSIDIAN_NOT_RUNNING, NOT_RUNNING)
            return self._run([executable, *arguments], progress)

    def _find(self) -> str | None:
        if self._executable is not None:
            return shutil.which(self._executable)
        places = [os.path.expanduser(place) for place in _PLACES.get(sys.platform, ())]
        return next(filter(None, map(shutil.which, [*places, "obsidian"])), None)

    @contextmanager
    def _held(self, progress: Progress) -> Iterator[None]:
        while not self._turn.acquire(timeout=_LOOK_SECONDS):
            progress.check()
        try:
            progress.check()
            yield
        finally:
            self._turn.release()

    def _run(self, arguments: list[str], progress: Progress) -> Finished:
        # Files, not pipes: they need no thread that empties them, on any system. Nobody else can open them.
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(  # noqa: S603 - an absolute path, and no shell
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,  # a group of its own, which can be ended as one
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
        """End the process and those it started: first asked to, then without asking."""
        _signal(process, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(self._grace_seconds)
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # also those that outlive it
        process.wait()


def is_running() -> bool:
    """Tell whether the app runs and listens to its command."""
    if sys.platform == "win32":
        # Chromium holds this file open as long as it runs, and Windows deletes it when the process ends, however it ends.
        return any(os.path.exists(os.path.join(folder, "lockfile")) for folder in settings_folders())
    return any(_answers(place) for place in _sockets())


def _sockets() -> Iterator[str]:
    """Yield where the app's socket may lie: in the run-time folder if there is one, else at home."""
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime:
        yield os.path.join(runtime, _SOCKET)
        yield os.path.join(runtime, _FLATPAK, _SOCKET)
    yield os.path.join(os.path.expanduser("~"), _SOCKET)


def _answers(place: str) -> bool:
    if sys.platform == "win32" or not os.path.exists(place):
        return False
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.settimeout(_CONNECT_SECONDS)
        try:
            asked.connect(place)
        except (OSError, ValueError):  # nobody listens any more, or the path is longer than a socket's may be
            return False
    return True


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_LOOK_SECONDS)
    except subprocess.TimeoutExpired:
        return False
    return True


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    with suppress(OSError):  # it is gone already
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, number)
