"""The database between several servers: its migrations, the rights of a server, and errors in words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TypeAlias

import psycopg
import pytest

from support.postgres import PostgresServer, running_postgres
from vaultwire.cluster import database as module
from vaultwire.cluster.calls import CallRows
from vaultwire.cluster.database import NEWEST, Database, DatabaseError
from vaultwire.cluster.leases import Leases
from vaultwire.cluster.records import PostgresRecords
from vaultwire.cluster.sign_in import SignInRows
from vaultwire.remote.store import CONNECTOR, Store
from vaultwire.vault.changes.record_store import RecordsAwayError

Connect: TypeAlias = Callable[[str], Database]


def test_the_tables_are_made_once(url: str) -> None:
    database = Database(url)
    with pytest.raises(DatabaseError, match=r"has no tables of vaultwire yet: vaultwire database init"):
        database.check()
    assert database.upgrade() == [*range(1, NEWEST + 1)]
    assert database.upgrade() == []
    status = database.check()
    assert (status.schema, status.has_tls) == (NEWEST, False)
    assert int(status.version.split(".")[0]) >= 15


def test_a_migration_that_fails_leaves_the_schema_as_it_was(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(url)
    with monkeypatch.context() as patch:
        broken = (*module._MIGRATIONS, ("CREATE TABLE vaultwire.more (id bigint); SELECT 1 / 0", 1))
        patch.setattr(module, "_MIGRATIONS", broken)
        patch.setattr(module, "NEWEST", len(broken))
        with pytest.raises(DatabaseError, match="division by zero"):
            database.upgrade()
        with pytest.raises(DatabaseError, match="has no tables"):
            database.check()
    assert database.upgrade() == [*range(1, NEWEST + 1)]


def test_a_server_goes_on_while_the_schema_grows(url: str, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    old = connect(url)
    old.upgrade()
    with monkeypatch.context() as patch:
        later = (*module._MIGRATIONS, ("ALTER TABLE vaultwire.vaults ADD COLUMN hue text DEFAULT 'red'", 1))
        patch.setattr(module, "_MIGRATIONS", later)
        patch.setattr(module, "NEWEST", len(later))
        with pytest.raises(DatabaseError, match=rf"has schema {NEWEST}, this version of vaultwire needs {NEWEST + 1}"):
            Database(url).check()
        assert Database(url).upgrade() == [NEWEST + 1]
        Database(url).check()
    assert old.check().schema == NEWEST + 1
    assert old.upgrade() == []
    assert Leases(old, "one", "", 15).take({"notes": "/notes"}) is not None


def test_a_schema_that_needs_a_later_program_is_told(url: str, postgres: PostgresServer) -> None:
    database = Database(url)
    database.upgrade()
    postgres.execute(url, f"INSERT INTO vaultwire.migrations VALUES ({NEWEST + 3}, {NEWEST + 2})")
    for refused in (database.check, database.upgrade):
        with pytest.raises(DatabaseError, match="needs a later version of vaultwire"):
            refused()


def test_a_server_needs_few_rights_only(url: str, connect: Connect, postgres: PostgresServer) -> None:
    name = url.rpartition("/")[2]
    postgres.execute(url, "CREATE ROLE clerk LOGIN PASSWORD 'pass word'")
    clerk = connect(postgres.url(name, "clerk", "pass word"))
    with pytest.raises(DatabaseError, match="permission denied"):
        clerk.upgrade()
    Database(url).upgrade()
    with pytest.raises(DatabaseError, match=r"lacks rights .*--grant ROLE"):
        clerk.check()
    Database(url).upgrade(runtime_role="clerk")
    clerk.check()
    leases = Leases(clerk, "one", "", 15).take({"notes": "/notes"})
    assert leases is not None
    records = PostgresRecords(clerk, leases[0])
    with records.writing() as transaction:
        transaction.execute("INSERT INTO decisions (fields) VALUES (?)", ("{}",))
    assert records.last_number("decisions") == 1
    people = Store(SignInRows(clerk))
    assert people.add_person("Ana", "hash")
    secret = people.new_connector("connector", writes=True)
    assert people.owner(secret, (CONNECTOR,)) is not None
    assert people.add_passkey(people.new_enrolment("Ana"), b"id", b"data", 0) == "Ana"
    assert people.spend("answer", 60)
    assert people.begin_attempt("name ana")
    assert people.remove_person("Ana")
    for calls in (CallRows(clerk, "one", ("notes",), 0), CallRows(clerk, "two", ("notes",), 60)):  # one drops rows
        calls.exchange({(("clerk", ""), "read_note", 9): [0.0]})
        calls.exchange({})
    with (
        psycopg.connect(postgres.url(name, "clerk", "pass word")) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("DROP TABLE vaultwire.all_changes")


def test_errors_name_what_is_wrong(url: str, postgres: PostgresServer) -> None:
    name = url.rpartition("/")[2]
    for address, reason in (
        (postgres.url(name, password="wrong"), "password authentication failed"),
        (postgres.url("nowhere"), 'database "nowhere" does not exist'),
        (url.replace(str(postgres.port), "1"), "onnection refused"),
        (f"{url}?sslmode=require", "server does not support SSL"),
    ):
        with pytest.raises(DatabaseError, match=reason) as caught:
            Database(address).check()
        assert postgres.password not in str(caught.value)
        assert "wrong" not in str(caught.value)
    for address in ("http://example.org", "postgresql://u@h/d?colour=red"):
        with pytest.raises(DatabaseError, match="the address of a PostgreSQL database is such as"):
            Database(address)


def test_a_database_that_is_back_is_used_again(connect: Connect) -> None:
    with running_postgres() as server:  # one of its own, which is stopped
        database = connect(server.new_database())
        database.upgrade()
        with database.transaction() as transaction:
            transaction.execute("SELECT 1")
        server.stop()
        with pytest.raises(RecordsAwayError, match="does not answer"), database.transaction():
            pass
        server.start()
        rows: list[object] = []
        while not rows:  # a connection may take longer than a caller waits
            with suppress(RecordsAwayError), database.transaction() as transaction:
                rows = transaction.execute("SELECT 1").fetchall()
        assert rows == [(1,)]
