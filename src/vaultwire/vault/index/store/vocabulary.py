"""The vocabulary: all words of a vault, to find those that contain a text. Obsidian searches inside words, an index does not.

The words are sorted, with an index of all two and three characters in them. To find a few hundred words out of a hundred
thousand takes some microseconds. Words that were added since they were stored are in one string, which is
searched whole. Some words may be gone from every note; they find nothing.
"""

from __future__ import annotations

import sys
import threading
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, partial
from itertools import accumulate
from typing import NamedTuple

from vaultwire.vault.search.text_forms import strip_diacritics

# A line of a word with diacritics is: the word without them, this mark, the word. No word has the mark.
_MARK = "\t"
# Separates the strings in the stored form.
_SEPARATOR = "\x00"
# The length of the index's keys. With longer keys most lists would have a line or two, with shorter ones thousands.
_LENGTH = 3
# Characters that are split into lines at a time.
_PART = 1 << 16
# All texts that begin with a text sort before the text followed by this.
_LAST = chr(sys.maxunicode)


class Stored(NamedTuple):
    """The stored form of a vocabulary: texts, and places in them as little-endian numbers of four bytes."""

    texts: str
    places: bytes


class Vocabulary:
    """A growing set of folded words. One thread may add while others search; not two threads that add."""

    def __init__(self, stored: Stored = Stored("", b"")) -> None:  # noqa: B008 - cannot be changed
        """``stored``: the attribute ``stored`` of an earlier vocabulary."""
        texts = [*stored.texts.split(_SEPARATOR), "", "", "", ""]
        numbers = array("I", stored.places)
        if sys.byteorder == "big":
            numbers.byteswap()
        # ASCII words apart from the rest: they need one byte a letter, and searches for other texts can skip them.
        self._plain = _Lines(texts[0], texts[1], numbers)
        self._rest = _Lines(texts[2], texts[3], numbers[self._plain.numbers :])
        self._latest: list[str] = []  # lines not yet in these: joining one by one would copy all each time
        self._joining = threading.Lock()
        self._added: set[str] = set()
        self._spellings: dict[str, list[str]] | None = None

    @property
    def stored(self) -> Stored:
        """The stored form: all words, each once, and their index."""
        self._join()
        return _to_stored(self._plain.each_once(), self._rest.each_once(), is_indexed=True)

    def add(self, words: set[str]) -> set[str]:
        """Add words and return those that were not added before. Words of the stored form may be among them."""
        new = words - self._added
        if new:
            self._added |= new
            with self._joining:
                self._latest += [f"{_line(word)}\n" for word in new]
        return new

    def containing(self, bare: str) -> list[str]:
        """Return every word that contains ``bare`` when its diacritics are left out, each once."""
        self._join()
        found = self._plain.containing(bare) if bare.isascii() else []
        return self._each_once(found + self._rest_containing(bare))

    def beginning(self, bare: str) -> list[str]:
        """Return every word that begins with the text, each once. ``bare``: a text without diacritics, here and below."""
        self._join()
        found = self._plain.beginning(bare) if bare.isascii() else []
        rest = map(_word, self._rest.beginning(bare))
        return self._each_once([*found, *(word for word in rest if word.startswith(bare))])

    def loosely_containing(self, bare: str) -> list[str]:
        """Return every word that contains the text only when its diacritics are left out, each once."""
        self._join()
        return self._each_once([word for word in self._rest_containing(bare) if bare not in word])

    def _rest_containing(self, bare: str) -> list[str]:
        # Only before the mark: not in the word itself, and not across the mark.
        return [_word(line) for line in self._rest.containing(bare) if bare in line.partition(_MARK)[0]]

    def _each_once(self, words: list[str]) -> list[str]:
        return words if not self._added else list(dict.fromkeys(words))

    def spellings(self, bare: str) -> list[str]:
        """Return every word with diacritics that is ``bare`` without them."""
        self._join()
        found = self._spellings
        if found is None:
            found = {}
            for line in self._rest.containing(_MARK):
                form, _, word = line.partition(_MARK)
                if word not in found.setdefault(form, []):
                    found[form].append(word)
            self._spellings = found
        return found.get(bare, [])

    def _join(self) -> None:
        """Move the words added last to the others."""
        if not self._latest:
            return
        with self._joining:
            self._plain.latest += "".join(line for line in self._latest if line.isascii())
            rest = "".join(line for line in self._latest if not line.isascii())
            if rest:
                self._rest.latest += rest
                self._spellings = None
            self._latest = []


