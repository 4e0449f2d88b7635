"""FuzzyNames against what somebody typed of one: exactly, its beginning, its words, a part of it, and with slips of the pen.

Case and diacritics do not matter. Pure: whose the names are, and which notes may be found at all, the caller knows.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeAlias

from vaultwire.vault.disk.paths import fold
from vaultwire.vault.search.text_forms import strip_diacritics

_LINE_END = re.compile("\n")
_WORD = re.compile(r"[^\W_]+")
# Words of fewer letters are too close to one another: "cat", "car". Twice as long, two slips still leave most of it.
_LEAST_FOR_A_SLIP, _LEAST_FOR_TWO = 4, 8
# With two slips, so many letters at one end are taken to be right: all words would take ten times as long to compare.
_SURE_LETTERS = 2

_EXACT, _BEGINS, _WORDS_BEGIN, _WITHIN, _WORDS_WITHIN, _SLIPS, _SCATTERED = range(7)

_Match: TypeAlias = tuple[int, int, int, int]
"""How a name matches, the smaller the better: rank, how far it is from what was typed, its length, its number."""


class FuzzyNames:
    """FuzzyNames in their order, in one text: 50,000 take 3 MB, and looking through them a few milliseconds."""

    def __init__(self, folded: str) -> None:
        """Take up folded names, a line each."""
        self._text = f"\n{strip_diacritics(folded)}\n"
        self._starts = array("L", (found.end() for found in _LINE_END.finditer(self._text, 0, len(self._text) - 1)))

    def match(self, typed: str, allows: Callable[[int], bool] | None = None) -> list[int]:
        """Return the numbers of the names that match, best first; equals by length, then in their order.

        First the name itself, then names that begin with what was typed, have words that begin with its words, hold it,
        or hold its words. Only if there is none: names with a slip of the pen in a word, or two in a long one. And only
        if there is none of these either: names that have the letters typed in their order, as Obsidian's quick switcher
        takes abbreviations. ``allows`` says which names count.
        """
        wanted = " ".join(strip_diacritics(fold(typed)).split())
        if not wanted:
            return []
        found = self._plain(wanted, allows) or self._slipped(wanted, allows) or self._scattered(wanted, allows)
        found.sort()
        return list(dict.fromkeys(entry for *_, entry in found))

    def _plain(self, wanted: str, allows: Callable[[int], bool] | None) -> list[_Match]:
        words = wanted.split(" ")
        beginning, *beginnings = [re.compile(rf"(?<![^\W_]){re.escape(word)}").search for word in words]
        found: list[_Match] = []
        for entry, name in self._names_with(max(words, key=len)):
            if allows is not None and not allows(entry):
                continue
            if name.startswith(wanted):
                rank = _BEGINS if len(name) > len(wanted) else _EXACT
            elif beginning(name) and all(search(name) for search in beginnings):
                rank = _WORDS_BEGIN
            elif wanted in name:
                rank = _WITHIN
            elif all(word in name for word in words):
                rank = _WORDS_WITHIN
            else:
                continue
            found.append((rank, 0, len(name), entry))
        return found

    def _names_with(self, part: str) -> Iterator[tuple[int, str]]:
        text = self._text
        position = text.find(part)
        while position >= 0:
            entry = bisect_right(self._starts, position) - 1
            start = self._starts[entry]
            end = text.index("\n", position)
            yield entry, text[start:end]
            position = text.find(part, end)

    # ------------------------------------------------------------------ not quite

    @cached_property
    def _words(self) -> list[str]:
        return sorted(set(_WORD.findall(self._text)))

    def _slipped(self, wanted: str, allows: Callable[[int], bool] | None) -> list[_Match]:
        """Return the names that have for each word typed one like it."""
        distances: dict[int, int] | None = None
        for word in _WORD.findall(wanted):
            here: dict[int, int] = {}
            for near, slips in self._near(word):
                whole = re.compile(rf"(?<![^\W_]){near}(?![^\W_])")
                for entry, name in self._names_with(near):
                    if slips < here.get(entry, slips + 1) and whole.search(name):
                        here[entry] = slips
            distances = (
                here
                if distances is None
                else {entry: slips + here[entry] for entry, slips in distances.items() if entry in here}
            )
        return [
            (_SLIPS, slips, self._length(entry), entry)
            for entry, slips in (distances or {}).items()
            if allows is None or allows(entry)
        ]

    def _near(self, word: str) -> Iterator[tuple[str, int]]:
        """Yield the words in use that may have been meant, each with how many slips away it is."""
        length = len(word)
        most = 0 if length < _LEAST_FOR_A_SLIP else 1 if length < _LEAST_FOR_TWO else 2
        # One slip touches two neighbouring letters at most: what is left on one side is half of the others.
        sure = (length - 1) // 2 if most == 1 else _SURE_LETTERS if most else length
        begin, end = word[:sure], word[length - sure :]
        for other in self._words:
            if (other.startswith(begin) or other.endswith(end)) and abs(len(other) - length) <= most:
                slips = edit_distance(word, other, most)
                if slips <= most:
                    yield other, slips

    def _scattered(self, wanted: str, allows: Callable[[int], bool] | None) -> list[_Match]:
        """Return the names that have the letters typed in their order, those first where they stand closest."""
        letters = wanted.replace(" ", "")
        # Possessive: from each place there is one way to go on, so a name that does not match is left in linear time.
        pattern = re.compile(
            re.escape(letters[0]) + "".join(rf"[^\n{re.escape(letter)}]*+{re.escape(letter)}" for letter in letters[1:])
        )
        found: list[_Match] = []
        position = 0
        while (match := pattern.search(self._text, position)) is not None:
            entry = bisect_right(self._starts, match.start()) - 1
            if allows is None or allows(entry):
                found.append((_SCATTERED, match.end() - match.start(), self._length(entry), entry))
            position = self._text.index("\n", match.end())
        return found

    def _length(self, entry: int) -> int:
        end = self._starts[entry + 1] if entry + 1 < len(self._starts) else len(self._text)
        return end - 1 - self._starts[entry]


def edit_distance(one: str, other: str, most: int) -> int:
    """Return how many letters must be put in, left out, exchanged or swapped with the next to make one word of the other.

    More than ``most`` is just more. (Optimal string alignment: no letter is touched twice.)
    """
    before: list[int] = []
    row = list(range(len(other) + 1))
    for line, letter in enumerate(one, 1):
        row_above, before_above = row, before
        row, before = [line], row_above
        for column, against in enumerate(other, 1):
            cost = min(row_above[column] + 1, row[-1] + 1, row_above[column - 1] + (letter != against))
            if line > 1 and column > 1 and letter == other[column - 2] and one[line - 2] == against:
                cost = min(cost, before_above[column - 2] + 1)
            row.append(cost)
        if min(row) > most and min(before) > most:  # both: a swap reaches over one row
            return most + 1
    return row[-1]
