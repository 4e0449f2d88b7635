"""What keeping the index true leaves behind: counts that are kept, words for the next start, and nobody held up."""

from __future__ import annotations

import mmap
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.memory_text import MemoryText
from support.stores import BACKENDS, MAX_BYTES, Backend, answers, answers_of_new, difference, open_stored
from support.vaults import write_in_place, write_vault
from support.waiting import wait_for
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.watch import Watch
from vaultwire.vault.index import freshness, updater
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.index_folder import IndexFolder
from vaultwire.vault.index.search_plan import MatchAll
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress, NoteStat, VaultPath
from vaultwire.vault.visibility.excludes import CachedExcludes, Excludes

# Far above what is measured, for a machine that does much else.
PATIENCE = 30.0


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "".join(f"=== sub/{number}.md\nred apple\n" for number in range(9)))


def total(index: Index, query: str) -> int:
    return index.search(parse_query(query), None, 0, 9, NO_PROGRESS).total


# ---------------------------------------------------------------------- what changed


@pytest.mark.skipif(os.name == "nt", reason="Windows does not tell when a file was changed but by its time")
def test_a_note_written_in_place_is_read_again_though_size_time_and_inode_stay(root: Path, tmp_path: Path) -> None:
    for path in root.rglob("*.md"):
        os.utime(path, (1_000_000_000, 1_000_000_000))  # long enough ago to be relied on
    _, index, _ = open_stored(root, tmp_path / "cache")
    assert total(index, "red") == 9
    write_in_place(root / "sub/1.md", b"raw apple\n")
    assert (total(index, "red"), total(index, "raw")) == (8, 1)
    assert total(open_stored(root, tmp_path / "cache")[1], "raw") == 1


