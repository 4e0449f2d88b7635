"""The folder of one vault's index: opens the index in it, begins a new one if it is broken, falls back to memory."""

from __future__ import annotations

import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

from vaultwire.vault.disk.file_operations import make_private
from vaultwire.vault.disk.process_lock import ProcessLock
from vaultwire.vault.index.catalog import FORMAT, INDEXED, UNREAD, Catalog
from vaultwire.vault.index.search_plan import BODY, FILE, NAME, PATH, MatchAll, Vocabularies
from vaultwire.vault.index.text_index import BrokenTextIndexError, TextDocument, TextIndex
from vaultwire.vault.index.words import NgramFilter, Vocabulary, distinct_words, stored_form

# Stores the vocabularies of one vault and its n-gram filter in the catalog, and loads them into memory.

# New words are stored one by one until there are so many. Loading these takes 5 ms at every start.
_MAX_SINGLE = 5_000
_STORED, _VERSION = ("words_of_texts", "words_of_paths"), "words_version"
_NGRAMS = "ngrams"
VOCABULARY_FIELDS = ((BODY,), (PATH, NAME, FILE))
"""The fields that give each vocabulary its words. A file's name may begin or end with a break that its path has not."""


class VocabularyStore:
    """One process's copy of the vocabularies. The process that writes the text index adds and stores; the others refresh."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.RLock()  # some threads search and refresh, one adds
        # The version of the stored vocabularies that is loaded, and the id of the last single word: both at once.
        self._loaded: tuple[int | None, int] = (None, 0)
        self._new: dict[bool, set[str]] = {False: set(), True: set()}
        self._ngrams: NgramFilter | None = None  # None until it was learned; then it stays the same
        self.vocabularies = Vocabularies(Vocabulary(), Vocabulary())
        self.refresh()

    def ngrams(self) -> NgramFilter | None:
        """Return the n-gram filter of the text index, None if it is not learned yet."""
        if self._ngrams is None:
            stored = self._catalog.meta(_NGRAMS)
            self._ngrams = None if stored is None else NgramFilter(stored)
        return self._ngrams

    def learn_ngrams(self, texts: Iterable[str]) -> NgramFilter:
        """Learn the n-gram filter from the words of some notes. The caller must have the right to write the text index."""
        ngrams = NgramFilter.learn(texts)
        # Stored first: other processes must put notes in by the same filter.
        self._catalog.set_meta(_NGRAMS, ngrams.stored)
        self._ngrams = ngrams
        return ngrams

    def refresh(self) -> None:
        """Load what any process has stored since."""
        # Read before the lock is taken: ``store`` has the catalog's locks when it takes this one.
        known, last = self._loaded
        version = self._catalog.meta(_VERSION) or 0
        stored = None
        if version != known:
            stored = [self._catalog.meta(name) or "" for name in _STORED]
            last = 0  # the single words were deleted
        rows = self._catalog.rows("SELECT of_paths, word, id FROM words WHERE id > ? ORDER BY id", (last,))
        with self._lock:
            known, last = self._loaded
            if stored is not None and (known is None or version > known):
                self.vocabularies = Vocabularies(*map(Vocabulary, stored))
                self._loaded = known, last = version, 0
            for of_paths, vocabulary in enumerate(self.vocabularies):
                vocabulary.add({word for where, word, _ in rows if where == of_paths} | self._new[bool(of_paths)])
            if rows and version == known:
                self._loaded = known, max(last, rows[-1][2])

    def add(self, document: TextDocument) -> None:
        """Add a note's words."""
        for of_paths, fields in enumerate(VOCABULARY_FIELDS):
            words = set[str]().union(*(distinct_words(document.words[field]) for field in fields))
            with self._lock:
                self._new[bool(of_paths)] |= self.vocabularies[of_paths].add(words)

    def replace_all(self, words_of: Callable[[str], set[str]]) -> None:
        """Replace the vocabularies by all words of the text index, stored in the transaction that says that it has them.

        ``words_of`` returns the words in a field.
        """
        with self._lock:
            vocabularies = []
            for name, fields in zip(_STORED, VOCABULARY_FIELDS, strict=True):
                words = set[str]()
                for field in fields:  # one after another: each takes 10 to 20 MB on its way
                    words |= words_of(field)
                stored = stored_form(words)
                self._catalog.set_meta(name, stored)
                vocabularies.append(Vocabulary(stored))
            self._loaded = self._write_version(), 0
            self.vocabularies = Vocabularies(*vocabularies)
            self._new = {False: set(), True: set()}

    def store(self) -> None:
        """Store the words added since, in the transaction that says that the text index has them."""
        with self._lock:
            (single,) = self._catalog.rows("SELECT count(*) FROM words")[0]
            if single + sum(map(len, self._new.values())) <= _MAX_SINGLE:
                for of_paths, words in self._new.items():
                    self._catalog.add_words(words, of_paths=of_paths)
            else:
                self.refresh()  # with the words of other processes, which are about to be overwritten
                for name, vocabulary in zip(_STORED, self.vocabularies, strict=True):
                    self._catalog.set_meta(name, stored_form(vocabulary.words))
                self._write_version()
            self._new = {False: set(), True: set()}

    def _write_version(self) -> int:
        """Write that all words were stored, the single ones too. Return the new version."""
        version = (self._loaded[0] or 0) + 1
        with self._catalog.writing() as connection:
            connection.execute("DELETE FROM words")
        self._catalog.set_meta(_VERSION, version)
        return version


