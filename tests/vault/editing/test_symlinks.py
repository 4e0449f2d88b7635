"""Notes that are symbolic links to others: edited through, once, and moved only where they lead to the same file."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.refusals import refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.vault.errors import INVALID_ARGUMENTS
from vaultwire.vault.value_types import NO_PROGRESS

LINKED = """
=== Folder/C.md
#tag see [[A]]
=== A.md
a
=== B.md
[[C]] and [[Link]]
"""


@pytest.fixture
def linked(tmp_path: Path) -> Path:
    if sys.platform == "win32":
        pytest.skip("making links takes a right there")
    root = write_vault(tmp_path / "linked", LINKED)
    (root / "Link.md").symlink_to("Folder/C.md")
    (root / "Folder/Up.md").symlink_to("../A.md")
    return root


def test_a_change_of_many_notes_edits_a_note_and_the_links_to_it_once(linked: Path, tmp_path: Path) -> None:
    vault = open_vault(linked, state=tmp_path / "state")
    before = snapshot(linked)
    vault.arranging.rename_tag("tag", "new", NO_PROGRESS, dry_run=False)
    assert (linked / "Folder/C.md").read_text() == "#new see [[A]]\n"
    assert (linked / "Link.md").readlink() == Path("Folder/C.md")
    assert [found.path for found in vault.overview.tagged(["new"], every=True, folder="").all()] == [
        "Folder/C.md",
        "Link.md",
    ]
    vault.history.undo([1], "", NO_PROGRESS, dry_run=False)
    assert snapshot(linked) == before
    vault.arranging.move("A", "Z/A2", NO_PROGRESS, dry_run=False)
    assert (linked / "Folder/C.md").read_text() == "#tag see [[A2]]\n"
    assert (linked / "Link.md").is_symlink()


@pytest.mark.parametrize(
    ("source", "target", "is_moved"),
    [
        ("Link", "Sub/Link", False),
        ("Link", "Renamed", True),
        ("Folder/Up", "Other/Up", True),  # "../A.md" is the same file from there
        ("Folder/Up", "/Up", False),
        ("Folder/", "Deep/Folder", False),  # with a link in it that leads out of it
        ("Folder/", "Renamed", True),
    ],
)
def test_a_link_is_moved_only_where_it_leads_to_the_same_file(
    linked: Path, source: str, target: str, is_moved: bool
) -> None:
    vault, before = open_vault(linked), snapshot(linked)
    if is_moved:
        vault.arranging.move(source, target, NO_PROGRESS, dry_run=False)
        leads_to = {path.name: path.resolve() for path in linked.rglob("*") if path.is_symlink()}
        assert leads_to.pop("Up.md") == (linked / "A.md").resolve()
        if source != "Folder/":  # that a link elsewhere leads into a folder that moves, nobody looks up
            assert [*leads_to.values()] == [(linked / "Folder/C.md").resolve()]
    else:
        error = refusal(vault.arranging.move, source, target, NO_PROGRESS, dry_run=False)
        assert (error.code, "symbolic link" in error.message) == (INVALID_ARGUMENTS, True)
        assert snapshot(linked) == before


def test_a_deleted_link_comes_back(linked: Path, tmp_path: Path) -> None:
    vault, before = open_vault(linked, state=tmp_path / "state"), snapshot(linked)
    for number, permanent in ((1, False), (3, True)):
        vault.writing.delete("Link.md", permanent=permanent)
        assert not (linked / "Link.md").is_symlink()
        assert (linked / "Folder/C.md").exists()
        vault.history.undo([number], "", NO_PROGRESS, dry_run=False)
        assert {path: text for path, text in snapshot(linked).items() if path != "Link.md"} == {
            path: text for path, text in before.items() if path != "Link.md"
        }
        assert (linked / "Link.md").read_text() == "#tag see [[A]]\n"
        assert (linked / "Link.md").is_symlink() is not permanent  # the journal has its text
