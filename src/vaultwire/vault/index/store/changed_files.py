"""The files that the index updater has to read, in little memory: 16 MB for 100,000, where a tuple for each takes 37 MB."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import TypeAlias

from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.index.store.schema import KnownFile
from vaultwire.vault.value_types import NoteStat, VaultPath

# Files in one transaction: other writers wait 0.1 s at most, and what was read takes 5 MB.
_BATCH = 250
# Bytes of notes in one transaction: what was read waits in memory, up to 150 bytes for each byte of a note.
_BATCH_BYTES = 2_000_000

Change: TypeAlias = tuple[NoteStat, KnownFile | None]
"""A file as it is now, and what the catalog knows of it."""


class ChangedFiles:
    """New and changed files, each with what the catalog knows of it."""

    def __init__(self) -> None:
        self.paths: list[VaultPath] = []
        self._numbers = array("q")  # size, time and stamp of each
        self._known: dict[VaultPath, KnownFile] = {}

    def __len__(self) -> int:
        return len(self.paths)

    def add(self, stat: NoteStat, known: KnownFile | None) -> None:
        """Add a file."""
        self.paths.append(stat.path)
        self._numbers.extend(stat[1:])
        if known is not None:
            self._known[stat.path] = known

    def batches(self) -> Iterator[list[Change]]:
        """Yield all of them in path order, in parts, each for one transaction.

        In path order, because search shows notes of equal rank in the order in which they were indexed.
        """
        batch: list[Change] = []
        size = 0
        last = len(self)
        places = sorted(range(last), key=self.paths.__getitem__, reverse=True)
        for number in range(1, last + 1):
            place = places.pop()
            path = self.paths[place]
            stat = NoteStat(path, *self._numbers[3 * place : 3 * place + 3])
            batch.append((stat, self._known.get(path)))
            size += stat.size if is_note(path) else 0
            if len(batch) == _BATCH or size > _BATCH_BYTES or number == last:
                yield batch
                batch, size = [], 0
