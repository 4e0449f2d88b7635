"""The records of one vault: its changes, proposals and decisions. What keeps them, and the one that keeps them in SQLite.

``journal`` and ``holding.proposals`` keep their rows through a ``RecordStore`` and know only plain SQL. On one computer that is
``SqliteRecords``, one file outside the vault; where several servers share a vault, ``vaultwire.cluster.records`` has another.

SQLite's write-ahead mode: a commit is one append and one sync, and readers never wait for a writer. It needs a local disk;
where SQLite finds no shared memory, it keeps its slower mode, and where it finds no locks, it refuses. A file is made under
another name and then gets its own: one that is there is whole.
"""

from __future__ import annotations

import errno
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from typing import Any, Protocol, TypeVar

from vaultwire.vault.disk.file_operations import (
    make_private,
    remove_quietly,
    replace_file,
    sync_file,
    sync_folder,
)
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import SERVER_BUSY, VaultError
from vaultwire.vault.value_types import NO_PROGRESS

_NAME = "journal.sqlite3"
_FORMAT = 1
# Records are written in batches of about a megabyte, so another process waits much shorter than that.
_BUSY_SECONDS = 30.0
# So large the log may stay after a change of many files.
_LOG_SIZE = 4_000_000
_OPEN_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
# No change takes fewer bytes in the file.
_LEAST_SIZE = 100
# Errors of a file system that is none for a database.
_NO_LOCKS = (
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_IOERR_LOCK,
    sqlite3.SQLITE_IOERR_CHECKRESERVEDLOCK,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMLOCK,
    sqlite3.SQLITE_IOERR_SHMMAP,
)

# ``owner`` is a change or a proposal, named as the desk names them: c7, p3. The numbers never come twice (AUTOINCREMENT).
_SCHEMA = f"""
PRAGMA auto_vacuum = INCREMENTAL;
CREATE TABLE about (vault TEXT);
CREATE TABLE changes (
    id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER, proposal INTEGER, state TEXT, unrestored TEXT, size INTEGER,
    header TEXT, sum BLOB
);
CREATE INDEX open_changes ON changes (id) WHERE state IN ('begun', 'ready', 'rolled back');
CREATE INDEX changes_of_proposals ON changes (proposal) WHERE proposal > 0;
CREATE TABLE steps (owner TEXT, number INTEGER, facts TEXT, PRIMARY KEY (owner, number)) WITHOUT ROWID;
CREATE TABLE contents (
    owner TEXT, number INTEGER, part TEXT, is_compressed INTEGER, data BLOB, PRIMARY KEY (owner, number, part)
);
CREATE TABLE proposals (
    id INTEGER PRIMARY KEY AUTOINCREMENT, time_ns INTEGER, client TEXT, state TEXT, decided_ns INTEGER, size INTEGER,
    header TEXT, sum BLOB, decision TEXT
);
CREATE TABLE decisions (id INTEGER PRIMARY KEY AUTOINCREMENT, fields TEXT);
CREATE TABLE taken_over (name TEXT PRIMARY KEY, size INTEGER);
PRAGMA user_version = {_FORMAT};
"""

_Result = TypeVar("_Result")


class DamagedStoreError(OSError):
    """The file is not what was written."""


class RecordsAwayError(OSError):
    """The records cannot be written for now, and nothing was: the caller may try again. ``strerror`` says why."""


# A database that was restarted is back by then, or another server has taken over.
_RETRY_SECONDS = 5


def busy(error: RecordsAwayError) -> VaultError:
    """Return the error that tells it to a caller (SERVER_BUSY), with when to try again."""
    message = f"Nothing was changed: {error.strerror}. Try this again in {_RETRY_SECONDS} seconds."
    return VaultError(SERVER_BUSY, message, retryAfter=_RETRY_SECONDS)


class Rows(Protocol):
    """What a statement gave."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:
        """Return the next row, None for none."""

    def fetchall(self) -> list[Any]:
        """Return all rows."""


class Transaction(Protocol):
    """What is written in, with plain SQL and ``?`` for values."""

    def execute(self, sql: str, values: Sequence[Any] = (), /) -> Rows:
        """Execute a statement."""

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Execute a statement for each row of values."""


