"""Where sign-in keeps its rows: a small SQLite file, or what a database of several servers has in its place.

``remote.store`` has the statements. They are plain SQL that SQLite and PostgreSQL understand alike: names are compared by
``lower``, and ``rowid`` is the order in which rows were added.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from vaultwire.vault.changes.record_store import Transaction
from vaultwire.vault.disk.file_operations import keep_private, make_private

_TABLES = """
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS people (name TEXT PRIMARY KEY COLLATE NOCASE, password TEXT NOT NULL, created INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS browsers (hash BLOB PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, expires INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS note_sessions (hash BLOB PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, expires INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS passkeys (
    id BLOB PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, data BLOB NOT NULL, count INTEGER NOT NULL,
    created INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS enrolments (hash BLOB PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, expires INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS grants (
    id TEXT PRIMARY KEY, person TEXT NOT NULL COLLATE NOCASE, client TEXT NOT NULL, client_id TEXT NOT NULL,
    client_name TEXT NOT NULL, writes INTEGER NOT NULL, created INTEGER NOT NULL, expires INTEGER NOT NULL,
    used INTEGER NOT NULL, folders TEXT NOT NULL DEFAULT '[]'
);
CREATE TABLE IF NOT EXISTS tokens (
    hash BLOB PRIMARY KEY, kind TEXT NOT NULL, grant_id TEXT NOT NULL, expires INTEGER NOT NULL, used INTEGER NOT NULL,
    parent BLOB, challenge TEXT, redirect_uri TEXT
);
CREATE TABLE IF NOT EXISTS spent (hash BLOB PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (who BLOB NOT NULL, began INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS attempts_by_who ON attempts (who);
CREATE INDEX IF NOT EXISTS tokens_by_grant ON tokens (grant_id);
CREATE INDEX IF NOT EXISTS tokens_by_parent ON tokens (parent);
"""


class SignInRows(Protocol):
    """What keeps the rows, with the tables of ``_TABLES`` and plain SQL (``Transaction``)."""

    @property
    def place(self) -> str:
        """Where they are, in words for a person."""

    def writing(self) -> AbstractContextManager[Transaction]:
        """Write what the block executes, all or nothing, and nothing of others meanwhile. Raises OSError, sqlite3.Error."""

    def reading(self) -> AbstractContextManager[Transaction]:
        """Read what was written as a whole, without waiting for who writes. Raises the same."""

    def close(self) -> None:
        """Close it."""


class SqliteRows:
    """The file in the state folder (``SignInRows``). Safe to use from several threads and processes."""

    def __init__(self, folder: str) -> None:
        """Open it; make it if it is not there. Raises OSError and sqlite3.Error."""
        make_private(folder)
        keep_private(folder)
        self.place = f"the folder {folder}"
        path = os.path.join(folder, "sign-in.sqlite3")
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite would let others read it
        self._writer_lock, self._reader_lock = threading.Lock(), threading.Lock()
        self._writer = _connect(path)
        names = {name for (name,) in self._writer.execute("SELECT name FROM sqlite_master")}
        if "sessions" in names and "note_sessions" not in names:  # an older file
            self._writer.execute("ALTER TABLE sessions RENAME TO note_sessions")
        self._writer.executescript(_TABLES)
        if "folders" not in [
            column[1] for column in self._writer.execute("PRAGMA table_info (grants)")
        ]:  # an older one
            self._writer.execute("ALTER TABLE grants ADD COLUMN folders TEXT NOT NULL DEFAULT '[]'")
        self._reader = _connect(path)  # one of its own, so that it never waits for another's write

    def close(self) -> None:
        """See ``SignInRows``."""
        with self._reader_lock, self._writer_lock:
            self._reader.close()
            self._writer.close()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """See ``SignInRows``."""
        with self._writer_lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """See ``SignInRows``."""
        with self._reader_lock:
            yield self._reader


def _connect(path: str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=10, isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = WAL")  # who reads does not wait for who writes
    return database
