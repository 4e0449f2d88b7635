"""The tokenizer: cuts text into words for a text index, leaves encoded text out, and filters by runs of characters.

It knows no vocabulary and no note.

Exact answers rest on these rules. A run of letters, digits, marks and underscores is a word. A character of a script written
without spaces (Chinese, Japanese) is a word of its own. A single space between two words is nothing. Anything else between
them is a break, which is a word, too: a mark, and a code for each character. So words that are adjacent in the index are
adjacent in the note, with the same characters between them.

Diacritics are stripped from breaks, and those that stand on no letter are left out: search compares without them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from vaultwire.markdown.patterns import compile_pattern
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


# Encoded text in notes: drawings, pictures, keys. It is nothing that a person searches for, and its words are countless.
#
# The text index gets a note without the inside of its encoded text. A search for a text that may lie there
# looks into the bytes of these notes, and reads those that may have it. So it finds what looking into each note finds.
#
# Encoded text is lines of letters and digits without spaces, as base64, Excalidraw's ``compressed-json``, hexadecimal numbers
# and the data of ``data:`` addresses are. What has many signs between its letters is an address or the name of a heading.
# Minified JSON is as countless: long pieces without a space, in which one character in six is a sign of JSON. A text with
# spaces inside it is indexed.

_LEAST_LINE = 56  # lines of base64 have 64 characters or more, a last one may have less
_RUN = compile_pattern(r"[A-Za-z0-9+/=_-]{%d,}+(?:\n+[A-Za-z0-9+/=_-]{%d,}+)*+" % (_LEAST_LINE, _LEAST_LINE))  # noqa: UP031
_LEAST_JSON = 256
_JSON_RUN = compile_pattern(r"[!-~]{%d,}+" % _LEAST_JSON)  # noqa: UP031
_JSON_SIGN = re.compile(r'[]["{}:,]')
_LEAST_JSON_SIGNS = 6
_SIGN = re.compile(r"[+/=_-]")
# In base64 one character in 32 is a sign; in addresses and names one in six.
_LEAST_A_SIGN = 12
# A note with less of it is indexed whole: keys, checksums and a few long addresses have not many words.
_LEAST = 4096
_ENCODED_EDGE = 16
"""So many characters at each end of encoded text are indexed, for phrases that begin or end there."""

ANYTHING = b""
_CUT = "\n"
_LINE = re.compile(rb"[a-z0-9+/=_-]{%d}|[!-~]{%d}" % (_LEAST_LINE, _LEAST_JSON))
_STRETCH = re.compile(r"[!-~\n]{%d}" % _ENCODED_EDGE)  # noqa: UP031
_ALL_PLAIN = re.compile(r"[!-~\n]*")


def without_encoded(text: str) -> str:
    """Return a note's text without the inside of its encoded text; the same text if it has little of it."""
    if len(text) < _LEAST:
        return text
    runs = [run.span() for run in _RUN.finditer(text) if _is_encoded(run[0])]
    runs += [run.span() for run in _JSON_RUN.finditer(text) if _is_json(run[0])]
    runs.sort()
    if sum(end - start for start, end in runs) < _LEAST:
        return text
    pieces: list[str] = []
    kept = 0  # up to where the text is kept or left out already
    for start, end in runs:
        if end - _ENCODED_EDGE > max(start + _ENCODED_EDGE, kept):
            pieces += [text[kept : start + _ENCODED_EDGE], _CUT]
            kept = end - _ENCODED_EDGE
    return "".join(pieces) + text[kept:]


def _is_encoded(run: str) -> bool:
    return len(_SIGN.findall(run)) * _LEAST_A_SIGN <= len(run)


def _is_json(run: str) -> bool:
    return ("[" in run or "{" in run) and len(_JSON_SIGN.findall(run)) * _LEAST_JSON_SIGNS >= len(run)


def sought_inside(unaccented: str) -> bytes | None:
    """Return what to look for in notes with encoded text for a text that a search asks for, in lower case.

    None if it cannot lie in what ``without_encoded`` leaves out, nor reach into it; ``ANYTHING`` if only the search can tell.
    """
    if _ALL_PLAIN.fullmatch(unaccented) is None and _STRETCH.search(unaccented) is None:
        return None
    is_short = len(unaccented) < _ENCODED_EDGE and unaccented.isascii() and "\n" not in unaccented
    return unaccented.encode() if is_short else ANYTHING


