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
from itertools import product
from math import inf
from typing import NamedTuple, TypeAlias
from weakref import WeakSet

from tantivy import (
    Document,
    Index,
    IndexWriter,
    Occur,
    Query,
    Schema,
    SchemaBuilder,
    Searcher,
    TextAnalyzerBuilder,
    Tokenizer,
)

from vaultwire.markdown.offsets import tags_and_above
from vaultwire.vault.index.search_plan import (
    ABSENT_NGRAMS,
    ALIAS,
    BODY,
    FEW_SPELLINGS,
    FILE,
    FIRST,
    FOLDER,
    HAS_ENCODED,
    HAS_TASK,
    HEADING,
    KIND,
    NAME,
    NAME_NGRAMS,
    NEAR_WEIGHT,
    OTHER_WEIGHT,
    PATH,
    PROPERTY,
    TAG,
    TAG_PATH,
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
    exact_value,
    has_loose,
)
from vaultwire.vault.index.words import NgramFilter, folded_words, without_encoded
from vaultwire.vault.search.note_parts import searchable_name
from vaultwire.vault.search.terms import rarity

# Plans of searches as queries of tantivy.

ID = "id"
"""The field with a note's id."""

# From so many words on, the words of a field are looked up as a set. That walks the dictionary (0.4 ms for 34,000 words, so a
# hundred words take twice as long), but then takes a third less time for each word, and far less memory.
_MANY_WORDS = 600


