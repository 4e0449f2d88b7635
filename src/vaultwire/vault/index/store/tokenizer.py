"""The tokenizer: cuts text into words for a text index. It knows no vocabulary and no note.

Exact answers rest on these rules. A run of letters, digits, marks and underscores is a word. A character of a script written
without spaces (Chinese, Japanese) is a word of its own. A single space between two words is nothing. Anything else between
them is a break, which is a word, too: a mark, and a code for each character. So words that are adjacent in the index are
adjacent in the note, with the same characters between them.

Diacritics are stripped from breaks, and those that stand on no letter are left out: search compares without them.
"""

from __future__ import annotations

import re

from vaultwire.vault.search.text_forms import (
    fold_case,
    is_unspaced,
    is_word_character,
    non_ascii_characters,
    strip_diacritics,
)

_BREAK = "|"  # how the word for a break begins; no other word has this character
# So many characters of the code of a break are kept at its beginning and at its end. Longer ones are rows of dashes.
BREAK_END = 64

# A piece without spaces that is longer than this may contain a word too long for a text index: tantivy drops words over
# 65,530 bytes, and a folded character may take six bytes.
_MAX_PIECE = 5_000

# The vocabulary takes at most so many words of one note, because all of them are in memory. The largest note known has
# 30,000; a dump of numbers has a million.
_MOST_WORDS = 200_000
# Characters that are cut into words at a time when words are counted.
_PART = 1 << 18

# Folded text has no capital letters of ASCII, so these stand for other characters in the code of a break: three spaces, the
# character with which all breaks begin, any character that is no ASCII punctuation, by its number, and what was left out of a
# long one.
_CODES = {" ": "S", "\n": "R", "\t": "T", _BREAK: "V"}
_CODE_BEGINS, _CODE_ENDS = "X", "Z"
CUT_SHORT = "Y"
"""In the code of a break: here something was left out."""

_DIGITS = str.maketrans("0123456789abcdef", "ABCDEFGHIJKLMNOP")
_EDGE = "Q"  # beside a character that is a word of its own
_IN_BREAKS = r"\x00-\x1f!-/:-@A-PSTRVXZ[-^`{-\x7f"
# From a character that is no space on, because most spaces are between two words and nothing.
_BREAKS = re.compile(f"([{_IN_BREAKS}][{_IN_BREAKS} ]*)")
_DIACRITICS = ("\u0300", "\u036f")
_LOOSE_DIACRITICS = re.compile(f"(?:^|(?<=[{_IN_BREAKS}{_EDGE} ]))[{'-'.join(_DIACRITICS)}]+")
# A vault has a few thousand different breaks. More are computed again.
_MOST_BREAKS = 10_000


class _Cuts(dict[int, str]):
    """What each character that is not ASCII becomes before words are cut, for ``str.translate``. Computed on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if is_unspaced(character) and not character.isspace():  # U+3000 is unspaced and a space
            cut = _EDGE + character + _EDGE
        elif character.isascii() or is_word_character(character):
            cut = character
        else:
            cut = "".join(map(_code, strip_diacritics(character)))
        self[code] = cut
        return cut


class _BreakWords(dict[str, str]):
    """The word for each break, between spaces."""

    def __missing__(self, characters: str) -> str:
        word = "".join(map(_code, characters))
        if len(word) > 2 * BREAK_END:
            word = word[:BREAK_END] + CUT_SHORT + word[-BREAK_END:]
        word = f" {_BREAK}{word} "
        if len(self) < _MOST_BREAKS:
            self[characters] = word
        return word


def _code(character: str) -> str:
    """Return the code of a character in a break. What is code already stays as it is."""
    if character in _CODES:
        return _CODES[character]
    if character.isascii() and character.isprintable():
        return character
    return f"{_CODE_BEGINS}{f'{ord(character):x}'.translate(_DIGITS)}{_CODE_ENDS}"


_CUTS = _Cuts()
_BREAK_WORDS = _BreakWords()


def spaced_words(folded: str) -> str:
    """Return the words and breaks of a folded text, separated by spaces."""
    text = folded if folded.isascii() else _prepared(folded)
    pieces = _BREAKS.split(text.replace("  ", _CODES[" "] * 2))
    pieces[1::2] = map(_BREAK_WORDS.__getitem__, pieces[1::2])
    # A single space before a break belongs to it.
    return "".join(pieces).replace(f"  {_BREAK}", f" {_BREAK}{_CODES[' ']}").replace(_EDGE, " ")


def _prepared(folded: str) -> str:
    """Return the text with breaks in ASCII, edges around characters that are words, and no diacritics without a letter."""
    characters = non_ascii_characters(folded)
    others = [other for other in characters if _CUTS[ord(other)] != other]
    if not any(_EDGE in _CUTS[ord(other)] for other in others):
        # Dashes and quotation marks: a few kinds at most.
        for other in others:
            folded = folded.replace(other, _CUTS[ord(other)])
        text = folded
    else:
        text = folded.translate(_CUTS)
    if any(_DIACRITICS[0] <= character <= _DIACRITICS[1] for character in characters):
        text = _LOOSE_DIACRITICS.sub("", text)
    if _EDGE not in text:
        return text
    space = _CODES[" "]
    text = text.replace("  ", space * 2)
    return text.replace(f"{_EDGE} ", f"{_EDGE}{space}").replace(f" {_EDGE}", f"{space}{_EDGE}")


def folded_words(text: str) -> str:
    """Return the words and breaks of a text, folded, separated by spaces."""
    return spaced_words(fold_case(text))


def words_of(folded: str) -> list[str]:
    """Return the words and breaks of a folded text in order."""
    return [word for word in spaced_words(folded).split(" ") if word]


def is_break(word: str) -> bool:
    """Tell whether the word stands for a break."""
    return word.startswith(_BREAK)


def is_cut_short(word: str) -> bool:
    """Tell whether the word stands for all breaks with the same beginning and end."""
    return is_break(word) and CUT_SHORT in word


def code_of(word: str) -> str:
    """Return the code of a break's characters. The code of a part of a break is a part of the break's."""
    return word.removeprefix(_BREAK)


def has_too_many_words(words: str) -> bool:
    """Tell whether one note has too many different words for the index. ``words``: separated by spaces."""
    if len(words) <= 2 * _MOST_WORDS:
        return False
    seen: set[str] = set()
    for start in range(0, len(words), _PART):
        seen.update(words[start : start + _PART].split(" "))
        if len(seen) > _MOST_WORDS:
            return True
    return False


def has_endless_piece(text: str) -> bool:
    """Tell whether the text may contain a word that is too long for a text index."""
    # A piece that is too long fills at least one of these parts completely. Splitting the whole text takes fifty times as long.
    parts = (text[start : start + _MAX_PIECE // 2] for start in range(0, len(text), _MAX_PIECE // 2))
    if len(text) <= _MAX_PIECE or not any(part.split(None, 1) == [part] for part in parts):
        return False
    return any(len(piece) > _MAX_PIECE for piece in text.split())
