"""The index after a change of many notes: what was applied is kept, and searches need not wait for all of it."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.stores import answers, answers_of_new, difference
from support.vaults import vault_over, write_vault
from support.waiting import wait_for
from vaultwire.tools.search import search_notes
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import Stopped
from vaultwire.vault.index import freshness, updater
from vaultwire.vault.index.freshness import QueuedChanges
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.index_folder import IndexFolder
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import NO_PROGRESS, Found, NoProgress, VaultPath
from vaultwire.vault.visibility.excludes import Excludes

# Far above what is measured, for a machine that does much else.
PATIENCE = 30.0
NOTES = 60
BATCH = 10
PATHS = [f"sub/{number:02}.md" for number in range(NOTES)]
QUERIES = ["red", "green", "-green", '"green pear"', "number59", "file:5", "reen"]


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat sixty notes as many: they are applied ten at a time."""
    monkeypatch.setattr(freshness, "_BATCH", BATCH)
    monkeypatch.setattr(updater, "MOST_READ", 5)
    monkeypatch.setattr(freshness, "_PATIENCE_SECONDS", 0.0)


class ReadFiles(Files):
    """A vault that counts what is read, on a drive that can hold one note back."""

    def __init__(self, root: str) -> None:
        super().__init__(root, 100_000)
        self.reads: Counter[str] = Counter()
        self.held = ""
        self.walked: Callable[[str], object] = str
        self.reached, self.may_go_on = threading.Event(), threading.Event()

    def walk_folders(self, folder: Any = None, *options: Any, **others: Any) -> Any:
        self.walked(folder or "")
        return super().walk_folders(folder, *options, **others)

    def read(self, path: Any, max_bytes: int | None = None) -> Any:
        self.reads[path] += 1
        if path == self.held:
            self.reached.set()
            assert self.may_go_on.wait(PATIENCE)
        return super().read(path, max_bytes)


@pytest.fixture
def files(tmp_path: Path) -> ReadFiles:
    notes = "".join(f"=== {path}\nred apple number{number}\n" for number, path in enumerate(PATHS))
    return ReadFiles(str(write_vault(tmp_path / "vault", notes)))


@pytest.fixture
def index(files: ReadFiles, tmp_path: Path) -> Index:
    excludes = Excludes()
    made = Index(files, IndexFolder(files.root, str(tmp_path / "cache")), lambda: excludes)
    search(made, "red")
    return made


@pytest.fixture
def watched(files: ReadFiles, index: Index) -> Iterator[Index]:
    is_ready = threading.Event()
    thread = threading.Thread(target=index.run_watch_loop, args=(lambda *_: is_ready.set(),))
    thread.start()
    assert is_ready.wait(PATIENCE)
    yield index
    files.may_go_on.set()
    index.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()


def change_all(files: ReadFiles) -> None:
    for number, path in enumerate(PATHS):
        Path(files.root, path).write_text(f"green pear number{number}\n")


def search(index: Index, query: str) -> Found:
    return index.search(parse_query(query), None, 0, 999, NO_PROGRESS)


def search_when_all_is_applied(index: Index, query: str) -> Found:
    """Search after the changes that the watch thread hears of, too, which may come after those that were queued here."""
    deadline = time.monotonic() + PATIENCE
    while True:
        index.notes(None, NO_PROGRESS)
        found = search(index, query)
        if not found.lacks_changes or time.monotonic() > deadline:
            return found


class StopsAt(NoProgress):
    """Progress that stops the work when it is asked for that many times, and keeps what is reported."""

    def __init__(self, checks: int) -> None:
        self._left = checks
        self.reported: list[tuple[int, int]] = []

    def check(self) -> None:
        self._left -= 1
        if not self._left:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        self.reported.append((done, total))


# ---------------------------------------------------------------------- what is kept


def test_what_was_applied_before_a_call_stopped_is_not_done_again(files: ReadFiles, index: Index) -> None:
    change_all(files)
    queue = QueuedChanges()
    queue.add(PATHS, ())
    files.reads.clear()
    progress = StopsAt(2 * BATCH + 2)
    with pytest.raises(Stopped):
        queue.apply(index._fresh._updater, progress)
    assert sum(files.reads.values()) == BATCH
    assert progress.reported == sorted(progress.reported)
    assert {total for _, total in progress.reported} == {NOTES}
    assert queue
    queue.apply(index._fresh._updater, NO_PROGRESS)
    assert files.reads == Counter(PATHS)
    assert not queue


def test_a_folder_is_applied_in_parts_as_its_notes_are(files: ReadFiles, index: Index) -> None:
    os.rename(Path(files.root, "sub"), Path(files.root, "new"))
    queue = QueuedChanges()
    queue.add((), ["sub", "new"])
    files.reads.clear()
    with pytest.raises(Stopped):
        queue.apply(index._fresh._updater, StopsAt(3 * BATCH))
    assert 0 < sum(files.reads.values()) < NOTES
    queue.apply(index._fresh._updater, NO_PROGRESS)
    assert files.reads == Counter(path.replace("sub", "new") for path in PATHS)
    assert not queue
    assert difference(answers(index, QUERIES), answers_of_new(Path(files.root), QUERIES)) == {}


