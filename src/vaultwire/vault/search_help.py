"""What helps where a search finds few notes or none: notes with most of the words, notes of a similar name, hints.

It reads a bounded number of notes. Words count by their rarity in the vault, so the little words of any language count for
next to nothing, and need no list.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import NamedTuple

from vaultwire.vault.index.port import Index
from vaultwire.vault.search.filters import NoteFilter
from vaultwire.vault.search.note_parts import searchable_name
from vaultwire.vault.search.query import Query, query_hints
from vaultwire.vault.search.questions import PlainWords, plain_words
from vaultwire.vault.search.terms import Text
from vaultwire.vault.search.text_forms import fold_case, rarity
from vaultwire.vault.value_types import Found, Hit, Progress, VaultPath

# Of so many notes with some of the words: the best by the index's own order.
_CANDIDATES = 30
# A word that more of the notes have finds none: a note must have a rarer one. It only counts for those that are found.
_COMMON = 0.5
# Where notes have all words, others are shown beside them only if so many words are asked for, as in a question, and they
# have so much of them. Fewer words mostly name a thing, and a note without one of them is about another.
_LEAST_WORDS, _LEAST_SHARE = 4, 0.5
# Where no note has all words: notes with less of them, by weight, tell nothing.
_LEAST_ALONE = 0.25
# Notes with so much of the words, by weight, come before others, whatever their scores are: a long note has high scores for
# words that tell little.
_GOOD_SHARE = 0.7
# Names: how many are told, how similar they must be, and how many words may be one.
_NAMES, _LEAST_SIMILAR, _MOST_NAME_WORDS = 3, 0.75, 6


class SearchHelp(NamedTuple):
    """Help with a search. ``hits``: the notes with most words, and those with all, best first; each says what is ``missing``.

    ``absent``: the words that are in no note. ``names``: notes whose names are similar to the query.
    """

    hits: list[Hit]
    absent: list[str]
    names: list[VaultPath]
    hints: list[str]


class PartialSearches:
    """Searches for some words of a query, in one folder or in the whole vault."""

    def __init__(self, index: Index, folder: VaultPath | None, progress: Progress) -> None:
        self._index = index
        self._folder = folder
        self._progress = progress

    def help_with(self, query: Query, found: Found, limit: int) -> SearchHelp | None:
        """Return help, None if there is none. ``found``: the first page of the results, of ``limit`` notes."""
        hints = query_hints(query)
        hits, absent, names = found.hits, list[str](), list[VaultPath]()
        plain = plain_words(query)
        is_whole = not (found.has_more or found.so_far or found.lacks_changes)
        if is_whole and not found.total:
            names = self._similar_names(plain)
        if is_whole and len(hits) < limit and len(plain.words) >= (_LEAST_WORDS if hits else 1):
            counted = self._search([Query(word.text, word) for word in plain.words], 0)
            counts = {word: each.total for word, each in zip(plain.words, counted, strict=True)}
            absent = [word.text for word, count in counts.items() if not count and len(counts) > 1]
            partial = self._partial_matches(query, plain, counts, found)
            ranked = sorted([*[(hit, 1.0) for hit in hits], *partial[: limit - len(hits)]], key=rank)
            hits = [hit for hit, _ in ranked] if partial else hits
        return SearchHelp(hits, absent, names, hints) if hits != found.hits or absent or names or hints else None

    def _partial_matches(
        self, query: Query, plain: PlainWords, counts: dict[Text, int], found: Found
    ) -> list[tuple[Hit, float]]:
        """Return the notes with most words, best first, each with the share that its words have, by weight.

        ``counts``: how many notes have each word.
        """
        notes, matching = found.searched, {hit.path for hit in found.hits}
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
        (candidates,) = self._search([plain.any_of(query, rarer or words, words)], _CANDIDATES)
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
        return [note.stat.path for note in named if _is_similar(typed, fold_case(searchable_name(note.stat.path)))]


def rank(ranked: tuple[Hit, float]) -> tuple[bool, float, str]:
    """Return the place of a note by its score and the share, by weight, that its words have of those asked for."""
    hit, share = ranked
    return share < _GOOD_SHARE, -hit.score * share, hit.path


def _is_similar(typed: str, name: str) -> bool:
    return SequenceMatcher(None, typed, name).ratio() >= _LEAST_SIMILAR
