"""What is known of every file of a vault, in SQLite: stats, names, links, tags, properties, tasks.

Derived state, shared by every process that serves the vault: whoever sees a change first writes it down, the others find it
there. What the text index still has to take up is written down here too (``pending``), so a process killed at any moment
leaves nothing half known. Questions are asked in ``vault.index.store.catalog_queries``.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vaultwire.vault.index.store.catalog_writer import CatalogWriter, forget_note
from vaultwire.vault.index.store.schema import FORMAT, INDEXES, TABLES, UNREAD, FileRow, KnownFile, Record
from vaultwire.vault.model import NoteStat, VaultPath

# Other processes write too, for milliseconds at a time; after so long something is wrong.
_BUSY_SECONDS = 20.0


class Catalog:
    """One vault's catalog. Safe to use from several threads: one writes at a time, reading goes on meanwhile."""

    def __init__(self, path: str | None) -> None:
        """``path``: its file; None for memory. Raises sqlite3.DatabaseError if the file is broken or no such catalog."""
        self.path = path
        self._write_lock = threading.RLock()
        self._writer = self._connect()
        if path is None:
            self._reader, self._read_lock = self._writer, self._write_lock
        else:
            self._reader, self._read_lock = self._connect(), threading.RLock()
        # Whoever forgets to close it: sqlite3 warns of connections that are just dropped (Python 3.13).
        weakref.finalize(self, _close, self._reader, self._writer)
        self._create()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # Losing the last moments in a power cut is losing nothing: files are compared at every start.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA temp_store = MEMORY")
            # Indexing a vault touches the same pages again and again: 8 MB of them, and checkpoints every 32 MB, not every 4.
            connection.execute("PRAGMA cache_size = -8000")
            connection.execute("PRAGMA wal_autocheckpoint = 8000")
            connection.execute("PRAGMA journal_size_limit = 4000000")
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _create(self) -> None:
        with self.writing() as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version not in (0, FORMAT):
                raise sqlite3.DatabaseError(f"a catalog of format {version}, not {FORMAT}")
            if version == 0:
                for statement in TABLES.split(";\n\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                self.set_meta("text", f"text-{os.urandom(6).hex()}")
            self.create_sql_indexes()  # a process may have been killed before it did

    def close(self) -> None:
        """Close the connections."""
        with self._write_lock, self._read_lock:
            _close(self._reader, self._writer)

    # ------------------------------------------------------------------ access

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give a connection inside one transaction, undone by an exception. May be nested; the outermost ends it."""
        with self._write_lock:
            if self._writer.in_transaction:
                yield self._writer
                return
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
            except BaseException:
                self._writer.execute("ROLLBACK")
                raise
            self._writer.execute("COMMIT")

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Return the rows of a reading statement."""
        with self._read_lock:
            return self._reader.execute(statement, values).fetchall()

    def version(self) -> tuple[int, int]:
        """Return what differs after any change, made by whomever. Cheap: 5 µs."""
        with self._read_lock:
            (version,) = self._reader.execute("PRAGMA data_version").fetchone()
            return version, self._reader.total_changes

    def meta(self, name: str) -> Any:
        """Return one of the catalog's own settings, None if it is not set."""
        found = self.rows("SELECT value FROM meta WHERE name = ?", (name,))
        return found[0][0] if found else None

    def set_meta(self, name: str, value: object) -> None:
        """Set one of the catalog's own settings."""
        with self.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    # ------------------------------------------------------------------ files

    def folder(self, folder: str) -> dict[VaultPath, KnownFile]:
        """Return what is known of the files right in a folder."""
        rows = self.rows(
            "SELECT path, size, modified, stamp, is_racy, hidden, digest FROM files WHERE folder = ?", (folder,)
        )
        return {row[0]: KnownFile(*row[1:]) for row in rows}

    def is_folder_unchanged(self, folder: str, stats: list[NoteStat]) -> bool:
        """Tell whether the files right in a folder are these, and all that is known of each can be relied on.

        That is not so of hidden ones either. ``stats`` are in path order. A third of the time that ``folder`` takes.
        """
        size = f"CASE WHEN is_racy OR hidden OR (digest = {UNREAD} AND (is_note OR problem IS NOT NULL)) THEN -1 ELSE size END"
        rows = self.rows(f"SELECT path, {size}, modified, stamp FROM files WHERE folder = ?", (folder,))
        rows.sort()  # most often they are in order
        return rows == stats

    def known(self, path: str) -> KnownFile | None:
        """Return what is known of one file."""
        rows = self.rows("SELECT size, modified, stamp, is_racy, hidden, digest FROM files WHERE path = ?", (path,))
        return KnownFile(*rows[0]) if rows else None

    def folders(self) -> set[str]:
        """Return every folder that has files."""
        return {folder for (folder,) in self.rows("SELECT DISTINCT folder FROM files")}

    def not_indexed(self) -> list[FileRow]:
        """Return the notes that the text index does not have as they are."""
        return list(self._files("state > 0", ()))

    def has_pending(self) -> bool:
        """Tell whether the text index has something to take up."""
        # SQLite does not see by itself that the index of those over 0 has them.
        pending = "SELECT 1 FROM files WHERE state > 0 AND state = 1"
        rows = self.rows(f"SELECT 1 WHERE EXISTS ({pending}) OR EXISTS (SELECT 1 FROM gone)")
        return bool(rows)

    def paths(self, ids: Sequence[int]) -> dict[int, VaultPath]:
        """Return the paths of the files with these ids, of those that are there."""
        return dict(self.rows(f"SELECT id, path FROM files WHERE id IN ({_marks(ids)})", ids))

    def stats(self, ids: Sequence[int]) -> dict[int, tuple[NoteStat, bool]]:
        """Return the stats of the files with these ids, and whether they are racy."""
        rows = self.rows(f"SELECT id, path, size, modified, stamp, is_racy FROM files WHERE id IN ({_marks(ids)})", ids)
        return {row[0]: (NoteStat(*row[1:5]), bool(row[5])) for row in rows}

    def _files(self, condition: str, values: Sequence[Any]) -> Iterator[FileRow]:
        statement = (
            f"SELECT id, path, size, modified, stamp, is_note, hidden, state, digest FROM files WHERE {condition}"
        )
        for note_id, path, size, modified, stamp, is_note, hidden, *rest in self.rows(statement, values):
            yield FileRow(note_id, NoteStat(path, size, modified, stamp), bool(is_note), bool(hidden), *rest)

    # ------------------------------------------------------------------ changing

    def store(self, records: Iterable[Record]) -> tuple[list[int], int]:
        """Write down what was found in files, in place of what was known of them.

        Return their ids, and the first id that is a new file's; all later ones are.
        """
        with self.writing() as connection:
            batch = list(records)
            filing = CatalogWriter(connection, batch)
            ids = [filing.add(record) for record in batch]
            filing.end()
            self._count_change(connection)
        return ids, filing.first_new

    @contextmanager
    def without_sql_indexes(self) -> Iterator[None]:
        """Do without indexes, if there is nothing yet: filing the rows of a first build then takes two thirds of the time."""
        with self.writing() as connection:
            if connection.execute("SELECT 1 FROM files LIMIT 1").fetchone() is None:
                for name in INDEXES:
                    connection.execute(f"DROP INDEX IF EXISTS {name}")
        try:
            yield
        finally:
            self.create_sql_indexes()

    def create_sql_indexes(self) -> None:
        """Make the indexes that are not there."""
        with self.writing() as connection:
            for name, of in INDEXES.items():
                connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {of}")

    def touch(self, stats: Iterable[tuple[NoteStat, bool]]) -> None:
        """Write down new stats, each with whether it is racy, of files that still hold what they held."""
        with self.writing() as connection:
            connection.executemany(
                "UPDATE files SET size = ?, modified = ?, stamp = ?, is_racy = ? WHERE path = ?",
                [(stat.size, stat.modified_ns, stat.stamp, is_racy, stat.path) for stat, is_racy in stats],
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Take out files that are gone."""
        with self.writing() as connection:
            self._count_change(connection)
            for path in paths:
                found = connection.execute("SELECT id, is_note OR digest FROM files WHERE path = ?", (path,)).fetchone()
                if found is None:
                    continue
                forget_note(connection, found[0])
                connection.execute("DELETE FROM files WHERE id = ?", found[:1])
                if found[1]:
                    connection.execute("INSERT OR IGNORE INTO gone VALUES (?)", found[:1])

    def changes(self) -> int:
        """Return what differs after any change of what is known of files, but for their stats alone."""
        return int(self.meta("changes") or 0)

    def _count_change(self, connection: sqlite3.Connection) -> None:
        connection.execute("INSERT INTO meta VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1")

    def gone(self) -> list[int]:
        """Return the ids of notes that are gone and may still be in the text index."""
        return [note_id for (note_id,) in self.rows("SELECT id FROM gone")]

    def mark_indexed(self, taken: Iterable[FileRow], gone: Iterable[int]) -> int:
        """Write down that the text index has these notes as they were, and no longer those that are gone.

        Return how many commits of the text index there are now.
        """
        with self.writing() as connection:
            connection.executemany(
                "UPDATE files SET state = 0 WHERE id = ? AND size = ? AND modified = ? AND stamp = ? AND hidden = ?"
                " AND digest = ? AND state = 1",
                [(row.id, *row.stat[1:], row.hidden, row.digest) for row in taken],
            )
            connection.executemany("DELETE FROM gone WHERE id = ?", [(note_id,) for note_id in gone])
            connection.execute(
                "INSERT INTO meta VALUES ('commits', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1"
            )
            (commits,) = connection.execute("SELECT value FROM meta WHERE name = 'commits'").fetchone()
        return int(commits)

    def add_words(self, words: Iterable[str], *, of_paths: bool) -> None:
        """Write down words that came into use. One may be there already."""
        with self.writing() as connection:
            rows = [(word, of_paths) for word in words]
            connection.executemany("INSERT INTO words (word, of_paths) VALUES (?, ?)", rows)


def _marks(values: Sequence[object]) -> str:
    return ", ".join("?" * len(values))


def _close(*connections: sqlite3.Connection) -> None:
    for connection in connections:
        connection.close()
