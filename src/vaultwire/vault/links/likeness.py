"""Nearly this name: which names may be meant by what somebody typed or wrote. Pure."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Generic, TypeAlias, TypeVar

from vaultwire.vault.disk.paths import fold
from vaultwire.vault.search.text_forms import strip_diacritics

# Finds names by what somebody typed: the name, its beginning, its words, a part of it, or any of these with typos.
#
# Neither case nor diacritics matter. Pure: the caller knows whose names they are and which of them count.

_LINE_END = re.compile("\n")
_WORD = re.compile(r"[^\W_]+")
# Shorter words are too similar to each other: "cat", "car". A word of eight letters has enough left after two typos.
_LEAST_FOR_ONE_TYPO, _LEAST_FOR_TWO_TYPOS = 4, 8
# With two typos, this many letters at one end must be right: to compare all words would take ten times as long.
_SURE_LETTERS = 2

_EXACT, _NAME_BEGINS, _WORDS_BEGIN, _WITHIN, _WORDS_WITHIN, _TYPOS, _SCATTERED = range(7)

_Quality: TypeAlias = tuple[int, int, int]
"""How well a name matches, the smaller the better: rank, distance from the typed text, length."""
_Match: TypeAlias = tuple[_Quality, int]
"""How well a name matches, and its number."""


class FuzzyNames:
    """Names in their order, in one text: 50,000 names take 3 MB, and a search of them a few milliseconds."""

    def __init__(self, folded: str) -> None:
        """``folded`` are the folded names, one a line; nothing for no names."""
        self._text = "\n"
        self._starts = array("L")
        if folded:
            self.add(folded)

    def __len__(self) -> int:
        """Return how many names there are, those that were removed included: they keep their numbers."""
        return len(self._starts)

    def __getitem__(self, entry: int) -> str:
        """Return a name as it is compared; nothing in place of one that was removed."""
        start = self._starts[entry]
        return self._text[start : self._text.index("\n", start)]

    def add(self, folded: str) -> None:
        """Add folded names, one a line. They get the next numbers."""
        before = len(self._text)
        self._text += f"{strip_diacritics(folded)}\n"
        line_ends = _LINE_END.finditer(self._text, before - 1, len(self._text) - 1)
        self._starts.extend(found.end() for found in line_ends)
        if "_words" in self.__dict__:
            self._words.add(_WORD.findall(self._text, before))

    def remove(self, entries: Iterable[int]) -> None:
        """Remove names. The other names keep their numbers."""
        kept: list[str] = []
        position = 0
        for start, length in sorted((self._starts[entry], len(self[entry])) for entry in set(entries)):
            # Line ends in place of the letters: no other name moves, and nothing matches an empty line.
            kept += [self._text[position:start], "\n" * length]
            position = start + length
        self._text = "".join([*kept, self._text[position:]])

    def match(self, typed: str, allows: Callable[[int], bool] | None = None) -> list[int]:
        """Return the numbers of the names that match, best first; ties by length, then in their order.

        First comes the name itself, then names that begin with the typed text, names with words that begin with its words,
        names that contain it, names that contain its words. If there are none: names with one typo in a word, or two in a
        long word. If there are none of these either: names with the typed letters in this order, as Obsidian's quick
        switcher accepts abbreviations. ``allows`` says which names count.
        """
        return [entry for _, entry in self.ranked(typed, allows)]

    def ranked(self, typed: str, allows: Callable[[int], bool] | None = None) -> list[_Match]:
        """Return the numbers that ``match`` returns, each with how well the name matches."""
        sought = " ".join(strip_diacritics(fold(typed)).split())
        if not sought:
            return []
        found = self._plain(sought, allows) or self._with_typos(sought, allows) or self._scattered(sought, allows)
        found.sort()
        return found

    def _plain(self, sought: str, allows: Callable[[int], bool] | None) -> list[_Match]:
        words = sought.split(" ")
        beginning, *beginnings = [re.compile(rf"(?<![^\W_]){re.escape(word)}").search for word in words]
        found: list[_Match] = []
        for entry, name in self._names_with(max(words, key=len)):
            if allows is not None and not allows(entry):
                continue
            if name.startswith(sought):
                rank = _NAME_BEGINS if len(name) > len(sought) else _EXACT
            elif beginning(name) and all(search(name) for search in beginnings):
                rank = _WORDS_BEGIN
            elif sought in name:
                rank = _WITHIN
            elif all(word in name for word in words):
                rank = _WORDS_WITHIN
            else:
                continue
            found.append(((rank, 0, len(name)), entry))
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

    # ------------------------------------------------------------------ with typos, or abbreviated

    @cached_property
    def _words(self) -> _Words:
        return _Words(_WORD.findall(self._text))

    def _with_typos(self, sought: str, allows: Callable[[int], bool] | None) -> list[_Match]:
        """Return the names that have, for each typed word, the same word or one with typos."""
        meant = [_MeantWord(word) for word in dict.fromkeys(_WORD.findall(sought))]
        # Only the names with the rarest of them are searched for the others.
        near = min((word.among(self._words) for word in meant), key=_cost, default={})
        found: dict[int, int] = {}
        for word in near:
            for entry, name in self._names_with(word):
                if entry not in found and (allows is None or allows(entry)):
                    typos = _typos_in(name, meant)
                    if typos is not None:
                        found[entry] = typos
        return [((_TYPOS, typos, len(self[entry])), entry) for entry, typos in found.items()]

    def _scattered(self, sought: str, allows: Callable[[int], bool] | None) -> list[_Match]:
        """Return the names that have the typed letters in this order; the closer together, the better."""
        letters = sought.replace(" ", "")
        # Possessive quantifiers: there is no backtracking, so a name that does not match takes linear time.
        pattern = re.compile(
            re.escape(letters[0]) + "".join(rf"[^\n{re.escape(letter)}]*+{re.escape(letter)}" for letter in letters[1:])
        )
        found: list[_Match] = []
        position = 0
        while (match := pattern.search(self._text, position)) is not None:
            entry = bisect_right(self._starts, match.start()) - 1
            if allows is None or allows(entry):
                found.append(((_SCATTERED, match.end() - match.start(), len(self[entry])), entry))
            position = self._text.index("\n", match.end())
        return found


def _cost(near: Mapping[str, int]) -> int:
    """Return what it costs to search for these words. To go through all names once costs as much as to compare 500."""
    return 500 * len(near) + sum(near.values())


class _Words:
    """Words, found by their first or last letters."""

    def __init__(self, words: list[str]) -> None:
        self.uses: Counter[str] = Counter()
        self._beginning: dict[str, list[str]] = {}
        self._ending: dict[str, list[str]] = {}
        self.add(words)

    def add(self, words: list[str]) -> None:
        """Add words. None is ever removed: a word that no name has any more only costs a vain search."""
        new = set(words).difference(self.uses)
        self.uses.update(words)
        for word in new:
            self._beginning.setdefault(word[:_SURE_LETTERS], []).append(word)
            self._ending.setdefault(word[-_SURE_LETTERS:], []).append(word)

    def alike(self, begin: str, end: str) -> Iterator[str]:
        """Yield the words that may begin or end so; some come twice."""
        for letters, words in self._beginning.items():
            if letters.startswith(begin[:_SURE_LETTERS]):
                yield from words
        for letters, words in self._ending.items():
            if letters.endswith(end[-_SURE_LETTERS:]):
                yield from words


class _MeantWord:
    """A typed word, and which words may be meant by it."""

    def __init__(self, word: str) -> None:
        self._word = word
        length = len(word)
        self._most = 0 if length < _LEAST_FOR_ONE_TYPO else 1 if length < _LEAST_FOR_TWO_TYPOS else 2
        # One typo changes at most two neighbouring letters, so on one side half of the other letters are right.
        sure = (length - 1) // 2 if self._most == 1 else _SURE_LETTERS if self._most else length
        self._begin, self._end = word[:sure], word[length - sure :]

    def among(self, words: _Words) -> dict[str, int]:
        """Return those of these words that may be meant, each with its number of uses."""
        if not self._most:
            return {self._word: words.uses[self._word]} if self._word in words.uses else {}
        alike = words.alike(self._begin, self._end)
        return {other: words.uses[other] for other in alike if self.typos(other) is not None}

    def typos(self, other: str) -> int | None:
        """Return the number of typos if the other word may be meant, else None."""
        if not (other.startswith(self._begin) or other.endswith(self._end)):
            return None
        if abs(len(other) - len(self._word)) > self._most:
            return None
        typos = edit_distance(self._word, other, self._most)
        return typos if typos <= self._most else None


def _typos_in(name: str, meant: list[_MeantWord]) -> int | None:
    """Return the typos of all these words together, if a name has each of them or one like it, else None."""
    words = _WORD.findall(name)
    total = 0
    for each in meant:
        fewest = min((typos for word in words if (typos := each.typos(word)) is not None), default=None)
        if fewest is None:
            return None
        total += fewest
    return total


def edit_distance(one: str, other: str, most: int) -> int:
    """Return how many letters must be added, left out, replaced or swapped with the next one to make ``other`` of ``one``.

    Any number above ``most`` means more than that. This is the optimal string alignment distance: no letter is changed twice.
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
        if min(row) > most and min(before) > most:  # both rows: a swap skips one
            return most + 1
    return row[-1]


