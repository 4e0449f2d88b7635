"""The values of requests and answers that both backends share, so that both answer alike. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note, says_folder
from vaultwire.vault.editing.revising import GivenProperty, ValueKind
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

Where: TypeAlias = Literal["append", "prepend"]
Kind: TypeAlias = Literal["text", "list", "number", "checkbox", "date", "datetime"]

Hit: TypeAlias = tuple[str, list[tuple[int, str]]]
"""A note that matches, and the first of its matching lines, with their numbers."""
TaskLine: TypeAlias = tuple[str, int, str, str]
"""Path, line, mark and text."""

MAX_LINES = 5
"""The most lines shown of a note, as in the engine's own search."""
_MAX_LINE_CHARACTERS = 200


def value_texts(value: Any) -> list[str]:
    """Return a property's value as texts: none for an empty value, one for each element of a list."""
    if value is None:
        return []
    if isinstance(value, list):
        return [text for each in value for text in value_texts(each)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]


def sort_key(text: str) -> tuple[str, str]:
    """Return the sort key of lists: the text without case, then as written."""
    return fold(text), text


def shown_line(text: str) -> str:
    """Return a line for an answer: without spaces around it, and cut if it is long."""
    text = text.strip()
    return text if len(text) <= _MAX_LINE_CHARACTERS else text[:_MAX_LINE_CHARACTERS] + "…"


def to_target(to: str) -> str:
    """Return a destination for the engine. As with the command, a text with a dot is a path, another one is a folder."""
    to = to.strip().strip("/")
    if "." not in to:
        return f"{to}/"
    return to if says_folder(to) else f"/{to}"


def to_name(name: str) -> str:
    """Return a note's new name for the engine: in the same folder, and with a note's extension."""
    name = name.strip()
    if "/" in name or "\\" in name:
        raise VaultError(
            INVALID_ARGUMENTS, f"{name!r} is not a name: it contains a slash. To move a note use obsidian_move_note."
        )
    return f"./{name if is_note(name) else name + NOTE_SUFFIX}"


def to_property(name: str, value: str, kind: Kind) -> GivenProperty:
    """Return a property for the engine. As with the command, a JSON list is a list for any ``kind``."""
    items = _json_items(value)
    if items is not None:
        return GivenProperty(name, items, "text")
    if kind == "list":
        return GivenProperty(name, [item.strip() for item in value.split(",") if item.strip()], "list")
    kinds: dict[Kind, ValueKind] = {"number": "number", "checkbox": "checkbox"}
    return GivenProperty(name, value, kinds.get(kind, "text"))


def _json_items(value: str) -> list[PropertyValue] | None:
    """Return the items of a JSON list, those of lists in it too; None for anything else."""
    if not value.lstrip().startswith("["):
        return None
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return _flat(items) if isinstance(items, list) else None


def _flat(items: list[Any]) -> list[PropertyValue]:
    flat: list[PropertyValue] = []
    for item in items:
        flat += _flat(item) if isinstance(item, list) else value_texts(item) if isinstance(item, dict) else [item]
    return [item for item in flat if item is not None]


def bookmarks_in(items: Any) -> list[tuple[str, str, str]]:
    """Return the bookmarks of Obsidian's list, also those in groups: kind, title, target."""
    found: list[tuple[str, str, str]] = []
    for item in items if isinstance(items, list) else ():
        if not isinstance(item, dict):
            continue
        if item.get("type") == "group":
            found += bookmarks_in(item.get("items"))
            continue
        target = _first_text(item.get(key) for key in ("path", "query", "url"))
        target += _first_text([item.get("subpath")])
        found.append((_first_text([item.get("type")]), _first_text([item.get("title")]) or target, target))
    return found


def _first_text(values: Iterable[Any]) -> str:
    return next((value for value in values if isinstance(value, str)), "")
