"""All words in use, to find those that hold what a person typed: Obsidian's search looks inside words, an index does not.

Two long strings to look through: 0.2 ms for 30,000 words. They may list words that are gone from every note; these find
nothing.
"""

from __future__ import annotations

import threading

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
        self._plain = plain or "\n"
        self._rest = rest or "\n"
        self._latest: list[str] = []  # lines not yet among them: joining them one by one would copy all each time
        self._joining = threading.Lock()
        self._added: set[str] = set()
        self._spellings: dict[str, list[str]] | None = None

    @property
    def stored(self) -> str:
        """The words as one text, each once."""
        self._join()
        plain, rest = (dict.fromkeys(lines.split("\n")) for lines in (self._plain, self._rest))
        return _APART.join("\n" + "".join(f"{line}\n" for line in lines if line) for lines in (plain, rest))

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
        found = _lines_with(self._plain, bare) if bare.isascii() else []
        for line in _lines_with(self._rest, bare):
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
            for line in _lines_with(self._rest, _MARK):
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
            self._plain += "".join(line for line in self._latest if line.isascii())
            rest = "".join(line for line in self._latest if not line.isascii())
            if rest:
                self._rest += rest
                self._spellings = None
            self._latest = []


def _line(word: str) -> str:
    bare = word if word.isascii() else bare_text(word)
    return f"{word}\n" if bare == word else f"{bare}{_MARK}{word}\n"


def _lines_with(lines: str, text: str) -> list[str]:
    """Return the lines that hold the text."""
    find, find_back = lines.find, lines.rfind
    found: list[str] = []
    position = find(text)
    while position >= 0:
        end = find("\n", position)
        found.append(lines[find_back("\n", 0, position) + 1 : end])
        position = find(text, end)
    return found
