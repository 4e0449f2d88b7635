"""The hidden files of one change: new bytes before they have a note's name, and what came out of a place after it has others.

Where the system can swap two names (``disk.atomic_rename``), the hidden file of an edit holds the new bytes before its step and
the old ones behind it; elsewhere it is gone then. The one of a removal holds the bytes that were removed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from vaultwire.vault.changes.change import Intent, Move, Write, follow
from vaultwire.vault.disk.file_operations import remove_quietly, rename_no_replace
from vaultwire.vault.disk.files import TEMPORARY_PREFIX, TEMPORARY_SUFFIX, Files
from vaultwire.vault.disk.paths import rescued_name
from vaultwire.vault.value_types import VaultPath

AGAIN = "b"  # marks files with the bytes from before, written for the way back


class HiddenFiles:
    """The hidden files of one change, on the disk."""

    def __init__(self, files: Files, intent: Intent) -> None:
        self.is_begun = intent.is_ready
        """Whether steps may have been taken: only then can a hidden file hold what another program saved."""
        self._files = files
        self._intent = intent
        self._moves = [(number, step) for number, step in enumerate(intent.steps) if isinstance(step, Move)]

    # ------------------------------------------------------------------ what they hold

    def displaced(self) -> Iterator[tuple[Write, str]]:
        """Yield those that are there of files that had bytes before, each with its step."""
        for number, step in enumerate(self._intent.steps):
            if isinstance(step, Write) and step.before is not None:
                for place in self.of_step(number):
                    if os.path.lexists(place):
                        yield step, place

    def came_out(self, step: Write, place: str) -> bool:
        """Tell whether what the hidden file of an edit holds came out of the place that has the new bytes now."""
        if self._files.holds(place, step.before or b""):
            return True
        return self.is_begun and not self._files.holds(place, step.after or b"")

    def is_foreign(self, step: Write, place: str) -> bool:
        """Tell whether a hidden file is there that holds what another program saved: its bytes are not in the record."""
        if not (self.is_begun and os.path.lexists(place)):
            return False
        return not any(each is not None and self._files.holds(place, each) for each in (step.before, step.after))

    def remove(self) -> None:
        """Remove every hidden file that this change may have made.

        One that has neither the bytes from before nor from after is what another program saved in the middle of the change,
        in a place that has something newer by now: it gets a name of its own beside that.
        """
        for number, step in enumerate(self._intent.steps):
            if isinstance(step, Write):
                for place in self.of_step(number):
                    self._remove(number, step, place)
                for place in self.of_step(number, (AGAIN,)):
                    is_torn = step.before is not None and self._files.holds(place, step.before, cut=True)
                    self._remove(number, step, place, is_ours=is_torn)

    def _remove(self, number: int, step: Write, place: str, *, is_ours: bool = False) -> None:
        if is_ours or not self.is_foreign(step, place):
            remove_quietly(place)
            return
        name = rescued_name(os.path.basename(step.path), f"{self._intent.id}-{number}")
        rename_no_replace(place, os.path.join(os.path.dirname(place), name))

    # ------------------------------------------------------------------ names

    def name(self, number: int, folder: VaultPath, mark: str = "") -> str:
        """Return where a step's hidden file is, if its folder is this one."""
        name = f"{TEMPORARY_PREFIX}{self._intent.id}-{self._intent.token}-{number}{mark}{TEMPORARY_SUFFIX}"
        return os.path.join(self._files.real_path(folder) if folder else self._files.root, name)

    def of_step(self, number: int, marks: tuple[str, ...] = ("",)) -> Iterator[str]:
        """Yield where the hidden files of a step may be: folders move, and take them along."""
        folder = folder_of(self._intent.sites[number].place)
        folders = {folder}
        for at, move in reversed(self._moves):
            if at < number:
                folder = follow(folder, move.target, move.source)
                folders.add(folder)
        folder = folder_of(self._intent.sites[number].place)
        for at, move in self._moves:
            if at > number:
                folder = follow(folder, move.source, move.target)
                folders.add(folder)
        for each in folders:
            for mark in marks:
                yield self.name(number, each, mark)

    def back(self, number: int, path: VaultPath) -> VaultPath:
        """Return where on the disk, before the change, was what is at a path right before a step."""
        for at, move in reversed(self._moves):
            if at < number:
                path = follow(path, move.target, move.source)
        return path


def folder_of(path: VaultPath) -> VaultPath:
    """Return the folder a path lies in, "" for the vault's own."""
    return VaultPath(path.rpartition("/")[0])