class RecordStore(Protocol):
    """The records of one vault. Safe to use from several threads and processes.

    All methods raise OSError. Of these, DamagedStoreError says that the records themselves are damaged; RecordsAwayError, that
    they cannot be reached, or not be written by this process any more.
    """

    prepare: Callable[[], None] | None
    """Called before each use, until it is taken away."""

    reads_back: bool
    """Whether each record is read once more before its change is made: a file on a damaged disk is set aside in time."""

    @property
    def place(self) -> str:
        """Names where they are, to a person."""

    @property
    def opened(self) -> int:
        """How many files it has used: another one after the first was set aside."""

    def check(self) -> None:
        """Raise RecordsAwayError if this process may not change the vault any more. Quick: asked before each rename."""

    def verify(self) -> None:
        """Do the same as ``check``, and ask those who would know better. Asked before each change."""

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Return the rows of a query; none if nothing was ever recorded."""

    def writing(self, *, sync: bool = True) -> AbstractContextManager[Transaction]:
        """Write what the block executes, all or nothing; not inside another such block. With ``sync`` it is on the disk when
        this returns; without, it is there after what was written before it.
        """

    def stamp(self) -> Hashable:
        """Return a value that differs once anything was recorded, by any process. Costs one look at the disk."""

    def last_number(self, table: str) -> int:
        """Return the highest number that a row of a table ever had, 0 for none."""

    def use_up(self, transaction: Transaction, table: str, number: int) -> None:
        """See to it that no new row of a table gets this number or a lower one."""

    def size(self) -> int:
        """Return how many bytes they take, as far as that can be told at once."""

    def give_back_room(self) -> None:
        """Make the file smaller after rows were removed."""

    def close(self) -> None:
        """Close the file. The next use opens it again."""

    def repaired(self, write: Callable[[], _Result]) -> _Result:
        """Return what ``write`` returns. If the file is damaged, it is set aside first, and ``write`` is called again."""


class SqliteRecords:
    """The file of records in one folder, which need not exist yet (``RecordStore``)."""

    reads_back = True

    def __init__(self, folder: str, vault: str = "", prepare: Callable[[], None] | None = None) -> None:
        """``vault`` is its path, for a person who looks into the file. ``prepare`` is called before each use, until it is
        taken away.
        """
        self.prepare = prepare
        self._folder = folder
        self._path = os.path.join(folder, _NAME)
        self._saved = f"{self._path}.saved"  # a whole new one, until the damaged one is moved away
        self._vault = vault
        self._lock = threading.RLock()
        # Held to make a file and to set one aside: the others of SQLite must be those of the file that has the name.
        self._naming = ProcessLock(
            os.path.join(folder, "journal.lock"), "another process makes the journal", needed=True
        )
        self._connection: sqlite3.Connection | None = None
        self._file: tuple[int, int] | None = None  # which file it is: another process may have set that one aside
        self._opened = self._written = 0

    @property
    def place(self) -> str:
        """See ``RecordStore``."""
        return self._folder

    def check(self) -> None:
        """Do nothing: who changes the vault holds its lock, and no other process has that."""

    verify = check

    def rows(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """See ``RecordStore``."""
        self._prepare()
        with self._lock, self._os_errors():
            connection = self._open()
            return [] if connection is None else connection.execute(sql, values).fetchall()

    @contextmanager
    def writing(self, *, sync: bool = True) -> Iterator[Transaction]:
        """See ``RecordStore``."""
        self._prepare()
        with self._lock, self._os_errors():
            connection = self._begin(sync=sync)
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                try:
                    connection.rollback()
                except sqlite3.Error:
                    self.close()
                raise
            self._written += 1

    def _begin(self, *, sync: bool) -> sqlite3.Connection:
        while True:
            connection = self._open(make=True)
            assert connection is not None
            assert not connection.in_transaction
            # EXTRA: in the slower mode, too, what was committed is there after a power cut. Else it is FULL.
            connection.execute(f"PRAGMA synchronous = {'EXTRA' if sync else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            if self._identity() == self._file:
                return connection
            connection.rollback()  # meanwhile another process has set it aside

    def stamp(self) -> Hashable:
        """See ``RecordStore``."""
        self._prepare()
        with self._lock, self._os_errors():
            connection = self._open()
            version = None if connection is None else connection.execute("PRAGMA data_version").fetchone()
            return self._opened, self._written, version

    @property
    def opened(self) -> int:
        """See ``RecordStore``."""
        return self._opened

    def last_number(self, table: str) -> int:
        """See ``RecordStore``."""
        used = "(SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?)"
        rows = self.rows(f"SELECT max((SELECT coalesce(max(id), 0) FROM {table}), {used})", table)
        return int(rows[0][0]) if rows else 0

    def use_up(self, transaction: Transaction, table: str, number: int) -> None:
        """See ``RecordStore``."""
        number = max(number, self.last_number(table))
        transaction.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        transaction.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, number))

    def size(self) -> int:
        """See ``RecordStore``."""
        pages, size = self.rows("PRAGMA page_count"), self.rows("PRAGMA page_size")
        return int(pages[0][0] * size[0][0]) if pages and size else 0

    def give_back_room(self) -> None:
        """See ``RecordStore``."""
        self.rows("PRAGMA incremental_vacuum")

    def close(self) -> None:
        """See ``RecordStore``."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = self._file = None

    # ------------------------------------------------------------------ opening

    def _prepare(self) -> None:
        prepare = self.prepare
        if prepare is not None:
            prepare()

    def _open(self, *, make: bool = False) -> sqlite3.Connection | None:
        """Return the connection to the file that is there now; without ``make`` None if there is none."""
        there = self._identity()
        if self._connection is not None and there == self._file:
            return self._connection
        self.close()
        if there is None:
            if not make and not os.path.exists(self._saved):
                return None
            self._make()
            there = self._identity()
        self._file = there  # also if it cannot be opened: see ``_set_aside``
        is_for_one_use = not make and not os.access(self._folder, os.W_OK)
        connection = self._connected_to_read() if is_for_one_use else _connected(self._path)
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        if version != _FORMAT:
            connection.close()
            raise OSError(errno.EINVAL, "it was written by another version of vaultwire", self._path)
        self._connection = connection
        if is_for_one_use:
            self._file = None
        self._opened += 1
        return connection

    def _connected_to_read(self) -> sqlite3.Connection:
        """Return a connection for one use: in a folder that it may not write to, SQLite sees nothing of what others write."""
        from pathlib import Path  # noqa: PLC0415 - few runs need it

        is_whole = not os.path.exists(f"{self._path}-wal")
        return _connected(f"{Path(self._path).as_uri()}?mode=ro{'&immutable=1' if is_whole else ''}", uri=True)

    def _identity(self) -> tuple[int, int] | None:
        """Return which file has the name, None for none."""
        try:
            status = os.stat(self._path)
        except FileNotFoundError:
            return None
        return status.st_dev, status.st_ino

    def _make(self) -> None:
        """Make the file, unless another process has just made it."""
        make_private(self._folder)
        with self._naming.held(NO_PROGRESS):
            if self._identity() is not None:
                return
            if not os.path.exists(self._saved):
                self._fill(self._saved)
            self._name_saved()

    def _fill(self, path: str, damaged: sqlite3.Connection | None = None) -> None:
        """Make a whole file, with what can be read of a damaged one."""
        new = f"{self._path}.new"
        remove_quietly(new)  # of a process that was killed
        descriptor = os.open(new, _OPEN_NEW, 0o600)
        try:
            with closing(_connected(new)) as connection:
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute("PRAGMA journal_mode = MEMORY")
                connection.executescript(_SCHEMA)
                connection.execute("INSERT INTO about VALUES (?)", (self._vault,))
                if damaged is not None:
                    connection.execute("BEGIN")
                    _save_rows(damaged, os.stat(self._path).st_size, connection)
                    connection.execute("COMMIT")
                # Last: what is not yet in the file itself when it is closed would be lost without an error.
                connection.execute("PRAGMA journal_mode = WAL")
            sync_file(descriptor)
        finally:
            os.close(descriptor)
        replace_file(new, path)

    def _name_saved(self) -> None:
        """Give the saved file its name, which is free. A log without its file must not be taken for that of this one."""
        for ending in ("-wal", "-shm", "-journal"):
            remove_quietly(self._path + ending)
        replace_file(self._saved, self._path)
        sync_folder(self._folder)
        sync_folder(os.path.dirname(self._folder))

    @contextmanager
    def _os_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.ProgrammingError:
            raise
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            # Our statements are right: where SQLite sees a mistake in one, the tables are not those that were made.
            if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_ERROR):
                raise DamagedStoreError(errno.EIO, str(error), self._path) from error
            if getattr(error, "sqlite_errorcode", 0) in _NO_LOCKS:
                reason = "its file system lacks the locks or the shared memory of a local disk"
                raise OSError(errno.ENOLCK, reason, self._path) from error
            number = {sqlite3.SQLITE_FULL: errno.ENOSPC, sqlite3.SQLITE_BUSY: errno.EBUSY}.get(code, errno.EIO)
            raise OSError(number, str(error), self._path) from error

    # ------------------------------------------------------------------ damage

    def repaired(self, write: Callable[[], _Result]) -> _Result:
        """See ``RecordStore``."""
        try:
            return write()
        except DamagedStoreError:
            self._set_aside()
            return write()

    def _set_aside(self) -> None:
        """Keep the damaged file under another name, and go on with a new one that has the rows that can be read.

        The new one is whole before the damaged one is moved: after a kill it gets the name, or is made again.
        """
        with self._lock, self._os_errors(), self._naming.held(NO_PROGRESS):
            damaged_file = self._file
            self.close()
            if self._identity() != damaged_file:  # another process has just done it
                return
            aside = os.path.join(self._folder, f"journal.damaged-{time.time_ns()}.sqlite3")
            with closing(_connected(self._path)) as damaged:
                with suppress(sqlite3.DatabaseError):
                    damaged.execute("BEGIN IMMEDIATE")  # others wait, and then find that it is not their file any more
                self._fill(self._saved, damaged)
                if os.name == "nt":  # an open file keeps its name there
                    damaged.close()
                for ending in ("", "-wal", "-journal"):
                    with suppress(FileNotFoundError):
                        os.replace(self._path + ending, aside + ending)
                self._name_saved()


