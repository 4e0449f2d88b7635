"""The calls that several servers have counted, in PostgreSQL: each server is given those of the others, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import psycopg
import pytest

from support.postgres import PostgresServer, running_postgres
from vaultwire.cluster.calls import CallRows
from vaultwire.cluster.database import Database
from vaultwire.trust.limits import WINDOW_SECONDS
from vaultwire.vault.changes.record_store import RecordsAwayError

ANA = ("ana#1", "")
Servers: TypeAlias = Callable[..., CallRows]


@pytest.fixture
def server(database: Database) -> Servers:
    """Returns the calls as a server of this name has them."""
    return lambda name, *vaults: CallRows(database, name, vaults or ("Notes", "Work"), WINDOW_SECONDS)


def counts(calls: dict[Any, list[float]]) -> dict[str, int]:
    """Return how many calls there are, by the name of the tool."""
    return {name: len(ages) for (_, name, _), ages in calls.items()}


def test_each_server_is_given_the_calls_of_the_others_once(server: Servers) -> None:
    one, two, three = (server(name) for name in ("one", "two", "three"))
    assert one.exchange({(ANA, "read_note", 9): [0.5, 0.25], (ANA, "", 9): [0.5, 0.25]}) == {}
    assert counts(two.exchange({(ANA, "read_note", 9): [0.0]})) == {"read_note": 2, "": 2}
    assert counts(three.exchange({})) == {"read_note": 3, "": 2}
    assert counts(one.exchange({(("", "Claude"), "write_note", 9): [1.0]})) == {"read_note": 1}
    assert counts(two.exchange({})) == {"write_note": 1}
    assert counts(three.exchange({})) == {"write_note": 1}
    assert [rows.exchange({}) for rows in (one, two, three)] == [{}, {}, {}]
    later = server("one, started again")
    assert counts(later.exchange({})) == {"read_note": 3, "": 2, "write_note": 1}


def test_the_age_of_a_call_goes_on_in_the_database(server: Servers, url: str, postgres: PostgresServer) -> None:
    server("one").exchange({(ANA, "", 9): [5.0]})
    postgres.execute(url, "UPDATE vaultwire.calls SET at = at - interval '20 seconds'")
    [[age]] = server("two").exchange({}).values()
    assert 25 <= age < 60
    postgres.execute(url, "UPDATE vaultwire.calls SET at = at + interval '1 day'")  # a database whose clock was behind
    assert [*server("three").exchange({}).values()] == [[0.0]]


def test_a_call_that_is_committed_late_is_not_missed(server: Servers, url: str) -> None:
    two = server("two")
    with psycopg.connect(url) as slow:  # its row has the lower number
        sql = (
            "INSERT INTO vaultwire.calls (serves, server, calls) SELECT serves, 'slow', %s FROM vaultwire.calls LIMIT 1"
        )
        two.exchange({(ANA, "of two", 9): [0.0]})
        slow.execute(sql, ('[["ana#1", "", "late", 9, [0.0]]]',))
        server("one").exchange({(ANA, "early", 9): [0.0]})
        assert counts(two.exchange({})) == {"early": 1}
    assert counts(two.exchange({})) == {"late": 1}
    assert two.exchange({}) == {}


def test_other_groups_have_their_own_calls(server: Servers) -> None:
    server("one", "Notes").exchange({(ANA, "", 9): [0.0]})
    assert server("two", "Notes", "Work").exchange({}) == {}
    assert counts(server("three", "Notes").exchange({})) == {"": 1}
    server("four", "B", "A").exchange({(ANA, "", 9): [0.0]})
    assert counts(server("five", "A", "B").exchange({})) == {"": 1}


def test_calls_that_are_over_are_removed_and_nobody_waits_for_a_server_that_is_stopped_at_it(
    server: Servers, url: str, postgres: PostgresServer
) -> None:
    def rows() -> int:
        with psycopg.connect(url) as connection:
            row = connection.execute("SELECT count(*) FROM vaultwire.calls").fetchone()
            return 0 if row is None else int(row[0])

    for name in ("one", "two"):
        server(name, "of another group").exchange({(ANA, "", 9): [0.0]})
    server("three").exchange({(ANA, "", 9): [0.0]})
    postgres.execute(url, "UPDATE vaultwire.calls SET at = at - interval '61 seconds' WHERE server != 'three'")
    with psycopg.connect(url) as stopped:
        stopped.execute("DELETE FROM vaultwire.calls WHERE server = 'one'")
        assert counts(server("four").exchange({})) == {"": 1}
        assert rows() == 2
        stopped.rollback()
    server("four").exchange({})
    assert rows() == 1


@pytest.mark.parametrize("name", ['O\'Brien "x" \\', "half \ud83d", "a\0b", "\x1a", "日本", "[]", "%s", "a#b"])
def test_a_client_may_have_any_name(server: Servers, name: str) -> None:
    server("one").exchange({(("", name), name, 9): [0.0]})
    assert [*server("two").exchange({})] == [(("", name), name, 9)]


def test_a_database_that_is_away_is_told() -> None:
    with running_postgres() as postgres:
        database = Database(postgres.new_database())
        database.upgrade()
        rows = CallRows(database, "one", ("Notes",), WINDOW_SECONDS)
        rows.exchange({(ANA, "", 9): [0.0]})
        postgres.stop()
        with pytest.raises(RecordsAwayError, match="does not answer"):
            rows.exchange({(ANA, "", 9): [0.0]})
        postgres.start()
        database.close()
