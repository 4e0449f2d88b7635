"""Pages of results: the cursors of all tools, and the text around a page."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from typing import Annotated, Any, Generic, NamedTuple, TypeVar, cast

from vaultwire.toolkit.registry import CURSOR, Bounds, Data, Outcome
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.listed import Listed
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

Item = TypeVar("Item")

_CURSOR = re.compile(r"([0-9a-f]{8})\.([0-9]{1,20})")

# The key of the results and the number of those before the page (see ``position_of``). It is opaque to callers.
Cursor = Annotated[str | None, Bounds(1, 30), CURSOR]


class Position(NamedTuple):
    """What a cursor says: the key of the results (see ``vault.caller``), and how many of them are before the page."""

    key: str
    offset: int


def position_of(cursor: str | None) -> Position:
    """Return what the cursor says; an empty key for the first page. Raises VaultError for a cursor that is not from a page."""
    if cursor is None:
        return Position("", 0)
    if (match := _CURSOR.fullmatch(cursor)) is None:
        raise VaultError(
            INVALID_ARGUMENTS, f"cursor: pass what the page before said, got {cursor!r}.", argument="cursor"
        )
    return Position(match[1], int(match[2]))


class Page(Generic[Item]):
    """One page of the results of a question. All pages show the results of the first page's call.

    ``items`` are shown. Files that are gone since the first page are left out, so there may be fewer than the limit.
    """

    def __init__(
        self, results: Listed[Item], items: list[Item], offset: int, end: int, keep: Callable[[], str]
    ) -> None:
        """``keep`` keeps the results for the next pages and returns their key."""
        self.items = items
        self.offset = offset
        self.end = end
        self.total = len(results)
        self.facts = results.facts
        self._keep = keep

    @property
    def text(self) -> str:
        """The end of a headline: which of the results the page shows."""
        return page_text(self.offset, max(self.end - self.offset, 0), self.total)

    def outcome(self, data: Data, lines: list[str]) -> Outcome[Data]:
        """Return the page with the next page's cursor, if there is one, in the data's ``next_cursor`` and in the text."""
        key = self._keep() if self.end < self.total else ""
        return page_outcome(data, lines, self.end, self.total, key)


def page_of(
    vault: Vault,
    question: Hashable,
    cursor: str | None,
    limit: int,
    find: Callable[[], Listed[Item]],
    progress: Progress,
) -> Page[Item]:
    """Return the page that a cursor means; the first page of what ``find`` finds if there is no cursor.

    ``question``: the tool and the arguments that say what is asked; those of the next page must be the same. Raises
    VaultError for a cursor of another question, and for results that are not kept any more, or that may tell of a file that
    has become private since.
    """
    place = position_of(cursor)
    lost = vault.lost_files(progress)  # first: a file that is lost while ``find`` runs makes the cursor expire
    results: Listed[Item] = vault.paged.get(place.key, question, lost) if place.key else find()
    items = results.page(place.offset, limit, progress)

    def keep() -> str:
        return place.key or vault.paged.keep(question, results, results.size, lost)

    return Page(results, items, place.offset, min(place.offset + limit, len(results)), keep)


def page_text(offset: int, shown: int, total: int) -> str:
    """Return the end of a headline: which of the results the page shows."""
    if not shown:
        return "; none on this page." if total else "."
    return f", numbers {offset + 1} to {offset + shown}:" if offset or shown < total else ":"


def page_outcome(
    data: Data, lines: list[str], position: int, total: int, key: str, more: str = "{} more:"
) -> Outcome[Data]:
    """Return a page with the next page's cursor, if there is one, in the data's ``next_cursor`` and in the text.

    ``key``: the results' (see ``Position``). ``more``: what is left, before "pass cursor".
    """
    if position < total:
        cursor = f"{key}.{position}"
        cast("Any", data)["next_cursor"] = cursor
        lines.append(f"{more.format(total - position)} pass cursor {cursor!r}.")
    return Outcome(["\n".join(lines)], data)
