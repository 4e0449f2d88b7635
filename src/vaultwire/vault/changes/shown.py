"""Which changes on record a run may see that may not see all of the vault: those that concern nothing hidden.

A change that does concern something hidden is, for such a run, not on record at all, with all its files: what is left of it
would tell. Nothing is changed here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from vaultwire.vault.changes.change import Change, Detailed, Write, follow, paths_of
from vaultwire.vault.changes.journal import Journal
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.visibility.private_notes import can_be_private


class ShownChanges:
    """The changes of one journal that may be seen. Safe to use from several threads."""

    def __init__(self, journal: Journal, files: Files) -> None:
        self._journal = journal
        self._files = files
        self._private: dict[int, bool] = {}  # whether a change's bytes are; they never change

    def all(self) -> list[Change]:
        """Return them, in the order of their ids. Raises OSError."""
        found: list[Change] = []
        moves: list[tuple[VaultPath, VaultPath]] = []  # of the changes behind, in their order
        private: set[VaultPath] = set()  # where notes lay last that were private then
        for change in reversed(self._journal.changes()):
            paths = {path for file in change.files for path in (file.path, file.target) if path is not None}
            paths.update(change.left)
            paths |= {_follow_all(path, moves) for path in paths}
            if self._is_private(change.id):
                private |= paths
            elif all(self._may_show(path, private) for path in paths):
                found.append(change)
            moves[:0] = [(file.path, file.target) for file in change.files if file.target is not None]
        return found[::-1]

    def _may_show(self, path: VaultPath, private: set[VaultPath]) -> bool:
        files = self._files
        if lies_in(path, TRASH):
            return True  # whatever lies there came from a path that is looked at, too
        if os.path.lexists(files.entry_path(path)):
            return files.is_taken(path)
        return files.may_be_seen(path) and path not in private

    def _is_private(self, number: int) -> bool:
        if not self._files.private_marks:
            return False
        known = self._private.get(number)
        if known is None:
            detailed = self._journal.load(number)
            # What cannot be read any more, or was too large to be kept, may be anything.
            known = self._private[number] = detailed is None or any(
                can_be_private(path) if data is None else self._files.is_private(path, data)
                for path, data in _held(detailed)
            )
        return known


def _held(detailed: Detailed) -> Iterable[tuple[VaultPath, bytes | None]]:
    """Yield what the files of a change held before and after it, under each name they had; None for what is not kept."""
    for step, content in zip(detailed.steps, detailed.contents, strict=True):
        if isinstance(step, Write):
            yield from ((step.path, data) for data in (step.before, step.after) if data is not None)
        else:
            yield from ((path, content) for path in paths_of(step))


def _follow_all(path: VaultPath, moves: Iterable[tuple[VaultPath, VaultPath]]) -> VaultPath:
    for source, target in moves:
        path = follow(path, source, target)
    return path
