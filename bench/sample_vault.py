"""The vault on which stdio and HTTP are measured: 1,000 generated notes, the same on every machine."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

NOTES = 1000
_SEED = 20260728
_NOTE_BYTES = 3000  # what a note of a kept vault has, order of magnitude
_WORDS = 6000
_FOLDERS = 40
_TAGS = 60

# The one that read_note reads: 4 KB to the byte, found by its path.
READ_PATH = "Notes 07/Four kilobytes.md"
_READ_BYTES = 4096

TAG = "topic-3"
_SYLLABLES = ("ba", "den", "fi", "gor", "hal", "ki", "lum", "mo", "ner", "pas", "qui", "ro", "sel", "tu", "ver", "zan")


class Words:
    """Invented words with the frequencies of a language: the n-th most common word is n times rarer."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        parts = itertools.chain(*(itertools.product(_SYLLABLES, repeat=length) for length in (2, 3, 4)))
        words = ["".join(part) for part in itertools.islice(parts, _WORDS * 3)]
        chance.shuffle(words)
        self.words = words[:_WORDS]
        self._weights = list(itertools.accumulate(1 / rank for rank in range(1, _WORDS + 1)))

    def draw(self, count: int) -> list[str]:
        """Return ``count`` words."""
        return self._chance.choices(self.words, cum_weights=self._weights, k=count)


def _words() -> tuple[random.Random, Words]:
    chance = random.Random(_SEED)  # noqa: S311 - the same notes everywhere is what it is for
    return chance, Words(chance)


def queries() -> dict[str, str]:
    """Return searches by how common their word is."""
    _, words = _words()
    return {"common": words.words[20], "rare": words.words[4000]}


def write_vault(root: Path) -> None:
    """Write the notes below the folder ``root``."""
    chance, words = _words()
    folders = [f"Notes {number:02}" for number in range(_FOLDERS)]
    for folder in folders:
        (root / folder).mkdir()
    # The number keeps names apart; the word makes them look like names.
    titles = [f"{words.draw(1)[0].capitalize()} {number}" for number in range(NOTES - 1)]
    for title in titles:
        text = _note(title, titles, chance, words)
        (root / chance.choice(folders) / f"{title}.md").write_bytes(text.encode())
    body = _note("Four kilobytes", titles, chance, words).encode()
    while len(body) < _READ_BYTES:
        body += _paragraph(titles, chance, words).encode() + b"\n\n"
    (root / READ_PATH).write_bytes(body[: _READ_BYTES - 1] + b"\n")


def _note(title: str, titles: list[str], chance: random.Random, words: Words) -> str:
    tags = sorted({f"topic-{int(chance.paretovariate(1)) % _TAGS}" for _ in range(3)})
    lines = ["---", "tags:", *(f"  - {tag}" for tag in tags), f"aliases: [{' '.join(words.draw(2))}]"]
    lines += [f"created: 2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}", "---", f"# {title}", ""]
    size = 0
    while size < _NOTE_BYTES:
        kind = chance.random()
        if kind < 0.15:
            block = "## " + " ".join(words.draw(3)).capitalize()
        elif kind < 0.25:
            block = "\n".join(f"- [ ] {' '.join(words.draw(6))}" for _ in range(4))
        elif kind < 0.3:
            block = "```python\n# " + " ".join(words.draw(5)) + "\n```"
        else:
            block = _paragraph(titles, chance, words)
        lines += [block, ""]
        size += len(block) + 2
    return "\n".join(lines)


def _paragraph(titles: list[str], chance: random.Random, words: Words) -> str:
    text = " ".join(words.draw(chance.randint(30, 70))).capitalize() + "."
    if chance.random() < 0.5:
        text += f" See [[{chance.choice(titles)}]]."
    if chance.random() < 0.2:
        text += f" #topic-{chance.randrange(_TAGS)}/{words.draw(1)[0]}"
    return text
