"""The text index backend on tantivy (https://github.com/quickwit-oss/tantivy-py): ranked answers in well under 1 ms."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from tantivy import Document, Index, IndexWriter, Occur, Query, SchemaBuilder, TextAnalyzerBuilder, Tokenizer

from vaultwire.vault.store.plan import (
    WEIGHTS,
    AllOf,
    AnyOf,
    AnyWord,
    Everything,
    Lifted,
    NoneOf,
    Plan,
    SideBySide,
)
from vaultwire.vault.store.text import VALUE_FIELDS, WORD_FIELDS, BrokenTextIndexError, TextDocument, TextHits

_ID = "id"
_WORDS, _VALUES = "words", "values"
# One thread: the rest of the work on a note takes longer than this does. What fits into this much memory becomes one segment,
# and a search takes a third of the time it takes in three; only what is used is taken, and given back at the commit.
_WRITER_BYTES = 300_000_000
# A word close to the one typed counts half, one that merely holds it less than any mention.
_NEAR_WEIGHT, _OTHER_WEIGHT = 0.5, 0.2
# Above any rank: sets notes that match with their diacritics before all others.
_FIRST = 1000.0


class TantivyText:
    """Fills ``vault.store.text.TextIndex``."""

    def __init__(self, folder: str | None) -> None:
        """``folder``: where it is kept; None for memory. Raises BrokenTextIndexError if what is there is no such index."""
        builder = SchemaBuilder().add_integer_field(_ID, indexed=True, fast=True)
        for field in WORD_FIELDS:
            builder.add_text_field(field, tokenizer_name=_WORDS, index_option="position")
        for field in VALUE_FIELDS:
            builder.add_text_field(field, tokenizer_name=_VALUES, index_option="basic")
        self._schema = builder.build()
        if folder is not None:
            os.makedirs(folder, exist_ok=True)
        with _sound():
            self._index = Index(self._schema, path=folder)
        self._index.register_tokenizer(_WORDS, TextAnalyzerBuilder(Tokenizer.whitespace()).build())
        self._index.register_tokenizer(_VALUES, TextAnalyzerBuilder(Tokenizer.raw()).build())
        self._index.config_reader("manual")
        self._searcher = self._index.searcher()
        self._writer: IndexWriter | None = None
        self._writing = threading.Lock()

    def search(
        self, plan: Plan, as_written: Plan | None, without: Collection[int], offset: int, limit: int | None
    ) -> TextHits:
        """Return notes the plan finds. See the port."""
        searcher = self._searcher
        query = self._query(plan)
        if as_written is not None:
            first = Query.const_score_query(self._query(as_written), _FIRST)
            query = Query.boolean_query([(Occur.Must, query), (Occur.Should, first)])
        if without:
            left_out = Query.term_set_query(self._schema, _ID, list(without))
            query = Query.boolean_query([(Occur.Must, query), (Occur.MustNot, left_out)])
        # The library makes room for all it is asked for, and ends the process where there is not so much.
        offset = min(offset, searcher.num_docs)
        most = searcher.num_docs - offset
        wanted = most if limit is None else min(limit, most)
        with _sound():
            result = searcher.search(query, max(1, wanted), True, offset=offset if wanted else 0)
            total: int = result.count  # type: ignore[attr-defined] # missing in the library's stub
            hits = result.hits[:wanted]
            ids = searcher.fast_field_values(_ID, [address for _, address in hits])
        scores = [float(score) for score, _ in hits]
        if as_written is not None:
            scores = [score - _FIRST if score >= _FIRST else score / (score + 1) for score in scores]
        return TextHits([int(note_id or 0) for note_id in ids], scores, total)

    def words(self, field: str) -> set[str]:
        """Return the words in use in a field of words."""
        with _sound():
            return {word for word, _ in self._searcher.terms_with_prefix(field, "")}

    def refresh(self) -> None:
        """Take up what was committed since."""
        with _sound():
            self._index.reload()
            self._searcher = self._index.searcher()

    def start_writing(self) -> bool:
        """Take the right to write; False if another process has it."""
        if self._writer is None:
            try:
                self._writer = self._index.writer(heap_size=_WRITER_BYTES, num_threads=1)
            except ValueError as error:
                if "LockBusy" in str(error):
                    return False
                raise BrokenTextIndexError(str(error)) from error
        return True

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        """Add the note, or exchange what is there under its id. ``is_new``: nothing is."""
        kept = Document()
        kept.add_integer(_ID, document.id)
        for field, words in document.words.items():
            if words:
                kept.add_text(field, words)
        for field, values in document.values.items():
            for value in values:
                kept.add_text(field, value)
        writer = self._its_writer()
        if not is_new:
            writer.delete_documents_by_term(_ID, document.id)
        writer.add_document(kept)

    def remove(self, note_id: int) -> None:
        """Take the note out, if it is there."""
        self._its_writer().delete_documents_by_term(_ID, note_id)

    def commit(self) -> None:
        """Make visible and lasting what was put and removed."""
        with _sound():
            self._its_writer().commit()
        self.refresh()

    def stop_writing(self) -> None:
        """Give up the right to write."""
        self._writer = None

    def close(self) -> None:
        """Give up files and memory."""
        self._writer = None

    def _its_writer(self) -> IndexWriter:
        assert self._writer is not None, "start_writing comes first"
        return self._writer

    # ------------------------------------------------------------------ plans

    def _query(self, plan: Plan) -> Query:
        if isinstance(plan, Everything):
            return Query.const_score_query(Query.all_query(), 0.0)
        if isinstance(plan, AllOf):
            return self._all_of(plan)
        if isinstance(plan, AnyOf):
            # One flat list of words is found faster than lists of lists.
            queries = [query for part in plan.parts for query in self._alternatives(part)]
            return Query.boolean_query([(Occur.Should, query) for query in queries])
        if isinstance(plan, NoneOf):
            return self._all_of(AllOf((plan,)))
        if isinstance(plan, AnyWord):
            return self._query(AnyOf((plan,)))
        if isinstance(plan, SideBySide):
            return self._side_by_side(plan)
        if isinstance(plan, Lifted):
            lifts = [query for lift in plan.lifts for query in self._alternatives(lift)]
            return Query.boolean_query(
                [(Occur.Must, self._query(plan.plan)), *((Occur.Should, lift) for lift in lifts)]
            )
        return Query.const_score_query(Query.term_query(self._schema, plan.field, plan.value, "basic"), 1.0)

    def _all_of(self, plan: AllOf) -> Query:
        parts = [
            (Occur.MustNot, self._query(part.part)) if isinstance(part, NoneOf) else (Occur.Must, self._query(part))
            for part in plan.parts
        ]
        if not any(occur == Occur.Must for occur, _ in parts):
            parts.append((Occur.Must, self._query(Everything())))
        return Query.boolean_query(parts)

    def _alternatives(self, plan: Plan) -> list[Query]:
        """Return queries any of which the plan is content with."""
        if not isinstance(plan, AnyWord):
            return [self._query(plan)]
        schema, field = self._schema, plan.field
        weight = WEIGHTS[field]
        found = [
            Query.boost_query(Query.term_query(schema, field, word), share * weight)
            for words, share in ((plan.same, 1.0), (plan.near, _NEAR_WEIGHT))
            for word in words
        ]
        if plan.others:
            # Not term_set_query, which walks the whole dictionary: a hundred words take it twice as long.
            others = [(Occur.Should, Query.term_query(schema, field, word, "basic")) for word in plan.others]
            found.append(Query.const_score_query(Query.boolean_query(others), _OTHER_WEIGHT * weight))
        return found

    def _side_by_side(self, plan: SideBySide) -> Query:
        if len(plan.words) == 1:
            query = Query.term_query(self._schema, plan.field, plan.words[0])
        else:
            query = Query.phrase_query(self._schema, plan.field, list(plan.words))
        return Query.boost_query(query, WEIGHTS[plan.field])


@contextmanager
def _sound() -> Iterator[None]:
    """Raise BrokenTextIndexError for what the library says of files that are gone, cut short or written over."""
    try:
        yield
    except (ValueError, OSError) as error:
        raise BrokenTextIndexError(str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # what Rust code raises that has met what cannot be
            raise
        raise BrokenTextIndexError(str(error)) from error
