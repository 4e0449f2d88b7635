"""Answers that are true until the catalog changes: the last few of them are remembered, and lists are read by pages."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeVar

from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.listed import Keys, Listed, size_of
from vaultwire.vault.value_types import Progress

_Answer = TypeVar("_Answer")

# A model asks a few questions again and again. All that is remembered takes so much memory at most, except the latest answer.
_MOST_BYTES = 16_000_000
_MOST = 64


class Remembered:
    """What one index remembers of its catalog. Safe to use from several threads: two may make the same answer at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # With the catalog that each is of: a call in which the index is rebuilt goes on with another one. The least recently
        # used first.
        self._answers: dict[Hashable, tuple[Catalog, tuple[int, int], Any, int]] = {}

    def get(self, question: Hashable, catalog: Catalog, make: Callable[[], _Answer]) -> _Answer:
        """Return what ``make`` gives, made again only after the catalog has changed."""
        version = catalog.version()  # read first: the next call sees a change that comes in between
        with self._lock:
            known = self._answers.pop(question, None)
            if known is not None and known[0] is catalog and known[1] == version:
                self._answers[question] = known
                answer: _Answer = known[2]
                return answer
        answer = make()
        with self._lock:
            self._answers[question] = (catalog, version, answer, size_of(answer))
            size = sum(each[3] for each in self._answers.values())
            for oldest in list(self._answers)[:-1]:
                if size <= _MOST_BYTES and len(self._answers) <= _MOST:
                    break
                size -= self._answers.pop(oldest)[3]
        return answer


class Ask(Protocol):
    """Brings an index up to date, and asks its catalog a question (``StoredIndex``)."""

    def __call__(self, question: Callable[[Catalog], _Answer], progress: Progress, *, text: bool = False) -> _Answer:
        """Return the answer. ``text``: it needs the text index, too."""


class Answers:
    """The answers of one index that are worth remembering."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._remembered = Remembered()

    def asked_by(self, ask: Ask) -> Answers:
        """Return the same answers, asked in another way."""
        others = Answers(ask)
        others._remembered = self._remembered
        return others

    def remember(
        self, name: str, query: Callable[..., _Answer], arguments: tuple[Any, ...], progress: Progress
    ) -> _Answer:
        """Return the answer of a query. ``name`` tells its question from those of other queries."""
        return self._ask(
            lambda catalog: self._remembered.get((name, *arguments), catalog, lambda: query(catalog, *arguments)),
            progress,
        )

    def listed(
        self,
        question: tuple[Hashable, ...],
        find: Callable[[Catalog], Keys],
        read: Callable[[Catalog, Sequence[Any]], list[_Answer]],
        progress: Progress,
    ) -> Listed[_Answer]:
        """Return the results that ``find`` names. ``read`` reads a page of them."""
        keys = self._ask(lambda catalog: self._remembered.get(question, catalog, lambda: find(catalog)), progress)
        return Listed(keys, lambda part, reader: self._ask(lambda catalog: read(catalog, part), reader))