def may_lie_inside(data: bytes, sought: Collection[bytes]) -> bool:
    """Tell whether one of the texts may lie in the encoded text of a note, given its bytes. It is never wrongly False.

    It takes a tenth of the time of matching the note.
    """
    if ANYTHING in sought:
        return True
    lower = data.lower()
    return any(_lies_inside(lower, text) for text in sought)


def _lies_inside(lower: bytes, text: bytes) -> bool:
    position = lower.find(text)
    while position >= 0:
        end = lower.find(b"\n", position)
        end = len(lower) if end < 0 else end
        if _LINE.search(lower, lower.rfind(b"\n", 0, position) + 1, end):
            return True
        position = lower.find(text, end)
    return False


# The n-gram filter: for n-grams that nearly all notes have, the text index stores which notes lack them.
#
# Typed text may lie inside any word. To find it, the text index looks up each word that contains it, at 5 to 10 µs a word. For
# one to three characters that lie in a tenth of all words that takes 10 ms and more. But nearly every note has such an n-gram
# in some word. So each note is stored with the common n-grams that are absent from it, a handful, and a search for one finds
# all notes but these. Measured with 10,000 notes, with and without the filter, median: one character 1.7 and 64 ms, two
# characters 1.5 and 12 ms, three words 1.6 and 5.5 ms. Storing it takes 0.09 ms a note.
#
# The filter is learned from the first notes of an index and stays the same as long as the index exists.

_LENGTHS = (1, 2, 3)
_PAIR = 2
# The share of all words that contain a common n-gram. 30,000 words give 220 n-grams, of which a note of 500 words lacks 6.
# With twice the share, storing takes 0.06 ms a note, but a search for three words takes a third longer; with half the share
# searches take the same.
_WORD_SHARE = 0.008
# With fewer words it is quicker to look up each of them.
_MIN_WORDS = 20
# The share of notes that contain a common n-gram. Rarer ones are found sooner by their words.
_NOTE_SHARE = 0.9


class NgramFilter:
    """The common n-grams of one index; none, if its notes are stored without."""

    def __init__(self, stored: str = "") -> None:
        """``stored``: the attribute ``stored`` of an earlier filter."""
        self.stored = stored
        self._ngrams = stored.split()
        self._known = frozenset(self._ngrams)
        # Most have two characters. Each two of these are looked for as one (see ``_pairs_of``).
        self._pairs = {ngram: _pairs_of(ngram)[0] for ngram in self._ngrams if len(ngram) == _PAIR and ngram.isascii()}
        self._others = [ngram for ngram in self._ngrams if ngram not in self._pairs]

    @classmethod
    def learn(cls, texts: Iterable[str]) -> NgramFilter:
        """Return the filter for notes like these. ``texts``: each the words of a note, separated by spaces."""
        notes = list(texts)
        words = {word for note in notes for word in note.split() if not is_break(word)}
        counted = Counter(ngram for word in words for ngram in _ngrams_of(word))
        min_count = max(_MIN_WORDS, _WORD_SHARE * len(words))
        # Search looks for n-grams with diacritics also without them, and that goes by words.
        ngrams = (ngram for ngram, count in counted.items() if count >= min_count and strip_diacritics(ngram) == ngram)
        return cls(" ".join(sorted(ngram for ngram in ngrams if _share(ngram, notes) >= _NOTE_SHARE)))

    def __contains__(self, text: str) -> bool:
        """Tell whether it is a common n-gram."""
        return text in self._known

    def absent(self, words: str) -> list[str]:
        """Return the common n-grams that no word contains. ``words``: separated by spaces."""
        absent = [ngram for ngram in self._others if ngram not in words]
        pairs = _pairs_of(words)
        return absent + [ngram for ngram, pair in self._pairs.items() if pair not in pairs]

    def present(self, words: str) -> list[str]:
        """Return the common n-grams that a word contains."""
        return [ngram for ngram in self._ngrams if ngram in words]


def _pairs_of(text: str) -> str:
    """Return a text with one character for each two that are side by side, the same for the same two, if these are ASCII.

    In a text of 3,000 characters 130 of them are found in half the time of two characters each: 30 us less a note, of 500 us.
    """
    data = text.encode("latin-1", "replace")
    data += b" " * (len(data) % 2)
    # Those at even places, then those at odd ones. No two ASCII characters make a surrogate.
    return data.decode("utf-16-le", "replace") + (data[1:] + b" ").decode("utf-16-le", "replace")


def _share(ngram: str, notes: list[str]) -> float:
    return sum(ngram in note for note in notes) / len(notes)


def _ngrams_of(word: str) -> set[str]:
    return {word[at : at + length] for length in _LENGTHS for at in range(len(word) - length + 1)}
