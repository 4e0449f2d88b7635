"""All words in use, to find those that hold what a person typed: Obsidian's search looks inside words, an index does not.

The words are one long string, with an index of every two and three characters in it: a few microseconds for a few hundred
words that hold a text of that length or more, out of a hundred thousand. Words that came into use since they were stored
stand at the end of the string, which is looked through. There may be words that are gone from every note; these find nothing.
"""

from __future__ import annotations

import sys
import threading
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from vaultwire.vault.terms import bare_text

# What stands between a word's form without diacritics and the word; in no word.
_MARK = "|"
# What stands between the strings where they are stored.
_APART = "\x00"
# So many characters are looked up at once: with more, most lists would have a line or two; with fewer, thousands.
_LENGTH = 3
# Whatever begins with a text stands before the text with this behind it.
_LAST = chr(sys.maxunicode)


class Stored(NamedTuple):
    """A vocabulary as it is stored: texts, and places in them as numbers of four bytes, the lowest first."""

    texts: str
    places: bytes


class Vocabulary:
    """A growing set of folded words. Not safe for two threads that add; one may add while others look."""

    def __init__(self, stored: Stored = Stored("", b"")) -> None:  # noqa: B008 - cannot be changed
        """``stored`` is what ``stored`` of an earlier one gave."""
        texts = [*stored.texts.split(_APART), "", "", "", ""]
        numbers = array("I", stored.places)
        if sys.byteorder == "big":
            numbers.byteswap()
        # Words of ASCII apart from the rest: one byte a letter, and what is not ASCII need not be sought among them.
        self._plain = _Lines(texts[0], texts[1], numbers)
        self._rest = _Lines(texts[2], texts[3], numbers[self._plain.numbers :])
        self._latest: list[str] = []  # lines not yet among them: joining them one by one would copy all each time
        self._joining = threading.Lock()
        self._added: set[str] = set()
        self._spellings: dict[str, list[str]] | None = None

    @property
    def stored(self) -> Stored:
        """The words, each once, and their index."""
        self._join()
        texts: list[str] = []
        numbers = array("I")
        for lines in (self._plain, self._rest):
            text = lines.each_once()
            keys, its_numbers = _index(text)
            texts += (text, keys)
            numbers += its_numbers
        if sys.byteorder == "big":
            numbers.byteswap()
        return Stored(_APART.join(texts), numbers.tobytes())

    def add(self, words: set[str]) -> set[str]:
        """Add words and return those that were not added before; what was there at the start may be among them."""
        new = words - self._added
        if new:
            self._added |= new
            with self._joining:
                self._latest += map(_line, new)
        return new

    def holding(self, bare: str) -> list[str]:
        """Return every word whose form without diacritics holds ``bare``, each once."""
        self._join()
        found = self._plain.holding(bare) if bare.isascii() else []
        for line in self._rest.holding(bare):
            form, mark, word = line.partition(_MARK)
            if bare in form:  # not: in the word itself, or across the mark
                found.append(word if mark else line)
        return found if not self._added else list(dict.fromkeys(found))

    def spellings(self, bare: str) -> list[str]:
        """Return every word with diacritics whose form without them is ``bare``."""
        self._join()
        found = self._spellings
        if found is None:
            found = {}
            for line in _lines_with(self._rest.text, _MARK, 0):
                form, _, word = line.partition(_MARK)
                if word not in found.setdefault(form, []):
                    found[form].append(word)
            self._spellings = found
        return found.get(bare, [])

    def _join(self) -> None:
        """Have the words added last among the others."""
        if not self._latest:
            return
        with self._joining:
            self._plain.text += "".join(line for line in self._latest if line.isascii())
            rest = "".join(line for line in self._latest if not line.isascii())
            if rest:
                self._rest.text += rest
                self._spellings = None
            self._latest = []


class _Lines:
    """One of the strings, a line for each word, with the index of the lines it began with."""

    def __init__(self, text: str, keys: str, numbers: array[int]) -> None:
        """``text``, ``keys``: as they were stored; ``numbers``: its own first, as ``_index`` gave them."""
        self.text = text or "\n"
        self._indexed = len(self.text) if keys else 1
        # The keys in their order, where each one's places begin and the last one's end, and the places.
        self._keys = keys
        self._starts = numbers[: len(keys) // _LENGTH + 1] if keys else array("I", [0])
        self._places = numbers[len(self._starts) : len(self._starts) + self._starts[-1]]
        self.numbers = len(self._starts) + len(self._places)

    def holding(self, bare: str) -> list[str]:
        """Return the lines that hold the text, and hold it before a mark."""
        text, find = self.text, self.text.find
        if len(bare) < _LENGTH - 1:
            return _lines_with(text, bare, 0)
        # A line that holds it twice is named twice.
        found = [text[place : find("\n", place)] for place in dict.fromkeys(self._places_of(bare))]
        if len(bare) > _LENGTH:
            found = [line for line in found if bare in line]
        return found + _lines_with(text, bare, self._indexed - 1)

    def _places_of(self, bare: str) -> Sequence[int]:
        """Return where the indexed lines begin that may hold the text, those of its rarest few characters."""
        if len(bare) < _LENGTH:
            keys = list(self._ranks)
            start, end = (self._starts[bisect_left(keys, key)] for key in (bare, bare + _LAST))
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

    @cached_property
    def _ranks(self) -> dict[str, int]:
        """Each key with its place among them, in their order. Made when first asked for: 2 ms for 10,000 keys."""
        keys = self._keys
        return {keys[at : at + _LENGTH]: at // _LENGTH for at in range(0, len(keys), _LENGTH)}

    def each_once(self) -> str:
        """Return the lines, each once, with a line's end before and after each."""
        return "\n".join(dict.fromkeys(["", *self.text.split("\n")])) + "\n"


def _index(text: str) -> tuple[str, array[int]]:
    """Return keys and numbers of the lines of a text: see ``_Lines``."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    place = 0
    for line in text.split("\n"):
        # The last key ends with what ends the word: whatever begins with its two characters holds them.
        for at in range(place, place + len(line.partition(_MARK)[0] if _MARK in line else line) - 1):
            places[text[at : at + _LENGTH]].append(place)
        place += len(line) + 1
    keys = sorted(places)
    starts = array("I", [0])
    all_places = array("I")
    for key in keys:
        all_places.extend(places[key])
        starts.append(len(all_places))
    return "".join(keys), starts + all_places


def _line(word: str) -> str:
    bare = word if word.isascii() else bare_text(word)
    return f"{word}\n" if bare == word else f"{bare}{_MARK}{word}\n"


def _lines_with(lines: str, text: str, start: int) -> list[str]:
    """Return the lines that hold the text, of those from ``start`` on."""
    find, find_back = lines.find, lines.rfind
    found: list[str] = []
    position = find(text, start)
    while position >= 0:
        end = find("\n", position)
        found.append(lines[find_back("\n", 0, position) + 1 : end])
        position = find(text, end)
    return found
