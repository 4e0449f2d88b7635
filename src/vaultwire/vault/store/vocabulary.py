"""All words in use, to find those that hold what a person typed: Obsidian's search looks inside words, an index does not.

Two long strings to look through, words with rare characters first: whatever holds one stands near the beginning, so most of
a string need not be looked through. 0.1 ms for 30,000 words. They may list words that are gone from every note; these find
nothing.
"""

from __future__ import annotations

import threading
from collections import Counter

from vaultwire.vault.terms import bare_text

# What stands between a word's form without diacritics and the word; in no word.
_MARK = "|"
# What stands between the two strings where they are stored.
_APART = "\x00"


class Vocabulary:
    """A growing set of folded words. Not safe for two threads that add; one may add while others look."""

    def __init__(self, stored: str = "") -> None:
        """``stored`` is what ``stored`` of an earlier one gave."""
        # Words of ASCII apart from the rest: one byte a letter, and what is not ASCII need not be sought among them.
        plain, _, rest = stored.partition(_APART)
        self._plain = _Lines(plain)
        self._rest = _Lines(rest)
        self._latest: list[str] = []  # lines not yet among them: joining them one by one would copy all each time
        self._joining = threading.Lock()
        self._added: set[str] = set()
        self._spellings: dict[str, list[str]] | None = None

    @property
    def stored(self) -> str:
        """The words as one text, each once."""
        self._join()
        return _APART.join((self._plain.ordered(), self._rest.ordered()))

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
            for line in _lines_with(self._rest.text, _MARK, 0, None):
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
    """One of the strings: a line for each word. Those that were stored are ordered, those added since stand behind them."""

    def __init__(self, stored: str) -> None:
        """``stored`` is what ``ordered`` of an earlier one gave."""
        ends, _, lines = stored.partition("\n")
        self.text = f"\n{lines}"
        # Each character with where the last line stands that holds none rarer than it.
        self._ends = {end[0]: int(end[1:]) for end in ends.split()}
        self._ordered = max(self._ends.values(), default=1)

    def holding(self, bare: str) -> list[str]:
        """Return the lines that hold the text, and hold its characters before a mark."""
        # A line's rarest character is as rare as the rarest of any text it holds, or rarer.
        end = min(self._ends.get(character, 0) for character in bare)
        return [*_lines_with(self.text, bare, 0, end), *_lines_with(self.text, bare, self._ordered, None)]

    def ordered(self) -> str:
        """Return the lines, each once, by their rarest character, with where those of each character end before them."""
        count = Counter(self.text)
        del count["\n"], count[_MARK]
        groups: dict[str, list[str]] = {
            character: [] for character in sorted(count, key=lambda each: (count[each], each))
        }
        rank = {character: rank for rank, character in enumerate(groups)}.__getitem__
        bare: list[str] = []  # nothing is left of a mark alone
        for line in dict.fromkeys(self.text.split("\n")):
            form = line.partition(_MARK)[0]
            if form:
                groups[min(form, key=rank)].append(line)
            elif line:
                bare.append(line)
        ends: list[str] = []
        end = 1
        for character, group in groups.items():
            end += sum(map(len, group)) + len(group)
            ends.append(f"{character}{end}")
        return "\n".join((" ".join(ends), *(line for group in groups.values() for line in group), *bare, ""))


def _line(word: str) -> str:
    bare = word if word.isascii() else bare_text(word)
    return f"{word}\n" if bare == word else f"{bare}{_MARK}{word}\n"


def _lines_with(lines: str, text: str, start: int, stop: int | None) -> list[str]:
    """Return the lines that hold the text, of those from ``start`` on that end before ``stop``."""
    find, find_back = lines.find, lines.rfind
    found: list[str] = []
    position = find(text, start, stop)
    while position >= 0:
        end = find("\n", position)
        found.append(lines[find_back("\n", 0, position) + 1 : end])
        position = find(text, end, stop)
    return found
