"""The first build of the index of a large vault: how far it is.

Until the build has ended, the catalog has the number of notes that the index will have. So every process knows it.
"""

from __future__ import annotations

from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import count_indexed, count_notes
from vaultwire.vault.value_types import IndexedSoFar

_NOTES = "first_build"


def begin(catalog: Catalog, notes: int) -> None:
    """Note that the first build of an index of so many notes begins."""
    catalog.set_meta(_NOTES, notes)


def end(catalog: Catalog) -> None:
    """Note that the index has all notes."""
    if catalog.meta(_NOTES) is not None:
        with catalog.writing() as connection:
            connection.execute("DELETE FROM meta WHERE name = ?", (_NOTES,))


def is_under_way(catalog: Catalog) -> bool:
    """Tell whether the first build has begun and not ended."""
    return catalog.meta(_NOTES) is not None


def indexed_so_far(catalog: Catalog, *, has_text: bool = True) -> IndexedSoFar | None:
    """Return how far the text index is, or the catalog; None if the first build has ended."""
    notes = catalog.meta(_NOTES)
    if notes is None:
        return None
    indexed = count_indexed(catalog, None).searched if has_text else count_notes(catalog, None)
    return IndexedSoFar(indexed, max(notes, indexed))


def has_some(catalog: Catalog) -> bool:
    """Tell whether the first build goes on and some notes can be found already."""
    return is_under_way(catalog) and bool(catalog.meta("commits"))
