"""What both backends have in common: in which form requests are taken and answers given, so that they are alike. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, Literal, TypeAlias

from vaultwire.vault.disk.paths import NOTE_SUFFIX, fold, is_note
from vaultwire.vault.editing.revising import GivenProperty, ValueKind
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError

Where: TypeAlias = Literal["append", "prepend"]
Kind: TypeAlias = Literal["text", "list", "number", "checkbox", "date", "datetime"]

Hit: TypeAlias = tuple[str, list[tuple[int, str]]]
"""A note that matches, and the first of its lines that do, by number."""
TaskLine: TypeAlias = tuple[str, int, str, str]
"""Path, line, mark and text."""

MAX_LINES = 5
"""Lines shown of a note that was found, as many as the engine's own search shows."""
_MAX_LINE_CHARACTERS = 200


def value_texts(value: Any) -> list[str]:
    """Return a property's value as texts: none if it is empty, one for each element of a list."""
    if value is None:
        return []
    if isinstance(value, list):
        return [text for each in value for text in value_texts(each)]
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    return [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)]


def in_order(text: str) -> tuple[str, str]:
    """Return what lists are sorted by: without case, then as written."""
    return fold(text), text


def shown_line(text: str) -> str:
    """Return a line as it is shown, without blanks around it and not too long."""
    text = text.strip()
    return text if len(text) <= _MAX_LINE_CHARACTERS else text[:_MAX_LINE_CHARACTERS] + "…"


def wanted_place(to: str) -> str:
    """Return a destination as the engine takes it. The command takes what has a dot in it for a path, else for a folder."""
    to = to.strip().strip("/")
    return to if "." in to else f"{to}/"


def wanted_name(name: str) -> str:
    """Return a note's new name as the engine takes it: in the folder where it is, and a note still."""
    name = name.strip()
    if "/" in name or "\\" in name:
        raise VaultError(
            INVALID_ARGUMENTS, f"{name!r} is no name: it holds a slash. To move a note use obsidian_move_note."
        )
    return f"./{name if is_note(name) else name + NOTE_SUFFIX}"


def given_property(name: str, value: str, kind: Kind) -> GivenProperty:
    """Return a property as the engine takes it. As with the command, a list in JSON is a list whatever is asked for."""
    items = json_texts(value)
    if items is None and kind == "list":
        items = [item.strip() for item in value.split(",") if item.strip()]
    if items is not None:
        return GivenProperty(name, None, items, "list")
    kinds: dict[Kind, ValueKind] = {"number": "number", "checkbox": "checkbox"}
    return GivenProperty(name, value, None, kinds.get(kind, "text"))


def json_texts(value: str) -> list[str] | None:
    """Return the texts of a list in JSON, None for anything else."""
    if not value.lstrip().startswith("["):
        return None
    try:
        items = json.loads(value)
    except (ValueError, RecursionError):
        return None
    return value_texts(items) if isinstance(items, list) else None


def bookmarks_in(items: Any) -> list[tuple[str, str, str]]:
    """Return the bookmarks of a list as Obsidian writes them, those in groups too: kind, title, what is marked."""
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
