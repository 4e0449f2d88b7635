"""What a planned change is judged by before it is made, the three answers, and the end of a call that is held."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal, NamedTuple, Protocol, TypeAlias

from vaultwire.vault.changes.change import Step, Write, paths_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold, lies_in
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath

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

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders that they name."""

    def mode(self, planned: PlannedChange, /) -> Mode:
        """Return what is done with a change."""


class Held(Exception):  # noqa: N818 - the end of a call, not a failure
    """The change waits for the person. ``args[0]`` tells a model so."""


def places_of(files: Files, steps: list[Step], folders: Iterable[str] = ()) -> tuple[str, ...]:
    """Return all paths that the steps name, and where links lead them.

    ``folders``: further folders, of which those are returned that are a link to one that the steps touch.
    """
    paths: dict[str, None] = {}
    for step in steps:
        for path in paths_of(step):
            paths[path] = None
            real = _real(files, path)
            if real is not None:  # else the checks of the change say what is wrong with it
                paths[real] = None
    touched = [fold(path) for path in paths]
    for folder in filter(None, folders):
        real = _real(files, VaultPath(folder))
        place = fold(real or folder)
        if place != fold(folder) and any(lies_in(path, place) or lies_in(place, path) for path in touched):
            paths[folder] = None
    return tuple(paths)


def _real(files: Files, path: VaultPath) -> str | None:
    try:
        return os.path.relpath(files.real_path(path), files.root).replace(os.sep, "/")
    except (OSError, ValueError, VaultError):
        return None


def written_by(steps: list[Step]) -> int:
    """Return how many bytes the steps write."""
    return sum(step.new.size for step in steps if isinstance(step, Write) and step.new is not None)
