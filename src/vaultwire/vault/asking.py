"""Answers a question in plain words with the notes that say most of what it asks for; helps where a search finds little; says
why a search has a note where it has it.

The text index lists candidates, a fixed number whatever is shown; ``vault.search.questions`` says how well each answers. So
the first note is the same for every limit. A bounded number of notes is read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.index.index import Index
from vaultwire.vault.links.likeness import spelt_alike
from vaultwire.vault.search.filters import NoteFilter
from vaultwire.vault.search.matching import Matcher
from vaultwire.vault.search.note_parts import read_searchable, searchable_name
from vaultwire.vault.search.query import (
    And,
    Expression,
    Not,
    Or,
    Property,
    Query,
    Within,
    Word,
    parse_query,
    query_hints,
)
from vaultwire.vault.search.questions import (
    LANGUAGES,
    Language,
    PlainWords,
    Question,
    all_parts,
    plain_words,
    question_in,
    sought,
    without_sentence_marks,
)
from vaultwire.vault.search.terms import Pattern, Text, fold_case, rarity
from vaultwire.vault.value_types import Found, Hit, Progress, ScorePart, VaultPath, Why

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


# Says why a search has a note where it has it: the parts of its score, what was left out of the query, what a note lacks.
#
# The numbers are those by which the search ranks. A note that is asked for by name is explained also where it is no result, or
# comes after those that are shown. Notes that may not be seen are unknown here, as everywhere.

_SHOWN = 10  # on an ordinary page


class Explained(NamedTuple):
    """The explanation of a search: of each hit, of the note that was asked for, and the words that count for nothing."""

    hits: list[Why]
    note: Why | None
    left_out: list[str]


class Explaining:
    """Explains one search, right after it was made."""

    def __init__(self, files: Files, index: Index, folder: VaultPath | None, text: str, progress: Progress) -> None:
        self._files = files
        self._index = index
        self._folder = folder
        self._parsed = parse_query(text)
        self._query = without_sentence_marks(self._parsed)
        self._progress = progress

    def explain(
        self, result: Found, asked: Asked | None, help_texts: SearchHelp | None, note: VaultPath | None
    ) -> Explained:
        """Return the explanation of the notes on a page, and of a note."""
        hits = help_texts.hits if help_texts else result.hits
        explained = [self._hit(hit, number, help_texts) for number, hit in enumerate(hits, 1)]
        why = None
        if note is not None:
            why = self._answer(note) if asked else self._note(note, hits, explained)
        return Explained(explained, why, self._left_out() if asked else [])

    def _left_out(self) -> list[str]:
        question = question_in(self._parsed)
        kept = {word.text for word in question.words} if question else set()
        return [word.text for word in plain_words(self._parsed).words if not any(text in word.text for text in kept)]

    def _hit(self, hit: Hit, number: int, help_texts: SearchHelp | None) -> Why:
        if hit.why:
            return Why(hit.path, number, hit.score, hit.why, _lacking(hit))
        if help_texts is not None and help_texts.partial is not None and hit.path in help_texts.shares:
            return self._partial(hit, number, help_texts.partial, help_texts.shares[hit.path], help_texts.absent)
        place = self._index.explain(self._query, self._folder, hit.path, self._progress)
        return Why(hit.path, number if help_texts else place.place, place.score, place.parts) if place else _gone(hit)

    def _partial(self, hit: Hit, number: int, query: Query, share: float, absent: list[str]) -> Why:
        """Return why a note without all words is where it is: it ranks by its score times the share of its words."""
        place = self._index.explain(query, self._folder, hit.path, self._progress)
        if place is None:
            return _gone(hit)
        lacking = ScorePart("", "words that it lacks", place.score * (share - 1))
        return Why(hit.path, number, place.score * share, (*place.parts, lacking), _lacking(hit, absent))

    def _note(self, path: VaultPath, hits: list[Hit], explained: list[Why]) -> Why:
        """Return why a note is where it is, or is no result, of a query in Obsidian's syntax."""
        if (shown := next((why for why in explained if why.path == path), None)) is not None:
            return shown
        place = self._index.explain(self._query, self._folder, path, self._progress)
        if place is None:
            return Why(path, 0, 0.0, (), tuple(self._reasons(path, self._query.expression)))
        last = explained[min(len(hits), _SHOWN) - 1] if explained else None
        reasons = () if last is None else (f"number {last.place}, {last.path}, has {last.score:.2f}",)
        return Why(path, place.place, place.score, place.parts, reasons)

    def _reasons(self, path: VaultPath, expression: Expression) -> list[str]:
        """Return why a note does not match: one reason for each part of the query that is not true of it."""
        if self._folder is not None and not lies_in(path, self._folder):
            return [f"it is not in the folder {self._folder!r}"]
        if self._index.is_excluded(path, self._progress):
            return ["the vault's settings exclude it from searches"]
        text = read_searchable(self._files, path)
        if text is None:
            return ["it cannot be read, or is no note"]
        parts = all_parts(expression)
        failing = [part for part in parts if self._matcher(Query("", part)).match(path, text) is None]
        reasons = [
            f"it has what {written(part)} leaves out" if isinstance(part, Not) else f"it has no {written(part)}"
            for part in failing
        ]
        return reasons or ["it matches now, but the index does not have it as it is yet: search again"]

    def _matcher(self, query: Query) -> Matcher:
        return Matcher(query, has_inline_fields=self._files.has_inline_fields)

    def _answer(self, path: VaultPath) -> Why:
        """Return why a note is where it is among the answers to a question, or is none."""
        question = question_in(self._parsed)
        assert question is not None
        asking = Asking(self._index, self._folder, self._progress)
        whole = asking.answer(question, _SHOWN, exact_total=False)
        ranked = [hit.path for hit in asking.looked_at]
        if path in ranked:
            hit = asking.looked_at[ranked.index(path)]
            shown = [other.path for other in whole.help.hits]
            reasons = (
                [] if path in shown else [f"number {len(shown)}, {shown[-1]}, has {_score_of(asking, shown[-1]):.2f}"]
            )
            return Why(path, ranked.index(path) + 1, hit.score, hit.why, (*reasons, *_lacking(hit)))
        reasons = self._reasons(path, And(question.conditions))
        if not question.conditions or reasons[0].startswith("it matches now"):
            text = read_searchable(self._files, path)
            match = None if text is None else self._matcher(Query("", And(()), asked=asking.asked)).match(path, text)
            if asking.asked and match is not None and match.score > 0:
                reason = f"it was not read: the index puts {len(ranked)} other notes before it"
                return Why(path, 0, match.score, match.why, (reason,))
            reasons = [f"it has no {written(sought(word))}" for word in question.needed]
        return Why(path, 0, 0.0, (), tuple(reasons))


