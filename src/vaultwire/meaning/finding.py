"""Finds notes by meaning for searches: ranks, filters, the order of words and meaning together.

Nothing is found that the run may not see now: each note that is near is looked up in the run's index before it counts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from vaultwire.meaning.chunks import chunks_of
from vaultwire.meaning.models import ModelError
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOT_INSTALLED, VaultError
from vaultwire.vault.index.freshness import OnChange
from vaultwire.vault.index.index import Index
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.note_parts import read_searchable
from vaultwire.vault.search.query import And, Expression, Query, Word, parse_query
from vaultwire.vault.search.questions import plain_words, question_in
from vaultwire.vault.search.terms import Text
from vaultwire.vault.value_types import Coverage, Hit, Line, MeaningHit, NearNotes, NearPart, Progress, VaultPath

if TYPE_CHECKING:
    from vaultwire.meaning.embedding import Embedding
    from vaultwire.meaning.store import Near

# Notes near a query that count, and those that are read to see whether they meet its conditions.
_RANKED, _MOST_READ = 50, 500
# So many notes that meet the conditions are looked up at once; where there are more, those that are near are read.
_MOST_MEETING = 500
_LINES, _LINE_LENGTH = 2, 200
# Two notes say the same if they are so much nearer than notes of the vault usually are: 0 is as near as usual, 1 the same.
_SAME = 0.75
# Each note is compared with each: of 20,000 that takes ten seconds.
_MOST_PAIRED = 20_000
# What a command, which nothing embeds for in the background, may take from a model: first for notes, of which no request begins
# after ten seconds or ends after twenty; then for the question.
_BEGIN_SECONDS, _EMBED_SECONDS, _ANSWER_SECONDS = 10.0, 20.0, 30.0


class Finding:
    """Finds notes of one vault by meaning. What ``Workbench.meaning`` is."""

    def __init__(self, embedding: Embedding, files: Files, index: Index) -> None:
        self._embedding = embedding
        self._files = files
        self._index = index

    def run_beside(self, run: Callable[[OnChange], None], on_change: OnChange | None) -> None:
        """Embed notes in the background while ``run`` runs, which is called with what hears of changes."""
        self._embedding.run_beside(run, on_change)

    def close(self) -> None:
        """End all work. Safe from any thread."""
        self._embedding.close()

    def coverage(self, progress: Progress) -> Coverage:
        """Return how many notes can be found by meaning."""
        return self._embedding.coverage(progress)

    def near_query(self, query: str, folder: VaultPath | None, progress: Progress, *, only: bool) -> NearNotes | None:
        """Return the notes nearest to a query. Where the model fails, none, and the coverage says why.

        Without ``only``, None for a query that is neither a question nor plain words: Obsidian's syntax means what it says.
        Raises VaultError for a query without words, and with ``only`` where the model fails.
        """
        parsed = parse_query(query)
        text, conditions = _asked(parsed)
        has_syntax = conditions or any(word.full_words for word in plain_words(parsed).words)
        if not only and (not text or (has_syntax and question_in(parsed) is None)):
            return None
        if not text:
            raise VaultError(
                INVALID_ARGUMENTS, "query: to search by meaning, give words besides the operators.", argument="query"
            )
        began, problem = time.monotonic(), ""
        try:
            if only:
                self._embedding.embed_for(_BEGIN_SECONDS, progress, began + _EMBED_SECONDS)
            near = self._visible(self._embedding.near(text, began + _ANSWER_SECONDS), folder, progress)
            hits = self._hits(islice(self._meeting(near, conditions, folder, progress), _RANKED))
        except ModelError as error:
            if only:
                raise VaultError(NOT_INSTALLED, f"Search by meaning does not work: {error}.") from None
            hits, problem = [], str(error)
        coverage = self._embedding.coverage(progress)
        words = [word.text for word in _words(parsed)]
        return NearNotes(hits, coverage._replace(problem=problem or coverage.problem), partial(fused, hits, words))

    def place_of(self, query: str, path: VaultPath, folder: VaultPath | None, progress: Progress) -> MeaningHit | None:
        """Return a note's rank and likeness for a query among all notes; None if it is not found by meaning."""
        text, conditions = _asked(parse_query(query))
        if not text:
            return None
        try:
            near = self._meeting(
                self._visible(self._embedding.near(text), folder, progress), conditions, folder, progress
            )
            return next((self._hit(rank, each) for rank, each in enumerate(near, 1) if each.path == path), None)
        except ModelError:
            return None

    def near_note(self, path: VaultPath, progress: Progress) -> Iterator[NearPart]:
        """Yield the other notes, those nearest to this one first; none where it has no vectors yet, or the model fails."""
        try:
            chunks = chunks_of(path, plain_text(self._files.read(path).data))
            for each in self._visible(self._embedding.near_note(path), None, progress):
                chunk = chunks[min(each.number, len(chunks) - 1)]
                yield NearPart(each.path, each.likeness, chunk.first, chunk.last)
        except ModelError:  # the coverage says so
            return

    def same_meaning(
        self, paths: Collection[VaultPath], progress: Progress
    ) -> list[tuple[VaultPath, VaultPath, float]]:
        """Return the pairs of these notes that say nearly the same, and how near they are, the nearest first.

        Each of the two is the other's nearest. None where there are more than ``_MOST_PAIRED`` notes, or the model fails.
        """
        if len(paths) > _MOST_PAIRED:
            return []
        try:
            pairs = self._embedding.nearest_pairs(paths, progress)
        except ModelError:  # the coverage says so
            return []
        same = [
            (one, other, likeness) for one, other, likeness, usual in pairs if likeness - usual >= _SAME * (1 - usual)
        ]
        return sorted(same, key=lambda pair: (-pair[2], pair[:2]))

    def _visible(self, near: Iterator[Near], folder: VaultPath | None, progress: Progress) -> Iterator[Near]:
        """Yield those below the folder that searches may find now."""
        searched = self._index.searched(progress)
        below = f"{folder}/" if folder else ""
        for each in near:
            if each.path in searched and each.path.startswith(below) and self._files.look_at(each.path) is not None:
                yield each

    def _meeting(
        self, near: Iterator[Near], conditions: Sequence[Expression], folder: VaultPath | None, progress: Progress
    ) -> Iterator[Near]:
        """Yield those that meet the conditions of a query."""
        if not conditions:
            yield from near
            return
        query = Query("", And(tuple(conditions)))
        (met,) = self._index.search_each([query], folder, _MOST_MEETING, progress)
        if not met.has_more:
            paths = {hit.path for hit in met.hits}
            yield from (each for each in near if each.path in paths)
            return
        matcher = Matcher(query)
        for each in islice(near, _MOST_READ):
            progress.check()
            text = read_searchable(self._files, each.path)
            if text is not None and matcher.match(each.path, text) is not None:
                yield each

    def _hits(self, near: Iterable[Near]) -> list[MeaningHit]:
        hits = [self._hit(rank, each) for rank, each in enumerate(near, 1)]
        scores = meaning_scores([hit.likeness for hit in hits])
        return [hit._replace(score=score) for hit, score in zip(hits, scores, strict=True)]

    def _hit(self, rank: int, near: Near) -> MeaningHit:
        """Return a note with the nearest chunk and its first lines, as the note is now."""
        hit = MeaningHit(near.path, near.likeness, rank, [])
        try:
            text = plain_text(self._files.read(near.path).data)
        except VaultError:  # it is gone by now
            return hit
        chunks = chunks_of(near.path, text)
        chunk = chunks[min(near.number, len(chunks) - 1)]
        numbered = enumerate(text.split("\n")[chunk.first - 1 : chunk.last], chunk.first)
        lines = [Line(number, line.strip()[:_LINE_LENGTH]) for number, line in numbered if line.strip()]
        own = [line for line in lines if not line.text.startswith("#")]
        return hit._replace(lines=(own or lines)[:_LINES], first=chunk.first, last=chunk.last)


