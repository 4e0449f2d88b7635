"""Looking and reading: what lies outside the vault stays outside, and what is odd in it stops nothing."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.refusals import refused
from support.vaults import open_vault, write_vault
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    TOO_LARGE,
    VAULT_NOT_FOUND,
    VaultError,
)
from vaultwire.vault.value_types import Problem, VaultPath
from vaultwire.vault.vault import Vault

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and FIFOs need rights or do not exist there")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A folder beside the vault, with a note in it that is nobody's business."""
    return write_vault(tmp_path / "outside", "=== Secret.md\nneedle #secret\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\nneedle #a\n=== Folder/Inner.md\nneedle #b\n")


EVERYTHING: list[Callable[[Vault, str], Any]] = [
    lambda vault, name: vault.read(name),
    lambda vault, name: vault.writing.write(name, "x", "create"),
    lambda vault, name: vault.writing.write(name, "x", "overwrite"),
    lambda vault, name: vault.writing.write(name, "x", "append"),
    lambda vault, name: vault.writing.write(name, "x", "prepend"),
    lambda vault, name: vault.writing.delete(name, permanent=False),
    lambda vault, name: vault.writing.delete(name, permanent=True),
]


def _paths(vault: Vault) -> list[str]:
    return [note.path for note in vault.overview.list_notes("").all()]


def test_a_linked_note_outside_is_refused_for_everything(root: Path, outside: Path) -> None:
    (root / "Link.md").symlink_to(outside / "Secret.md")
    vault = open_vault(root)
    for act in EVERYTHING:
        assert refused(act, vault, "Link.md") == PATH_OUTSIDE_VAULT
    assert (outside / "Secret.md").read_text() == "needle #secret\n"
    assert (root / "Link.md").is_symlink()
    assert _paths(vault) == ["Folder/Inner.md", "Note.md"]
    assert {hit.path for hit in vault.search("needle", "", 0, 9).hits} == {"Folder/Inner.md", "Note.md"}
    assert len(vault.overview.tagged(["secret"], every=True, folder="")) == 0


def test_a_linked_folder_outside_is_refused_for_everything(root: Path, outside: Path) -> None:
    (root / "Out").symlink_to(outside, target_is_directory=True)
    vault = open_vault(root)
    for name in ("Out/Secret.md", "Out/secret.MD", "Out/New.md", "Out/New/Deeper.md"):
        for act in EVERYTHING:
            assert refused(act, vault, name) == PATH_OUTSIDE_VAULT
    assert [path.name for path in outside.iterdir()] == ["Secret.md"]
    assert _paths(vault) == ["Folder/Inner.md", "Note.md"]
    assert refused(vault.overview.list_notes, "Out") == PATH_OUTSIDE_VAULT
    assert refused(vault.search, "needle", "Out", 0, 9) == PATH_OUTSIDE_VAULT
    assert refused(vault.overview.tagged, ["secret"], every=True, folder="Out") == PATH_OUTSIDE_VAULT
    assert vault.search("needle", "", 0, 9).total == 2


def test_names_outside_are_not_told_by_an_ambiguity(root: Path, outside: Path) -> None:
    (outside / "SECRET.md").write_text("x")
    (root / "Out").symlink_to(outside, target_is_directory=True)
    with pytest.raises(VaultError) as caught:
        open_vault(root).read("Out/sEcReT.md")
    assert caught.value.code == PATH_OUTSIDE_VAULT


def test_a_link_to_a_hidden_folder_of_the_vault_is_refused(root: Path) -> None:
    write_vault(root, "=== .obsidian/Secret.md\nx\n")
    (root / "Link.md").symlink_to(root / ".obsidian" / "Secret.md")
    vault = open_vault(root)
    for act in EVERYTHING[:1]:
        assert refused(act, vault, "Link.md") == PERMISSION_DENIED
    assert "Link.md" not in _paths(vault)


