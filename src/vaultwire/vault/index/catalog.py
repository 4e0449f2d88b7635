"""The catalog: what is known of every file of a vault, in SQLite: stats, names, links, tags, properties, tasks.

It has the connections, the transactions, and what the index updater reads and writes. What callers ask for is in
``catalog_queries``, ``summaries`` and ``link_graph``.

Every process that serves the vault shares the catalog: the first one to see a change writes it, the others find it here. The
catalog also says what the text index still lacks (``PENDING``), so a process that is killed leaves nothing half done.
"""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import threading
import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeAlias

from vaultwire.vault.disk.paths import fold
from vaultwire.vault.value_types import NoteStat, VaultPath

# The catalog's tables and indexes, and the tuples that go in and come out. Statements are in the modules beside it.

# Part of the cache folder's name. Raise it when the tables change, or what is read from notes: a catalog of another format is
# never opened or migrated. A new one is built, and the old one is deleted.
FORMAT = 19

# The state of a note: the text index has it; it does not have this version yet; it cannot have it, so each search reads
# the file.
INDEXED, PENDING, NOT_INDEXABLE = range(3)

UNREAD = 0
"""The digest of a file that was not read or could not be."""

IN_LIST = "IN (SELECT value FROM json_each(?))"
"""A condition with any number of values: the parameter is their list as JSON."""

_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_TIME = "[0-9][0-9]:[0-9][0-9]"
KIND = (
    f"CASE WHEN value GLOB '\"{_DAY}\"' THEN 'day'"
    f" WHEN value GLOB '\"{_DAY}T{_TIME}\"' OR value GLOB '\"{_DAY}T{_TIME}:[0-9][0-9]\"' THEN 'time'"
    " WHEN value GLOB '[-0-9NI]*' THEN 'number' WHEN value IN ('true', 'false') THEN 'truth'"
    " ELSE substr(value, 1, 1) END"
)
"""The kind of a property's value. Values of one kind have one type (``markdown.properties.property_type``)."""

# ``meta`` has its rows apart from its index of names: some values have a megabyte, which a search for other names would read.
TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value);

CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    folder TEXT NOT NULL,
    path TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    size INTEGER NOT NULL,
    modified INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    is_note INTEGER NOT NULL,
    is_excluded INTEGER NOT NULL,
    state INTEGER NOT NULL,
    digest INTEGER NOT NULL,
    is_racy INTEGER NOT NULL,
    problem TEXT,
    suspect INTEGER NOT NULL,
    has_queries INTEGER NOT NULL,
    open_tasks TEXT,
    done_tasks TEXT
);

CREATE TABLE gone (id INTEGER PRIMARY KEY);

CREATE TABLE changed (number INTEGER NOT NULL, path TEXT NOT NULL, id INTEGER NOT NULL, is_listed INTEGER NOT NULL);

CREATE TABLE links (
    note INTEGER NOT NULL, place INTEGER NOT NULL, line INTEGER NOT NULL, name TEXT NOT NULL, linktext TEXT NOT NULL,
    display TEXT NOT NULL, kind INTEGER NOT NULL, PRIMARY KEY (note, place)
) WITHOUT ROWID;

CREATE TABLE tags (note INTEGER NOT NULL, place INTEGER NOT NULL, tag TEXT NOT NULL,
    PRIMARY KEY (note, place)) WITHOUT ROWID;

CREATE TABLE tagged (tag TEXT NOT NULL, note INTEGER NOT NULL, spelling TEXT NOT NULL,
    PRIMARY KEY (tag, note)) WITHOUT ROWID;

