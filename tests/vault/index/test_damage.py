"""Whatever happens to the folder of a kept index, answers stay right and nothing raises."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support import stores
from support.memory_text import MemoryText
from support.stores import BACKENDS, Backend, difference, open_stored
from support.vaults import write_vault
from vaultwire.vault.index import updater
from vaultwire.vault.index.catalog import INDEXES
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.text_index import BrokenTextIndexError, TextIndex

QUERIES = ["red", "-red", "#late", "'red apple' OR pear", "本語"]
KEEPING = [backend for backend in BACKENDS if backend.__name__ != "MemoryText"]


@pytest.fixture(params=KEEPING, ids=lambda backend: str(backend.__name__))
def backend(request: pytest.FixtureRequest) -> Backend:
    chosen: Backend = request.param
    return chosen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    notes = "".join(
        f"=== sub/{number}.md\nred apple {number} #fruit/n{number} [[{number + 1}]]\n" for number in range(12)
    )
    return write_vault(tmp_path / "vault", f"{notes}=== Café.md\n日本語 crème\n=== p.png\nx\n")


def answers(index: Index) -> dict[str, Any]:
    return stores.answers(index, QUERIES)


def answers_of_new(root: Path) -> dict[str, Any]:
    return stores.answers_of_new(root, QUERIES)


def change(root: Path) -> None:
    """Change the vault so that the next answer needs the index to be written."""
    (root / "sub" / "0.md").write_text("green pear #late\n")
    (root / "sub" / "1.md").unlink()


def files_of(cache: Path) -> list[Path]:
    return sorted(path for path in cache.rglob("*") if path.is_file())


def cut_to_half(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def cut_to_nothing(path: Path) -> None:
    os.truncate(path, 0)


def write_over(path: Path) -> None:
    path.write_bytes(bytes(range(255, -1, -1)) * (path.stat().st_size // 256 + 1))


def delete(path: Path) -> None:
    path.unlink()


def put_another_there(path: Path) -> None:
    """As a program does that saves whole files."""
    path.with_name("new").write_bytes(b"something else\n" * 99)
    path.with_name("new").replace(path)


DAMAGES = [cut_to_half, cut_to_nothing, write_over, delete, put_another_there]


def damaged(tmp_path: Path, number: int, sound: Path) -> Path:
    cache = tmp_path / f"cache{number}"
    shutil.copytree(sound, cache)
    return cache


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: str(damage.__name__))
def test_a_damaged_file_is_rebuilt(
    tmp_path: Path, root: Path, backend: Backend, damage: Callable[[Path], None]
) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    answers(index)
    # As a killed program leaves it: with the logs of what was written last.
    shutil.copytree(tmp_path / "cache", tmp_path / "sound")
    count = len(files_of(tmp_path / "sound"))
    assert count > 2
    expected = answers_of_new(root)
    for number in range(count):
        cache = damaged(tmp_path, number, tmp_path / "sound")
        victim = files_of(cache)[number]
        damage(victim)
        _, again, home = open_stored(root, cache, backend)
        assert difference(answers(again), expected) == {}, victim
        assert home.problem == "", victim
        again.close()
        shutil.rmtree(cache)
    index.close()


# What is mapped into memory and then cut short ends any process that looks there; what is deleted or exchanged does not.
@pytest.mark.parametrize("damage", [delete, put_another_there], ids=lambda damage: str(damage.__name__))
@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")
def test_files_lost_while_they_are_open_cost_no_answer(
    tmp_path: Path, root: Path, backend: Backend, damage: Callable[[Path], None]
) -> None:
    _, index, _ = open_stored(root, tmp_path / "sound", backend)
    answers(index)
    index.close()
    for number in range(len(files_of(tmp_path / "sound"))):
        cache = damaged(tmp_path, number, tmp_path / "sound")
        vault = tmp_path / f"vault{number}"
        shutil.copytree(root, vault)
        _, index, _ = open_stored(vault, cache, backend)
        answers(index)
        victims = files_of(cache)
        victim = victims[number % len(victims)]
        damage(victim)
        change(vault)
        expected = answers_of_new(vault)
        assert difference(answers(index), expected) == {}, victim
        _, other, _ = open_stored(vault, cache, backend)
        assert difference(answers(other), expected) == {}, victim


@pytest.mark.skipif(sys.platform == "win32", reason="open files cannot be deleted there")
def test_a_folder_deleted_while_it_is_open_costs_no_answer(tmp_path: Path, root: Path, backend: Backend) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    _, other, _ = open_stored(root, tmp_path / "cache", backend)
    answers(index), answers(other)
    shutil.rmtree(tmp_path / "cache")
    change(root)
    for one in (index, other, index, other):
        assert difference(answers(one), answers_of_new(root)) == {}
    (root / "sub" / "2.md").write_text("changed again\n")
    for one in (other, index):
        assert difference(answers(one), answers_of_new(root)) == {}


def test_of_two_that_find_the_index_broken_one_rebuilds_it(tmp_path: Path, root: Path, backend: Backend) -> None:
    """The second takes what the first has made, and does not begin once more."""
    _, first, home = open_stored(root, tmp_path / "cache", backend)
    _, second, second_home = open_stored(root, tmp_path / "cache", backend)
    answers(first), answers(second)
    home.wipe(first._fresh.parts)
    first._fresh._open()
    answers(first)
    made = sorted(path.stat().st_ino for path in files_of(tmp_path / "cache") if path.name == "catalog.sqlite3")
    second_home.wipe(second._fresh.parts)
    second._fresh._open()
    assert difference(answers(second), answers_of_new(root)) == {}
    assert made == sorted(path.stat().st_ino for path in files_of(tmp_path / "cache") if path.name == "catalog.sqlite3")
    change(root)
    for one in (first, second):
        assert difference(answers(one), answers_of_new(root)) == {}


def test_a_text_index_older_or_newer_than_its_catalog_is_rebuilt(tmp_path: Path, root: Path, backend: Backend) -> None:
    """After a power cut either may have lost its last moments."""
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    answers(index)
    index.close()
    shutil.copytree(tmp_path / "cache", tmp_path / "older")
    for number in range(100, 103):
        (root / f"{number}.md").write_text("red and new\n")
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    answers(index)
    index.close()
    for newer, older in ((tmp_path / "cache", tmp_path / "older"), (tmp_path / "older", tmp_path / "cache")):
        mixed = tmp_path / f"mixed-{newer.name}"
        shutil.copytree(newer, mixed)
        for path in files_of(mixed):
            if path.name.startswith("catalog.sqlite3"):
                path.unlink()
        for path in files_of(older):
            if path.name.startswith("catalog.sqlite3"):
                shutil.copy(path, mixed / path.relative_to(older))
        _, index, _ = open_stored(root, mixed, backend)
        assert difference(answers(index), answers_of_new(root)) == {}
        index.close()


def test_a_catalog_of_another_format_is_not_opened(tmp_path: Path, root: Path) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache")
    answers(index)
    index.close()
    (catalog,) = (path for path in files_of(tmp_path / "cache") if path.name == "catalog.sqlite3")
    with sqlite3.connect(catalog) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    _, index, _ = open_stored(root, tmp_path / "cache")
    assert difference(answers(index), answers_of_new(root)) == {}
    versions = []
    for path in files_of(tmp_path / "cache"):
        if path.name == "catalog.sqlite3":
            connection = sqlite3.connect(path)
            versions += connection.execute("PRAGMA user_version").fetchone()
            connection.close()
    assert 99 not in versions


def test_where_nothing_can_be_kept_the_index_is_in_memory_and_says_why(tmp_path: Path, root: Path) -> None:
    (tmp_path / "file").write_text("")
    for cache in (tmp_path / "file", Path("/proc/none") if sys.platform == "linux" else tmp_path / "file" / "below"):
        _, index, home = open_stored(root, cache, TextIndex)
        assert difference(answers(index), answers_of_new(root)) == {}
        assert str(cache) in home.problem
        assert home.folder is None


class _OnAFullDisk(MemoryText):
    """A text index that cannot be written where it is to be kept."""

    def __init__(self, folder: str | None) -> None:
        super().__init__()
        self._is_kept = folder is not None

    def commit(self) -> None:
        if self._is_kept:
            raise BrokenTextIndexError("No space left on device")
        super().commit()


def test_an_index_that_breaks_again_and_again_is_kept_in_memory(root: Path, tmp_path: Path) -> None:
    _, index, home = open_stored(root, tmp_path / "cache", _OnAFullDisk)
    assert difference(answers(index), answers_of_new(root)) == {}
    assert (home.folder, "No space left" in home.problem) == (None, True)
    change(root)
    assert difference(answers(index), answers_of_new(root)) == {}


def test_a_first_build_whose_commit_fails_is_rebuilt_with_all_its_indexes(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text index commits on another thread, while the catalog notes down that it has."""
    monkeypatch.setattr(updater, "MOST_READ", 5)
    failures = ["of the first build"]

    class FailingOnce(TextIndex):
        def commit(self) -> None:
            if failures:
                raise BrokenTextIndexError(failures.pop())
            super().commit()

    _, index, home = open_stored(root, tmp_path / "cache", FailingOnce)
    assert difference(answers(index), answers_of_new(root)) == {}
    assert (failures, home.problem) == ([], "")
    catalog = index._fresh.parts.catalog
    assert set(INDEXES) <= {name for (name,) in catalog.rows("SELECT name FROM sqlite_master WHERE type = 'index'")}
    assert not catalog.has_pending()