def test_a_folder_whose_name_begins_like_the_vaults_is_outside(tmp_path: Path, root: Path) -> None:
    write_vault(tmp_path / "vault-2", "=== Secret.md\nx\n")
    (root / "Link.md").symlink_to(tmp_path / "vault-2" / "Secret.md")
    assert refused(open_vault(root).read, "Link.md") == PATH_OUTSIDE_VAULT


def test_a_link_inside_the_vault_is_a_note_like_any(root: Path) -> None:
    (root / "Link.md").symlink_to("Folder/Inner.md")
    (root / "Shortcut").symlink_to("Folder", target_is_directory=True)
    vault = open_vault(root)
    assert vault.read("Link").text == "needle #b\n"
    assert vault.read("Shortcut/Inner").text == "needle #b\n"
    assert _paths(vault) == ["Folder/Inner.md", "Link.md", "Note.md"]  # a linked folder's notes are listed once


def test_the_vault_itself_may_be_a_link(tmp_path: Path, root: Path) -> None:
    (tmp_path / "link").symlink_to(root, target_is_directory=True)
    vault = open_vault(tmp_path / "link")
    assert vault.read("Note").text == "needle #a\n"
    assert vault.writing.write("Note", "x", "append").changed


def test_links_that_lead_in_circles_or_nowhere_are_no_notes(root: Path) -> None:
    (root / "a.md").symlink_to("b.md")
    (root / "b.md").symlink_to("a.md")
    (root / "gone.md").symlink_to("nowhere.md")
    (root / "round").symlink_to(".", target_is_directory=True)
    vault = open_vault(root)
    assert _paths(vault) == ["Folder/Inner.md", "Note.md"]
    assert refused(vault.read, "a.md") == FILE_NOT_FOUND
    assert refused(vault.read, "gone.md") == FILE_NOT_FOUND
    assert vault.search("needle", "", 0, 9).total == 2
    assert vault.read("round/round/Note.md").text == "needle #a\n"


@pytest.mark.timeout(20)  # opening a pipe that nobody writes to waits for ever
def test_what_is_no_regular_file_is_no_note_and_nothing_waits_for_it(root: Path) -> None:
    os.mkfifo(root / "Pipe.md")
    (root / "Dir.md").mkdir()
    write_vault(root, "=== Dir.md/Inside.md\nneedle\n")
    vault = open_vault(root)
    files = Files(str(root), 1000)
    for name in ("Pipe.md", "Dir.md"):
        assert refused(vault.read, name) == FILE_NOT_FOUND
        assert refused(files.read, VaultPath(name)) == FILE_NOT_FOUND  # as if put there just now
        assert refused(vault.writing.write, name, "x", "append") == FILE_NOT_FOUND
    assert _paths(vault) == ["Dir.md/Inside.md", "Folder/Inner.md", "Note.md"]
    assert vault.search("needle", "", 0, 9).total == 3


