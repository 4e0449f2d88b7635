"""The journal on the disk: what is written is read again by anybody, what is torn hides nothing, what is old goes."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path
from typing import BinaryIO, cast

import hypothesis
import pytest
from hypothesis import strategies as st

from vaultwire.vault.changes import journal_segments
from vaultwire.vault.changes.change import Author, Intent, Move, PriorState, Step, Write
from vaultwire.vault.changes.journal import Ending, Journal
from vaultwire.vault.changes.journal_records import (
    PREFIX_SIZE,
    Recorded,
    parse_header,
    parse_intent,
    parse_prefix,
    to_records,
)
from vaultwire.vault.changes.journal_segments import Retention, segment_numbers
from vaultwire.vault.disk.contents import Content
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


def last_file(folder: Path) -> Path:
    return max(folder.glob("changes.v2.*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "journal"
    place.mkdir()
    return place


def opened(folder: Path, retention: Retention = journal_segments.KEEP) -> Journal:
    return Journal(str(folder), "/the/vault", retention)


PATHS = st.text(min_size=1, max_size=20).filter(lambda text: text.isprintable()).map(VaultPath)
LARGE = [random.Random(0).randbytes(70_000), bytes(70_000)]  # larger than the sample that is tried first
DATA = st.none() | st.binary(max_size=200) | st.sampled_from(LARGE)
STEPS = st.builds(Write, PATHS, DATA, DATA) | st.builds(Move, PATHS, PATHS)
CONTENTS = DATA.map(lambda data: None if data is None else Content(data))
SITES = st.builds(PriorState, PATHS, CONTENTS, st.integers(0, 2**63), st.integers(1, 9), st.booleans(), st.booleans())


@hypothesis.given(st.lists(st.tuples(STEPS, SITES), max_size=5), st.lists(st.integers(1, 9), max_size=3).map(tuple))
def test_what_is_written_down_comes_back_as_it_was(
    pairs: list[tuple[Step, PriorState]], undoes: tuple[int, ...]
) -> None:
    steps = tuple(step for step, _ in pairs)
    # Of a write what moves need is not kept, of a move not the place, which is its source.
    priors = tuple(
        prior._replace(place=step.source)
        if isinstance(step, Move)
        else PriorState(prior.place, None, prior.inode, was_free=prior.was_free)
        for step, prior in pairs
    )
    written = Intent(7, "token", 123, AUTHOR, undoes, steps, priors, ("New", "New/x"), ("Old",))
    (data,) = to_records(written, Stages(NO_PROGRESS))
    prefix = parse_prefix(data)
    assert prefix is not None
    start = PREFIX_SIZE + prefix.header
    header = parse_header(prefix, data[PREFIX_SIZE:start])
    assert header is not None
    assert parse_intent([Recorded(header, data[start:], "", 0)]) == written


def test_an_edit_of_a_long_note_takes_little_more_than_the_note_compressed() -> None:
    note = random.Random(1).randbytes(50_000)
    written = intent(1, Write(VaultPath("A.md"), note, note + b"one more line\n"))
    (appended,) = to_records(written, Stages(NO_PROGRESS))
    assert len(appended) < 50_600


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
    journal.mark_rolled_back(4, ())
    found = journal.catch_up()
    assert found is not None
    assert (found.is_ready, found.unrestored) == (True, ())
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
    reads: list[str] = []

    def noted(path: str, mode: str) -> BinaryIO:
        reads.append(path)
        return cast("BinaryIO", Path(path).open(mode))

    monkeypatch.setattr(journal_segments, "open", noted, raising=False)
    journal.catch_up()
    assert reads == []
    another = opened(folder)
    another.catch_up()
    another.changes()
    assert len(reads) == 2  # the second time to find that nothing was added


def test_a_tail_cut_anywhere_hides_no_earlier_change_and_no_later_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # hundreds of journals, none about power cuts
    journal = opened(folder)
    add(journal)
    whole = last_file(folder).read_bytes()
    add(journal)
    longer = last_file(folder).read_bytes()
    for length in range(len(whole), len(longer)):
        for path in folder.iterdir():
            path.unlink()
        (folder / "changes.v2.00000001").write_bytes(longer[:length])
        again = opened(folder)
        found = again.catch_up()
        if found is not None:
            assert found.id == 2
            again.end(2, UNDONE)
        assert ids(again) == [1]
        number = add(again)
        assert number in (2, 3, 4)
        assert opened(folder).catch_up() is None
        assert ids(again) == ids(opened(folder)) == [1, number], length
        assert (folder / "changes.v2.00000001").read_bytes()[:length] == longer[:length]


@pytest.mark.parametrize("damage", ["zeroes", "noise"])
def test_an_intent_whose_bytes_never_reached_the_disk_never_began(folder: Path, damage: str) -> None:
    journal = opened(folder)
    add(journal)
    add(journal, ending=None, size=3000)
    data = last_file(folder).read_bytes()
    lost = bytes(2000) if damage == "zeroes" else random.Random(0).randbytes(2000)
    last_file(folder).write_bytes(data[:-2000] + lost)
    again = opened(folder)
    assert again.catch_up() is None
    assert ids(again) == [1]
    assert add(again) == 3


def test_damage_in_the_middle_is_not_cut_and_what_comes_later_is_found(folder: Path) -> None:
    journal = opened(folder)
    for _ in range(6):
        add(journal, size=500)
    data = bytearray(last_file(folder).read_bytes())
    data[len(data) // 2] ^= 0xFF
    last_file(folder).write_bytes(data)
    again = opened(folder)
    again.catch_up()
    found = ids(again)
    assert found == list(range(1, len(found) + 1))
    number = add(again)
    assert ids(opened(folder))[-1] == number
    assert (folder / "changes.v2.00000001").read_bytes()[: len(data)] == data


@pytest.mark.parametrize("size", [0, 500])
def test_one_flipped_bit_hides_one_change_at_most_and_no_number_is_used_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # hundreds of journals, none about power cuts
    journal = opened(folder)
    for _ in range(4):
        add(journal, size=size)
    whole = last_file(folder).read_bytes()
    chance = random.Random(size)
    for place in range(0, len(whole), 1 if size == 0 else 7):
        data = bytearray(whole)
        data[place] ^= 1 << chance.randrange(8)
        for path in folder.iterdir():
            path.unlink()
        (folder / "changes.v2.00000001").write_bytes(data)
        again = opened(folder)
        found = again.catch_up()
        if found is not None:  # what became of the last one is what cannot be read
            assert found.id == 4
            again.end(4, DONE)
        assert len({1, 2, 3, 4} - {*ids(again)}) <= 1, place
        number = add(again)
        assert number > 4, place
        assert ids(opened(folder)) == ids(again), place
        assert ids(again)[-1] == number
        assert [each for each in (1, 2, 3, 4) if each in ids(again)] == ids(again)[:-1]


def test_bytes_of_a_note_are_not_taken_for_records_behind_damage(folder: Path) -> None:
    journal = opened(folder)
    for _ in range(3):
        add(journal)
    copy = last_file(folder).read_bytes()
    noise = random.Random(0).randbytes(70_000)  # so that it is kept as it is
    number = journal.next_id()
    at = last_file(folder).stat().st_size
    journal.begin(intent(number, Write(VaultPath("copy.bin"), None, noise + copy)), Stages(NO_PROGRESS))
    journal.end(number, DONE)
    data = bytearray(last_file(folder).read_bytes())
    assert copy in data[at:]
    data[at + 10] ^= 1  # a length of its own
    last_file(folder).write_bytes(data)
    again = opened(folder)
    assert again.catch_up() is None
    assert ids(again) == [1, 2, 3]
    assert add(again) > 4


def test_a_full_disk_leaves_no_half_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = opened(folder)
    add(journal)
    size = last_file(folder).stat().st_size
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        if len(data) < 100:
            raise OSError(28, "No space left on device")
        return real(descriptor, data[: len(data) // 2])

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space"):
            journal.begin(intent(2, size=1000), Stages(NO_PROGRESS))
    assert last_file(folder).stat().st_size == size
    assert add(journal) == 2
    assert ids(opened(folder)) == [1, 2]


def test_a_full_file_is_followed_by_another_and_ids_go_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_segments, "_MAX_SIZE", 3000)
    journal = opened(folder)
    for number in range(1, 31):
        assert add(journal if number % 2 else opened(folder), size=500) == number
    assert len(segment_numbers(str(folder))) > 5
    assert ids(journal) == ids(opened(folder)) == list(range(1, 31))
    for number in (1, 17, 30):
        detailed = opened(folder).load(number)
        assert detailed is not None
        assert detailed.steps == intent(number, size=500).steps


def test_the_oldest_files_go_when_there_is_too_much_and_never_the_last(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_segments, "_MAX_SIZE", 3000)
    journal = opened(folder, Retention(days=90, total_bytes=10_000))
    for _ in range(40):
        add(journal, size=500)
    assert sum(path.stat().st_size for path in folder.iterdir()) < 15_000
    kept = ids(journal)
    assert kept == list(range(kept[0], 41))
    assert 5 < len(kept) < 25
    assert ids(opened(folder)) == kept
    assert journal.load(1) is None
    assert add(opened(folder, Retention(days=90, total_bytes=0)), size=500) == 41


def test_what_is_too_old_goes_when_a_new_file_is_begun(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_segments, "_MAX_SIZE", 3000)
    journal = opened(folder, Retention(days=30, total_bytes=10**9))
    for _ in range(10):
        add(journal, size=1000)
    first = folder / "changes.v2.00000001"
    long_ago = time.time() - 31 * 86_400
    os.utime(first, (long_ago, long_ago))
    for _ in range(4):
        add(journal, size=1000)
    assert not first.exists()
    assert ids(journal)[-1] == 14
    assert ids(journal)[0] > 1


def test_another_versions_files_are_left_alone(folder: Path) -> None:
    (folder / "changes.v3.00000009").write_bytes(b"of a later version")
    journal = opened(folder)
    add(journal)
    assert (folder / "changes.v3.00000009").read_bytes() == b"of a later version"
    assert ids(journal) == [1]
