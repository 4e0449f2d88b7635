"""Results that one caller reads page by page. A cursor names them, so that all pages show one state of the vault.

It keeps the results of the first page's call; it does not make them.
"""

from __future__ import annotations

import secrets
from collections.abc import Hashable
from typing import Any, NamedTuple

from vaultwire.vault.errors import CURSOR_EXPIRED, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.memory_budget import MEMORY_BUDGET

# A model reads a few lists at the same time, and seldom comes back to an old one.
_MOST = 16


class _Kept(NamedTuple):
    question: Hashable
    results: Any
    size: int
    lost: int


def expired() -> VaultError:
    """Return the error for a cursor whose results are not kept any more."""
    message = "cursor: its results are not kept any more. Ask for the first page again, without a cursor."
    return VaultError(CURSOR_EXPIRED, message, argument="cursor")


class PagedResults:
    """The results behind one caller's cursors. Safe to use from several threads.

    The oldest are dropped when there are many, and all of them when all clients together use too much memory.
    """

    __slots__ = ("__weakref__", "_kept")

    def __init__(self) -> None:
        self._kept: dict[str, _Kept] = {}  # the least recently used first

    def keep(self, question: Hashable, results: Any, size: int, lost: int = 0) -> str:
        """Keep the results of a question, about ``size`` bytes; return the key that the cursor names them by.

        ``lost``: see ``get``.
        """
        key = secrets.token_hex(4)
        with MEMORY_BUDGET.lock:
            self._kept[key] = _Kept(question, results, size, lost)
            while len(self._kept) > _MOST:
                del self._kept[next(iter(self._kept))]
            self._record()
        return key

    def get(self, key: str, question: Hashable, lost: int = 0) -> Any:
        """Return the results. Raises VaultError: CURSOR_EXPIRED, INVALID_ARGUMENTS for a cursor of another question.

        ``lost``: a count of files that may not be seen any more. Results kept with another count have expired: they may tell
        of such a file.
        """
        with MEMORY_BUDGET.lock:
            kept = self._kept.pop(key, None)
            if kept is None or kept.lost != lost:
                self._record()
                raise expired()
            self._kept[key] = kept
            self._record()
        if kept.question != question:
            message = "cursor: it belongs to a call with other arguments. Repeat these, or leave the cursor out."
            raise VaultError(INVALID_ARGUMENTS, message, argument="cursor")
        return kept.results

    def _record(self) -> None:
        MEMORY_BUDGET.record(self, sum(kept.size for kept in self._kept.values()))

    def evict(self) -> int:
        """Drop everything. See ``MemoryHolder``."""
        self._kept = {}
        return 0
