"""The cells of a base as plain JSON parts for a page: texts, links, boxes, pictures, lists of them, errors. Never HTML.

A part has a ``kind``: ``text``, ``number``, ``tag``, ``check`` (``checked``), ``link`` (``href``, None if it leads nowhere),
``image`` (``path`` of a picture in the vault), ``list`` (``items``, and how many ``more`` there are) or ``error``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from vaultwire.bases.comparing import is_empty, shown_text, target
from vaultwire.bases.row import Host
from vaultwire.bases.values import ErrorValue, File, Image, Link, TagList, Value
from vaultwire.review.glance.addresses import file_address
from vaultwire.review.glance.allowed import is_allowed_address
from vaultwire.vault.media_types import kind_of

MOST_TEXT = 2_000
"""Characters of a cell that are shown."""
_MOST_ITEMS = 100
_MOST_DEEP = 3
_OUTSIDE = ("http://", "https://")


class BaseCells:
    """Makes parts of the values in one result."""

    def __init__(self, vault: str, host: Host) -> None:
        """``vault``: its name, for addresses. ``host`` tells where links lead."""
        self._vault = vault
        self._host = host

    def part(self, value: Value, depth: int = 0) -> dict[str, Any] | None:
        """Return a value as a part; None for an empty one."""
        if is_empty(value):
            return None
        if isinstance(value, bool):
            return {"kind": "check", "checked": value, "text": shown_text(value)}
        if isinstance(value, (int, float)):
            return {"kind": "number", "text": shown_text(value)}
        if isinstance(value, ErrorValue):
            return {"kind": "error", "text": value.message[:MOST_TEXT]}
        if isinstance(value, (Link, File)):
            return self._link(value)
        if isinstance(value, Image):
            return self.picture(value) or self._named(value.of)
        if isinstance(value, Sequence) and not isinstance(value, str) and depth < _MOST_DEEP:
            return self._list(value, depth)
        text = shown_text(value)
        return _outside(text, text) or _text(text)

    def picture(self, value: Value, source: str = "") -> dict[str, Any] | None:
        """Return the picture in the vault that a value names; None if it names none. ``source``: the file that names it."""
        if isinstance(value, Image):
            return self.picture(value.of, source)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return self.picture(value[0], source) if value and not isinstance(value[0], list) else None
        if isinstance(value, str):
            path = self._host.resolve(value, source) if 0 < len(value) <= MOST_TEXT and "://" not in value else None
        else:
            path = target(value, self._host) if isinstance(value, (Link, File)) else None
        if path is None or kind_of(path) != "image":
            return None
        return {"kind": "image", "path": path, "text": path.rpartition("/")[2]}

    def to_file(self, path: str, text: str, view: str = "") -> dict[str, Any]:
        """Return a link to a file of the vault."""
        return {"kind": "link", "text": text[:MOST_TEXT], "href": file_address(self._vault, path, view), "path": path}

    def _named(self, value: str | Link | File) -> dict[str, Any]:
        if not isinstance(value, str):
            return self._link(value)
        return _outside(value, value) or _text(value)

    def _link(self, value: Link | File) -> dict[str, Any]:
        text = shown_text(value)
        path = target(value, self._host)
        if path is not None:
            return self.to_file(path, text, value.linktext.partition("#")[2] if isinstance(value, Link) else "")
        outside = _outside(value.linktext, text) if isinstance(value, Link) else None
        return outside or {"kind": "link", "text": text[:MOST_TEXT], "href": None, "path": None}

    def _list(self, values: Sequence[Value], depth: int) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        left = MOST_TEXT
        for value in values[:_MOST_ITEMS]:
            part = {"kind": "tag", "text": f"#{value}"} if isinstance(values, TagList) else self.part(value, depth + 1)
            part = part or _text("")
            left -= size_of(part)
            if left < 0 and items:
                break
            items.append(part)
        return {"kind": "list", "items": items, "more": len(values) - len(items)}


def size_of(part: dict[str, Any] | None) -> int:
    """Return about how many characters a part has as JSON."""
    if part is None:
        return 4
    if part["kind"] == "list":
        return 40 + sum(map(size_of, part["items"]))
    return 60 + len(part["text"]) + len(part.get("href") or "") + len(part.get("path") or "")


def _text(text: str) -> dict[str, Any]:
    return {"kind": "text", "text": text if len(text) <= MOST_TEXT else f"{text[: MOST_TEXT - 1]}…"}


def _outside(address: str, text: str) -> dict[str, Any] | None:
    if not address.startswith(_OUTSIDE) or not is_allowed_address(address):
        return None
    return {"kind": "link", "text": text[:MOST_TEXT], "href": address, "path": None}
