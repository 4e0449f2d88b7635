"""The first build of a large vault: in parts, which bounds its memory; and what is answered while it goes on."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.stores import BACKENDS, Backend, answers, answers_of_new, difference, open_stored
from support.vaults import vault_over, write_vault
from vaultwire.tools.search import search_notes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import Stopped
from vaultwire.vault.index import catalog_queries, freshness, updater
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.index_folder import IndexFolder
from vaultwire.vault.index.search_plan import BODY, AnyWord
from vaultwire.vault.index.text_index import VALUE_FIELDS, WORD_FIELDS, BrokenTextIndexError, TextDocument, TextIndex
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import NO_PROGRESS, Found, IndexedSoFar, NoProgress
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.excludes import Excludes

# Far above what is measured, for a machine that does much else.
PATIENCE = 30.0
NOTES = 60
WORDS = ["red", "green", "blue", "kiwi", "plum", "café", "日本"]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat sixty notes as a large vault: they are committed in eight parts, the first of five notes."""
    monkeypatch.setattr(updater, "_ONE_COMMIT", 20)
    monkeypatch.setattr(updater, "_FIRST", 5)
    monkeypatch.setattr(updater, "MOST_READ", 10)
    monkeypatch.setattr(updater, "_BATCH", 3)
    monkeypatch.setattr(freshness, "_PATIENCE_SECONDS", 0.0)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    notes = "".join(
        f"=== sub{number % 3}/{number:03}.md\nred apple number{number} {WORDS[number % 7]} #n{number % 5}\n"
        for number in range(NOTES)
    )
    return write_vault(tmp_path / "vault", notes)


def search(index: Index, query: str) -> Found:
    return index.search(parse_query(query), None, 0, 999, NO_PROGRESS)


def search_whole(index: Index, query: str) -> Found:
    """Search once the text index has all notes. A thread of the watch loop builds it."""
    until = time.monotonic() + PATIENCE
    while True:
        found = search(index, query)
        if not (found.so_far or found.lacks_changes or index.building()):
            return found
        assert time.monotonic() < until


# ---------------------------------------------------------------------- in parts


