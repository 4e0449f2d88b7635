"""Searches the text of attachments, and keeps up with the files: PDFs (with the extra "pdf"), and what is plain text.

A thread of the server reads the files that have changed, once the index of the notes has all of them. It reads one file at a
time, PDFs in a process of their own. Searches use what has been read so far, and say what has not. Only files that a run may
see, and that the vault's own rules do not exclude, are read; a file that has changed since is not found until it is read again.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, TypeVar

from vaultwire.vault.attachment_texts.reading import Page, Pages, attachment_pages, has_pdf_reader
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import kind_of
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.errors import Stopped, VaultError
from vaultwire.vault.index.freshness import OnChange, UntilClosed
from vaultwire.vault.index.index import Index
from vaultwire.vault.search.matching import Matcher, ranked_leaves, required_text
from vaultwire.vault.search.note_parts import snippets
from vaultwire.vault.search.query import And, Expression, Not, Or, Property, Query, Within
from vaultwire.vault.search.questions import question_in, sought
from vaultwire.vault.search.terms import Pattern, Text, fold_case, rarity, strip_diacritics
from vaultwire.vault.value_types import Line, NoteStat, Progress, ScorePart, VaultPath

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


# Larger text files are mostly data of programs.
_MOST_TEXT_BYTES = 5_000_000
# While the notes are indexed for the first time, it waits so long between two looks.
_WAIT_SECONDS = 1.0
_LOCK_SECONDS = 1.0
# So many pages are ranked, those with the rarest words of each file; and so many lines shown of each file.
_RANKED_PAGES, _PAGES_OF_FILE = 200, 4
_LINES, _PAGES_NAMED = 2, 5
# A word counts more if a page has it more often, up to a bound; in the file's name it counts as much as all over a page.
_FREQUENCY, _NAME = 1.5, 1.5
# Of a question's words a file must have so much, by weight.
_LEAST_OF_QUESTION = 0.5
_SCALE = 10.0
# What only notes have.
_OF_NOTES = ("tag", "task", "task-todo", "task-done", "block", "section")


class AttachmentHit(NamedTuple):
    """An attachment that a search found: its best page with the best lines, by their numbers in the whole text.

    ``page`` is 0 for a file without pages, and if only the name matches. ``more_pages``: the first others that match.
    ``parts``: what makes the score.
    """

    path: VaultPath
    kind: str
    score: float
    page: int
    pages: int
    more_pages: list[int]
    lines: list[Line]
    missing: tuple[str, ...]
    parts: tuple[ScorePart, ...]


class FoundAttachments(NamedTuple):
    """The best of the attachments that match, the number of all, and how many are not read yet."""

    hits: list[AttachmentHit]
    total: int
    unread: int


class ReadingReport(NamedTuple):
    """How much has been read: files with text, their pages, what could not be read; files that wait; bytes on the disk.

    ``needs_reader``: PDFs for which the library is missing.
    """

    files: int
    pages: int
    problems: list[tuple[VaultPath, str]]
    unread: int
    needs_reader: int
    size: int


class _Term(NamedTuple):
    """What one word or phrase of a query is found by, and the file's pages that have it."""

    text: str
    forms: tuple[str, ...]
    holders: dict[int, set[int]]
    weight: float


class _OnlyNotesError(Exception):
    """The query asks for what only notes have."""


