"""Which files may have faults, by what the catalog and the link graph know: the others need not be read to check a vault.

What a fault is decides ``vault.links.checks``. Every file with a fault is among these; most of these have one.
"""

from __future__ import annotations

import json
from array import array

from vaultwire.vault.disk.paths import CANVAS_SUFFIX, is_note
from vaultwire.vault.index.port import Misfits
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.catalog_queries import below, targets
from vaultwire.vault.index.store.note_finder import from_stored
from vaultwire.vault.index.store.schema import IN_LIST, UNREAD
from vaultwire.vault.link_graph import LinkGraph
from vaultwire.vault.links.link_resolver import linkpath_of
from vaultwire.vault.links.sections import parts_of
from vaultwire.vault.listed import BETWEEN_PATHS, PathKeys
from vaultwire.vault.value_types import VaultPath

# The links of so many notes are followed at a time: little memory for 100,000 notes.
_BATCH = 5000


def with_lost_parts(catalog: Catalog) -> array[int]:
    """Return the ids of the notes with a link to a heading or block that the note it leads to does not have."""
    lost: set[int] = set()
    for first in range(0, catalog.rows("SELECT ifnull(max(id), 0) FROM files")[0][0] + 1, _BATCH):
        links = catalog.rows(
            "SELECT note, path, links.name, linktext FROM links JOIN files ON id = note"
            " WHERE note BETWEEN ? AND ? AND instr(linktext, '#') AND NOT hidden",
            (first, first + _BATCH - 1),
        )
        leads_to = targets(catalog, {name for _, _, name, _ in links})
        asked: dict[VaultPath, dict[str, list[int]]] = {}  # by note, then by the part of it, who links there
        for note_id, path, _, linktext in links:
            target = leads_to.resolve(path, linkpath_of(linktext))
            if target is not None and is_note(target):
                subpath = linktext.partition("#")[2]
                asked.setdefault(target, {}).setdefault(subpath, []).append(note_id)
        rows = catalog.rows(
            f"SELECT path, headings, block_ids FROM files LEFT JOIN outlines ON note = id WHERE path {IN_LIST}",
            (json.dumps([*asked]),),
        )
        for target, headings, block_ids in rows:
            parts = parts_of(target, json.loads(headings or "[]"), json.loads(block_ids or "[]"))
            for subpath, note_ids in asked[target].items():
                if not parts.has(subpath):
                    lost.update(note_ids)
    return array("L", sorted(lost))


def suspects(
    catalog: Catalog, graph: LinkGraph, lost_parts: array[int], folder: VaultPath | None, misfits: Misfits
) -> tuple[PathKeys, array[int]]:
    """Return every note and canvas below the folder, in path order, and the numbers of those that may have a fault.

    ``lost_parts``: the ids that ``with_lost_parts`` returned.
    """
    condition, values = below(folder)
    canvas = f"(NOT is_note AND name GLOB '*{CANVAS_SUFFIX}')"
    ((joined,),) = catalog.rows(
        f"SELECT group_concat(path, '{BETWEEN_PATHS}') FROM (SELECT path FROM files"
        f" WHERE ({canvas} OR (is_note AND NOT hidden)) AND {condition} ORDER BY path)",
        values,
    )
    checked = PathKeys(joined)
    suspected = graph.with_lost_links()
    suspected.update(
        path
        for (path,) in catalog.rows(
            f"SELECT path FROM files WHERE (suspect OR problem IS NOT NULL OR {canvas} OR (is_note AND digest = {UNREAD})"
            f" OR id {IN_LIST}) AND {condition}",
            [json.dumps([*lost_parts]), *values],
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