@pytest.mark.parametrize("notes", [1, 800, 801, 12_000, 40_000, 40_001, 100_000, 3_000_000])
def test_commits_of_many_notes_are_a_multiple_of_eight_and_have_few_notes_each(
    notes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    points = updater.commit_points(notes)
    assert points[-1] == notes
    assert points == sorted(set(points))
    if notes > 800:
        assert len(points) % 8 == 0
        assert max(end - start for start, end in zip([0, *points], points, strict=False)) < 6_000
        assert points[0] == min(2_000, notes // len(points))


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_index_built_in_parts_answers_as_one_that_reads_all_notes(
    root: Path, tmp_path: Path, backend: Backend
) -> None:
    queries = ["red", "green", "umber1", "-kiwi", "plum OR blue", '"red apple"', "cafe", "日", "tag:#n3", "number59"]
    _, index, _ = open_stored(root, tmp_path / "cache", backend)
    assert difference(answers(index, queries), answers_of_new(root, queries)) == {}
    if backend is not BACKENDS[0]:  # which keeps nothing
        _, again, _ = open_stored(root, tmp_path / "cache", backend)
        assert difference(answers(again, queries), answers_of_new(root, queries)) == {}


class CountingText(TextIndex):
    """A text index that counts the notes it holds in memory."""

    def __init__(self, folder: str | None) -> None:
        super().__init__(folder)
        self.held = self.most_held = self.commits = 0

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        super().put(document, is_new=is_new)
        self.held += 1
        self.most_held = max(self.most_held, self.held)

    def commit(self) -> None:
        super().commit()
        self.held = 0
        self.commits += 1


def test_few_notes_wait_in_memory_and_searches_have_one_segment_in_the_end(root: Path, tmp_path: Path) -> None:
    opened: list[CountingText] = []

    def open_text(folder: str | None) -> CountingText:
        opened.append(CountingText(folder))
        return opened[-1]

    _, index, home = open_stored(root, tmp_path / "cache", open_text)
    assert search(index, "red").total == NOTES
    (text,) = opened
    assert (text.commits, text.held) == (8, 0)
    assert text.most_held <= 8
    assert text._searcher.num_segments == 1
    # The files of segments that were merged are gone.
    assert home.folder is not None
    assert len(list(Path(home.folder).rglob("*.idx"))) == 1


def document(note_id: int) -> TextDocument:
    empty = dict.fromkeys(WORD_FIELDS, "")
    return TextDocument(note_id, {**empty, BODY: f"red number{note_id}"}, {field: [] for field in VALUE_FIELDS})


def test_what_a_search_found_during_a_build_stays_as_it_was_and_keeps_no_merged_segment(tmp_path: Path) -> None:
    text = TextIndex(str(tmp_path))
    assert text.start_writing()
    text.put(document(1), is_new=True)
    text.put(document(2), is_new=True)
    text.commit()
    assert text.start_writing()
    ranking = text.ranking(AnyWord(BODY, ("red",), ()), ())
    before = ranking.page(0, 9)
    for number in range(3, 10):
        text.put(document(number), is_new=True)
        text.commit()
    text.stop_writing()
    assert (text._searcher.num_segments, text._searcher.num_docs) == (1, 9)
    assert ranking.page(0, 9) == before
    assert ranking.page(1, 9).ids == before.ids[1:]
    if sys.platform == "linux":
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace")
        assert not [line for line in maps.splitlines() if str(tmp_path) in line and "(deleted)" in line]


@pytest.mark.skipif(sys.platform == "win32", reason="a folder in use cannot be renamed there")
def test_a_part_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    text = TextIndex(str(tmp_path / "text"))
    assert text.start_writing()
    text.put(document(1), is_new=True)
    (tmp_path / "text").rename(tmp_path / "elsewhere")
    with pytest.raises(BrokenTextIndexError):
        text.commit()
    text.stop_writing()


def test_the_catalogs_log_is_short_after_a_large_build(root: Path, tmp_path: Path) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache")
    index.notes(None, NO_PROGRESS)
    (log,) = (tmp_path / "cache").rglob("catalog.sqlite3-wal")
    (catalog,) = (tmp_path / "cache").rglob("catalog.sqlite3")
    assert log.stat().st_size < catalog.stat().st_size


# ---------------------------------------------------------------------- while it goes on


class HeldFiles(Files):
    """A vault on a drive that gives one note, when it is read for the n-th time, only when it is told to.

    The catalog reads each note first, then the text index. Between these every other note is read, for n-grams.
    """

    def __init__(self, root: str, held: str = "", at: int = 0) -> None:
        super().__init__(root, 100_000)
        self._held, self._at = held, at
        self.reads = Counter[str]()
        self.reached, self.may_go_on = threading.Event(), threading.Event()

    def read(self, path: Any, max_bytes: int | None = None) -> Any:
        self.reads[path] += 1
        if path == self._held and self.reads[path] == self._at:
            self.reached.set()
            assert self.may_go_on.wait(PATIENCE)
        return super().read(path, max_bytes)


class Building:
    """An index whose watch loop builds it as far as one note, and waits there."""

    def __init__(self, root: Path, cache: Path, held: str, at: int) -> None:
        self.files = HeldFiles(str(root), held, at)
        excludes = Excludes()
        self.index = Index(self.files, IndexFolder(self.files.root, str(cache)), lambda: excludes)
        self.is_ready = threading.Event()
        self._thread = threading.Thread(target=self.index.run_watch_loop, args=(lambda *_: self.is_ready.set(),))
        self._thread.start()

    @property
    def vault(self) -> Vault:
        return vault_over(self.files, self.index, CachedSettings(self.files.root))

    def end(self) -> None:
        self.files.may_go_on.set()
        self.index.close()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def build(root: Path, tmp_path: Path) -> Iterator[Callable[..., Building]]:
    """Begins to build the index of the vault; the last of the notes is ``sub2/059.md``."""
    begun: list[Building] = []

    def begin(held: str = "sub2/008.md", at: int = 2) -> Building:
        begun.append(Building(root, tmp_path / "cache", held, at))
        return begun[-1]

    yield begin
    for building in begun:
        building.end()


def test_searches_during_a_build_read_what_is_indexed_once_after_each_commit(build: Callable[..., Building]) -> None:
    building = build()
    assert building.files.reached.wait(PATIENCE)
    first, catalog = search(building.index, "red"), building.index._fresh.parts.catalog
    before = building.index._searches._snapshot
    catalog.set_meta("changes", catalog.changes() + 1)  # as more notes do that are read
    assert search(building.index, "red").so_far == first.so_far
    assert building.index._searches._snapshot is before
    with catalog.writing():
        catalog.mark_indexed([], [])
    assert search(building.index, "red").so_far == first.so_far
    assert building.index._searches._snapshot is not before
    building.files.may_go_on.set()
    assert search_whole(building.index, "red").total == NOTES


def test_a_search_answers_from_what_is_indexed_and_says_how_much_that_is(build: Callable[..., Building]) -> None:
    building = build()  # forty-two notes are read, of which those at the last commit can be found
    assert building.files.reached.wait(PATIENCE)
    found = search(building.index, "red")
    assert found.so_far is not None
    assert found.so_far.notes == NOTES
    assert 5 <= found.so_far.indexed < NOTES
    assert (found.total, found.searched, found.skipped) == (found.so_far.indexed, found.so_far.indexed, 0)
    assert all(hit.path < "sub2" for hit in found.hits)
    # Words inside words, too, and only what is indexed.
    assert search(building.index, "umber0").total == 1
    assert search(building.index, "-red").total == 0
    assert search(building.index, "number59").total == 0
    building.files.may_go_on.set()
    found = search_whole(building.index, "red")
    assert (found.total, found.searched) == (NOTES, NOTES)
    assert search(building.index, "number59").total == 1


def test_another_process_answers_from_the_same_part_meanwhile(build: Callable[..., Building]) -> None:
    first = build()
    assert first.files.reached.wait(PATIENCE)
    second = build("no such note")
    ours, theirs = search(first.index, "red"), search(second.index, "red")
    assert ours.so_far is not None
    # How rare a word is, and so the score, depends on what else the text index has.
    assert {hit.path for hit in ours.hits} == {hit.path for hit in theirs.hits}
    assert (ours[1:4], ours.so_far) == (theirs[1:4], theirs.so_far)
    first.files.may_go_on.set()
    assert search_whole(second.index, "red").total == NOTES


class Waits(NoProgress):
    """Progress of a call that is cancelled as soon as it waits for the index."""

    def __init__(self) -> None:
        self.reported: list[tuple[int, int]] = []

    def report(self, done: int, total: int, message: str) -> None:
        self.reported.append((done, total))

    def check(self) -> None:
        if self.reported:
            raise Stopped


@pytest.mark.parametrize(
    "ask",
    [
        lambda index, progress: index.notes(None, progress),
        lambda index, progress: index.incoming("sub0/000.md", progress),
        lambda index, progress: index.link_graph(progress),
        lambda index, progress: index.count_tags(None, progress),
        lambda index, progress: index.stats(9, progress),
        lambda index, progress: index.links_asking(["000"], [], progress),
        lambda index, progress: index.notes_with("n1", "", progress),
    ],
)
def test_all_other_calls_wait_for_the_catalog_only_and_report_how_far_it_is(
    ask: Callable[..., object], build: Callable[..., Building]
) -> None:
    building = build(at=1)
    assert building.files.reached.wait(PATIENCE)
    progress = Waits()
    with pytest.raises(Stopped):
        ask(building.index, progress)
    done, total = progress.reported[0]
    assert 0 < done < total == NOTES
    building.end()
    building = build("sub0/006.md")  # when it is read for the text index, no text can be found yet
    ask(building.index, NO_PROGRESS)


def test_before_the_first_part_is_indexed_a_search_waits(build: Callable[..., Building]) -> None:
    building = build("sub0/006.md")
    assert building.files.reached.wait(PATIENCE)
    with pytest.raises(Stopped):
        building.index.search(parse_query("red"), None, 0, 9, Waits())


def test_a_vault_without_a_watch_loop_is_searched_whole(root: Path, tmp_path: Path) -> None:
    _, index, _ = open_stored(root, tmp_path / "cache")
    found = search(index, "red")
    assert (found.so_far, found.total) == (None, NOTES)


def test_a_small_vault_is_never_searched_in_part(
    build: Callable[..., Building], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(updater, "_ONE_COMMIT", 1_000)
    building = build()
    assert building.files.reached.wait(PATIENCE)
    with pytest.raises(Stopped):
        building.index.search(parse_query("red"), None, 0, 9, Waits())


@pytest.mark.parametrize("one_commit", [20, 59])
def test_a_build_that_was_cut_short_goes_on_where_it_was(
    root: Path, tmp_path: Path, one_commit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stops(NoProgress):
        def report(self, done: int, total: int, message: str) -> None:
            if done > 30:
                raise Stopped

    monkeypatch.setattr(updater, "_ONE_COMMIT", one_commit)
    for path in root.rglob("*.md"):
        os.utime(path, (1_700_000_000, 1_700_000_000))  # a note that was just written would be read again
    _, index, _ = open_stored(root, tmp_path / "cache")
    with pytest.raises(Stopped):
        index.notes(None, Stops())
    files = HeldFiles(str(root))
    _, index, _ = open_stored(root, tmp_path / "cache", files=files)
    index.notes(None, NO_PROGRESS)
    assert sum(files.reads.values()) < NOTES  # those that the catalog lacked
    with pytest.raises(Stopped):
        index.search(parse_query("red"), None, 0, 0, Stops())
    indexed = max(point for point in updater.commit_points(NOTES) if point <= 36)
    assert catalog_queries.indexed_so_far(index._fresh.parts.catalog) == IndexedSoFar(indexed, NOTES)
    files = HeldFiles(str(root))
    _, again, _ = open_stored(root, tmp_path / "cache", files=files)
    again.search(parse_query("red"), None, 0, 0, NO_PROGRESS)
    assert sum(files.reads.values()) == NOTES - indexed
    assert set(files.reads.values()) == {1}
    found = search(again, "red")
    assert (found.so_far, found.total) == (None, NOTES)
    assert catalog_queries.indexed_so_far(again._fresh.parts.catalog) is None


# ---------------------------------------------------------------------- what a model sees


def test_the_tool_says_how_much_is_indexed_until_all_is(build: Callable[..., Building]) -> None:
    building = build()
    assert building.files.reached.wait(PATIENCE)
    partial = search_notes(building.vault, NO_PROGRESS, "number0")
    so_far = partial.data["indexed_so_far"]
    assert so_far["notes"] == NOTES
    assert building.vault.building_index() == f"(Indexed the text of {so_far['indexed']} of {NOTES} notes so far.)"
    building.files.may_go_on.set()
    search_whole(building.index, "red")
    whole = search_notes(building.vault, NO_PROGRESS, "number0")
    assert "indexed_so_far" not in whole.data
    assert building.vault.building_index() == ""
