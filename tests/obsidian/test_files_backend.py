"""What the family's answers on files cost: no more files are opened than are shown from."""

from __future__ import annotations

import os
from pathlib import Path

from support.calls import call
from support.vaults import vault_over, write_vault
from vaultwire.app.engine import open_index, open_settings
from vaultwire.trust.limits import MAX_NOTE_BYTES
from vaultwire.vault.disk.files import FileBytes, Files
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath

OLD_NS = 1_700_000_000_000_000_000


class Counted(Files):
    """Files that know which of them were read."""

    def __init__(self, root: str) -> None:
        super().__init__(root, MAX_NOTE_BYTES)
        self.seen: list[str] = []

    def read(self, path: VaultPath, max_bytes: int | None = None) -> FileBytes:
        """Read a file, and note its path."""
        self.seen.append(path)
        return super().read(path, max_bytes)


def test_backlinks_are_counted_without_reading_the_notes_they_stand_in(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== A.md\n=== B.md\n[[A]]\n[[A]]\n=== c/D.md\n[[A]] [[B]]\n")
    for path in tmp_path.rglob("*.md"):
        os.utime(path, ns=(OLD_NS, OLD_NS))  # what has only just changed is looked into again
    files = Counted(str(tmp_path))
    index = open_index(files, None)
    index.paths(NO_PROGRESS)
    vault = vault_over(files, index, open_settings(files))
    files.seen.clear()
    linking = call(vault, "obsidian_backlinks", file="A").data["backlinks"]
    assert linking == [{"path": "B.md", "count": 2}, {"path": "c/D.md", "count": 1}]
    assert files.seen == []
