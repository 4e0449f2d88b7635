"""The bases of a vault for a page: their views, the rows of one, why a note is in it, as plain dicts. It changes nothing.

All that is shown comes from the engine's own answers, so what it hides is in no row, count or picture.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vaultwire.bases.base import View
from vaultwire.bases.comparing import is_empty, is_last, key_bytes, shown_text, sort_key, target
from vaultwire.bases.row import Host
from vaultwire.bases.values import ErrorValue, File, Image, Link, Memory, TagList, TooMuchMemoryError, Value
from vaultwire.review.rendering import base_address, file_address, is_allowed_address
from vaultwire.vault.base_queries.running import BaseResult, BaseSource, ResultRow
from vaultwire.vault.disk.paths import kind_of
from vaultwire.vault.errors import INVALID_ARGUMENTS, TIMEOUT, TOO_LARGE, VaultError
from vaultwire.vault.value_types import Deadline, VaultPath
from vaultwire.vault.vault import Vault

# ---------------------------------------------------------------------- cells
#
# A part has a ``kind``: ``text``, ``number``, ``tag``, ``check`` (``checked``), ``link`` (``href``, None if it leads nowhere),
# ``image`` (``path`` of a picture in the vault), ``list`` (``items``, and how many ``more`` there are) or ``error``.

MOST_TEXT = 2_000
"""Characters of a cell that are shown."""
_MOST_ITEMS = 100
_MOST_DEEP = 3
_OUTSIDE = ("http://", "https://")


class BaseCells:
    """Makes parts of the values in one result."""

    def __init__(self, vault: str, host: Host) -> None:
        """``vault``: its name, for addresses. ``host`` tells where links lead."""
        self._vault = vault
        self._host = host

    def part(self, value: Value, depth: int = 0) -> dict[str, Any] | None:
        """Return a value as a part; None for an empty one."""
        if is_empty(value):
            return None
        if isinstance(value, bool):
            return {"kind": "check", "checked": value, "text": shown_text(value)}
        if isinstance(value, (int, float)):
            return {"kind": "number", "text": shown_text(value)}
        if isinstance(value, ErrorValue):
            return {"kind": "error", "text": value.message[:MOST_TEXT]}
        if isinstance(value, (Link, File)):
            return self._link(value)
        if isinstance(value, Image):
            return self.picture(value) or self._named(value.of)
        if isinstance(value, Sequence) and not isinstance(value, str) and depth < _MOST_DEEP:
            return self._list(value, depth)
        text = shown_text(value)
        return _outside(text, text) or _text(text)

    def picture(self, value: Value, source: str = "") -> dict[str, Any] | None:
        """Return the picture in the vault that a value names; None if it names none. ``source``: the file that names it."""
        if isinstance(value, Image):
            return self.picture(value.of, source)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return self.picture(value[0], source) if value and not isinstance(value[0], list) else None
        if isinstance(value, str):
            path = self._host.resolve(value, source) if 0 < len(value) <= MOST_TEXT and "://" not in value else None
        else:
            path = target(value, self._host) if isinstance(value, (Link, File)) else None
        if path is None or kind_of(path) != "image":
            return None
        return {"kind": "image", "path": path, "text": path.rpartition("/")[2]}

    def to_file(self, path: str, text: str, view: str = "") -> dict[str, Any]:
        """Return a link to a file of the vault."""
        return {"kind": "link", "text": text[:MOST_TEXT], "href": file_address(self._vault, path, view), "path": path}

    def _named(self, value: str | Link | File) -> dict[str, Any]:
        if not isinstance(value, str):
            return self._link(value)
        return _outside(value, value) or _text(value)

    def _link(self, value: Link | File) -> dict[str, Any]:
        text = shown_text(value)
        path = target(value, self._host)
        if path is not None:
            return self.to_file(path, text, value.linktext.partition("#")[2] if isinstance(value, Link) else "")
        outside = _outside(value.linktext, text) if isinstance(value, Link) else None
        return outside or {"kind": "link", "text": text[:MOST_TEXT], "href": None, "path": None}

    def _list(self, values: Sequence[Value], depth: int) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        left = MOST_TEXT
        for value in values[:_MOST_ITEMS]:
            part = {"kind": "tag", "text": f"#{value}"} if isinstance(values, TagList) else self.part(value, depth + 1)
            part = part or _text("")
            left -= size_of(part)
            if left < 0 and items:
                break
            items.append(part)
        return {"kind": "list", "items": items, "more": len(values) - len(items)}


def size_of(part: dict[str, Any] | None) -> int:
    """Return about how many characters a part has as JSON."""
    if part is None:
        return 4
    if part["kind"] == "list":
        return 40 + sum(map(size_of, part["items"]))
    return 60 + len(part["text"]) + len(part.get("href") or "") + len(part.get("path") or "")


def _text(text: str) -> dict[str, Any]:
    return {"kind": "text", "text": text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"}


def _outside(address: str, text: str) -> dict[str, Any] | None:
    if not address.startswith(_OUTSIDE) or not is_allowed_address(address):
        return None
    return {"kind": "link", "text": text[:MOST_TEXT], "href": address, "path": None}


MOST_ROWS = 500
"""Rows in one answer."""
MOST_BASES = 200
"""Bases in the list of them."""
MOST_COLUMNS = 100
"""Columns that are shown."""
_MOST_VIEWS = 500
_MOST_TYPED = 1_000
_MOST_WHY = 500
# Characters of an answer, roughly: rows with long texts come on more pages.
_MOST_ANSWER = 2_000_000
_MOST_PICTURE_BYTES = 50_000_000
# Nobody waits longer for a page. It has no other way to end an answer, and each answer has a thread.
_MOST_SECONDS = 20.0
# Columns that name the file of a row: their cells lead to it.
_NAMING = frozenset(("file.file", "file.name", "file.basename", "file.path", "file.fullname"))
_LAYOUTS = {"cards": "cards", "list": "list", "kanban": "board"}


class Asked(NamedTuple):
    """Which view: ``path`` of a base, or of a note with the ``block`` of that number; ``this``: the note it is shown in."""

    path: str
    block: int = 0
    view: str = ""
    this: str = ""

    @property
    def source(self) -> BaseSource:
        """The base, as the engine is asked for it."""
        return BaseSource(self.path, self.block)


class Wanted(NamedTuple):
    """Which rows: ``sort`` is a column's id, after ``-`` the last first; ``text`` is in a cell of each row, in any case."""

    offset: int = 0
    limit: int = 100
    sort: str = ""
    text: str = ""