class AttachmentTexts:
    """The texts of one vault's attachments."""

    def __init__(self, files: Files, index: Index, folder: str | None, most_bytes: int) -> None:
        """``folder``: where the index is kept; None for memory. Larger files than ``most_bytes`` are not read."""
        self._files = files
        self._index = index
        self._most_bytes = most_bytes
        self._store = TextStore(None if folder is None else f"{folder}/attachments.sqlite3")
        self._lock = None if folder is None else ProcessLock(
            f"{folder}/attachments.lock", "another process is reading attachments", poll_seconds=_LOCK_SECONDS
        )  # fmt: skip
        # The index gives the same list as long as no file changes.
        self._last_readable: tuple[list[NoteStat], dict[VaultPath, NoteStat]] = ([], {})
        self._closing = threading.Event()
        self._news = threading.Event()

    # ------------------------------------------------------------------ reading

    def run_beside(self, watch: Callable[[OnChange], None], on_change: OnChange | None) -> None:
        """Run the watch loop of the index, and read attachments on a thread of its own as long as it runs."""

        def changed(paths: Collection[str], folders: Collection[str]) -> None:
            self._news.set()
            if on_change is not None:
                on_change(paths, folders)

        reader = threading.Thread(target=self._run, name="attachments")
        reader.start()
        try:
            watch(changed)
        finally:
            self.close()
            reader.join()
            self._store.close()

    def close(self) -> None:
        """End the reading. Safe from any thread."""
        self._closing.set()
        self._news.set()

    def _run(self) -> None:
        progress = UntilClosed(self._closing)
        with suppress(Stopped):
            while not self._closing.is_set():
                self._news.wait()
                while self._index.building() and not self._closing.wait(_WAIT_SECONDS):
                    pass
                self._news.clear()
                # The next change is another attempt: the vault is gone for now, or the disk is full.
                with suppress(VaultError, sqlite3.Error, OSError):
                    self.read_changed(progress)

    def read_changed(self, progress: Progress) -> None:
        """Read the files that have changed since they were read, the latest first, and forget those that are gone."""
        if self._lock is None:
            self._read_changed(progress)
        else:
            with self._lock.held(progress):
                self._read_changed(progress)

    def _read_changed(self, progress: Progress) -> None:
        stats = self._readable(progress)
        known = self._store.files()
        self._store.remove([path for path in known if path not in stats])
        changed = [stat for stat in stats.values() if not _is_of(known.get(stat.path), stat)]
        for stat in sorted(changed, key=lambda each: -each.modified_ns):
            progress.check()
            if self._files.is_dataless(stat.path):
                continue  # reading it would fetch it from a cloud
            try:
                file = self._files.read(stat.path, self._most(stat.path))
                read = attachment_pages(stat.path, file.data, progress)
                stat = NoteStat(stat.path, len(file.data), file.modified_ns, file.stamp)  # noqa: PLW2901 - as it was read
                problem = "; ".join(read.problems) if read else ""
            except VaultError as error:
                read, problem = None, str(error)
            self._store.put(stat, read, problem)

    def _most(self, path: VaultPath) -> int:
        return self._most_bytes if kind_of(path) == "pdf" else min(self._most_bytes, _MOST_TEXT_BYTES)

    def _readable(self, progress: Progress, folder: VaultPath | None = None) -> dict[VaultPath, NoteStat]:
        """Return the attachments that may have text and can be read here."""
        stats = self._index.attachments(folder, progress)
        if self._last_readable[0] is not stats:
            kinds = ("pdf", "other") if has_pdf_reader() else ("other",)
            readable = {
                stat.path: stat
                for stat in stats
                if (kind := kind_of(stat.path)) in kinds and (kind == "pdf" or stat.size <= _MOST_TEXT_BYTES)
            }
            self._last_readable = stats, readable
            return readable
        return self._last_readable[1]

    def report(self, progress: Progress) -> ReadingReport:
        """Return how much has been read. Raises sqlite3.Error."""
        stats = self._readable(progress)
        current = self._current(stats)
        texts = [file for file in current if file.pages]
        problems = sorted((file.stat.path, file.problem) for file in current if file.problem)
        pdfs = [each for each in self._index.attachments(None, progress) if kind_of(each.path) == "pdf"]
        return ReadingReport(
            len(texts),
            sum(file.pages for file in texts),
            problems,
            len(stats) - len(current),
            0 if has_pdf_reader() else len(pdfs),
            self._store.size(),
        )

    def _current(self, stats: dict[VaultPath, NoteStat]) -> list[ReadFile]:
        """Return the files that were read, and have not changed since."""
        return [file for path, file in self._store.files().items() if path in stats and _is_of(file, stats[path])]

    # ------------------------------------------------------------------ searching

    def search(self, query: Query, folder: VaultPath | None, limit: int, progress: Progress) -> FoundAttachments:
        """Return the attachments that match a query of Obsidian's syntax, or have most of what a question asks for.

        All words of a query must be in the file or its path. Operators that ask for what only notes have find none.
        """
        stats = self._readable(progress, folder)
        if not stats:
            return FoundAttachments([], 0, 0)
        try:
            current = self._current(stats)
            unread = len(stats) - len(current)
            search = _Search(self._store, {file.id: file for file in current if file.pages}, progress)
            ranked, total = search.ranked(query, 2 * limit)
        except (_OnlyNotesError, sqlite3.Error):
            return FoundAttachments([], 0, 0)
        # As it is now: the index may not know yet that a file has changed, or may not be seen any more.
        hits = [hit for hit in ranked if self._files.look_at(hit.path) == stats[hit.path]]
        return FoundAttachments(hits[:limit], total - (len(ranked) - len(hits)), unread)