class QueryMaker:
    """Makes queries for one state of a text index."""

    def __init__(self, schema: Schema, searcher: Searcher) -> None:
        self._schema = schema
        self._searcher = searcher

    def clauses_of_all(self, plan: Plan, first: float) -> list[tuple[Occur, Query]]:
        """Return the clauses of a whole plan. ``first``: the extra score of words as written, 0 without loose ones."""
        if first and not loose_leaves(plan):
            written = Query.const_score_query(self._query(as_written(plan)), first)
            return [(Occur.Must, self._query(plan)), (Occur.Should, written)]
        return self._clauses(plan, sets_apart=bool(first))

    def _query(self, plan: Plan) -> Query:
        """Return the plan as a query of the library."""
        if isinstance(plan, MatchAll):
            return Query.const_score_query(Query.all_query(), 0.0)
        if isinstance(plan, AnyOf):
            # One flat list of words is found faster than lists of lists.
            return _any([query for part in plan.parts for query in self._alternatives(part)])
        if isinstance(plan, Phrase):
            return self._phrase_query(plan)
        if isinstance(plan, ExactValue):
            return Query.const_score_query(Query.term_query(self._schema, plan.field, plan.value, "basic"), 1.0)
        if isinstance(plan, TheseNotes):
            return Query.const_score_query(Query.term_set_query(self._schema, ID, [*plan.ids]), 1.0)
        return all_of(self._clauses(plan, sets_apart=False))

    def _clauses(self, plan: Plan, *, sets_apart: bool) -> list[tuple[Occur, Query]]:
        """Return the plan as clauses of one boolean query, not nested: the library copies nested queries.

        ``sets_apart``: words as written score ``FIRST`` more than loose ones.
        """
        clauses = self._clauses_of_part(plan, sets_apart=sets_apart)
        if not any(occur == Occur.Must for occur, _ in clauses):
            clauses.append((Occur.Must, self._query(MatchAll())))
        return clauses

    def _clauses_of_part(self, plan: Plan, *, sets_apart: bool) -> list[tuple[Occur, Query]]:
        """Return the plan as clauses. A plan that only excludes has no clause that must match."""
        if isinstance(plan, AllOf):
            return [clause for part in plan.parts for clause in self._clauses_of_part(part, sets_apart=sets_apart)]
        if isinstance(plan, NoneOf):
            return [(Occur.MustNot, self._query(plan.part))]
        if isinstance(plan, AnyWord):
            return self._clauses_of_part(AnyOf((plan,)), sets_apart=sets_apart)
        if isinstance(plan, Boosted):
            parts = plan.plan.parts if isinstance(plan.plan, AnyOf) else (plan.plan,)
            if absent := [part for part in parts if isinstance(part, NoneOf)]:
                words = tuple(part for part in parts if part not in absent)
                return self._nearly_all([part.part for part in absent], words, plan.boosts, sets_apart=sets_apart)
            boosts = [query for boost in plan.boosts for query in self._alternatives(boost)]
            if sets_apart and isinstance(plan.plan, AnyOf) and has_loose(plan.plan):
                return self._apart(plan.plan, boosts)
            clauses = self._clauses_of_part(plan.plan, sets_apart=False)
            return [*clauses, *((Occur.Should, query) for query in boosts)]
        if isinstance(plan, AnyOf) and sets_apart and has_loose(plan):
            return self._apart(plan, [])
        return [(Occur.Must, self._query(plan))]

    def _nearly_all(
        self, absent: Sequence[Plan], words: tuple[Plan, ...], boosts: Sequence[Plan], *, sets_apart: bool
    ) -> list[tuple[Occur, Query]]:
        """Return the clauses for common n-grams: all notes except those from which all are absent, unless a word finds them.

        Finding the few excluded notes takes a fraction of the time of listing all others. Boosts by exact values are kept
        apart from boosts by words, because the library walks a plain list of words faster.
        """
        is_apart = sets_apart and any(map(has_loose, words))
        boosts = [*map(_ranking, words), *boosts]
        ranks = [self._query(boost) for boost in boosts if isinstance(boost, ExactValue)]
        if is_apart:
            loose = self._query(AllOf((*absent, AnyOf(words), *(NoneOf(as_written(part)) for part in words))))
            ranks.append(Query.const_score_query(loose, 0.1 - FIRST))
        clauses = [(Occur.MustNot, self._query(AllOf((*absent, *map(NoneOf, words)))))]
        if ranks:
            every = Query.const_score_query(Query.all_query(), FIRST if is_apart else 0.0)
            clauses.append((Occur.Must, all_of([(Occur.Must, every), *((Occur.Should, rank) for rank in ranks)])))
        others = [query for boost in boosts if not isinstance(boost, ExactValue) for query in self._alternatives(boost)]
        return [*clauses, *((Occur.Should, query) for query in others)]

    def _apart(self, words: AnyOf, boosts: list[Query]) -> list[tuple[Occur, Query]]:
        """Return the clauses for words and phrases. Those as written score far above the loose ones."""
        written: list[Query] = []
        phrases: list[Query] = []
        loose: list[Query] = []
        for part in words.parts:
            if isinstance(part, AnyWord):
                written += self.terms(part.field, (*part.same, *part.near, *part.others))
                loose += self.terms(part.field, part.loose)
                boosts = [*boosts, *self._alternatives(_ranking(part))]
            elif isinstance(part, Phrase):
                (loose if part.is_loose else phrases).append(self._phrase_query(part))
            else:
                written.append(self._query(part))
        queries = [Query.const_score_query(_any(loose), 0.1)]
        if written:
            queries.append(Query.const_score_query(_any(written), FIRST))
        if phrases:
            # Phrases rank by their own score plus ``FIRST``: a second query for them, as for words, would take twice as long.
            first = Query.const_score_query(Query.all_query(), FIRST)
            queries.append(all_of([(Occur.Must, _any(phrases)), (Occur.Must, first)]))
        return [(Occur.Must, _any(queries)), *((Occur.Should, query) for query in boosts)]

    def terms(self, field: str, words: Sequence[str | int]) -> list[Query]:
        """Return queries of which one must match: a note that has one of the words."""
        if len(words) >= _MANY_WORDS:
            return [Query.term_set_query(self._schema, field, list(words))]
        return [Query.term_query(self._schema, field, word, "basic") for word in words]

    def _alternatives(self, plan: Plan) -> list[Query]:
        """Return the plan as queries of which one must match."""
        if not isinstance(plan, AnyWord):
            return [self._query(plan)]
        schema, field = self._schema, plan.field
        weight = WEIGHTS[field]
        count, notes = self._searcher.doc_freq, self._searcher.num_docs
        # The library multiplies by the rarity of each word in its field. A typed word that most notes have says little, also
        # where it stands in a name, and so do the rarer words that begin with it.
        commonest = max((count(BODY, word) for word in plan.same or plan.near), default=0)
        most = rarity(commonest, notes) if commonest else inf
        queries = [
            Query.boost_query(
                Query.term_query(schema, field, word), share * weight * min(1.0, most / rarity(in_field, notes))
            )
            for words, share in ((plan.same, 1.0), (plan.near, NEAR_WEIGHT))
            for word in words
            # Most words are in one field only. To check that first takes a fifth of the time of a query.
            if (in_field := count(field, word))
        ]
        if plan.others or plan.loose:
            others = _any(self.terms(field, (*plan.others, *plan.loose)))
            queries.append(Query.const_score_query(others, OTHER_WEIGHT * weight * min(1.0, most)))
        return queries

    def _phrase_query(self, plan: Phrase) -> Query:
        places, schema, field = plan.places, self._schema, plan.field
        if len(places) == 1:
            query = _any([Query.term_query(schema, field, word) for word in places[0].words])
        elif plan.spellings <= FEW_SPELLINGS:
            spellings = product(*(place.words for place in places))
            query = _any([Query.phrase_query(schema, field, list(words)) for words in spellings])
        else:
            query = Query.regex_phrase_query(schema, field, [place.pattern for place in places])
        return Query.boost_query(query, WEIGHTS[field])


