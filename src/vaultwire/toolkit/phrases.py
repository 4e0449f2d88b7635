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
_THOUSAND = 1000
_FEW = 10  # of these the part behind the point says something
# English has about four bytes a token, scripts of three bytes a character about three.
BYTES_A_TOKEN = 4
_MAX_SHOWN = 200  # characters of a line or value


def counted(number: int, thing: str) -> str:
    """Return ``1 note``, ``2 notes``, ``2 properties``, ``2 days``."""
    plural = thing[:-1] + "ies" if thing.endswith("y") and not thing.endswith("ay") else thing + "s"
    return f"{number} {thing if number == 1 else plural}"


def byte_size(number: int) -> str:
    """Return ``1 byte``, ``950 bytes``, ``12 KB``, ``3.4 MB``."""
    if number < _THOUSAND:
        return counted(number, "byte")
    size, unit = number / _THOUSAND, "KB"
    if size >= _THOUSAND:
        size, unit = size / _THOUSAND, "MB"
    return f"{size:.1f} {unit}" if size < _FEW else f"{size:.0f} {unit}"


def shortened(text: str) -> str:
    """Return a line or value to show, cut if it is long: it may be a whole text."""
    return text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"


def rough_tokens(text: str) -> int:
    """Return about how many tokens a text has. English has about four bytes a token; each model counts differently."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_A_TOKEN)


def first_tokens(text: str, tokens: int) -> str:
    """Return the text, or as much of its beginning as has so many tokens, roughly counted."""
    most = tokens * BYTES_A_TOKEN
    beginning = text[:most]
    encoded = beginning.encode("utf-8", "surrogatepass")
    return beginning if len(encoded) <= most else encoded[:most].decode("utf-8", "ignore")


def text_blocks(text: str) -> list[str]:
    """Return a text as blocks for a model: none if it is empty or only spaces, because clients refuse empty blocks."""
    return [text] if text.strip() else []


def add_facts(data: Any, **facts: Any) -> None:
    """Put those facts into the data that there are: a field that would be None, 0 or empty is left out."""
    data.update({name: fact for name, fact in facts.items() if fact})


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


def local_time(text: str) -> str:
    """Return a time of ``iso_time`` in the zone of this computer, with its offset: as the person's clock showed it.

    For texts. Data keeps UTC, which programs can compare as text.
    """
    try:
        return datetime.fromisoformat(text).astimezone().isoformat(" ")
    except (OSError, OverflowError):  # Windows knows no zone before 1970
        return text