class _Ordered(NamedTuple):
    """The places of rows in a result, as the person wants them, and how many of them each group has."""

    places: Sequence[int]
    counts: Mapping[int, int]


class BaseViews:
    """Answers what a page asks of the bases of one vault. Safe to use from several threads."""

    def __init__(self, vault: Vault, seconds: float = _MOST_SECONDS) -> None:
        """``seconds``: how long the rows of one answer may take."""
        self._vault = vault
        self._seconds = seconds
        self._last: tuple[BaseResult, str, str, _Ordered] | None = None

    def all(self) -> dict[str, Any]:
        """Return the bases of the vault with their views; ``problem``: why a base has none."""
        bases = self._vault.bases
        paths = bases.files()
        return {"bases": [self._listed(path) for path in paths[:MOST_BASES]], "total": len(paths)}

    def _listed(self, path: VaultPath) -> dict[str, Any]:
        asked = Asked(path)
        listed = {
            "path": path,
            "name": _name(asked, path),
            "href": self._address(asked, ""),
            "views": [],
            "problem": "",
        }
        try:
            return listed | {"views": self._tabs(asked, self._vault.bases.views(asked.source))}
        except VaultError as error:
            return listed | {"problem": error.message}

    def rows(self, asked: Asked, wanted: Wanted = Wanted()) -> dict[str, Any]:  # noqa: B008 - it cannot be changed
        """Return rows of a view, from number ``offset`` on. ``next``: the offset to go on from.

        What cannot be answered is no error here: ``problem`` says why, and ``views`` still has what there is to choose.
        """
        answer: dict[str, Any] = {
            "path": asked.path,
            "name": _name(asked, asked.path),
            "href": None,
            "this": self._this(asked),
            "block": asked.block,
            "view": asked.view,
            "type": "table",
            "layout": "table",
            "fit": "cover",
            "views": [],
            "columns": [],
            "names_files": False,
            "rows": [],
            "groups": [],
            "total": 0,
            "in_view": 0,
            "matches": 0,
            "next": None,
            "problems": [],
            "problem": "",
        }
        try:
            why = f"The filters and formulas of this view take more than {self._seconds:g} seconds. Make them simpler."
            patience = Deadline(self._seconds, VaultError(TIMEOUT, why))
            result = self._vault.bases.query(asked.source, asked.view, this=asked.this, progress=patience)
            return answer | self._shown(asked, wanted, result, patience)
        except VaultError as error:
            return answer | {"problem": error.message, "views": self._views_anyway(asked)}

    def why(self, asked: Asked, note: str) -> dict[str, Any]:
        """Return why a note is in a view or not: what each filter and each formula gave for it."""
        answer: dict[str, Any] = {"note": note, "is_in": False, "dropped_by": [], "filters": [], "formulas": []}
        answer |= {"limit": None, "problem": "", "href": None}
        if not note.strip():
            return answer | {"problem": "Type the name of a note."}
        try:
            why = self._vault.bases.explain(asked.source, asked.view, note[:_MOST_TYPED], this=asked.this)
        except VaultError as error:
            return answer | {"problem": error.message}
        cells = BaseCells(self._vault.name, self._vault.bases.host())
        filters = [
            {
                "of": each.of,
                "depth": each.depth,
                "text": each.text,
                "holds": each.holds,
                "value": cells.part(each.value),
            }
            for each in why.filters[:_MOST_WHY]
        ]
        formulas = [
            {"name": each.name, "text": each.text, "value": cells.part(each.value)} for each in why.formulas[:_MOST_WHY]
        ]
        return answer | {
            "note": why.path,
            "href": file_address(self._vault.name, why.path),
            "is_in": why.is_in,
            "dropped_by": why.dropped_by[:_MOST_WHY],
            "filters": filters,
            "formulas": formulas,
            "limit": why.view.limit,
        }

    def picture(self, path: str) -> tuple[str, bytes]:
        """Return the path and the bytes of a picture in the vault. Raises VaultError as ``Vault.read_file`` does."""
        if kind_of(path) != "image":
            raise VaultError(INVALID_ARGUMENTS, f"{path!r} is no picture.", path=path)
        found, file = self._vault.read_file(path, _MOST_PICTURE_BYTES)
        return found, file.data

    # ------------------------------------------------------------------

    def _shown(self, asked: Asked, wanted: Wanted, result: BaseResult, patience: Deadline) -> dict[str, Any]:
        asked = asked._replace(path=result.path or asked.path)
        cells = BaseCells(self._vault.name, self._vault.bases.host())
        ordered = self._ordered(result, wanted, patience)
        start = max(0, wanted.offset)
        places = ordered.places[start : start + max(1, min(wanted.limit, MOST_ROWS))]
        rows = self._page(result, places, cells, patience)
        end = start + len(rows)
        layout = _LAYOUTS.get(result.view.type, "table")
        left_out = len(result.columns) - MOST_COLUMNS
        return {
            "path": asked.path,
            "name": _name(asked, asked.path),
            "href": file_address(self._vault.name, asked.path) if asked.block else None,
            "view": result.view.name,
            "type": result.view.type,
            "layout": "table" if layout == "board" and not result.groups else layout,
            "fit": "contain" if result.view.settings.get("imageFit") == "contain" else "cover",
            "views": self._tabs(asked, result.base.views or [result.view]),
            "columns": _columns(result, cells),
            "names_files": any(column.id in _NAMING for column in result.columns),
            "rows": rows,
            "groups": _groups(result, ordered, rows, cells),
            "total": len(ordered.places),
            "in_view": len(result.rows),
            "matches": result.total,
            "next": end if end < len(ordered.places) else None,
            "problems": [*result.problems, *([f"{left_out} more columns are not shown."] if left_out > 0 else [])],
        }

    def _page(
        self, result: BaseResult, places: Sequence[int], cells: BaseCells, patience: Deadline
    ) -> list[dict[str, Any]]:
        """Return the first rows of these, as many as fit into an answer."""
        left = _MOST_ANSWER
        rows: list[dict[str, Any]] = []
        for place in places:
            patience.check()
            made = self._row(result, result.rows[place], cells)
            left -= sum(map(size_of, made["cells"]))
            if left < 0 and rows:
                break
            rows.append(made)
        return rows

    def _row(self, result: BaseResult, row: ResultRow, cells: BaseCells) -> dict[str, Any]:
        parts = [
            cells.to_file(row.path, shown_text(value)) if column.id in _NAMING else cells.part(value)
            for column, value in zip(result.columns[:MOST_COLUMNS], row.cells, strict=False)
        ]
        return {
            "path": row.path,
            "name": shown_text(File(row.path)),
            "href": file_address(self._vault.name, row.path),
            "cells": parts,
            "group": row.group,
            "image": cells.picture(row.image, row.path),
        }

    def _ordered(self, result: BaseResult, wanted: Wanted, patience: Deadline) -> _Ordered:
        """Return the places of the rows that the person wants. The last answer is kept, for the next page of it."""
        if len(wanted.text) > _MOST_TYPED:
            raise VaultError(INVALID_ARGUMENTS, f"A filter has at most {_MOST_TYPED:,} characters.")
        text = wanted.text.strip().casefold()
        if not text and not wanted.sort:
            return _Ordered(range(len(result.rows)), {place: group.count for place, group in enumerate(result.groups)})
        last = self._last
        if last is not None and last[0] is result and last[1:3] == (wanted.sort, text):
            return last[3]
        try:
            ordered = _order(result, wanted.sort, text, patience)
        except TooMuchMemoryError as error:
            raise VaultError(TOO_LARGE, f"{error}.") from None
        self._last = result, wanted.sort, text, ordered
        return ordered

    def _views_anyway(self, asked: Asked) -> list[dict[str, Any]]:
        try:
            return self._tabs(asked, self._vault.bases.views(asked.source))
        except VaultError:
            return []

    def _tabs(self, asked: Asked, views: Sequence[View]) -> list[dict[str, Any]]:
        return [
            {"name": view.name, "type": view.type, "href": self._address(asked, view.name)}
            for view in views[:_MOST_VIEWS]
        ]

    def _address(self, asked: Asked, view: str) -> str:
        return base_address(self._vault.name, asked.path, view, asked.block, asked.this)

    def _this(self, asked: Asked) -> dict[str, Any] | None:
        """Return the note that stands for ``this``, if it is not where the base is."""
        if not asked.this or not self._vault.has_file(asked.this):
            return None
        return {"path": asked.this, "href": file_address(self._vault.name, asked.this)}


