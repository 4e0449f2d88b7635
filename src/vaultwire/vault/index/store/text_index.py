"""The text index: the fields of every note, in tantivy (https://github.com/quickwit-oss/tantivy-py). It knows no files.

A text index belongs to one catalog. One process at a time writes it; any number of processes read it. Ranked hits take well
under 1 ms.
"""

from __future__ import annotations

import os
import sys
import threading
from array import array
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import NamedTuple, TypeAlias
from weakref import WeakSet

from tantivy import Document, Index, IndexWriter, Occur, Query, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from vaultwire.markdown.offsets import tags_and_above
from vaultwire.markdown.parsed_note import ParsedNote
from vaultwire.vault.index.store.allocator import limit_kept_memory
from vaultwire.vault.index.store.encoded import without_encoded
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.search_plan import (
    ABSENT_NGRAMS,
    ALIAS,
    BODY,
    FILE,
    FIRST,
    FOLDER,
    HAS_ENCODED,
    HAS_TASK,
    HEADING,
    KIND,
    NAME,
    NAME_NGRAMS,
    PATH,
    PROPERTY,
    TAG,
    TAG_PATH,
    Plan,
    exact_value,
    has_loose,
)
from vaultwire.vault.index.store.tantivy_queries import ID, QueryMaker, all_of, loose_leaves
from vaultwire.vault.index.store.tokenizer import folded_words
from vaultwire.vault.search.note_parts import searchable_name

WORD_FIELDS = (BODY, NAME, ALIAS, HEADING, TAG, FILE, PATH)
NGRAM_FIELDS = (ABSENT_NGRAMS, NAME_NGRAMS)
"""The fields with the values of ``NgramFilter``: many a note, and none contains a space."""

VALUE_FIELDS = (TAG_PATH, FOLDER, PROPERTY, KIND, *NGRAM_FIELDS)


Fields: TypeAlias = tuple[dict[str, str], dict[str, list[str]]]
"""A note's fields of words, separated by spaces, and its fields of exact values."""


class TextDocument(NamedTuple):
    """A note as a text index stores it: its fields under an id."""

    id: int
    words: dict[str, str]
    values: dict[str, list[str]]


class TextHits(NamedTuple):
    """The ids of notes found, best first, their scores, and the number of all that the plan finds."""

    ids: list[int]
    scores: list[float]
    total: int


class BrokenTextIndexError(Exception):
    """The files of a text index cannot be used."""


_WORDS, _VALUES = "words", "values"
# The writer has one thread: reading a note takes longer than adding it. Notes that do not fit into this much memory become a
# segment of their own (see ``commit_schedule``). Only what is needed is allocated, and freed at the commit.
_WRITER_BYTES = 60_000_000
_LEAST_WRITER_BYTES = 15_000_000  # the library's own limit
_REMOVED_FACTOR = 4


class Ranking:
    """All notes that a plan finds at one state of the text index, best first."""

    def __init__(self, search: Callable[[int, int], TextHits]) -> None:
        """``search`` returns the notes from an offset on, so many at most."""
        self._search = search

    def page(self, offset: int, limit: int) -> TextHits:
        """Return the notes from an offset on, so many at most."""
        return self._search(offset, limit)

    def keep_all(self) -> None:
        """Keep all notes in memory, at sixteen bytes a note, and no file open."""
        hits = self._search(0, sys.maxsize)
        ids, scores = array("q", hits.ids), array("d", hits.scores)
        self._search = lambda offset, limit: TextHits(
            ids[offset : offset + limit].tolist(), scores[offset : offset + limit].tolist(), hits.total
        )