def test_what_earlier_versions_kept_of_the_vault_is_removed(root: Path, tmp_path: Path) -> None:
    _, _, home = open_stored(root, tmp_path / "cache")
    assert home.folder is not None
    kept = Path(home.folder)
    version, _, key = kept.name.partition("-")
    older, other = kept.with_name(f"v1-{key}"), kept.with_name("v1-another")
    for folder in (older, other):
        (folder / "1").mkdir(parents=True)
    open_stored(root, tmp_path / "cache")
    assert int(version[1:]) > 1
    assert (kept.is_dir(), older.exists(), other.exists()) == (True, False, True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Return a folder that is a disk of its own with room for little."""
    place = tmp_path / "disk"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=60", "tmpfs", str(place)]
    if sys.platform != "linux" or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no disk can be mounted here")
    yield place
    subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill(place: Path) -> None:
    """Leave no room, neither for bytes nor for files."""
    with open(place / "filler", "wb", buffering=0) as filler, contextlib.suppress(OSError):
        while True:
            filler.write(b"x" * 512)
    with contextlib.suppress(OSError):
        for number in range(100):
            (place / f"filler {number}").touch()


@pytest.mark.parametrize("when", ["before", "after", "broken"])
def test_a_full_disk_costs_no_answer(small_disk: Path, root: Path, backend: Backend, when: str) -> None:
    if when == "before":
        fill(small_disk)
    _, index, home = open_stored(root, small_disk / "cache", backend)
    assert difference(answers(index), answers_of_new(root)) == {}
    if when != "before":
        fill(small_disk)
    if when == "broken":
        for path in (small_disk / "cache").rglob("*.sqlite3"):
            with open(path, "r+b", buffering=0) as file:  # in its place: a new file would find no room
                file.write(b"x" * path.stat().st_size)
    for number in range(2):
        for note in range(10):
            (root / "sub" / f"more {note}.md").write_text(
                f"red apple {number} #late{note} " + f"word{number * note} " * 2000
            )
        change(root)
        assert difference(answers(index), answers_of_new(root)) == {}
        (root / "sub" / "1.md").write_text("back again #late\n")
    assert home.problem == "" or "cannot be kept" in home.problem
    index.close()
