"""The words of a text index: how text is cut into them, what of it is left out, and all words of a vault. It knows no note.

Exact answers rest on these rules. A run of letters, digits, marks and underscores is a word. A character of a script written
without spaces (Chinese, Japanese) is a word of its own. A single space between two words is nothing. Anything else between
them is a break, which is a word, too: a mark, and a code for each character. So words that are adjacent in the index are
adjacent in the note, with the same characters between them.

Diacritics are stripped from breaks, and those that stand on no letter are left out: search compares without them.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Self

from vaultwire.markdown.patterns import compile_pattern
from vaultwire.vault.search.terms import (
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
# Characters that are cut into words at a time: a list of all words of a note of 10 MB takes 400 MB.
_PART = 1 << 16
# Before a word in ASCII that follows no word: nothing before it changes the words from there on.
_WORD_BEGINS = re.compile(r"(?<=[\x00-/:-@[-^`{-\x7f])[A-Za-z0-9]")
_SPACE = re.compile(" ")

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


def folded_parts(text: str) -> Iterator[str]:
    """Yield the words and breaks of a text, folded, separated by spaces, in parts that follow on each other."""
    return (spaced_words(fold_case(part)) for part in _parts(text, _WORD_BEGINS))


def folded_words(text: str) -> str:
    """Return these parts as one."""
    return "".join(folded_parts(text))


def word_parts(words: str) -> Iterator[str]:
    """Yield words that are separated by spaces in parts."""
    return _parts(words, _SPACE)


def _parts(text: str, boundary: re.Pattern[str]) -> Iterator[str]:
    """Yield a text in parts, each but the first from a boundary on."""
    start = 0
    while len(text) - start > _PART and (found := boundary.search(text, start + _PART)):
        yield text[start : found.start()]
        start = found.start()
    yield text[start:]


def words_of(folded: str) -> list[str]:
    """Return the words and breaks of a folded text in order."""
    return [word for word in spaced_words(folded).split(" ") if word]


def is_break(word: str) -> bool:
    """Tell whether the word stands for a break."""
    return word.startswith(_BREAK)


def code_of(word: str) -> str:
    """Return the code of a break's characters. The code of a part of a break is a part of the break's."""
    return word.removeprefix(_BREAK)


def distinct_words(words: str) -> set[str]:
    """Return the different words of a text. ``words``: separated by spaces."""
    distinct: set[str] = set()
    for part in word_parts(words):
        distinct.update(part.split())
    return distinct


def has_too_many_words(parts: Iterable[str]) -> bool:
    """Tell whether one note has too many different words for the index. ``parts``: its words, separated by spaces."""
    distinct: set[str] = set()
    for part in parts:
        distinct.update(part.split())
        if len(distinct) > _MOST_WORDS:
            return True
    return False


def has_endless_piece(text: str) -> bool:
    """Tell whether the text may contain a word that is too long for a text index."""
    return _may_have_piece(text, _MAX_PIECE) and any(len(piece) > _MAX_PIECE for piece in text.split())


def _may_have_piece(text: str, length: int) -> bool:
    """Tell whether the text may have so many characters without a space. Finding out by its words takes longer."""
    # They fill one of these parts: each has half of them.
    half = length // 2
    parts = (text[start : start + half] for start in range(0, len(text) - half + 1, half))
    return len(text) >= length and any(part.split(None, 1) == [part] for part in parts)


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
    if len(text) < _LEAST or not _may_have_piece(text, _LEAST_LINE):
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
        others, absent = self._others, self._pairs
        for part in word_parts(words):
            others = [ngram for ngram in others if ngram not in part]
            pairs = _pairs_of(part)
            absent = {ngram: pair for ngram, pair in absent.items() if pair not in pairs}
        return [*others, *absent]

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


# The vocabulary: all words of a vault, to find those that contain a text. Obsidian searches inside words, an index does not.
#
# The words are the lines of one text, which is searched whole: 0.2 ms for the words of 10,000 notes, 0.7 ms for those of
# 100,000. An index of three characters finds them in some microseconds, but takes 5 to 17 ms before the first search of a
# process. Some words may be gone from every note; they find nothing.

# A line of a word with diacritics is: the word without them, this mark, the word. No word has the mark.
_MARK = "\t"
# Between the ASCII words and the rest in the stored form.
_SEPARATOR = "\x00"


class Vocabulary:
    """A growing set of folded words. One thread may add while others search; not two threads that add."""

    def __init__(self, stored: str = "") -> None:
        """``stored``: the stored form of an earlier vocabulary (``stored_form``)."""
        plain, _, rest = stored.partition(_SEPARATOR)
        # ASCII words apart from the rest: they need one byte a letter, and searches for other texts can skip them.
        self._plain, self._rest = f"\n{plain}\n", f"\n{rest}\n"
        self._latest: list[str] = []  # words not yet in these: joining one by one would copy all each time
        self._joining = threading.Lock()
        self._added: set[str] = set()
        self._spellings: dict[str, list[str]] | None = None

    @property
    def words(self) -> set[str]:
        """All words."""
        self._join()
        return {_word(line) for text in (self._plain, self._rest) for line in text.split("\n")} - {""}

    def add(self, words: set[str]) -> set[str]:
        """Add words and return those that were not added before. Words of the stored form may be among them."""
        new = words - self._added
        if new:
            self._added |= new
            with self._joining:
                self._latest += new
        return new

    def containing(self, bare: str) -> list[str]:
        """Return every word that contains ``bare`` when its diacritics are left out, each once."""
        self._join()
        plain = _lines_with(self._plain, bare) if bare.isascii() else []
        return self._each_once(plain + self._rest_containing(bare))

    def beginning(self, bare: str) -> list[str]:
        """Return every word that begins with the text, each once. ``bare``: a text without diacritics, here and below."""
        self._join()
        plain = _lines_with(self._plain, f"\n{bare}") if bare.isascii() else []
        rest = map(_word, _lines_with(self._rest, f"\n{bare}"))
        return self._each_once([*plain, *(word for word in rest if word.startswith(bare))])

    def loosely_containing(self, bare: str) -> list[str]:
        """Return every word that contains the text only when its diacritics are left out, each once."""
        self._join()
        return self._each_once([word for word in self._rest_containing(bare) if bare not in word])

    def spellings(self, bare: str) -> list[str]:
        """Return every word with diacritics that is ``bare`` without them."""
        self._join()
        spellings = self._spellings
        if spellings is None:
            spellings = {}
            for line in _lines_with(self._rest, _MARK):
                form, _, word = line.partition(_MARK)
                if word not in spellings.setdefault(form, []):
                    spellings[form].append(word)
            self._spellings = spellings
        return spellings.get(bare, [])

    def _rest_containing(self, bare: str) -> list[str]:
        # Only before the mark: not in the word itself, and not across the mark.
        return [_word(line) for line in _lines_with(self._rest, bare) if bare in line.partition(_MARK)[0]]

    def _each_once(self, words: list[str]) -> list[str]:
        return words if not self._added else list(dict.fromkeys(words))

    def _join(self) -> None:
        """Move the words added last to the others."""
        if not self._latest:
            return
        with self._joining:
            plain, rest = _lines(self._latest)
            self._plain += "".join(f"{line}\n" for line in plain)
            if rest:
                self._rest += "".join(f"{line}\n" for line in rest)
                self._spellings = None
            self._latest = []


def stored_form(words: Iterable[str]) -> str:
    """Return the stored form of these words."""
    return _SEPARATOR.join("\n".join(sorted(lines)) for lines in _lines(words))


def _lines(words: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the lines of the words in ASCII, and those of all others."""
    plain: list[str] = []
    rest: list[str] = []
    for word in words:
        if word.isascii():
            plain.append(word)
        else:
            bare = strip_diacritics(word)
            rest.append(word if bare == word else f"{bare}{_MARK}{word}")
    return plain, rest