def _connected(path: str, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=uri)
    # A damaged text is found by its sum.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.execute(f"PRAGMA journal_size_limit = {_LOG_SIZE}")
    connection.execute("PRAGMA fullfsync = ON")  # macOS: the drive, too, must write what it has
    connection.execute("PRAGMA checkpoint_fullfsync = ON")
    return connection


def _save_rows(damaged: sqlite3.Connection, size: int, into: sqlite3.Connection) -> None:
    """Copy what can be read of a damaged file of this size, row by row. Each number that was used stays used."""

    def readable(sql: str, value: object) -> Iterator[tuple[Any, ...]]:
        with suppress(sqlite3.DatabaseError):
            yield from damaged.execute(sql, (value,))

    def copy(table: str, condition: str, value: object) -> None:
        for row in readable(f"SELECT * FROM {table} WHERE {condition}", value):
            with suppress(sqlite3.IntegrityError):
                into.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", row)

    def number(sql: str) -> int | None:
        try:
            row = damaged.execute(sql).fetchone()
        except sqlite3.DatabaseError:
            return None
        return row[0] if row and isinstance(row[0], int) else 0

    most = size // _LEAST_SIZE
    for table in ("changes", "proposals", "decisions"):
        first = number(f"SELECT min(id) FROM {table}") or 0
        highest = [
            number(f"SELECT max(id) FROM {table}"),
            number(f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'"),
        ]
        known = [last for last in highest if last is not None]
        last = min(max(known), first + most) if known else most
        for row in range(max(first, last - most), last + 1):
            copy(table, "id = ?", row)
            if table != "decisions":
                for part in ("steps", "contents"):
                    copy(part, "owner = ?", f"{table[0]}{row}")
        into.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
        into.execute("INSERT INTO sqlite_sequence VALUES (?, ?)", (table, last))
