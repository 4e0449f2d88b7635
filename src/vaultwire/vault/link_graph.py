"""How all notes and attachments of a vault are linked, in numbers: who links to whom, and what is asked of that.

Pure and small: files are numbers in path order, a link is one of them beside the other. Who fills it in, and where a link
leads, is said in ``vault.index.store.link_graph_builder`` and ``vault.links.resolution``.
"""

from __future__ import annotations

import itertools
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.model import Progress, VaultPath

Direction: TypeAlias = Literal["both", "out", "in"]
"""Which links are followed: those of a note, those to it, or either."""

PAIR_SHIFT = 32
"""A link is one number, ``from << PAIR_SHIFT | to``: sorting and searching links is sorting and searching numbers."""

_LOW = (1 << PAIR_SHIFT) - 1
# Files between two looks whether to go on: 5 ms of work.
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
    """A name that links ask for and no file has, as first written, and where: notes and lines, in path and line order."""

    name: str
    places: list[tuple[VaultPath, int]]


class Texts:
    """Many short texts, kept as one: a fifth of what a list of them takes."""

    def __init__(self, texts: Iterable[str]) -> None:
        encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
        self._all = b"".join(encoded)
        self._ends = array("I", itertools.accumulate(map(len, encoded)))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < len(self._ends):
            raise IndexError(number)
        start = self._ends[number - 1] if number else 0
        return self._all[start : self._ends[number]].decode("utf-8", "surrogatepass")


class LinkGraph:
    """The links between the files that take part: notes and attachments that the vault's rules do not exclude.

    A note's links to one file count as one; links to itself do not count. Attachments are linked to and link to nothing.
    """

    def __init__(
        self,
        paths: Texts,
        notes: bytes,
        links: Iterable[int],
        unresolved: Iterable[tuple[int, int, str]],
    ) -> None:
        """Every file that takes part, in path order, and whether each is a note (1); links, see PAIR_SHIFT.

        ``unresolved``: of each link that leads nowhere its note, line and linkpath, in path and line order.
        """
        self._paths = paths
        self._notes = notes
        pairs = sorted(set(links))
        self._out = array("Q", [pair for pair in pairs if pair >> PAIR_SHIFT != pair & _LOW])
        self._into = array("Q", sorted([(pair & _LOW) << PAIR_SHIFT | pair >> PAIR_SHIFT for pair in self._out]))
        self._lost = _Lost(unresolved)

    # ------------------------------------------------------------------ questions

    def neighbours(
        self, path: VaultPath, depth: int, direction: Direction, offset: int, limit: int, progress: Progress
    ) -> tuple[list[Neighbour], int]:
        """Return a page of the files at most ``depth`` links away, the nearest first, then in path order; and their number.

        What lies behind an attachment is not looked for: two notes that show one picture are not near for that.
        Raises VaultError (INVALID_ARGUMENTS) for a note that takes no part.
        """
        found: list[tuple[int, int, int]] = []
        levels = self._levels(self._number(path), direction, progress)
        for distance, level in enumerate(itertools.islice(levels, depth), start=1):
            found += [(distance, number, via) for number, via in sorted(level.items())]
        return [self._neighbour(*each) for each in found[offset : offset + limit]], len(found)

    def path_between(
        self, start: VaultPath, end: VaultPath, direction: Direction, progress: Progress
    ) -> list[Neighbour] | None:
        """Return a shortest way over links from one note to another, without the first; None if there is none.

        Of several as short, always the same. Raises VaultError as ``neighbours`` does.
        """
        first, wanted = self._number(start), self._number(end)
        if first == wanted:
            return []
        reached: dict[int, int] = {}
        for level in self._levels(first, direction, progress):
            reached |= level
            if wanted in level:
                break
        if wanted not in reached:
            return None
        way = [wanted]
        while way[-1] != first:
            way.append(reached[way[-1]])
        way.reverse()
        steps = enumerate(itertools.pairwise(way), start=1)
        return [self._neighbour(distance, number, via) for distance, (via, number) in steps]

    def orphans(self) -> list[VaultPath]:
        """Return the notes that no other note links to, in path order."""
        return self._without(self._into)

    def dead_ends(self) -> list[VaultPath]:
        """Return the notes that link to no other note or attachment, in path order."""
        return self._without(self._out)

    def hubs(self) -> list[Hub]:
        """Return the notes that others link to, the most linked first, equals in path order."""
        counts = [
            (-sum(1 for _ in pairs), number)
            for number, pairs in itertools.groupby(self._into, lambda pair: pair >> PAIR_SHIFT)
            if self._notes[number]
        ]
        return [Hub(self._path(number), -negative) for negative, number in sorted(counts)]

    def unresolved(self) -> list[Unresolved]:
        """Return what links ask for in vain, the most wanted first, equals in the order of their names."""
        return [
            Unresolved(name, [(self._path(number), line) for number, line in places])
            for name, places in self._lost.groups()
        ]

    # ------------------------------------------------------------------ steps

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
        """Yield what is one link away, two links away and so on, each file with the one it was first reached from."""
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
                for other in self._next(number, direction):
                    if not seen[other]:
                        seen[other] = 1
                        following[other] = number
            if not following:
                return
            yield following
            level = following

    def _next(self, number: int, direction: Direction) -> Iterator[int]:
        if direction != "in":
            yield from _partners(self._out, number)
        if direction != "out":
            yield from _partners(self._into, number)

    def _neighbour(self, distance: int, number: int, via: int) -> Neighbour:
        out, into = _has(self._out, via, number), _has(self._into, via, number)
        direction: Direction = "both" if out and into else "out" if out else "in"
        return Neighbour(self._path(number), distance, self._path(via), direction)

    def _without(self, pairs: array[int]) -> list[VaultPath]:
        with_some = bytearray(len(self._notes))
        for pair in pairs:
            with_some[pair >> PAIR_SHIFT] = 1
        return [self._path(number) for number, is_note in enumerate(self._notes) if is_note and not with_some[number]]


class _Lost:
    """The links that lead nowhere: of each its note, its line and the number of its name."""

    def __init__(self, links: Iterable[tuple[int, int, str]]) -> None:
        self._notes, self._lines, self._asked = array("I"), array("I"), array("I")
        numbers: dict[str, int] = {}
        for note, line, name in links:
            self._notes.append(note)
            self._lines.append(line)
            self._asked.append(numbers.setdefault(name, len(numbers)))
        self._names = Texts(numbers)

    def groups(self) -> list[tuple[str, list[tuple[int, int]]]]:
        """Return each name as first written, whatever its case, ``.md`` or none, and its places; the most frequent first."""
        places: dict[str, list[tuple[int, int]]] = {}
        spelt: dict[str, str] = {}
        keys = [fold(self._names[number]).removesuffix(NOTE_SUFFIX) for number in range(len(self._names))]
        for note, line, number in zip(self._notes, self._lines, self._asked, strict=True):
            key = keys[number]
            if key not in spelt:
                spelt[key] = self._names[number]
            places.setdefault(key, []).append((note, line))
        return [(spelt[key], places[key]) for key in sorted(places, key=lambda key: (-len(places[key]), key))]


def _partners(pairs: array[int], number: int) -> Iterator[int]:
    for place in range(bisect_left(pairs, number << PAIR_SHIFT), bisect_left(pairs, (number + 1) << PAIR_SHIFT)):
        yield pairs[place] & _LOW


def _has(pairs: array[int], first: int, second: int) -> bool:
    pair = first << PAIR_SHIFT | second
    place = bisect_left(pairs, pair)
    return place < len(pairs) and pairs[place] == pair
