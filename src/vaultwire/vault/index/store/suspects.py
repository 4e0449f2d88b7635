"""Which files may have faults, by what the catalog and the link graph know: the others need not be read to check a vault.

What a fault is decides ``vault.links.checks``. Every file with a fault is among these; most of these have one.
"""

from __future__ import annotations

import json
from array import array

from vaultwire.vault.disk.paths import CANVAS_SUFFIX
from vaultwire.vault.index.port import Misfits
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import below
from vaultwire.vault.index.store.note_finder import from_stored
from vaultwire.vault.index.store.schema import IN_LIST, UNREAD
from vaultwire.vault.link_graph import LinkGraph
from vaultwire.vault.listed import BETWEEN_PATHS, PathKeys
from vaultwire.vault.value_types import VaultPath


def suspects(
    catalog: Catalog, graph: LinkGraph, folder: VaultPath | None, misfits: Misfits
) -> tuple[PathKeys, array[int]]:
    """Return every note and canvas below the folder, in path order, and the numbers of those that may have a fault."""
    condition, values = below(folder)
    canvas = f"(NOT is_note AND name GLOB '*{CANVAS_SUFFIX}')"
    ((joined,),) = catalog.rows(
        f"SELECT group_concat(path, '{BETWEEN_PATHS}') FROM (SELECT path FROM files"
        f" WHERE ({canvas} OR (is_note AND NOT hidden)) AND {condition} ORDER BY path)",
        values,
    )
    checked = PathKeys(joined)
    suspected = graph.with_lost_links()
    # A link to a heading or a block: the catalog does not know which ones a note has.
    to_part = "id IN (SELECT note FROM links WHERE instr(linktext, '#'))"
    suspected.update(
        path
        for (path,) in catalog.rows(
            f"SELECT path FROM files WHERE (suspect OR problem IS NOT NULL OR {canvas} OR (is_note AND digest = {UNREAD})"
            f" OR {to_part}) AND {condition}",
            values,
        )
    )
    for name, is_misfit in misfits.items():
        rows = catalog.rows("SELECT DISTINCT value FROM properties WHERE name = ?", (name,))
        wrong = [value for (value,) in rows if is_misfit(from_stored(value))]
        suspected.update(
            path
            for (path,) in catalog.rows(
                f"SELECT path FROM files WHERE id IN (SELECT note FROM properties WHERE name = ? AND value {IN_LIST})",
                (name, json.dumps(wrong)),
            )
        )
    paths = checked.part(0, len(checked))
    return checked, array("L", [number for number, path in enumerate(paths) if path in suspected])
