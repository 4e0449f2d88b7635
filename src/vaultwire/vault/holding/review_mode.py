"""What a planned change is judged by before it is made, the three answers, and the end of a call that is held."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple, Protocol, TypeAlias

from vaultwire.vault.changes.change import Step, Write, paths_of
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import fold
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import VaultPath

Mode: TypeAlias = Literal["record", "hold", "ask"]
"""Make the change and record it; let it wait for the person; ask the person now, and let it wait where nobody can be asked."""


MOST_QUIET_SECONDS = 60
"""So long may a note wait for further edits (``delayed_writes``). Later, the person would look at one that is not as told."""


class PlannedChange(NamedTuple):
    """A change that a caller wants to make.

    ``client`` is the name that the client gives itself, ``principal`` the owner of its key, empty for none. ``also``: the
    tools whose work the call does besides its own tool's. ``paths`` are those of its files and folders, before and after,
    also where links lead. ``files``: how many it changes, notes and others. ``written``: how many bytes it writes.
    ``real_folders``: where those folders of the rules lead that are links.
    """

    client: str
    principal: str
    tool: str
    also: tuple[str, ...]
    paths: tuple[str, ...]
    files: int
    written: int
    real_folders: Mapping[str, str]


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


def places_of(files: Files, steps: list[Step]) -> tuple[str, ...]:
    """Return all paths that the steps name, and where links lead them."""
    paths: dict[str, None] = {}
    for step in steps:
        for path in paths_of(step):
            paths[path] = None
            real = _real(files, path)
            if real is not None:  # else the checks of the change say what is wrong with it
                paths[real] = None
    return tuple(paths)


def real_folders(files: Files, folders: Iterable[str]) -> dict[str, str]:
    """Return where those of the folders lead that are links."""
    real_by_folder = {folder: _real(files, VaultPath(folder)) for folder in folders if folder}
    return {folder: real for folder, real in real_by_folder.items() if real is not None and fold(real) != fold(folder)}


def _real(files: Files, path: VaultPath) -> str | None:
    try:
        return os.path.relpath(files.real_path(path), files.root).replace(os.sep, "/")
    except (OSError, ValueError, VaultError):
        return None


def written_by(steps: list[Step]) -> int:
    """Return how many bytes the steps write."""
    return sum(step.new.size for step in steps if isinstance(step, Write) and step.new is not None)
