"""The guides of folders (``vault.guides``), told with the answer to a caller's first change there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Move, Step
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import TRASH, fold, lies_in
from vaultwire.vault.guides import NAMES, find_guide, quoted_head
from vaultwire.vault.value_types import VaultPath

# Of one answer. A rename may edit notes in hundreds of folders, and nobody writes into these on purpose.
_MOST_GUIDES = 2
_MOST_FILES = 20
_FOLDED = {fold(name) for name in NAMES}


def guides_for(files: Files, caller: Caller, steps: Iterable[Step]) -> list[str]:
    """Return the guides of folders in which the caller has changed something for the first time, as notices.

    It never fails: the change is made by now.
    """
    found: list[str] = []
    for folder in _folders(steps):
        if len(found) == _MOST_GUIDES:
            break
        if caller.begins_in(folder) and (guide := find_guide(files, folder)) is not None:
            found.append(quoted_head(*guide))
    return found


def _folders(steps: Iterable[Step]) -> Iterator[str]:
    """Yield each folder that now has a new or changed file, and those around it, but not the vault itself."""
    paths = [path for path in map(_written, steps) if path is not None][:_MOST_FILES]
    seen: set[str] = set()
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in seen and not lies_in(folder, TRASH):
            seen.add(folder)
            yield folder
            folder = folder.rpartition("/")[0]


def _written(step: Step) -> VaultPath | None:
    if isinstance(step, Move):
        return step.target
    is_guide = fold(step.path.rpartition("/")[2]) in _FOLDED
    return None if step.new is None or is_guide else step.path