def _is_of(file: ReadFile | None, stat: NoteStat) -> bool:
    return file is not None and file.stat == stat


class _Search:
    """One search in the files that are read."""

    def __init__(self, store: TextStore, files: dict[int, ReadFile], progress: Progress) -> None:
        self._store = store
        self._files = files
        self._progress = progress

    def ranked(self, query: Query, most: int) -> tuple[list[AttachmentHit], int]:
        """Return the best of the files that match, and the number of all."""
        question = question_in(query)
        asked: list[tuple[str, tuple[str, ...], float]]
        if question is None:
            files = self._files_with(query.expression)
            asked = [
                (leaf.text, (compared(leaf.text),), 1.0)
                for leaf, _ in ranked_leaves(query.expression, "")
                if isinstance(leaf, Text)
            ]
        else:
            files = self._files_with(And(question.conditions))
            asked = [(word.text, tuple(_forms(sought(word))), word.weight) for word in question.words]
        terms = [self._term(*each) for each in dict.fromkeys(asked)]
        if question is not None:
            total = sum(term.weight for term in terms)
            files = {file for file in files if total and self._weight(terms, file) >= total * _LEAST_OF_QUESTION}
        names = {file: compared(self._files[file].stat.path.rpartition("/")[2]) for file in files}
        places: list[tuple[int, int]] = []
        for file in sorted(files, key=lambda each: (-self._weight(terms, each), self._files[each].stat.path)):
            numbers = sorted(self._numbers(terms, file), key=lambda each: (-self._weight(terms, file, each), each))
            places += [(file, number) for number in numbers[:_PAGES_OF_FILE]]
            if len(places) >= _RANKED_PAGES:
                break
        best: dict[int, tuple[float, tuple[ScorePart, ...], StoredPage]] = {}
        for page in self._store.pages(places):
            self._progress.check()
            parts = score_parts(terms, page.text if page.number else "", names[page.file])
            score = sum(part.score for part in parts)
            if page.file not in best or score > best[page.file][0]:
                best[page.file] = score, parts, page
        for file in files - best.keys():
            best[file] = 0.0, (), StoredPage(file, 0, "", b"", 0)
        ranked = sorted(best, key=lambda file: (-best[file][0], self._files[file].stat.path))
        return [
            self._hit(page, score, parts, terms) for score, parts, page in map(best.__getitem__, ranked[:most])
        ], len(ranked)

    def _term(self, text: str, forms: tuple[str, ...], factor: float) -> _Term:
        holders: dict[int, set[int]] = {}
        for form in filter(None, forms):
            for file, numbers in self._store.holders(form).items():
                if file in self._files:
                    holders.setdefault(file, set()).update(numbers)
        return _Term(text, forms, holders, factor * rarity(len(holders), len(self._files)))

    def _weight(self, terms: Iterable[_Term], file: int, number: int | None = None) -> float:
        return sum(
            term.weight for term in terms if file in term.holders and (number is None or number in term.holders[file])
        )

    def _numbers(self, terms: Iterable[_Term], file: int) -> set[int]:
        return set[int]().union(*(term.holders.get(file, ()) for term in terms)) or {0}

    def _hit(self, page: StoredPage, score: float, parts: tuple[ScorePart, ...], terms: list[_Term]) -> AttachmentHit:
        file = self._files[page.file]
        numbers = self._numbers(terms, page.file) - {0}
        is_paged = kind_of(file.stat.path) == "pdf"
        return AttachmentHit(
            file.stat.path,
            "pdf" if is_paged else "text",
            score,
            page.number if is_paged else 0,
            file.pages if is_paged else 0,
            sorted(numbers - {page.number})[:_PAGES_NAMED] if is_paged else [],
            _lines(page, terms) if page.number else [],
            tuple(term.text for term in terms if page.file not in term.holders),
            parts,
        )

    # ------------------------------------------------------------------ which files match

    def _files_with(self, part: Expression) -> set[int]:
        """Return the files of which the expression is true. Raises _OnlyNotesError."""
        self._progress.check()
        if isinstance(part, And):
            files = {*self._files}
            for inner in part.parts:
                files &= self._files_with(inner)
            return files
        if isinstance(part, Or):
            return set[int]().union(*map(self._files_with, part.parts))
        if isinstance(part, Not):
            return self._files.keys() - self._files_with(part.part)
        if isinstance(part, Property) or (isinstance(part, Within) and part.operator in _OF_NOTES):
            raise _OnlyNotesError
        if isinstance(part, Within) and part.operator in ("file", "path"):
            matcher = Matcher(Query("", part))
            return {file for file, read in self._files.items() if matcher.match(read.stat.path, "")}
        if isinstance(part, Text) and not (part.full_words or part.match_case) and (text := compared(part.text)):
            return self._store.holders(text).keys() & self._files.keys()
        return self._verified(part)

    def _verified(self, part: Expression) -> set[int]:
        """Return the files with a page that matches, by looking at the pages that may."""
        matcher = Matcher(Query("", part))
        in_names = isinstance(part, (Text, Pattern))
        required = required_text(part.part if isinstance(part, Within) else part)
        holders = self._store.holders(compared(required.text)) if required else None
        files: set[int] = set()
        for file, read in self._files.items():
            numbers = range(read.pages + 1) if holders is None else holders.get(file, ())
            for page in self._store.pages((file, number) for number in numbers):
                self._progress.check()
                # A phrase may go on in the next line of a page.
                flat = isinstance(part, Text)
                text = " ".join(page.written.split()) if flat else page.written
                if (page.number or in_names) and matcher.match(
                    "", text if page.number else read.stat.path.rpartition("/")[2]
                ):
                    files.add(file)
                    break
        return files