class TextIndex:
    """One text index. Several threads may read at once; one thread at a time may write."""

    def __init__(self, folder: str | None) -> None:
        """``folder``: its folder; None for memory. Raises BrokenTextIndexError if the files there are no such index."""
        limit_kept_memory()
        builder = SchemaBuilder().add_integer_field(ID, indexed=True, fast=True)
        for field in WORD_FIELDS:
            builder.add_text_field(field, tokenizer_name=_WORDS, index_option="position")
        for field in VALUE_FIELDS:
            builder.add_text_field(
                field, tokenizer_name=_WORDS if field in NGRAM_FIELDS else _VALUES, index_option="basic"
            )
        self._schema = builder.build()
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        with _checked():
            self._index = Index(self._schema, path=folder)
        self._index.register_tokenizer(_WORDS, TextAnalyzerBuilder(Tokenizer.whitespace()).build())
        self._index.register_tokenizer(_VALUES, TextAnalyzerBuilder(Tokenizer.raw()).build())
        self._index.config_reader("manual")
        self._searcher = self._index.searcher()
        self._writer: IndexWriter | None = None
        self._commits = 0  # of this writer
        self._rankings = WeakSet[Ranking]()  # that are of a state on disk
        self._rankings_lock = threading.Lock()

    def search(self, plan: Plan, without: Collection[int], offset: int, limit: int | None) -> TextHits:
        """Return the notes that the plan finds, except those with the ids ``without``; without a ``limit`` all from ``offset``.

        Notes that match with the typed diacritics (``search_plan.as_written``) come before all others.
        """
        searcher = self._searcher
        first = FIRST * (loose_leaves(plan) or 1) if has_loose(plan) else 0.0
        # The library allocates room for ``offset + limit`` hits, and aborts the process if there is not so much memory.
        offset = min(offset, searcher.num_docs)
        most = searcher.num_docs - offset
        wanted = most if limit is None else min(limit, most)
        with _checked():
            queries = QueryMaker(self._schema, searcher)
            clauses = queries.clauses_of_all(plan, first)
            # As single terms while they are few: a set walks the dictionary of all ids.
            clauses += [(Occur.MustNot, query) for query in queries.terms(ID, list(without))]
            result = searcher.search(all_of(clauses), max(1, wanted), True, offset=offset if wanted else 0)
            total: int = result.count  # type: ignore[attr-defined] # missing in the library's stub
            hits = result.hits[:wanted]
            ids = searcher.fast_field_values(ID, [address for _, address in hits])
        scores = [float(score) for score, _ in hits]
        if first:
            scores = [score - first if score >= first else _small(score % FIRST) for score in scores]
        return TextHits([int(note_id or 0) for note_id in ids], scores, total)

    def ranking(self, plan: Plan, without: Collection[int]) -> Ranking:
        """Return what ``search`` finds now. It stays as it is, whatever is committed later."""
        now = copy(self)  # ``refresh`` replaces the searcher of ``self``, and a searcher sees one state
        now._writer = None  # noqa: SLF001 - our own copy; the writer stays with ``self``
        ranking = Ranking(partial(now.search, plan, without))
        with self._rankings_lock:
            self._rankings.add(ranking)
        return ranking

    def words(self, field: str) -> set[str]:
        """Return all words in a field of the committed notes. Breaks may be among them."""
        with _checked():
            return {word for word, _ in self._searcher.terms_with_prefix(field, "")}

    def holders(self, field: str, words: Sequence[str], most: int) -> dict[str, list[int]]:
        """Return the ids of the notes that have each of the words in the field; without words that more than ``most`` have."""
        searcher = self._searcher
        found: dict[str, list[int]] = {}
        with _checked():
            for word in words:
                # The frequency is known at once, but counts removed notes until their segment is merged.
                if 0 < searcher.doc_freq(field, word) <= _REMOVED_FACTOR * most:
                    result = searcher.search(Query.term_query(self._schema, field, word, "basic"), most + 1, False)
                    addresses = [address for _, address in result.hits]
                    if len(addresses) <= most:
                        found[word] = [int(note_id or 0) for note_id in searcher.fast_field_values(ID, addresses)]
        return found

    def refresh(self) -> None:
        """Load what any process has committed since."""
        with _checked():
            self._index.reload()
            self._searcher = self._index.searcher()

    def start_writing(self) -> bool:
        """Take the right to write. Return False if another process has it."""
        if self._writer is None:
            self._commits = 0
            try:
                self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
            except ValueError as error:
                if "LockBusy" in str(error):
                    return False
                raise BrokenTextIndexError(str(error)) from error
        return True

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        """Add the note, or replace the one with its id. ``is_new``: there is none with its id."""
        stored = Document()
        stored.add_integer(ID, document.id)
        for field, words in document.words.items():
            if words:
                stored.add_text(field, words)
        for field, values in document.values.items():
            # One text of twenty words costs as much as a text of one word.
            for value in [" ".join(values)] if field in NGRAM_FIELDS and values else values:
                stored.add_text(field, value)
        writer = self._open_writer()
        with _checked():
            if not is_new:
                writer.delete_documents_by_term(ID, document.id)
            writer.add_document(stored)

    def remove(self, note_id: int) -> None:
        """Remove the note, if it is there."""
        with _checked():
            self._open_writer().delete_documents_by_term(ID, note_id)

    def commit(self) -> None:
        """Make what was put and removed durable, and visible to all processes."""
        writer = self._open_writer()
        self._commits += 1
        with _checked():
            writer.commit()
        self.refresh()
        self._leave_merged_files()

    def stop_writing(self) -> None:
        """Give up the right to write, and drop what was not committed.

        After many commits, it waits until their segments are merged.
        """
        writer, self._writer = self._writer, None
        if writer is None or self._commits < 2:  # noqa: PLR2004
            return
        with _checked():
            writer.wait_merging_threads()
            del writer
            self.refresh()
            self._leave_merged_files()
            self._index.writer(heap_size=_LEAST_WRITER_BYTES, num_threads=1).garbage_collect_files()

    def _leave_merged_files(self) -> None:
        """After many commits, let go of earlier states: the files of segments that are merged, on disk and in memory."""
        if self._commits < 2:  # noqa: PLR2004
            return
        with self._rankings_lock:
            rankings = [*self._rankings]
            self._rankings.clear()
        for ranking in rankings:
            ranking.keep_all()

    def close(self) -> None:
        """Release files and memory."""
        self._writer = None

    def _open_writer(self) -> IndexWriter:
        if self._writer is None:
            raise BrokenTextIndexError("it was closed, or start_writing was not called")
        return self._writer