def _score_of(asking: Asking, path: VaultPath) -> float:
    return next(hit.score for hit in asking.looked_at if hit.path == path)


def _lacking(hit: Hit, absent: Sequence[str] = ()) -> tuple[str, ...]:
    lacking = [*hit.missing, *absent]
    return (f"it lacks {', '.join(lacking)}",) if lacking else ()


def _gone(hit: Hit) -> Why:
    return Why(hit.path, 0, hit.score, (), ("it has changed since the search",))


def written(part: Expression) -> str:
    """Return a part of a query as a person writes it."""
    if isinstance(part, Text):
        text = f'"{part.text}"' if part.full_words else part.text
        return f"match-case:{text}" if part.match_case else text
    if isinstance(part, Pattern):
        return f"/{part.source}/"
    if isinstance(part, Not):
        return f"-{written(part.part)}"
    if isinstance(part, (And, Or)):
        return f"({(' OR ' if isinstance(part, Or) else ' ').join(map(written, part.parts))})"
    if isinstance(part, Within):
        return f"{part.operator}:{written(part.part)}"
    if isinstance(part, Property):
        return f"[{written(part.name)}]" if part.value is None else f"[{written(part.name)}:{written(part.value)}]"
    return f"{getattr(part, 'sign', 'null')}{getattr(part, 'value', '')}"
