"""Runs searches: the text index lists candidates, and the notes' files decide what is shown.

A search ends in ``SearchResults``, which all its pages are cut from. So they show one state of the index, whatever is written
meanwhile.
"""

from __future__ import annotations

import json
import threading
import time
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Self

from vaultwire.markdown.parsed_note import Task
from vaultwire.vault.caller import expired
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index import catalog_queries
from vaultwire.vault.index.catalog import IN_LIST, NOT_INDEXABLE, Catalog, FileRow
from vaultwire.vault.index.catalog_queries import from_stored, tasks_of, tasks_with
from vaultwire.vault.index.explaining import score_parts
from vaultwire.vault.index.index_folder import IndexParts
from vaultwire.vault.index.search_plan import FOLDER, HAS_ENCODED, KIND, AllOf, ExactValue, exact_value, make_plan
from vaultwire.vault.index.text_index import TextIndex
from vaultwire.vault.index.updater import MOST_READ, IndexUpdater
from vaultwire.vault.index.words import NgramFilter, may_lie_inside
from vaultwire.vault.search.filters import EMPTY_VALUES, scalars_as_texts
from vaultwire.vault.search.matching import Match, Matcher, required_text
from vaultwire.vault.search.note_parts import Value, read_searchable, searchable_text
from vaultwire.vault.search.query import And, Expression, Or, Property, Query, Within
from vaultwire.vault.search.terms import Text, TextForms, fold_case, strip_diacritics
from vaultwire.vault.value_types import (
    Found,
    Hit,
    IndexedSoFar,
    KeptResults,
    NoteStat,
    Progress,
    ReadSoFar,
    ScorePart,
    VaultPath,
)

# Which notes have a property or a task that a search asks for, by the catalog alone: no note is read for it.
#
# What matches is decided by ``vault.search.matching``, from the texts that the catalog has of properties and tasks.

# To compare more values or tasks than these takes longer than to read the notes that are shown.
_MOST_COMPARED = 20_000
_CHECK_EVERY = 1000


class KnownNotes:
    """What one catalog knows for one search."""

    def __init__(self, catalog: Catalog, matcher: Matcher, progress: Progress) -> None:
        self._catalog = catalog
        self._matcher = matcher
        self._progress = progress
        self.is_used = False
        """Whether an answer was given: it is of the catalog as it was then."""

    def with_property(self, asked: Property) -> array[int] | None:
        """Return the ids of the notes with the property and its value, None if there are too many values to compare."""
        names = _plain_names(asked.name)
        if names is None or asked.value is None:
            return None
        ids: set[int] = set()
        for (name,) in self._catalog.rows("SELECT DISTINCT name FROM property_counts"):
            if exact_value(name) not in names:
                continue
            values = self._catalog.rows(
                "SELECT DISTINCT value, written FROM properties WHERE name = ? LIMIT ?", (name, _MOST_COMPARED)
            )
            if len(values) == _MOST_COMPARED:
                return None
            accepted: tuple[list[str], list[str]] = ([], [])
            for number, (value, written) in enumerate(values):
                if number % _CHECK_EVERY == 0:
                    self._progress.check()
                if any(self._matcher.accepts(asked.value, each) for each in _values(name, value, written)):
                    accepted[written is not None].append(value if written is None else written)
            for test, stored in zip(("written IS NULL AND value", "written"), accepted, strict=True):
                statement = f"SELECT note FROM properties WHERE name = ? AND {test} {IN_LIST}"
                rows = self._catalog.rows(statement, (name, json.dumps(stored))) if stored else []
                ids.update(note_id for (note_id,) in rows)
        return self._answer(ids)

    def with_task(self, asked: Within) -> array[int] | None:
        """Return the ids of the notes with a task that matches, None if there are too many tasks to compare."""
        if asked.part == And(()):  # any task
            lines = {"task-todo": ("open_tasks",), "task-done": ("done_tasks",)}
            places = lines.get(asked.operator, ("open_tasks", "done_tasks"))
            rows = [
                row
                for place in places
                for row in self._catalog.rows(f"SELECT id FROM files WHERE {place} IS NOT NULL AND NOT is_excluded")
            ]
            return self._answer({note_id for (note_id,) in rows})
        tests, values = ["1"], list[Any]()
        if asked.operator != "task":
            tests.append("is_open = ?")
            values.append(asked.operator == "task-todo")
        required = required_text(asked.part)
        sought = strip_diacritics(fold_case(required.text)) if required else ""
        if sought:
            test, of_test = tasks_with(sought)
            tests.append(test)
            values += of_test
        of_tasks = f"FROM tasks WHERE {' AND '.join(tests)}"
        if sought and required is asked.part and not (required.match_case or required.full_words):
            return self._answer({note_id for (note_id,) in self._catalog.rows(f"SELECT note {of_tasks}", values)})
        rows = self._catalog.rows(f"SELECT DISTINCT note, text {of_tasks} LIMIT ?", (*values, _MOST_COMPARED))
        if len(rows) == _MOST_COMPARED:
            return None
        ids: set[int] = set()
        for number, (note_id, text) in enumerate(rows):
            if number % _CHECK_EVERY == 0:
                self._progress.check()
            if note_id not in ids and self._matcher.is_in_piece(asked.part, TextForms(text)):
                ids.add(note_id)
        return self._answer(ids)

    def _answer(self, ids: set[int]) -> array[int]:
        self.is_used = True
        return array("q", sorted(ids))


