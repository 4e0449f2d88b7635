"""The last few results of bases, true until anything in the vault changes.

They belong to one index, so to what one run may see.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.base_queries.results import BaseResult

# A result in memory is its list of files, its groups and summaries, and a megabyte of rows at most.
_BYTES_PER_FILE = 600
_MOST_BYTES = 12_000_000
_MOST = 16


class RememberedResults:
    """Results by what they were asked with. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._version: Hashable = None
        self._results: dict[Hashable, tuple[BaseResult, int]] = {}  # the least recently used first

    def get(self, question: Hashable, version: Hashable) -> BaseResult | None:
        """Return the result of a question, if nothing has changed since."""
        with self._lock:
            if version != self._version:
                self._results.clear()
                return None
            known = self._results.pop(question, None)
            if known is None:
                return None
            self._results[question] = known
            return known[0]

    def keep(self, question: Hashable, version: Hashable, result: BaseResult) -> None:
        """Keep a result that was made while the vault had this version. Those before it give back what they can read again."""
        size = len(result.rows) * _BYTES_PER_FILE + result.kept_bytes
        with self._lock:
            if version != self._version:
                self._results.clear()
                self._version = version
            for other, _ in self._results.values():
                other.rows.release()
            if size > _MOST_BYTES:
                return
            self._results[question] = (result, size)
            total = sum(each for _, each in self._results.values())
            for oldest in list(self._results)[:-1]:
                if total <= _MOST_BYTES and len(self._results) <= _MOST:
                    break
                total -= self._results.pop(oldest)[1]
