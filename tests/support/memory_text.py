"""The text index as it is meant, in memory: it tries a plan on every note. Slow and plain: the real one is compared to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import cache

from vaultwire.vault.index.search_plan import (
    BODY,
    FIRST,
    NEAR_WEIGHT,
    OTHER_WEIGHT,
    WEIGHTS,
    AllOf,
    AnyOf,
    AnyWord,
    Boosted,
    MatchAll,
    NoneOf,
    Phrase,
    Plan,
    TheseNotes,
    as_written,
    has_loose,
)
from vaultwire.vault.index.text_index import Ranking, TextDocument, TextHits, TextIndex
from vaultwire.vault.index.vocabulary import Place
from vaultwire.vault.search.text_forms import rarity

MOST_TIMES = 3
"""A word that occurs more often counts no more."""


class MemoryText(TextIndex):
    """Overrides every method. What is put is stored at once; what is committed can be found."""

    def __init__(self, folder: str | None = None) -> None:
        """``folder`` is not used."""
        self._put_notes: dict[int, TextDocument] = {}
        self._committed: dict[int, TextDocument] = {}
        self._counts: Counter[str] = Counter()  # how many notes have each word

    def search(self, plan: Plan, without: Collection[int], offset: int, limit: int | None) -> TextHits:
        """See ``TextIndex``."""
        written = as_written(plan) if has_loose(plan) else None
        counts, notes = self._counts, len(self._committed)

        def says(word: str) -> float:
            return rarity(counts[word], notes)

        ranked: list[tuple[float, int]] = []
        for note_id, document in self._committed.items():
            score = None if note_id in without else _score(plan, document, says)
            if score is None:
                continue
            if written is not None and _score(written, document, says) is None:
                score = score / (score + 1) - FIRST
            ranked.append((-score, note_id))
        ranked.sort()
        page = ranked[offset:] if limit is None else ranked[offset : offset + limit]
        scores = [-score + FIRST if score > 0 else -score for score, _ in page]
        return TextHits([note_id for _, note_id in page], scores, len(ranked))

    def ranking(self, plan: Plan, without: Collection[int]) -> Ranking:
        """See ``TextIndex``."""
        ranking = Ranking(lambda offset, limit: self.search(plan, without, offset, limit))
        ranking.keep_all()
        return ranking

    def holders(self, field: str, words: Sequence[str], most: int) -> dict[str, list[int]]:
        """See ``TextIndex``."""
        found: dict[str, list[int]] = {}
        for note_id, document in self._committed.items():
            for word in set(document.words[field].split()).intersection(words):
                found.setdefault(word, []).append(note_id)
        return {word: ids for word, ids in found.items() if len(ids) <= most}

    def words(self, field: str) -> set[str]:
        """See ``TextIndex``."""
        return {word for document in self._committed.values() for word in document.words[field].split()}

    def refresh(self) -> None:
        """See ``TextIndex``. No other process writes here."""

    def start_writing(self) -> bool:
        """See ``TextIndex``. No other process writes here."""
        return True

    def put(self, document: TextDocument, *, is_new: bool = False) -> None:
        """See ``TextIndex``."""
        self._put_notes[document.id] = document

    def remove(self, note_id: int) -> None:
        """See ``TextIndex``."""
        self._put_notes.pop(note_id, None)

    def commit(self) -> None:
        """See ``TextIndex``."""
        self._committed = dict(self._put_notes)
        texts = [document.words[BODY] for document in self._committed.values()]
        self._counts = Counter(word for text in texts for word in set(text.split()))

    def stop_writing(self) -> None:
        """See ``TextIndex``."""
        self._put_notes = dict(self._committed)

    def close(self) -> None:
        """Do nothing."""


def _score(plan: Plan, document: TextDocument, says: Callable[[str], float]) -> float | None:
    """Return the note's score, None if the plan does not find it."""
    if isinstance(plan, MatchAll):
        return 0.0
    if isinstance(plan, AllOf):
        scores = [_score(part, document, says) for part in plan.parts]
        return None if None in scores else sum(score for score in scores if score)
    if isinstance(plan, AnyOf):
        found = [score for part in plan.parts if (score := _score(part, document, says)) is not None]
        return sum(found) if found else None
    if isinstance(plan, Boosted):
        score = _score(plan.plan, document, says)
        return None if score is None else score + sum(_score(boost, document, says) or 0.0 for boost in plan.boosts)
    if isinstance(plan, NoneOf):
        return 0.0 if _score(plan.part, document, says) is None else None
    if isinstance(plan, AnyWord):
        words = document.words[plan.field].split(" ")
        most = min(map(says, plan.same or plan.near), default=1.0)
        share = sum(
            weight * most * min(words.count(word), MOST_TIMES)
            for group, weight in (
                (plan.same, 1.0),
                (plan.near, NEAR_WEIGHT),
                ((*plan.others, *plan.loose), OTHER_WEIGHT),
            )
            for word in group
        )
        return WEIGHTS[plan.field] * share or None
    if isinstance(plan, Phrase):
        words = document.words[plan.field].split()
        starts = range(len(words) - len(plan.places) + 1)
        by_word = any(all(words[at + n] in place.words for n, place in enumerate(plan.places)) for at in starts)
        assert all(map(_has_right_pattern, plan.places)), plan
        return WEIGHTS[plan.field] if by_word else None
    if isinstance(plan, TheseNotes):
        return 1.0 if document.id in plan.ids else None
    return 1.0 if plan.value in document.values[plan.field] else None


@cache
def _has_right_pattern(place: Place) -> bool:
    return all(re.fullmatch(place.pattern, word) for word in place.words)
