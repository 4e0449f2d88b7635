"""The text index backend on SQLite's FTS5, for systems without tantivy. It finds the same notes, ten times slower."""

from __future__ import annotations

import os
import sqlite3
import string
import threading
import weakref
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from typing import Any, TypeAlias

from vaultwire.vault.index.store.search_plan import (
    BODY,
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
    TheseNotes,
    as_written,
    has_loose,
)
from vaultwire.vault.index.store.text_index import (
    NGRAM_FIELDS,
    VALUE_FIELDS,
    WORD_FIELDS,
    BrokenTextIndexError,
    Ranking,
    TextDocument,
    TextHits,
    kept_ranking,
)

_FILE = "text.sqlite3"
# A column with the same value in every note: FTS5 has no query for all notes, and NOT needs a left side.
_EVERY = "every"
_FIELDS = (*WORD_FIELDS, *(field for field in VALUE_FIELDS if field not in NGRAM_FIELDS), _EVERY)
# Words come separated by spaces. This tokenizer takes non-ASCII characters for letters, and the case of ASCII away. The
# words for breaks are of punctuation and capital letters, so these are stored as other characters, for private use.
_TOKENS = """tokenize = "ascii tokenchars '_'\""""
_STORED = {ord(sign): 0xE000 + ord(sign) for sign in string.punctuation + string.ascii_uppercase if sign != "_"}
_WRITTEN = {stored: sign for sign, stored in _STORED.items()}
# A phrase that may be spelt in more ways is looked up place by place.
_MANY_SPELLINGS = 1_000
# n-grams in a table of their own: all columns of a row count for its length, and so for its rank.
_TABLES = {"notes": _FIELDS, "ngrams": NGRAM_FIELDS}
_RANK = f"bm25(notes, {', '.join(str(WEIGHTS.get(field, 1.0)) for field in _FIELDS)})"
# The score of a note that only contains the word inside others: ranking by a thousand words takes seconds here.
_UNRANKED = 0.2
# A word that more of the notes have is not ranked by. FTS5 would count it as rare in a field where it is rare.
_COMMON = 0.6

_Leaf: TypeAlias = AnyWord | Phrase | ExactValue


class Fts5Text:
    """Implements ``text_index.TextIndex``."""

    def __init__(self, folder: str | None) -> None:
        """``folder``: its folder; None for memory. Raises BrokenTextIndexError if the files there are no such index."""
        with _checked():
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
            self._writer.execute("CREATE VIRTUAL TABLE IF NOT EXISTS places USING fts5vocab(notes, instance)")
            # As in the catalog: for callers that forget to close it.
            weakref.finalize(self, _close, self._reader, self._writer)
        self._reading = threading.Lock()

    def search(self, plan: Plan, without: Collection[int], offset: int, limit: int | None) -> TextHits:
        """See the port."""
        with self._reading, _checked():
            found = self._ids(plan)
            ranking = " OR ".join(f"({_match(leaf)})" for leaf in self._says_something(_leaves(plan)))
            rows = self._rows(f"SELECT rowid, {_RANK} FROM notes WHERE notes MATCH ?", ranking) if ranking else []
            ranks = {note_id: -rank for note_id, rank in rows}
            first = self._ids(as_written(plan)) if has_loose(plan) else found
        left = found - set(without)
        ranked = [(note_id in first, ranks.get(note_id, _UNRANKED), -note_id) for note_id in left]
        ranked.sort(reverse=True)
        page = ranked[offset:] if limit is None else ranked[offset : offset + limit]
        scores = [score if is_first else score / (score + 1) for is_first, score, _ in page]
        return TextHits([-note_id for _, _, note_id in page], scores, len(ranked))

    def ranking(self, plan: Plan, without: Collection[int]) -> Ranking:
        """See the port."""
        return kept_ranking(self.search(plan, without, 0, None))

    def _says_something(self, leaves: list[_Leaf]) -> list[_Leaf]:
        """Return the leaves without the words that most notes have, in every field, and the words that begin with them."""
        words = {leaf.same[0] for leaf in leaves if isinstance(leaf, AnyWord) and leaf.same}
        if not words:
            return leaves
        (notes,) = self._reader.execute("SELECT count(*) FROM notes_docsize").fetchone()
        statement = "SELECT doc FROM words WHERE term = ? AND col = ?"
        rows = {word: self._reader.execute(statement, (_stored(word), BODY)).fetchone() for word in words}
        common = {word for word, row in rows.items() if row and row[0] > notes * _COMMON}
        return [leaf for leaf in leaves if not (isinstance(leaf, AnyWord) and common.intersection(leaf.same))]

    def _ids(self, plan: Plan) -> set[int]:
        """Return the ids that the plan finds. As sets, because FTS5 cannot parse expressions nested a few dozen deep."""
        if isinstance(plan, AllOf):
            return set.intersection(*map(self._ids, plan.parts)) if plan.parts else self._ids(MatchAll())
        if isinstance(plan, AnyOf):
            return set[int]().union(*map(self._ids, plan.parts))
        if isinstance(plan, NoneOf):
            return self._ids(MatchAll()) - self._ids(plan.part)
        if isinstance(plan, Boosted):
            return self._ids(plan.plan)
        if isinstance(plan, TheseNotes):
            return self._ids(MatchAll()).intersection(plan.ids)
        if isinstance(plan, Phrase) and plan.spellings > _MANY_SPELLINGS:
            return self._side_by_side(plan)
        table = "ngrams" if isinstance(plan, ExactValue) and plan.field in NGRAM_FIELDS else "notes"
        rows = self._rows(f"SELECT rowid FROM {table} WHERE {table} MATCH ?", _match(plan)) if _match(plan) else []
        return {note_id for (note_id,) in rows}

    def _side_by_side(self, plan: Phrase) -> set[int]:
        """Return the ids that the phrase finds."""
        starts: list[set[tuple[int, int]]] = []
        for at, place in enumerate(plan.places):
            rows = (
                self._reader.execute(
                    "SELECT doc, offset - ? FROM places WHERE term = ? AND col = ?", (at, _stored(word), plan.field)
                )
                for word in place.words
            )
            starts.append({(note_id, start) for each in rows for note_id, start in each})
        return {note_id for note_id, _ in set.intersection(*starts)}

    def _rows(self, statement: str, wanted: str) -> list[Any]:
        return self._reader.execute(statement, (wanted,)).fetchall()

    def words(self, field: str) -> set[str]:
        """See the port."""
        with self._reading, _checked():
            rows = self._reader.execute("SELECT term FROM words WHERE col = ?", (field,)).fetchall()
        return {word.translate(_WRITTEN) for (word,) in rows}

    def holders(self, field: str, words: Sequence[str], most: int) -> dict[str, list[int]]:
        """See the port."""
        found: dict[str, list[int]] = {}
        with self._reading, _checked():
            for word in words:
                asked = (_stored(word), field)
                counted = self._reader.execute("SELECT doc FROM words WHERE term = ? AND col = ?", asked).fetchone()
                if counted is not None and counted[0] <= most:
                    found[word] = sorted(self._ids(AnyWord(field, (word,))))
        return found

    def refresh(self) -> None:
        """Do nothing: every statement sees what was committed before it."""

    def start_writing(self) -> bool:
        """See the port."""
        if not self._writer.in_transaction:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error):
                    raise BrokenTextIndexError(str(error)) from error
                return False
        return True

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        """See the port."""
        if not is_new:
            self.remove(document.id)
        values = {field: " ".join(map(_one_word, values)) for field, values in document.values.items()}
        words = {field: _stored(text) for field, text in document.words.items()}
        texts = {**words, **values, _EVERY: "1"}
        with _checked():
            for table, fields in _TABLES.items():
                marks = ", ".join("?" * (len(fields) + 1))
                self._writer.execute(
                    f"INSERT INTO {table} (rowid, {', '.join(fields)}) VALUES ({marks})",
                    (document.id, *(texts[field] for field in fields)),
                )

    def remove(self, note_id: int) -> None:
        """See the port."""
        with _checked():
            for table in _TABLES:
                self._writer.execute(f"DELETE FROM {table} WHERE rowid = ?", (note_id,))

    def save(self) -> None:
        """Do nothing: SQLite keeps a few megabytes of a transaction in memory, and moves the rest to its log."""

    def commit(self) -> None:
        """See the port."""
        with _checked():
            self._writer.execute("COMMIT")

    def stop_writing(self) -> None:
        """See the port."""
        if self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def close(self) -> None:
        """See the port."""
        _close(self._reader, self._writer)


