"""Leases: one owner at a time, by the database's clock; a number that grows; writes that come too late are refused."""

from __future__ import annotations

import threading

import pytest

from support.postgres import PostgresServer
from vaultwire.cluster.database import Database, DatabaseError
from vaultwire.cluster.leases import Lease, Leases, NotOwnerError, ask_back, move_vault, owners
from vaultwire.cluster.records import PostgresRecords
from vaultwire.vault.changes.record_store import RecordsAwayError

NOTES = {"notes": "/srv/notes"}


def take(database: Database, replica: str, vaults: dict[str, str] = NOTES) -> list[Lease]:
    leases = Leases(database, replica, f"http://{replica}:3000", 15).take(vaults)
    assert leases is not None
    return leases


def expire(postgres: PostgresServer, url: str) -> None:
    """Let the database's clock pass the end of all leases."""
    postgres.execute(url, "UPDATE vaultwire.vaults SET until = clock_timestamp() - interval '1 ms'")


def test_one_server_owns_a_vault(database: Database) -> None:
    (lease,) = take(database, "one")
    lease.check()
    assert lease.number == 1
    assert 13 < lease.left() <= 13.5
    assert Leases(database, "two", "", 15).take(NOTES) is None
    (owner,) = owners(database)
    assert owner[:5] == ("notes", "/srv/notes", "one", "http://one:3000", 1)
    assert 14 < owner.seconds_left <= 15


def test_all_vaults_of_a_server_or_none(database: Database) -> None:
    take(database, "one", {"b": "/b"})
    assert Leases(database, "two", "", 15).take({"a": "/a", "b": "/b"}) is None
    take(database, "three", {"a": "/a"})


def test_of_servers_that_ask_at_once_one_gets_it(database: Database) -> None:
    taken: list[list[Lease] | None] = []
    start = threading.Barrier(6)

    def ask(name: str) -> None:
        start.wait()
        taken.append(Leases(database, name, "", 15).take(NOTES))

    threads = [threading.Thread(target=ask, args=(str(number),)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(each is not None for each in taken) == 1
    assert len(taken) == 6


def test_an_owner_whose_time_is_over_changes_nothing(database: Database, url: str, postgres: PostgresServer) -> None:
    (old,) = take(database, "one")
    records = PostgresRecords(database, old)
    expire(postgres, url)
    (new,) = take(database, "two")
    assert new.number == old.number + 1
    old.check()  # its own clock has not moved: only the database knows
    assert Leases(database, "one", "", 15).renew([old]) == [old]

    def write(*, asks: bool) -> None:
        with records.writing() as transaction:
            rows = transaction.execute("INSERT INTO decisions (fields) VALUES (?)", ("{}",))
            assert not asks or rows.rowcount == 1

    for refused in (records.verify, lambda: write(asks=False), lambda: write(asks=True)):
        with pytest.raises(NotOwnerError, match="does not own the vault 'notes' any more"):
            refused()
    store = PostgresRecords(database, new)
    store.verify()
    assert (store.stamp(), store.last_number("decisions"), store.rows("SELECT * FROM decisions")) == (0, 0, [])


def test_an_owner_whose_own_clock_says_so_asks_nobody() -> None:
    lease = Lease(1, "notes", 1, 15)
    with pytest.raises(NotOwnerError):
        lease.check()
    PostgresRecords(Database("postgresql://nobody@127.0.0.1:1/none"), lease)  # connects to nothing
    with (
        pytest.raises(NotOwnerError),
        PostgresRecords(Database("postgresql://nobody@127.0.0.1:1/none"), lease).writing(),
    ):
        pass


def test_an_owner_nobody_has_replaced_goes_on(database: Database, url: str, postgres: PostgresServer) -> None:
    (lease,) = take(database, "one")
    expire(postgres, url)
    assert Leases(database, "one", "", 15).renew([lease]) == []
    assert Leases(database, "two", "", 15).take(NOTES) is None


def test_what_is_given_back_is_free_at_once(database: Database) -> None:
    leases = take(database, "one")
    Leases(database, "one", "", 15).give_back(leases, rests=False)
    with pytest.raises(NotOwnerError):
        leases[0].check()
    leases[0].renewed(1e12)  # the answer to a renewal that was asked for before
    with pytest.raises(NotOwnerError):
        leases[0].check()
    assert take(database, "one")[0].number == 2


def test_a_person_moves_a_vault(database: Database) -> None:
    leases = take(database, "one")
    assert ask_back(database, "notes").replica == "one"
    assert [owner.is_asked_back for owner in owners(database)] == [True]
    assert Leases(database, "one", "", 15).renew(leases) == []
    Leases(database, "one", "", 15).give_back(leases, rests=True)
    assert Leases(database, "one", "", 15).take(NOTES) is None  # the others first
    (lease,) = take(database, "two")
    assert Leases(database, "two", "", 15).renew([lease]) == []
    assert [owner.is_asked_back for owner in owners(database)] == [False]
    with pytest.raises(DatabaseError, match=r"knows no vault 'other' \(it knows: notes\)"):
        ask_back(database, "other")


def test_another_folder_is_not_taken_for_the_vault(database: Database) -> None:
    leases = take(database, "one")
    with pytest.raises(DatabaseError, match="a server owns the vault"):
        move_vault(database, "notes", "/elsewhere")
    Leases(database, "one", "", 15).give_back(leases, rests=False)
    with pytest.raises(DatabaseError, match="knows the vault 'notes' at /srv/notes, here it is at /elsewhere"):
        Leases(database, "two", "", 15).take({"notes": "/elsewhere"})
    move_vault(database, "notes", "/elsewhere")
    take(database, "two", {"notes": "/elsewhere"})


def test_a_write_that_has_begun_is_waited_for(database: Database, url: str, postgres: PostgresServer) -> None:
    (old,) = take(database, "one")
    with PostgresRecords(database, old).writing() as transaction:
        assert transaction.execute("INSERT INTO decisions (fields) VALUES (?)", ("{}",)).rowcount == 1
        expired = Leases(database, "two", "", 15).take(NOTES)  # the row is locked: not taken, and no error
        assert expired is None
    expire(postgres, url)
    (new,) = take(database, "two")
    assert PostgresRecords(database, new).last_number("decisions") == 1


def test_a_server_that_is_stopped_in_a_write_holds_nobody_up(
    database: Database, url: str, postgres: PostgresServer
) -> None:
    leases = Leases(database, "one", "", 1).take(NOTES)
    assert leases is not None
    taken: list[Lease] = []

    def write_and_stop() -> None:
        with PostgresRecords(database, leases[0]).writing() as transaction:
            assert transaction.execute("INSERT INTO decisions (fields) VALUES (?)", ("{}",)).rowcount == 1
            while (
                not taken
            ):  # the database ends this transaction after half a lease, and the lease after the other half
                taken.extend(Leases(database, "two", "", 15).take(NOTES) or ())

    with pytest.raises(RecordsAwayError, match="does not answer"):
        write_and_stop()
    assert PostgresRecords(database, taken[0]).last_number("decisions") == 0
