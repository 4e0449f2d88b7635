"""Stored indexes of a folder, and the comparison of all answers of two indexes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from support.memory_text import MemoryText
from support.vaults import vault_over
from vaultwire.vault.days import parse_days
from vaultwire.vault.disk.files import Files
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.index_folder import IndexFolder
from vaultwire.vault.index.text_index import TextIndex
from vaultwire.vault.search.filters import NoteFilterText, parse_note_filter, property_types
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.excludes import CachedExcludes

Backend = Callable[[str | None], TextIndex]
BACKENDS: list[Backend] = [MemoryText, TextIndex]
MAX_BYTES = 400_000

QUERIES = [
    *[
        "red",
        "app",
        '"red apple"',
        "-red",
        "red OR 日本",
        "本語",
        "cafe",
        "café",
        "creme",
        "#fruit",
        "tag:#fruit/apple",
    ],
    *[
        "[colour]",
        "[colour:green]",
        "file:a",
        "path:sub",
        "-path:sub",
        "line:(red apple)",
        "x-y",
        "task-todo:pick",
        "pear",
    ],
    *["content:a", "match-case:Pear", "/r.d/", "-(red -apple)", "long"],
]


def open_stored(
    root: Path,
    cache: Path | None,
    backend: Backend = TextIndex,
    max_bytes: int = MAX_BYTES,
    files: Files | None = None,
) -> tuple[Vault, Index, IndexFolder]:
    """Return the engine of a folder, its index, and the index's place; in memory without a ``cache``."""
    files = files or Files(str(root), max_bytes)
    rules = CachedSettings(files.root)
    home = IndexFolder(files.root, str(cache) if cache else None, open_text=backend)
    index = Index(files, home, CachedExcludes(files.root, rules).get)
    return vault_over(files, index, rules), index, home


def answers_of_new(root: Path, queries: list[str] = QUERIES, max_bytes: int = MAX_BYTES) -> dict[str, Any]:
    """Return all answers of a new index."""
    _, index, _ = open_stored(root, None, MemoryText, max_bytes)
    return answers(index, queries)


def difference(ours: dict[str, Any], anew: dict[str, Any]) -> dict[str, Any]:
    """Return the answers that differ."""
    return {key: (ours.get(key), anew.get(key)) for key in ours.keys() | anew.keys() if ours.get(key) != anew.get(key)}


def answers(index: Index, queries: list[str] = QUERIES) -> dict[str, Any]:
    """Return all answers of an index, without scores, which depend on deleted entries that are not yet removed."""
    notes = index.notes(None, NO_PROGRESS).all()
    everything: dict[str, Any] = {
        "notes": notes,
        "paths": index.paths(NO_PROGRESS),
        "tags": index.count_tags(None, NO_PROGRESS),
        "tags below": index.count_tags(VaultPath("sub"), NO_PROGRESS),
        "tagged": index.tagged(["fruit", "café", "late"], None, NO_PROGRESS, every=False).all(),
        "recent": index.recent(None, 99, NO_PROGRESS),
        "named": index.named(["A.MD", "café.md"], NO_PROGRESS),
        "folders": index.folders(None, NO_PROGRESS),
        "same content": index.same_content(NO_PROGRESS),
    }
    for in_use in ("", "colour"):
        for folder in (None, VaultPath("sub")):
            found_in_use = index.properties(in_use, folder, NO_PROGRESS)
            everything[f"properties {in_use} in {folder}"] = [
                (used.name, property_types(used.name, used.values, {}), used.notes) for used in found_in_use
            ]
    everything["stats"] = index.stats(9, NO_PROGRESS)._replace(is_watched=False, unwatched="", unkept="")
    for typed in ("a", "b", "pear tree", "paer", "caef", "pt", "1"):
        wanted = parse_note_filter(NoteFilterText(name=typed), lambda text: parse_days(text, date(2026, 3, 10)))
        for folder in (None, VaultPath("sub")):
            everything[f"names like {typed} in {folder}"] = index.find(wanted, folder, NO_PROGRESS).all()
    for note in notes:
        everything[f"to {note.path}"] = index.incoming(note.path, NO_PROGRESS)
    for query in queries:
        for folder in (None, VaultPath("sub")):
            found = index.search(parse_query(query), folder, 0, 999, NO_PROGRESS)
            hits = sorted((hit.path, hit.matches, hit.lines) for hit in found.hits)
            everything[f"{query} in {folder}"] = hits, found.total, found.searched, found.skipped
            # Of a short page the index may have kept what it found before.
            page = index.search(parse_query(query), folder, 0, 9, NO_PROGRESS)
            on_page = sorted((hit.path, hit.matches, hit.lines) for hit in page.hits) if page.total <= 9 else []
            everything[f"page of {query} in {folder}"] = on_page, page.total
    return everything
