"""The vectors of one vault's notes, in a folder beside the index: rows in one file, and a table of whose they are.

A number takes two bytes: it is between -1 and 1, and stored in steps of 1/32767. That is as fine as float16 where most numbers
of a vector of length 1 are, and numpy makes float32 of whole numbers five times as fast as of float16.

It holds derived data only: deleting it loses nothing. The table is a SQLite database, and its transactions decide: rows are
on the disk before the table names them, and a place in the file is never used twice. So a process that is killed leaves
nothing but rows that nobody names, and another process that reads meanwhile never takes one note's row for another's.
When most rows are nobody's, a new file is written under another name.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from vaultwire.vault.disk.file_operations import make_private, remove_quietly, sync_file
from vaultwire.vault.value_types import NoteStat, Progress, VaultPath

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from vaultwire.meaning.models import Vectors

_TABLE = "table.sqlite3"
_FORMAT = 2
_STEPS = 32767
_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value ANY) STRICT, WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY, path TEXT UNIQUE, size INTEGER, modified INTEGER, stamp INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS chunks (place INTEGER PRIMARY KEY, note INTEGER, number INTEGER) STRICT;
CREATE INDEX IF NOT EXISTS of_note ON chunks (note);
"""
# A new file is written when the old one has so many rows of nobody, and more of them than others.
_MOST_DEAD = 4_000
# Chunks of a note that are compared with all others, to find the notes near it.
_MOST_OWN = 64
# Rows that are turned into float32 at once: they stay in the processor's cache.
_ROWS_AT_ONCE = 256
_BUSY_SECONDS = 10.0
_OPEN_NEW = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)


class Embedded(NamedTuple):
    """A note as it was when its chunks were embedded, and a vector for each chunk: shape (chunks, dimensions)."""

    stat: NoteStat
    vectors: Vectors


class Near(NamedTuple):
    """A chunk near a vector: the note, the chunk's number in it, from 0, and their dot product."""

    path: VaultPath
    number: int
    likeness: float


_Rows: TypeAlias = "tuple[int, NDArray[np.int16]]"
"""Rows and the place of the first one."""


class _Loaded(NamedTuple):
    """The table in memory at one version.

    ``places``: those of all chunks, by note and number. ``starts``: for each note, and for one behind the last, where its
    chunks begin in ``places``.
    """

    version: int
    rows: NDArray[np.int16]
    places: NDArray[np.int64]
    starts: NDArray[np.int64]
    paths: list[VaultPath]
    position_of: dict[VaultPath, int]


