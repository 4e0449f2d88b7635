"""The catalog: what is known of every file of a vault, in SQLite: stats, names, links, tags, properties, tasks.

It has the connections, the transactions, and what the index updater reads and writes. What callers ask for is in
``catalog_queries``, ``note_finder``, ``summaries`` and ``link_graph_builder``.

Every process that serves the vault shares the catalog: the first one to see a change writes it, the others find it here. The
catalog also says what the text index still lacks (``PENDING``), so a process that is killed leaves nothing half done.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vaultwire.vault.index.store.catalog_writer import CatalogWriter, remove_facts
from vaultwire.vault.index.store.schema import (
    FORMAT,
    IN_LIST,
    INDEXED,
    INDEXES,
    PENDING,
    TABLES,
    UNREAD,
    FileRow,
    KnownFile,
    Record,
)
from vaultwire.vault.value_types import NoteStat, VaultPath

# Other processes write for milliseconds at a time. After so long something is wrong.
_BUSY_SECONDS = 20.0
# Which files changed is written down for so many changes, and not for a change of more files than this.
_CHANGES_NOTED, _MOST_NOTED = 200, 200


class Catalog:
    """One vault's catalog. Safe to use from several threads: one thread writes at a time, others read meanwhile."""

    def __init__(self, path: str | None) -> None:
        """``path``: its file; None for memory. Raises sqlite3.DatabaseError if the file is broken or of another format."""
        self.path = path
        self._write_lock = threading.RLock()
        self._writer = self._connect()
        if path is None:
            self._reader, self._read_lock = self._writer, self._write_lock
        else:
            self._reader, self._read_lock = self._connect(), threading.RLock()
        # For callers that forget to close it: sqlite3 warns of connections that are garbage-collected (Python 3.13).
        weakref.finalize(self, _close, self._reader, self._writer)
        self._create()

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self.path or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            # A power cut may lose the last transactions. Nothing is lost: files are compared at every start.
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA temp_store = MEMORY")
            # Indexing a vault touches the same pages again and again. So: 8 MB of cache, a checkpoint every 32 MB, not 4 MB.
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
        """Yield a connection inside a transaction, rolled back by an exception. May be nested; the outermost commits."""
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
        """Return the rows of a SELECT statement."""
        with self._read_lock:
            return self._reader.execute(statement, values).fetchall()

    def version(self) -> tuple[int, int]:
        """Return a value that differs after each change by any process. Takes 5 µs."""
        with self._read_lock:
            (version,) = self._reader.execute("PRAGMA data_version").fetchone()
            return version, self._reader.total_changes

    def meta(self, name: str) -> Any:
        """Return a value of the table ``meta``, None if it is not set."""
        found = self.rows("SELECT value FROM meta WHERE name = ?", (name,))
        return found[0][0] if found else None

    def set_meta(self, name: str, value: object) -> None:
        """Set a value of the table ``meta``."""
        with self.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))

    # ------------------------------------------------------------------ files

    def folder(self, folder: str) -> dict[VaultPath, KnownFile]:
        """Return what is known of the files directly in a folder."""
        rows = self.rows(
            "SELECT path, size, modified, stamp, is_racy, hidden, digest FROM files WHERE folder = ?", (folder,)
        )
        return {row[0]: KnownFile(*row[1:]) for row in rows}

    def is_folder_unchanged(self, folder: str, stats: list[NoteStat]) -> bool:
        """Tell whether none of the files directly in a folder must be read: a quick way beside comparing them one by one.

        ``stats`` are all files of the folder, in path order. Hidden files are always compared one by one. Comparing whole
        rows takes 15 ms for 10,000 notes, one by one 45 ms: at each start, and at each call where nothing can be watched.
        """
        size = f"CASE WHEN is_racy OR hidden OR (digest = {UNREAD} AND (is_note OR problem IS NOT NULL)) THEN -1 ELSE size END"
        rows = self.rows(f"SELECT path, {size}, modified, stamp FROM files WHERE folder = ?", (folder,))
        rows.sort()
        return rows == stats

    def known(self, path: str) -> KnownFile | None:
        """Return what is known of one file."""
        rows = self.rows("SELECT size, modified, stamp, is_racy, hidden, digest FROM files WHERE path = ?", (path,))
        return KnownFile(*rows[0]) if rows else None

    def folders(self) -> set[str]:
        """Return every folder that files are directly in."""
        return {folder for (folder,) in self.rows("SELECT DISTINCT folder FROM files")}

    def not_indexed(self) -> list[FileRow]:
        """Return the notes of which the text index lacks this version: PENDING and NOT_INDEXABLE."""
        return self._file_rows("state > 0")

    def _file_rows(self, condition: str, values: Sequence[Any] = ()) -> list[FileRow]:
        rows = self.rows(
            f"SELECT id, path, size, modified, stamp, is_note, hidden, state, digest FROM files WHERE {condition}",
            values,
        )
        return [
            FileRow(note_id, NoteStat(*stat), bool(is_note), bool(hidden), state, digest)
            for note_id, *stat, is_note, hidden, state, digest in rows
        ]

    def not_indexed_ids(self) -> list[int]:
        """Return the ids of these notes."""
        return [note_id for (note_id,) in self.rows("SELECT id FROM files WHERE state > 0")]

    def count_pending(self, most: int = -1) -> int:
        """Count the notes that wait for the text index, up to ``most``."""
        pending = f"SELECT 1 FROM files WHERE state > 0 AND state = {PENDING} LIMIT ?"
        return int(self.rows(f"SELECT count(*) FROM ({pending})", (most,))[0][0])

    def pending_after(self, note_id: int, limit: int) -> list[FileRow]:
        """Return the next notes that wait for the text index, by their ids."""
        return self._file_rows(f"state > 0 AND state = {PENDING} AND id > ? ORDER BY id LIMIT ?", (note_id, limit))

    def some_pending(self, every: int) -> list[VaultPath]:
        """Return one in so many of the notes that wait for the text index and are not hidden."""
        rows = self.rows(
            f"SELECT path FROM files WHERE state > 0 AND state = {PENDING} AND NOT hidden AND id % ? = 0", (every,)
        )
        return [path for (path,) in rows]

    def has_pending(self) -> bool:
        """Tell whether a flush of the text index has something to do."""
        # ``state > 0`` lets SQLite use the index of these.
        pending = f"SELECT 1 FROM files WHERE state > 0 AND state = {PENDING}"
        rows = self.rows(f"SELECT 1 WHERE EXISTS ({pending}) OR EXISTS (SELECT 1 FROM gone)")
        return bool(rows)

    def stats(self, ids: Sequence[int]) -> dict[int, tuple[NoteStat, bool]]:
        """Return the stats of the files with these ids, each with whether it is racy. Ids gone and hidden are left out."""
        statement = f"SELECT id, path, size, modified, stamp, is_racy FROM files WHERE id {IN_LIST} AND NOT hidden"
        rows = self.rows(statement, (json.dumps(ids),))
        return {row[0]: (NoteStat(*row[1:5]), bool(row[5])) for row in rows}

    # ------------------------------------------------------------------ changing

    def store(self, records: Iterable[Record]) -> tuple[list[int], int]:
        """Replace what is known of these files.

        Return their ids, and the first id of a new file: it and all greater ids are new.
        """
        with self.writing() as connection:
            batch = list(records)
            writer = CatalogWriter(connection, batch)
            ids = [writer.add(record) for record in batch]
            writer.write()
            self._note_changes(connection, writer.changed)
        return ids, writer.first_new

    @contextmanager
    def without_sql_indexes(self) -> Iterator[None]:
        """Drop the SQL indexes while the block runs, if the catalog is empty: inserting then takes two thirds of the time."""
        with self.writing() as connection:
            if self.is_empty():
                for name in INDEXES:
                    connection.execute(f"DROP INDEX IF EXISTS {name}")
        try:
            yield
        finally:
            self.create_sql_indexes()

    def release_memory(self) -> None:
        """Free SQLite's caches, and write its log to the database: after a large build both are full."""
        with self._write_lock, self._read_lock:
            self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            self.empty_caches()

    def empty_caches(self) -> None:
        """Free SQLite's caches, as far as nothing in them waits to be written."""
        with self._write_lock, self._read_lock:
            for connection in (self._writer, self._reader):
                connection.execute("PRAGMA shrink_memory")

    def create_sql_indexes(self) -> None:
        """Create the SQL indexes that do not exist."""
        with self.writing() as connection:
            for name, of in INDEXES.items():
                connection.execute(f"CREATE INDEX IF NOT EXISTS {name} ON {of}")

    def is_empty(self) -> bool:
        """Tell whether the catalog has no file."""
        return not self.rows("SELECT 1 FROM files LIMIT 1")

    def touch(self, stats: Iterable[tuple[NoteStat, bool]]) -> None:
        """Write new stats, each with whether it is racy, of files whose content is the same."""
        with self.writing() as connection:
            connection.executemany(
                "UPDATE files SET size = ?, modified = ?, stamp = ?, is_racy = ? WHERE path = ?",
                [(stat.size, stat.modified_ns, stat.stamp, is_racy, stat.path) for stat, is_racy in stats],
            )

    def forget(self, paths: Iterable[str]) -> None:
        """Remove files that are gone, or may not be seen any more."""
        with self.writing() as connection:
            lost = list(paths)
            changed: list[tuple[str, int, bool]] = []
            for path in lost:
                found = connection.execute(
                    "SELECT id, is_note OR digest, hidden FROM files WHERE path = ?", (path,)
                ).fetchone()
                if found is None:
                    continue
                changed.append((path, found[0], True))
                remove_facts(connection, {found[0]: bool(found[2])})
                connection.execute("DELETE FROM files WHERE id = ?", found[:1])
                if found[1]:
                    connection.execute("INSERT OR IGNORE INTO gone VALUES (?)", found[:1])
            if changed:
                self._count_up(connection, "lost")
            self._note_changes(connection, changed)

    def lost_files(self) -> int:
        """Return a count that grows when files are removed."""
        return int(self.meta("lost") or 0)

    def changes(self) -> int:
        """Return a count that grows with each change of what is known of files. Changes of stats alone do not count."""
        return int(self.meta("changes") or 0)

    def changed_since(self, changes: int) -> dict[str, bool] | None:
        """Return the paths of the files that changed since there were so many changes; None if nobody knows any more.

        Each with whether it has come or gone, or is hidden in another way than before.
        """
        if changes < int(self.meta("unknown_before") or 0):
            return None
        rows = self.rows("SELECT path, max(is_listed) FROM changed WHERE number > ? GROUP BY path", (changes,))
        return {path: bool(is_listed) for path, is_listed in rows}

    def changed_ids_since(self, changes: int) -> set[int] | None:
        """Return the ids of these files, those that they had before and those that they have now."""
        if changes < int(self.meta("unknown_before") or 0):
            return None
        return {note_id for (note_id,) in self.rows("SELECT id FROM changed WHERE number > ?", (changes,))}

    def _note_changes(self, connection: sqlite3.Connection, changed: list[tuple[str, int, bool]]) -> None:
        """Count a change and write which files it concerns, as long as they are few."""
        number = self._count_up(connection, "changes")
        forgotten = number if len(changed) > _MOST_NOTED else number - _CHANGES_NOTED
        if forgotten == number:
            connection.execute("DELETE FROM changed")
        else:
            connection.execute("DELETE FROM changed WHERE number <= ?", (forgotten,))
            connection.executemany("INSERT INTO changed VALUES (?, ?, ?, ?)", [(number, *each) for each in changed])
        if forgotten > int(self.meta("unknown_before") or 0):
            self.set_meta("unknown_before", forgotten)

    def _count_up(self, connection: sqlite3.Connection, name: str) -> int:
        connection.execute("INSERT INTO meta VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1", (name,))
        (count,) = connection.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return int(count)

    def gone(self) -> list[int]:
        """Return the ids of removed notes that may still be in the text index."""
        return [note_id for (note_id,) in self.rows("SELECT id FROM gone")]

    def mark_indexed(self, rows: Iterable[FileRow], gone: Collection[int]) -> int:
        """Write that the text index has these versions of notes, and no longer has those that are gone.

        A note that has changed since stays PENDING. Return how many commits of the text index there are now.
        """
        with self.writing() as connection:
            connection.executemany(
                f"UPDATE files SET state = {INDEXED} WHERE id = ? AND size = ? AND modified = ? AND stamp = ? AND hidden = ?"
                f" AND digest = ? AND state = {PENDING}",
                [(row.id, *row.stat[1:], row.hidden, row.digest) for row in rows],
            )
            connection.executemany("DELETE FROM gone WHERE id = ?", [(note_id,) for note_id in gone])
            self._keep_last_id(connection, gone)
            return self._count_up(connection, "commits")

    def _keep_last_id(self, connection: sqlite3.Connection, gone: Collection[int]) -> None:
        """Remember the greatest of these ids, so that no later file gets it: the pages of a search name notes by ids."""
        greatest = max(gone, default=0)
        connection.execute(
            "INSERT INTO meta VALUES ('last_id', ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
            (greatest,),
        )

    def add_words(self, words: Iterable[str], *, of_paths: bool) -> None:
        """Add words to the vocabulary. Some may be there already."""
        with self.writing() as connection:
            rows = [(word, of_paths) for word in words]
            connection.executemany("INSERT INTO words (word, of_paths) VALUES (?, ?)", rows)


def _close(*connections: sqlite3.Connection) -> None:
    for connection in connections:
        connection.close()
