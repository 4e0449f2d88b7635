"""The temporary files of one change, under hidden names beside the notes.

Before an edit's step, its temporary file holds the new bytes. Where the system can swap two names, it
holds the old bytes after the step; elsewhere it is gone then. The temporary file of a removal holds the removed bytes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vaultwire.vault.changes.change import Intent, Move, Write
from vaultwire.vault.changes.move_paths import MovePaths
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.file_operations import remove_quietly, rename_no_replace
from vaultwire.vault.disk.files import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Files
from vaultwire.vault.disk.paths import rescued_name
from vaultwire.vault.value_types import VaultPath

_EMPTY = Content(b"")
ROLLBACK = "b"  # marks a file with the bytes from before, written for a roll-back


class TemporaryFiles:
    """The temporary files of one change, on the disk."""

    def __init__(self, files: Files, intent: Intent) -> None:
        self.is_begun = intent.is_ready
        """Whether steps may have been taken: only then can a temporary file hold what another program saved."""
        self._files = files
        self._intent = intent
        self._moves = MovePaths((number, step) for number, step in enumerate(intent.steps) if isinstance(step, Move))

    # ------------------------------------------------------------------ what they hold

    def displaced(self) -> Iterator[tuple[Write, str]]:
        """Yield each edit or removal whose temporary file is there, and the place of that file."""
        for number, step in enumerate(self._intent.steps):
            if isinstance(step, Write) and step.old is not None:
                for place in self.of_step(number):
                    if os.path.lexists(place):
                        yield step, place

    def is_displaced(self, step: Write, place: str) -> bool:
        """Tell whether the temporary file of an edit holds the bytes that its step took out of the note."""
        if self._files.holds(place, step.old or _EMPTY):
            return True
        return self.is_begun and not self._files.holds(place, step.new or _EMPTY)

    def is_foreign(self, step: Write, place: str) -> bool:
        """Tell whether a temporary file is there with bytes that are not on record: another program saved them."""
        if not (self.is_begun and os.path.lexists(place)):
            return False
        return not any(each is not None and self._files.holds(place, each) for each in (step.old, step.new))

    def remove(self) -> None:
        """Remove every temporary file that this change may have made.

        One with neither the bytes from before nor those from after is what another program saved in the middle of the
        change. The note has newer bytes by now, so that file gets a name of its own beside the note.
        """
        for number, step in enumerate(self._intent.steps):
            if isinstance(step, Write):
                for place in self.of_step(number):
                    self._remove(number, step, place)
                for place in self.of_step(number, ROLLBACK):
                    is_torn = step.old is not None and self._files.holds(place, step.old, cut=True)
                    self._remove(number, step, place, is_ours=is_torn)

    def _remove(self, number: int, step: Write, place: str, *, is_ours: bool = False) -> None:
        if is_ours or not self.is_foreign(step, place):
            remove_quietly(place)
            return
        name = rescued_name(os.path.basename(step.path), f"{self._intent.id}-{number}")
        rename_no_replace(place, os.path.join(os.path.dirname(place), name))

    # ------------------------------------------------------------------ names

    def name(self, number: int, folder: VaultPath, mark: str = "") -> str:
        """Return the place of a step's temporary file in a folder."""
        name = f"{TEMPORARY_PREFIX}{self._intent.id}-{self._intent.token}-{number}{mark}{TEMPORARY_SUFFIX}"
        return os.path.join(self._files.real_path(folder) if folder else self._files.root, name)

    def of_step(self, number: int, mark: str = "") -> Iterator[str]:
        """Yield the places where a step's temporary files may be: folders that move take them along."""
        folder = folder_of(self._intent.priors[number].place)
        folders = {folder}
        if self._moves:
            folders.update(before for _, before in self._moves.places_before(folder, number))
            folders.update(after for _, after in self._moves.places_after(folder, number + 1))
        for each in folders:
            yield self.name(number, each, mark)

    def original_path(self, number: int, path: VaultPath) -> VaultPath:
        """Return the path, before the change, of the file that is at ``path`` right before a step."""
        return self._moves.before(path, number)


def folder_of(path: VaultPath) -> VaultPath:
    """Return the folder of a path, "" for the vault's own."""
    return VaultPath(path.rpartition("/")[0])