def _name(asked: Asked, path: str) -> str:
    name = path.rpartition("/")[2]
    if asked.block:
        return f"{name.removesuffix('.md')}, base {asked.block}"
    return name[: -len(".base")] if name.lower().endswith(".base") else name


def _order(result: BaseResult, sort: str, text: str, patience: Deadline) -> _Ordered:
    """Return the places of rows with the text in a cell, in the order of a column. Groups stay together."""
    names = [column.id for column in result.columns]
    named = sort.removeprefix("-")
    if sort and named not in names:
        raise VaultError(INVALID_ARGUMENTS, f"The view has no column {named!r}. It may have changed: open it again.")
    column = names.index(named) if sort else -1
    kept: list[tuple[int, int, Any]] = []
    last: list[tuple[int, int]] = []
    names_files = not _NAMING.isdisjoint(names)
    memory = Memory()
    for place, row in enumerate(_rows(result, patience)):
        if text and not _has(row, text, names_files=names_files):
            continue
        value: Value = row.cells[column] if sort else None
        if is_last(value):
            last.append((row.group, place))
        else:
            key = sort_key(value)
            memory.keep(key_bytes(key), f"Sorting by {named!r}")
            kept.append((row.group, place, key))
    # Where cells are equal the view's own order stays, in both directions.
    kept.sort(key=lambda each: each[2], reverse=sort.startswith("-"))
    both = [*[each[:2] for each in kept], *last]
    both.sort(key=lambda each: each[0])
    return _Ordered([place for _, place in both], Counter(group for group, _ in both))


