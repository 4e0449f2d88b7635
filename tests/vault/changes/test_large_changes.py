"""Changes of many files: what they hold in memory, how they sync and report, what a dry run shows. Counted, not timed."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest

from support.killing import open_changes, tree
from support.vaults import open_vault
from vaultwire.vault.changes import journal
from vaultwire.vault.changes.change import Author, Move, Step, Write, edit_of, follow
from vaultwire.vault.changes.projected_tree import MovePaths
from vaultwire.vault.changes.undo import plan_undo_all
from vaultwire.vault.disk import file_operations
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.errors import STALE_EDIT, Stopped, VaultError
from vaultwire.vault.plans import context
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress, VaultPath

AUTHOR = Author("someone", "rename")
NOTES = 150


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A vault of notes whose text cannot be compressed, in a folder, all with one property and a link to the next."""
    place = tmp_path / "vault" / "Many"
    place.mkdir(parents=True)
    chance = random.Random(1)
    for number in range(NOTES):
        text = f"---\nold: {number}\n---\n[[Many/n{number + 1}]]\n{chance.randbytes(1_000).hex()}\n"
        (place / f"n{number}.md").write_text(text)
    return place.parent


class Listening(NoProgress):
    """Remembers what is reported, and says stop once a report begins so."""

    def __init__(self, until: str = "never") -> None:
        self.reports: list[tuple[int, int, str]] = []
        self._until = until
        self._is_over = False

    def check(self) -> None:
        if self._is_over:
            raise Stopped

    def report(self, done: int, total: int, message: str) -> None:
        self.reports.append((done, total, message))
        self._is_over = self._is_over or message.startswith(self._until)


def held(steps: list[Step]) -> int:
    """Return how many bytes of files the steps hold in memory."""
    contents = [content for step in steps if isinstance(step, Write) for content in (step.old, step.new)]
    # Nothing else shows what is kept.
    return sum(content.size for content in contents if content is not None and isinstance(content._source, bytes))


def test_the_text_of_many_notes_is_not_held_in_memory(root: Path) -> None:
    vault = open_vault(root)
    planned = vault.arranging.rename_property("old", "new", NO_PROGRESS, dry_run=True)[1]
    made = vault.arranging.rename_property("old", "new", NO_PROGRESS, dry_run=False)[1]
    undone = vault.history.undo([1], "", NO_PROGRESS, dry_run=False).done
    moved = vault.arranging.move("Many/", "Other", NO_PROGRESS, dry_run=False)[1]
    for done in (planned, made, undone, moved):
        assert len(done.steps) >= NOTES - 1
        assert held(done.steps) == 0


def test_a_plan_whose_note_was_changed_since_is_refused(root: Path, tmp_path: Path) -> None:
    files, changes = open_changes(root, tmp_path / "state")
    first = VaultPath("Many/n0.md")
    data = files.read(first).data
    step = edit_of(files, first, data, data + b"ours")
    assert (step.before, step.after) == (data, data + b"ours")
    (root / first).write_bytes(b"theirs")
    with changes.locked(), pytest.raises(VaultError) as refused:
        changes.execute([step], AUTHOR)
    assert refused.value.code == STALE_EDIT
    assert (root / first).read_bytes() == b"theirs"


@pytest.mark.parametrize("as_a_whole", [True, False])
def test_new_files_are_synced_some_at_a_time_where_that_is_as_safe(
    root: Path, monkeypatch: pytest.MonkeyPatch, *, as_a_whole: bool
) -> None:
    calls: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: calls.append("file"))

    def whole(descriptor: int) -> int:
        os.fstat(descriptor)
        calls.append("all")
        return 0

    monkeypatch.setattr(file_operations, "_syncfs", lambda: whole if as_a_whole else None)
    monkeypatch.setattr(file_operations, "file_system_of_file", lambda descriptor: "ext4")
    open_vault(root).arranging.rename_property("old", "new", NO_PROGRESS, dry_run=False)
    if as_a_whole:
        assert NOTES / 64 <= calls.count("all") + 1 <= NOTES / 64 + 2
        assert calls.count("file") < 64
    else:
        assert calls.count("file") >= NOTES


def test_a_file_system_that_only_passes_data_on_is_not_synced_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_operations, "file_system_of_file", lambda descriptor: "fuse.sshfs")
    assert file_operations.try_sync_file_system(0) is False


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "_BATCH_STEPS", 7)


@pytest.mark.usefixtures("small_parts")
def test_a_change_in_several_records_is_shown_and_undone(root: Path, tmp_path: Path) -> None:
    before = tree(root)
    vault = open_vault(root, state=tmp_path / "state")
    made = vault.arranging.rename_property("old", "new", NO_PROGRESS, dry_run=False)[1]
    files, changes = open_changes(root, tmp_path / "state")  # as another process
    (change,) = changes.latest()
    assert [file.path for file in change.files] == [step.path for step in made.steps if isinstance(step, Write)]
    detailed = changes.show(change.id)
    assert [step.after for step in detailed.steps if isinstance(step, Write)] == [
        (root / file.path).read_bytes() for file in change.files
    ]
    with changes.locked():
        changes.execute(plan_undo_all(changes, files, [change.id]).steps, AUTHOR, undoes=(change.id,))
    assert tree(root) == before


