"""The n-gram filter: for n-grams that nearly all notes have, the text index stores which notes lack them.

Typed text may lie inside any word. To find it, the text index looks up each word that contains it, at 5 to 10 µs a word. For
one to three characters that lie in a tenth of all words that takes 10 ms and more. But nearly every note has such an n-gram
in some word. So each note is stored with the common n-grams that are absent from it, a handful, and a search for one finds
all notes but these. Measured with 10,000 notes, with and without the filter, median: one character 1.7 and 64 ms, two
characters 1.5 and 12 ms, three words 1.6 and 5.5 ms. Storing it takes 0.09 ms a note.

The filter is learned from the first notes of an index and stays the same as long as the index exists.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from vaultwire.vault.index.store.tokenizer import is_break
from vaultwire.vault.search.text_forms import strip_diacritics

_LENGTHS = (1, 2, 3)
_PAIR = 2
# The share of all words that contain a common n-gram. 30,000 words give 220 n-grams, of which a note of 500 words lacks 6.
# With twice the share, storing takes 0.06 ms a note, but a search for three words takes a third longer; with half the share
# searches take the same.
_WORD_SHARE = 0.008
# With fewer words it is quicker to look up each of them.
_MIN_WORDS = 20
# The share of notes that contain a common n-gram. Rarer ones are found sooner by their words.
_NOTE_SHARE = 0.9


class NgramFilter:
    """The common n-grams of one index; none, if its notes are stored without."""

    def __init__(self, stored: str = "") -> None:
        """``stored``: the attribute ``stored`` of an earlier filter."""
        self.stored = stored
        self._ngrams = stored.split()
        self._known = frozenset(self._ngrams)
        # Most have two characters. Each two of these are looked for as one (see ``_pairs_of``).
        self._pairs = {ngram: _pairs_of(ngram)[0] for ngram in self._ngrams if len(ngram) == _PAIR and ngram.isascii()}
        self._others = [ngram for ngram in self._ngrams if ngram not in self._pairs]

    @classmethod
    def learn(cls, texts: Iterable[str]) -> NgramFilter:
        """Return the filter for notes like these. ``texts``: each the words of a note, separated by spaces."""
        notes = list(texts)
        words = {word for note in notes for word in note.split() if not is_break(word)}
        counted = Counter(ngram for word in words for ngram in _ngrams_of(word))
        min_count = max(_MIN_WORDS, _WORD_SHARE * len(words))
        # Search looks for n-grams with diacritics also without them, and that goes by words.
        ngrams = (ngram for ngram, count in counted.items() if count >= min_count and strip_diacritics(ngram) == ngram)
        return cls(" ".join(sorted(ngram for ngram in ngrams if _share(ngram, notes) >= _NOTE_SHARE)))

    def __contains__(self, text: str) -> bool:
        """Tell whether it is a common n-gram."""
        return text in self._known

    def absent(self, words: str) -> list[str]:
        """Return the common n-grams that no word contains. ``words``: separated by spaces."""
        absent = [ngram for ngram in self._others if ngram not in words]
        pairs = _pairs_of(words)
        return absent + [ngram for ngram, pair in self._pairs.items() if pair not in pairs]

    def present(self, words: str) -> list[str]:
        """Return the common n-grams that a word contains."""
        return [ngram for ngram in self._ngrams if ngram in words]


def _pairs_of(text: str) -> str:
    """Return a text with one character for each two that are side by side, the same for the same two, if these are ASCII.

    In a text of 3,000 characters 130 of them are found in half the time of two characters each: 30 us less a note, of 500 us.
    """
    data = text.encode("latin-1", "replace")
    data += b" " * (len(data) % 2)
    # Those at even places, then those at odd ones. No two ASCII characters make a surrogate.
    return data.decode("utf-16-le", "replace") + (data[1:] + b" ").decode("utf-16-le", "replace")


def _share(ngram: str, notes: list[str]) -> float:
    return sum(ngram in note for note in notes) / len(notes)


def _ngrams_of(word: str) -> set[str]:
    return {word[at : at + length] for length in _LENGTHS for at in range(len(word) - length + 1)}