def _ranking(plan: Plan) -> Plan:
    """Return the part of the plan to rank by: not the many words that only contain the typed one."""
    return AnyWord(plan.field, plan.same, plan.near) if isinstance(plan, AnyWord) else plan


def _any(queries: list[Query]) -> Query:
    return queries[0] if len(queries) == 1 else Query.boolean_query([(Occur.Should, query) for query in queries])


def all_of(clauses: list[tuple[Occur, Query]]) -> Query:
    """Return the clauses as one query."""
    return clauses[0][1] if len(clauses) == 1 else Query.boolean_query(clauses)


def loose_leaves(plan: Plan) -> int | None:
    """Count the words and phrases with loose forms, if all of them must match; None if the plan combines them otherwise."""
    if not has_loose(plan):
        return 0
    if isinstance(plan, Boosted):
        return loose_leaves(plan.plan)
    if isinstance(plan, AnyOf):
        return 1 if all(isinstance(part, (AnyWord, Phrase)) or not has_loose(part) for part in plan.parts) else None
    if isinstance(plan, AllOf):
        counts = [loose_leaves(part) for part in plan.parts]
        return None if None in counts else sum(count for count in counts if count)
    return 1


# Settings of the C library's memory allocator that the text index needs (glibc's ``mallopt``). No effect elsewhere.
#
# They are process-wide. They are here because people notice the difference: after 120 edits of a vault of 1,000 notes the
# process has 43 MB resident with them, 186 MB without.

# mallopt's own numbers (malloc.h).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
# The text index takes a few megabytes for each commit, on a thread of that commit. Blocks of this size go back to the system
# when they are freed. By default the first one freed makes glibc keep the next ones: up to 32 MB in each arena.
_MMAP_BYTES = 1 << 20
# A search for what a thousand words contain takes two megabytes in small blocks. By default glibc gives back all above
# 128 KB, and the page faults of getting it again take a tenth of the search's time.
_TRIM_BYTES = 4 << 20
# One arena for Python and one for all other threads. By default there are eight for each core, and each keeps free memory.
_ARENAS = 2


def limit_kept_memory() -> None:
    """Have freed memory go back to the system."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - loaded only where watching for changes needs it anyway

    library = ctypes.CDLL(None)
    if hasattr(library, "gnu_get_libc_version"):  # other libraries may give these numbers another meaning
        library.mallopt(_M_TRIM_THRESHOLD, _TRIM_BYTES)
        library.mallopt(_M_MMAP_THRESHOLD, _MMAP_BYTES)
        library.mallopt(_M_ARENA_MAX, _ARENAS)


def give_back_memory() -> None:
    """Give all free memory back to the system. Blocks below the limit above would stay: 30 MB after a large build."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415 - as above

    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


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


class RankedNote(NamedTuple):
    """What makes the score of a note: the library's own account of it, as JSON, and the extra score of notes as written."""

    account: str
    first: float


