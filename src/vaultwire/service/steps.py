"""Installs, removes and looks at a service by its plan. What is done is yielded, line by line, for the person to read."""

from __future__ import annotations

import os
import secrets
import shlex
import shutil
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import NamedTuple

from vaultwire.service.job import Command, Facts, Plan, ServiceError, read_facts

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


# The first start after an update compiles the program; that takes longer than usual.
_START_SECONDS = 30.0
# It answers calls in flight for up to 65 seconds; a service manager kills it after 75.
_END_SECONDS = 90.0
_ASK_SECONDS = 3.0
_BETWEEN_SECONDS = 0.1


class State(NamedTuple):
    """How a service is. ``facts``: of its file, None if there is none of ours."""

    facts: Facts | None
    is_known: bool
    answers: bool


def install(plan: Plan, folders: tuple[str, ...], *, force: bool) -> Iterator[str]:
    """Write the file and start the service; yield what was done. ``folders`` are made for it. Raises ServiceError.

    If the manager refuses, the file is as it was before.
    """
    before = _read(plan.path)
    _check_ours(plan, before, "replace", force=force)
    if before is None and succeeds(plan.asks):
        raise ServiceError(
            f"{plan.asks.words[0]} knows a service of this name, but not from {plan.path}; remove it there first"
        )
    try:
        for folder in (*folders, *plan.folders, os.path.dirname(plan.path)):
            os.makedirs(folder, mode=0o700, exist_ok=True)
        if before is not None:
            yield from _run(plan.starts_over)
            _wait_until_it_ended(plan)
        _write(plan.path, plan.content)
        yield f"wrote {plan.path}"
        yield from _run(plan.starts)
    except (OSError, ServiceError) as error:
        for command in plan.stops if before is None else ():
            succeeds(command)
        _put_back(plan.path, before)
        for command in plan.cleans_up if before is None else plan.starts:
            succeeds(command)
        raise ServiceError(str(error)) from None


def remove(plan: Plan, *, force: bool) -> Iterator[str]:
    """Stop the service and delete its files; yield what was done, nothing if there is none. Raises ServiceError."""
    content = _read(plan.path)
    if content is None:
        return
    facts = _check_ours(plan, content, "delete", force=force)
    yield from _run(plan.stops)
    _wait_until_it_ended(plan)
    try:
        for path in (plan.path, facts.log if facts else ""):
            if path and os.path.exists(path):
                os.unlink(path)
                yield f"deleted {path}"
    except OSError as error:
        raise ServiceError(f"cannot delete {error.filename}: {error.strerror}") from None
    yield from _run(plan.cleans_up)


def look(plan: Plan) -> State:
    """Return how the service is. Raises ServiceError."""
    content = _read(plan.path)
    facts = None if content is None else read_facts(_decoded(content, plan.encoding))
    if facts is None:
        return State(None, is_known=False, answers=False)
    return State(facts, is_known=succeeds(plan.asks), answers=answers(facts.url))


def wait_until_it_answers(url: str) -> bool:
    """Wait for a service that was just started; False if it does not answer in time."""
    end = time.monotonic() + _START_SECONDS
    while not answers(url):
        if time.monotonic() > end:
            return False
        time.sleep(_BETWEEN_SECONDS)
    return True


def _wait_until_it_ended(plan: Plan) -> None:
    """Wait for a service that was told to stop. Raises ServiceError if it does not."""
    end = time.monotonic() + _END_SECONDS
    while plan.stops_later and succeeds(plan.asks):
        if time.monotonic() > end:
            raise ServiceError("the service does not end; try again in a minute")
        time.sleep(_BETWEEN_SECONDS)


def answers(url: str) -> bool:
    """Tell whether a server of ours answers at an address of this computer."""
    # Its certificate is for its public name, not for this computer's; nothing secret is sent.
    context = ssl._create_unverified_context() if url.startswith("https:") else None  # noqa: S323, SLF001
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=_ASK_SECONDS, context=context) as answer:  # noqa: S310 - ours
            return bool(answer.status == 200)  # noqa: PLR2004
    except (OSError, ValueError):  # URLError is an OSError
        return False


def _run(commands: tuple[Command, ...]) -> Iterator[str]:
    for command in commands:
        if run(command):
            yield f"ran {shlex.join(command.words)}"


def _check_ours(plan: Plan, content: bytes | None, verb: str, *, force: bool) -> Facts | None:
    """Return the facts of our file. Raises ServiceError for a file of somebody else, and one that was edited."""
    if content is None:
        return None
    facts = read_facts(_decoded(content, plan.encoding))
    if facts is None and not force:
        raise ServiceError(f"{plan.path} was not written by vaultwire. Move it away, or {verb} it with --force")
    if facts is not None and not facts.is_as_written and not force:
        raise ServiceError(f"{plan.path} was edited. Move it away, or {verb} it with --force")
    return facts


def _decoded(content: bytes, encoding: str) -> str:
    return content.decode(encoding, "replace")


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ServiceError(f"cannot read {path}: {error.strerror}") from None


def _write(path: str, content: bytes) -> None:
    """Put a file in place in one step. Its readers see the old one or the new one."""
    temporary = f"{path}.{secrets.token_hex(4)}.tmp"
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise ServiceError(f"cannot write {path}: {error.strerror}") from None


def _put_back(path: str, before: bytes | None) -> None:
    """Put the file back as it was before, as far as the disk allows."""
    try:
        if before is not None:
            _write(path, before)
        elif os.path.exists(path):
            os.unlink(path)
    except (OSError, ServiceError):
        return
