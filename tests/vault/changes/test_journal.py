"""The journal on the disk: anybody reads what is written, what is torn or damaged hides nothing else, what is old goes."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
import sqlite3
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from support import statements_of_journals
from support.killing import calls_to_die_at, dies_at
from vaultwire.vault.changes.change import Author, Change, Intent, Move, PriorState, Step, Write
from vaultwire.vault.changes.journal import KEEP, Ending, Journal, Retention
from vaultwire.vault.changes.record_store import DamagedStoreError, SqliteRecords
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.errors import VaultError
from vaultwire.vault.holding.proposals import Decision, DecisionLog
from vaultwire.vault.value_types import NO_PROGRESS, Stages, VaultPath

AUTHOR = Author("someone", "edit_note")
DONE = Ending(is_undone=False)
UNDONE = Ending(is_undone=True)


def intent(number: int, *steps: Step, size: int = 0) -> Intent:
    """Return a change of one note, unless other steps are given, with bytes that cannot be made smaller."""
    chosen = steps or (Write(VaultPath("A.md"), b"before\n", random.Random(number).randbytes(size)),)
    priors = tuple(PriorState(step.source if isinstance(step, Move) else step.path) for step in chosen)
    return Intent(number, "token", time.time_ns(), AUTHOR, (), chosen, priors, (), ())


def add(journal: Journal, *, ending: Ending | None = DONE, size: int = 0) -> int:
    """Write a change down as whoever holds the lock does."""
    assert journal.catch_up() is None
    number = journal.next_id()
    journal.begin(intent(number, size=size), Stages(NO_PROGRESS))
    if ending is not None:
        journal.end(number, ending)
    return number


def ids(journal: Journal) -> list[int]:
    return [change.id for change in journal.changes()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "journal"
    place.mkdir()
    return place


def opened(folder: Path, retention: Retention = KEEP) -> Journal:
    return Journal(SqliteRecords(str(folder), "/the/vault"), retention)


PATHS = st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()).map(VaultPath)
LARGE = [random.Random(0).randbytes(70_000), bytes(70_000)]  # larger than the sample that is tried first
DATA = st.none() | st.binary(max_size=200) | st.sampled_from(LARGE)
STEPS = st.builds(Write, PATHS, DATA, DATA) | st.builds(Move, PATHS, PATHS)
CONTENTS = DATA.map(lambda data: None if data is None else Content(data))
SITES = st.builds(PriorState, PATHS, CONTENTS, st.integers(0, 2**63), st.integers(1, 9), st.booleans(), st.booleans())


@hypothesis.given(st.lists(st.tuples(STEPS, SITES), max_size=5), st.lists(st.integers(1, 9), max_size=3).map(tuple))
def test_what_is_written_down_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, pairs: list[tuple[Step, PriorState]], undoes: tuple[int, ...]
) -> None:
    steps = tuple(step for step, _ in pairs)
    # Of a write what moves need is not kept, of a move not the place, which is its source.
    priors = tuple(
        prior._replace(place=step.source)
        if isinstance(step, Move)
        else PriorState(prior.place, None, prior.inode, was_free=prior.was_free)
        for step, prior in pairs
    )
    written = Intent(7, "token", 123, AUTHOR, undoes, steps, priors, ("New", "New/x"), ("Old",), proposal=3)
    folder = tmp_path_factory.mktemp("journal")
    opened(folder).begin(written, Stages(NO_PROGRESS))
    assert opened(folder).catch_up() == written


def test_an_edit_of_a_long_note_takes_little_more_than_the_note_compressed(folder: Path) -> None:
    note = random.Random(1).randbytes(50_000)
    journal = opened(folder)
    journal.begin(intent(1, Write(VaultPath("A.md"), note, note + b"one more line\n")), Stages(NO_PROGRESS))
    assert SqliteRecords(str(folder)).rows("SELECT size < 50600 FROM changes") == [(1,)]


def test_the_journal_knows_the_changes_and_the_open_one(folder: Path) -> None:
    journal = opened(folder)
    assert journal.catch_up() is None
    assert (journal.next_id(), journal.changes(), journal.load(1)) == (1, [], None)
    add(journal)
    add(journal, ending=UNDONE)
    add(journal, ending=Ending(is_undone=True, unrestored=(VaultPath("A.md"),)))
    assert ids(journal) == [1, 3]
    assert journal.changes()[1].unrestored == ("A.md",)
    assert journal.load(2) is None
    detailed = journal.load(1)
    assert detailed is not None
    assert detailed.steps == intent(1).steps
    number = add(journal, ending=None)
    assert (number, ids(journal)) == (4, [1, 3])  # what is open is nobody's change yet
    found = journal.catch_up()
    assert found is not None
    assert (found.id, found.is_ready, found.unrestored) == (4, False, None)
    journal.mark_ready(4)
    found = journal.catch_up()
    assert found is not None
    assert found.is_ready
    journal.mark_rolled_back(4, ())
    found = journal.catch_up()
    assert found is not None
    assert found.unrestored == ()
    journal.end(4, DONE)
    assert journal.catch_up() is None
    assert ids(journal) == [1, 3, 4]


def test_what_one_program_writes_another_reads_on(folder: Path) -> None:
    one, other = opened(folder), opened(folder)
    for number in range(1, 21):
        assert add(one if number % 3 else other) == number
        assert ids(other) == ids(one) == list(range(1, number + 1))
    number = add(one, ending=None)
    found = other.catch_up()
    assert found is not None
    assert found.id == number
    other.end(number, UNDONE)
    assert one.catch_up() is None
    assert one.next_id() == 22


def test_nothing_is_read_again_that_was_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = opened(folder)
    for _ in range(5):
        add(journal)
    statements: list[str] = []
    monkeypatch.setattr(sqlite3, "connect", statements_of_journals.connect)
    monkeypatch.setattr(statements_of_journals, "before", statements.append)
    another = opened(folder)
    assert ids(another) == ids(another) == [1, 2, 3, 4, 5]
    assert sum("header" in each for each in statements) == 1
    stamp = another.stamp()
    add(journal)
    assert another.stamp() != stamp
    assert ids(another)[-1] == 6


def copied(folder: Path, to: Path, length: int | None = None) -> Path:
    """Copy a journal, as a power cut leaves it if only ``length`` bytes of its log have reached the disk."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(folder, to, ignore=shutil.ignore_patterns("*-shm"))
    if length is not None:
        with (to / "journal.sqlite3-wal").open("r+b") as log:
            log.truncate(length)
    return to


