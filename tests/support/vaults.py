"""A vault as one string literal, on a real disk."""

from __future__ import annotations

import hashlib
from pathlib import Path

from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.files import Files
from vaultwire.vault.scan_index import ScanIndex
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


def open_vault(root: Path, max_bytes: int = MAX_NOTE_BYTES) -> Vault:
    """Return the engine over a folder, as the program itself puts it together."""
    files = Files(str(root), max_bytes)
    return Vault(files, ScanIndex(files))


def snapshot(root: Path) -> dict[str, str]:
    """Return a fingerprint of every file's bytes and mode below a folder, hidden ones too, by its path."""
    return {
        str(path.relative_to(root)): f"{path.lstat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }
