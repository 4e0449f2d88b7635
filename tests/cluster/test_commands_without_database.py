"""Commands about people, grants, keys and vaults of several servers while their database is away: an error that says so."""

from __future__ import annotations

import psycopg
import pytest

from support.cable import Cable
from support.command_line import run_command
from support.postgres import PostgresServer
from support.sign_in import PASSWORD, URL
from vaultwire.cluster import database as module
from vaultwire.cluster.database import Database
from vaultwire.cluster.sign_in import SignInRows
from vaultwire.remote.store import Store

COMMANDS = [
    "people add Ana",
    "people add Ben",
    "people list",
    "people passkey Ana",
    "people passkey Ana --remove",
    "people remove Ana",
    "people url https://other.example.org",
    "grants list",
    "grants revoke all",
    "grants connector",
    "keys issue ben",
    "keys list",
    "keys revoke ana",
]


@pytest.fixture
def content(url: str, database: Database) -> dict[str, list[tuple[object, ...]]]:
    """What is in the tables: a person, a grant, a key."""
    store = Store(SignInRows(database))
    store.set_url(URL)
    store.add_person("Ana", "hash")
    store.new_connector("connector", writes=False)
    assert run_command("keys", "issue", "ana", "--database", url).returncode == 0
    return rows_of(url)


def rows_of(url: str) -> dict[str, list[tuple[object, ...]]]:
    with psycopg.connect(url) as connection:
        return {
            table: connection.execute(f"SELECT * FROM vaultwire.{table}".encode()).fetchall()
            for table in ("people", "grants", "tokens", "enrolments", "keys", "settings", "vaults")
        }


@pytest.mark.parametrize("lets_through", [0, 1])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_says_that_the_database_is_away_and_changes_nothing(
    command: str,
    lets_through: int,
    url: str,
    postgres: PostgresServer,
    content: dict[str, list[tuple[object, ...]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is away from the start, or after the look at its tables."""
    monkeypatch.setattr(module, "_WAIT_SECONDS", 0.2)
    with Cable(postgres.port, lets_through) as cable:
        address = url.replace(f":{postgres.port}/", f":{cable.port}/")
        done = run_command(*command.split(), "--database", address, stdin=f"{PASSWORD}\n")
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert line.startswith("vaultwire: ")
    assert ("cannot be reached" if lets_through == 0 else "does not answer") in line
    assert "Errno" not in line
    assert postgres.password not in line
    assert rows_of(url) == content
