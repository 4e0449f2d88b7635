"""The queries for the engine, and the right notes for each, found in a slow and simple way.

Only right answers make a figure meaningful. This module shares no code with the engine: it reads the files, removes case and
diacritics, and searches for the query as text.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from bench import engine_vault

_SEED = 20260729
# Enough to tell a word in 1 % of the notes from one in 2 %.
_SAMPLE = 2000
_WORD = re.compile(r"[^\W\d_\u3000-\u9fff]{2,}")
_THREE_WORDS = re.compile(rf"(?<!\w){_WORD.pattern} {_WORD.pattern} {_WORD.pattern}(?!\w)")
_ACROSS_SENTENCES = re.compile(rf"(?<!\w){_WORD.pattern}\. {_WORD.pattern}(?!\w)")
_CJK = re.compile(r"[\u4e00-\u9fff]+")
_MARKS = re.compile(r"[\u0300-\u036f]")


class Query(NamedTuple):
    """A search: as the tool takes it, as ripgrep takes it, and the text that a matching note or its name holds."""

    text: str
    for_ripgrep: str
    held: tuple[str, ...]  # folded; all of them
    shape: re.Pattern[str] | None = None  # a pattern that the text must match, too


class Corpus:
    """A vault's notes in memory."""

    def __init__(self, vault: Path) -> None:
        self.paths = sorted(path.relative_to(vault).as_posix() for path in vault.rglob("*.md"))
        self._folded: list[tuple[str, str]] = []
        chance = random.Random(_SEED)  # noqa: S311 - every run must have the same queries
        sampled = set(chance.sample(self.paths, min(_SAMPLE, len(self.paths))))
        self.sample: list[str] = []
        for path in self.paths:
            text = (vault / path).read_bytes().decode()
            self._folded.append((_fold(Path(path).stem), _fold(text)))
            if path in sampled:
                self.sample.append(unicodedata.normalize("NFC", text).lower())
        self._folded_sample = [note for note, path in zip(self._folded, self.paths, strict=True) if path in sampled]

    def found(self, query: Query) -> set[str]:
        """Return the paths of the notes that match."""
        return {path for path, note in zip(self.paths, self._folded, strict=True) if _holds(note, query)}

    def share(self, query: Query) -> float:
        """Return the approximate share of the notes that the query finds."""
        return sum(_holds(note, query) for note in self._folded_sample) / len(self._folded_sample)


def draw(corpus: Corpus, count: int) -> dict[str, list[Query]]:
    """Return ``count`` different queries of each class, or as many as there are; the same ones for the same vault."""
    chance = random.Random(_SEED)  # noqa: S311 - as above
    words = [_WORD.findall(text) for text in corpus.sample]
    spread = Counter(word for note in words for word in set(note))
    names = set(engine_vault.names(len(corpus.paths)))

    def spread_words(least: float, most: float) -> Iterable[Query]:
        likely = sorted(word for word, notes in spread.items() if least <= notes / len(corpus.sample) <= most)
        # More notes may contain it inside longer words.
        return (query for query in map(_word, _shuffled(likely, chance)) if least <= corpus.share(query) <= most)

    def notes() -> Iterator[int]:
        while True:
            yield chance.randrange(len(words))

    cjk = [run for text in corpus.sample for run in _CJK.findall(text) if len(run) >= 2]
    across = sorted({phrase for text in corpus.sample for phrase in _ACROSS_SENTENCES.findall(text)})
    cjk_pairs = sorted({run[place : place + 2] for run in cjk for place in range(len(run) - 1)})
    drawn: dict[str, Iterable[Query]] = {
        "common word": spread_words(0.2, 0.4),
        "word in 1 %": spread_words(0.005, 0.02),
        "rare word": map(_word, _shuffled(sorted(names.intersection(spread)), chance)),
        "6 characters inside": _pieces(words, notes(), 6),
        "3 characters inside": _pieces(words, notes(), 3),
        "phrase": (_phrase(chance.choice(_THREE_WORDS.findall(corpus.sample[note]))) for note in notes()),
        "three words": (_all(chance.sample(sorted(set(words[note])), 3), spread.__getitem__) for note in notes()),
        "two CJK characters": map(_word, _shuffled(cjk_pairs, chance)),
        "phrase with a full stop": map(_phrase, _shuffled(across, chance)),
        "tag": (_tag(tag) for tag in _shuffled(engine_vault.tags(), chance)),
    }
    return {kind: _first(count, queries) for kind, queries in drawn.items()}


def _word(word: str) -> Query:
    return Query(word, word, (_fold(word),))


def _pieces(words: list[list[str]], notes: Iterable[int], length: int) -> Iterator[Query]:
    """Yield substrings of words that are neither a prefix nor a suffix of one of these."""
    chance = random.Random(_SEED)  # noqa: S311 - as above
    for note in notes:
        word = chance.choice(words[note])
        if len(word) >= length + 2:
            start = chance.randint(1, len(word) - length - 1)
            yield _word(word[start : start + length])


def _phrase(phrase: str) -> Query:
    folded = _fold(phrase)
    return Query(f'"{phrase}"', phrase, (folded,), re.compile(rf"(?<!\w){re.escape(folded)}(?!\w)"))


def _all(words: list[str], spread: Callable[[str], int]) -> Query:
    # ripgrep gets one of the words; the rarest one is the fastest.
    return Query(" ".join(words), min(words, key=spread), tuple(map(_fold, words)))


def _tag(tag: str) -> Query:
    folded = _fold(tag)
    # In prose after a space, in the frontmatter as a list item; the tag itself or a child of it.
    shape = re.compile(rf"(?:(?:^|\s)#|^  - ){re.escape(folded)}(?:/\S+)?$", re.MULTILINE)
    return Query(f"tag:#{tag}", tag, (folded,), shape)


def _holds(note: tuple[str, str], query: Query) -> bool:
    name, text = note
    if not all(held in text or held in name for held in query.held):
        return False
    return query.shape is None or any(map(query.shape.search, note))


def _fold(text: str) -> str:
    """Return the text without case and diacritics."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text.casefold())))


def _shuffled(texts: list[str], chance: random.Random) -> list[str]:
    return chance.sample(texts, len(texts))


def _first(count: int, queries: Iterable[Query]) -> list[Query]:
    """Return the first ``count`` queries of different text."""
    found: dict[str, Query] = {}
    for query in queries:
        found.setdefault(query.text, query)
        if len(found) == count:
            break
    return list(found.values())
