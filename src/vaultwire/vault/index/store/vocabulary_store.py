"""The vocabularies of one vault and its ngrams: in memory to look through, in the catalog to start with."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.search_plan import BODY, PATH, Vocabularies
from vaultwire.vault.index.store.text_index import TextDocument
from vaultwire.vault.index.store.tokenizer import BREAK
from vaultwire.vault.index.store.vocabulary import Stored, Vocabulary

# New words are kept one by one until there are so many: loading as many takes 5 ms at every start.
_MAX_SINGLE = 5_000
_STORED, _VERSION = (("words_of_texts", "places_of_texts"), ("words_of_paths", "places_of_paths")), "words_version"
_NGRAMS = "ngrams"


class VocabularyStore:
    """One process's copy. The one that writes the text index adds to it and stores; the others refresh."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._lock = threading.RLock()  # some threads search and refresh, one indexes and adds
        # Which version of what is stored was taken up, and which of the words kept one by one was the last: both at once.
        self._taken: tuple[int | None, int] = (None, 0)
        self._new: dict[bool, set[str]] = {False: set(), True: set()}
        self._ngrams: NgramFilter | None = None  # until it is known that they were learned: from then on they stay
        self.vocabularies = Vocabularies(Vocabulary(), Vocabulary())
        self.refresh()

    def ngrams(self) -> NgramFilter | None:
        """Return the ngrams the notes in the text index are marked with, None if they have yet to be learned."""
        if self._ngrams is None:
            kept = self._catalog.meta(_NGRAMS)
            self._ngrams = None if kept is None else NgramFilter(kept)
        return self._ngrams

    def learn_ngrams(self, texts: Iterable[str]) -> NgramFilter:
        """Learn them, from the words of some notes. Only for whoever has the right to write the text index."""
        ngrams = NgramFilter.learn(texts)
        # First for all: notes that other processes put in must be marked alike.
        self._catalog.set_meta(_NGRAMS, ngrams.kept)
        self._ngrams = ngrams
        return ngrams

    def refresh(self) -> None:
        """Take up what was stored, by whatever process, since."""
        # Read before the lock is taken: whoever stores has the catalog's locks when it takes this one.
        known, last = self._taken
        version = self._catalog.meta(_VERSION) or 0
        stored = None
        if version != known:
            stored = [
                Stored(self._catalog.meta(texts) or "", self._catalog.meta(places) or b"") for texts, places in _STORED
            ]
            last = 0  # those kept one by one have begun anew
        rows = self._catalog.rows("SELECT of_paths, word, id FROM words WHERE id > ? ORDER BY id", (last,))
        with self._lock:
            known, last = self._taken
            if stored is not None and (known is None or version > known):
                self.vocabularies = Vocabularies(*map(Vocabulary, stored))
                self._taken = known, last = version, 0
            for of_paths, vocabulary in enumerate(self.vocabularies):
                vocabulary.add({word for where, word, _ in rows if where == of_paths} | self._new[bool(of_paths)])
            if rows and version == known:
                self._taken = known, max(last, rows[-1][2])

    def add(self, document: TextDocument) -> None:
        """Add a note's words."""
        for of_paths, field in ((False, BODY), (True, PATH)):
            words = set(document.words[field].split())
            words.discard(BREAK)
            with self._lock:
                self._new[of_paths] |= self.vocabularies[of_paths].add(words)

    def replace_all(self, texts: set[str], paths: set[str]) -> None:
        """Have these words and no others; ``store`` writes all of them down."""
        with self._lock:
            self.vocabularies = Vocabularies(Vocabulary(), Vocabulary())
            for of_paths, words in enumerate((texts, paths)):
                words.discard(BREAK)
                self._new[bool(of_paths)] = self.vocabularies[of_paths].add(words)

    def store(self) -> None:
        """Write down what was added since. In the transaction that says that the text index has it."""
        with self._lock:
            (single,) = self._catalog.rows("SELECT count(*) FROM words")[0]
            if single + sum(map(len, self._new.values())) <= _MAX_SINGLE:
                for of_paths, words in self._new.items():
                    self._catalog.add_words(words, of_paths=of_paths)
            else:
                self.refresh()  # with the words of other processes, which are about to be written over
                for names, vocabulary in zip(_STORED, self.vocabularies, strict=True):
                    for name, value in zip(names, vocabulary.stored, strict=True):
                        self._catalog.set_meta(name, value)
                with self._catalog.writing() as connection:
                    connection.execute("DELETE FROM words")
                self._catalog.set_meta(_VERSION, (self._taken[0] or 0) + 1)
            self._new = {False: set(), True: set()}
