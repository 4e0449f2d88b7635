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

from vaultwire.cluster.database import Cursor, Database, Statement, begin, send
from vaultwire.cluster.leases import Lease
from vaultwire.vault.changes.record_store import DamagedStoreError, Transaction

_Result = TypeVar("_Result")
# Text of PostgreSQL has no NUL.
_ESCAPE, _NUL = "\x1a", "\0"
# So much of a transaction waits at most before it is sent.
_BATCH_BYTES, _BATCH_STATEMENTS = 1 << 20, 1000


class PostgresRecords:
    """The records of the vault of a lease (``RecordStore``). Safe to use from several threads, and by several servers.

    Only the owner writes; all may read.
    """

    prepare: Callable[[], None] | None = None
    reads_back = False  # a damaged database is a matter of its backup, and a look at it costs a round trip

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
        with self._store_errors():
            return [*map(_row, self._database.rows(_statement(sql, values), **self._settings))]

    @contextmanager
    def writing(self, *, sync: bool = True) -> Iterator[Transaction]:
        """See ``RecordStore``. One round trip, unless the block asks what a statement gave.

        So a connection that the database has closed is not replaced here: nobody would know whether it was committed.
        """
        settings = self._settings if sync else {**self._settings, "synchronous_commit": "off"}
        # Holds the row of the lease. Without such a row it divides by zero, and with that the transaction ends.
        fence = "SELECT 1 / count(*) FROM (SELECT 1 FROM vaults WHERE id = ? AND fencing = ? FOR UPDATE) AS held"
        with self._lock:
            self.check()
            with self._store_errors(), self._database.connection() as connection:
                statements = Statements(connection, begin(**settings))
                statements.execute(fence, (self._lease.vault, self._lease.number))
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
                statements.execute("COMMIT")
                statements.send()

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
    def _store_errors(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.DivisionByZero:  # see ``writing``
            raise self._lease.lost() from None
        except psycopg.Error as error:  # not of the connection, which ``Database`` tells
            raise DamagedStoreError(errno.EIO, f"{self.place}: {error}") from error


class Statements:
    """A transaction that takes the SQL of the store: ``?`` for values, whole numbers for sums (``Transaction``).

    Statements wait, and are sent together when the rows of one are asked for, and at the end. If this process is stopped while
    they wait, nothing has begun, or the database takes the transaction for idle and ends it in time. It would not if a part was
    sent: then who takes the lease ends it.
    """

    def __init__(self, connection: psycopg.Connection[Any], first: Iterable[Statement] = ()) -> None:
        """``first``: what is sent before all others."""
        self._connection = connection
        self._waiting = [(statement, _Rows(self)) for statement in first]
        self._size = 0  # in bytes, of what waits

    def execute(self, sql: str, values: Sequence[Any] = ()) -> _Rows:
        """See ``Transaction``."""
        rows = _Rows(self)
        self._waiting.append((_statement(sql, values), rows))
        self._size += sum(len(value) for value in values if isinstance(value, str | bytes))
        if self._size > _BATCH_BYTES or len(self._waiting) >= _BATCH_STATEMENTS:
            self.send()
        return rows

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]]) -> object:
        """See ``Transaction``."""
        for row in rows:
            self.execute(sql, row)
        return None

    def send(self) -> None:
        """Execute what waits."""
        waiting, self._waiting, self._size = self._waiting, [], 0
        if not waiting:
            return
        answers = send(self._connection, (statement for statement, _ in waiting))
        for (_, rows), answer in zip(waiting, answers, strict=True):
            rows.cursor = answer


class _Rows:
    """What a statement gives. It is sent once that is asked for."""

    def __init__(self, statements: Statements) -> None:
        self._statements = statements
        self.cursor: Cursor | None = None

    @property
    def rowcount(self) -> int:
        return self._sent().rowcount

    def fetchone(self) -> tuple[Any, ...] | None:
        row = self._sent().fetchone()
        return None if row is None else _row(row)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return [*map(_row, self._sent().fetchall())]

    def _sent(self) -> Cursor:
        if self.cursor is None:
            self._statements.send()
        assert self.cursor is not None
        return self.cursor


def _greatest(table: str) -> str:
    return f"greatest(last_{table}, (SELECT max(id) FROM {table}))"


def _statement(sql: str, values: Sequence[Any]) -> Statement:
    return _in_their_words(sql), [*map(_to_database, values)]


@lru_cache(maxsize=256)
def _in_their_words(sql: str) -> bytes:
    return sql.replace("%", "%%").replace("?", "%s").encode()


def _to_database(value: Any) -> Any:
    if isinstance(value, str) and (_NUL in value or _ESCAPE in value):
        return value.replace(_ESCAPE, _ESCAPE + "1").replace(_NUL, _ESCAPE + "0")
    return value


def _row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(map(_from_database, row))


def _from_database(value: Any) -> Any:
    if isinstance(value, str) and _ESCAPE in value:
        return value.replace(_ESCAPE + "0", _NUL).replace(_ESCAPE + "1", _ESCAPE)
    return value
