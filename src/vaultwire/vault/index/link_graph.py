"""The graph of all links between the notes and attachments of a vault, and the questions about it.

It is small: a file is a number, a link is two of them. It is made from the catalog, and changed as the catalog changes;
``vault.links.link_resolver`` says where a link leads. The links of one note are in it as well.
"""

from __future__ import annotations

import itertools
import json
import sys
from array import array
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.index.catalog import IN_LIST, Catalog
from vaultwire.vault.index.catalog_queries import targets
from vaultwire.vault.links.link_resolver import LinkResolver, link_name, link_names_to, linkpath_of
from vaultwire.vault.listed import Listed, Pairs
from vaultwire.vault.value_types import Progress, VaultPath

Direction: TypeAlias = Literal["both", "out", "in"]
"""Which links are followed: those of a note, those to it, or both."""

PAIR_SHIFT = 32
"""A link is one number, ``from << PAIR_SHIFT | to``, so links are sorted and searched as numbers."""

_LOW = (1 << PAIR_SHIFT) - 1
# Files between two checks whether the caller still waits: 5 ms of work.
_CHECK_EVERY = 1000


class Neighbour(NamedTuple):
    """A file near a note: how many links away, the file it was reached from, and which of the two links to the other."""

    path: VaultPath
    distance: int
    via: VaultPath
    direction: Direction


class Unresolved(NamedTuple):
    """A name that links ask for and no file has, as first written, and the links: notes and lines, in path and line order."""

    name: str
    places: list[tuple[VaultPath, int]]


