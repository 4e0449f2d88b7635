"""The results of one question, page by page. What is kept of a result is small; what is shown of it is read with its page."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath

Item = TypeVar("Item")

BETWEEN_PATHS = "//"
"""Stands between joined paths: no path in a vault holds it."""
# The size of a long list is estimated from so many of its items.
_SAMPLE = 200


class Keys(Protocol):
    """What names each result, in their order."""

    size: int
    """Bytes in memory."""

    def __len__(self) -> int:
        """Return how many there are."""

    def part(self, start: int, stop: int) -> Sequence[Any]:
        """Return those from number ``start`` on, without number ``stop``."""


class Listed(Generic[Item]):
    """The results of one question at one moment, in their order.

    A file that is gone when its page is read is left out of the page, and a file that has changed is shown as it is then.
    """

    __slots__ = ("_keys", "_read", "facts", "size")

    def __init__(self, keys: Keys, read: Callable[[Sequence[Any], Progress], list[Item]], facts: Any = None) -> None:
        """``read`` returns what is shown of a part of the keys. ``facts``: what is said of all results together."""
        self._keys = keys
        self._read = read
        self.facts = facts
        self.size = keys.size

    def __len__(self) -> int:
        """Return how many results there are, on all pages together."""
        return len(self._keys)

    def page(self, offset: int, limit: int, progress: Progress = NO_PROGRESS) -> list[Item]:
        """Return ``limit`` results after the first ``offset``."""
        part = self._keys.part(offset, offset + limit)
        return self._read(part, progress) if part else []

    def all(self, progress: Progress = NO_PROGRESS) -> list[Item]:
        """Return all results."""
        return self.page(0, len(self), progress)


def listed(items: Sequence[Item], facts: Any = None) -> Listed[Item]:
    """Return results that are in memory already."""
    return Listed(ItemKeys(items), lambda part, _: list(part), facts)


class ItemKeys:
    """Any items in memory."""

    __slots__ = ("_items", "size")

    def __init__(self, items: Sequence[Any]) -> None:
        self._items = items
        self.size = size_of(items)

    def __len__(self) -> int:
        """See ``Keys``."""
        return len(self._items)

    def part(self, start: int, stop: int) -> Sequence[Any]:
        """See ``Keys``."""
        return self._items[start:stop]


def size_of(answer: object) -> int:
    """Return about how many bytes an answer takes in memory: those of its parts, of a long list by a sample of them."""
    size: int = getattr(answer, "size", 0)
    if size:
        return size
    if isinstance(answer, (tuple, list)):
        sample = answer[:: len(answer) // _SAMPLE + 1]
        inner = sum(map(size_of, sample)) * len(answer) // len(sample) if sample else 0
        return sys.getsizeof(answer) + inner
    return sys.getsizeof(answer)


class PathKeys:
    """Paths, kept as one text: 100,000 take 4 MB, and less time than a list of them."""

    __slots__ = ("_count", "_joined", "size")

    def __init__(self, joined: str | None) -> None:
        """``joined``: the paths with ``BETWEEN_PATHS`` between them; None or empty for none."""
        self._joined = joined or ""
        self._count = self._joined.count(BETWEEN_PATHS) + 1 if joined else 0
        self.size = sys.getsizeof(self._joined)

    def __len__(self) -> int:
        """See ``Keys``."""
        return self._count

    def part(self, start: int, stop: int) -> list[VaultPath]:
        """See ``Keys``."""
        if start >= self._count:
            return []
        # Up to the end of the part only: the first page of a long list is the one that most callers read.
        return [VaultPath(path) for path in self._joined.split(BETWEEN_PATHS, min(stop, self._count))[start:stop]]


class IdKeys:
    """Numbers that the index has given to files, kept as one text. No number is given twice."""

    __slots__ = ("_count", "_joined", "size")

    def __init__(self, joined: str | None) -> None:
        """``joined``: the numbers with commas; None or empty for none."""
        self._joined = joined or ""
        self._count = self._joined.count(",") + 1 if joined else 0
        self.size = sys.getsizeof(self._joined)

    def __len__(self) -> int:
        """See ``Keys``."""
        return self._count

    def part(self, start: int, stop: int) -> list[int]:
        """See ``Keys``."""
        if start >= self._count:
            return []
        return [int(number) for number in self._joined.split(",", min(stop, self._count))[start:stop]]


class PairedKeys:
    """Keys, each with a number that tells more of the result."""

    __slots__ = ("_keys", "_numbers", "size")

    def __init__(self, keys: Keys, numbers: array[int]) -> None:
        self._keys = keys
        self._numbers = numbers
        self.size = keys.size + sys.getsizeof(numbers)

    def __len__(self) -> int:
        """See ``Keys``."""
        return len(self._keys)

    def part(self, start: int, stop: int) -> list[tuple[Any, int]]:
        """See ``Keys``."""
        return list(zip(self._keys.part(start, stop), self._numbers[start:stop], strict=True))


class LineKeys:
    """Places in notes: the numbers of the notes (see ``IdKeys``) and lines, kept as one text."""

    __slots__ = ("_count", "_joined", "size")

    def __init__(self, joined: str | None) -> None:
        """``joined``: each note's number, a colon and its lines with commas; a semicolon between two notes."""
        self._joined = joined or ""
        self._count = self._joined.count(",") + self._joined.count(";") + 1 if joined else 0
        self.size = sys.getsizeof(self._joined)

    def __len__(self) -> int:
        """See ``Keys``."""
        return self._count

    def part(self, start: int, stop: int) -> list[tuple[int, int]]:
        """See ``Keys``."""
        places: list[tuple[int, int]] = []
        before = 0  # places in the notes before this one
        # A page needs at most as many notes as places: the rest of the text is not split.
        for note in self._joined.split(";", max(stop, 0) if stop < self._count else -1):
            if before >= stop:
                break
            note_id, _, lines = note.partition(":")
            here = lines.count(",") + 1
            if lines and before + here > start:
                numbers = sorted(map(int, lines.split(",")))[max(start - before, 0) : stop - before]
                places += [(int(note_id), line) for line in numbers]
            before += here
        return places