CREATE TABLE tag_counts (tag TEXT PRIMARY KEY, notes INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE aliases (note INTEGER NOT NULL, place INTEGER NOT NULL, alias TEXT NOT NULL, spelling TEXT NOT NULL,
    PRIMARY KEY (note, place)) WITHOUT ROWID;

CREATE TABLE properties (note INTEGER NOT NULL, place INTEGER NOT NULL, name TEXT NOT NULL, spelling TEXT NOT NULL,
    value TEXT NOT NULL, written TEXT, PRIMARY KEY (note, place)) WITHOUT ROWID;

CREATE TABLE property_counts (name TEXT NOT NULL, kind TEXT NOT NULL, example TEXT NOT NULL, notes INTEGER NOT NULL,
    PRIMARY KEY (name, kind)) WITHOUT ROWID;

CREATE TABLE counts (what TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;

CREATE TABLE tasks (note INTEGER NOT NULL, line INTEGER NOT NULL, mark TEXT NOT NULL, heading TEXT NOT NULL,
    text TEXT NOT NULL, plain TEXT, is_open INTEGER NOT NULL, PRIMARY KEY (note, line)) WITHOUT ROWID;

CREATE TABLE outlines (note INTEGER PRIMARY KEY, headings TEXT NOT NULL, block_ids TEXT NOT NULL);

CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT NOT NULL, of_paths INTEGER NOT NULL);
"""

# Apart from the tables: a first build creates them after all rows are inserted, which takes a third of the time.
INDEXES = {
    "files_folder": "files (folder, is_note, is_excluded, size)",
    "files_name": "files (name, path, is_note, is_excluded)",
    "files_size": "files (size DESC, path) WHERE is_note AND NOT is_excluded",
    "files_state": "files (state) WHERE state > 0",
    "files_latest": "files (modified DESC, path) WHERE is_note AND NOT is_excluded",
    "files_visible": "files (path) WHERE is_note AND NOT is_excluded",
    "files_canvases": "files (path) WHERE NOT is_note AND NOT is_excluded AND digest <> 0",
    "files_excluded": "files (id) WHERE is_excluded",
    "files_problem": "files (id) WHERE problem IS NOT NULL",
    "files_suspect": "files (path) WHERE suspect",
    "files_queries": "files (path) WHERE has_queries",
    "files_open_tasks": "files (path, open_tasks) WHERE open_tasks IS NOT NULL AND NOT is_excluded",
    "files_done_tasks": "files (path, done_tasks) WHERE done_tasks IS NOT NULL AND NOT is_excluded",
    "files_attachments": "files (name, size) WHERE NOT is_note AND NOT is_excluded",
    "links_name": "links (name)",
    "tagged_note": "tagged (note)",
    "properties_value": "properties (name, value, written, note)",
}

# ``written`` is NULL where the texts of a property are those of its value. Else it has them as JSON, for each name in the note
# that differs from this one only in case: whether it has no value, whether that is empty, and the texts, as in ``1.20``.

FIRST_INLINE_FIELD = 1_000_000
"""The ``place`` of properties from which on they are inline fields; a note has less characters of properties."""

# ``tag_counts``, ``property_counts`` and ``counts`` (links, open and done tasks) count what notes have that are not excluded.
# To count it in 100,000 notes takes 0.2 s. An ``example`` is a value that some note has or had. ``open_tasks`` and
# ``done_tasks`` have the lines of a note's tasks, with commas: a list of 180,000 tasks is made of them in 45 ms, of the
# tasks in 140.

# ``plain`` is a task's text without case and diacritics, as searches compare it; NULL where the text is ASCII, of which SQLite
# knows the case (``catalog_queries.tasks_with``).

# The tables of a note's facts: what was read from it. ``tagged`` has each tag and its parent tags, of notes that are not
# excluded. ``outlines`` has what links to a part may name, as JSON: level and text of each heading, and the block ids. Callers
# that need more of them read the note.
FACTS = ("links", "tags", "tagged", "aliases", "properties", "tasks", "outlines")

Facts: TypeAlias = tuple[list[tuple[Any, ...]], ...]
"""A note's rows for each of these tables, without the note's id."""

NO_FACTS: Facts = tuple([] for _ in FACTS)
"""The facts of a note that could not be parsed."""


class Record(NamedTuple):
    """All that the catalog stores of one file. ``facts`` is None for an attachment and for a note that cannot be read.

    A canvas is an attachment with a digest: the text index has it, and it has no facts.

    ``suspect``: whether its own text may have a fault (``vault.links.faults``), whatever its links lead to.

    ``has_queries``: it may have a code block that asks for notes, such as a base (``may_hold_queries``).

    ``is_racy``: it was read so soon after its last change that another change may not show in its time.
    """

    stat: NoteStat
    is_note: bool
    is_excluded: bool = False
    state: int = INDEXED
    digest: int = UNREAD
    is_racy: bool = False
    problem: str | None = None
    facts: Facts | None = None
    suspect: bool = False
    has_queries: bool = False


class KnownFile(NamedTuple):
    """What the catalog knows of a file, to tell whether the file must be read again."""

    size: int
    modified_ns: int
    stamp: int
    is_racy: bool
    is_excluded: bool
    digest: int


class FileRow(NamedTuple):
    """A row of the table ``files``."""

    id: int
    stat: NoteStat
    is_excluded: bool
    state: int
    digest: int


# Many records are written at a time: rows are collected, then each table gets one statement. That takes half the time of one
# statement for each note.


def _write_records(connection: sqlite3.Connection, records: Sequence[Record]) -> list[tuple[str, int, bool]]:
    """Write records in place of what the catalog has of the same files. The connection is inside a transaction.

    Return path and id of each file, with whether it has come or is excluded in another way than before.
    """
    paths = json.dumps([record.stat.path for record in records])
    known = {
        path: (note_id, bool(is_excluded))
        for path, note_id, is_excluded in connection.execute(
            f"SELECT path, id, is_excluded FROM files WHERE path {IN_LIST}", (paths,)
        )
    }
    (last,) = connection.execute(
        "SELECT max(ifnull((SELECT max(id) FROM files), 0), ifnull((SELECT max(id) FROM gone), 0),"
        " ifnull((SELECT value FROM meta WHERE name = 'last_id'), 0))"
    ).fetchone()
    new_ids = itertools.count(last + 1)
    changed: list[tuple[str, int, bool]] = []
    visible: list[int] = []
    files: list[tuple[Any, ...]] = []
    rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in FACTS}
    for record in records:
        stat = record.stat
        note_id, was_excluded = known.get(stat.path) or (next(new_ids), None)
        changed.append((stat.path, note_id, was_excluded != record.is_excluded))
        if not record.is_excluded:
            visible.append(note_id)
        folder, _, name = stat.path.rpartition("/")
        # In the order of the columns, which is that of a stat's and a record's fields.
        place = note_id, folder, stat.path, fold(name), *stat[1:]
        files.append((*place, *record[1:7], record.suspect, record.has_queries, *_task_lines(record)))
        for table, facts in zip(FACTS, record.facts or (), strict=False):
            if facts and not (record.is_excluded and table == "tagged"):
                rows[table] += [(note_id, *fact) for fact in facts]
    remove_facts(connection, dict(known.values()))
    _insert_facts(connection, rows)
    _count_facts(connection, visible, 1)
    connection.executemany(
        "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
        " size = excluded.size, modified = excluded.modified, stamp = excluded.stamp, is_note = excluded.is_note,"
        " is_excluded = excluded.is_excluded, state = excluded.state, digest = excluded.digest, is_racy = excluded.is_racy,"
        " problem = excluded.problem, suspect = excluded.suspect, has_queries = excluded.has_queries,"
        " open_tasks = excluded.open_tasks, done_tasks = excluded.done_tasks",
        files,
    )
    return changed


def _insert_facts(connection: sqlite3.Connection, rows: dict[str, list[tuple[Any, ...]]]) -> None:
    _count_tags(connection, Counter(tag for _, tag, _ in rows["tagged"]), 1)
    for table, table_rows in rows.items():
        if table_rows:
            marks = ", ".join("?" * len(table_rows[0]))
            columns = "(note, tag, spelling)" if table == "tagged" else ""
            connection.executemany(f"INSERT OR REPLACE INTO {table} {columns} VALUES ({marks})", table_rows)


def _task_lines(record: Record) -> list[str | None]:
    """Return the lines of a note's open tasks and of its others, with commas between them; None for none."""
    tasks = record.facts[FACTS.index("tasks")] if record.facts else []
    return [",".join(str(line) for line, *_, is_open in tasks if is_open == wanted) or None for wanted in (True, False)]


def remove_facts(connection: sqlite3.Connection, notes: dict[int, bool]) -> None:
    """Remove the facts of the notes with these ids, each with whether it is excluded now."""
    if not notes:
        return
    _count_facts(connection, [note_id for note_id, is_excluded in notes.items() if not is_excluded], -1)
    ids = (json.dumps([*notes]),)
    _count_tags(
        connection,
        Counter(tag for (tag,) in connection.execute(f"SELECT tag FROM tagged WHERE note {IN_LIST}", ids)),
        -1,
    )
    for table in FACTS:
        connection.execute(f"DELETE FROM {table} WHERE note {IN_LIST}", ids)


def _count_tags(connection: sqlite3.Connection, notes: Counter[str], sign: int) -> None:
    """Add to the number of notes that have each tag, or subtract from it."""
    connection.executemany(
        "INSERT INTO tag_counts VALUES (?, ?) ON CONFLICT (tag) DO UPDATE SET notes = notes + excluded.notes",
        [(tag, sign * count) for tag, count in notes.items()],
    )
    if sign < 0:
        connection.executemany("DELETE FROM tag_counts WHERE tag = ? AND notes = 0", [(tag,) for tag in notes])


def _count_facts(connection: sqlite3.Connection, note_ids: list[int], sign: int) -> None:
    """Add the properties, tasks and links of these notes, which are not excluded, to their counts, or subtract them."""
    values = (sign, json.dumps(note_ids))
    in_notes = IN_LIST.replace("?", "?2")
    connection.execute(
        f"INSERT INTO property_counts SELECT name, {KIND} AS kind, min(value), ? * count(*) FROM properties"
        f" WHERE note {IN_LIST} GROUP BY name, kind"
        " ON CONFLICT (name, kind) DO UPDATE SET notes = notes + excluded.notes",
        values,
    )
    connection.execute(
        "INSERT INTO counts SELECT CASE WHEN is_open THEN 'open' ELSE 'done' END, ?1 * count(*) FROM tasks"
        f" WHERE note {in_notes} GROUP BY is_open UNION ALL SELECT 'links', ?1 * count(*) FROM links WHERE note {in_notes}"
        " ON CONFLICT (what) DO UPDATE SET number = number + excluded.number",
        values,
    )
    if sign < 0:
        connection.execute("DELETE FROM property_counts WHERE notes = 0")


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
            "SELECT path, size, modified, stamp, is_racy, is_excluded, digest FROM files WHERE folder = ?", (folder,)
        )
        return {row[0]: KnownFile(*row[1:]) for row in rows}

    def is_folder_unchanged(self, folder: str, stats: list[NoteStat]) -> bool:
        """Tell whether none of the files directly in a folder must be read: a quick way beside comparing them one by one.

        ``stats`` are all files of the folder, in path order. Excluded files are always compared one by one. Comparing whole
        rows takes 15 ms for 10,000 notes, one by one 45 ms: at each start, and at each call where nothing can be watched.
        """
        one_by_one = f"is_racy OR is_excluded OR (digest = {UNREAD} AND (is_note OR problem IS NOT NULL))"
        size = f"CASE WHEN {one_by_one} THEN -1 ELSE size END"
        rows = self.rows(f"SELECT path, {size}, modified, stamp FROM files WHERE folder = ?", (folder,))
        rows.sort()
        return rows == stats

    def known(self, path: str) -> KnownFile | None:
        """Return what is known of one file."""
        rows = self.rows(
            "SELECT size, modified, stamp, is_racy, is_excluded, digest FROM files WHERE path = ?", (path,)
        )
        return KnownFile(*rows[0]) if rows else None

    def folders(self) -> set[str]:
        """Return every folder that files are directly in."""
        return {folder for (folder,) in self.rows("SELECT DISTINCT folder FROM files")}

    def not_indexed(self) -> list[FileRow]:
        """Return the notes of which the text index lacks this version: PENDING and NOT_INDEXABLE."""
        return self._file_rows("state > 0")

    def _file_rows(self, condition: str, values: Sequence[Any] = ()) -> list[FileRow]:
        rows = self.rows(
            f"SELECT id, path, size, modified, stamp, is_excluded, state, digest FROM files WHERE {condition}", values
        )
        return [
            FileRow(note_id, NoteStat(*stat), bool(is_excluded), state, digest)
            for note_id, *stat, is_excluded, state, digest in rows
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
        """Return one in so many of the notes that wait for the text index and are not excluded."""
        rows = self.rows(
            f"SELECT path FROM files WHERE state > 0 AND state = {PENDING} AND NOT is_excluded AND id % ? = 0", (every,)
        )
        return [path for (path,) in rows]

    def has_pending(self) -> bool:
        """Tell whether a flush of the text index has something to do."""
        # ``state > 0`` lets SQLite use the index of these.
        pending = f"SELECT 1 FROM files WHERE state > 0 AND state = {PENDING}"
        rows = self.rows(f"SELECT 1 WHERE EXISTS ({pending}) OR EXISTS (SELECT 1 FROM gone)")
        return bool(rows)

    def paths(self, ids: Sequence[int]) -> dict[int, VaultPath]:
        """Return the paths of the files with these ids. Ids gone and excluded are left out."""
        return dict(self.rows(f"SELECT id, path FROM files WHERE id {IN_LIST} AND NOT is_excluded", (json.dumps(ids),)))

    def stats(self, ids: Sequence[int]) -> dict[int, tuple[NoteStat, bool]]:
        """Return the stats of the files with these ids, each with whether it is racy. Ids gone and excluded are left out."""
        statement = f"SELECT id, path, size, modified, stamp, is_racy FROM files WHERE id {IN_LIST} AND NOT is_excluded"
        rows = self.rows(statement, (json.dumps(ids),))
        return {row[0]: (NoteStat(*row[1:5]), bool(row[5])) for row in rows}

    # ------------------------------------------------------------------ changing

    def store(self, records: Iterable[Record]) -> None:
        """Replace what is known of these files."""
        with self.writing() as connection:
            self._note_changes(connection, _write_records(connection, list(records)))

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
                rows = connection.execute(
                    "SELECT id, is_note OR digest, is_excluded FROM files WHERE path = ?", (path,)
                ).fetchone()
                if rows is None:
                    continue
                changed.append((path, rows[0], True))
                remove_facts(connection, {rows[0]: bool(rows[2])})
                connection.execute("DELETE FROM files WHERE id = ?", rows[:1])
                if rows[1]:
                    connection.execute("INSERT OR IGNORE INTO gone VALUES (?)", rows[:1])
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

        Each with whether it has come or gone, or is excluded in another way than before.
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
                f"UPDATE files SET state = {INDEXED} WHERE id = ? AND size = ? AND modified = ? AND stamp = ?"
                f" AND is_excluded = ? AND digest = ? AND state = {PENDING}",
                [(row.id, *row.stat[1:], row.is_excluded, row.digest) for row in rows],
            )
            connection.executemany("DELETE FROM gone WHERE id = ?", [(note_id,) for note_id in gone])
            # No later file may get the greatest of these ids: the pages of a search name notes by ids.
            connection.execute(
                "INSERT INTO meta VALUES ('last_id', ?) ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
                (max(gone, default=0),),
            )
            return self._count_up(connection, "commits")

    def add_words(self, words: Iterable[str], *, of_paths: bool) -> None:
        """Add words to the vocabulary. Some may be there already."""
        with self.writing() as connection:
            rows = [(word, of_paths) for word in words]
            connection.executemany("INSERT INTO words (word, of_paths) VALUES (?, ?)", rows)


def _close(*connections: sqlite3.Connection) -> None:
    for connection in connections:
        connection.close()
