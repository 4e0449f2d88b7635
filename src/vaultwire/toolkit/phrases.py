"""Numbers, times and lists of files in words, for the texts of tools."""

from __future__ import annotations

from datetime import UTC, datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

# A rename may edit thousands of notes; a model gets the first of them.
MAX_FILES_SHOWN = 50
MAX_FILES_TOLD = 12  # in the text, where each costs tokens
_MAX_SHOWN = 200  # characters of a line or value


def counted(number: int, thing: str) -> str:
    """Return ``1 note``, ``2 notes``, ``2 properties``."""
    plural = thing[:-1] + "ies" if thing.endswith("y") else thing + "s"
    return f"{number} {thing if number == 1 else plural}"


def shortened(text: str) -> str:
    """Return a line or value to show, cut if it is long: it may be a whole text."""
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def text_blocks(text: str) -> list[str]:
    """Return a text as blocks for a model: none if it is empty or only spaces, because clients refuse empty blocks."""
    return [text] if text.strip() else []


def add_other_files(data: Any, paths: Sequence[str]) -> str:
    """Put into the data in which other files links were edited, and return it as a line; empty if there are none."""
    if not paths:
        return ""
    data["also_edited"] = list(paths[:MAX_FILES_SHOWN])
    data["also_edited_count"] = len(paths)
    more = f" and {len(paths) - MAX_FILES_TOLD} more" if len(paths) > MAX_FILES_TOLD else ""
    return f"\n{counted(len(paths), 'other file')} edited, links only: {', '.join(paths[:MAX_FILES_TOLD])}{more}"


def iso_time(nanoseconds: int) -> str:
    """Return a time since the epoch as ISO 8601 in UTC, whole seconds."""
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).isoformat().replace("+00:00", "Z")