class Ranking:
    """All notes that a plan finds at one state of the text index, best first."""

    def __init__(
        self, page: Callable[[int, int], TextHits], explain: Callable[[int], RankedNote | None] = lambda _: None
    ) -> None:
        """``page`` returns the notes from an offset on, so many at most. ``explain`` returns what makes the score of a note,
        None if that is not known any more, or the plan does not find it.
        """
        self.page = page
        self.explain = explain

    def keep_all(self) -> None:
        """Keep all notes in memory, at sixteen bytes a note, and no file open."""
        hits = self.page(0, sys.maxsize)
        ids, scores = array("q", hits.ids), array("d", hits.scores)
        self.explain = lambda _: None
        self.page = lambda offset, limit: TextHits(
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
        count = most if limit is None else min(limit, most)
        with _checked():
            queries = QueryMaker(self._schema, searcher)
            clauses = queries.clauses_of_all(plan, first)
            # As single terms while they are few: a set walks the dictionary of all ids.
            clauses += [(Occur.MustNot, query) for query in queries.terms(ID, list(without))]
            result = searcher.search(all_of(clauses), max(1, count), True, offset=offset if count else 0)
            total: int = result.count  # type: ignore[attr-defined] # missing in the library's stub
            hits = result.hits[:count]
            ids = searcher.fast_field_values(ID, [address for _, address in hits])
        scores = [float(score) for score, _ in hits]
        if first:
            scores = [score - first if score >= first else _small(score % FIRST) for score in scores]
        return TextHits([int(note_id or 0) for note_id in ids], scores, total)

    def explain(self, plan: Plan, note_id: int) -> RankedNote | None:
        """Return what makes the score that ``search`` gives a note; None if the plan does not find it."""
        searcher = self._searcher
        first = FIRST * (loose_leaves(plan) or 1) if has_loose(plan) else 0.0
        with _checked():
            queries = QueryMaker(self._schema, searcher)
            whole = all_of(queries.clauses_of_all(plan, first))
            this = Query.const_score_query(Query.term_query(self._schema, ID, note_id, "basic"), 0.0)
            hits = searcher.search(all_of([(Occur.Must, whole), (Occur.Must, this)]), 1).hits
            return RankedNote(whole.explain(searcher, hits[0][1]).to_json(), first) if hits else None

    def ranking(self, plan: Plan, without: Collection[int]) -> Ranking:
        """Return what ``search`` finds now. It stays as it is, whatever is committed later."""
        now = copy(self)  # ``refresh`` replaces the searcher of ``self``, and a searcher sees one state
        now._writer = None  # noqa: SLF001 - our own copy; the writer stays with ``self``
        ranking = Ranking(partial(now.search, plan, without), partial(now.explain, plan))
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
        holders: dict[str, list[int]] = {}
        with _checked():
            for word in words:
                # The frequency is known at once, but counts removed notes until their segment is merged.
                if 0 < searcher.doc_freq(field, word) <= _REMOVED_FACTOR * most:
                    result = searcher.search(Query.term_query(self._schema, field, word, "basic"), most + 1, False)
                    addresses = [address for _, address in result.hits]
                    if len(addresses) <= most:
                        holders[word] = [int(note_id or 0) for note_id in searcher.fast_field_values(ID, addresses)]
        return holders

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


class NoteFacts(NamedTuple):
    """What the text index needs of a note beside its text."""

    aliases: list[str]
    headings: list[str]
    tags: list[str]
    properties: list[str]
    has_tasks: bool


def to_fields(path: str, text: str, facts: NoteFacts, ngrams: NgramFilter) -> Fields:
    """Return the fields of a note."""
    folders = path.split("/")[:-1]
    plain = without_encoded(text)
    words = {
        BODY: folded_words(plain),
        NAME: folded_words(searchable_name(path)),
        ALIAS: _joined_words(facts.aliases),
        HEADING: _joined_words(facts.headings),
        TAG: _joined_words(facts.tags),
        FILE: folded_words(path.rpartition("/")[2]),
        PATH: folded_words(path),
    }
    values = {
        TAG_PATH: list(dict.fromkeys(tags_and_above(map(exact_value, facts.tags)))),
        FOLDER: ["/".join(folders[:depth]) for depth in range(1, len(folders) + 1)],
        PROPERTY: list(dict.fromkeys(map(exact_value, facts.properties))),
        KIND: [HAS_TASK] * facts.has_tasks + [HAS_ENCODED] * (plain is not text),
        ABSENT_NGRAMS: ngrams.absent(words[BODY]),
        NAME_NGRAMS: ngrams.present(words[NAME]),
    }
    return words, values


def _joined_words(texts: list[str]) -> str:
    return folded_words("\n".join(texts)) if texts else ""
