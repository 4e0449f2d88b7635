"""The vocabulary: all words of a vault, to find those that contain a text. Obsidian searches inside words, an index does not.

The words are the lines of one text, which is searched whole: 0.2 ms for the words of 10,000 notes, 0.7 ms for those of
100,000. An index of three characters finds them in some microseconds, but takes 5 to 17 ms before the first search of a
process. Some words may be gone from every note; they find nothing.
"""

from __future__ import annotations

import re
import threading
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Self

from vaultwire.vault.index.tokenizer import BREAK_END, code_of, is_break, is_cut_short
from vaultwire.vault.search.text_forms import is_unspaced, non_ascii_characters, strip_diacritics

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
