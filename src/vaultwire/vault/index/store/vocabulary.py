"""All words in use, to find those that hold what a person typed: Obsidian's search looks inside words, an index does not.

The words are kept in their order, with an index of every two and three characters in them: a few microseconds for a few
hundred words that hold a text of that length or more, out of a hundred thousand. Words that came into use since they were
stored stand in one string, which is looked through. There may be words that are gone from every note; these find nothing.
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

from vaultwire.vault.search.text_forms import strip_diacritics

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
        for each in (self._plain, self._rest):
            lines = each.each_once()
            keys, its_numbers = _index(lines)
            texts += ("\n".join(lines), keys)
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
        return self._each_once(found + self._rest_holding(bare))

    def beginning(self, bare: str) -> list[str]:
        """Return every word that begins with the text, each once. ``bare``: without diacritics, here and below."""
        self._join()
        found = self._plain.beginning(bare) if bare.isascii() else []
        rest = map(_word, self._rest.beginning(bare))
        return self._each_once([*found, *(word for word in rest if word.startswith(bare))])

    def loosely_holding(self, bare: str) -> list[str]:
        """Return every word that holds the text only where its diacritics are left out, each once."""
        self._join()
        return self._each_once([word for word in self._rest_holding(bare) if bare not in word])

    def _rest_holding(self, bare: str) -> list[str]:
        # Not: in the word itself, or across the mark.
        return [_word(line) for line in self._rest.holding(bare) if bare in line.partition(_MARK)[0]]

    def _each_once(self, words: list[str]) -> list[str]:
        return words if not self._added else list(dict.fromkeys(words))

    def spellings(self, bare: str) -> list[str]:
        """Return every word with diacritics whose form without them is ``bare``."""
        self._join()
        found = self._spellings
        if found is None:
            found = {}
            for line in self._rest.holding(_MARK):
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
            self._plain.latest += "".join(line for line in self._latest if line.isascii())
            rest = "".join(line for line in self._latest if not line.isascii())
            if rest:
                self._rest.latest += rest
                self._spellings = None
            self._latest = []


class _Lines:
    """One of the texts, a line for each word: in their order, with an index, and those that came since."""

    def __init__(self, text: str, keys: str, numbers: array[int]) -> None:
        """``text``, ``keys``: as they were stored; ``numbers``: its own first, as ``_index`` gave them."""
        self._text, self.latest = (text, "\n") if keys else ("", f"\n{text}\n")
        self._key_text = keys
        # Where each key's places begin and the last one's end, and the places: which lines they are.
        self._starts = numbers[: len(keys) // _LENGTH + 1] if keys else array("I", [0])
        self._places = numbers[len(self._starts) : len(self._starts) + self._starts[-1]]
        self.numbers = len(self._starts) + len(self._places)

    @cached_property
    def _ordered(self) -> tuple[str, ...]:
        """Made when first asked for, as the next two: 2 ms for 30,000 words. A list Python would look through for cycles."""
        return tuple(self._text.split("\n")) if self._text else ()

    @cached_property
    def _keys(self) -> tuple[str, ...]:
        return tuple(self._key_text[at : at + _LENGTH] for at in range(0, len(self._key_text), _LENGTH))

    @cached_property
    def _ranks(self) -> dict[str, int]:
        return {key: rank for rank, key in enumerate(self._keys)}

    def holding(self, bare: str) -> list[str]:
        """Return the lines that hold the text, and hold it before a mark."""
        lines = self._ordered
        if len(bare) < _LENGTH - 1:
            return [line for line in lines if bare in line] + _lines_with(self.latest, bare)
        # A line that holds it twice is named twice.
        found = [lines[place] for place in dict.fromkeys(self._places_of(bare))]
        if len(bare) > _LENGTH:
            found = [line for line in found if bare in line]
        return found + _lines_with(self.latest, bare)

    def beginning(self, bare: str) -> list[str]:
        """Return the lines that begin with the text."""
        lines = self._ordered
        found = lines[bisect_left(lines, bare) : bisect_left(lines, bare + _LAST)]
        return [*found, *_lines_with(self.latest, f"\n{bare}")]

    def _places_of(self, bare: str) -> Sequence[int]:
        """Return which of the lines with an index may hold the text: those that hold its rarest few characters."""
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
        """Return the lines in their order, each once."""
        return sorted({*self._ordered, *self.latest.split("\n")} - {""})


def _index(lines: list[str]) -> tuple[str, array[int]]:
    """Return keys and numbers of the lines: see ``_Lines``."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, line in enumerate(lines):
        # The last key ends with what ends the word: whatever begins with its two characters holds them.
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
    return f"{word}\n" if bare == word else f"{bare}{_MARK}{word}\n"


def _word(line: str) -> str:
    return line.rpartition(_MARK)[2]


def _lines_with(lines: str, text: str) -> list[str]:
    """Return the lines that hold the text; it may begin with the end of the line before."""
    find, find_back = lines.find, lines.rfind
    found: list[str] = []
    position = find(text)
    while position >= 0:
        end = find("\n", position + 1)
        found.append(lines[find_back("\n", 0, position + 1) + 1 : end])
        position = find(text, end)
    return found
