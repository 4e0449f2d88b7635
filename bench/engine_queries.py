"""The queries for the engine, drawn from the words of the vault: words, phrases, OR, groups, -not, tags.

``engine_patterns`` has those that only the text of a note can answer. The same vault has the same queries in every run.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from bench import engine_vault
from bench.engine_corpus import Corpus, Note, Query, fold, has

_SEED = 20260729
WORD = re.compile(r"[^\W\d_\u3000-\u9fff]{2,}")
_THREE_WORDS = re.compile(rf"(?<!\w){WORD.pattern} {WORD.pattern} {WORD.pattern}(?!\w)")
_TWO_WORDS = re.compile(rf"(?<!\w)(?=({WORD.pattern}) ({WORD.pattern})(?!\w))")
_ACROSS_SENTENCES = re.compile(rf"(?<!\w){WORD.pattern}\. {WORD.pattern}(?!\w)")
_CJK = re.compile(r"[\u4e00-\u9fff]+")
_COMMON = 0.2  # a word in so many of the notes is common


class Words:
    """The words of the sampled notes: of each note as written without case, and in how many notes each is."""

    def __init__(self, corpus: Corpus) -> None:
        self.texts = [note.text.lower() for note in corpus.sample]
        self.by_note = [WORD.findall(text) for text in self.texts]
        self.spread = Counter(word for note in self.by_note for word in set(note))
        self.common = sorted(word for word, notes in self.spread.items() if notes >= _COMMON * len(self.texts))


def draw(corpus: Corpus, count: int) -> dict[str, list[Query]]:
    """Return ``count`` different queries of each class, or as many as there are."""
    chance = random.Random(_SEED)  # noqa: S311 - every run must have the same queries
    words = Words(corpus)
    names = set(engine_vault.names(len(corpus.paths)))

    def spread_words(least: float, most: float) -> Iterable[Query]:
        likely = sorted(word for word, notes in words.spread.items() if least <= notes / len(corpus.sample) <= most)
        # More notes may contain it inside longer words.
        return (query for query in map(word_query, shuffled(likely, chance)) if least <= corpus.share(query) <= most)

    def notes() -> Iterator[int]:
        while True:
            yield chance.randrange(len(words.texts))

    def drawn_words(count: int) -> list[str]:
        """Return words as often as they are written: many of them are in most notes."""
        return [chance.choice(words.by_note[number]) for number, _ in zip(notes(), range(count), strict=False)]

    cjk = [run for text in words.texts for run in _CJK.findall(text) if len(run) >= 2]
    across = sorted({phrase for text in words.texts for phrase in _ACROSS_SENTENCES.findall(text)})
    cjk_pairs = sorted({run[place : place + 2] for run in cjk for place in range(len(run) - 1)})
    common_pairs = _common_pairs(words)
    drawn: dict[str, Iterable[Query]] = {
        "common word": spread_words(0.2, 0.4),
        "word in 1 %": spread_words(0.005, 0.02),
        "rare word": map(word_query, shuffled(sorted(names.intersection(words.spread)), chance)),
        "6 characters inside": _pieces(words.by_note, notes(), 6),
        "3 characters inside": _pieces(words.by_note, notes(), 3),
        "phrase": (_phrase(chance.choice(_THREE_WORDS.findall(words.texts[note]))) for note in notes()),
        "phrase of common words": map(_phrase, shuffled(common_pairs, chance)),
        "phrase with a full stop": map(_phrase, shuffled(across, chance)),
        "three words": (
            _all(chance.sample(sorted(set(words.by_note[note])), 3), words.spread.__getitem__) for note in notes()
        ),
        "OR": (_either(drawn_words(2)) for _ in notes()),
        "group": (_group(drawn_words(4)) for _ in notes()),
        "-not": (_without(drawn_words(2)) for _ in notes()),
        "two CJK characters": map(word_query, shuffled(cjk_pairs, chance)),
        "tag": (_tag(tag) for tag in shuffled(engine_vault.tags(), chance)),
    }
    return {kind: first(count, queries) for kind, queries in drawn.items()}


def word_query(word: str) -> Query:
    """Return the search for a word."""
    folded = fold(word)
    return Query(word, _ripgrep(word), lambda note: has(note, folded))


def shuffled(texts: Sequence[str], chance: random.Random) -> list[str]:
    """Return the texts in another order."""
    return chance.sample(list(texts), len(texts))


def first(count: int, queries: Iterable[Query]) -> list[Query]:
    """Return the first ``count`` queries of different text, or fewer if there are no more."""
    found: dict[str, Query] = {}
    for query, _ in zip(queries, range(20 * count), strict=False):
        found.setdefault(query.text, query)
        if len(found) == count:
            break
    return list(found.values())


def _ripgrep(*words: str) -> tuple[str, ...]:
    return ("-i", "-F", *(part for word in words for part in ("-e", word)))


def _pieces(words: list[list[str]], notes: Iterable[int], length: int) -> Iterator[Query]:
    """Yield substrings of words that are neither a prefix nor a suffix of one of these."""
    chance = random.Random(_SEED)  # noqa: S311 - as above
    for note in notes:
        word = chance.choice(words[note])
        if len(word) >= length + 2:
            start = chance.randint(1, len(word) - length - 1)
            yield word_query(word[start : start + length])


def _common_pairs(words: Words) -> list[str]:
    common = set(words.common)
    pairs = {
        pair for text in words.texts for pair in _TWO_WORDS.findall(text) if pair[0] in common and pair[1] in common
    }
    return sorted(map(" ".join, pairs))


def _phrase(phrase: str) -> Query:
    folded = fold(phrase)
    shape = re.compile(rf"(?<!\w){re.escape(folded)}(?!\w)")

    def matches(note: Note) -> bool:
        return has(note, folded) and bool(shape.search(note.plain_text) or shape.search(note.plain_name))

    return Query(f'"{phrase}"', _ripgrep(phrase), matches)


def _all(words: list[str], spread: Callable[[str], int]) -> Query:
    folded = [fold(word) for word in words]
    # ripgrep gets one of the words; the rarest one is the fastest.
    rarest = min(words, key=spread)
    return Query(" ".join(words), _ripgrep(rarest), lambda note: all(has(note, word) for word in folded))


def _either(words: list[str]) -> Query:
    folded = [fold(word) for word in words]
    return Query(" OR ".join(words), _ripgrep(*words), lambda note: any(has(note, word) for word in folded))


def _group(words: list[str]) -> Query:
    one, other, third, fourth = map(fold, words)
    return Query(
        f"({words[0]} OR {words[1]}) ({words[2]} OR {words[3]})",
        _ripgrep(words[0], words[1]),
        lambda note: (has(note, one) or has(note, other)) and (has(note, third) or has(note, fourth)),
    )


def _without(words: list[str]) -> Query:
    wanted, unwanted = map(fold, words)
    return Query(
        f"{words[0]} -{words[1]}", _ripgrep(words[0]), lambda note: has(note, wanted) and not has(note, unwanted)
    )


def _tag(tag: str) -> Query:
    folded = fold(tag)
    # In prose after a space, in the frontmatter as a list item; the tag itself or a child of it.
    shape = re.compile(rf"(?:(?:^|\s)#|^  - ){re.escape(folded)}(?:/\S+)?$", re.MULTILINE)
    return Query(
        f"tag:#{tag}",
        _ripgrep(tag),
        lambda note: folded in note.plain_text and shape.search(note.plain_text) is not None,
    )
