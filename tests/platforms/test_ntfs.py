"""A real NTFS with a short name, mounted on Linux (ntfs-3g), as on a computer that also has Windows."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.calls import attempt, call
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.toolkit.registry import Failure
from vaultwire.trust.policy_rules import PathRules, Rule

_BYTES = 8 << 20


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    if not (shutil.which("mkntfs") and shutil.which("ntfs-3g") and os.access("/dev/fuse", os.W_OK)):
        pytest.skip("needs ntfs-3g, and FUSE")
    image, place = tmp_path / "image", tmp_path / "disk"
    image.write_bytes(b"")
    os.truncate(image, _BYTES)
    place.mkdir()
    subprocess.run(["mkntfs", "--force", "--quick", "--quiet", str(image)], check=True, capture_output=True)
    if subprocess.run(["ntfs-3g", str(image), str(place)], capture_output=True, check=False).returncode:
        pytest.skip("ntfs-3g may not mount here")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=False)


def test_a_hidden_folder_is_hidden_under_its_short_name(disk: Path) -> None:
    root = write_vault(disk, "=== Open.md\nApples.\n=== Private notes/Plan.md\nQXZ\n")
    os.setxattr(root / "Private notes", "system.ntfs_dos_name", b"PRIVAT~1")
    assert (root / "PRIVAT~1" / "Plan.md").read_text(encoding="utf-8") == "QXZ\n"
    assert "PRIVAT~1" not in os.listdir(root)
    vault = open_vault(root, rules=PathRules(deny=(Rule("deny", "Private notes/", 1),)))
    before = snapshot(root)
    for name in ("PRIVAT~1/Plan.md", "PRIVAT~1/New.md"):
        assert "QXZ" not in repr(attempt(vault, "read_note", path=name))
        assert isinstance(attempt(vault, "write_note", path=name, content="new", mode="overwrite"), Failure)
        assert isinstance(attempt(vault, "move_notes", paths=["Open.md"], to=name), Failure)
    assert snapshot(root) == before


def test_changes_and_their_undo(disk: Path) -> None:
    root = write_vault(disk, "=== Open.md\nApples. [[Plan]]\n=== Notes/Plan.md\nPears.\n")
    vault = open_vault(root)
    before = snapshot(root)
    call(vault, "edit_note", path="Open.md", operation="append", content="More.")
    call(vault, "move_notes", paths=["Notes/Plan.md"], to="Notes/Other.md")
    call(vault, "create_note", path="New/Note.md", content="new")
    call(vault, "delete_note", path="Open.md")
    call(vault, "undo_changes", changes=[1, 2, 3, 4])
    assert snapshot(root) == before