def score_parts(terms: Iterable[_Term], text: str, name: str) -> tuple[ScorePart, ...]:
    """Return how well a page answers: for each term its weight, more if it is there more often, and more in the file's name."""
    parts: list[ScorePart] = []
    for term in terms:
        often = max((text.count(form) for form in term.forms if form), default=0)
        weight = _SCALE * term.weight
        if often:
            score = weight * often / (often + _FREQUENCY)
            parts.append(ScorePart(term.text, "text", score, term.weight, often))
        if any(form in name for form in term.forms if form):
            parts.append(ScorePart(term.text, "file", weight * _NAME, term.weight))
    return tuple(parts)


def _forms(part: Expression) -> list[str]:
    """Return the texts that one of a question's words is found by."""
    if isinstance(part, Or):
        return [form for inner in part.parts for form in _forms(inner)]
    return [compared(part.text)] if isinstance(part, Text) else []


def _lines(page: StoredPage, terms: list[_Term]) -> list[Line]:
    """Return the best lines of a page, by their numbers in the whole text."""
    says: dict[int, float] = {}
    columns: dict[int, int] = {}
    for number, line in enumerate(page.written.split("\n"), 1):
        plain = compared(line)
        for term in terms:
            # Of a phrase that goes on in the next line the first word.
            places = [plain.find(form) for form in term.forms if form]
            found = [place for place in places if place >= 0]
            if found:
                says[number] = says.get(number, 0.0) + term.weight
                columns[number] = min(columns.get(number, found[0]), *found)
    ranked = sorted(says, key=lambda number: (-says[number], number))[:_LINES]
    lines = snippets({number: columns[number] for number in ranked}, page.written)
    return [line._replace(number=line.number + page.first_line - 1) for line in lines]