class _Lines:
    """One text with a line for each word: sorted lines with an index, and the lines added since."""

    def __init__(self, text: str, keys: str, numbers: array[int]) -> None:
        """``text`` and ``keys`` as stored; ``numbers`` begins with those that ``_index`` returned for them."""
        self._text, self.latest = (text, "\n") if keys else ("", f"\n{text}\n")
        self._key_text = keys
        # Where the places of each key begin, and the end of the last ones; then the places: numbers of lines.
        self._starts = numbers[: len(keys) // _LENGTH + 1] if keys else array("I", [0])
        self._places = numbers[len(self._starts) : len(self._starts) + self._starts[-1]]
        self.numbers = len(self._starts) + len(self._places)

    @cached_property
    def _begins(self) -> array[int]:
        """Where each line begins, and one behind the end of the last. Made on first use: 2 ms for 30,000 words.

        A list of all lines would take 16 MB for the words of 100,000 notes, these take one. To cut out a line takes 0.1 us.
        """
        return array("I", accumulate(map((1).__add__, _line_lengths(self._text)), initial=0))

    def _line_at(self, place: int) -> str:
        return self._text[self._begins[place] : self._begins[place + 1] - 1]

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(self._key_text[at : at + _LENGTH] for at in range(0, len(self._key_text), _LENGTH))

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {key: rank for rank, key in enumerate(self._keys)}

    def containing(self, bare: str) -> list[str]:
        """Return the lines that contain the text; indexed lines only if they contain it before a mark."""
        text, begins = self._text, self._begins
        if len(bare) < _LENGTH - 1:
            return _lines_with(text, bare) + _lines_with(self.latest, bare)
        # The index names a line twice if it contains the key twice.
        places = dict.fromkeys(self._places_of(bare))
        found = [text[begins[place] : begins[place + 1] - 1] for place in places]
        if len(bare) > _LENGTH:
            found = [line for line in found if bare in line]
        return found + _lines_with(self.latest, bare)

    def beginning(self, bare: str) -> list[str]:
        """Return the lines that begin with the text."""
        places = range(len(self._begins) - 1)
        first, end = (bisect_left(places, text, key=self._line_at) for text in (bare, bare + _LAST))
        lines = self._text[self._begins[first] : self._begins[end] - 1].split("\n") if first < end else []
        return lines + _lines_with(self.latest, f"\n{bare}")

    def _places_of(self, bare: str) -> Sequence[int]:
        """Return the indexed lines that may contain the text: those with the rarest key in it."""
        if len(bare) < _LENGTH:
            start, end = (self._starts[bisect_left(self._keys, key)] for key in (bare, bare + _LAST))
            return self._places[start:end]
        rank_of, starts = self._ranks.get, self._starts
        start, end = 0, len(self._places)
        for at in range(len(bare) - _LENGTH + 1):
            rank = rank_of(bare[at : at + _LENGTH])
            if rank is None:
                return ()
            if starts[rank + 1] - starts[rank] < end - start:
                start, end = starts[rank], starts[rank + 1]
        return self._places[start:end]

    def each_once(self) -> list[str]:
        """Return all lines sorted, each once."""
        return sorted({*self._text.split("\n"), *self.latest.split("\n")} - {""})


def stored_form(words: Iterable[str], *, is_indexed: bool) -> Stored:
    """Return the stored form of these words. Without an index it is made sooner, and searched whole."""
    lines = sorted(map(_line, words))
    plain = [line for line in lines if line.isascii()]
    return _to_stored(plain, [line for line in lines if not line.isascii()], is_indexed=is_indexed)


def _to_stored(*parts: list[str], is_indexed: bool) -> Stored:
    texts: list[str] = []
    numbers = array("I")
    for lines in parts:
        keys, its_numbers = _index(lines if is_indexed else [])
        texts += ("\n".join(lines), keys)
        numbers += its_numbers
    if sys.byteorder == "big":
        numbers.byteswap()
    return Stored(_SEPARATOR.join(texts), numbers.tobytes())


def _index(lines: list[str]) -> tuple[str, array[int]]:
    """Return the index of the lines: keys and numbers. See ``_Lines``."""
    # Arrays take half the memory of lists.
    places: defaultdict[str, array[int]] = defaultdict(partial(array, "I"))
    for place, line in enumerate(lines):
        # The last key ends with the line's end: a search for two characters looks for all keys that begin with them.
        ended = f"{line}\n"
        for at in range(len(line.partition(_MARK)[0] if _MARK in line else line) - 1):
            places[ended[at : at + _LENGTH]].append(place)
    keys = sorted(places)
    starts = array("I", [0])
    all_places = array("I")
    for key in keys:
        all_places.extend(places[key])
        starts.append(len(all_places))
    return "".join(keys), starts + all_places


def _line(word: str) -> str:
    bare = word if word.isascii() else strip_diacritics(word)
    return word if bare == word else f"{bare}{_MARK}{word}"


def _word(line: str) -> str:
    return line.rpartition(_MARK)[2]


def _line_lengths(text: str) -> Iterator[int]:
    """Yield the length of each line, a part of the text at a time: to split it whole would take 60 bytes a line."""
    start = 0
    while start < len(text):
        end = text.find("\n", start + _PART)
        part = text[start:end] if end >= 0 else text[start:]
        yield from map(len, part.split("\n"))
        start += len(part) + 1


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