def test_a_tail_cut_anywhere_hides_no_earlier_change_and_no_later_one(folder: Path, tmp_path: Path) -> None:
    journal = opened(folder)
    log = folder / "journal.sqlite3-wal"
    add(journal)
    whole = log.stat().st_size
    add(journal)
    longer = log.stat().st_size
    pieces = random.Random(0)
    for length in [whole, longer, *(pieces.randrange(whole, longer) for _ in range(30))]:
        again = opened(copied(folder, tmp_path / "copy", length))
        found = again.catch_up()
        if found is not None:
            assert found.id == 2
            again.end(2, UNDONE)
        done = [1, 2] if length == longer else [1]
        assert ids(again) == done, length
        number = add(again)
        assert number in (2, 3)
        assert ids(again) == ids(opened(tmp_path / "copy")) == [*done, number], length


@pytest.mark.parametrize("size", [0, 5000])
def test_flipped_bits_show_no_change_that_was_not_made_and_no_number_is_used_again(
    folder: Path, tmp_path: Path, size: int
) -> None:
    journal = opened(folder)
    for _ in range(4):
        add(journal, size=size)
    made = {change.id: change for change in journal.changes()}
    journal._store.close()
    whole = (folder / "journal.sqlite3").read_bytes()
    assert not (folder / "journal.sqlite3-wal").exists()
    chance = random.Random(size)
    hidden = 0
    for _ in range(100):
        place = copied(folder, tmp_path / "copy")
        data = bytearray(whole)
        at = chance.randrange(100, len(data))  # behind what says which version has written it
        data[at] ^= 1 << chance.randrange(8)
        (place / "journal.sqlite3").write_bytes(data)
        again = opened(place)
        number = add(again)  # no change is open: it would be rolled back
        assert number > 4
        listed = again.changes()
        assert [_as_made(change) for change in listed if change.id <= 4] == [
            made[change.id] for change in listed if change.id <= 4
        ]
        assert listed[-1].id == number
        hidden += len(made) + 1 - len(listed)
        for change in listed:
            try:
                detailed = again.load(change.id)
                bytes_of = [step.after for step in detailed.steps if isinstance(step, Write)] if detailed else []
            except VaultError:
                continue
            assert not detailed or change.id > 4 or bytes_of == [intent(change.id, size=size).steps[0].after]  # type: ignore[union-attr]
    assert hidden < 30, "most damage hides nothing"


def _as_made(change: Change) -> Change:
    return change._replace(unrestored=())


@pytest.fixture
def damaged(folder: Path) -> Path:
    """A journal of six changes of which SQLite finds one page damaged."""
    journal = opened(folder)
    for _ in range(6):
        add(journal, size=20_000)
    journal._store.close()
    with closing(sqlite3.connect(folder / "journal.sqlite3")) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'open_changes'").fetchone()
    data = bytearray((folder / "journal.sqlite3").read_bytes())
    data[(page - 1) * 4096 : page * 4096] = b"\xff" * 4096
    (folder / "journal.sqlite3").write_bytes(data)
    return folder