@pytest.mark.usefixtures("small_parts")
def test_steps_without_their_change_are_no_change(root: Path, tmp_path: Path) -> None:
    before, state = tree(root), tmp_path / "state"
    for stop in ("recorded 9 of", "recorded 139 of"):  # behind some batches
        with pytest.raises(Stopped):
            open_vault(root, state=state).arranging.rename_property("old", "new", Listening(stop), dry_run=False)
        _, changes = open_changes(root, state)
        assert changes.store.rows("SELECT count(*) FROM steps") != [(0,)]
        assert changes.latest() == []
        assert tree(root) == before
    with changes.locked():
        made = changes.execute([Write(VaultPath("new.md"), None, b"x")], AUTHOR)
    assert [change.id for change in changes.latest()] == [made.id] == [1]
    assert changes.store.rows("SELECT count(*) FROM steps") == [(1,)]


def test_a_change_reports_its_progress_in_every_stage(root: Path) -> None:
    listening = Listening()
    open_vault(root).arranging.rename_property("old", "new", listening, dry_run=False)
    reports = [report for report in listening.reports if "index" not in report[2]]
    assert [done for done, _, _ in reports] == sorted({done for done, _, _ in reports})
    assert all(done < total for done, total, _ in reports)
    verbs = {"checked", "recorded", "wrote", "renamed", "removed"}
    assert {message.split()[0] for _, _, message in reports} == {"read", *verbs}
    assert len(reports) <= 700


def test_an_undo_reports_its_progress_in_every_stage(root: Path) -> None:
    vault = open_vault(root)
    _, done = vault.arranging.rename_property("old", "new", NO_PROGRESS, dry_run=False)
    assert done.change is not None
    listening = Listening()
    vault.history.undo([done.change.id], "", listening, dry_run=False)
    verbs = {message.split()[0] for _, _, message in listening.reports if "index" not in message}
    assert verbs == {"compared", "checked", "recorded", "wrote", "renamed", "removed"}


@pytest.mark.parametrize("stage", ["read", "checked", "recorded", "wrote"])
def test_a_change_stops_until_the_first_rename_and_leaves_nothing(root: Path, tmp_path: Path, stage: str) -> None:
    before = tree(root)
    vault = open_vault(root, state=tmp_path / "state")
    with pytest.raises(Stopped):
        vault.arranging.rename_property("old", "new", Listening(stage), dry_run=False)
    assert tree(root) == before
    assert open_changes(root, tmp_path / "state")[1].latest() == []


def test_a_change_that_has_begun_to_rename_is_finished(root: Path) -> None:
    vault = open_vault(root)
    done = vault.arranging.rename_property("old", "new", Listening("renamed"), dry_run=False)[1]
    assert done.change is not None
    assert all("\nnew: " in path.read_text() for path in root.rglob("*.md"))


class Breaking(Listening):
    """Changes the last note, as another program, once renaming has begun."""

    def __init__(self, place: Path) -> None:
        super().__init__()
        self._place = place

    def report(self, done: int, total: int, message: str) -> None:
        super().report(done, total, message)
        if message.startswith("renamed"):
            self._place.write_bytes(b"theirs")


def test_a_roll_back_reports_its_progress(root: Path) -> None:
    theirs = root / "Many/n99.md"  # the last in path order
    before, text = tree(root), theirs.read_bytes()
    listening = Breaking(theirs)
    with pytest.raises(VaultError) as refused:
        open_vault(root).arranging.rename_property("old", "new", listening, dry_run=False)
    assert refused.value.code == STALE_EDIT
    assert theirs.read_bytes() == b"theirs"
    theirs.write_bytes(text)
    assert tree(root) == before
    back = [(done, total) for done, total, message in listening.reports if message.startswith("rolled back")]
    assert len(back) >= NOTES // 10 - 1
    dones = [done for done, _, message in listening.reports if "index" not in message]
    assert dones == sorted(set(dones))
    assert all(done < total for done, total in back)


@pytest.mark.parametrize("kind", ["property", "tag", "folder"])
def test_a_dry_run_of_a_large_change_reads_a_sample_and_counts_all(
    root: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(context, "SAMPLE", 20)
    for path in root.rglob("*.md"):
        path.write_text(path.read_text() + "#tag\n")
    vault = open_vault(root)
    vault.overview.paths()

    def change(*, dry_run: bool) -> tuple[int, int]:
        arranging = vault.arranging
        if kind == "folder":
            done = arranging.move("Many/", "Other", NO_PROGRESS, dry_run=dry_run)[1]
        elif kind == "tag":
            done = arranging.rename_tag("tag", "new", NO_PROGRESS, dry_run=dry_run)[1]
        else:
            done = arranging.rename_property("old", "new", NO_PROGRESS, dry_run=dry_run)[1]
        return len(done.steps) + done.unread, done.unread

    counted, unread = change(dry_run=True)
    assert unread == counted - 20 - (kind == "folder")
    assert change(dry_run=False) == (counted, 0)


def test_paths_through_many_moves_are_those_of_following_each_move() -> None:
    chance = random.Random(os.environ["VAULTWIRE_SEED"])
    names = ["a", "b", "a/x", "a/y", "b/x", "a/x/1", "b/x/1", "c"]
    for _ in range(300):
        moves = [Move(*map(VaultPath, chance.sample(names, 2))) for _ in range(chance.randint(0, 8))]
        moves = [
            move for move in moves if not lies_in(move.target, move.source) and not lies_in(move.source, move.target)
        ]
        paths = MovePaths(enumerate(moves))
        for name in names:
            start = chance.randint(0, len(moves))
            after = before = VaultPath(name)
            for move in moves[start:]:
                after = follow(after, move.source, move.target)
            for move in reversed(moves[:start]):
                before = follow(before, move.target, move.source)
            assert paths.after(VaultPath(name), start) == after
            assert paths.before(VaultPath(name), start) == before
