"""The tokenizer: cuts text into words for a text index. It knows no vocabulary and no note.

Exact answers rest on these rules. A run of letters, digits, marks and underscores is a word. A character of a script written
without spaces (Chinese, Japanese) is a word of its own. A single space between two words is nothing. Anything else between
them is a break, which is a word, too. So a text that a person types without spaces lies inside one word, or across breaks
that it contains; and words that are adjacent in the index are adjacent in the note.
"""

from __future__ import annotations

import re

from vaultwire.vault.search.text_forms import (
    fold_case,
    is_unspaced,
    is_word_character,
    non_ascii_characters,
)

BREAK = "|"
"""The word for a break. It is in no other word."""

# A piece without spaces that is longer than this may contain a word too long for a text index: tantivy drops words over
# 65,530 bytes, FTS5 cuts them to 32,768, and a folded character may take six bytes.
_MAX_PIECE = 5_000

# The vocabulary takes at most so many words of one note, because all of them are in memory. The largest note known has
# 30,000; a dump of numbers has a million.
_MOST_WORDS = 200_000
# Characters that are cut into words at a time when words are counted.
_PART = 1 << 18

_ASCII_CUTS = bytes(
    ord(BREAK) if chr(code).isascii() and chr(code) != " " and not is_word_character(chr(code)) else code
    for code in range(256)
)
_BREAK, _SPACED_BREAK = BREAK.encode(), f" {BREAK} ".encode()
_EDGE = "\x01"  # beside a character that is a word of its own; in notes this character is a break
# Diacritics on a character that is a word of its own: search compares without diacritics, so nothing is left of them.
_LOOSE_MARKS = re.compile(f"{_EDGE}[\u0300-\u036f]+")


class _Cuts(dict[int, str]):
    """What each character becomes when words are cut, for ``str.translate``. Computed on first use."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if is_unspaced(character) and not character.isspace():  # U+3000 is unspaced and a space
            cut = _EDGE + character + _EDGE
        else:
            cut = character if character == " " or is_word_character(character) else BREAK
        self[code] = cut
        return cut


_CUTS = _Cuts()


def spaced_words(folded: str) -> str:
    """Return the words and breaks of a folded text, separated by spaces."""
    if not folded.isascii():
        others = [other for other in non_ascii_characters(folded) if _CUTS[ord(other)] != other]
        if any(_CUTS[ord(other)] != BREAK for other in others):
            cut = _LOOSE_MARKS.sub(_EDGE, folded.translate(_CUTS)).replace("  ", BREAK)
            cut = cut.replace(_EDGE + " ", BREAK).replace(" " + _EDGE, BREAK).replace(_EDGE, " ")
            return cut.replace(BREAK, f" {BREAK} ")
        # Dashes and quotation marks: a few kinds at most, and then the text is cut like ASCII.
        for other in others:
            folded = folded.replace(other, BREAK)
    data = folded.encode().translate(_ASCII_CUTS)
    return data.replace(b"  ", _BREAK).replace(_BREAK, _SPACED_BREAK).decode()


def folded_words(text: str) -> str:
    """Return the words and breaks of a text, folded, separated by spaces."""
    return spaced_words(fold_case(text))


def words_of(folded: str) -> list[str]:
    """Return the words and breaks of a folded text in order."""
    return [word for word in spaced_words(folded).split(" ") if word]


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