class LinkGraph:
    """The links between the notes and attachments that the vault's rules do not exclude.

    Several links of a note to one file count as one. Links of a note to itself do not count. Attachments have no links.
    """

    def __init__(
        self,
        paths: Sequence[str],
        notes: bytes,
        links: Iterable[int],
        unresolved: Iterable[tuple[int, int, str]],
    ) -> None:
        """``paths``: every file, in path order; ``notes``: 1 for each that is a note; ``links``: see PAIR_SHIFT.

        ``unresolved``: note, line and linkpath of each link that leads nowhere, in path and line order.
        """
        self._paths = [*paths]
        self._notes = bytearray(notes)
        pairs = sorted(set(links))
        self._out = array("Q", [pair for pair in pairs if pair >> PAIR_SHIFT != pair & _LOW])
        self._into = array("Q", sorted(map(_reversed, self._out)))
        # The files in path order. A file that comes later gets the next number, so that those of the others stay.
        self._order = array("L", range(len(paths)))
        # By note: line and name of each link that leads nowhere. Most such names are asked for several times: kept once.
        self._lost: dict[int, list[tuple[int, str]]] = {}
        names: dict[str, str] = {}
        for note, line, name in unresolved:
            self._lost.setdefault(note, []).append((line, names.setdefault(name, name)))

    def __contains__(self, path: str) -> bool:
        """Tell whether the file is in the graph."""
        return self._find(path) is not None

    @property
    def size(self) -> int:
        """About how many bytes it takes in memory, without the paths themselves."""
        return 8 * (2 * len(self._out) + 2 * len(self._paths)) + 200 * len(self._lost)

    def change(
        self,
        gone: Iterable[str],
        came: Mapping[str, bool],
        links: Mapping[str, tuple[list[str], list[tuple[int, str]]]],
    ) -> None:
        """Bring the graph up to date after some files have changed: in a small part of the time that building one takes.

        Only for a copy (``copy.copy``): other threads use the original, which stays as it is. ``came``: the new files, each
        with whether it is a note. ``links``: of each note whose links may lead elsewhere now, the files that they lead to,
        and line and linkpath of those that lead nowhere. Notes that had links to files that are gone must be among them.
        """
        removed: set[int] = set()
        for path in links:
            if path not in came:
                removed.update(_pairs_of(self._out, self._number(VaultPath(path))))
        self._paths, self._notes = [*self._paths], bytearray(self._notes)
        self._order, self._lost = self._order[:], self._lost.copy()
        for path in gone:
            number = self._order.pop(self._place(path))
            self._paths[number], self._notes[number] = "", 0
            self._lost.pop(number, None)
            removed.update(_pairs_of(self._out, number), map(_reversed, _pairs_of(self._into, number)))
        for path, is_note in came.items():
            self._order.insert(self._place(path), len(self._paths))
            self._paths.append(path)
            self._notes.append(is_note)
        added: set[int] = set()
        for path, (leads_to, lost) in links.items():
            number = self._number(VaultPath(path))
            numbers = {self._number(VaultPath(target)) for target in leads_to} - {number}
            added |= {number << PAIR_SHIFT | target for target in numbers}
            self._lost.pop(number, None)
            if lost:
                self._lost[number] = lost
        self._out = _spliced(self._out, removed, added)
        self._into = _spliced(self._into, {*map(_reversed, removed)}, {*map(_reversed, added)})

    # ------------------------------------------------------------------ questions

    def neighbours(self, path: VaultPath, depth: int, direction: Direction, progress: Progress) -> Listed[Neighbour]:
        """Return the files at most ``depth`` links away, the nearest first, then in path order.

        Links are not followed beyond an attachment: two notes that show one picture are not near because of it.
        Raises VaultError (INVALID_ARGUMENTS) for a note that is not in the graph.
        """
        near: list[tuple[int, int, int]] = []
        levels = self._levels(self._number(path), direction, progress)
        for distance, level in enumerate(itertools.islice(levels, depth), start=1):
            near += [(distance, number, level[number]) for number in self._sorted(level)]
        return Listed(near, lambda part, _: [self._neighbour(*each) for each in part], path, size=self.size)

    def path_between(
        self, start: VaultPath, end: VaultPath, direction: Direction, progress: Progress
    ) -> list[Neighbour] | None:
        """Return a shortest path of links from one note to another, without the first note; None if there is none.

        Of several shortest paths it is always the same. Raises VaultError as ``neighbours`` does.
        """
        first, last = self._number(start), self._number(end)
        if first == last:
            return []
        reached: dict[int, int] = {}
        for level in self._levels(first, direction, progress):
            reached |= level
            if last in level:
                break
        if last not in reached:
            return None
        way = [last]
        while way[-1] != first:
            way.append(reached[way[-1]])
        way.reverse()
        steps = enumerate(itertools.pairwise(way), start=1)
        return [self._neighbour(distance, number, via) for distance, (via, number) in steps]

    def orphans(self) -> list[VaultPath]:
        """Return the notes that no other note links to, in path order."""
        return self._notes_without(self._into)

    def dead_ends(self) -> list[VaultPath]:
        """Return the notes that link to no other note or attachment, in path order."""
        return self._notes_without(self._out)

    def hubs(self) -> Pairs[VaultPath]:
        """Return the notes that others link to, each with their number, the most linked first, ties in path order."""
        counts = Counter(_firsts(self._into))
        ranked = sorted(
            [number for number in self._order if self._notes[number] and number in counts],
            key=counts.__getitem__,
            reverse=True,
        )
        return Pairs([*map(self._path, ranked)], array("L", map(counts.__getitem__, ranked)))

    def unresolved(self) -> list[Unresolved]:
        """Return the names that links ask for and no file has, the most frequent first, ties in the order of the names."""
        # By folded name without ``.md``: the name as first written.
        names: dict[str, Unresolved] = {}
        known: dict[str, Unresolved] = {}  # folding takes longer than all the rest
        for number in self._sorted(self._lost):
            for line, name in self._lost[number]:
                found = known.get(name)
                if found is None:
                    key = fold(name).removesuffix(NOTE_SUFFIX)
                    found = known[name] = names.setdefault(key, Unresolved(name, []))
                found.places.append((self._path(number), line))
        by_frequency = sorted(names.items(), key=lambda item: (-len(item[1].places), item[0]))
        return [found for _, found in by_frequency]

    def with_lost_links(self) -> set[VaultPath]:
        """Return the notes that have links that lead nowhere."""
        return {self._path(number) for number in self._lost}

    def between_notes(self) -> tuple[list[VaultPath], list[tuple[int, int]]]:
        """Return the notes in path order, and the links between them as pairs of places in that list."""
        notes = [number for number in self._order if self._notes[number]]
        places = {number: place for place, number in enumerate(notes)}
        pairs = ((pair >> PAIR_SHIFT, pair & _LOW) for pair in self._out)
        links = [(places[source], places[target]) for source, target in pairs if source in places and target in places]
        return [self._path(number) for number in notes], links

    # ------------------------------------------------------------------ how they are answered

    def _path(self, number: int) -> VaultPath:
        return VaultPath(self._paths[number])

    def _place(self, path: str) -> int:
        """Return the place of a file in path order."""
        return bisect_left(self._order, path, key=self._paths.__getitem__)

    def _find(self, path: str) -> int | None:
        place = self._place(path)
        if place == len(self._order) or self._paths[self._order[place]] != path:
            return None
        return self._order[place]

    def _sorted(self, numbers: Iterable[int]) -> list[int]:
        """Return the files in path order."""
        return sorted(numbers, key=self._paths.__getitem__)

    def _number(self, path: VaultPath) -> int:
        number = self._find(path)
        if number is None:
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{path} takes no part in the graph: the vault's rules exclude it (Obsidian's \"Excluded files\"). "
                "list_links shows its own links.",
                path=path,
            )
        return number

    def _levels(self, start: int, direction: Direction, progress: Progress) -> Iterator[dict[int, int]]:
        """Yield the files one link away, two links away and so on, each with the file it was first reached from."""
        seen = bytearray(len(self._paths))
        seen[start] = 1
        level = {start: start}
        followed = 0
        while True:
            following: dict[int, int] = {}
            for number in self._sorted(level):
                followed += 1
                if followed % _CHECK_EVERY == 0:
                    progress.check()
                if not self._notes[number]:
                    continue
                for other in self._linked_with(number, direction):
                    if not seen[other]:
                        seen[other] = 1
                        following[other] = number
            if not following:
                return
            yield following
            level = following

    def _linked_with(self, number: int, direction: Direction) -> Iterator[int]:
        if direction != "in":
            yield from _partners(self._out, number)
        if direction != "out":
            yield from _partners(self._into, number)

    def _neighbour(self, distance: int, number: int, via: int) -> Neighbour:
        out, into = _has(self._out, via, number), _has(self._into, via, number)
        direction: Direction = "both" if out and into else "out" if out else "in"
        return Neighbour(self._path(number), distance, self._path(via), direction)

    def _notes_without(self, pairs: array[int]) -> list[VaultPath]:
        with_some = set(_firsts(pairs))
        return [self._path(number) for number in self._order if self._notes[number] and number not in with_some]


