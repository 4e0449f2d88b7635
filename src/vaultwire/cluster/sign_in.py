"""The rows of sign-in in PostgreSQL (``remote.rows.SignInRows``): people, grants, hashes of tokens.

One transaction writes at a time, of all servers, as in SQLite's file: so a code is taken once, and a refresh token is replaced
once, whichever servers are asked. A lock of the transaction says so, which works through a pooler. Sign-in writes seldom: once
an hour for each client.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from vaultwire.cluster.database import Database
from vaultwire.cluster.records import Statements

# A server that is stopped inside a transaction holds up the others no longer than this.
_IDLE_MS = 3000
_LOCK = b"SELECT pg_advisory_xact_lock(hashtext('vaultwire sign-in'))", ()


class SignInRows:
    """The rows in the database. All methods raise RecordsAwayError if it does not answer."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.place = database.place

    @contextmanager
    def writing(self) -> Iterator[Statements]:
        """See ``remote.rows.SignInRows``."""
        with self._database.begun([_LOCK], idle_in_transaction_session_timeout=_IDLE_MS) as (connection, _):
            statements = Statements(connection)
            yield statements
            statements.send()

    @contextmanager
    def reading(self) -> Iterator[Statements]:
        """See ``remote.rows.SignInRows``."""
        with self._database.transaction() as connection:
            statements = Statements(connection)
            yield statements
            statements.send()

    def close(self) -> None:
        """Do nothing: the connections are those of the whole server."""
