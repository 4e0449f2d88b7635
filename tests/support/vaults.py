"""A vault as one string literal, on a real disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import date
from pathlib import Path

from vaultwire.app import open_index
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.files import Files
from vaultwire.vault.settings import KeptSettings
from vaultwire.vault.vault import Vault


def write_vault(root: Path, text: str) -> Path:
    """Write the files a literal describes and return the folder: each begins with a line ``=== path``.

    Contents end with the line end before the next ``===``; bytes other than plain text are written by the test itself.
    """
    for part in text.lstrip("\n").split("=== ")[1:]:
        path, _, content = part.partition("\n")
        target = root / path.strip()
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode())
    return root


def open_vault(root: Path, max_bytes: int = MAX_NOTE_BYTES, today: Callable[[], date] = date.today) -> Vault:
    """Return the engine over a folder, as the program itself puts it together."""
    files = Files(str(root), max_bytes)
    return Vault(files, open_index(files, None), KeptSettings(files.root), today)


def snapshot(root: Path) -> dict[str, str]:
    """Return a fingerprint of every file's bytes and mode below a folder, hidden ones too, by its path."""
    return {
        str(path.relative_to(root)): f"{path.lstat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
