"""The rows of a result, whose cells are made when they are first asked for: most callers read one page of many."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import overload

from vaultwire.bases.base import View, normal_id
from vaultwire.bases.values import size_of
from vaultwire.vault.base_queries.results import Column, ResultRow, ResultRows
from vaultwire.vault.base_queries.running import Outcome, ViewQuery, cells_of
from vaultwire.vault.value_types import Progress, VaultPath

# Rows kept once they were made: a few pages of usual columns.
_MOST_KEPT_BYTES = 1_000_000


class LazyRows(ResultRows):
    """Safe to use from several threads: one makes rows at a time."""

    def __init__(self, query: ViewQuery, outcome: Outcome) -> None:
        self._query = query
        self._files = outcome.files
        self._places = outcome.places
        self._cells = cells_of(query.columns)
        self._image = cells_of(_image_of(query.view))
        self._made: dict[int, tuple[ResultRow, int]] = {}
        self._kept = 0
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, place: int) -> ResultRow: ...

    @overload
    def __getitem__(self, place: slice) -> list[ResultRow]: ...

    def __getitem__(self, place: int | slice) -> ResultRow | list[ResultRow]:
        wanted = range(len(self._files))[place]
        with self._lock:
            return self._row(wanted)[0] if isinstance(wanted, int) else [self._row(each)[0] for each in wanted]

    def paths(self) -> list[VaultPath]:
        """See ``ResultRows``."""
        return [file.path for file in self._files]

    def page(self, numbers: Iterable[int], most_bytes: int, progress: Progress) -> list[ResultRow]:
        """See ``ResultRows``. The formulas of one row may take half a second: the caller may stop between two."""
        rows: list[ResultRow] = []
        for number in numbers:
            progress.check()
            with self._lock:
                row, size = self._row(number)
            most_bytes -= size
            if most_bytes < 0 and rows:
                break
            rows.append(row)
        return rows

    def release(self) -> None:
        """See ``ResultRows``. While rows are made, nothing is given back."""
        if self._lock.acquire(blocking=False):
            try:
                self._made.clear()
                self._kept = 0
                self._query.host.release()
            finally:
                self._lock.release()

    def _row(self, place: int) -> tuple[ResultRow, int]:
        """Return a row, and the bytes that it takes."""
        known = self._made.get(place)
        if known is not None:
            return known
        path = self._files[place].path
        row = self._query.row(path)
        group = self._places[place] if self._places else -1
        found = ResultRow(path, self._cells(row), group, next(iter(self._image(row)), None))
        size = sum(map(size_of, (*found.cells, found.image)))
        self._kept += size
        if self._kept > _MOST_KEPT_BYTES:
            self._made.clear()
            self._kept = size
        if size <= _MOST_KEPT_BYTES:
            self._made[place] = found, size
        return found, size


def _image_of(view: View) -> list[Column]:
    """Return the property whose value is the picture of a card; none for most views."""
    written = view.settings.get("image")
    return [Column(normal_id(written), written)] if isinstance(written, str) and written.strip() else []
