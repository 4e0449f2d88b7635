"""A note's bytes as plain text: what a search, an index or a line of context is made of."""

from __future__ import annotations

from vaultwire.markdown.edits import to_plain
from vaultwire.vault.errors import VaultError
from vaultwire.vault.files import Files
from vaultwire.vault.model import VaultPath


def plain_text(data: bytes) -> str:
    """Return the text without BOM and with ``\\n`` line ends; bytes that are not UTF-8 show as such."""
    return to_plain(data.decode("utf-8-sig", "replace"))


def read_plain(files: Files, path: VaultPath) -> str | None:
    """Return a note's plain text, None if it cannot be read."""
    try:
        return plain_text(files.read(path).data)
    except VaultError:
        return None
