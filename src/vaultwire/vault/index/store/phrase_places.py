"""The places of a phrase: for each typed word, the words of a vocabulary that may stand there."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from vaultwire.vault.index.store.tokenizer import BREAK_END, code_of, is_break, is_cut_short
from vaultwire.vault.index.store.vocabulary import Vocabulary
from vaultwire.vault.search.text_forms import is_unspaced, non_ascii_characters, strip_diacritics


class Place(NamedTuple):
    """A place in a phrase, where one of the words stands. ``pattern`` is a regular expression for just these words."""

    words: tuple[str, ...]
    pattern: str


class Places(NamedTuple):
    """The places of a phrase: with the typed diacritics, and with any.

    ``is_exact``: a note with such words side by side has the phrase.
    """

    written: tuple[Place, ...]
    loose: tuple[Place, ...]
    is_exact: bool


def find_places(words: Sequence[str], vocabulary: Vocabulary, *, is_open: bool) -> Places:
    """Return the places of these words and breaks. ``is_open``: the first and the last may lie inside longer words.

    A break at an end may always be longer: the typed text tells nothing of what is beyond.
    """
    last = len(words) - 1
    found: list[tuple[Place, Place]] = []
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
            found.append((place, place))
        elif opens_before or opens_after:
            found.append(_open_place(word, vocabulary, opens_before=opens_before))
        else:
            same = Place((word,), re.escape(word))
            bare = strip_diacritics(word)
            others = [] if is_unspaced(word) else [bare, *vocabulary.spellings(bare)]
            words_here = tuple(dict.fromkeys([word, *others]))
            found.append((same, Place(words_here, _pattern(bare, words_here)) if len(words_here) > 1 else same))
    return Places(tuple(written for written, _ in found), tuple(loose for _, loose in found), is_exact)


def _open_place(word: str, vocabulary: Vocabulary, *, opens_before: bool) -> tuple[Place, Place]:
    """Return the places of the words that end as typed, or begin so."""
    fits, bare = str.endswith if opens_before else str.startswith, strip_diacritics(word)
    words = tuple(other for other in vocabulary.containing(bare) if fits(strip_diacritics(other), bare))
    written = tuple(other for other in words if fits(other, word))
    form = ".*{}" if opens_before else "{}.*"
    place = Place(written, form.format(re.escape(word)))
    return place, place if len(written) == len(words) else Place(words, form.format(_pattern(bare, words)))


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