def test_a_damaged_file_is_kept_and_what_can_be_read_of_it_goes_on(damaged: Path) -> None:
    data = (damaged / "journal.sqlite3").read_bytes()
    reading = opened(damaged)
    with pytest.raises(DamagedStoreError, match="malformed"):
        reading._open_change()
    again = opened(damaged)
    assert again.catch_up() is None
    assert ids(again) == [1, 2, 3, 4, 5, 6]
    assert add(again) == 7
    (aside,) = damaged.glob("journal.damaged-*.sqlite3")
    assert aside.read_bytes() == data
    assert ids(reading) == ids(opened(damaged)) == [1, 2, 3, 4, 5, 6, 7]  # who had the other file open reads this one


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_damaged_file_that_is_replaced_is_never_gone_whenever_that_is_killed(damaged: Path, tmp_path: Path) -> None:
    for step in calls_to_die_at():
        place = copied(damaged, tmp_path / "copy")
        killed = dies_at(step, lambda: opened(place).catch_up())  # noqa: B023 - run at once
        again = opened(place)
        assert ids(again) == [1, 2, 3, 4, 5, 6]
        assert add(again) == 7
        assert list(place.glob("journal.damaged-*.sqlite3"))
        assert not list(place.glob("*.new")) + list(place.glob("*.saved"))
        if not killed:
            break
    assert step > 30, "too few calls were seen: does the child still count the right ones?"


def test_a_full_disk_leaves_a_damaged_file_where_it_is(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "connect", statements_of_journals.connect)
    for statement in itertools.count():
        left = iter(range(statement, -1, -1))

        def before(sql: str) -> None:
            if sql.startswith(("INSERT", "COMMIT")) and next(left, None) == 0:  # noqa: B023 - called at once
                error = sqlite3.OperationalError("database or disk is full")
                error.sqlite_errorcode = sqlite3.SQLITE_FULL
                raise error

        monkeypatch.setattr(statements_of_journals, "before", before)
        try:
            opened(damaged).catch_up()
        except OSError as error:
            assert error.errno == errno.ENOSPC  # noqa: PT017 - not at the last one
            continue
        break
    assert statement > 15
    monkeypatch.setattr(statements_of_journals, "before", lambda sql: None)
    again = opened(damaged)
    assert ids(again) == [1, 2, 3, 4, 5, 6]
    assert add(again) == 7