def _plain_names(name: Expression) -> set[str] | None:
    """Return the names that are asked for, as the text index has them; None if it is a pattern, or their case matters."""
    if isinstance(name, Or):
        parts = [_plain_names(part) for part in name.parts]
        return None if None in parts else {text for part in parts for text in part or ()}
    return {exact_value(name.text)} if isinstance(name, Text) and not name.match_case else None


def _values(name: str, value: str, written: str | None) -> list[Value]:
    """Return a property's value as search compares it; several where a note has names that differ only in case."""
    if written is None:
        plain = from_stored(value)
        variants: list[Any] = [[plain is None, plain in EMPTY_VALUES, scalars_as_texts(plain)]]
    else:
        variants = json.loads(written)
    return [
        Value(TextForms(name), [TextForms(text) for text in texts], is_null, is_empty)
        for is_null, is_empty, texts in variants
    ]


# Text indexes give small fractions as scores; callers see whole numbers.
_SCALE = 10.0
# How many candidates are taken from the text index at once. A page needs few of them, and the text index takes longer for
# more; a count needs all, and the text index begins from the front each time. Results that score the same are in path order
# within each of these, so the numbers are fixed: other ones would make another order.
_BATCHES = (50, 200, 1000, 5000, 20_000)
# Candidates that are read at once: their paths come from the catalog, then others may use the results.
_READ_AT_ONCE = 50
# When a page is full, the search goes on counting until so many seconds after its begin. The first candidates may take longer:
# what a small vault answers should not depend on what else the computer does.
_COUNT_SECONDS, _COUNT_SECONDS_OF_FIRST, _COUNTED_FIRST = 0.08, 1.0, 100
# A page that is not full by then is shown as it is, and the next page goes on reading. It is rare: few notes match, and the
# text index could not tell which may.
_PAGE_SECONDS = 1.0
# The results of the latest searches are cached until the catalog changes: the same search again, or its next page, goes on
# from them. That saves the time in the text index, 0.1 to 3 ms for 1,000 notes, and what was read to verify candidates.
_CACHED_SEARCHES = 16
_POLL_SECONDS = 0.05


class Lacks(NamedTuple):
    """What a search need not wait for: the end of the first build, and the changes that are not applied yet."""

    may_be_first_build: bool = False
    has_changes: bool = False