def test_a_file_that_only_got_another_name_or_mode_is_read_once_more_and_not_again(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in root.rglob("*.md"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    _, index, _ = open_stored(root, tmp_path / "cache")
    assert total(index, "red") == 9
    reads: list[VaultPath] = []
    real = Files.read

    def noted(self: Files, path: VaultPath, max_bytes: int | None = None) -> Any:
        reads.append(path)
        return real(self, path, max_bytes)

    monkeypatch.setattr(Files, "read", noted)
    (root / "sub/1.md").chmod(0o600)
    (root / "sub/2.md").rename(root / "sub/two.md")
    for expected in (["sub/1.md", "sub/two.md"], [], []):
        reads.clear()
        index.paths(NO_PROGRESS)
        assert sorted({*reads}) == expected


# ---------------------------------------------------------------------- counts

COUNTED: list[tuple[Callable[[Path], object], int, int]] = [
    (lambda root: (root / "new.md").write_text("pear"), 10, 0),
    (lambda root: (root / "picture.png").write_bytes(b"no note"), 10, 0),
    (lambda root: (root / "new.md").write_text("another pear"), 10, 0),
    (lambda root: (root / "sub/1.md").unlink(), 9, 0),
    (lambda root: (root / ".vaultwireignore").write_text("sub/2.md\n"), 8, 0),
    (lambda root: (root / "sub/2.md").write_text("excluded, and changed"), 8, 0),
    (lambda root: (root / "sub/2.md").unlink(), 8, 0),
    (lambda root: (root / ".vaultwireignore").write_text("*.png\n"), 8, 0),
    (lambda root: (root / "sub").rename(root / "moved"), 8, 0),
    (lambda root: (root / "moved/3.md").write_text("x" * 3000), 7, 1),
    (lambda root: (root / ".vaultwireignore").write_text("moved\n"), 1, 0),
    (lambda root: (root / ".vaultwireignore").unlink(), 7, 1),
    (lambda root: (root / "moved/3.md").write_text("short again"), 8, 0),
]


@pytest.mark.parametrize("alternates", [0, 1], ids=["by one index", "by two in turn"])
def test_the_notes_searched_are_counted_right_after_changes_by_any_process(
    root: Path, tmp_path: Path, alternates: int
) -> None:
    cache = tmp_path / "cache"
    indexes = [open_stored(root, cache, MemoryText, max_bytes=2000)[1] for _ in range(2)]
    for number, (change, searched, skipped) in enumerate(COUNTED):
        change(root)
        order = indexes[:: -1 if number & alternates else 1]
        for index in [*order, open_stored(root, cache, MemoryText, max_bytes=2000)[1]]:
            found = index.search(parse_query("red"), None, 0, 1, NO_PROGRESS)
            assert (number, found.searched, found.skipped) == (number, searched, skipped)
            assert index.recent(None, 1, NO_PROGRESS)[1] == searched + skipped
            below = index.search(parse_query("red"), VaultPath("moved"), 0, 1, NO_PROGRESS)
            assert below.searched + below.skipped == len([*(root / "moved").glob("*.md")]) * (searched > 1)


# ---------------------------------------------------------------------- words


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
def test_a_word_new_to_names_and_texts_at_once_is_known_to_the_next_start_in_both(
    root: Path, tmp_path: Path, backend: Backend
) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    assert total(index, "red") == 9
    (root / "Kumquat.md").write_text("kumquats")
    assert total(index, "red") == 9
    _, later, _ = open_stored(root, tmp_path / "cache", backend)
    assert (total(later, "file:umqua"), total(later, "content:umqua")) == (1, 1)


def test_each_of_two_processes_loads_the_words_of_the_other(root: Path, tmp_path: Path) -> None:
    indexes = [open_stored(root, tmp_path / "cache")[1] for _ in range(2)]
    for number in range(12):
        (root / "new.md").write_text(f"word{number}")
        for index in indexes[:: -1 if number & 1 else 1]:
            assert total(index, f"ord{number}") == 1


@pytest.mark.parametrize("backend", BACKENDS, ids=lambda backend: str(backend.__name__))
@pytest.mark.parametrize("count", [6, 40], ids=["of some notes", "of most notes"])
def test_words_of_many_new_notes_are_known_at_once_and_to_the_next_start(
    root: Path, tmp_path: Path, backend: Backend, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of some notes the words are added; of most notes the whole vocabulary is read again."""
    monkeypatch.setattr(updater, "MOST_READ", 3)
    for number in range(32):
        (root / f"{number}.md").write_text("pear")
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    assert total(index, "ear") == 32
    for number in range(count):
        (root / f"More {number}.md").write_text(f"kumquat{number}")
    for each in (index, open_stored(root, tmp_path / "cache", backend)[1]):
        assert [total(each, query) for query in ("umqua", "file:ore", "ppl", "ear")] == [count, count, 9, 32]


# ---------------------------------------------------------------------- beside calls


class SlowToCommit(MemoryText):
    """A text index that commits when it is told to."""

    def __init__(self, folder: str | None) -> None:
        super().__init__(folder)
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.may_end.set()

    def commit(self) -> None:
        self.begun.set()
        assert self.may_end.wait(PATIENCE)
        super().commit()


@pytest.fixture
def watched() -> Iterator[Callable[[Index], None]]:
    """Runs an index's watch loop until the end of the test."""
    running: list[tuple[Index, threading.Thread]] = []

    def watch(index: Index) -> None:
        ready = threading.Event()
        thread = threading.Thread(target=index.run_watch_loop, args=(lambda *_: ready.set(),))
        running.append((index, thread))
        thread.start()
        assert ready.wait(PATIENCE)

    yield watch
    for index, thread in running:
        index.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()


class Opens(NoProgress):
    """Opens a gate as soon as somebody waits."""

    def __init__(self, gate: threading.Event) -> None:
        self._gate = gate

    def check(self) -> None:
        self._gate.set()


def test_a_call_waits_while_another_applies_a_change(root: Path, watched: Callable[[Index], None]) -> None:
    begun, may_go = threading.Event(), threading.Event()
    files = Files(str(root), MAX_BYTES)
    kept = CachedExcludes(files.root, CachedSettings(files.root))

    def excludes() -> Excludes:
        if threading.current_thread().name == "the first":
            begun.set()
            assert may_go.wait(PATIENCE)
        return kept.get()

    index = Index(files, IndexFolder(files.root, None, open_text=MemoryText), excludes)
    watched(index)
    assert total(index, "red") == 9
    index.queue_changes(["new.md"])
    first = threading.Thread(target=total, args=(index, "red"), name="the first")
    first.start()
    try:
        assert begun.wait(PATIENCE)
        (root / "new.md").write_text("red apple")
        assert index.search(parse_query("red"), None, 0, 9, Opens(may_go)).total == 10
    finally:
        may_go.set()
        first.join(PATIENCE)


@pytest.fixture
def checked_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Has all files looked at again and again, whatever a watch hears of."""
    monkeypatch.setattr(freshness, "STALE_SECONDS", 0.0)


def wait_until_indexed(index: Index) -> None:
    """Wait until the text index has all notes: one that it lacks is read by each search."""
    wait_for(lambda: not index._fresh.parts.catalog.has_pending())


@pytest.mark.usefixtures("checked_often")
def test_what_no_watch_hears_of_is_seen_when_all_files_are_looked_at_again(
    root: Path, tmp_path: Path, watched: Callable[[Index], None]
) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache")
    watched(index)
    wait_until_indexed(index)
    with (root / "sub/1.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:3] = b"raw"
        memory.flush()
        wait_for(lambda: total(index, "raw") == 1)  # a search for "red" would read the note, and notice
    assert total(index, "red") == 8


def test_all_files_are_looked_at_again_also_while_changes_go_on(
    root: Path, tmp_path: Path, watched: Callable[[Index], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freshness, "STALE_SECONDS", 1.5)
    _, index, _ = open_stored(root, tmp_path / "cache")
    watched(index)
    wait_until_indexed(index)
    written_at = 0.0

    def is_found() -> bool:
        nonlocal written_at
        if time.monotonic() - written_at > 0.6:  # so never 1.5 seconds without a change, and often 0.3
            written_at = time.monotonic()
            (root / "busy.md").write_text(f"written at {written_at}")
        return total(index, "raw") == 1  # a search for what was there before would read the note, and notice

    with (root / "sub/1.md").open("r+b") as file, mmap.mmap(file.fileno(), 0) as memory:
        memory[:3] = b"raw"
        memory.flush()
        wait_for(is_found)


@pytest.mark.usefixtures("checked_often")
def test_nobody_waits_until_all_files_have_been_looked_at_again(root: Path, watched: Callable[[Index], None]) -> None:
    is_checked, begun, may_go, gone_on = (threading.Event() for _ in range(4))

    class Slow(Files):
        def walk_folders(self, *args: Any, **options: Any) -> Iterator[tuple[str, list[NoteStat]]]:
            yield from super().walk_folders(*args, **options)
            if is_checked.is_set():
                begun.set()
                may_go.wait(PATIENCE)
                gone_on.set()

    files = Slow(str(root), MAX_BYTES)
    kept = CachedExcludes(files.root, CachedSettings(files.root))
    index = Index(files, IndexFolder(files.root, None, open_text=MemoryText), kept.get)
    watched(index)
    assert total(index, "red") == 9
    is_checked.set()
    try:
        assert begun.wait(PATIENCE)
        (root / "new.md").write_text("red apple")
        (root / "sub/1.md").unlink()
        index.queue_changes(["new.md", "sub/1.md"])
        assert (total(index, "red"), total(index, "apple")) == (9, 9)
        assert not gone_on.is_set()
    finally:
        may_go.set()


def test_what_is_written_while_the_text_index_commits_is_found_at_once_and_kept(
    root: Path, watched: Callable[[Index], None]
) -> None:
    made: list[SlowToCommit] = []

    def backend(folder: str | None) -> SlowToCommit:
        made.append(SlowToCommit(folder))
        return made[-1]

    vault, index, _ = open_stored(root, None, backend)
    watched(index)
    assert total(index, "red") == 9
    (text,) = made
    text.may_end.clear()
    text.begun.clear()
    vault.writing.write("new.md", "pear one", "create")
    assert text.begun.wait(PATIENCE)
    try:
        before = time.monotonic()
        place = root / "new.md"
        was = place.stat()
        place.write_text("pear two")
        os.utime(place, ns=(was.st_atime_ns, was.st_mtime_ns))  # as if within the same tick of the file system's clock
        index.queue_changes(["new.md"])
        vault.writing.write("newer.md", "pear three", "create")
        vault.writing.delete("sub/1.md", permanent=True)
        assert [total(index, query) for query in ("pear", "one", "two", "three", "red")] == [2, 0, 1, 1, 8]
        assert time.monotonic() - before < PATIENCE / 2
        assert not text.may_end.is_set()
    finally:
        text.may_end.set()
    until = time.monotonic() + PATIENCE
    while index._fresh.parts.catalog.has_pending():
        assert time.monotonic() < until
        text.begun.clear()
        text.begun.wait(0.05)
    queries = ["pear", "one", "two", "three", "red"]
    assert difference(answers(index, queries), answers_of_new(root, queries)) == {}
    assert text.search(MatchAll(), (), 0, None).total == 10


def test_hidden_files_that_change_are_no_next_changes(root: Path) -> None:
    _, index, _ = open_stored(root, None, MemoryText)
    (root / ".obsidian").mkdir()
    watch = Watch(str(root))
    (root / ".obsidian/workspace.json").write_text("[]")
    (root / ".is_excluded.tmp").write_text("new text")
    before = time.monotonic()
    assert not any(index._fresh._next_changes(watch, 0.3))
    assert time.monotonic() - before >= 0.3
    (root / "sub/1.md").write_text("pear")
    assert index._fresh._next_changes(watch, PATIENCE).paths == {"sub/1.md"}
    watch.close()