def _close(*connections: sqlite3.Connection) -> None:
    for connection in connections:
        connection.close()


def _connect(place: str) -> sqlite3.Connection:
    # No waiting for a lock: a writer has it for long, and ``start_writing`` tells the caller.
    connection = sqlite3.connect(place, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _leaves(plan: Plan) -> list[_Leaf]:
    """Return the parts of the plan to rank by. Notes that only these find are left out later."""
    if isinstance(plan, Boosted):
        return [leaf for part in (plan.plan, *plan.boosts) for leaf in _leaves(part)]
    if isinstance(plan, (AllOf, AnyOf)):
        return [leaf for part in plan.parts for leaf in _leaves(part)]
    if isinstance(plan, AnyWord):
        return [plan._replace(others=())] if plan.same or plan.near else []
    if isinstance(plan, Phrase):
        return [plan] if 0 < plan.spellings <= _MANY_SPELLINGS else []
    return [plan] if isinstance(plan, ExactValue) and plan.field in _FIELDS else []


def _match(plan: MatchAll | AnyWord | Phrase | ExactValue) -> str:
    """Return the plan as an FTS5 expression; empty if it finds nothing."""
    if isinstance(plan, MatchAll):
        return f'{_EVERY} : "1"'
    if isinstance(plan, AnyWord):
        words = " OR ".join(f'"{_stored(word)}"' for word in (*plan.same, *plan.near, *plan.others, *plan.loose))
        return f"{plan.field} : ({words})" if words else ""
    if isinstance(plan, Phrase):
        spellings = product(*(place.words for place in plan.places))
        phrases = " OR ".join(f'"{_stored(" ".join(words))}"' for words in spellings)
        return f"{plan.field} : ({phrases})" if phrases else ""
    return f'{plan.field} : "{_one_word(plan.value)}"'


def _stored(words: str) -> str:
    """Return words as they are stored."""
    return words.translate(_STORED)


def _one_word(value: str) -> str:
    """Return one word for a value that may contain spaces and punctuation."""
    return "x" + value.encode().hex()


@contextmanager
def _checked() -> Iterator[None]:
    """Raise BrokenTextIndexError for SQLite's errors about broken files."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise BrokenTextIndexError(str(error)) from error
