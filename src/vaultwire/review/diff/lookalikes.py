"""Letters that look like those of another script or like another sign, and words that are spelled with them.

A word is marked if it mixes Latin with Cyrillic or Greek letters, one of which looks like a letter of the other script, or if
it replaces a word that looks the same. Words of one script are usual.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import regex  # type: ignore[import-untyped]

from vaultwire.review.diff.characters import Mark

# A small choice from Unicode's table of confusables (UTS 39): letters that most fonts draw alike.
_CYRILLIC = dict(zip("асеорхуіјѕһԁԛԝӏАВЕКМНОРСТХУІЈЅԌӀ", "aceopxyijshdqwlABEKMHOPCTXYIJSGI", strict=True))  # noqa: RUF001
_GREEK = dict(zip("ονρυιϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovpuicjABEZHIKMNOPTYX", strict=True))  # noqa: RUF001
_LATIN_OF = {**_CYRILLIC, **_GREEK}
# Signs that look alike within Latin text: only where a changed word differs by nothing else.
_SIGNS = {"I": "l", "1": "l", "0": "O"}
_SKELETON = str.maketrans({**_LATIN_OF, **_SIGNS})
_OTHER_SCRIPT = regex.compile(r"[\p{Cyrillic}\p{Greek}]")
_MAY_SWAP = re.compile("[" + "".join(_LATIN_OF) + "".join(_SIGNS) + "]")  # one of two words that look alike has one
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LATIN = regex.compile(r"\p{Latin}")
NONE_SWAPPED: Mapping[str, list[int]] = MappingProxyType({})
# A hunk with more text is not searched for words that replace others.
_MOST_COMPARED = 200_000


def lookalikes_in(line: str, swapped: Mapping[str, list[int]] = NONE_SWAPPED) -> Iterator[Mark]:
    """Yield the letters of a line that look like others, in order: in words of two scripts, and those of ``swapped``."""
    if not swapped and _OTHER_SCRIPT.search(line) is None:
        return
    for found in _WORD.finditer(line):
        word = found[0]
        if word in swapped:
            odd = swapped[word]
        elif word.isascii() or _LATIN.search(word) is None:
            continue
        else:
            letters = _odd_letters(word)
            odd = [place for place, letter in enumerate(word) if letter in letters]
        for place in odd:
            yield Mark(found.start() + place, found.start() + place + 1, "lookalike", label_of(word[place]))


def swapped_words(old: Iterable[str], new: Iterable[str]) -> dict[str, list[int]]:
    """Return the words of a hunk that look like a word of its other side and are not the same, with the letters that differ.

    ``old`` and ``new`` are the changed lines.
    """
    old_text, new_text = "\n".join(old), "\n".join(new)
    if not old_text or not new_text or len(old_text) + len(new_text) > _MOST_COMPARED:
        return {}
    if _MAY_SWAP.search(old_text) is None and _MAY_SWAP.search(new_text) is None:
        return {}
    old_words, new_words = set(_WORD.findall(old_text)), set(_WORD.findall(new_text))
    removed, added = old_words - new_words, new_words - old_words
    seen = {word.translate(_SKELETON): word for word in removed}
    swapped: dict[str, list[int]] = {}
    for word in added:
        other = seen.get(word.translate(_SKELETON))
        if other is not None and not (word.isdecimal() or other.isdecimal()):
            differing = [place for place, letter in enumerate(word) if letter != other[place]]
            strangers = {each: [place for place in differing if each[place] in _LATIN_OF] for each in (word, other)}
            # In a word of usual letters none is marked, if the other word has the odd ones.
            swapped.update(strangers if any(strangers.values()) else {word: differing, other: differing})
    return swapped


def label_of(letter: str) -> str:
    """Return what a letter is: its script and itself."""
    if letter in _CYRILLIC:
        return f"Cyrillic {letter}"
    if letter in _GREEK:
        return f"Greek {letter}"
    if letter.isdecimal():
        return f"digit {letter}"
    return f"Latin {'capital' if letter.isupper() else 'small'} {letter}" if letter in "IlO" else f"Latin {letter}"


def _odd_letters(word: str) -> set[str]:
    """Return the letters of a word of two scripts that look like the script of its other letters."""
    others = [each for each in word if _OTHER_SCRIPT.match(each)]
    if not others:
        return set()
    latin = [each for each in word if _LATIN.match(each)]
    alike = {each for each in others if each in _LATIN_OF}
    if len(others) > len(latin):  # the Latin letters are the strangers
        return {each for each in latin if each in _LATIN_OF.values()}
    return alike


def same_letters(old: str, new: str) -> bool:
    """Tell whether two different texts are the same letters in another Unicode form: composed or decomposed."""
    return old != new and unicodedata.normalize("NFC", old) == unicodedata.normalize("NFC", new)
