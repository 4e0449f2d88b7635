"""Builds the ``LinkGraph`` of a catalog: resolves every link at once, by the rules of ``links.link_resolver``.

Most links with the same text lead to the same file from any note: these are resolved once.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator
from copy import copy

from vaultwire.vault.index.catalog import IN_LIST, Catalog
from vaultwire.vault.index.catalog_queries import targets
from vaultwire.vault.link_graph import PAIR_SHIFT, LinkGraph
from vaultwire.vault.links.link_resolver import LinkResolver, link_name, link_names_to, linkpath_of
from vaultwire.vault.value_types import Progress, VaultPath

# The links of so many notes are fetched at a time: 20 ms of work between two checks whether to stop, and little memory.
_BATCH = 1000
# To follow so many links one by one takes as long as to build the whole graph of 10,000 notes.
_MOST_FOLLOWED = 20_000
_HIDDEN, _NOWHERE = -1, -2


def link_graph(catalog: Catalog, progress: Progress) -> LinkGraph:
    """Return the graph of all links, those in frontmatter included.

    Hidden notes are not in it: their links do not count, and links to them are left out, but not as broken links.
    """
    numbers: dict[VaultPath, int] = {}
    sources: dict[int, int] = {}  # a note's id and its number in the graph
    visible: list[VaultPath] = []
    notes = bytearray()
    for note_id, path, as_note, hidden in catalog.rows("SELECT id, path, is_note, hidden FROM files ORDER BY path"):
        numbers[path] = _HIDDEN if hidden else len(visible)
        if hidden:
            continue
        if as_note:
            sources[note_id] = len(visible)
        visible.append(path)
        notes.append(as_note)
    resolver = LinkResolver(numbers)
    known: dict[str, int] = {}  # by linktext, where the note that has it does not matter
    pairs = array("Q")
    lost: list[tuple[int, int, str]] = []
    for note_id, line, linktext in _links(catalog, sorted(sources), progress):
        source = sources.get(note_id)
        if source is None:
            continue
        target = known.get(linktext)
        if target is None:
            linkpath = linkpath_of(linktext).strip()
            found = resolver.resolve(visible[source], linkpath)
            target = _NOWHERE if found is None else numbers[found]
            if linkpath in resolver.from_anywhere:
                known[linktext] = target
        if target >= 0:
            pairs.append(source << PAIR_SHIFT | target)
        elif target == _NOWHERE:
            lost.append((source, line, linkpath_of(linktext).strip()))
    del numbers, resolver, known, sources
    lost.sort()
    return LinkGraph(visible, bytes(notes), pairs, lost)


def _links(catalog: Catalog, ids: list[int], progress: Progress) -> Iterator[tuple[int, int, str]]:
    """Yield note, line and linktext of every link of these notes, and of other notes with ids between theirs."""
    for start in range(0, len(ids), _BATCH):
        progress.check()
        progress.report(start, len(ids), "notes' links followed")
        batch = ids[start : start + _BATCH]
        yield from catalog.rows(
            "SELECT note, line, linktext FROM links WHERE note BETWEEN ? AND ?", (batch[0], batch[-1])
        )


class GraphKeeper:
    """Keeps the latest graph, and changes it as the catalog changes. Safe to use from several threads."""

    def __init__(self) -> None:
        self._latest: tuple[int, LinkGraph] | None = None

    def get(self, catalog: Catalog, progress: Progress) -> LinkGraph:
        """Return the graph of the catalog as it is now; the same object as long as nothing has changed."""
        changes = catalog.changes()  # read first: the next call sees a change that comes in between
        latest = self._latest
        if latest is not None and latest[0] == changes:
            return latest[1]
        changed = None if latest is None else catalog.changed_since(latest[0])
        graph = None if latest is None or changed is None else _changed_graph(catalog, latest[1], changed, progress)
        if graph is None:
            graph = link_graph(catalog, progress)
        self._latest = (changes, graph)
        return graph


def _changed_graph(
    catalog: Catalog, graph: LinkGraph, changed: dict[str, bool], progress: Progress
) -> LinkGraph | None:
    """Return the graph after some files have changed; None if it is quicker to build it."""
    paths = json.dumps([*changed])
    now: dict[str, bool] = {
        path: bool(as_note)
        for path, as_note in catalog.rows(
            f"SELECT path, is_note FROM files WHERE NOT hidden AND path {IN_LIST}", (paths,)
        )
    }
    # Links of these names may lead elsewhere now.
    names = {name for path, is_listed in changed.items() if is_listed for name in link_names_to(VaultPath(path))}
    rows = catalog.rows(
        "SELECT path, line, linktext FROM files JOIN links ON note = id WHERE is_note AND NOT hidden AND (path"
        f" {IN_LIST} OR id IN (SELECT note FROM links WHERE links.name {IN_LIST})) ORDER BY path, line, place LIMIT ?",
        (paths, json.dumps([*names]), _MOST_FOLLOWED),
    )
    if len(rows) == _MOST_FOLLOWED:
        return None
    gone = [path for path in changed if path in graph and path not in now]
    came = {path: as_note for path, as_note in now.items() if path not in graph}
    resolver = targets(catalog, {link_name(source, linktext) for source, _, linktext in rows})
    links: dict[str, tuple[list[str], list[tuple[int, str]]]] = {path: ([], []) for path in now}
    for source, line, linktext in rows:
        progress.check()
        if source not in graph and source not in came:
            continue  # it has just come: the next call sees it
        found, lost = links.setdefault(source, ([], []))
        linkpath = linkpath_of(linktext)
        target = resolver.resolve(source, linkpath)
        if target is None:
            lost.append((line, linkpath.strip()))
        elif target in came or (target in graph and target not in gone):  # else it is hidden
            found.append(target)
    for _, lost in links.values():
        lost.sort()
    changed_graph = copy(graph)
    changed_graph.change(gone, came, links)
    return changed_graph
