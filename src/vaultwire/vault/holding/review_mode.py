"""What a planned change is judged by before it is made, the three answers, and the end of a call that is held."""

from __future__ import annotations

import os
from typing import Literal, NamedTuple, Protocol, TypeAlias

from vaultwire.vault.changes.change import Step, Write, paths_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError

Mode: TypeAlias = Literal["record", "hold", "ask"]
"""Make the change and record it; let it wait for the person; ask the person now, and let it wait where nobody can be asked."""


class PlannedChange(NamedTuple):
    """A change that a caller wants to make.

    ``client`` is the name that the client gives itself, ``principal`` the owner of its key, empty for none. ``paths`` are
    those of its files and folders, before and after, also where links lead. ``notes``: how many notes it changes.
    ``written``: how many bytes it writes.
    """

    client: str
    principal: str
    tool: str
    paths: tuple[str, ...]
    notes: int
    written: int


class ReviewRules(Protocol):
    """The rules of the person for changes that they want to see first."""

    @property
    def can_hold(self) -> bool:
        """Whether any change can be held by them."""

    def mode(self, planned: PlannedChange, /) -> Mode:
        """Return what is done with a change."""


class Held(Exception):  # noqa: N818 - the end of a call, not a failure
    """The change waits for the person. ``args[0]`` tells a model so."""


def places_of(files: Files, steps: list[Step]) -> tuple[str, ...]:
    """Return all paths that the steps name, and where links lead them."""
    paths: dict[str, None] = {}
    for step in steps:
        for path in paths_of(step):
            paths[path] = None
            try:
                real = os.path.relpath(files.real_path(path), files.root)
            except (OSError, ValueError, VaultError):  # the checks of the change say what is wrong with it
                continue
            paths[real.replace(os.sep, "/")] = None
    return tuple(paths)


def written_by(steps: list[Step]) -> int:
    """Return how many bytes the steps write."""
    return sum(step.new.size for step in steps if isinstance(step, Write) and step.new is not None)
