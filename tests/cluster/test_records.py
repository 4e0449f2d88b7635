"""The records of a vault: what a store must do, in SQLite and in PostgreSQL alike."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from random import Random
from typing import TypeAlias

import pytest

from support.postgres import running_postgres
from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import Leases
from vaultwire.cluster.records import PostgresRecords
from vaultwire.vault.changes.change import Author, Intent, Move, PriorState, Step, Write
from vaultwire.vault.changes.journal import Ending, Journal, Retention
from vaultwire.vault.changes.record_store import RecordStore, SqliteRecords
from vaultwire.vault.errors import SERVER_BUSY, TOO_MANY_WAITING, VaultError
from vaultwire.vault.holding.proposals import Decision, DecisionLog, ProposalStore, Room
from vaultwire.vault.value_types import NO_PROGRESS, Stages, VaultPath

Stores: TypeAlias = Callable[[], RecordStore]

AUTHOR = Author("some\0one\x1a0\x1a", "edit_note", "5e55")


def steps() -> tuple[Step, ...]:
    """Return new steps, the same every time: once in a store, a step reads its bytes from there."""
    return (
        Write(VaultPath("Plan.md"), b"old\n" * 9, b"new\n" * 9),
        Write(VaultPath("New.md"), None, b"\xff\x00"),
        Move(VaultPath("\u00c4.md"), VaultPath("100% ?.md")),
    )


@pytest.fixture(params=["sqlite", "postgres"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    """Returns a store of the same vault each time, as another process would open it."""
    if request.param == "sqlite":
        return lambda: SqliteRecords(str(tmp_path), "/notes")
    database: Database = request.getfixturevalue("database")
    taken = Leases(database, "one", "", 60).take({"notes": "/notes", "others": "/others"})
    assert taken is not None
    notes, others = taken
    # Nothing of another vault in the same tables is ever seen.
    store = PostgresRecords(database, others)
    add(Journal(store))
    ProposalStore(store).add("write", AUTHOR, steps())
    DecisionLog(store).add(Decision("kept", change=77))
    return lambda: PostgresRecords(database, notes)


def intent(number: int, *of_change: Step, size: int = 0) -> Intent:
    chosen = of_change or (Write(VaultPath("A.md"), b"before\n", Random(number).randbytes(size)),)
    priors = tuple(PriorState(step.source if isinstance(step, Move) else step.path) for step in chosen)
    return Intent(number, "token", time.time_ns(), AUTHOR, (), chosen, priors, ("folder",), ())


def add(journal: Journal, *chosen: Step, size: int = 0) -> int:
    assert journal.catch_up() is None
    number = journal.next_id()
    journal.begin(intent(number, *chosen, size=size), Stages(NO_PROGRESS))
    journal.mark_ready(number)
    journal.end(number, Ending(is_undone=False))
    return number


def test_nothing_is_on_record_at_first(stores: Stores) -> None:
    store = stores()
    assert (store.last_number("changes"), Journal(store).changes(), ProposalStore(store).all()) == (0, [], [])
    assert DecisionLog(store).since(0) == ([], 0)
    store.check()
    store.verify()


def test_another_process_finds_a_change_with_every_byte(stores: Stores) -> None:
    number = add(Journal(stores()), *steps())
    journal = Journal(stores())
    (change,) = journal.changes()
    assert (change.id, change.author) == (number, AUTHOR)
    detailed = journal.load(number)
    assert detailed is not None
    assert detailed.steps == steps()
    assert [step.after for step in detailed.steps if isinstance(step, Write)] == [b"new\n" * 9, b"\xff\x00"]
    assert detailed.new_folders == ("folder",)


def test_an_open_change_is_found_until_it_ends(stores: Stores) -> None:
    journal = Journal(stores())
    number = journal.next_id()
    journal.begin(intent(number), Stages(NO_PROGRESS))
    opened = Journal(stores()).catch_up()
    assert opened is not None
    assert (opened.id, opened.is_ready, opened.unrestored) == (number, False, None)
    journal.mark_ready(number)
    journal.mark_rolled_back(number, (VaultPath("A.md"),))
    opened = Journal(stores()).catch_up()
    assert opened is not None
    assert opened.unrestored == ("A.md",)
    journal.end(number, Ending(is_undone=True, unrestored=("A.md",)))  # type: ignore[arg-type]
    assert Journal(stores()).catch_up() is None
    assert [change.unrestored for change in Journal(stores()).changes()] == [("A.md",)]


def test_a_change_of_many_bytes_is_written_in_batches(stores: Stores) -> None:
    steps = [Write(VaultPath(f"{number}.md"), None, Random(number).randbytes(400_000)) for number in range(8)]
    number = add(Journal(stores()), *steps)
    detailed = Journal(stores()).load(number)
    assert detailed is not None
    assert [*detailed.steps] == steps


def test_a_list_that_was_read_once_is_read_on(stores: Stores) -> None:
    journal, other = Journal(stores()), Journal(stores())
    add(journal)
    before = other.stamp()
    assert [change.id for change in other.changes()] == [1]
    assert other.stamp() == before
    add(journal)
    assert other.stamp() != before
    assert [change.id for change in other.changes()] == [1, 2]


def test_the_oldest_changes_go_when_there_are_too_many_bytes(stores: Stores) -> None:
    journal = Journal(stores(), Retention(total_bytes=400_000))
    for _ in range(12):
        add(journal, size=50_000)
    ids = [change.id for change in journal.changes()]
    assert ids[-1] == 12
    assert 4 <= len(ids) <= 8
    assert stores().rows("SELECT count(DISTINCT owner) FROM contents")[0][0] == len(ids)


def test_the_contents_of_a_small_change_need_no_records_once_it_has_begun(stores: Stores) -> None:
    store, journal = stores(), Journal(stores())
    assert journal.catch_up() is None
    small = intent(journal.next_id(), *steps())
    journal.begin(small, Stages(NO_PROGRESS))
    with store.writing() as transaction:
        transaction.execute("DELETE FROM contents")
    assert [(step.before, step.after) for step in small.steps if isinstance(step, Write)] == [
        (step.before, step.after) for step in steps() if isinstance(step, Write)
    ]


def test_who_cannot_read_the_records_of_a_change_is_told_that_it_is_perhaps_made() -> None:
    with running_postgres() as server, closing(Database(server.new_database())) as database:
        database.upgrade()
        leases = Leases(database, "one", "http://127.0.0.1:1", 60).take({"Notes": "/srv/notes"})
        assert leases is not None
        journal = Journal(PostgresRecords(database, leases[0]))
        number = add(journal, size=3_000_000)
        detailed = journal.load(number)
        assert detailed is not None
        server.stop()
        step = detailed.steps[0]
        assert isinstance(step, Write)
        with pytest.raises(VaultError, match=r"cannot be read.*perhaps it is made") as caught:
            step.after  # noqa: B018 - it is read here
        server.start()  # for its end
    assert (caught.value.code, caught.value.details) == (SERVER_BUSY, {})


def test_old_changes_go_but_not_the_last_one(stores: Stores) -> None:
    journal = Journal(stores(), Retention(days=-1))
    for _ in range(3):
        add(journal)
    assert [change.id for change in Journal(stores()).changes()] == [3]


def test_a_number_is_never_given_twice(stores: Stores) -> None:
    proposals = ProposalStore(stores(), Retention(days=-1))
    first = proposals.add("write", AUTHOR, steps())
    assert proposals.decide(first.id, "refused")
    second = proposals.add("write", AUTHOR, steps())  # removes the first
    assert [proposal.id for proposal in proposals.all()] == [second.id]
    assert proposals.decide(second.id, "refused")
    store = stores()
    with store.writing() as transaction:
        transaction.execute("DELETE FROM proposals")
    assert store.last_number("proposals") == second.id
    with store.writing() as transaction:
        store.use_up(transaction, "proposals", 40)
        store.use_up(transaction, "proposals", 7)
    assert ProposalStore(stores()).add("write", AUTHOR, steps()).id == 41


def test_a_proposal_is_decided_once(stores: Stores) -> None:
    one, other = ProposalStore(stores()), ProposalStore(stores())
    number = one.add("write", AUTHOR, steps(), label="a label", undoes=(3,)).id
    before = one.stamp()
    assert other.decide(number, "refused", reason="not now")
    assert not one.decide(number, "accepted", change=3)
    assert one.stamp() != before
    proposal = one.get(number)
    assert proposal is not None
    assert proposal.steps == steps()
    assert proposal.author == AUTHOR
    assert (proposal.state, proposal.reason, proposal.undoes) == ("refused", "not now", (3,))


def test_no_more_may_wait_than_there_is_room_for(stores: Stores) -> None:
    proposals = ProposalStore(stores(), of_client=Room(2, 1_000_000))
    for _ in range(2):
        proposals.add("write", AUTHOR, steps())
    with pytest.raises(VaultError, match=r"2 changes of yours wait already, with 0\.0 MB") as caught:
        proposals.add("write", AUTHOR, steps())
    assert caught.value.code == TOO_MANY_WAITING
    assert [proposal.id for proposal in proposals.waiting()] == [1, 2]


def test_a_proposal_that_became_a_change_does_not_wait(stores: Stores) -> None:
    store = stores()
    proposals, journal = ProposalStore(store), Journal(store)
    number = proposals.add("write", AUTHOR, steps()).id
    journal.add_made(intent(journal.next_id())._replace(proposal=number), Stages(NO_PROGRESS))
    assert journal.is_made_of(number)
    assert ProposalStore(stores()).waiting() == []
    proposal = ProposalStore(stores()).get(number)
    assert proposal is not None
    assert (proposal.state, proposal.change) == ("accepted", 1)


def test_decisions_come_in_their_order(stores: Stores) -> None:
    log = DecisionLog(stores())
    log.add(Decision("kept", change=1, text="\0?%s"), Decision("undone", change=2))
    position = log.end()
    DecisionLog(stores()).add(Decision("kept", change=3))
    assert [decision.change for decision in log.all()] == [1, 2, 3]
    assert log.all()[0].text == "\0?%s"
    later, end = log.since(position)
    assert [decision.change for decision in later] == [3]
    assert log.since(end) == ([], end)


def test_a_write_that_fails_leaves_nothing(stores: Stores) -> None:
    store = stores()

    def write() -> None:
        with store.writing() as transaction:
            transaction.execute("INSERT INTO decisions (fields) VALUES (?)", ("{}",))
            assert store.last_number("decisions") > 0  # seen inside
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write()
    assert DecisionLog(stores()).all() == []
    assert DecisionLog(store).all() == []


def test_several_threads_write(stores: Stores) -> None:
    store = stores()

    def write(number: int) -> None:
        for part in range(10):
            DecisionLog(store).add(Decision("kept", change=number, file=part))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    decisions = DecisionLog(stores()).all()
    for number in range(4):
        assert [decision.file for decision in decisions if decision.change == number] == [*range(10)]