class VectorStore:
    """The vectors in one folder, of one model. One process at a time may write. Safe to use from several threads."""

    def __init__(self, folder: str, model: str) -> None:
        """``model`` stands for the model (``Embedder.name``): vectors of another one are dropped.

        Raises OSError, and sqlite3.Error if the folder cannot be used.
        """
        self._folder = folder
        self._lock = threading.RLock()
        self._loaded: _Loaded | None = None
        make_private(folder)
        try:
            self._open(model)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError) and "lock" in str(error):
                raise
            self._wipe()
            self._open(model)

    def _open(self, model: str) -> None:
        place = os.path.join(self._folder, _TABLE)
        os.close(os.open(place, _OPEN_NEW, 0o600))
        self._table = sqlite3.connect(place, _BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._table.execute("PRAGMA journal_mode = WAL")
            with self._writing():
                for statement in _SCHEMA.split(";"):
                    self._table.execute(statement)
                if (self._meta("format"), self._meta("model")) != (_FORMAT, model) or not self._is_whole():
                    self._clear()
                    self._set(format=_FORMAT, model=model)
        except BaseException:
            self._table.close()
            raise

    def _wipe(self) -> None:
        for name in os.listdir(self._folder):
            remove_quietly(os.path.join(self._folder, name))

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            self._loaded = None
            self._table.close()

    # ------------------------------------------------------------------ writing

    def stats(self) -> dict[VaultPath, NoteStat]:
        """Return the notes that have vectors, as they were when these were made. For the process that writes."""
        with self._lock:
            if not self._is_whole():
                with self._writing():
                    self._clear()
            rows = self._table.execute("SELECT path, size, modified, stamp FROM notes")
            return {row[0]: NoteStat(*row) for row in rows}

    def put(self, notes: Sequence[Embedded]) -> None:
        """Store the vectors of some notes instead of those that they had. All or none."""
        if not notes:
            return
        with self._lock, self._writing():
            dimensions = notes[0].vectors.shape[1]
            if self._meta("dimensions") != dimensions:
                self._clear()
                self._set(dimensions=dimensions)
            erased = self._erased([note.stat.path for note in notes])
            place: int = self._meta("next") or 0
            self._write([*erased, (place, _stored(np.concatenate([note.vectors for note in notes])))])
            for stat, vectors in notes:
                statement = "INSERT INTO notes (path, size, modified, stamp) VALUES (?, ?, ?, ?) RETURNING id"
                ((note_id,),) = self._table.execute(statement, stat).fetchall()
                numbered = [(place + number, note_id, number) for number in range(len(vectors))]
                self._table.executemany("INSERT INTO chunks VALUES (?, ?, ?)", numbered)
                place += len(vectors)
            self._set(next=place)
        self._compact()

    def remove(self, paths: Collection[VaultPath]) -> None:
        """Forget notes. Their rows become zeros: nothing is left of a note that may not be seen any more."""
        if not paths:
            return
        with self._lock, self._writing():
            self._write(self._erased(paths))

    def _erased(self, paths: Iterable[VaultPath]) -> list[_Rows]:
        """Take notes out of the table, and return zeros for their places."""
        places: list[int] = []
        for path in paths:
            row = self._table.execute("SELECT id FROM notes WHERE path = ?", (path,)).fetchone()
            if row is None:
                continue
            places += (place for (place,) in self._table.execute("SELECT place FROM chunks WHERE note = ?", row))
            self._table.execute("DELETE FROM chunks WHERE note = ?", row)
            self._table.execute("DELETE FROM notes WHERE id = ?", row)
        zeros = np.zeros((1, self._meta("dimensions") or 1), "<i2")
        return [(place, zeros) for place in places]

    def _compact(self) -> None:
        """Write a new file under another name if most of its rows are nobody's."""
        with self._lock:
            ((live,),) = self._table.execute("SELECT count(*) FROM chunks")
            if (self._meta("next") or 0) - live <= max(live, _MOST_DEAD):
                return
            with self._writing():
                loaded = self._load()
                kept = self._table.execute("SELECT place FROM chunks ORDER BY place").fetchall()
                before = self._file()
                self._set(generation=(self._meta("generation") or 0) + 1, next=len(kept))
                self._write([(0, loaded.rows[[place for (place,) in kept]])])
                # In order, so that no place is taken twice meanwhile.
                moved = [(new, old) for new, (old,) in enumerate(kept)]
                self._table.executemany("UPDATE chunks SET place = ? WHERE place = ?", moved)
            self._loaded = None
            remove_quietly(before)  # where another process has it open, Windows keeps it until the next time

    def _clear(self) -> None:
        """Begin with no vectors."""
        self._table.execute("DELETE FROM chunks")
        self._table.execute("DELETE FROM notes")
        self._set(generation=(self._meta("generation") or 0) + 1, next=0, dimensions=None)
        self._loaded = None
        for name in os.listdir(self._folder):
            if name.startswith("vectors-"):
                remove_quietly(os.path.join(self._folder, name))

    def _write(self, pieces: Iterable[_Rows]) -> None:
        """Write rows to their places in the file, and return when they are on the disk."""
        descriptor = os.open(self._file(), _OPEN_NEW, 0o600)
        try:
            for place, rows in pieces:
                os.lseek(descriptor, place * rows.shape[1] * 2, os.SEEK_SET)
                data = memoryview(rows.tobytes())
                while data:
                    data = data[os.write(descriptor, data) :]
            sync_file(descriptor)
        finally:
            os.close(descriptor)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._table.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            with suppress(sqlite3.Error):
                self._table.execute("ROLLBACK")
            raise
        version = self._meta("version") or 0
        self._set(version=version + 1)
        self._table.execute("COMMIT")

    def _meta(self, name: str) -> Any:
        row = self._table.execute("SELECT value FROM meta WHERE name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def _set(self, **values: Any) -> None:
        self._table.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", [*values.items()])

    def _file(self) -> str:
        return os.path.join(self._folder, f"vectors-{self._meta('generation') or 0}.i16")

    def _is_whole(self) -> bool:
        """Tell whether the file has all rows that the table names: a person may delete it at any time."""
        needed = (self._meta("next") or 0) * (self._meta("dimensions") or 0) * 2
        try:
            return not needed or os.path.getsize(self._file()) >= needed
        except OSError:
            return False

    # ------------------------------------------------------------------ reading

    def size(self) -> int:
        """Return how many bytes the vectors of the notes take."""
        loaded = self._load()
        return 2 * len(loaded.places) * int(loaded.rows.shape[1])

    def known(self) -> Collection[VaultPath]:
        """Return the notes that have vectors."""
        return self._load().position_of.keys()

    def near(self, vector: Vectors) -> Iterator[Near]:
        """Yield all notes, those with a chunk nearest to the vector first, each with that chunk. Exact: each row is compared.

        Equally near ones come in path order.
        """
        loaded = self._load()
        if not loaded.paths or loaded.rows.shape[1] != len(vector) or not vector.any():
            return
        scores = dot_products(loaded.rows, vector)[loaded.places]
        best = np.maximum.reduceat(scores, loaded.starts[:-1])
        for position in np.argsort(-best, kind="stable").tolist():
            of_note = scores[loaded.starts[position] : loaded.starts[position + 1]]
            yield Near(loaded.paths[position], int(of_note.argmax()), float(best[position]))

    def near_note(self, path: VaultPath) -> Iterator[Near]:
        """Yield the other notes, those with a chunk nearest to one of this note's first, each with this note's chunk.

        Nothing for a note without vectors. Of a long one the first ``_MOST_OWN`` chunks count.
        """
        loaded = self._load()
        own = loaded.position_of.get(path)
        if own is None:
            return
        chunks = loaded.places[loaded.starts[own] : loaded.starts[own + 1]][:_MOST_OWN]
        vectors = np.ascontiguousarray(_vectors(loaded.rows[chunks]).T)
        scores = np.maximum.reduceat(dot_products(loaded.rows, vectors)[loaded.places], loaded.starts[:-1], axis=0)
        nearest = scores.max(axis=1)
        for position in np.argsort(-nearest, kind="stable").tolist():
            if position != own and nearest[position] > 0:
                yield Near(loaded.paths[position], int(scores[position].argmax()), float(nearest[position]))

    def nearest_pairs(
        self, paths: Collection[VaultPath], progress: Progress
    ) -> Iterator[tuple[VaultPath, VaultPath, float, float]]:
        """Yield the pairs of these notes of which each is the other's nearest, in path order: how near they are, and how near
        the first one is to these notes on average.

        A note counts as the mean of its chunks.
        """
        loaded = self._load()
        chosen = [position for position, path in enumerate(loaded.paths) if path in paths]
        means = np.empty((len(chosen), loaded.rows.shape[1]), np.float32)
        for row, position in enumerate(chosen):
            own = loaded.places[loaded.starts[position] : loaded.starts[position + 1]]
            means[row] = _vectors(loaded.rows[own]).mean(axis=0)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        means /= np.where(lengths == 0, 1, lengths)
        middle = means.mean(axis=0) if chosen else 0
        nearest = np.zeros(len(chosen), np.int64)
        likeness = np.zeros(len(chosen), np.float32)
        for start in range(0, len(chosen), _ROWS_AT_ONCE):
            progress.check()
            products = means[start : start + _ROWS_AT_ONCE] @ means.T
            rows = np.arange(len(products))
            products[rows, rows + start] = -1  # itself
            nearest[start : start + len(rows)] = products.argmax(axis=1)
            likeness[start : start + len(rows)] = products.max(axis=1)
        for one, other in enumerate(nearest.tolist()):
            if one < other and nearest[other] == one:
                usual = float(means[one] @ middle)
                yield loaded.paths[chosen[one]], loaded.paths[chosen[other]], float(likeness[one]), usual

    def _load(self) -> _Loaded:
        """Return the table as it is now."""
        with self._lock:
            version = self._meta("version") or 0
            if self._loaded is not None and self._loaded.version == version:
                return self._loaded
            own = not self._table.in_transaction
            if own:
                self._table.execute("BEGIN")  # one state of all that follows
            try:
                self._loaded = self._read(self._meta("version") or 0)
            finally:
                if own:
                    self._table.execute("COMMIT")
            return self._loaded

    def _read(self, version: int) -> _Loaded:
        if not self._is_whole():  # everything is about to be embedded again
            empty = np.zeros(0, np.int64)
            return _Loaded(version, np.zeros((0, 1), np.int16), empty, empty, [], {})
        places, starts = array("q"), array("q")
        position_of: dict[VaultPath, int] = {}
        statement = "SELECT path, place FROM chunks JOIN notes ON notes.id = note ORDER BY path, number"
        for path, place in self._table.execute(statement):  # one by one: all rows at once take 200 bytes each
            if path not in position_of:
                position_of[VaultPath(path)] = len(starts)
                starts.append(len(places))
            places.append(place)
        starts.append(len(places))
        shape = (self._meta("next") or 0, self._meta("dimensions") or 1)
        # As a plain array: to take a part of a memmap takes 10 µs, and a search takes 200.
        rows = np.memmap(self._file(), "<i2", "r", 0, shape).view(np.ndarray) if shape[0] else np.zeros(shape, np.int16)
        return _Loaded(version, rows, np.array(places), np.array(starts), [*position_of], position_of)


def _stored(vectors: Vectors) -> NDArray[np.int16]:
    """Return vectors of numbers between -1 and 1 as they are stored."""
    return np.rint(np.clip(vectors.astype(np.float64), -1, 1) * _STEPS).astype("<i2")


def _vectors(rows: NDArray[np.int16]) -> Vectors:
    """Return stored rows as vectors."""
    return rows.astype(np.float32) / np.float32(_STEPS)


def dot_products(rows: NDArray[np.int16], vectors: Vectors) -> Vectors:
    """Return the dot product of each stored row with a vector, or with each column of a matrix, as float32."""
    scores = np.empty((len(rows), *vectors.shape[1:]), np.float32)
    scaled = np.asarray(vectors, np.float32) / np.float32(_STEPS)
    buffer = np.empty((_ROWS_AT_ONCE, rows.shape[1]), np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        block = rows[start : start + _ROWS_AT_ONCE]
        wide = buffer[: len(block)]
        np.copyto(wide, block)
        np.dot(wide, scaled, out=scores[start : start + len(block)])
    return scores