def _rows(result: BaseResult, patience: Deadline) -> Iterator[ResultRow]:
    for place in range(len(result.rows)):
        patience.check()
        yield result.rows[place]


def _has(row: ResultRow, text: str, *, names_files: bool) -> bool:
    if any(text in shown_text(value).casefold() for value in row.cells):
        return True
    return not names_files and text in shown_text(File(row.path)).casefold()


def _columns(result: BaseResult, cells: BaseCells) -> list[dict[str, Any]]:
    return [
        {"id": column.id, "name": column.name, "summary": _summary(result, column.id, result.summaries, cells)}
        for column in result.columns[:MOST_COLUMNS]
    ]


def _summary(
    result: BaseResult, column: str, summaries: Mapping[str, Value], cells: BaseCells
) -> dict[str, Any] | None:
    if column not in summaries:
        return None
    return {"name": result.view.summaries.get(column, ""), "value": cells.part(summaries[column])}


def _groups(
    result: BaseResult, ordered: _Ordered, rows: Sequence[Mapping[str, Any]], cells: BaseCells
) -> list[dict[str, Any]]:
    """Return the groups of the rows, in their order."""
    if not result.groups:
        return []
    return [
        {
            "number": number,
            "value": cells.part(result.groups[number].value),
            "text": result.groups[number].text or "None",
            "count": ordered.counts[number],
            "summaries": [
                {"column": column.name, **found}
                for column in result.columns[:MOST_COLUMNS]
                if (found := _summary(result, column.id, result.groups[number].summaries, cells))
            ],
        }
        for number in dict.fromkeys(row["group"] for row in rows)
    ]