def _firsts(pairs: array[int]) -> memoryview:
    """Return the first number of each pair: looked at as halves of 64 bits, in a tenth of the time of shifting each."""
    halves = memoryview(pairs or array("Q", [0])).cast("B").cast("I")
    return halves[1 if sys.byteorder == "little" else 0 :: 2] if pairs else halves[:0]


def _reversed(pair: int) -> int:
    return (pair & _LOW) << PAIR_SHIFT | pair >> PAIR_SHIFT


def _pairs_of(pairs: array[int], number: int) -> array[int]:
    return pairs[bisect_left(pairs, number << PAIR_SHIFT) : bisect_left(pairs, (number + 1) << PAIR_SHIFT)]


def _spliced(pairs: array[int], removed: set[int], added: set[int]) -> array[int]:
    """Return sorted pairs without some of them, and with others."""
    spliced = array("Q")
    before = 0
    for pair in sorted(removed ^ added):
        place = bisect_left(pairs, pair, before)
        spliced += pairs[before:place]
        before = place
        if pair in added:
            spliced.append(pair)
        else:
            before += 1
    return spliced + pairs[before:]


def _partners(pairs: array[int], number: int) -> Iterator[int]:
    for pair in _pairs_of(pairs, number):
        yield pair & _LOW


def _has(pairs: array[int], first: int, second: int) -> bool:
    pair = first << PAIR_SHIFT | second
    place = bisect_left(pairs, pair)
    return place < len(pairs) and pairs[place] == pair


