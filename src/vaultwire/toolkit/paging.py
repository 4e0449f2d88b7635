"""Pages of results: the cursor of all tools that count their results, and the text around a page."""

from __future__ import annotations

import re
from typing import Annotated, Any, NamedTuple, cast

from vaultwire.toolkit.registry import Bounds, Data, Outcome
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

_CURSOR = re.compile(r"([0-9a-f]{8})\.([0-9]{1,20})")

# The number of results before the page, as text. It is opaque to callers, and the server keeps nothing between pages.
Cursor = Annotated[str | None, Bounds(1, 20), "next_cursor of the page before. Leave out for the first page."]


def offset_of(cursor: str | None) -> int:
    """Return how many results are before the page. Raises VaultError for a cursor that is not from a page."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal()):
        raise VaultError(
            INVALID_ARGUMENTS, f"cursor: pass next_cursor of the page before, got {cursor!r}.", argument="cursor"
        )
    return int(cursor)


class Position(NamedTuple):
    """What a cursor says: the key of the results (see ``vault.paged_results``), and how many of them are before the page."""

    key: str
    offset: int


def position_of(cursor: str | None) -> Position:
    """Return what the cursor says; an empty key for the first page. Raises VaultError for a cursor that is not from a page."""
    if cursor is None:
        return Position("", 0)
    if (match := _CURSOR.fullmatch(cursor)) is None:
        raise VaultError(
            INVALID_ARGUMENTS, f"cursor: pass next_cursor of the page before, got {cursor!r}.", argument="cursor"
        )
    return Position(match[1], int(match[2]))


def page_text(offset: int, shown: int, total: int) -> str:
    """Return the end of a headline: which of the results the page shows."""
    if not shown:
        return "; none on this page." if total else "."
    return f", numbers {offset + 1} to {offset + shown}:" if offset or shown < total else ":"


def page_outcome(data: Data, lines: list[str], position: int, total: int) -> Outcome[Data]:
    """Return a page with the next page's cursor, if there is one, in the data's ``next_cursor`` and in the text."""
    if position < total:
        cast("Any", data)["next_cursor"] = str(position)
        lines.append(f"{total - position} more: pass cursor '{position}'.")
    return Outcome(["\n".join(lines)], data)
