"""How tools put numbers and times into words."""

from __future__ import annotations

from datetime import UTC, datetime


def counted(number: int, thing: str) -> str:
    """Return ``1 note``, ``2 notes``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def iso_time(nanoseconds: int) -> str:
    """Return a time since the epoch as ISO 8601 in UTC, whole seconds."""
    return datetime.fromtimestamp(nanoseconds // 1_000_000_000, UTC).isoformat().replace("+00:00", "Z")
