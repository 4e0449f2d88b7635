"""Stores the vocabularies of one vault and its n-gram filter in the catalog, and loads them into memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.search_plan import BODY, FILE, NAME, PATH, Vocabularies
from vaultwire.vault.index.store.text_index import TextDocument
from vaultwire.vault.index.store.vocabulary import Vocabulary, stored_form

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
            words = {word for field in fields for word in document.words[field].split()}
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
