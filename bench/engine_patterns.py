"""The queries for the engine that only the text of a note can answer: case, lines, sections, blocks, regular expressions."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Iterator

from bench.engine_corpus import Corpus, Note, Query, fold
from bench.engine_queries import WORD, Words, first

_SEED = 20260730
_HEADING = re.compile(r"#{1,6} ")
_ITEM = re.compile(r"- ")
_LEAST_LITERAL = 4  # characters of a word that a regular expression names


def draw(corpus: Corpus, count: int) -> dict[str, list[Query]]:
    """Return ``count`` different queries of each class; the same ones for the same vault."""
    chance = random.Random(_SEED)  # noqa: S311 - every run must have the same queries
    words = Words(corpus)

    def notes() -> Iterator[Note]:
        while True:
            yield chance.choice(corpus.sample)

    def long_words() -> Iterator[str]:
        return (word for note in notes() if len(word := chance.choice(WORD.findall(note.text))) >= _LEAST_LITERAL)

    drawn: dict[str, Iterable[Query]] = {
        "match-case:": (_as_written(chance.choice(WORD.findall(note.text))) for note in notes()),
        "line:": _within("line", notes(), lines, chance),
        "section:": _within("section", notes(), sections, chance),
        "block:": _within("block", notes(), blocks, chance),
        "regex with a literal": (
            _regex(rf"{word}\s+\w+{chance.choice('aeiou')}\b") for word in map(str.lower, long_words())
        ),
        "regex with alternatives": (
            _regex(rf"\b({one}|{other})\s+{chance.choice(words.common)}")
            for one, other in zip(long_words(), long_words(), strict=False)
        ),
        "regex without a literal": (_regex(_shape(chance)) for _ in notes()),
    }
    return {kind: first(count, queries) for kind, queries in drawn.items()}


def _as_written(word: str) -> Query:
    return Query(f"match-case:{word}", ("-F", "-e", word), lambda note: word in note.text or word in note.name)


# What they mean in JavaScript, as in Obsidian: for Python they are about the letters of all languages.
_ASCII = {"w": "[A-Za-z0-9_]", "d": "[0-9]"}
_ASCII["b"] = "(?:(?<={w})(?!{w})|(?<!{w})(?={w}))".format_map(_ASCII)


def _regex(pattern: str) -> Query:
    meant = re.sub(r"\\([bdw])", lambda escape: _ASCII[escape[1]], pattern)
    found = re.compile(meant, re.IGNORECASE | re.MULTILINE).search
    return Query(f"/{pattern}/", ("-i", "-e", pattern), lambda note: bool(found(note.text) or found(note.name)))


def _shape(chance: random.Random) -> str:
    """Return a pattern of classes of characters, which holds no text that an index could look up."""
    letters = ["".join(chance.sample("bdfgklmnprstvz", 3)) for _ in range(3)]
    return chance.choice(
        [
            rf"\b[{letters[0]}]\w{{{chance.randint(8, 11)}}}[{letters[1]}]\b",
            rf"[{letters[0]}][aeiou][{letters[1]}][aeiou][{letters[2]}]\b",
            rf"\d\d-[0{chance.randint(1, 9)}]\d$",
            rf"^\w+ \w{{{chance.randint(2, 4)}}} [{letters[0]}]\w+\.$",
        ]
    )


def _within(
    operator: str, notes: Iterable[Note], pieces: Callable[[str], list[str]], chance: random.Random
) -> Iterator[Query]:
    """Yield searches for two words that are in one piece of a note."""
    for note in notes:
        words = sorted(set(WORD.findall(chance.choice(pieces(note.text)).lower())))
        if len(words) < 2:
            continue
        pair = chance.sample(words, 2)
        one, other = map(fold, pair)

        def matches(note: Note, one: str = one, other: str = other) -> bool:
            text = note.plain_text
            return one in text and other in text and any(one in piece and other in piece for piece in pieces(text))

        ripgrep = ("-i", "-e", f"{pair[0]}.*{pair[1]}|{pair[1]}.*{pair[0]}") if operator == "line" else ()
        yield Query(f"{operator}:({' '.join(pair)})", ripgrep, matches)


def lines(text: str) -> list[str]:
    """Return the lines of a note."""
    return text.split("\n")


def sections(text: str) -> list[str]:
    """Return the parts of a note of the bench's vaults from each heading to the next, and the one before the first."""
    parts = [[""]]
    for block in text.split("\n\n"):
        if _HEADING.match(block):  # in these notes a heading is a block of its own
            parts.append([])
        parts[-1].append(block)
    return ["\n\n".join(part) for part in parts]


def blocks(text: str) -> list[str]:
    """Return the blocks of a note of the bench's vaults: paragraphs, headings, code blocks, and each item of a list."""
    found: list[str] = []
    for block in text.removesuffix("\n").split("\n\n"):
        if block.startswith("---\n"):
            continue  # properties
        found += block.split("\n") if _ITEM.match(block) else [block]
    return found