_CATALOG = "catalog.sqlite3"
# One attempt for the present index, one for a new one, one for another process that began one at the same time.
_MAX_TRIES = 3
# Each set of rules about what may be seen has an index of its own. One that no run has opened for a month is deleted. A run
# that takes longer keeps the files it has open, or builds them again.
_UNUSED_SECONDS = 30 * 24 * 3600
_WHAT_TO_DO = "Make room there, or set VAULTWIRE_CACHE to a folder on another disk."
_COUNT_INDEXED = f"SELECT count(*) FROM files WHERE NOT is_excluded AND state = {INDEXED} AND digest <> {UNREAD}"


class IndexParts(NamedTuple):
    """An open index. Only one in memory has no lock."""

    catalog: Catalog
    text: TextIndex
    words: VocabularyStore
    process_lock: ProcessLock | None


class IndexFolder:
    """One vault's folder below the cache folder. Without a cache folder the index is in memory."""

    def __init__(
        self, vault: str, cache: str | None, stamp: str = "", open_text: Callable[[str | None], TextIndex] = TextIndex
    ) -> None:
        """``vault`` is the vault's resolved path; ``open_text`` opens a text index in a folder, or in memory for None.

        ``stamp`` stands for what is hidden in this run (``Files.stamp``). Runs that see other notes have another index.
        """
        self._open_text = open_text
        self.problem = ""  # why the index is in memory
        self.folder: str | None = None
        self._generation = 1  # each new index has a folder of its own, numbered; the last is in use
        if cache is not None:
            key = hashlib.blake2b(os.fsencode(vault), digest_size=12).hexdigest()
            self.folder = os.path.join(cache, f"v{FORMAT}-{key}{'-' * bool(stamp)}{stamp}")

    def open(self) -> IndexParts:
        """Open the index that is there, or begin a new one."""
        if self.folder is not None:
            try:
                # Other users must not read what notes say.
                make_private(self.folder)
                for _ in range(_MAX_TRIES):
                    try:
                        parts = self._open(self.folder)
                    except Exception as error:
                        if not is_broken(error):
                            raise
                        self.problem = self._not_kept(error)
                        self._begin_new()
                    else:
                        self.problem = ""
                        self._remove_older()
                        return parts
            except (OSError, sqlite3.Error) as error:
                self.problem = self._not_kept(error)
            self.folder = None
        return self._open(None)

    def _open(self, folder: str | None) -> IndexParts:
        place = lock = None
        if folder is not None:
            lock = ProcessLock(os.path.join(folder, "lock"), "another process is indexing the vault")
            self._generation = max([1, *self._generations()])
            place = os.path.join(folder, str(self._generation))
            make_private(place)
        catalog = Catalog(None if place is None else os.path.join(place, _CATALOG))
        try:
            text = self._open_text(None if place is None else os.path.join(place, str(catalog.meta("text"))))
            _check(catalog, text)
            return IndexParts(catalog, text, VocabularyStore(catalog), lock)
        except BaseException:
            catalog.close()
            raise

    def _remove_older(self) -> None:
        """Delete this vault's indexes of earlier formats, and those for other rules that were not opened for a month."""
        assert self.folder is not None
        cache, name = os.path.split(self.folder)
        os.utime(self.folder)
        older = [f"v{number}-{name.partition('-')[2]}" for number in range(1, FORMAT)]
        same_vault = "-".join([*name.split("-")[:2], ""])
        for there in os.listdir(cache):
            place = os.path.join(cache, there)
            if there in older or (
                there.startswith(same_vault) and time.time() - os.stat(place).st_mtime > _UNUSED_SECONDS
            ):
                _remove(place)

    def wipe(self, parts: IndexParts) -> None:
        """Close a broken index and begin a new one. Other processes that have it open find it broken, too, or go on with it."""
        parts.text.close()
        parts.catalog.close()
        self._begin_new()

    def keep_in_memory(self, reason: Exception) -> None:
        """Make the next ``open`` open an index in memory."""
        self.problem = self._not_kept(reason)
        self.folder = None

    def _not_kept(self, reason: Exception) -> str:
        return f"the index cannot be kept in {self.folder}: {reason}. {_WHAT_TO_DO}"

    def _begin_new(self) -> None:
        """Make the next ``open`` begin a new index, or open one that another process has begun since.

        The new one gets a folder of another name: when SQLite closes a deleted file, it deletes its log by name, and that
        could be the new file's log.
        """
        if self.folder is None:
            return
        there = [*self._generations(), self._generation]
        if max(there) == self._generation:
            make_private(os.path.join(self.folder, str(self._generation + 1)))
        for generation in there:
            if generation <= self._generation:
                _remove(os.path.join(self.folder, str(generation)))

    def _generations(self) -> list[int]:
        try:
            return [int(name) for name in os.listdir(self.folder) if name.isdecimal()] if self.folder else []
        except FileNotFoundError:
            return []


