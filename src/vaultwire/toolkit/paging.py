"""Pages of results: one cursor for every tool that counts its results, and the words around a page."""

from __future__ import annotations

from typing import Annotated, Any

from vaultwire.toolkit.registry import Bounds
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

# How many results came before, as text: opaque to callers, and no page needs what the one before it left behind.
Cursor = Annotated[str | None, Bounds(1, 20)]


def offset_of(cursor: str | None) -> int:
    """Return how many results come before the page. Raises VaultError for a cursor that no page gave."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdecimal()):
        raise VaultError(
            INVALID_ARGUMENTS, f"cursor: pass next_cursor of the page before, got {cursor!r}.", argument="cursor"
        )
    return int(cursor)


def page_text(offset: int, shown: int, total: int) -> str:
    """Return the end of a headline: which of the results follow it."""
    if not shown:
        return "; none on this page." if total else "."
    return f", numbers {offset + 1} to {offset + shown}:" if offset or shown < total else ":"


def add_cursor(data: Any, lines: list[str], position: int, total: int) -> None:
    """Say where the next page begins, in the data's ``next_cursor`` and in the text, if there is one."""
    if position < total:
        data["next_cursor"] = str(position)
        lines.append(f"{total - position} more: pass cursor '{position}'.")
