"""The changes on record that a run may see if some of the vault is hidden from it: those that concern nothing hidden.

A change that concerns something hidden is not on record for such a run, with all its files: a part of it would give the rest
away. Nothing is changed here.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from vaultwire.vault.changes.change import Change, DetailedChange, Write, moves_of, paths_of
from vaultwire.vault.changes.journal import Journal
from vaultwire.vault.changes.move_paths import MovePaths
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.visibility.visible_files import can_be_private


class VisibleChanges:
    """The changes of one journal that this run may see. Safe to use from several threads."""

    def __init__(self, journal: Journal, files: Files) -> None:
        self._journal = journal
        self._files = files
        self._private: dict[int, bool] = {}  # whether the bytes of a change are private; they never change

    def all(self) -> list[Change]:
        """Return them, in the order of their ids. Raises OSError."""
        found: list[Change] = []
        changes = self._journal.changes()
        moves = MovePaths(enumerate(move for change in changes for move in moves_of(change)))
        count = sum(len(moves_of(change)) for change in changes)  # of the moves up to this change
        private: set[VaultPath] = set()  # where notes that were private lay last
        for change in reversed(changes):
            paths = {path for file in change.files for path in (file.path, file.target) if path is not None}
            paths.update(change.unrestored)
            paths |= {moves.after(path, count) for path in paths}
            if self._is_private(change.id):
                private |= paths
            elif all(self._may_be_seen(path, private) for path in paths):
                found.append(change)
            count -= len(moves_of(change))
        return found[::-1]

    def _may_be_seen(self, path: VaultPath, private: set[VaultPath]) -> bool:
        files = self._files
        if lies_in(path, TRASH):
            return True  # its former path is checked as well
        if os.path.lexists(files.entry_path(path)):
            return files.is_taken(path)
        return files.may_be_seen(path) and path not in private

    def _is_private(self, number: int) -> bool:
        if not self._files.hides_private_notes:
            return False
        known = self._private.get(number)
        if known is None:
            detailed = self._journal.load(number)
            # Bytes that are lost, or were too large to be kept, may have been private.
            known = self._private[number] = detailed is None or any(
                can_be_private(path) if data is None else self._files.is_private(path, data)
                for path, data in _contents(detailed)
            )
        return known


def _contents(detailed: DetailedChange) -> Iterable[tuple[VaultPath, bytes | None]]:
    """Yield the bytes of a change's files before and after it, with each path they had; None for bytes that are not kept."""
    for step, content in zip(detailed.steps, detailed.contents, strict=True):
        if isinstance(step, Write):
            yield from ((step.path, each.data) for each in (step.old, step.new) if each is not None)
        else:
            yield from ((path, None if content is None else content.data) for path in paths_of(step))