def test_a_decision_replaces_a_damaged_file_too_and_only_once(damaged: Path) -> None:
    with closing(sqlite3.connect(damaged / "journal.sqlite3")) as connection:
        (page,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'decisions'").fetchone()
    with (damaged / "journal.sqlite3").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    one, other = (SqliteRecords(str(damaged)) for _ in range(2))
    for store in (one, other):
        with pytest.raises(DamagedStoreError):
            DecisionLog(store).all()
    DecisionLog(one).add(Decision("kept", change=1))
    other._set_aside()  # as if it had found the damage at the same moment
    DecisionLog(other).add(Decision("kept", change=2))
    assert [decision.change for decision in DecisionLog(one).all()] == [1, 2]
    assert ids(Journal(one)) == [1, 2, 3, 4, 5, 6]
    assert len([*damaged.glob("journal.damaged-*.sqlite3")]) == 1


def test_what_is_written_while_a_damaged_file_is_replaced_goes_to_the_new_one(
    damaged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "connect", statements_of_journals.connect)
    log = DecisionLog(SqliteRecords(str(damaged)))
    assert log.all() == []  # has the damaged file open

    def before(sql: str) -> None:
        if sql == "BEGIN IMMEDIATE":
            monkeypatch.setattr(statements_of_journals, "before", lambda sql: None)
            opened(damaged).catch_up()

    monkeypatch.setattr(statements_of_journals, "before", before)
    log.add(Decision("kept", change=3))
    assert [decision.change for decision in DecisionLog(SqliteRecords(str(damaged))).all()] == [3]


def test_a_file_of_noise_is_kept_and_numbers_go_on(folder: Path) -> None:
    journal = opened(folder)
    for _ in range(6):
        add(journal)
    journal._store.close()
    noise = random.Random(0).randbytes(50_000)
    (folder / "journal.sqlite3").write_bytes(noise)
    with pytest.raises(DamagedStoreError, match="not a database"):
        opened(folder).changes()
    assert add(opened(folder)) > 6
    assert [path.read_bytes() for path in folder.glob("journal.damaged-*")] == [noise]


def test_a_full_disk_leaves_no_half_record(folder: Path) -> None:
    journal = opened(folder)
    add(journal)
    with journal._store.writing() as connection:
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(OSError, match="full"):
        journal.begin(intent(2, size=100_000), Stages(NO_PROGRESS))
    assert journal.catch_up() is None
    assert ids(journal) == [1]
    connection.execute("PRAGMA max_page_count = 1000000")
    assert add(journal) == 2
    assert ids(opened(folder)) == [1, 2]


def test_the_oldest_changes_go_when_there_is_too_much_and_never_the_last(folder: Path) -> None:
    journal = opened(folder, Retention(days=90, total_bytes=100_000))
    for _ in range(60):
        add(journal, size=5000)
    kept = ids(journal)
    assert kept == list(range(kept[0], 61))
    assert 5 < len(kept) < 15
    assert ids(opened(folder)) == kept
    assert journal.load(1) is None
    assert SqliteRecords(str(folder)).size() < 120_000
    assert add(opened(folder, Retention(days=90, total_bytes=0)), size=500) == 61
    assert ids(opened(folder)) == [61]


def test_what_is_too_old_goes_with_the_next_change(folder: Path) -> None:
    journal = opened(folder, Retention(days=30))
    old = intent(1)._replace(time_ns=time.time_ns() - 31 * 86_400 * 10**9)
    journal.begin(old, Stages(NO_PROGRESS))
    journal.end(1, DONE)
    assert ids(journal) == [1]
    add(journal)
    assert ids(journal) == [2]
    assert opened(folder)._store.rows("SELECT DISTINCT owner FROM contents") == [("c2",)]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has access lists")
def test_only_the_owner_may_read_any_of_its_files(tmp_path: Path) -> None:
    mask = os.umask(0)
    try:
        folder = tmp_path / "state" / "journal"
        journal = opened(folder)
        add(journal)
        modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    finally:
        os.umask(mask)
    assert modes.keys() > {"journal.sqlite3", "journal.sqlite3-wal", "journal.sqlite3-shm"}
    assert set(modes.values()) == {0o600}
    assert {place.stat().st_mode & 0o777 for place in (folder, folder.parent)} == {0o700}


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the system lets root write anywhere")
def test_a_folder_that_cannot_be_written_to_is_read(folder: Path) -> None:
    journal = opened(folder)
    add(journal)
    journal._store.close()
    folder.chmod(0o500)
    try:
        reading = opened(folder)
        assert ids(reading) == [1]
        with pytest.raises(OSError, match="readonly"):
            add(reading)
    finally:
        folder.chmod(0o700)
    add(journal)
    assert ids(reading) == [1, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="starts processes by forking")
def test_processes_that_begin_at_once_lose_nothing_of_each_other(tmp_path: Path) -> None:
    children = []
    for number in range(8):
        child = os.fork()
        if child == 0:
            log = DecisionLog(SqliteRecords(str(tmp_path / "journal")))
            for each in range(5):
                log.add(Decision("kept", change=10 * number + each))
            os._exit(0)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    kept = [decision.change for decision in DecisionLog(SqliteRecords(str(tmp_path / "journal"))).all()]
    assert sorted(each for each in kept if each is not None) == [10 * n + each for n in range(8) for each in range(5)]


@pytest.mark.skipif(sys.platform == "win32", reason="a mode of SQLite on POSIX")
def test_without_shared_memory_the_journal_is_kept_in_the_slower_mode(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = sqlite3.connect

    def without_shared_memory(path: str, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = connect(f"{Path(path).as_uri()}?vfs=unix-dotfile", **{**options, "uri": True})
        return connection

    monkeypatch.setattr(sqlite3, "connect", without_shared_memory)
    journal = opened(folder)
    assert [add(journal), add(opened(folder)), add(journal)] == [1, 2, 3]
    assert ids(journal) == ids(opened(folder)) == [1, 2, 3]
    assert not (folder / "journal.sqlite3-wal").exists()


def test_an_error_says_that_a_file_system_is_none_for_a_journal(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(sql: str) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_IOERR_SHMMAP
        raise error

    monkeypatch.setattr(sqlite3, "connect", statements_of_journals.connect)
    monkeypatch.setattr(statements_of_journals, "before", refused)
    with pytest.raises(OSError, match="shared memory of a local disk"):
        opened(folder).begin(intent(1), Stages(NO_PROGRESS))


def test_another_versions_file_is_left_alone(folder: Path) -> None:
    journal = opened(folder)
    add(journal)
    journal._store.close()
    with closing(sqlite3.connect(folder / "journal.sqlite3")) as connection:
        connection.execute("PRAGMA user_version = 9")
    before = (folder / "journal.sqlite3").read_bytes()
    with pytest.raises(OSError, match="another version"):
        add(opened(folder))
    assert (folder / "journal.sqlite3").read_bytes() == before
