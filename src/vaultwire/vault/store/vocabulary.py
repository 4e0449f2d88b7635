"""All words in use, to find those that hold what a person typed: Obsidian's search looks inside words, an index does not.

One long string to look through: 0.2 ms for 30,000 words. It may list words that are gone from every note; they find nothing.
"""

from __future__ import annotations

import threading

from vaultwire.vault.terms import bare_text

# What stands between a word's form without diacritics and the word; in no word.
_MARK = "|"


class Vocabulary:
    """A growing set of folded words. Not safe for two threads that add; one may add while others look."""

    def __init__(self, stored: str = "\n") -> None:
        """``stored`` is what ``stored`` of an earlier one gave."""
        self._lines = stored
        self._latest: list[str] = []  # lines not yet among them: joining them one by one would copy all each time
        self._joining = threading.Lock()
        self._added: set[str] = set()

    @property
    def stored(self) -> str:
        """The words as one text: a line each, between line ends; one with diacritics behind its bare form."""
        if self._latest:
            with self._joining:
                latest, self._latest = self._latest, []
                self._lines += "".join(latest)
        return self._lines

    def add(self, words: set[str]) -> set[str]:
        """Add words and return those that were not added before; what was there at the start may be among them."""
        new = words - self._added
        if new:
            self._added |= new
            self._latest += map(_line, new)
        return new

    def holding(self, bare: str) -> list[str]:
        """Return every word whose form without diacritics holds ``bare``, each once."""
        lines = self.stored
        find, find_back = lines.find, lines.rfind
        found: list[str] = []
        position = find(bare)
        while position >= 0:
            start = find_back("\n", 0, position) + 1
            end = find("\n", position)
            line = lines[start:end]
            if _MARK in line:
                form, _, word = line.partition(_MARK)
                if bare in form:  # not: in the word itself, or across the mark
                    found.append(word)
            else:
                found.append(line)
            position = find(bare, end)
        return found if not self._added else list(dict.fromkeys(found))


def _line(word: str) -> str:
    bare = word if word.isascii() else bare_text(word)
    return f"{word}\n" if bare == word else f"{bare}{_MARK}{word}\n"
