"""The rows of a result, whose cells are made when they are first asked for: most callers read one page of many."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import overload

from vaultwire.bases.base import View
from vaultwire.bases.ids import normal_id
from vaultwire.vault.base_queries.results import Column, ResultRow
from vaultwire.vault.base_queries.running import Outcome, ViewQuery, cells_of
from vaultwire.vault.value_types import VaultPath

# Rows kept once they were made: 2 MB for usual columns.
_MOST_KEPT = 5000


class LazyRows(Sequence[ResultRow]):
    """Safe to use from several threads: one makes rows at a time."""

    def __init__(self, query: ViewQuery, outcome: Outcome) -> None:
        self._query = query
        self._files = outcome.files
        self._places = outcome.places
        self._cells = cells_of(query.columns)
        self._image = cells_of(_image_of(query.view))
        self._made: dict[int, ResultRow] = {}
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
            return self._row(wanted) if isinstance(wanted, int) else [self._row(each) for each in wanted]

    def paths(self) -> list[VaultPath]:
        """Return the paths of all rows, without making their cells."""
        return [file.path for file in self._files]

    def _row(self, place: int) -> ResultRow:
        known = self._made.get(place)
        if known is not None:
            return known
        if len(self._made) >= _MOST_KEPT:
            self._made.clear()
        path = self._files[place].path
        row = self._query.row(path)
        group = self._places[place] if self._places else -1
        made = self._made[place] = ResultRow(path, self._cells(row), group, next(iter(self._image(row)), None))
        return made


def _image_of(view: View) -> list[Column]:
    """Return the property whose value is the picture of a card; none for most views."""
    written = view.settings.get("image")
    return [Column(normal_id(written), written)] if isinstance(written, str) and written.strip() else []
