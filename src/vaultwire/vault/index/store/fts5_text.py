"""The text index backend on SQLite's FTS5: for systems for which there is no tantivy. Ten times slower, the same notes."""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from vaultwire.vault.index.store.search_plan import (
    WEIGHTS,
    AllOf,
    AnyOf,
    AnyWord,
    Boosted,
    ExactValue,
    MatchAll,
    NoneOf,
    Phrase,
    Plan,
    as_written,
    has_loose,
)
from vaultwire.vault.index.store.text_index import (
    NGRAM_FIELDS,
    VALUE_FIELDS,
    WORD_FIELDS,
    BrokenTextIndexError,
    TextDocument,
    TextHits,
)

_FILE = "text.sqlite3"
# A column that holds the same in every note: FTS5 can leave notes out of others only.
_EVERY = "every"
_FIELDS = (*WORD_FIELDS, *(field for field in VALUE_FIELDS if field not in NGRAM_FIELDS), _EVERY)
# Words come with blanks between them. What is not ASCII is a letter to this tokenizer, and so is the word for a break.
_TOKENS = """tokenize = "ascii tokenchars '|_'\""""
# Marks apart: what is in a note's row counts for its length, and so for its rank.
_TABLES = {"notes": _FIELDS, "marks": NGRAM_FIELDS}
_RANK = f"bm25(notes, {', '.join(str(WEIGHTS.get(field, 1.0)) for field in _FIELDS)})"
# What a note gets that holds the word inside others only: ranking by a thousand words takes seconds here.
_UNRANKED = 0.2


class Fts5Text:
    """Fills ``vault.index.store.text_index.TextIndex``."""

    def __init__(self, folder: str | None) -> None:
        """``folder``: where it is kept; None for memory. Raises BrokenTextIndexError if what is there is no such index."""
        with _sound():
            if folder is None:
                self._writer = self._reader = _connect(":memory:")
            else:
                os.makedirs(folder, exist_ok=True)
                self._writer = _connect(os.path.join(folder, _FILE))
                self._reader = _connect(os.path.join(folder, _FILE))
            for table, fields in _TABLES.items():
                self._writer.execute(
                    f"CREATE VIRTUAL TABLE IF NOT EXISTS {table} USING fts5({', '.join(fields)}, {_TOKENS})"
                )
            self._writer.execute("CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5vocab(notes, col)")
            # As in the catalog: for whoever forgets to close it.
            weakref.finalize(self, _close, self._reader, self._writer)
        self._reading = threading.Lock()

    def search(self, plan: Plan, without: Collection[int], offset: int, limit: int | None) -> TextHits:
        """Return notes the plan finds. See the port."""
        with self._reading, _sound():
            found = self._ids(plan)
            ranking = " OR ".join(f"({_match(leaf)})" for leaf in _leaves(plan))
            rows = self._rows(f"SELECT rowid, {_RANK} FROM notes WHERE notes MATCH ?", ranking) if ranking else []
            ranks = {note_id: -rank for note_id, rank in rows}
            first = self._ids(as_written(plan)) if has_loose(plan) else found
        left = found - set(without)
        ranked = [(note_id in first, ranks.get(note_id, _UNRANKED), -note_id) for note_id in left]
        ranked.sort(reverse=True)
        page = ranked[offset:] if limit is None else ranked[offset : offset + limit]
        scores = [score if is_first else score / (score + 1) for is_first, score, _ in page]
        return TextHits([-note_id for _, _, note_id in page], scores, len(ranked))

    def _ids(self, plan: Plan) -> set[int]:
        """Return what the plan finds. Sets, because FTS5 reads no expression that is nested a few dozen deep."""
        if isinstance(plan, AllOf):
            return set.intersection(*map(self._ids, plan.parts)) if plan.parts else self._ids(MatchAll())
        if isinstance(plan, AnyOf):
            return set[int]().union(*map(self._ids, plan.parts))
        if isinstance(plan, NoneOf):
            return self._ids(MatchAll()) - self._ids(plan.part)
        if isinstance(plan, Boosted):
            return self._ids(plan.plan)
        table = "marks" if isinstance(plan, ExactValue) and plan.field in NGRAM_FIELDS else "notes"
        rows = self._rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", _match(plan)) if _match(plan) else []
        return {note_id for (note_id,) in rows}

    def _rows(self, statement: str, wanted: str) -> list[Any]:
        return self._reader.execute(statement, (wanted,)).fetchall()

    def words(self, field: str) -> set[str]:
        """Return the words in use in a field of words."""
        with self._reading, _sound():
            rows = self._reader.execute("SELECT term FROM words WHERE col = ?", (field,)).fetchall()
        return {word for (word,) in rows}

    def refresh(self) -> None:
        """Every statement sees what was committed before it."""

    def start_writing(self) -> bool:
        """Take the right to write; False if another process has it."""
        if not self._writer.in_transaction:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise BrokenTextIndexError(str(error)) from error
                return False
        return True

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        """Add the note, or exchange what is there under its id. ``is_new``: nothing is."""
        if not is_new:
            self.remove(document.id)
        values = {field: " ".join(map(_one_word, values)) for field, values in document.values.items()}
        texts = {**document.words, **values, _EVERY: "1"}
        with _sound():
            for table, fields in _TABLES.items():
                marks = ", ".join("?" * (len(fields) + 1))
                self._writer.execute(
                    f"INSERT INTO {table} (rowid, {', '.join(fields)}) VALUES ({marks})",
                    (document.id, *(texts[field] for field in fields)),
                )

    def remove(self, note_id: int) -> None:
        """Take the note out, if it is there."""
        with _sound():
            for table in _TABLES:
                self._writer.execute(f"DELETE FROM {table} WHERE rowid = ?", (note_id,))

    def commit(self) -> None:
        """Make visible and lasting what was put and removed."""
        with _sound():
            self._writer.execute("COMMIT")

    def stop_writing(self) -> None:
        """Give up the right to write."""
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def close(self) -> None:
        """Give up files and memory."""
        _close(self._reader, self._writer)


