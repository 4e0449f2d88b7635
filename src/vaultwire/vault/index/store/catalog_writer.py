"""Writing down what was found in files: rows gathered over many notes, then one statement a table."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Sequence
from typing import Any

from vaultwire.vault.disk.paths import fold
from vaultwire.vault.index.store.schema import FACTS, Record


class CatalogWriter:
    """Rows of a batch of records, gathered by table: one statement a table takes half the time of one a note."""

    def __init__(self, connection: sqlite3.Connection, records: Sequence[Record]) -> None:
        """``records`` are those to be added."""
        self._connection = connection
        paths = json.dumps([record.stat.path for record in records])
        self._ids: dict[str, int] = dict(
            connection.execute("SELECT path, id FROM files WHERE path IN (SELECT value FROM json_each(?))", (paths,))
        )
        (last,) = connection.execute(
            "SELECT max(ifnull((SELECT max(id) FROM files), 0), ifnull((SELECT max(id) FROM gone), 0))"
        ).fetchone()
        self.first_new = self._next = last + 1
        self._files: list[tuple[Any, ...]] = []
        self._known: list[tuple[int]] = []
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in FACTS}

    def add(self, record: Record) -> int:
        """Add a file and return its id."""
        stat = record.stat
        note_id = self._ids.get(stat.path)
        if note_id is not None:
            self._known.append((note_id,))
        else:
            note_id, self._next = self._next, self._next + 1
        folder, _, name = stat.path.rpartition("/")
        self._files.append(
            (
                note_id,
                folder,
                stat.path,
                fold(name),
                stat.size,
                stat.modified_ns,
                stat.stamp,
                record.is_note,
                record.hidden,
                record.state,
                record.digest,
                record.is_racy,
                record.problem,
            )
        )
        for table, facts in zip(FACTS, record.facts or (), strict=False):
            if facts and not (record.hidden and table == "tagged"):
                self._rows[table] += [(note_id, *fact) for fact in facts]
        return note_id

    def end(self) -> None:
        """Write all that was added."""
        execute = self._connection.executemany
        if self._known:
            known = [note for (note,) in self._known]
            count_tags(self._connection, _tags_of(self._connection, known), -1)
        count_tags(self._connection, Counter(tag for _, tag, _ in self._rows["tagged"]), 1)
        for table, rows in self._rows.items():
            if self._known:
                execute(f"DELETE FROM {table} WHERE note = ?", self._known)
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                columns = "(note, tag, spelling)" if table == "tagged" else ""
                execute(f"INSERT OR REPLACE INTO {table} {columns} VALUES ({marks})", rows)
        execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " size = excluded.size, modified = excluded.modified, stamp = excluded.stamp, is_note = excluded.is_note,"
            " hidden = excluded.hidden, state = excluded.state, digest = excluded.digest, is_racy = excluded.is_racy,"
            " problem = excluded.problem",
            self._files,
        )


def forget_note(connection: sqlite3.Connection, note_id: int) -> None:
    """Take out all that is known of what a note holds."""
    count_tags(connection, _tags_of(connection, [note_id]), -1)
    for table in FACTS:
        connection.execute(f"DELETE FROM {table} WHERE note = ?", (note_id,))


def count_tags(connection: sqlite3.Connection, notes: Counter[str], sign: int) -> None:
    """Count more or fewer notes that have the tags."""
    connection.executemany(
        "INSERT INTO tag_counts VALUES (?, ?) ON CONFLICT (tag) DO UPDATE SET notes = notes + excluded.notes",
        [(tag, sign * count) for tag, count in notes.items()],
    )
    if sign < 0:
        connection.executemany("DELETE FROM tag_counts WHERE tag = ? AND notes = 0", [(tag,) for tag in notes])


def _tags_of(connection: sqlite3.Connection, note_ids: list[int]) -> Counter[str]:
    marks = ", ".join("?" * len(note_ids))
    return Counter(tag for (tag,) in connection.execute(f"SELECT tag FROM tagged WHERE note IN ({marks})", note_ids))
