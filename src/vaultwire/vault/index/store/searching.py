"""One search: the text index finds, the files have the last word."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import is_note
from vaultwire.vault.errors import VaultError
from vaultwire.vault.index.store import catalog_queries
from vaultwire.vault.index.store.catalog import Catalog
from vaultwire.vault.index.store.index_folder import IndexParts
from vaultwire.vault.index.store.ngrams import NgramFilter
from vaultwire.vault.index.store.schema import FileRow
from vaultwire.vault.index.store.search_plan import FOLDER, AllOf, ExactValue, make_plan
from vaultwire.vault.index.store.text_index import TextHits
from vaultwire.vault.model import Found, Hit, NoteStat, Progress, VaultPath
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.query import Query
from vaultwire.vault.search.searched import read_searched, searched_text

# A text index counts a word's rarity in small fractions, callers are shown whole numbers.
_SCALE = 10.0
# Often enough to look alive on a large vault, seldom enough to cost nothing. Also the notes asked of the catalog at once.
_REPORT_EVERY = 200
# So many of the best notes are kept of the searches made lately, and of so many searches: who reads on, or searches for
# the same again, waits for the files alone.
_KEPT_NOTES, _KEPT_SEARCHES = 50, 64
_KEPT_STATS = 2_000


class Snapshot(NamedTuple):
    """What the catalog says at one moment of what the text index lacks, and of how many notes there are to search.

    And what was found out since, which holds as long as it does: of folders and searches, and of notes by their ids.
    """

    version: tuple[int, int]
    commits: int | None
    rows: list[FileRow]
    left_out: frozenset[int]
    counts: dict[VaultPath | None, catalog_queries.Counts]
    found: dict[tuple[str, VaultPath | None], TextHits]
    stats: dict[int, tuple[NoteStat, bool]]

    @classmethod
    def of(cls, catalog: Catalog, version: tuple[int, int]) -> Self:
        """Take one."""
        rows = catalog.not_indexed()
        left_out = frozenset([*(row.id for row in rows), *catalog.gone()])
        # Asked last: what is settled by now and was not before is read from its file; the other way round it would be lost.
        commits = catalog.meta("commits")
        return cls(version, commits, [row for row in rows if not row.hidden], left_out, {}, {}, {})

    def keep(self, query: str, folder: VaultPath | None, found: TextHits) -> None:
        """Keep the best notes a search found."""
        if len(self.found) >= _KEPT_SEARCHES:
            oldest, *_ = self.found  # all at once: other threads keep searches, too
            self.found.pop(oldest, None)
        self.found[query, folder] = found

    def stats_of(self, ids: Sequence[int], catalog: Catalog) -> dict[int, tuple[NoteStat, bool]]:
        """Return the stats of the files with these ids, and whether they are racy, of those that are there."""
        stats = {note_id: self.stats[note_id] for note_id in ids if note_id in self.stats}
        if len(stats) < len(ids):
            read = catalog.stats([note_id for note_id in ids if note_id not in stats])
            stats |= read
            if len(self.stats) < _KEPT_STATS:
                self.stats.update(read)
        return stats


class Search:
    """One query over one vault. Make one for each search: regular expressions have one budget of time in it."""

    def __init__(self, files: Files, parts: IndexParts, query: Query, progress: Progress) -> None:
        self._files = files
        self._parts = parts
        self._query = query
        self._progress = progress
        self._matcher = Matcher(query)
        self._has_lines = self._matcher.has_lines
        self._known_lines = self._matcher.known_lines

    def run(self, snapshot: Snapshot, folder: VaultPath | None, offset: int, limit: int) -> Found:
        """Return one page."""
        counts = snapshot.counts.get(folder)
        if counts is None:
            counts = snapshot.counts[folder] = catalog_queries.count_searched(self._parts.catalog, folder)
        below = f"{folder}/" if folder else ""
        looked_at = list(self._look([row.stat.path for row in snapshot.rows if row.stat.path.startswith(below)]))
        # What was looked at may belong on any page.
        first, end = 0 if looked_at else offset, offset + limit
        found = snapshot.found.get((self._query.text, folder)) if end <= _KEPT_NOTES else None
        if found is None:
            words = self._parts.words
            planned = make_plan(self._query.expression, words.vocabularies, words.ngrams() or NgramFilter())
            plan = planned.plan if folder is None else AllOf((planned.plan, ExactValue(FOLDER, folder)))
            if not planned.is_exact:
                looked_at += self._look_all(self._parts.text.search(plan, snapshot.left_out, 0, None).ids)
                looked_at.sort(key=_by_rank)
                return Found(looked_at[offset:end], len(looked_at), *counts)
            if end <= _KEPT_NOTES:
                found = self._parts.text.search(plan, snapshot.left_out, 0, _KEPT_NOTES)
                snapshot.keep(self._query.text, folder, found)
            else:
                found = self._parts.text.search(plan, snapshot.left_out, first, end - first)
        if end <= _KEPT_NOTES:
            found = TextHits(found.ids[first:end], found.scores[first:end], found.total)
        stats = snapshot.stats_of(found.ids, self._parts.catalog)
        ranked: list[tuple[float, VaultPath, Hit | NoteStat, bool]] = [
            (hit.score, hit.path, hit, False) for hit in looked_at
        ]
        for note_id, score in zip(found.ids, found.scores, strict=True):
            if note_id in stats:
                stat, is_racy = stats[note_id]
                ranked.append((score * _SCALE, stat.path, stat, is_racy))
        ranked.sort(key=lambda each: (-each[0], each[1]))
        page = [
            part if isinstance(part, Hit) else self._shown(part, score, is_racy=is_racy)
            for score, _, part, is_racy in ranked[offset - first : end - first]
        ]
        hits = [hit for hit in page if hit is not None]
        return Found(hits, found.total + len(looked_at) - (len(page) - len(hits)), *counts)

    def _shown(self, stat: NoteStat, score: float, *, is_racy: bool) -> Hit | None:
        """Return the hit with its lines as the file has them; None if it does not match any more."""
        if not (self._has_lines or is_racy) and self._files.look_at(stat.path) == stat:
            return Hit(stat.path, score, 0, [])
        try:
            file = self._files.read(stat.path)
        except VaultError:
            return None
        is_known = not is_racy and (len(file.data), file.modified_ns, file.stamp) == stat[1:]
        known_lines = self._known_lines if is_known and is_note(stat.path) else None
        if known_lines is not None and (found := known_lines.find(file.data)) is not None:
            return Hit(stat.path, score, *found)
        match = self._matcher.show(stat.path, searched_text(stat.path, file.data), is_known=is_known)
        return None if match is None else Hit(stat.path, score, match.matches, match.lines)

    def _look_all(self, ids: Sequence[int]) -> Iterator[Hit]:
        for start in range(0, len(ids), _REPORT_EVERY):
            self._progress.report(start, len(ids), f"{start} of {len(ids)} notes")
            yield from self._look(self._parts.catalog.paths(ids[start : start + _REPORT_EVERY]).values())

    def _look(self, paths: Iterable[VaultPath]) -> Iterator[Hit]:
        """Yield those of the notes that match."""
        for path in paths:
            self._progress.check()
            text = read_searched(self._files, path)
            match = None if text is None else self._matcher.match(path, text)
            if match is not None:
                yield Hit(path, match.score, match.matches, match.lines)


def _by_rank(hit: Hit) -> tuple[float, str]:
    return -hit.score, hit.path