class Snapshot(NamedTuple):
    """What the text index lacks at one version of the catalog; and caches that are valid as long as the version is.

    The caches: counts by folder, results by query and folder. ``so_far``: the first build goes on, and the snapshot has only
    the notes indexed so far. ``lacks_changes``: many notes have changed, and the catalog does not have all of it yet.
    ``encoded``: the ids of the notes of which the text index lacks encoded text.
    """

    version: tuple[int, int]
    commits: int | None
    rows: list[FileRow]
    left_out: array[int]
    counts: dict[VaultPath | None, catalog_queries.Counts]
    results: dict[tuple[Query, VaultPath | None], SearchResults]
    so_far: IndexedSoFar | None
    lacks_changes: bool
    encoded: Sequence[int] = ()

    @classmethod
    def of(cls, catalog: Catalog, version: tuple[int, int], lacks: Lacks) -> Self:
        """Read a snapshot from the catalog, without what it may lack, and without ``encoded``."""
        # Read first: if more is committed in between, the snapshot does not hold for the next search (``_holds``).
        commits = catalog.meta("commits")
        so_far = catalog_queries.indexed_so_far(catalog) if lacks.may_be_first_build else None
        rows = catalog.not_indexed() if so_far is None else []
        ids = [row.id for row in rows] if so_far is None else catalog.not_indexed_ids()
        if lacks.has_changes and len(rows) > MOST_READ:
            # Of the notes that have changed the search finds earlier versions.
            rows = [row for row in rows if row.state == NOT_INDEXABLE]
            ids = [row.id for row in rows]
        # As an array: every search that is kept has them, and a set of 35,000 takes 3 MB.
        left_out = array("q", [*ids, *catalog.gone()])
        if so_far is None:
            # Read last: a note that is committed in between is read from its file. In the other order it would be lost.
            commits = catalog.meta("commits")
        return cls(
            version, commits, [row for row in rows if not row.is_excluded], left_out, {}, {}, so_far, lacks.has_changes
        )

    def holds(self, catalog: Catalog, version: tuple[int, int], lacks: Lacks) -> bool:
        """Tell whether a search may still be answered from this snapshot."""
        if self.lacks_changes != lacks.has_changes:
            return False
        if self.so_far is None:
            return self.version == version
        # The catalog changes several times a second, but searches see more notes only after some of the commits. To read a
        # snapshot is to look at every file there is.
        return (
            lacks.may_be_first_build and catalog_queries.has_some(catalog) and self.commits == catalog.meta("commits")
        )


class Place(NamedTuple):
    """The place of a note among the results, from 1, its score, and the parts of that."""

    place: int
    score: float
    parts: tuple[ScorePart, ...]


class Page(NamedTuple):
    """The part of the results that is asked for. ``exact_total``: count all that match, however long it takes."""

    offset: int
    limit: int
    exact_total: bool = False


class Searches:
    """The searches of one index, each in its latest state."""

    def __init__(self, files: Files, parts: IndexParts, updater: IndexUpdater) -> None:
        self._files = files
        self._parts = parts
        self._updater = updater
        self._snapshot: Snapshot | None = None
        self._lacks = Lacks()

    def page(
        self,
        query: Query,
        folder: VaultPath | None,
        page: Page,
        progress: Progress,
        lacks: Lacks | None = None,
        kept: KeptResults | None = None,
    ) -> Found:
        """Return a page of the results, or of those that are ``kept``. Without ``lacks`` in the state of the last search.

        Raises VaultError (CURSOR_EXPIRED) if they are not of this index.
        """
        if kept is not None and not (isinstance(kept, SearchResults) and kept.parts is self._parts):
            raise expired()
        snapshot = self._latest(lacks)
        results = kept or self._results(snapshot, query, folder, progress)
        return results.page(page, progress, snapshot.version)

    def explain(self, query: Query, folder: VaultPath | None, path: VaultPath, progress: Progress) -> Place | None:
        """Return the place of a note among the results in the state of the last search, None if it is none of them."""
        return self._results(self._latest(None), query, folder, progress).explain(path, progress)

    def newest_text(self) -> TextIndex:
        """Return the text index as of now."""
        self._latest(Lacks())
        return self._parts.text

    def _latest(self, lacks: Lacks | None) -> Snapshot:
        """Return the snapshot of now, and load the text index's commits after reading what it lacks.

        In this order: a note that is committed in between is read from its file, in the other order it would be lost.
        """
        lacks = self._lacks = self._lacks if lacks is None else lacks
        before, parts = self._snapshot, self._parts
        version = parts.catalog.version()
        if before is not None and before.holds(parts.catalog, version, lacks):
            return before
        latest = Snapshot.of(parts.catalog, version, lacks)
        if before is None or before.commits != latest.commits:
            if latest.commits != self._updater.committed:  # else this process has made it, and has it loaded
                parts.text.refresh()
            parts.words.refresh()
        encoded = parts.text.search(ExactValue(KIND, HAS_ENCODED), latest.left_out, 0, None).ids
        self._snapshot = latest = latest._replace(encoded=encoded)
        return latest

    def _results(self, snapshot: Snapshot, query: Query, folder: VaultPath | None, progress: Progress) -> SearchResults:
        """Return the results of a query in the state of a snapshot."""
        cached = snapshot.results
        results = cached.get((query, folder))
        if results is None:
            results = SearchResults(self._files, self._parts, query, folder, snapshot, progress)
            if len(cached) >= _CACHED_SEARCHES:
                oldest, *_ = cached  # unpacked at once: other threads add searches, too
                cached.pop(oldest, None)
            cached[query, folder] = results
        return results


