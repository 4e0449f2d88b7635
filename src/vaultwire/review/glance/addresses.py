"""Addresses on the page of the desk: of a note, a base, any file. Pure.

``desk/page/glance/shared.js`` makes the address of a note, too.
"""

from __future__ import annotations

from vaultwire.vault.disk.paths import is_base, is_note

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._~-/")


def quoted(text: str) -> str:
    """Return a text as a part of an address, with ``/`` as it is."""
    return "".join(chr(byte) if byte in _PLAIN else f"%{byte:02X}" for byte in text.encode("utf-8", "replace"))


def note_address(vault: str, path: str, line: int = 0) -> str:
    """Return the address of a note on the page."""
    return f"#/{_one_part(vault)}/note/{quoted(path)}{f'?line={line}' if line else ''}"


def base_address(vault: str, path: str, view: str = "", block: int = 0, this: str = "") -> str:
    """Return the address of a base on the page: of a ``.base`` file, or of a block of the note ``path``."""
    # The page decodes each part of an address before it knows of a view, so these values are quoted twice.
    given = (("view", view), ("block", str(block) if block else ""), ("this", this))
    query = "&".join(f"{name}={quoted(_one_part(value))}" for name, value in given if value)
    return f"#/{_one_part(vault)}/base/{quoted(path)}{f'?{query}' if query else ''}"


def file_address(vault: str, path: str, view: str = "", this: str = "") -> str:
    """Return the address of any file: of a note or base on the page, of others in the app. ``view``, ``this``: of a base."""
    if is_base(path):
        return base_address(vault, path, view, this=this)
    return note_address(vault, path) if is_note(path) else f"obsidian://open?vault={quoted(vault)}&file={quoted(path)}"


def _one_part(text: str) -> str:
    return quoted(text).replace("/", "%2F")
