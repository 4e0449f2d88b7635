"""The log of what the person decided: one line for each decision, in the order in which they were made.

It is what the page marks as kept, and what the agent is told with its next result. The changes themselves are in the journal.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Hashable
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.vault.disk.file_operations import make_private, sync_file

DecisionKind: TypeAlias = Literal["kept", "unkept", "undone", "accepted", "edited", "refused", "told"]

_OPEN_APPEND = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Decision(NamedTuple):
    """A decision about a change on record, or a proposal, or a part of it.

    ``session`` and ``client`` are those of the agent that it concerns, and ``text`` is what that agent is told; empty for
    nothing. "told" is no decision: up to the position ``text`` in the log, a client was told of those that concern it.
    ``file`` is the index of a step, ``hunk`` that of a hunk in it; None for all. ``by``: the change that did it.
    """

    kind: DecisionKind
    session: str = ""
    client: str = ""
    change: int | None = None
    proposal: int | None = None
    file: int | None = None
    hunk: int | None = None
    by: int | None = None
    text: str = ""
    time_ns: int = 0


class DecisionLog:
    """The log in one folder, which need not exist yet. Several processes may add to it at once."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, "decisions.jsonl")

    def add(self, *decisions: Decision) -> None:
        """Add decisions, synced to disk. Raises OSError."""
        now = time.time_ns()
        lines = [json.dumps(each._replace(time_ns=each.time_ns or now)._asdict()) for each in decisions]
        make_private(self._folder)
        with os.fdopen(os.open(self._path, _OPEN_APPEND, 0o600), "ab", buffering=0) as file:
            # In one call, so that the lines of two processes do not mix. It begins with a line end in case that a kill has
            # torn the line before.
            file.write(("\n" + "\n".join(lines) + "\n").encode())
            sync_file(file.fileno())

    def all(self) -> list[Decision]:
        """Return all decisions, the oldest first."""
        return self.since(0)[0]

    def since(self, position: int) -> tuple[list[Decision], int]:
        """Return the decisions after a position (0: the first), and the position after them."""
        try:
            with open(self._path, "rb") as file:
                file.seek(position)
                data = file.read()
        except FileNotFoundError:
            return [], position
        whole = data[: data.rfind(b"\n") + 1]
        return [found for line in whole.split(b"\n") if (found := _parse(line)) is not None], position + len(whole)

    def stamp(self) -> Hashable:
        """Return a value that differs once a decision was added."""
        return self.end()

    def end(self) -> int:
        """Return the position after the last decision."""
        try:
            return os.stat(self._path).st_size
        except FileNotFoundError:
            return 0


def _parse(line: bytes) -> Decision | None:
    """Return the decision on a line, None for none: an empty or torn line, or one of a later version."""
    try:
        return Decision(**json.loads(line)) if line else None
    except (ValueError, TypeError):
        return None