class _Ranked:
    """Ids of notes with their scores, best first; eight bytes a note."""

    def __init__(self) -> None:
        self.ids = array("I")
        self.scores = array("f")

    def add(self, note_id: int, score: float) -> None:
        """Add the next note."""
        self.ids.append(note_id)
        self.scores.append(score)


class SearchResults:
    """All notes that one query finds at one state of the index, best first, as far as anyone has asked for them.

    The text index lists candidates. If the plan is exact, they are the results. Otherwise they are read and matched, one by
    one in the same order, until a page is full. Safe to use from several threads.
    """

    def __init__(
        self,
        files: Files,
        parts: IndexParts,
        query: Query,
        folder: VaultPath | None,
        snapshot: Snapshot,
        progress: Progress,
    ) -> None:
        """``snapshot``: the state of the index."""
        self.parts = parts
        self._files = files
        self._matcher = Matcher(query, has_inline_fields=files.has_inline_fields)
        self._version = snapshot.version
        counts = snapshot.counts.get(folder)
        if counts is None:
            count = catalog_queries.count_searched if snapshot.so_far is None else catalog_queries.count_indexed
            counts = snapshot.counts[folder] = count(parts.catalog, folder)
        self._counts = counts
        self._so_far, self._lacks_changes = snapshot.so_far, snapshot.lacks_changes
        self._progress = progress  # of the call that works with the results at the moment
        self._lock = threading.Lock()
        words = parts.words
        known = KnownNotes(parts.catalog, self._matcher, progress)
        planned = make_plan(query.expression, words.vocabularies, words.ngrams() or NgramFilter(), known)
        if known.is_used and parts.catalog.version() != snapshot.version:  # that may be later than the text index
            planned = planned._replace(is_exact=False)
        plan = planned.plan if folder is None else AllOf((planned.plan, ExactValue(FOLDER, folder)))
        lacking = [(row.id, row.stat.path) for row in snapshot.rows]
        left_out = snapshot.left_out
        if planned.encoded:
            encoded = self._with_encoded(planned.encoded, snapshot.encoded)
            left_out = left_out + array("q", [note_id for note_id, _ in encoded])
            lacking += encoded
        self._ranking = parts.text.ranking(plan, left_out)
        self._candidates = _Ranked()
        self._matched = self._candidates if planned.is_exact else _Ranked()
        self._checked = 0  # candidates that were read and matched
        self._batches = self._taken = 0  # what was taken from the text index
        self._has_all = False  # all candidates are known
        self._dropped: set[int] = set()  # results that do not match any more
        self._waiting = self._match_lacking(lacking, f"{folder}/" if folder else "")
        self._total = len(self._waiting)  # candidates
        self._take()

    def _with_encoded(self, sought: frozenset[bytes], ids: Sequence[int]) -> list[tuple[int, VaultPath]]:
        """Return those of the notes that may have one of the texts in what the text index lacks of them."""
        notes: list[tuple[int, VaultPath]] = []
        for note_id, path in self.parts.catalog.paths(ids).items():
            self._progress.check()
            with suppress(VaultError):  # it is gone, and the next change of the index says so
                data = self._files.read(path).data
                if not is_note(path):  # a canvas writes some characters in another way
                    data = searchable_text(path, data).encode("utf-8", "replace")
                if may_lie_inside(data, sought):
                    notes.append((note_id, path))
        return notes

    def _match_lacking(self, lacking: list[tuple[int, VaultPath]], below: str) -> list[tuple[float, VaultPath, int]]:
        """Return the notes that match, of those that the text index lacks or has only in part, the best last."""
        matches = [(note_id, path, self._match(path)) for note_id, path in lacking if path.startswith(below)]
        found = [(-match.score, path, note_id) for note_id, path, match in matches if match is not None]
        return sorted(found, reverse=True)

    @property
    def _is_exact(self) -> bool:
        return self._matched is self._candidates

    @property
    def _is_complete(self) -> bool:
        """Whether all results are known."""
        return self._has_all and (self._is_exact or self._checked == len(self._candidates.ids))

    @property
    def size(self) -> int:
        """About how many bytes of memory they take when all are known."""
        return 20_000 + 16 * self._total

    def page(self, asked: Page, progress: Progress, version: tuple[int, int]) -> Found:
        """Return a page. ``version``: of the catalog now."""
        started = time.monotonic()

        def is_late() -> bool:
            return not asked.exact_total and time.monotonic() - started > _PAGE_SECONDS

        with self._working(progress):
            hits, ends = self._show(asked, is_late, is_current=version == self._version)
        try:
            while not self._is_complete and not (self._is_exact or self._is_late(started, asked)):
                with self._working(progress):
                    self._match_more(lambda: self._is_late(started, asked))
        except VaultError:  # a regular expression needs too much time for a note: the page is right nevertheless
            if asked.exact_total:
                raise
        is_counted = self._is_exact or self._is_complete  # of an exact plan the text index gives the number
        total = (self._total if self._is_exact else len(self._matched.ids)) - len(self._dropped)
        end = ends[-1] if ends else asked.offset
        has_more = not self._is_complete or (len(hits) == asked.limit and end < len(self._matched.ids))
        read = ReadSoFar(self._checked, self._total) if len(hits) < asked.limit and not self._is_complete else None
        so_far, lacks = self._so_far, self._lacks_changes
        return Found(hits, total, *self._counts, is_counted, ends, has_more, self, so_far, read, lacks)

    def explain(self, path: VaultPath, progress: Progress) -> Place | None:
        """Return the place of a note among all results, with the parts of its score; None if it is no result.

        Finds results until it is among them: all, if it is none.
        """
        rows = self.parts.catalog.rows("SELECT id FROM files WHERE path = ? AND NOT is_excluded", (path,))
        note_id = rows[0][0] if rows else -1
        with self._working(progress):
            while note_id not in self._matched.ids and not self._is_complete:
                self._find(len(self._matched.ids) + _READ_AT_ONCE, lambda: False, {})
            if note_id not in self._matched.ids:
                return None
            place = self._matched.ids.index(note_id)
            score = self._matched.scores[place]
            ranked = self._ranking.explain(note_id)
        if ranked is None:
            # It has just changed, or holds what the text index has not: its file was matched.
            return Place(place + 1, score, (ScorePart("", "the file itself, not indexed yet", score),))
        return Place(place + 1, score, tuple(score_parts(ranked.account, ranked.first, _SCALE)))

    def _is_late(self, started: float, asked: Page) -> bool:
        """Tell whether it is time to end counting."""
        most = _COUNT_SECONDS if self._checked >= _COUNTED_FIRST else _COUNT_SECONDS_OF_FIRST
        return not asked.exact_total and time.monotonic() - started > most

    @contextmanager
    def _working(self, progress: Progress) -> Iterator[None]:
        while not self._lock.acquire(timeout=_POLL_SECONDS):
            progress.check()
        try:
            self._progress = progress
            yield
        finally:
            self._lock.release()

    # ------------------------------------------------------------------ what is found (all below hold the lock)

    def _take(self) -> None:
        """Take the next candidates from the text index, and the notes that it lacks where their scores belong."""
        size = _BATCHES[min(self._batches, len(_BATCHES) - 1)]
        hits = self._ranking.page(self._taken, size)
        if not self._batches:
            self._total += hits.total
        paths = self.parts.catalog.paths(hits.ids)
        self._total -= len(hits.ids) - len(paths)
        batch = [
            (-score * _SCALE, paths[note_id], note_id)
            for note_id, score in zip(hits.ids, hits.scores, strict=True)
            if note_id in paths
        ]
        self._batches += 1
        self._taken += len(hits.ids)
        self._has_all = self._taken >= hits.total or not hits.ids
        last = max(batch)[0] if batch else 0.0
        while self._waiting and (self._has_all or self._waiting[-1][0] <= last):
            batch.append(self._waiting.pop())
        for rank, _, note_id in sorted(batch):
            self._candidates.add(note_id, -rank)

    def _find(self, most: int, is_late: Callable[[], bool], fresh: dict[int, Match]) -> None:
        """Find so many results, or all, or what can be found in time. ``fresh`` gets what was matched for it."""
        while len(self._matched.ids) < most and not self._is_complete:
            if self._is_exact:
                self._take()
                continue
            self._match_more(lambda: len(self._matched.ids) >= most or is_late(), fresh)
            if is_late():
                return

    def _match_more(self, is_enough: Callable[[], bool], fresh: dict[int, Match] | None = None) -> None:
        """Read and match some more candidates, until it is enough. ``fresh`` gets those that match."""
        if self._checked == len(self._candidates.ids):
            self._take()
        part = slice(self._checked, self._checked + _READ_AT_ONCE)
        ids = self._candidates.ids[part].tolist()
        paths = self.parts.catalog.paths(ids)
        self._progress.report(self._checked, self._total, f"{self._checked} of {self._total} notes")
        for note_id, score in zip(ids, self._candidates.scores[part], strict=True):
            match = self._match(paths[note_id]) if note_id in paths else None
            self._checked += 1
            if match is not None:
                self._matched.add(note_id, score)
                if fresh is not None:
                    fresh[note_id] = match
            if is_enough():
                return

    def _match(self, path: VaultPath) -> Match | None:
        """Read a note and match it."""
        self._progress.check()
        text = read_searchable(self._files, path)
        return None if text is None else self._matcher.match(path, text)

    # ------------------------------------------------------------------ what is shown

    def _show(self, asked: Page, is_late: Callable[[], bool], *, is_current: bool) -> tuple[list[Hit], list[int]]:
        """Return the hits of a page, and behind each the offset of the results that follow it."""
        offset, limit = asked.offset, asked.limit
        hits: list[Hit] = []
        ends: list[int] = []
        fresh: dict[int, Match] = {}
        while len(hits) < limit:
            end = offset + limit - len(hits)
            self._find(end, is_late, fresh)
            ids = self._matched.ids[offset:end].tolist()
            if not ids:
                break
            stats = self.parts.catalog.stats(ids)
            tasks = tasks_of(self.parts.catalog, ids) if self._matcher.asks_for_tasks else {}
            for note_id, score in zip(ids, self._matched.scores[offset:end], strict=True):
                offset += 1
                stat, is_racy = stats.get(note_id, (None, False))
                known = None if is_racy else tasks.get(note_id)
                match = fresh.get(note_id) or self._look(stat, known, is_racy=is_racy, is_current=is_current)
                self._dropped.discard(note_id)
                if stat is None or match is None:
                    self._dropped.add(note_id)
                else:
                    own = match.score if self._matcher.gives_scores else score
                    hits.append(Hit(stat.path, own, match.matches, match.lines, match.missing, match.why))
                    ends.append(offset)
        return hits, ends

    def _look(
        self, stat: NoteStat | None, tasks: list[Task] | None, *, is_racy: bool, is_current: bool
    ) -> Match | None:
        """Return the note's matching lines as they are in the file now; None if the note is gone, or does not match.

        ``tasks``: those it had when the catalog read it; None if they are not known.
        A note that matched in an earlier state (not ``is_current``) is a result as long as it is there.
        """
        self._progress.check()
        if stat is None:
            return None
        if not (self._matcher.has_lines or is_racy) and self._files.look_at(stat.path) == stat:
            return Match(0.0, 0, [])
        try:
            file = self._files.read(stat.path)
        except VaultError:
            return None
        is_known = not is_racy and (len(file.data), file.modified_ns, file.stamp) == stat[1:]
        text = searchable_text(stat.path, file.data)
        if is_known or not is_current:
            return self._matcher.match_known(stat.path, text, tasks if is_known else None)
        return self._matcher.match(stat.path, text)
