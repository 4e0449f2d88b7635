"""The text index backend on tantivy (https://github.com/quickwit-oss/tantivy-py): ranked hits in well under 1 ms."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from weakref import WeakSet

from tantivy import Document, Index, IndexWriter, Occur, Query, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from vaultwire.vault.index.store.allocator import limit_kept_memory
from vaultwire.vault.index.store.background_call import BackgroundCall
from vaultwire.vault.index.store.search_plan import FIRST, Plan, has_loose
from vaultwire.vault.index.store.tantivy_queries import ID, QueryMaker, all_of, loose_leaves
from vaultwire.vault.index.store.text_index import (
    NGRAM_FIELDS,
    VALUE_FIELDS,
    WORD_FIELDS,
    BrokenTextIndexError,
    Ranking,
    StateRanking,
    TextDocument,
    TextHits,
)

_WORDS, _VALUES = "words", "values"
# The writer has one thread: reading a note takes longer than adding it. Notes that do not fit into this much memory become a
# segment of their own (see ``commit_schedule``). Only what is needed is allocated, and freed at the commit.
_WRITER_BYTES = 60_000_000
_LEAST_WRITER_BYTES = 15_000_000  # the library's own limit
_REMOVED_FACTOR = 4


class TantivyText:
    """Implements ``text_index.TextIndex``."""

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
        self._saving: BackgroundCall | None = None
        self._rankings = WeakSet[StateRanking]()  # that are of a state on disk
        self._rankings_lock = threading.Lock()

    def search(self, plan: Plan, without: Collection[int], offset: int, limit: int | None) -> TextHits:
        """See the port."""
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
        """See the port."""
        now = copy(self)  # ``refresh`` replaces the searcher of ``self``, and a searcher sees one state
        now._writer = None  # noqa: SLF001 - our own copy; the writer stays with ``self``
        ranking = StateRanking(partial(now.search, plan, without))
        with self._rankings_lock:
            self._rankings.add(ranking)
        return ranking

    def words(self, field: str) -> set[str]:
        """See the port."""
        with _checked():
            return {word for word, _ in self._searcher.terms_with_prefix(field, "")}

    def holders(self, field: str, words: Sequence[str], most: int) -> dict[str, list[int]]:
        """See the port."""
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
        """See the port."""
        with _checked():
            self._index.reload()
            self._searcher = self._index.searcher()

    def start_writing(self) -> bool:
        """See the port."""
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
        """See the port."""
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
        """See the port."""
        with _checked():
            self._open_writer().delete_documents_by_term(ID, note_id)

    def save(self) -> None:
        """See the port. The library has no way to write a segment without a commit.

        Returns at once. The library writes for 0.15 s, and the caller reads more notes meanwhile.
        """
        writer = self._open_writer()
        self._commits += 1
        self._saving = BackgroundCall(writer.commit)

    def commit(self) -> None:
        """See the port."""
        self.save()
        self._wait_until_saved()
        self.refresh()
        self._leave_merged_files()

    def stop_writing(self) -> None:
        """See the port. After many commits, it waits until their segments are merged."""
        writer, self._writer = self._writer, None
        self._wait_until_saved()
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
        """See the port."""
        self._writer = None

    def _open_writer(self) -> IndexWriter:
        assert self._writer is not None, "start_writing comes first"
        self._wait_until_saved()
        return self._writer

    def _wait_until_saved(self) -> None:
        saving, self._saving = self._saving, None
        if saving is not None:
            with _checked():
                saving.wait()


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