def _word(line: str) -> str:
    return line.rpartition(_MARK)[2]


def _lines_with(lines: str, text: str) -> list[str]:
    """Return the lines that contain the text. The text may begin with the newline before the line."""
    find, find_back = lines.find, lines.rfind
    found: list[str] = []
    position = find(text)
    while position >= 0:
        end = find("\n", position + 1)
        if end < 0:
            end = len(lines)
        found.append(lines[find_back("\n", 0, position + 1) + 1 : end])
        position = find(text, end)
    return found


# The places of a phrase: for each typed word, the words of a vocabulary that may stand there.


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
    places_of_words: list[_Found] = []
    is_exact = True
    for at, word in enumerate(words):
        may_be_longer = (is_open and not is_unspaced(word)) or is_break(word)
        opens_before, opens_after = may_be_longer and at == 0, may_be_longer and at == last
        if is_break(word):
            # Of a long break the index knows the ends.
            is_exact &= CUT_SHORT not in word and not ((opens_before or opens_after) and len(code_of(word)) > BREAK_END)
            place = _place_of_break(word, vocabulary, opens_before=opens_before, opens_after=opens_after)
            places_of_words.append(_Found(place, None, place))
        elif opens_before or opens_after:
            places_of_words.append(_open_place(word, vocabulary, opens_before=opens_before))
        else:
            bare = strip_diacritics(word)
            others = [] if is_unspaced(word) else [bare, *vocabulary.spellings(bare)]
            places_of_words.append(_Found.of([word], list(dict.fromkeys([word, *others])), word, "{}"))
    written = [place.written for place in places_of_words]
    every = [place.every for place in places_of_words]
    # The first loose place is here, and any place after it may be loose.
    loose = [
        (*written[:at], place.loose, *every[at + 1 :])
        for at, place in enumerate(places_of_words)
        if place.loose is not None
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
