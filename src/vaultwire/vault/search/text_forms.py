"""The forms in which search compares texts: as written, without case, without case and diacritics; and what a word is.

Pure. It knows no query and no note.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from math import log
from typing import Final

EXACT, FOLDED, UNACCENTED = range(3)
"""The forms of a text: as written, in NFC; without case; without case and diacritics. Each has the same lines."""

# The ranges of the scripts that put no spaces between words. Each of their characters is a word of its own: a search for
# full words finds no word's edge there. This is no pattern, because compiling it takes 4 ms, at every start.
_UNSPACED: Final = (
    ("\u0e00", "\u0eff"),
    ("\u1000", "\u109f"),
    ("\u1780", "\u17ff"),
    ("\u2e80", "\ua4cf"),
    ("\uac00", "\ud7af"),
    ("\uf900", "\ufaff"),
)
_ASCII_BYTES: Final = bytes(range(128))


def fold_case(text: str) -> str:
    """Return the text without case, in NFC."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


def strip_diacritics(folded: str) -> str:
    """Return a text that ``fold_case`` made, without diacritics.

    Each character is replaced on its own, so a part of a text stays a part of it. Only diacritics of Latin, Greek and
    Cyrillic letters are stripped: in other scripts such marks make other letters (``か`` and ``が``).
    """
    if folded.isascii():
        return folded
    bases = _bases()
    # One replacement for each of them takes a third of the time of a pattern for all.
    for accented in non_ascii_characters(folded) & bases.keys():
        folded = folded.replace(accented, bases[accented])
    return folded


@cache
def _bases() -> dict[str, str]:
    """Return what is left of each character with diacritics; nothing of a diacritic."""
    bases = {chr(code): "" for code in range(0x300, 0x370)}
    for code in (*range(0xC0, 0x250), *range(0x370, 0x530), *range(0x1E00, 0x2000)):
        decomposed = unicodedata.normalize("NFD", chr(code))
        base = "".join(character for character in decomposed if character not in bases)
        if base != decomposed:
            bases[chr(code)] = base
    return bases


class TextForms:
    """One text in each form, made when first asked for."""

    __slots__ = ("_forms", "_lines", "_text")

    def __init__(self, text: str) -> None:
        self._text = text
        self._forms: list[str | None] = [None, None, None]
        self._lines: list[list[str] | None] = [None, None, None]

    def get(self, form: int) -> str:
        """Return the text in one form."""
        text = self._forms[form]
        if text is None:
            text = self._forms[form] = self._make(form)
        return text

    def lines(self, form: int) -> list[str]:
        """Return the lines of one form."""
        lines = self._lines[form]
        if lines is None:
            lines = self._lines[form] = self.get(form).split("\n")
        return lines

    def part(self, first: int, last: int) -> TextForms:
        """Return the lines from ``first`` to ``last``, counted from 1."""
        return _Part(self, first, last)

    def _make(self, form: int) -> str:
        if form == UNACCENTED:
            return strip_diacritics(self.get(FOLDED))
        if form == FOLDED:
            return fold_case(self._text)
        return self._text if self._text.isascii() else unicodedata.normalize("NFC", self._text)


class _Part(TextForms):
    """Some lines of a text, cut from the whole text's forms: so a note is folded once, not line by line."""

    __slots__ = ("_first", "_last", "_whole")

    def __init__(self, whole: TextForms, first: int, last: int) -> None:
        super().__init__("")
        self._whole, self._first, self._last = whole, first, last

    def _make(self, form: int) -> str:
        return "\n".join(self._whole.lines(form)[self._first - 1 : self._last])


def non_ascii_characters(text: str) -> set[str]:
    """Return the characters of the text that are not ASCII. Four times as fast as a look at each character."""
    rest = text.encode("utf-8", "surrogatepass").translate(None, _ASCII_BYTES)
    return set(rest.decode("utf-8", "surrogatepass"))


def is_full_word(text: str, start: int, end: int) -> bool:
    """Tell whether no word continues beyond this part of the text."""
    return not (
        (start > 0 and is_word_character(text[start]) and is_word_character(text[start - 1]))
        or (end < len(text) and is_word_character(text[end - 1]) and is_word_character(text[end]))
    )


def is_word_character(character: str) -> bool:
    """Tell whether the character makes a word with the one beside it: letters, digits, marks and ``_`` do."""
    if character.isascii():
        return character.isalnum() or character == "_"
    if is_unspaced(character):
        return False
    return character.isalnum() or unicodedata.category(character)[0] == "M"


def is_unspaced(character: str) -> bool:
    """Tell whether the character is a word of its own, because its script puts no spaces between words."""
    return any(first <= character[:1] <= last for first, last in _UNSPACED)


# How much a word says by the number of notes that have it. Pure.


def rarity(count: int, notes: int) -> float:
    """Return how much a word says that ``count`` of all notes have: near 0 if most have it, and more the rarer it is.

    It is the inverse document frequency of BM25. It knows the little words of every language without a list of them.
    """
    count = min(count, notes)  # a text index may count notes that are gone
    return log(1 + (notes - count + 0.5) / (count + 0.5))