def _small(score: float) -> float:
    """Map a score to one below 1, in the same order."""
    return score / (score + 1)


@contextmanager
def _checked() -> Iterator[None]:
    """Raise BrokenTextIndexError for the library's errors about files that are gone, cut short or overwritten."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise BrokenTextIndexError(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # how Rust code raises a panic
            raise
        raise BrokenTextIndexError(str(error)) from error


def to_fields(path: str, text: str, parsed: ParsedNote, ngrams: NgramFilter) -> Fields:
    """Return the fields of a note."""
    folders = path.split("/")[:-1]
    plain = without_encoded(text)
    words = {
        BODY: folded_words(plain),
        NAME: folded_words(searchable_name(path)),
        ALIAS: _joined_words(parsed.frontmatter.texts("aliases")),
        HEADING: _joined_words([heading.text for heading in parsed.headings]),
        TAG: _joined_words(parsed.tags),
        FILE: folded_words(path.rpartition("/")[2]),
        PATH: folded_words(path),
    }
    values = {
        TAG_PATH: list(dict.fromkeys(tags_and_above(map(exact_value, parsed.tags)))),
        FOLDER: ["/".join(folders[:depth]) for depth in range(1, len(folders) + 1)],
        PROPERTY: list(dict.fromkeys(map(exact_value, parsed.frontmatter.values))),
        KIND: [HAS_TASK] * bool(parsed.tasks) + [HAS_ENCODED] * (plain is not text),
        ABSENT_NGRAMS: ngrams.absent(words[BODY]),
        NAME_NGRAMS: ngrams.present(words[NAME]),
    }
    return words, values


def _joined_words(texts: list[str]) -> str:
    return folded_words("\n".join(texts)) if texts else ""
