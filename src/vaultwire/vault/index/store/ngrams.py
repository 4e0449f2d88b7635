"""Marks on notes for the few characters that very many words hold.

What a person types may lie inside any word. A text index has to look up each word that holds it, at 5 to 10 us a word: 10 ms
and more for two characters that lie in a tenth of all words. But nearly every note holds those. So notes are marked with
the ngrams, as such characters are called, that they lack: hardly any, and all others are found.

Which ngrams these are is learned from notes that an index begins with, and holds for all it ever has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vaultwire.vault.index.store.tokenizer import BREAK
from vaultwire.vault.search.terms import bare_text

_LENGTHS = (1, 2, 3)
# Held by such a part of the words in use: in a vault with 30,000 words 220 ngrams, of which a note of 500 words lacks 6. To
# find out which takes 0.1 ms a note. With twice the share it takes 0.06, but a search for three words a third more; with
# half of it searches take the same.
_SHARE = 0.008
# With fewer words it is quicker to look each of them up.
_LEAST = 20
# In such a part of the notes: what fewer hold is found sooner by its words.
_USUAL = 0.9


class NgramFilter:
    """The ngrams of one index; none, if its notes have no marks."""

    def __init__(self, kept: str = "") -> None:
        """``kept`` is what ``kept`` of an earlier one gave."""
        self.kept = kept
        self._ngrams = kept.split()
        self._known = frozenset(self._ngrams)

    @classmethod
    def learn(cls, texts: Iterable[str]) -> NgramFilter:
        """Return the ngrams worth marking, going by some notes' words with blanks between them."""
        notes = list(texts)
        words = {word for note in notes for word in note.split()} - {BREAK}
        counted = Counter(ngram for word in words for ngram in _ngrams_of(word))
        least = max(_LEAST, _SHARE * len(words))
        # Those with diacritics are looked for without as well, and that is by words.
        ngrams = (ngram for ngram, count in counted.items() if count >= least and bare_text(ngram) == ngram)
        return cls(" ".join(sorted(ngram for ngram in ngrams if _share(ngram, notes) >= _USUAL)))

    def __contains__(self, text: str) -> bool:
        """Tell whether notes are marked for it."""
        return text in self._known

    def absent(self, words: str) -> list[str]:
        """Return the ngrams that no word holds. ``words``: with blanks between them."""
        return [ngram for ngram in self._ngrams if ngram not in words]

    def present(self, words: str) -> list[str]:
        """Return the ngrams that a word holds."""
        return [ngram for ngram in self._ngrams if ngram in words]


def _share(ngram: str, notes: list[str]) -> float:
    return sum(ngram in note for note in notes) / len(notes)


def _ngrams_of(word: str) -> set[str]:
    return {word[at : at + length] for length in _LENGTHS for at in range(len(word) - length + 1)}
