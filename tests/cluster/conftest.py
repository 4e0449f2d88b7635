"""A PostgreSQL for the tests of this folder, started with the first one that needs it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing

import pytest

from support.postgres import PostgresServer, running_postgres
from vaultwire.cluster.database import Database


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server, one for a process."""
    with running_postgres() as server:
        yield server


@pytest.fixture
def url(postgres: PostgresServer) -> str:
    """A database of its own, without our tables."""
    return postgres.new_database()


@pytest.fixture
def connect() -> Iterator[Callable[[str], Database]]:
    """Returns a database at an address; all are closed at the end."""
    with ExitStack() as opened:
        yield lambda address: opened.enter_context(closing(Database(address)))


@pytest.fixture
def database(url: str, connect: Callable[[str], Database]) -> Database:
    """The same database, with our tables."""
    database = connect(url)
    database.upgrade()
    return database
