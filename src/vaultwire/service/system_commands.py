"""Runs the commands of the system's service manager. The only module of this room that starts processes."""

from __future__ import annotations

import shlex
import shutil
import subprocess

from vaultwire.service.job import Command, ServiceError

# A restart waits until calls in flight are answered, for up to 75 seconds.
_SECONDS = 120.0


def run(command: Command) -> bool:
    """Run a command; tell whether it succeeded. Raises ServiceError with what it said, unless it may fail."""
    program = shutil.which(command.words[0])
    if program is None:
        if command.may_fail:
            return False
        raise ServiceError(f"there is no {command.words[0]} on this computer")
    try:
        finished = subprocess.run(  # noqa: S603 - no shell; the words are ours
            [program, *command.words[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        if command.may_fail:
            return False
        raise ServiceError(f"{shlex.join(command.words)} failed: {error}") from None
    if finished.returncode and not command.may_fail:
        said = (finished.stderr or finished.stdout).decode("utf-8", "replace").strip() or f"code {finished.returncode}"
        raise ServiceError(f"{shlex.join(command.words)} failed: {' '.join(said.split())}")
    return not finished.returncode


def succeeds(command: Command) -> bool:
    """Tell whether a command succeeds."""
    return run(command._replace(may_fail=True))
