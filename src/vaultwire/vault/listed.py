"""The results of one question, page by page. What is kept of a result is small; what is shown of it is read with its page."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from vaultwire.vault.value_types import NO_PROGRESS, Progress

Item = TypeVar("Item")
First = TypeVar("First")

# The size of a long list is estimated from so many of its items.
_SAMPLE = 200


class Keys(Protocol):
    """What names each result, in their order: a list, an array, a range, ``Pairs``."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Sequence[Any]: ...


class Listed(Generic[Item]):
    """The results of one question at one moment, in their order.

    A file that is gone when its page is read is left out of the page, and a file that has changed is shown as it is then.
    """

    __slots__ = ("_keys", "_read", "facts", "size")

    def __init__(
        self,
        keys: Keys,
        read: Callable[[Sequence[Any], Progress], list[Item]],
        facts: Any = None,
        *,
        size: int = 0,
    ) -> None:
        """``read`` returns what is shown of a part of the keys. ``facts``: what is said of all results together.

        ``size``: bytes of memory that ``read`` keeps.
        """
        self._keys = keys
        self._read = read
        self.facts = facts
        self.size = size + size_of(keys)

    def __len__(self) -> int:
        """Return how many results there are, on all pages together."""
        return len(self._keys)

    def page(self, offset: int, limit: int, progress: Progress = NO_PROGRESS) -> list[Item]:
        """Return ``limit`` results after the first ``offset``."""
        part = self._keys[offset : offset + limit]
        return self._read(part, progress) if part else []

    def all(self, progress: Progress = NO_PROGRESS) -> list[Item]:
        """Return all results."""
        return self.page(0, len(self), progress)


def listed(items: Sequence[Item], facts: Any = None) -> Listed[Item]:
    """Return results that are in memory already."""
    return Listed(items, lambda part, _: list(part), facts)


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


class Pairs(Generic[First]):
    """Keys of two parts, such as a note and a line in it, as two lists of the same length: no object for each pair."""

    def __init__(self, firsts: Sequence[First], seconds: array[int]) -> None:
        self._firsts = firsts
        self._seconds = seconds
        self.size = size_of(firsts) + size_of(seconds)

    def __len__(self) -> int:
        return len(self._firsts)

    def __getitem__(self, part: slice) -> list[tuple[First, int]]:
        return list(zip(self._firsts[part], self._seconds[part], strict=True))
