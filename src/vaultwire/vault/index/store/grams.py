"""Marks on notes for the few characters that very many words hold.

What a person types may lie inside any word. A text index has to look up each word that holds it, at 5 to 10 us a word: 10 ms
and more for two characters that lie in a tenth of all words. But nearly every note holds those. So notes are marked with
the grams, as such characters are called, that they lack: hardly any, and all others are found.

Which grams these are is learned from notes that an index begins with, and holds for all it ever has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vaultwire.vault.index.store.words import BREAK
from vaultwire.vault.search.text_forms import strip_diacritics

_LENGTHS = (1, 2, 3)
# Held by such a part of the words in use: in a vault with 30,000 words 220 grams, of which a note of 500 words lacks 6. To
# find out which takes 0.1 ms a note. With twice the share it takes 0.06, but a search for three words a third more; with
# half of it searches take the same.
_SHARE = 0.008
# With fewer words it is quicker to look each of them up.
_LEAST = 20
# In such a part of the notes: what fewer hold is found sooner by its words.
_USUAL = 0.9


class Grams:
    """The grams of one index; none, if its notes have no marks."""

    def __init__(self, kept: str = "") -> None:
        """``kept`` is what ``kept`` of an earlier one gave."""
        self.kept = kept
        self._grams = kept.split()
        self._known = frozenset(self._grams)

    @classmethod
    def learn(cls, texts: Iterable[str]) -> Grams:
        """Return the grams worth marking, going by some notes' words with blanks between them."""
        notes = list(texts)
        words = {word for note in notes for word in note.split()} - {BREAK}
        counted = Counter(gram for word in words for gram in _grams_of(word))
        least = max(_LEAST, _SHARE * len(words))
        # Those with diacritics are looked for without as well, and that is by words.
        grams = (gram for gram, count in counted.items() if count >= least and strip_diacritics(gram) == gram)
        return cls(" ".join(sorted(gram for gram in grams if _share(gram, notes) >= _USUAL)))

    def __contains__(self, text: str) -> bool:
        """Tell whether notes are marked for it."""
        return text in self._known

    def lacking(self, words: str) -> list[str]:
        """Return the grams that no word holds. ``words``: with blanks between them."""
        return [gram for gram in self._grams if gram not in words]

    def held(self, words: str) -> list[str]:
        """Return the grams that a word holds."""
        return [gram for gram in self._grams if gram in words]


def _share(gram: str, notes: list[str]) -> float:
    return sum(gram in note for note in notes) / len(notes)


def _grams_of(word: str) -> set[str]:
    return {word[at : at + length] for length in _LENGTHS for at in range(len(word) - length + 1)}
