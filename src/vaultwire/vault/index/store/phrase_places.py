"""The places of a phrase: for each typed word, the words of a vocabulary that may stand there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from vaultwire.vault.index.store.tokenizer import BREAK_END, code_of, is_break, is_cut_short
from vaultwire.vault.index.store.vocabulary import Vocabulary
from vaultwire.vault.search.text_forms import is_unspaced, non_ascii_characters, strip_diacritics


class Place(NamedTuple):
    """A place in a phrase, where one of the words stands. ``pattern`` is a regular expression for these words.

    It may match others, too, that are the same words without diacritics.
    """

    words: tuple[str, ...]
    pattern: str


class Places(NamedTuple):
    """The places of a phrase as typed, of the phrases that are the same only without diacritics, and of all together.

    ``is_exact``: a note with such words side by side has the phrase.
    """

    written: tuple[Place, ...]
    loose: list[tuple[Place, ...]]
    every: tuple[Place, ...]
    is_exact: bool


class _Found(NamedTuple):
    """What may stand at one place: with the typed diacritics, only with others, with any."""

    written: Place
    loose: Place | None
    every: Place

    @classmethod
    def of(cls, written: Sequence[str], every: Sequence[str], typed: str, form: str) -> Self:
        """``form``: how a pattern for the words is made of one for the typed text."""
        as_typed = Place(tuple(written), form.format(re.escape(typed)))
        known = set(written)
        loose = tuple(word for word in every if word not in known) if len(every) > len(written) else ()
        if not loose:
            return cls(as_typed, None, as_typed)
        pattern = form.format(_pattern(strip_diacritics(typed), every))
        return cls(as_typed, Place(loose, pattern), Place(tuple(every), pattern))


def find_places(words: Sequence[str], vocabulary: Vocabulary, *, is_open: bool) -> Places:
    """Return the places of these words and breaks. ``is_open``: the first and the last may lie inside longer words.

    A break at an end may always be longer: the typed text tells nothing of what is beyond.
    """
    last = len(words) - 1
    found: list[_Found] = []
    is_exact = True
    for at, word in enumerate(words):
        may_be_longer = (is_open and not is_unspaced(word)) or is_break(word)
        opens_before, opens_after = may_be_longer and at == 0, may_be_longer and at == last
        if is_break(word):
            # Of a long break the index knows the ends.
            is_exact &= not is_cut_short(word) and not (
                (opens_before or opens_after) and len(code_of(word)) > BREAK_END
            )
            place = _place_of_break(word, vocabulary, opens_before=opens_before, opens_after=opens_after)
            found.append(_Found(place, None, place))
        elif opens_before or opens_after:
            found.append(_open_place(word, vocabulary, opens_before=opens_before))
        else:
            bare = strip_diacritics(word)
            others = [] if is_unspaced(word) else [bare, *vocabulary.spellings(bare)]
            found.append(_Found.of([word], list(dict.fromkeys([word, *others])), word, "{}"))
    written = [place.written for place in found]
    every = [place.every for place in found]
    # The first loose place is here, and any place after it may be loose.
    loose = [
        (*written[:at], place.loose, *every[at + 1 :]) for at, place in enumerate(found) if place.loose is not None
    ]
    return Places(tuple(written), loose, tuple(every), is_exact)


def _open_place(word: str, vocabulary: Vocabulary, *, opens_before: bool) -> _Found:
    """Return what may stand where a longer word may end as typed, or begin so."""
    fits, bare = str.endswith if opens_before else str.startswith, strip_diacritics(word)
    words = [other for other in vocabulary.containing(bare) if fits(strip_diacritics(other), bare)]
    return _Found.of([other for other in words if fits(other, word)], words, word, ".*{}" if opens_before else "{}.*")


def _pattern(bare: str, words: Iterable[str]) -> str:
    """Return a regular expression for a text without its diacritics, with any that the words have."""
    by_base = defaultdict(list)
    for character in sorted(non_ascii_characters("".join(words))):
        by_base[strip_diacritics(character)].append(character)
    loose = f"[{''.join(by_base[''])}]*" if by_base[""] else ""
    return "".join(f"[{re.escape(each)}{''.join(set(by_base[each]) - {each})}]{loose}" for each in bare)


def _place_of_break(word: str, vocabulary: Vocabulary, *, opens_before: bool, opens_after: bool) -> Place:
    if not (opens_before or opens_after):
        return Place((word,), re.escape(word))
    code = code_of(word)
    sign = re.escape(word.removesuffix(code))
    if opens_before:
        code = code[-BREAK_END:]
        breaks = [each for each in vocabulary.containing(code) if each.endswith(code)]
        return Place(tuple(breaks), f"{sign}.*{re.escape(code)}")
    code = code[:BREAK_END]
    breaks = [each for each in vocabulary.containing(code) if code_of(each).startswith(code)]
    return Place(tuple(breaks), f"{sign}{re.escape(code)}.*")