def _asked(query: Query) -> tuple[str, tuple[Expression, ...]]:
    """Return the words of a query as a text for a model, and its conditions."""
    plain = plain_words(query)
    words = " ".join(word.text for word in plain.words)
    return (query.text.strip() if words and not plain.conditions else words), plain.conditions


def _words(query: Query) -> Sequence[Word | Text]:
    """Return the words that a search for the query looks for: those of a question without its little ones."""
    question = question_in(query)
    return plain_words(query).words if question is None else question.needed


# ---------------------------------------------------------------------- words and meaning together

# What each gives at most, in a convex combination (Bruch, Gai, Ingber: "An Analysis of Fusion Functions for Hybrid Retrieval",
# 2023). A sum of ranks forgets by how much one note is nearer than the next.
_BY_MEANING, _BY_WORDS = 70.0, 30.0


def meaning_scores(likeness: Sequence[float]) -> list[float]:
    """Return what notes get for their likeness, given with the nearest first: the first one all, the last one nothing."""
    # Models differ in how near texts without anything in common are, so only the place between the two tells something.
    width = likeness[0] - likeness[-1] if likeness else 0.0
    return [_BY_MEANING * ((each - likeness[-1]) / width if width > 0 else 1.0) for each in likeness]


def fused(near: Sequence[MeaningHit], words: Sequence[str], hits: Sequence[Hit], absent: Collection[str]) -> list[Hit]:
    """Return the hits by words and the notes near in meaning in one order, the best first, each note once.

    ``words``: those that were looked for; ``absent``: those of them that are in no note. The scores are new: what a note gets
    for its likeness, and for its score by words, compared with the best one, times the share of the words that it has.
    """
    best = max((hit.score for hit in hits), default=0.0)
    scores = {each.path: each.score for each in near}
    by_path = {each.path: Hit(each.path, 0.0, 0, each.lines) for each in near}
    for hit in hits:
        # Of a question in another language notes have names at most, and one that has a name by chance would come first.
        share = 1 - len({*absent, *hit.missing} & {*words}) / len(words) if words else 0.0
        by_words = _BY_WORDS * share * hit.score / best if best > 0 else 0.0
        scores[hit.path] = scores.get(hit.path, 0.0) + by_words
        by_path[hit.path] = hit
    ranked = sorted(scores, key=lambda path: (-scores[path], path))
    return [by_path[path]._replace(score=scores[path]) for path in ranked]
