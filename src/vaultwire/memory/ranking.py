"""Which entries of memory a text is about, and which say the same. Pure.

Entries are ranked as notes are for a question (``vault.search.questions``): each is a small note with its subject as its name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from vaultwire.markdown.parse import parse_note
from vaultwire.memory.entries import Entry, Subject
from vaultwire.vault.links.likeness import SAME, TYPO, letters_of, likeness_of
from vaultwire.vault.search.note_parts import NoteParts
from vaultwire.vault.search.query import Word, occurrences
from vaultwire.vault.search.questions import answer, bare, language_of, words_of
from vaultwire.vault.search.terms import UNACCENTED, TextForms, rarity

# Of a long text the longest words count: they tell more.
_MOST_WORDS = 20
_PIECE = re.compile(r"[^\W_]+")
# Half of what age can take from an entry is taken after so many days; all of it is this share.
_HALF_LIFE, _AGE_COUNTS = 180, 0.2
# What the entries of a subject that a good entry links to, or that links to it, get of its score; and of how many.
_LINKED, _LINKING = 0.3, 3
# What an entry near in meaning gets at most, of the best score by words.
_BY_MEANING = 0.6
# Two entries say nearly the same if so much of the words of both is common to both.
_SAME_SHARE = 0.75
_FEW_WORDS = 3
_NUMBERS = re.compile(r"\d+")


class Ranked(NamedTuple):
    """An entry, its score, and the words of the question that it lacks."""

    entry: Entry
    score: float
    missing: tuple[str, ...] = ()


@lru_cache(maxsize=4_096)
def words_in(text: str) -> tuple[Word, ...]:
    """Return the words that a text is about: without the little words of its language, if that leaves any."""
    pieces = {bare(piece): piece for piece in _PIECE.findall(text)}
    language, _ = language_of([*pieces])
    known = words_of(language) if language is not None else None
    telling = [word for word in pieces if known is None or word not in known.little] or [*pieces]
    longest = sorted(telling, key=lambda word: -len(word))[:_MOST_WORDS]
    return tuple(Word(pieces[word], word) for word in telling if word in longest)


def rank(text: str, entries: Sequence[Entry], today: date, near: Mapping[str, float] | None = None) -> list[Ranked]:
    """Return the entries that a text is about, the best first: by words, links, meaning and age.

    ``near``: the likeness in meaning, by an entry's address, where that is known. What has no word of the text, no link and
    no likeness is not in the result.
    """
    words = _weighted(words_in(text), entries)
    scores: dict[str, Ranked] = {}
    if words:
        for entry in entries:
            said = answer(words, NoteParts(entry.path, _searched(entry), parse_note))
            if said.score > 0:
                scores[entry.address] = Ranked(entry, said.score, said.missing)
    best = max((each.score for each in scores.values()), default=1.0)
    for entry in entries if near else ():
        if likeness := (near or {}).get(entry.address, 0.0):
            known = scores.get(entry.address, Ranked(entry, 0.0))
            scores[entry.address] = known._replace(score=known.score + _BY_MEANING * likeness * best)
    _add_linked(scores, entries)
    aged = (each._replace(score=each.score * _freshness(each.entry.day, today)) for each in scores.values())
    return sorted(aged, key=lambda each: (-each.score, each.entry.path, each.entry.first_line))


def _searched(entry: Entry) -> str:
    """Return the text by which an entry is found: a link is found by its words."""
    return f"{entry.text} {entry.source}"


def _weighted(words: Iterable[Word], entries: Sequence[Entry]) -> tuple[Word, ...]:
    """Return the words that are in any entry, each with what it counts by its rarity among them."""
    texts = [TextForms(f"{entry.subject}\n{_searched(entry)}").get(UNACCENTED) for entry in entries]
    weighted: list[Word] = []
    for word in words:
        count = sum(next(occurrences(word, text), None) is not None for text in texts)
        # One that is nowhere counts as the rarest: entries without it lack something.
        weighted.append(word._replace(weight=rarity(count, len(texts))))
    return tuple(weighted)


def _add_linked(scores: dict[str, Ranked], entries: Sequence[Entry]) -> None:
    """Give the entries of subjects that the best entries link to a part of their score, and those that link to these."""
    best = sorted(scores.values(), key=lambda each: -each.score)[:_LINKING]
    for ranked in best:
        named = {letters_of(link.rpartition("/")[2]) for link in ranked.entry.links}
        subject = letters_of(ranked.entry.subject)
        for entry in entries:
            if entry.path == ranked.entry.path:
                continue
            linked = letters_of(entry.subject) in named
            if linked or any(letters_of(link.rpartition("/")[2]) == subject for link in entry.links):
                known = scores.get(entry.address, Ranked(entry, 0.0))
                scores[entry.address] = known._replace(score=known.score + _LINKED * ranked.score)


def _freshness(day: date | None, today: date) -> float:
    """Return what an entry counts by its age: 1 today, less later. One without a date counts as a very old one."""
    if day is None:
        return 1 - _AGE_COUNTS
    age = max((today - day).days, 0)
    return 1 - _AGE_COUNTS * age / (age + _HALF_LIFE)


def says_the_same(one: str, other: str) -> bool:
    """Tell whether two texts say nearly the same: most of the words of both, and the same numbers."""
    if bare(one) == bare(other):
        return True
    if sorted(_NUMBERS.findall(one)) != sorted(_NUMBERS.findall(other)):
        return False
    mine, theirs = ({word.bare for word in words_in(text)} for text in (one, other))
    if min(len(mine), len(theirs)) < _FEW_WORDS:
        return mine == theirs
    return _common(mine, theirs) >= _SAME_SHARE * max(len(mine), len(theirs))


def _common(mine: Collection[str], theirs: Collection[str]) -> int:
    """Return how many words are common: in other forms, too ("garden", "gardens")."""
    text = " ".join(theirs)
    return sum(next(occurrences(Word(word, word), text), None) is not None for word in mine)


def subject_named(name: str, subjects: Sequence[Subject]) -> tuple[Subject | None, bool]:
    """Return the subject that a name means, None if there is none, and whether it is exactly its name.

    A name that differs by signs, case, accents or a letter means the same subject, and so does an alias.
    """
    letters = letters_of(name)
    nearly: Subject | None = None
    for subject in subjects:
        for known in subject.names:
            likeness = likeness_of(letters, letters_of(known))
            if likeness == SAME:
                return subject, bare(known) == bare(name)
            if likeness == TYPO:
                nearly = nearly or subject
    return nearly, False
