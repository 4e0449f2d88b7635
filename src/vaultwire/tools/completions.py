"""Completions of an argument while a person types it: paths, tags and property names that match, best first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from vaultwire.vault.base_queries.running import BaseSource
from vaultwire.vault.disk.paths import fold, is_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import Progress
from vaultwire.vault.vault import Vault

# The kind of an argument's value. ``text``: anything, so there are no completions.
Meaning: TypeAlias = Literal["text", "note", "file", "folder", "tag", "property", "base", "view"]

_NOTHING: Mapping[str, str] = {}
_MEANINGS: dict[str, Meaning] = {
    "path": "note",
    "note": "note",
    "file": "file",
    "attachment": "file",
    "folder": "folder",
    "tag": "tag",
    "property": "property",
    "base": "base",
    "view": "view",
}


def meaning_of(name: str) -> Meaning:
    """Return the kind of an argument by its name, which is all that a prompt in a vault says of it."""
    return _MEANINGS.get(name.casefold(), "text")


def completions(
    vault: Vault, meaning: Meaning, value: str, progress: Progress, filled_in: Mapping[str, str] = _NOTHING
) -> list[str]:
    """Return every value that matches the text typed so far, best first; among equals, common ones first or path order.

    ``filled_in``: the other arguments by name. Views are those of the argument ``base``.
    """
    match meaning:
        case "note":
            return ranked(filter(is_note, vault.overview.paths(progress)), value)
        case "file":
            return ranked(sorted(vault.overview.paths(progress), key=lambda path: (not is_note(path), path)), value)
        case "folder":
            parents = {path.rpartition("/")[0] for path in vault.overview.paths(progress)}
            folders = {parent[:end] for parent in parents for end in _ends_of_parts(parent)}
            return ranked(sorted(folders), value)
        case "tag":
            mark = "#" if value.startswith("#") else ""
            tags = [count.tag for count in vault.overview.count_tags("", progress)]
            return [mark + tag for tag in ranked(tags, value.removeprefix("#"))]
        case "property":
            return ranked(vault.overview.property_names(progress), value)
        case "base":
            return ranked(vault.bases.files(progress), value)
        case "view":
            return ranked(_views(vault, filled_in.get("base", ""), progress), value)
        case "text":
            return []


def _views(vault: Vault, base: str, progress: Progress) -> list[str]:
    """Return the names of a base's views, in its order; none where there is no such base yet."""
    try:
        return [view.name for view in vault.bases.views(BaseSource(base), progress) if view.name]
    except VaultError:
        return []


def _ends_of_parts(folder: str) -> list[int]:
    """Return where each part of the folder's path ends: so folders that hold only folders are included."""
    return [index for index, character in enumerate(folder) if character == "/"] + ([len(folder)] if folder else [])


def ranked(candidates: Iterable[str], value: str) -> list[str]:
    """Return the candidates that hold the value: first at their start, then at the start of the name, in it, anywhere."""
    key = fold(value)
    if not key:
        return list(candidates)
    ranks: list[list[str]] = [[], [], [], []]
    for candidate in candidates:
        folded = fold(candidate)
        if key not in folded:
            continue
        name = folded.rpartition("/")[2]
        rank = 0 if folded.startswith(key) else 1 if name.startswith(key) else 2 if key in name else 3
        ranks[rank].append(candidate)
    return [candidate for rank in ranks for candidate in rank]
