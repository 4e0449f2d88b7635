"""Answers a question in plain words with the notes that say most of what it asks for; what helps where a search finds little.

The text index lists candidates, a fixed number whatever is shown; ``vault.search.questions`` says how well each answers. So
the first note is the same for every limit. A bounded number of notes is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from vaultwire.vault.index.index import Index
from vaultwire.vault.links.likeness import spelt_alike
from vaultwire.vault.search.filters import NoteFilter
from vaultwire.vault.search.note_parts import searchable_name
from vaultwire.vault.search.query import And, Expression, Or, Query, Word, query_hints
from vaultwire.vault.search.questions import LANGUAGES, Language, PlainWords, Question, plain_words, sought
from vaultwire.vault.search.terms import Text, fold_case, rarity
from vaultwire.vault.value_types import Found, Hit, Progress, VaultPath

# What helps where a search finds few notes or none: notes with most of the words, notes of a similar name, hints.
#
# It reads a bounded number of notes. Words count by their rarity in the vault, so the little words of any language count for
# next to nothing, and need no list.

# Of so many notes with some of the words: the best by the index's own order.
_HELP_CANDIDATES = 30
# A word that more of the notes have finds none: a note must have a rarer one. It only counts for those that are found.
# Where notes have all words, others are shown beside them only if so many words are asked for, as in a question, and they
# have so much of them. Fewer words mostly name a thing, and a note without one of them is about another.
_LEAST_WORDS, _LEAST_SHARE = 4, 0.5
# Where no note has all words: notes with less of them, by weight, tell nothing.
_LEAST_ALONE = 0.25
# Notes with so much of the words, by weight, come before others, whatever their scores are: a long note has high scores for
# words that tell little.
_GOOD_SHARE = 0.7
# Names: how many are told, and how many words may be one.
_NAMES, _MOST_NAME_WORDS = 3, 6


class SearchHelp(NamedTuple):
    """Help with a search. ``hits``: the notes with most words, and those with all, best first; each says what is ``missing``.

    ``absent``: the words that are in no note. ``names``: notes whose names are similar to the query. ``partial``: the query
    that found notes without all words, and ``shares`` what each has of them, by weight: such notes rank by score times share.
    """

    hits: list[Hit]
    absent: list[str]
    names: list[VaultPath]
    hints: list[str]
    partial: Query | None = None
    shares: Mapping[VaultPath, float] = MappingProxyType({})


class PartialSearches:
    """Searches for some words of a query, in one folder or in the whole vault."""

    def __init__(self, index: Index, folder: VaultPath | None, progress: Progress) -> None:
        self._index = index
        self._folder = folder
        self._progress = progress

    def help_with(self, query: Query, result: Found, limit: int) -> SearchHelp | None:
        """Return help, None if there is none. ``result``: the first page of the results, of ``limit`` notes."""
        hints = query_hints(query)
        hits, absent, names = result.hits, list[str](), list[VaultPath]()
        shares: dict[VaultPath, float] = {}
        self._partial: Query | None = None
        plain = plain_words(query)
        is_whole = not (result.has_more or result.so_far or result.lacks_changes)
        if is_whole and not result.total:
            names = self._similar_names(plain)
        if is_whole and len(hits) < limit and len(plain.words) >= (_LEAST_WORDS if hits else 1):
            counted = self._search([Query(word.text, word) for word in plain.words], 0)
            counts = {word: each.total for word, each in zip(plain.words, counted, strict=True)}
            absent = [word.text for word, count in counts.items() if not count and len(counts) > 1]
            partial = self._partial_matches(query, plain, counts, result)
            ranked = sorted([*[(hit, 1.0) for hit in hits], *partial[: limit - len(hits)]], key=rank)
            hits = [hit for hit, _ in ranked] if partial else hits
            shares = {hit.path: share for hit, share in partial}
        if hits == result.hits and not (absent or names or hints):
            return None
        return SearchHelp(hits, absent, names, hints, self._partial, shares)

    def _partial_matches(
        self, query: Query, plain: PlainWords, counts: dict[Text, int], result: Found
    ) -> list[tuple[Hit, float]]:
        """Return the notes with most words, best first, each with the share that its words have, by weight.

        ``counts``: how many notes have each word.
        """
        notes, matching = result.searched, {hit.path for hit in result.hits}
        words = tuple(word for word, count in counts.items() if count)
        if not words:
            return []
        rarer = tuple(word for word in words if counts[word] <= notes * _COMMON)
        weights = {word.text: rarity(counts[word], notes) for word in words}
        present = sum(weights.values())
        # A word that is in no note has no weight of its own: it may be a typo. It counts as much as the others do.
        in_vault = len(words) / len(counts)
        least = _LEAST_SHARE if matching else _LEAST_ALONE
        partial: list[tuple[Hit, float]] = []
        self._partial = plain.any_of(query, rarer or words, words)
        (candidates,) = self._search([self._partial], _HELP_CANDIDATES)
        for hit in candidates.hits:
            share = 1 - sum(weights[word] for word in hit.missing) / present
            if hit.path not in matching and share * in_vault >= least:
                partial.append((hit, share))
        return sorted(partial, key=rank)

    def _search(self, queries: list[Query], limit: int) -> list[Found]:
        return self._index.search_each(queries, self._folder, limit, self._progress)

    def _similar_names(self, plain: PlainWords) -> list[VaultPath]:
        """Return the notes with names that differ from the words by a typo or two."""
        if not plain.words or plain.conditions or len(plain.words) > _MOST_NAME_WORDS:
            return []
        typed = fold_case(" ".join(word.text for word in plain.words))
        named = self._index.find(NoteFilter(name=typed), self._folder, self._progress).page(0, _NAMES, self._progress)
        paths = {fold_case(searchable_name(note.stat.path)): note.stat.path for note in named}
        return [paths[name] for name in spelt_alike(typed, paths, _NAMES)]


def rank(ranked: tuple[Hit, float]) -> tuple[bool, float, str]:
    """Return the place of a note by its score and the share, by weight, that its words have of those asked for."""
    hit, share = ranked
    return share < _GOOD_SHARE, -hit.score * share, hit.path


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

    result: Found
    help: SearchHelp


class Asking:
    """Answers questions to one folder, or to the whole vault.

    ``looked_at``: all notes that were ranked for the last question, best first; ``asked``: its words with their weights.
    """

    def __init__(self, index: Index, folder: VaultPath | None, progress: Progress) -> None:
        self.looked_at: list[Hit] = []
        self.asked: tuple[Word, ...] = ()
        self._index = index
        self._folder = folder
        self._progress = progress

    def answer(self, question: Question, limit: int, *, exact_total: bool) -> Asked:
        """Return the answer, with ``limit`` notes at most. ``exact_total``: count all notes with all words."""
        text = question.text
        every = And((*question.conditions, *(sought(word) for word in question.needed)))
        # This search waits for what has changed, as every first one does.
        result = self._index.search(Query(text, every), self._folder, 0, 1, self._progress, exact_total=exact_total)
        counts = self._counts([sought(word) for word in question.words])
        present = {word: count for word, count in zip(question.words, counts, strict=True) if count}
        absent = [word.text for word in question.needed if word not in present and len(counts) > 1]
        hits = self._ranked(question, present, result.searched, every)
        hints = []
        if (hint := self._other_language(question.language)) and not (hits and not hits[0].missing):
            hints.append(hint)
            most = len(question.needed) * (1 - _LEAST_FOREIGN)
            hits = [hit for hit in hits if len(hit.missing) <= most]
        hits = [_shortened(hit, number) for number, hit in enumerate(hits[:limit])]
        complete = [hit for hit in hits if not hit.missing]
        if result.total > limit:
            hints.append(f"search {text!r} for all {result.total} notes with these words")
        shown = result._replace(hits=complete, ends=[], has_more=False)
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
        shown = [hit for hit in ranked if not hit.missing or hit.score >= ranked[0].score * _LEAST]
        self.looked_at, self.asked = ranked, asked
        return shown

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
