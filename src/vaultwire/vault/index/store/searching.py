"""Runs one search: the text index finds candidates, and the notes' files decide what is shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.store import catalog_queries
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.index_folder import IndexParts
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.schema import FileRow
from vaultwire.vault.index.store.search_plan import FOLDER, AllOf, ExactValue, make_plan
from vaultwire.vault.index.store.text_index import TextHits
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.query import Query
from vaultwire.vault.search.searchable import read_searchable, searchable_text
from vaultwire.vault.value_types import Found, Hit, NoteStat, Progress, VaultPath

# Text indexes give small fractions as scores; callers see whole numbers.
_SCALE = 10.0
# Notes between two reports of progress, and the number of paths that are read from the catalog at once.
_REPORT_EVERY = 200
# The best notes of the latest searches are cached until the catalog changes: the next page, or the same search again, only
# reads files. That saves the time in the text index, 0.1 to 3 ms for 1,000 notes, and more for larger vaults.
_CACHED_HITS, _CACHED_SEARCHES = 50, 64


class Snapshot(NamedTuple):
    """What the text index lacks at one version of the catalog; and caches that are valid as long as the version is.

    The caches: counts by folder, hits by query and folder.
    """

    version: tuple[int, int]
    commits: int | None
    rows: list[FileRow]
    left_out: frozenset[int]
    counts: dict[VaultPath | None, catalog_queries.Counts]
    found: dict[tuple[str, VaultPath | None], TextHits]

    @classmethod
    def of(cls, catalog: Catalog, version: tuple[int, int]) -> Self:
        """Read a snapshot from the catalog."""
        rows = catalog.not_indexed()
        left_out = frozenset([*(row.id for row in rows), *catalog.gone()])
        # Read last: a note that is committed in between is read from its file. In the other order it would be lost.
        commits = catalog.meta("commits")
        return cls(version, commits, [row for row in rows if not row.hidden], left_out, {}, {})

    def cache(self, query: str, folder: VaultPath | None, found: TextHits) -> None:
        """Cache the hits of a search."""
        if len(self.found) >= _CACHED_SEARCHES:
            oldest, *_ = self.found  # unpacked at once: other threads add searches, too
            self.found.pop(oldest, None)
        self.found[query, folder] = found


class Search:
    """One query over one vault. Make a new one for each search: it has the time budget for regular expressions."""

    def __init__(self, files: Files, parts: IndexParts, query: Query, progress: Progress) -> None:
        self._files = files
        self._parts = parts
        self._query = query
        self._progress = progress
        self._matcher = Matcher(query)
        self._has_lines = self._matcher.has_lines

    def run(self, snapshot: Snapshot, folder: VaultPath | None, offset: int, limit: int) -> Found:
        """Return one page."""
        counts = snapshot.counts.get(folder)
        if counts is None:
            counts = snapshot.counts[folder] = catalog_queries.count_searched(self._parts.catalog, folder)
        below = f"{folder}/" if folder else ""
        matched = list(self._match([row.stat.path for row in snapshot.rows if row.stat.path.startswith(below)]))
        # Notes that were matched here may belong on any page.
        first, end = 0 if matched else offset, offset + limit
        found = snapshot.found.get((self._query.text, folder)) if end <= _CACHED_HITS else None
        if found is None:
            words = self._parts.words
            planned = make_plan(self._query.expression, words.vocabularies, words.ngrams() or NgramFilter())
            plan = planned.plan if folder is None else AllOf((planned.plan, ExactValue(FOLDER, folder)))
            if not planned.is_exact:
                matched += self._match_ids(self._parts.text.search(plan, snapshot.left_out, 0, None).ids)
                matched.sort(key=_by_rank)
                return Found(matched[offset:end], len(matched), *counts)
            if end <= _CACHED_HITS:
                found = self._parts.text.search(plan, snapshot.left_out, 0, _CACHED_HITS)
                snapshot.cache(self._query.text, folder, found)
            else:
                found = self._parts.text.search(plan, snapshot.left_out, first, end - first)
        if end <= _CACHED_HITS:
            found = TextHits(found.ids[first:end], found.scores[first:end], found.total)
        stats = self._parts.catalog.stats(found.ids)
        ranked: list[tuple[float, VaultPath, Hit | NoteStat, bool]] = [
            (hit.score, hit.path, hit, False) for hit in matched
        ]
        for note_id, score in zip(found.ids, found.scores, strict=True):
            if note_id in stats:
                stat, is_racy = stats[note_id]
                ranked.append((score * _SCALE, stat.path, stat, is_racy))
        ranked.sort(key=lambda each: (-each[0], each[1]))
        page = [
            part if isinstance(part, Hit) else self._to_hit(part, score, is_racy=is_racy)
            for score, _, part, is_racy in ranked[offset - first : end - first]
        ]
        hits = [hit for hit in page if hit is not None]
        return Found(hits, found.total + len(matched) - (len(page) - len(hits)), *counts)

    def _to_hit(self, stat: NoteStat, score: float, *, is_racy: bool) -> Hit | None:
        """Return the hit with its lines as they are in the file now; None if the note does not match any more."""
        if not (self._has_lines or is_racy) and self._files.look_at(stat.path) == stat:
            return Hit(stat.path, score, 0, [])
        try:
            file = self._files.read(stat.path)
        except VaultError:
            return None
        is_known = not is_racy and (len(file.data), file.modified_ns, file.stamp) == stat[1:]
        text = searchable_text(stat.path, file.data)
        match = self._matcher.match_known(stat.path, text) if is_known else self._matcher.match(stat.path, text)
        return None if match is None else Hit(stat.path, score, match.matches, match.lines)

    def _match_ids(self, ids: Sequence[int]) -> Iterator[Hit]:
        for start in range(0, len(ids), _REPORT_EVERY):
            self._progress.report(start, len(ids), f"{start} of {len(ids)} notes")
            stats = self._parts.catalog.stats(ids[start : start + _REPORT_EVERY])
            yield from self._match(stat.path for stat, _ in stats.values())

    def _match(self, paths: Iterable[VaultPath]) -> Iterator[Hit]:
        """Read the notes and yield those that match."""
        for path in paths:
            self._progress.check()
            text = read_searchable(self._files, path)
            match = None if text is None else self._matcher.match(path, text)
            if match is not None:
                yield Hit(path, match.score, match.matches, match.lines)


def _by_rank(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.path
