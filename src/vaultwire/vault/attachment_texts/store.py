"""Keeps the text of attachments in one SQLite file, beside the index of the notes. It may be deleted at any time.

The text is looked up by its characters, three at a time (FTS5's tokenizer ``trigram``), so words are found inside longer ones,
as in notes. It is stored without case and diacritics, with one space where there are several or a line ends: so a phrase is
found that goes on in the next line. What is shown is stored beside it, packed.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from vaultwire.vault.attachment_texts.reading import Page, Pages
from vaultwire.vault.search.terms import fold_case, strip_diacritics
from vaultwire.vault.value_types import NoteStat, VaultPath

_Answer = TypeVar("_Answer")

_FORMAT = 1
_TABLES = (
    "DROP TABLE IF EXISTS files",
    "DROP TABLE IF EXISTS pages",
    """CREATE TABLE files (
        id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL, modified INTEGER NOT NULL,
        stamp INTEGER NOT NULL, pages INTEGER NOT NULL, problem TEXT NOT NULL, is_whole INTEGER NOT NULL
    )""",
    "CREATE VIRTUAL TABLE pages USING fts5(text, written UNINDEXED, line UNINDEXED, tokenize='trigram case_sensitive 1')",
    f"PRAGMA user_version = {_FORMAT}",
)
# A page's row is its file's id and its number, from 1. The row 0 of a file has its path.
_NUMBER_BITS = 12
# Pages are put in so many at a time: searches come between.
_AT_ONCE = 20
# Shorter texts are found by looking through all pages.
_LEAST = 3
_BUSY_SECONDS = 10.0


class ReadFile(NamedTuple):
    """A file that was read: its facts then, its pages, and what could not be read. 0 pages: it is no text."""

    id: int
    stat: NoteStat
    pages: int
    problem: str


class StoredPage(NamedTuple):
    """A page as it is kept: ``text`` as it is compared, ``packed`` as it is shown. The number 0 is the file's path."""

    file: int
    number: int
    text: str
    packed: bytes
    first_line: int

    @property
    def written(self) -> str:
        """The text as it is shown."""
        return zlib.decompress(self.packed).decode()


def compared(text: str) -> str:
    """Return a text as it is compared: without case and diacritics, with single spaces."""
    return " ".join(strip_diacritics(fold_case(text)).split())


