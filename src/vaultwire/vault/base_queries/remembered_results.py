"""The last few results of bases, true until anything in the vault changes.

They belong to one index, so to what one run may see.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.vault.base_queries.results import BaseResult

# A result in memory is its list of files, and the values that its sort, its filters and the cells shown so far have needed.
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

    def keep(self, question: Hashable, version: Hashable, result: BaseResult, files: int) -> None:
        """Keep a result that was made while the vault had this version. ``files``: how many it holds in memory."""
        size = files * _BYTES_PER_FILE
        with self._lock:
            if version != self._version:
                self._results.clear()
                self._version = version
            if size > _MOST_BYTES:
                return
            self._results[question] = (result, size)
            total = sum(each for _, each in self._results.values())
            for oldest in list(self._results)[:-1]:
                if total <= _MOST_BYTES and len(self._results) <= _MOST:
                    break
                total -= self._results.pop(oldest)[1]
