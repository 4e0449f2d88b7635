"""The port every index backend fills: what the engine asks of derived state. Deleting an index loses nothing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from vaultwire.markdown.model import Link
from vaultwire.vault.model import Found, NoteStat, Progress, Tagged, VaultPath
from vaultwire.vault.query import Query


class Index(Protocol):
    """What is in the vault, answered from whatever a backend keeps. Every answer is true of the files at call time.

    ``folder`` narrows to the notes below it. Long work calls ``progress.check`` between notes.
    """

    def notes(self, folder: VaultPath | None, progress: Progress) -> Iterable[NoteStat]:
        """Return every note, in no promised order."""

    def search(self, query: Query, folder: VaultPath | None, offset: int, limit: int, progress: Progress) -> Found:
        """Return ``limit`` notes that match, best first, ties in path order, and how many match in all."""

    def paths(self, progress: Progress) -> Iterable[VaultPath]:
        """Return every file a link may lead to, notes and attachments, in no promised order."""

    def links(self, progress: Progress) -> Iterable[tuple[VaultPath, list[Link]]]:
        """Return every note that has links, in path order, and its links in line order."""

    def tagged(self, folder: VaultPath | None, progress: Progress) -> list[Tagged]:
        """Return every note that has tags."""