class TextStore:
    """The texts of one vault's attachments. Safe to use from several threads and processes."""

    def __init__(self, place: str | None) -> None:
        """``place``: the file; None for memory. What is kept in a broken file is read again."""
        self._place = place
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._files: tuple[object, dict[VaultPath, ReadFile]] = (None, {})  # with the state that they are of

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            try:
                self._connection = _opened(self._place)
            except (sqlite3.Error, OSError) as error:
                if not isinstance(error, (sqlite3.OperationalError, OSError)):
                    self._delete()
                # The folder cannot be written, or the file was damaged: this run keeps what it reads in memory.
                self._connection = _opened(None)
        return self._connection

    def _delete(self) -> None:
        for end in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.remove(f"{self._place}{end}")

    @contextmanager
    def _opened(self) -> Iterator[sqlite3.Connection]:
        """Hold the connection. Raises sqlite3.Error; the next caller opens again what is broken."""
        with self._lock:
            connection = self._open()
            try:
                yield connection
            except sqlite3.DatabaseError as error:
                if not isinstance(error, sqlite3.OperationalError):
                    self._close()
                    self._delete()
                raise

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query. Raises sqlite3.Error."""
        with self._opened() as connection:
            return connection.execute(statement, values).fetchall()

    def change(self, work: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Do some work in one transaction. Raises sqlite3.Error."""
        with self._opened() as connection, connection:
            connection.execute("BEGIN IMMEDIATE")
            return work(connection)

    # ------------------------------------------------------------------ what is kept

    def files(self) -> dict[VaultPath, ReadFile]:
        """Return every file that was read to its end, by its path; the same object as long as nothing changes."""
        with self._opened() as connection:
            # The first changes with what other processes write, the second with what this one does.
            version = connection.execute("PRAGMA data_version").fetchone(), connection.total_changes, id(connection)
            if self._files[0] != version:
                rows = connection.execute(
                    "SELECT id, path, size, modified, stamp, pages, problem FROM files WHERE is_whole"
                ).fetchall()
                files = {row[1]: ReadFile(row[0], NoteStat(*row[1:5]), row[5], row[6]) for row in rows}
                self._files = version, files
            return self._files[1]

    def put(self, stat: NoteStat, read: Pages | None, problem: str) -> None:
        """Keep the pages of a file instead of what is kept of it, a few at a time. It counts once it has all of them."""
        self.remove([stat.path])
        pages = [] if read is None else read.pages

        def begin(connection: sqlite3.Connection) -> int:
            values = (*stat, len(pages), problem)
            insert = (
                "INSERT INTO files (path, size, modified, stamp, pages, problem, is_whole) VALUES (?, ?, ?, ?, ?, ?, 0)"
            )
            file = connection.execute(insert, values).lastrowid or 0
            if pages:
                _insert(connection, file, [(0, Page(stat.path, 0))])
            return file

        file = self.change(begin)
        numbered = list(enumerate(pages, 1))
        for start in range(0, len(numbered), _AT_ONCE):
            part = numbered[start : start + _AT_ONCE]
            self.change(lambda connection, part=part: _insert(connection, file, part))  # type: ignore[misc]
        self.change(lambda connection: connection.execute("UPDATE files SET is_whole = 1 WHERE id = ?", (file,)))

    def remove(self, paths: Iterable[str]) -> None:
        """Forget files."""
        for path in paths:
            for (file,) in self.rows("SELECT id FROM files WHERE path = ?", (path,)):

                def forget(connection: sqlite3.Connection, file: int = file) -> None:
                    connection.execute("DELETE FROM pages WHERE rowid BETWEEN ? AND ?", _rows_of(file))
                    connection.execute("DELETE FROM files WHERE id = ?", (file,))

                self.change(forget)

    def size(self) -> int:
        """Return how many bytes it takes."""
        (pages,), (size,) = self.rows("PRAGMA page_count")[0], self.rows("PRAGMA page_size")[0]
        return int(pages) * int(size)

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    # ------------------------------------------------------------------ searching

    def holders(self, text: str) -> dict[int, list[int]]:
        """Return the files that hold a text, which is ``compared``, each with the numbers of its pages (0: in its path)."""
        if len(text) >= _LEAST:
            rows = self.rows("SELECT rowid FROM pages WHERE pages MATCH ?", ('"' + text.replace('"', '""') + '"',))
        else:
            rows = self.rows("SELECT rowid FROM pages WHERE instr(text, ?) > 0", (text,))
        holders: dict[int, list[int]] = {}
        for (row,) in rows:
            holders.setdefault(row >> _NUMBER_BITS, []).append(row & ((1 << _NUMBER_BITS) - 1))
        return holders

    def pages(self, places: Iterable[tuple[int, int]]) -> Iterator[StoredPage]:
        """Yield pages by file and number."""
        for file, number in places:
            row = (file << _NUMBER_BITS) + number
            for text, written, line in self.rows("SELECT text, written, line FROM pages WHERE rowid = ?", (row,)):
                yield StoredPage(file, number, text, written, line)


def _rows_of(file: int) -> tuple[int, int]:
    return file << _NUMBER_BITS, ((file + 1) << _NUMBER_BITS) - 1


def _insert(connection: sqlite3.Connection, file: int, pages: Iterable[tuple[int, Page]]) -> None:
    connection.executemany(
        "INSERT INTO pages (rowid, text, written, line) VALUES (?, ?, ?, ?)",
        [
            (
                (file << _NUMBER_BITS) + number,
                compared(page.text.replace("\0", " ")),
                zlib.compress(page.text.encode("utf-8", "replace")),
                page.first_line,
            )
            for number, page in pages
        ],
    )


def _opened(place: str | None) -> sqlite3.Connection:
    connection = sqlite3.connect(
        place or ":memory:", timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        if connection.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
            connection.execute("BEGIN IMMEDIATE")  # then look again: another process may have begun it
            if connection.execute("PRAGMA user_version").fetchone() != (_FORMAT,):
                for statement in _TABLES:
                    connection.execute(statement)
            connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return connection
