"""The first build of the index of a large vault: how far it is, and who need not wait for its end.

Until the build has ended, the catalog has the number of notes that the index will have. So every process knows it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import count_indexed
from vaultwire.vault.value_types import Confirmation, IndexedSoFar, Progress

# A call waits so long for the whole index. Vaults of a thousand notes are indexed within it.
_PATIENCE_SECONDS = 1.0
_NOTES = "first_build"


def begin(catalog: Catalog, notes: int) -> None:
    """Note that the first build of an index of so many notes begins."""
    catalog.set_meta(_NOTES, notes)


def end(catalog: Catalog) -> None:
    """Note that the index has all notes."""
    if catalog.meta(_NOTES) is not None:
        with catalog.writing() as connection:
            connection.execute("DELETE FROM meta WHERE name = ?", (_NOTES,))


def indexed_so_far(catalog: Catalog) -> IndexedSoFar | None:
    """Return how far the first build is, None if it has ended."""
    notes = catalog.meta(_NOTES)
    if notes is None:
        return None
    indexed = count_indexed(catalog, None).searched
    return IndexedSoFar(indexed, max(notes, indexed))


def has_some(catalog: Catalog) -> bool:
    """Tell whether the first build goes on and some notes can be found already."""
    return catalog.meta(_NOTES) is not None and bool(catalog.meta("commits"))


class StillBuilding(Exception):  # noqa: N818 - no error: the answer is then about the notes indexed so far
    """The first build goes on, or many changes are applied, and a call has waited long enough for it."""


class Patience:
    """Progress of a call that need not wait for the end of the first build, or until all changes are applied."""

    def __init__(self, progress: Progress, has_some: Callable[[], bool]) -> None:
        """``has_some`` tells whether a part of the notes can be found already."""
        self._progress = progress
        self._has_some = has_some
        self._until = time.monotonic() + _PATIENCE_SECONDS
        self.is_over = False

    def check(self) -> None:
        """Raise ``StillBuilding`` if the call has waited long enough and can have a part of the notes."""
        self._progress.check()
        if time.monotonic() > self._until and self._has_some():
            self.is_over = True
            raise StillBuilding

    def report(self, done: int, total: int, message: str) -> None:
        """Report to the caller."""
        self._progress.report(done, total, message)

    def confirm(self, question: Confirmation) -> None:
        """Ask the caller."""
        self._progress.confirm(question)