# Builds the ``LinkGraph`` of a catalog: resolves every link at once, by the rules of ``links.link_resolver``.
#
# Most links with the same text lead to the same file from any note: these are resolved once.

# The links of so many notes are fetched at a time: 20 ms of work between two checks whether to stop, and little memory.
_BATCH = 1000
# To follow so many links one by one takes as long as to build the whole graph of 10,000 notes.
_MOST_FOLLOWED = 20_000
_EXCLUDED, _NOWHERE = -1, -2


def build_graph(catalog: Catalog, progress: Progress) -> LinkGraph:
    """Return the graph of all links, those in frontmatter included.

    Excluded notes are not in it: their links do not count, and links to them are left out, but not as broken links.
    """
    numbers: dict[VaultPath, int] = {}
    sources: dict[int, int] = {}  # a note's id and its number in the graph
    visible: list[VaultPath] = []
    notes = bytearray()
    for note_id, path, as_note, is_excluded in catalog.rows(
        "SELECT id, path, is_note, is_excluded FROM files ORDER BY path"
    ):
        numbers[path] = _EXCLUDED if is_excluded else len(visible)
        if is_excluded:
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
            path_led_to = resolver.resolve(visible[source], linkpath)
            target = _NOWHERE if path_led_to is None else numbers[path_led_to]
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


def latest_graph(catalog: Catalog, latest: tuple[int, LinkGraph] | None, progress: Progress) -> tuple[int, LinkGraph]:
    """Return the graph of the catalog as it is now, with the catalog's count of changes; ``latest`` if nothing has changed."""
    changes = catalog.changes()  # read first: the next call sees a change that comes in between
    if latest is not None and latest[0] == changes:
        return latest
    changed = None if latest is None else catalog.changed_since(latest[0])
    graph = None if latest is None or changed is None else _changed_graph(catalog, latest[1], changed, progress)
    return changes, graph or build_graph(catalog, progress)


def _changed_graph(
    catalog: Catalog, graph: LinkGraph, changed: dict[str, bool], progress: Progress
) -> LinkGraph | None:
    """Return the graph after some files have changed; None if it is quicker to build it."""
    paths = json.dumps([*changed])
    now: dict[str, bool] = {
        path: bool(as_note)
        for path, as_note in catalog.rows(
            f"SELECT path, is_note FROM files WHERE NOT is_excluded AND path {IN_LIST}", (paths,)
        )
    }
    # Links of these names may lead elsewhere now.
    names = {name for path, is_listed in changed.items() if is_listed for name in link_names_to(VaultPath(path))}
    rows = catalog.rows(
        "SELECT path, line, linktext FROM files JOIN links ON note = id WHERE is_note AND NOT is_excluded AND (path"
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
        leads_to, lost = links.setdefault(source, ([], []))
        linkpath = linkpath_of(linktext)
        target = resolver.resolve(source, linkpath)
        if target is None:
            lost.append((line, linkpath.strip()))
        elif target in came or (target in graph and target not in gone):  # else it is excluded
            leads_to.append(target)
    for _, lost in links.values():
        lost.sort()
    changed_graph = copy(graph)
    changed_graph.change(gone, came, links)
    return changed_graph