def test_reading_what_is_no_file_leaves_no_descriptor_open(root: Path) -> None:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("needs /proc to count descriptors")
    (root / "Dir.md").mkdir()
    os.mkfifo(root / "Pipe.md")
    files = Files(str(root), 4)
    before = len(os.listdir("/proc/self/fd"))
    for name in ("Dir.md", "Pipe.md", "Note.md", "gone.md"):
        refused(files.read, VaultPath(name))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_link_put_there_after_the_check_is_not_followed(
    root: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real_open = os.open

    def swap_then_open(path: Any, *args: Any, **kwargs: Any) -> int:
        (root / "Note.md").unlink()
        (root / "Note.md").symlink_to(outside / "Secret.md")
        return real_open(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", swap_then_open)
    assert refused(Files(str(root), 1000).read, VaultPath("Note.md")) == PATH_OUTSIDE_VAULT


def test_a_note_over_the_limit_is_refused_and_skipped(root: Path) -> None:
    (root / "Big.md").write_text("needle " * 3)
    vault = open_vault(root, max_bytes=12)
    with pytest.raises(VaultError) as caught:
        vault.read("Big")
    assert caught.value.code == TOO_LARGE
    assert caught.value.details == {"path": "Big.md", "size": 21, "max_size": 12}
    found = vault.search("needle", "", 0, 9)
    assert (found.total, found.searched, found.skipped) == (2, 2, 1)
    assert vault.read("Note").size == 10
    assert "Big.md" in _paths(vault)


def test_a_note_of_exactly_the_limit_is_read(root: Path) -> None:
    assert open_vault(root, max_bytes=10).read("Note").text == "needle #a\n"


def test_a_file_that_grows_while_it_is_read_is_held_to_the_limit(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_fstat = os.fstat

    def fstat_then_grow(descriptor: int) -> os.stat_result:
        status = real_fstat(descriptor)
        with open(root / "Note.md", "ab") as file:
            file.write(b"x" * 100)
        return status

    monkeypatch.setattr(os, "fstat", fstat_then_grow)
    assert refused(Files(str(root), 50).read, VaultPath("Note.md")) == TOO_LARGE


def test_names_no_client_can_say_are_skipped_and_reported(root: Path) -> None:
    try:
        with open(os.fsencode(root) + b"/\xff.md", "wb") as file:
            file.write(b"needle")
        os.mkdir(os.fsencode(root) + b"/\xfe")
    except OSError:
        pytest.skip("this file system refuses such names by itself")
    problems: list[Problem] = []
    assert {note.path for note in Files(str(root), 99).walk(problems=problems)} == {"Note.md", "Folder/Inner.md"}
    assert len(problems) == 2
    assert all(problem.path.encode() for problem in problems)


def test_hidden_files_and_folders_are_no_notes(root: Path) -> None:
    write_vault(root, "=== .obsidian/x.md\nneedle\n=== .x.md\nneedle\n=== a/.b/x.md\nneedle\n=== .trash/x.md\nneedle\n")
    vault = open_vault(root)
    assert _paths(vault) == ["Folder/Inner.md", "Note.md"]
    assert vault.search("needle", "", 0, 9).total == 2


def test_a_folder_that_cannot_be_listed_stops_nothing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_scandir = os.scandir

    def deny(path: Any) -> Any:
        if str(path).endswith("Folder"):
            raise PermissionError(13, "Permission denied")
        return real_scandir(path)

    monkeypatch.setattr(os, "scandir", deny)  # root may list anything, so taking the rights away proves nothing
    problems: list[Problem] = []
    assert [note.path for note in Files(str(root), 99).walk(problems=problems)] == ["Note.md"]
    assert problems == [Problem("Folder", "folder cannot be listed: Permission denied")]


def test_a_note_that_is_gone_before_it_is_looked_at_stops_nothing(root: Path) -> None:
    walk = Files(str(root), 99).walk()
    first = next(walk)
    for path in ("Note.md", "Folder/Inner.md"):
        (root / path).unlink()
    assert {first.path, *(note.path for note in walk)} <= {"Note.md", "Folder/Inner.md"}


@pytest.mark.parametrize(
    "act",
    [
        *EVERYTHING,
        lambda vault, name: vault.overview.list_notes(""),
        lambda vault, name: vault.search("x", "", 0, 9),
    ],
)
def test_a_vault_that_is_gone_is_an_error_not_an_empty_vault(root: Path, act: Callable[[Vault, str], Any]) -> None:
    """An unplugged drive: nothing is listed as "no notes", and above all nothing is written where it was."""
    vault = open_vault(root)
    root.rename(root.with_name("elsewhere"))
    assert refused(act, vault, "Note.md") == VAULT_NOT_FOUND
    assert not root.exists()


def test_a_reader_beside_a_writer_sees_whole_notes_only(root: Path) -> None:
    vault = open_vault(root)
    texts = {letter * 5000 for letter in "ab"}
    vault.writing.write("Note", "a" * 5000 + "\n", "overwrite")
    stop = threading.Event()
    seen: set[str] = set()

    def look() -> None:
        while not stop.is_set():
            seen.add((root / "Note.md").read_text().strip())

    reader = threading.Thread(target=look)
    reader.start()
    for round_ in range(60):
        vault.writing.write("Note", "ba"[round_ % 2] * 5000, "overwrite")
    stop.set()
    reader.join()
    assert seen <= texts
