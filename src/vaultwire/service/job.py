"""A service as its owner wants it, and the file that tells a service manager of it. No file is written here.

The first comment of each file says who wrote it, and holds what ``status`` and ``remove`` need to know. It also has a hash of
the rest, so a file that somebody edited is never replaced or deleted by mistake.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple

_MARK = "Written by 'vaultwire service install': "


class ServiceError(Exception):
    """What was asked for cannot be done; the message is one line for a person."""


class Job(NamedTuple):
    """What is run: ``command`` begins with a program's absolute path, ``environment`` is added to the manager's own.

    ``writes``: the folders that it changes. ``is_confined``: it needs to change no others. ``url``: its address for this
    computer. ``state``: the folder of its state. ``log``: the file of its messages, empty where the manager keeps them.
    """

    command: tuple[str, ...]
    environment: dict[str, str]
    writes: tuple[str, ...]
    is_confined: bool
    url: str
    state: str
    log: str = ""

    def check(self) -> None:
        """Raise ServiceError for text that a service manager's file cannot hold."""
        for text in (*self.command, *self.environment.values(), *self.writes):
            if not text.isprintable():
                raise ServiceError(f"a service cannot be given {text!r}: it has characters that cannot be printed")


class Command(NamedTuple):
    """A command of the system. ``may_fail``: it only makes sure of something."""

    words: tuple[str, ...]
    may_fail: bool = False


class Plan(NamedTuple):
    """What a service manager needs: the file, and the commands before and after it is written.

    ``folders`` must exist before it starts. ``starts_over``: commands that stop it before a changed file is written.
    ``stops``, ``cleans_up``: the commands before and after the file is deleted. ``asks``: the command that succeeds if the
    manager knows the service. ``log_hint``: how a person reads the log. ``hints``: what else a person should know.
    ``stops_later``: the command that stops it may return before it has ended, and the manager knows it until then.
    """

    path: str
    content: bytes
    encoding: str
    folders: tuple[str, ...]
    starts_over: tuple[Command, ...]
    starts: tuple[Command, ...]
    stops: tuple[Command, ...]
    cleans_up: tuple[Command, ...]
    asks: Command
    log_hint: str
    hints: tuple[str, ...] = ()
    stops_later: bool = False


class Facts(NamedTuple):
    """What the first comment of a file says. ``is_as_written``: nobody edited the file."""

    url: str
    log: str
    is_as_written: bool


def marked(text: str, job: Job, comment: tuple[str, str], after: str = "") -> str:
    """Return the text of a file with our comment before it, or after the first ``after``.

    ``comment``: how a comment begins and ends.
    """
    facts = {"url": job.url, "log": job.log, "sha256": _hash(text)}
    # An XML comment must not have two dashes.
    written = json.dumps(facts).replace("--", "\\u002d\\u002d")
    line = f"{comment[0]}{_MARK}{written}{comment[1]}\n"
    head, mark, rest = text.partition(after) if after else ("", "", text)
    return f"{head}{mark}{line}{rest}"


def read_facts(text: str) -> Facts | None:
    """Return what our comment in a file's text says; None for a file of somebody else."""
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines):
        _, mark, rest = line.partition(_MARK)
        if not mark:
            continue
        try:
            facts: dict[str, Any] = json.JSONDecoder().raw_decode(rest)[0]
            others = "".join(lines[:number] + lines[number + 1 :])
            return Facts(str(facts["url"]), str(facts["log"]), facts["sha256"] == _hash(others))
        except (ValueError, LookupError, TypeError):
            return None
    return None


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
