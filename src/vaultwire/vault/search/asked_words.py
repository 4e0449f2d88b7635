"""A word that a question asks for, and where words like it stand in a text. Pure. It knows no query and no note."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from vaultwire.vault.search.text_forms import is_full_word, is_unspaced, is_word_character

# Shorter words are found only as they are, and with an s.
_LEAST_PART = 5
# What differs of two forms of a word, at most.
_ENDING = 3
# What a form of a word counts, a longer word that begins with it, one that has it inside, and one that has its root.
_FORM, _BEGINNING, _INSIDE, _ROOT = 0.8, 0.5, 0.3, 0.15


class Word(NamedTuple):
    """A word that a question asks for: as written, as it is compared, and what it counts. A phrase is one."""

    text: str
    bare: str
    weight: float = 1.0
    is_phrase: bool = False
    is_request: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether it is found only as it is: a phrase, and a word of a script that puts no spaces between words."""
        return self.is_phrase or any(map(is_unspaced, self.bare))

    @property
    def has_parts(self) -> bool:
        """Whether it is found in other forms and inside longer words."""
        return len(self.bare) >= _LEAST_PART and not self.is_whole

    @property
    def root(self) -> str:
        """What all of its forms have in common."""
        if self.has_parts:
            return self.bare[: max(_LEAST_PART, len(self.bare) - _ENDING)]
        return self.bare if self.is_whole else self.bare.removesuffix("s") or self.bare

    def likeness(self, word: str) -> float:
        """Return what a word of a note counts for this one, from 0 to 1. The note's word has the root."""
        if word == self.bare:
            return 1.0
        if not self.has_parts:
            return _FORM if word.removesuffix("s") == self.root else 0.0
        same = _same(word, self.bare)
        if same >= _LEAST_PART and max(len(word), len(self.bare)) - same <= _ENDING:
            return _FORM
        return _BEGINNING if same == len(self.bare) else _INSIDE if self.bare in word else _ROOT


def _same(one: str, other: str) -> int:
    """Return with how many equal characters both begin."""
    return next(
        (at for at, (left, right) in enumerate(zip(one, other, strict=False)) if left != right),
        min(len(one), len(other)),
    )


def occurrences(word: Word, text: str) -> Iterator[tuple[int, float, bool]]:
    """Yield where words like this one begin in a text, what each counts, and whether it is a tag."""
    root = word.root
    position = text.find(root) if root else -1
    while position >= 0:
        start, end = position, position + len(root)
        if word.is_whole:
            if not word.is_phrase or is_full_word(text, start, end):
                yield start, 1.0, False
        else:
            while start and is_word_character(text[start - 1]):
                start -= 1
            while end < len(text) and is_word_character(text[end]):
                end += 1
            likeness = word.likeness(text[start:end])
            if likeness:
                yield start, likeness, text[start - 1 : start] == "#"
        position = text.find(root, max(end, position + 1))
