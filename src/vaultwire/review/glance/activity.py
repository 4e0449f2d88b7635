"""Who wrote and read what in the last days, by client, day and folder, from the journal and the audit log. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, tzinfo
from typing import Any

from vaultwire.vault.changes.change import Change
from vaultwire.vault.value_types import VaultPath

MAX_ROWS = 200
_PATH_ARGUMENTS = ("path", "note", "source", "folder")
_NO_NAME = "unknown client"


def folder_of(path: str) -> str:
    """Return the folder of a file, of at most two levels; "" for the vault's own."""
    return "/".join(path.split("/")[:-1][:2])


def writes(changes: Iterable[Change], zone: tzinfo | None) -> Counter[tuple[str, str, str]]:
    """Return how many files were written, by client, day and folder."""
    found: Counter[tuple[str, str, str]] = Counter()
    for change in changes:
        day = datetime.fromtimestamp(change.time_ns / 1e9, zone).date().isoformat()
        for file in change.files:
            found[change.author.client or _NO_NAME, day, folder_of(file.target or file.path)] += 1
    return found


def reads(records: Iterable[Mapping[str, Any]], zone: tzinfo | None, may_see: Any) -> Counter[tuple[str, str, str]]:
    """Return how many calls read a note or folder, by client, day and folder. ``records``: of the audit log."""
    found: Counter[tuple[str, str, str]] = Counter()
    for record in records:
        tool = record.get("tool_name")
        if (
            record.get("type") != "request"
            or not isinstance(tool, str)
            or not tool.startswith(("read_", "search_", "list_"))
        ):
            continue
        try:
            day = datetime.fromisoformat(str(record.get("timestamp"))).astimezone(zone).date().isoformat()
        except ValueError:
            continue
        arguments = record.get("arguments")
        given = arguments if isinstance(arguments, Mapping) else {}
        path = next((given[name] for name in _PATH_ARGUMENTS if isinstance(given.get(name), str)), "")
        folder = folder_of(path) if path and may_see(VaultPath(path)) else ""
        found[str(record.get("client") or _NO_NAME), day, folder] += 1
    return found


def summed(counts: Counter[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the counts by client and day, by folder, and all together. Clients and folders: the most active first."""
    days: dict[str, Counter[str]] = {}
    folders: Counter[str] = Counter()
    for (client, day, folder), count in counts.items():
        days.setdefault(client, Counter())[day] += count
        folders[folder] += count
    ranked = sorted(days.items(), key=lambda item: (-item[1].total(), item[0]))
    return {
        "total": counts.total(),
        "clients": [
            {"name": name, "total": by.total(), "days": dict(sorted(by.items()))} for name, by in ranked[:MAX_ROWS]
        ],
        "folders": [
            {"folder": folder, "count": count}
            for folder, count in sorted(folders.items(), key=lambda item: (-item[1], item[0]))[:MAX_ROWS]
        ],
    }