_SIGNS = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"\d+")
# Letters of a name in which a typing error may be.
_LEAST_FOR_TYPO = 5
# So many of the letters that are in names are tried in place of a wrong one: enough for any alphabet.
_MOST_LETTERS = 80
# A name that only begins so is what was meant if it is not much longer.
_MOST_LONGER = 3
_LOOKED_AT = 20

_Named = TypeVar("_Named")


class Names(Generic[_Named]):
    """The letters of all names, each with what has such a name."""

    def __init__(self, named: dict[str, list[_Named]]) -> None:
        self.named = named
        self._sorted = sorted(named)
        uses = Counter(character for letters in self._sorted for character in letters if not character.isdigit())
        self._alphabet = [character for character, _ in uses.most_common(_MOST_LETTERS)]

    def near(self, letters: str) -> set[str]:
        """Return the names that are the same, have one letter more, less or another, or begin so, or with which it begins.

        To make all that have one letter more, less or another and to look them up takes 0.3 ms; to compare all names of a
        large vault, a hundred times as long.
        """
        found = {each for each in self._one_typo(letters) if each in self.named} | {letters} & self.named.keys()
        start = bisect_left(self._sorted, letters)
        while start < len(self._sorted) and self._sorted[start].startswith(letters) and len(found) < _LOOKED_AT:
            found.add(self._sorted[start])
            start += 1
        return found | {letters[:end] for end in range(_LEAST_FOR_TYPO, len(letters))} & self.named.keys()

    def _one_typo(self, letters: str) -> Iterator[str]:
        if len(letters) < _LEAST_FOR_TYPO - 1:
            return
        for at in range(len(letters) + 1):
            before, after = letters[:at], letters[at:]
            yield before + after[1:]
            yield before + after[1:2] + after[:1] + after[2:]
            for character in self._alphabet:
                yield before + character + after
                yield before + character + after[1:]


SAME, TYPO, BEGINS, UNLIKE = range(4)


def letters_of(name: str) -> str:
    """Return a name without what most people do not type right: signs, spaces, case, accents."""
    return _SIGNS.sub("", strip_diacritics(fold(name)))


def likeness_of(one: str, other: str) -> int:
    """Return how like two names are. Names with different numbers mean different things."""
    if not one or not other or _DIGITS.findall(one) != _DIGITS.findall(other):
        return UNLIKE
    if one == other:
        return SAME
    if min(len(one), len(other)) >= _LEAST_FOR_TYPO and edit_distance(one, other, 1) <= 1:
        return TYPO
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) >= _LEAST_FOR_TYPO and longer.startswith(shorter) and len(longer) <= _MOST_LONGER * len(shorter):
        return BEGINS
    return UNLIKE
