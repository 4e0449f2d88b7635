"""The records of one vault in PostgreSQL: what ``vault.changes.record_store`` keeps in SQLite for a vault of one computer.

A write holds the row of the lease until it is committed, and goes through only with the lease's own number. So a take-over
waits for a write that has begun, and no write of an earlier owner comes after a take-over.
"""

from __future__ import annotations

import errno
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any, TypeVar

import psycopg
from psycopg.adapt import Loader

from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import Lease
from vaultwire.vault.changes.record_store import DamagedStoreError, Transaction

_Result = TypeVar("_Result")
# Text of PostgreSQL has no NUL.
_ESCAPE, _NUL = "\x1a", "\0"


class PostgresRecords:
    """The records of the vault of a lease (``RecordStore``). Safe to use from several threads, and by several servers.

    Only the owner writes; all may read.
    """

    prepare: Callable[[], None] | None = None

    def __init__(self, database: Database, lease: Lease) -> None:
        self._database = database
        self._lease = lease
        self._settings = {
            "vaultwire.vault": lease.vault,
            # The row of the lease is locked meanwhile. If this process is stopped, others get it before the lease is over.
            "idle_in_transaction_session_timeout": int(lease.seconds * 500),
        }
        self._lock = threading.Lock()
        self._writing: tuple[int, Statements] | None = None  # the thread inside ``writing``, and its transaction

    @property
    def place(self) -> str:
        """See ``RecordStore``."""
        return self._database.place

    @property
    def opened(self) -> int:
        """See ``RecordStore``."""
        return 1

    def check(self) -> None:
        """See ``RecordStore``."""
        self._lease.check()

    def verify(self) -> None:
        """See ``RecordStore``."""
        self.check()
        [(number,)] = self.rows("SELECT fencing FROM vaults WHERE id = ?", self._lease.vault)
        if number != self._lease.number:
            raise self._lease.lost()

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """See ``RecordStore``."""
        writing = self._writing
        if writing is not None and writing[0] == threading.get_ident():
            return writing[1].execute(sql, values).fetchall()
        with self._statements(sync=True) as statements:
            return statements.execute(sql, values).fetchall()

    @contextmanager
    def writing(self, *, sync: bool = True) -> Iterator[Transaction]:
        """See ``RecordStore``."""
        with self._lock:
            self.check()
            with self._statements(sync=sync) as statements:
                row = statements.execute("SELECT fencing FROM vaults WHERE id = ? FOR UPDATE", (self._lease.vault,))
                if row.fetchone() != (self._lease.number,):
                    raise self._lease.lost()
                self._writing = (threading.get_ident(), statements)
                try:
                    yield statements
                finally:
                    self._writing = None
                numbers = ", ".join(
                    f"last_{table} = {_greatest(table)}" for table in ("changes", "proposals", "decisions")
                )
                sql = f"UPDATE vaults SET revision = revision + 1, {numbers} WHERE id = ?"
                statements.execute(sql, (self._lease.vault,))

    def stamp(self) -> Hashable:
        """See ``RecordStore``."""
        return int(self._of_vault("revision"))

    def last_number(self, table: str) -> int:
        """See ``RecordStore``."""
        return int(self._of_vault(_greatest(table)))

    def use_up(self, transaction: Transaction, table: str, number: int) -> None:
        """See ``RecordStore``."""
        sql = f"UPDATE vaults SET last_{table} = greatest(last_{table}, ?) WHERE id = ?"
        transaction.execute(sql, (number, self._lease.vault))

    def size(self) -> int:
        """See ``RecordStore``."""
        sizes = "(SELECT coalesce(sum(size), 0) FROM changes) + (SELECT coalesce(sum(size), 0) FROM proposals)"
        return int(self.rows(f"SELECT {sizes}")[0][0])

    def give_back_room(self) -> None:
        """Do nothing: the database does that by itself (autovacuum)."""

    def close(self) -> None:
        """Do nothing: the connections are those of all vaults."""

    def repaired(self, write: Callable[[], _Result]) -> _Result:
        """Return what ``write`` returns: a damaged database is a matter of its backup."""
        return write()

    def _of_vault(self, what: str) -> Any:
        rows = self.rows(f"SELECT {what} FROM vaults WHERE id = ?", self._lease.vault)
        if not rows:
            raise DamagedStoreError(errno.EIO, f"{self.place} has no row of the vault {self._lease.name!r} any more")
        return rows[0][0]

    @contextmanager
    def _statements(self, *, sync: bool) -> Iterator[Statements]:
        settings = self._settings if sync else {**self._settings, "synchronous_commit": "off"}
        try:
            with self._database.transaction(**settings) as connection:
                yield Statements(connection)
        except psycopg.Error as error:  # not of the connection, which ``transaction`` tells
            raise DamagedStoreError(errno.EIO, f"{self.place}: {error}") from error


class Statements:
    """A transaction that takes the SQL of the store: ``?`` for values, whole numbers for sums (``Transaction``)."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        connection.adapters.register_loader("numeric", _Whole)
        self._connection = connection

    def execute(self, sql: str, values: Sequence[Any] = ()) -> _Rows:
        """See ``Transaction``."""
        return _Rows(self._connection.execute(_in_their_words(sql), [*map(_to_database, values)]))

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> object:
        """See ``Transaction``."""
        # Not psycopg's own, which waits for the answers only at the end: if this process is stopped before that, the database
        # does not take the transaction for idle, and waits as long.
        for row in rows:
            self.execute(sql, row)
        return None


class _Rows:
    """What a statement gave."""

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        return self._cursor.rowcount

    def fetchone(self) -> tuple[Any, ...] | None:
        row = self._cursor.fetchone()
        return None if row is None else tuple(map(_from_database, row))

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [tuple(map(_from_database, row)) for row in self._cursor.fetchall()]


class _Whole(Loader):
    """Sums of whole numbers, which PostgreSQL gives as decimals."""

    def load(self, data: Any) -> int:
        return int(bytes(data))


def _greatest(table: str) -> str:
    return f"greatest(last_{table}, (SELECT max(id) FROM {table}))"


@lru_cache(maxsize=256)
def _in_their_words(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()


def _to_database(value: Any) -> Any:
    if isinstance(value, str) and (_NUL in value or _ESCAPE in value):
        return value.replace(_ESCAPE, _ESCAPE + "1").replace(_NUL, _ESCAPE + "0")
    return value


def _from_database(value: Any) -> Any:
    if isinstance(value, str) and _ESCAPE in value:
        return value.replace(_ESCAPE + "0", _NUL).replace(_ESCAPE + "1", _ESCAPE)
    return value