def _close(*connections: sqlite3.Connection) -> None:
    for connection in connections:
        connection.close()


def _connect(place: str) -> sqlite3.Connection:
    # No waiting for a lock: whoever writes has it for long, and says so by having it.
    connection = sqlite3.connect(place, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _leaves(plan: Plan) -> list[AnyWord | Phrase | ExactValue]:
    """Return the parts of the plan that are worth ranking by. Who is found by these alone is left out later."""
    if isinstance(plan, Boosted):
        return [leaf for part in (plan.plan, *plan.boosts) for leaf in _leaves(part)]
    if isinstance(plan, (AllOf, AnyOf)):
        return [leaf for part in plan.parts for leaf in _leaves(part)]
    if isinstance(plan, AnyWord):
        return [plan._replace(others=())] if plan.same or plan.near else []
    return [plan] if isinstance(plan, Phrase) or (isinstance(plan, ExactValue) and plan.field in _FIELDS) else []


def _match(plan: MatchAll | AnyWord | Phrase | ExactValue) -> str:
    """Return the plan as FTS5 writes it; empty, if it finds nothing."""
    if isinstance(plan, MatchAll):
        return f'{_EVERY} : "1"'
    if isinstance(plan, AnyWord):
        words = " OR ".join(f'"{word}"' for word in (*plan.same, *plan.near, *plan.others, *plan.loose))
        return f"{plan.field} : ({words})" if words else ""
    if isinstance(plan, Phrase):
        return f'{plan.field} : "{" ".join(plan.words)}"'
    return f'{plan.field} : "{_one_word(plan.value)}"'


def _one_word(value: str) -> str:
    """Return a word that stands for a whole value, blanks and signs and all."""
    return "x" + value.encode().hex()


@contextmanager
def _sound() -> Iterator[None]:
    """Raise BrokenTextIndexError for what SQLite says of a broken file."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise BrokenTextIndexError(str(error)) from error
