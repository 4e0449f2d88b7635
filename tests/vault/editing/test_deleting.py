"""Deleting: into the vault's trash under a free name, or for good if the whole path was given."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from support.refusals import refusal, refused
from support.renaming import without_exchange
from support.vaults import is_in, open_vault, snapshot, write_vault
from vaultwire.vault.disk.files import TEMPORARY_PREFIX
from vaultwire.vault.errors import (
    AMBIGUOUS_NAME,
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    STALE_EDIT,
    TOO_LARGE,
    WRITE_FAILED,
)
from vaultwire.vault.value_types import NO_PROGRESS

VAULT = """
=== Note.md
note
=== Folder/Inner.md
inner
=== Folder/Note.md
second
=== Other/Note.md
third
"""
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links as POSIX has them")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.mark.parametrize("name", ["Folder/Inner.md", "Inner", "[[Inner|x]]", "folder/INNER"])
def test_a_note_is_moved_to_the_trash_byte_for_byte(root: Path, name: str) -> None:
    before = (root / "Folder" / "Inner.md").stat()
    deleted = open_vault(root).writing.delete(name, permanent=False)
    assert (deleted.path, deleted.trash_path) == ("Folder/Inner.md", ".trash/Inner.md")
    assert not (root / "Folder" / "Inner.md").exists()
    after = (root / ".trash" / "Inner.md").stat()
    assert (after.st_size, after.st_mtime_ns, after.st_mode) == (before.st_size, before.st_mtime_ns, before.st_mode)


def test_names_taken_in_the_trash_are_numbered_from_two(root: Path) -> None:
    vault = open_vault(root)
    trash_paths = [
        vault.writing.delete(path, permanent=False).trash_path
        for path in ("Note.md", "Folder/Note.md", "Other/Note.md")
    ]
    assert trash_paths == [".trash/Note.md", ".trash/Note 2.md", ".trash/Note 3.md"]
    assert [(root / str(path)).read_text() for path in trash_paths] == ["note\n", "second\n", "third\n"]


def test_the_same_note_can_be_deleted_again_and_again(root: Path) -> None:
    vault = open_vault(root)
    for number in range(1, 5):
        vault.writing.write("Fresh", str(number), "create")
        vault.writing.delete("Fresh", permanent=False)
    assert [(root / ".trash" / f"Fresh{suffix}.md").read_text() for suffix in ("", " 2", " 3", " 4")] == list("1234")


def test_a_deleted_note_is_not_found_any_more(root: Path) -> None:
    vault = open_vault(root)
    vault.writing.delete("Inner", permanent=False)
    for act in (
        vault.read,
        lambda name: vault.writing.delete(name, permanent=False),
        lambda name: vault.writing.write(name, "x", "append"),
    ):
        assert refused(act, "Inner") == FILE_NOT_FOUND
    assert vault.search("inner", "", 0, 9).total == 0


@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_what_cannot_be_deleted_for_good_is_there_again_and_said_to_be(
    root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    before = snapshot(root)
    vault, real = open_vault(root), os.unlink

    def refuse(place: Any, **kwargs: Any) -> None:
        if TEMPORARY_PREFIX in str(place):
            raise OSError(number, os.strerror(number))
        real(place, **kwargs)

    with monkeypatch.context() as failing:
        failing.setattr(os, "unlink", refuse)
        assert refused(vault.writing.delete, "Folder/Inner.md", permanent=True) in (WRITE_FAILED, PERMISSION_DENIED)
    assert snapshot(root) == before
    assert vault.writing.delete("Folder/Inner.md", permanent=True).trash_path is None


def test_deleting_for_good_leaves_nothing(root: Path) -> None:
    deleted = open_vault(root).writing.delete("Folder/Inner.md", permanent=True)
    assert (deleted.path, deleted.trash_path) == ("Folder/Inner.md", None)
    assert not (root / ".trash").exists()
    assert not (root / "Folder" / "Inner.md").exists()


@pytest.mark.parametrize("name", ["Folder/Inner", "folder/inner.md", "[[Folder/Inner]]", "Folder\\Inner.md"])
def test_the_whole_path_in_any_spelling_deletes_for_good(root: Path, name: str) -> None:
    assert open_vault(root).writing.delete(name, permanent=True).trash_path is None


@pytest.mark.parametrize("name", ["Inner", "Inner.md", "[[Inner]]"])
def test_a_name_alone_does_not_delete_for_good(root: Path, name: str) -> None:
    error = refusal(open_vault(root).writing.delete, name, permanent=True)
    assert error.code == INVALID_ARGUMENTS
    assert "Folder/Inner.md" in error.message
    assert (root / "Folder" / "Inner.md").exists()


def test_an_ambiguous_name_deletes_nothing(root: Path) -> None:
    (root / "Note.md").unlink()
    assert refused(open_vault(root).writing.delete, "Note", permanent=False) == AMBIGUOUS_NAME
    assert not (root / ".trash").exists()


@pytest.mark.parametrize("permanent", [False, True])
def test_a_note_that_changed_since_it_was_read_is_not_deleted(root: Path, permanent: bool) -> None:
    vault = open_vault(root)
    etag = vault.read("Folder/Inner").etag
    (root / "Folder" / "Inner.md").write_text("edited by the person")
    assert refused(vault.writing.delete, "Folder/Inner", permanent=permanent, if_match=etag) == STALE_EDIT
    assert (root / "Folder" / "Inner.md").read_text() == "edited by the person"
    vault.writing.delete("Folder/Inner", permanent=permanent, if_match=vault.read("Folder/Inner").etag)


@posix_only
@pytest.mark.parametrize("inside", [True, False])
def test_a_trash_that_is_a_link_is_not_used(root: Path, tmp_path: Path, inside: bool) -> None:
    elsewhere = root / "Folder" if inside else tmp_path
    (root / ".trash").symlink_to(elsewhere, target_is_directory=True)
    before = sorted(elsewhere.iterdir())
    vault = open_vault(root)
    assert refused(vault.writing.delete, "Note", permanent=False) == PATH_OUTSIDE_VAULT
    vault.writing.write("Note", "other notes change as before", "overwrite")
    assert (root / "Note.md").read_text() == "other notes change as before\n"
    assert sorted(elsewhere.iterdir()) == before


def test_a_trash_that_is_a_file_is_not_overwritten(root: Path) -> None:
    (root / ".trash").write_text("mine")
    assert refused(open_vault(root).writing.delete, "Note", permanent=False) == WRITE_FAILED
    assert (root / ".trash").read_text() == "mine"
    assert (root / "Note.md").exists()


@posix_only
@pytest.mark.parametrize("permanent", [False, True])
def test_deleting_a_linked_note_takes_the_link_not_what_it_points_to(root: Path, permanent: bool) -> None:
    (root / "Link.md").symlink_to("Folder/Inner.md")
    open_vault(root).writing.delete("Link.md", permanent=permanent)
    assert not (root / "Link.md").is_symlink()
    assert (root / "Folder" / "Inner.md").read_text() == "inner\n"


@posix_only
@pytest.mark.parametrize("name", ["link", "unlink", "mkdir"])
@pytest.mark.parametrize("number", [errno.EIO, errno.EACCES])
def test_a_note_the_system_does_not_let_go_stays_the_only_one(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int
) -> None:
    """``unlink`` fails once: behind it, the copy in the trash must go again."""
    without_exchange(monkeypatch)
    before = snapshot(root)
    real: Any = getattr(os, name)
    refusals = [True]

    def refuse_once(*args: Any, **kwargs: Any) -> Any:
        if refusals and is_in(root, args[0]):
            refusals.clear()
            raise OSError(number, os.strerror(number))
        return real(*args, **kwargs)

    with monkeypatch.context() as failing:
        failing.setattr(os, name, refuse_once)
        refused(open_vault(root).writing.delete, "Note", permanent=False)
    assert snapshot(root) == before


def test_a_note_with_the_longest_name_finds_room_in_the_trash(root: Path) -> None:
    vault = open_vault(root)
    name = "x" * 252
    for folder in ("Folder", "Other"):
        vault.writing.write(f"{folder}/{name}", folder, "create")
    paths = [vault.writing.delete(f"{folder}/{name}", permanent=False).trash_path for folder in ("Folder", "Other")]
    assert [(root / str(path)).read_text() for path in paths] == ["Folder", "Other"]


@pytest.mark.parametrize("name", ["Files/photo.png", "photo.png", "[[photo.png]]", "files/PHOTO.png"])
def test_an_attachment_is_moved_to_the_trash_and_back(root: Path, name: str) -> None:
    write_vault(root, "=== Files/photo.png\n\x89PNG, almost\n=== Photo.md\n![[photo.png]]\n")
    before, vault = snapshot(root), open_vault(root)
    assert vault.writing.delete(name, permanent=False).trash_path == ".trash/photo.png"
    assert not (root / "Files" / "photo.png").exists()
    vault.history.undo([1], "", NO_PROGRESS, dry_run=False)
    assert snapshot(root) == before


def test_an_attachment_too_large_to_read_goes_to_the_trash_but_not_for_good(root: Path) -> None:
    write_vault(root, f"=== film.mp4\n{'x' * 500}\n")
    before, vault = snapshot(root), open_vault(root, max_bytes=400)
    assert refused(vault.writing.delete, "film.mp4", permanent=True) == TOO_LARGE
    assert snapshot(root) == before
    assert vault.writing.delete("film.mp4", permanent=False).trash_path == ".trash/film.mp4"


def test_an_attachment_is_deleted_for_good_by_its_whole_path_only(root: Path) -> None:
    write_vault(root, "=== Files/photo.png\nx\n")
    vault = open_vault(root)
    assert refused(vault.writing.delete, "photo.png", permanent=True) == INVALID_ARGUMENTS
    vault.writing.delete("Files/photo.png", permanent=True)
    assert not (root / "Files" / "photo.png").exists()
