"""Answers a question in plain words with the notes that say most of what it asks for.

The text index lists candidates, a fixed number whatever is shown; ``vault.search.questions`` says how well each answers. So
the first note is the same for every limit. A bounded number of notes is read.
"""

from __future__ import annotations

from typing import NamedTuple

from vaultwire.vault.index.port import Index
from vaultwire.vault.search.languages import LANGUAGES, Language
from vaultwire.vault.search.query import And, Expression, Or, Query, Word
from vaultwire.vault.search.questions import Question, sought
from vaultwire.vault.search.terms import Text
from vaultwire.vault.search.text_forms import rarity
from vaultwire.vault.search_help import SearchHelp
from vaultwire.vault.value_types import Found, Hit, Progress, VaultPath

# Candidates: notes with some of the words, and notes with all of them.
_CANDIDATES, _WITH_ALL = 40, 20
# A word that more of the notes have finds no note of its own, if there is a rarer one.
_COMMON = 0.5
# Notes that lack words and answer so much worse than the best one are not like it, and are not shown.
_LEAST = 0.3
# Lines shown of the first notes, and of the others.
_FIRST, _LINES_OF_FIRST, _LINES = 3, 3, 1
# A vault has notes in a language if so many of them have its most common words.
_SPOKEN = 0.01
# Of a question in another language only notes are shown that have so much of its words: names are the same in all.
_LEAST_FOREIGN = 0.5


class Asked(NamedTuple):
    """An answer: how many notes have all words, with those that are shown; and all that are shown, best first."""

    found: Found
    help: SearchHelp


class Asking:
    """Answers questions to one folder, or to the whole vault."""

    def __init__(self, index: Index, folder: VaultPath | None, progress: Progress) -> None:
        self._index = index
        self._folder = folder
        self._progress = progress

    def answer(self, question: Question, limit: int, *, exact_total: bool) -> Asked:
        """Return the answer, with ``limit`` notes at most. ``exact_total``: count all notes with all words."""
        text = question.text
        every = And((*question.conditions, *(sought(word) for word in question.needed)))
        # This search waits for what has changed, as every first one does.
        found = self._index.search(Query(text, every), self._folder, 0, 1, self._progress, exact_total=exact_total)
        counts = self._counts([sought(word) for word in question.words])
        present = {word: count for word, count in zip(question.words, counts, strict=True) if count}
        absent = [word.text for word in question.needed if word not in present and len(counts) > 1]
        hits = self._ranked(question, present, found.searched, every)
        hints = []
        if (hint := self._other_language(question.language)) and not (hits and not hits[0].missing):
            hints.append(hint)
            most = len(question.needed) * (1 - _LEAST_FOREIGN)
            hits = [hit for hit in hits if len(hit.missing) <= most]
        hits = [_shortened(hit, number) for number, hit in enumerate(hits[:limit])]
        complete = [hit for hit in hits if not hit.missing]
        if found.total > limit:
            hints.append(f"search {text!r} for all {found.total} notes with these words")
        shown = found._replace(hits=complete, ends=[], has_more=False)
        return Asked(shown, SearchHelp(hits, absent, [], hints))

    def _counts(self, expressions: list[Expression]) -> list[int]:
        queries = [Query("", expression) for expression in expressions]
        return [found.total for found in self._index.search_each(queries, self._folder, 0, self._progress)]

    def _ranked(self, question: Question, present: dict[Word, int], notes: int, every: And) -> list[Hit]:
        """Return the notes that answer it, best first. ``every``: finds the notes with all words."""
        if not present:
            return []
        weights = {word: rarity(count, notes) for word, count in present.items()}
        asked = tuple(word._replace(weight=word.weight * weights.get(word, 0.0)) for word in question.words)
        rarer = [word for word, count in present.items() if count <= notes * _COMMON] or [*present]
        some = And((*question.conditions, Or(tuple(sought(word) for word in rarer))))
        hits = self._search(Query("", some, asked=asked), _CANDIDATES)
        if len(present) == len(question.words):
            hits |= self._search(Query("", every, asked=asked), _WITH_ALL)
        ranked = sorted((hit for hit in hits.values() if hit.score > 0), key=lambda hit: (-hit.score, hit.path))
        return [hit for hit in ranked if not hit.missing or hit.score >= ranked[0].score * _LEAST]

    def _search(self, query: Query, limit: int) -> dict[VaultPath, Hit]:
        (found,) = self._index.search_each([query], self._folder, limit, self._progress)
        return {hit.path: hit for hit in found.hits}

    def _other_language(self, asked: Language | None) -> str:
        """Return what is to be said if hardly a note is in the language of the question, but notes are in others."""
        if asked is None or self._is_spoken(asked):
            return ""
        spoken = [language.name for language in LANGUAGES if self._is_spoken(language)]
        if not spoken:
            return ""
        return (
            f"the question is in {asked.name}, the notes are in {', '.join(spoken)}: ask in the language of the notes"
        )

    def _is_spoken(self, language: Language) -> bool:
        words = tuple(Text(word, full_words=True, match_case=False) for word in language.typical)
        query = Query("", Or(words))
        (found,) = self._index.search_each([query], self._folder, 0, self._progress)
        return found.total > found.searched * _SPOKEN


def _shortened(hit: Hit, number: int) -> Hit:
    """Return the hit with the best of its lines, fewer behind the first notes."""
    lines = hit.lines[: _LINES_OF_FIRST if number < _FIRST else _LINES]
    return hit._replace(lines=sorted(lines))
