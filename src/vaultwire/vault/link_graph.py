"""The graph of all links between the notes and attachments of a vault, and the questions about it.

Pure and small: a file is its number in path order, a link is two of them. The index fills the graph
(``store.link_graph_builder``), ``vault.links.link_resolver`` says where a link leads; the links of one note are in
``vault.links.note_links``.
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
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


class Hub(NamedTuple):
    """A note and how many notes link to it."""

    path: VaultPath
    notes: int


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
        self._paths = paths
        self._notes = notes
        pairs = sorted(set(links))
        self._out = array("Q", [pair for pair in pairs if pair >> PAIR_SHIFT != pair & _LOW])
        self._into = array("Q", sorted([(pair & _LOW) << PAIR_SHIFT | pair >> PAIR_SHIFT for pair in self._out]))
        # By folded name without ``.md``: the name as first written, and note and line of each link, as one number.
        self._unresolved: dict[str, tuple[str, array[int]]] = {}
        for note, line, name in unresolved:
            key = fold(name).removesuffix(NOTE_SUFFIX)
            if key not in self._unresolved:
                self._unresolved[key] = (name, array("Q"))
            self._unresolved[key][1].append(note << PAIR_SHIFT | line)

    # ------------------------------------------------------------------ questions

    def neighbours(
        self, path: VaultPath, depth: int, direction: Direction, offset: int, limit: int, progress: Progress
    ) -> tuple[list[Neighbour], int]:
        """Return a page of the files at most ``depth`` links away, the nearest first, then in path order; and their number.

        Links are not followed beyond an attachment: two notes that show one picture are not near because of it.
        Raises VaultError (INVALID_ARGUMENTS) for a note that is not in the graph.
        """
        found: list[tuple[int, int, int]] = []
        levels = self._levels(self._number(path), direction, progress)
        for distance, level in enumerate(itertools.islice(levels, depth), start=1):
            found += [(distance, number, via) for number, via in sorted(level.items())]
        return [self._neighbour(*each) for each in found[offset : offset + limit]], len(found)

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

    def hubs(self) -> list[Hub]:
        """Return the notes that others link to, the most linked first, ties in path order."""
        counts = [
            (-sum(1 for _ in pairs), number)
            for number, pairs in itertools.groupby(self._into, lambda pair: pair >> PAIR_SHIFT)
            if self._notes[number]
        ]
        return [Hub(self._path(number), -negative) for negative, number in sorted(counts)]

    def unresolved(self) -> list[Unresolved]:
        """Return the names that links ask for and no file has, the most frequent first, ties in the order of the names."""
        by_frequency = sorted(self._unresolved.items(), key=lambda item: (-len(item[1][1]), item[0]))
        return [
            Unresolved(name, [(self._path(place >> PAIR_SHIFT), place & _LOW) for place in places])
            for _, (name, places) in by_frequency
        ]

    # ------------------------------------------------------------------ how they are answered

    def _path(self, number: int) -> VaultPath:
        return VaultPath(self._paths[number])

    def _number(self, path: VaultPath) -> int:
        number = bisect_left(self._paths, path)
        if number == len(self._paths) or self._paths[number] != path:
            raise VaultError(
                INVALID_ARGUMENTS,
                f"{path} takes no part in the graph: the vault's rules exclude it (Obsidian's \"Excluded files\"). "
                "list_links and list_backlinks show its own links.",
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
            for number in sorted(level):
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
        with_some = bytearray(len(self._notes))
        for pair in pairs:
            with_some[pair >> PAIR_SHIFT] = 1
        return [self._path(number) for number, is_note in enumerate(self._notes) if is_note and not with_some[number]]


def _partners(pairs: array[int], number: int) -> Iterator[int]:
    for place in range(bisect_left(pairs, number << PAIR_SHIFT), bisect_left(pairs, (number + 1) << PAIR_SHIFT)):
        yield pairs[place] & _LOW


def _has(pairs: array[int], first: int, second: int) -> bool:
    pair = first << PAIR_SHIFT | second
    place = bisect_left(pairs, pair)
    return place < len(pairs) and pairs[place] == pair