def _remove(folder: str) -> None:
    import shutil  # noqa: PLC0415 - 2 ms, and hardly any start needs it

    shutil.rmtree(folder, ignore_errors=True)


def _check(catalog: Catalog, text: TextIndex) -> None:
    """Raise BrokenTextIndexError if the text index has more or fewer notes than the catalog says.

    That happens if its files were deleted, because the library then creates empty ones; and after a power cut, because the
    two indexes are written one after the other.
    """
    for _ in range(_MAX_TRIES):
        version = catalog.version()
        (indexed,) = catalog.rows(_COUNT_INDEXED)[0]
        left_out = [*(row.id for row in catalog.not_indexed()), *catalog.gone()]
        text.refresh()
        total = text.search(MatchAll(), left_out, 0, 1).total
        if catalog.version() == version:  # else another process has written meanwhile
            if total != indexed:
                raise BrokenTextIndexError(f"the text index has {total} notes, the catalog {indexed}")
            return


def is_broken(error: Exception) -> bool:
    """Tell whether an error means that the index cannot be used, and not only that it is busy."""
    if isinstance(error, sqlite3.OperationalError):
        return not ("locked" in str(error) or "busy" in str(error))
    return isinstance(error, (sqlite3.DatabaseError, BrokenTextIndexError))