def test_what_was_added_again_meanwhile_is_checked_again(files: ReadFiles, index: Index) -> None:
    queue = QueuedChanges()

    class ChangesAgain(NoProgress):
        def check(self) -> None:
            if not Path(files.root, PATHS[0]).read_text().startswith("blue"):
                Path(files.root, PATHS[0]).write_text("blue plum, and more of it\n")
                queue.add(PATHS[:1], ())

    change_all(files)
    queue.add(PATHS, ())
    queue.apply(index._fresh._updater, ChangesAgain())
    assert queue
    queue.apply(index._fresh._updater, NO_PROGRESS)
    assert not queue
    assert difference(answers(index, QUERIES), answers_of_new(Path(files.root), QUERIES)) == {}


# ---------------------------------------------------------------------- who need not wait


def hold_in_the_middle(files: ReadFiles, index: Index) -> None:
    files.held = PATHS[30]
    change_all(files)
    index.queue_changes(PATHS)
    assert files.reached.wait(PATIENCE)


def test_a_search_answers_while_changes_are_applied_and_says_that_some_are_missing(
    files: ReadFiles, watched: Index
) -> None:
    hold_in_the_middle(files, watched)
    found = search(watched, "file:00")
    assert (found.lacks_changes, [hit.path for hit in found.hits]) == (True, [PATHS[0]])
    vault = vault_over(files, watched, CachedSettings(files.root))
    partial = search_notes(vault, NO_PROGRESS, "file:00")
    assert partial.data["changes_pending"] is True
    assert "(Not all changed notes are indexed yet: other notes may match. Search again later.)" in partial.texts[0]
    # All others wait, for example those that plan a change.
    with pytest.raises(Stopped):
        watched.incoming(VaultPath(PATHS[0]), StopsAt(1))
    files.may_go_on.set()
    found = search_when_all_is_applied(watched, "green")
    assert (found.lacks_changes, found.total) == (False, NOTES)
    assert "changes_pending" not in search_notes(vault, NO_PROGRESS, "file:00").data


def test_later_pages_of_such_a_search_say_so_too(files: ReadFiles, watched: Index) -> None:
    hold_in_the_middle(files, watched)
    first = watched.search(parse_query("file:0"), None, 0, 2, NO_PROGRESS)
    files.may_go_on.set()
    watched.notes(None, NO_PROGRESS)
    second = watched.search(parse_query("file:0"), None, 2, 2, NO_PROGRESS, first.kept)
    assert (first.lacks_changes, second.lacks_changes) == (True, True)
    assert search_when_all_is_applied(watched, "file:0").lacks_changes is False


def test_an_index_that_is_not_watched_is_searched_whole(files: ReadFiles, index: Index) -> None:
    change_all(files)
    index.queue_changes(PATHS)
    found = search(index, "green")
    assert (found.lacks_changes, found.total) == (False, NOTES)


# ---------------------------------------------------------------------- while a change takes its steps


def test_nothing_is_applied_while_a_change_takes_its_steps_and_nobody_waits_for_it(
    files: ReadFiles, watched: Index
) -> None:
    files.reads.clear()
    with watched.hold_changes():
        change_all(files)
        watched.queue_changes(PATHS)
        found = search(watched, "file:00")
        assert (found.lacks_changes, [hit.path for hit in found.hits]) == (False, [PATHS[0]])
        assert len(watched.notes(None, NO_PROGRESS)) == NOTES
        assert sum(files.reads.values()) == 1  # the note that is shown
    assert search_when_applied(watched, "green").total == NOTES


def test_changes_wait_until_the_last_of_several_holders_is_done(files: ReadFiles, index: Index) -> None:
    queue = QueuedChanges()
    change_all(files)
    with queue.held():
        with queue.held():
            queue.add(PATHS, ())
        assert not queue
        assert not queue.is_empty
    assert queue
    queue.apply(index._fresh._updater, NO_PROGRESS)
    assert queue.is_empty


def test_after_lost_events_searches_need_not_wait_until_all_changes_are_applied(
    files: ReadFiles, watched: Index
) -> None:
    assert watched._fresh._watch is not None
    watched._fresh._watch._most = 0  # as if the kernel had dropped events
    files.held = PATHS[30]
    change_all(files)
    assert files.reached.wait(PATIENCE)
    found = search(watched, "file:00")
    assert (found.lacks_changes, [hit.path for hit in found.hits]) == (True, [PATHS[0]])
    files.may_go_on.set()
    assert search_when_applied(watched, "green").total == NOTES
    assert difference(answers(watched, QUERIES), answers_of_new(Path(files.root), QUERIES)) == {}


def test_settings_that_exclude_the_same_notes_have_no_file_checked(files: ReadFiles, watched: Index) -> None:
    checks: list[str] = []
    files.walked = checks.append
    Path(files.root, ".obsidian").mkdir()
    Path(files.root, ".obsidian", "app.json").write_text("{}")
    Path(files.root, "last.md").write_text("the last one")
    wait_for(lambda: search(watched, "last").total)
    assert watched._fresh._is_checked
    assert "" not in checks


def search_when_applied(index: Index, query: str) -> Found:
    """Search after all changes are applied, for which lists wait. The watch reports what was written last a moment later."""
    until = time.monotonic() + PATIENCE
    while True:
        notes = index.notes(None, NO_PROGRESS).all()
        is_new = all(os.stat(Path(index._files.root, note.path)).st_mtime_ns == note.modified_ns for note in notes)
        found = search(index, query)
        if (is_new and not found.lacks_changes) or time.monotonic() > until:
            return found
