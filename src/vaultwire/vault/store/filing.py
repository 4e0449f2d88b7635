"""Writing down what was found in files: rows gathered over many notes, then one statement a table."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from json.encoder import encode_basestring
from typing import Any

from vaultwire.markdown.model import ParsedNote
from vaultwire.markdown.parse import tag_and_above
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.links import name_of
from vaultwire.vault.model import VaultPath
from vaultwire.vault.paths import fold
from vaultwire.vault.store.schema import FACTS, Record


class Filing:
    """Rows of a batch of records, gathered by table: one statement a table takes half the time of one a note."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
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
        found = self._connection.execute("SELECT id FROM files WHERE path = ?", (stat.path,)).fetchone()
        if found is not None:
            note_id = found[0]
            self._known.append(found)
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
                stat.inode,
                record.is_note,
                record.hidden,
                record.state,
                record.digest,
                record.is_racy,
                record.problem,
            )
        )
        if record.parsed is not None:
            self._add_facts(note_id, stat.path, record.parsed, hidden=record.hidden)
        return int(note_id)

    def _add_facts(self, note_id: int, path: VaultPath, parsed: ParsedNote, *, hidden: bool) -> None:
        rows = self._rows
        rows["links"] += [
            (
                note_id,
                place,
                link.line,
                name_of(path, link.linktext),
                link.linktext,
                link.display,
                link.is_embed + 2 * link.is_markdown,
            )
            for place, link in enumerate(parsed.links)
        ]
        rows["tags"] += [(note_id, place, tag) for place, tag in enumerate(parsed.tags)]
        if not hidden:
            above = {fold(part): part for tag in reversed(parsed.tags) for part in tag_and_above(tag)}
            rows["tagged"] += [(folded, note_id, spelling) for folded, spelling in above.items()]
        rows["aliases"] += [
            (note_id, place, fold(alias), alias) for place, alias in enumerate(parsed.frontmatter.texts("aliases"))
        ]
        # Of names that differ in case only the first counts, as for ``Frontmatter.value``: a note has a property once.
        named = {fold(name): (place, name) for place, name in reversed([*enumerate(parsed.frontmatter.values)])}
        rows["properties"] += [
            (note_id, place, folded, name, _json(parsed.frontmatter.values[name]))
            for folded, (place, name) in named.items()
        ]
        rows["headings"] += [(note_id, heading.line, heading.level, heading.text) for heading in parsed.headings]
        rows["blocks"] += [(note_id, block.line, block.name) for block in parsed.block_ids]
        rows["tasks"] += [(note_id, task.line, task.mark, task.text) for task in parsed.tasks]

    def end(self) -> None:
        """Write all that was added."""
        execute = self._connection.executemany
        if self._known:
            count_tags(self._connection, _tags_of(self._connection, [note for (note,) in self._known]), -1)
        count_tags(self._connection, Counter(tag for tag, _, _ in self._rows["tagged"]), 1)
        for table, rows in self._rows.items():
            if self._known:
                execute(f"DELETE FROM {table} WHERE note = ?", self._known)
            if rows:
                marks = ", ".join("?" * len(rows[0]))
                execute(f"INSERT OR REPLACE INTO {table} VALUES ({marks})", rows)
        execute(
            "INSERT INTO files VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
            " size = excluded.size, modified = excluded.modified, inode = excluded.inode, is_note = excluded.is_note,"
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


def _json(value: PropertyValue) -> str:
    # Most properties are texts, and this is a tenth of what the rest of the library takes.
    return encode_basestring(value) if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
