"""The vaults on which the engine is measured: any number of generated notes, made once and kept for later runs.

Seed and version determine their content. ``engine_queries`` chooses the queries.
"""

from __future__ import annotations

import itertools
import os
import random
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from pathlib import Path

_SEED = 20260728
# Raise it with every change that generates other notes: a kept vault of another version is not used.
_VERSION = 3
# A run works on a copy. There it writes notes of its own to this folder.
SCRATCH = "Bench scratch"

_WORDS = 20_000
_TAGS = 300
# So many notes contain the same invented name: in a vault of any size a name is in a few notes.
_NOTES_A_NAME = 3
_NOTES_A_FOLDER, _FOLDERS_AN_AREA = 100, 10
# Shortest, longest, most frequent length: 3 KB on average, as in real vaults.
_CHARACTERS = (500, 6000, 1700)
# Common words are short, as in languages: so many words have at most so many syllables, the rest three.
_SYLLABLES = ((60, 1), (4000, 2))

_ONSETS = [*"bdfghjklmnprstvwz", ""] * 2 + ["br", "ch", "dr", "fl", "gr", "kl", "pr", "sch", "st", "tr"]
_VOWELS = [*"aeiou"] * 3 + ["ai", "ei", "ou", "ie"]
_CODAS = [""] * 9 + ["n", "r", "s", "l", "t", "m", "rk", "nd", "st"]
_MARKED = {"a": "áäå", "e": "éèê", "i": "íî", "o": "óöô", "u": "úü", "n": "ñ"}
_SHARE_MARKED = 0.03
_SHARE_CJK = 0.02
_BATCH = 100_000

# A tenth of the notes is below each region, and these are in 70 % of the notes: large changes move and rename them.
_REGIONS = 10
MOVED_FOLDER = "Region 3"
COMMON_TAG, COMMON_PROPERTY = "everyday", "reviewed"
_SHARE_COMMON = 0.7 / 0.9  # of the notes with properties
# Most people link by the name alone; these links also have the folders.
_SHARE_LINKS_BY_PATH = 0.05
# So many of the others lead to a heading or a block: half of the notes have such a link.
_SHARE_LINKS_TO_PARTS = 0.2
_BLOCK = "first"


def kept_vault(notes: int) -> tuple[Path, bool]:
    """Return the folder of the vault with so many notes, and whether it had to be written first.

    It lies in the system's folder for temporary files, where some systems delete what is old: notes are counted.
    """
    folder = Path(tempfile.gettempdir()) / f"vaultwire-bench-vault-{_SEED}-{notes}-v{_VERSION}"
    if sum(1 for _ in folder.rglob("*.md")) == notes:
        return folder, False
    shutil.rmtree(folder, ignore_errors=True)
    unfinished = Path(tempfile.mkdtemp(prefix="vaultwire-bench-unfinished-"))
    try:
        _Writer(notes).write(unfinished)
        unfinished.replace(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return folder, True


def names(notes: int) -> list[str]:
    """Return the invented names in the vault with so many notes, in lower case; each is in about three notes."""
    return _Vocabulary(notes).names


def tags() -> list[str]:
    """Return the tags of every vault, without ``#``, most used first."""
    return _Vocabulary(0).tags


class _Vocabulary:
    """Words, most common first; names; tags. All differ also without their diacritics."""

    def __init__(self, notes: int) -> None:
        self._chance = random.Random(_SEED)  # noqa: S311 - every machine must have the same notes
        self._taken: set[str] = set()
        self.words = [
            self._word(next((most for words, most in _SYLLABLES if rank < words), 3)) for rank in range(_WORDS)
        ]
        parts = self._chance.sample(self.words[1000:], 2 * _TAGS)
        # Every third lies below another word.
        self.tags = [f"{parts[-n]}/{parts[n]}" if n % 3 == 2 else parts[n] for n in range(_TAGS)]
        self.names = [self._word(4) for _ in range(notes // _NOTES_A_NAME)]

    def _word(self, most: int) -> str:
        chance = self._chance
        while True:
            syllables = chance.randint((most + 1) // 2, most)
            word = "".join(
                chance.choice(part) for _, part in itertools.product(range(syllables), (_ONSETS, _VOWELS, _CODAS))
            )
            if len(word) > 1 and word not in self._taken:
                self._taken.add(word)
                return self._marked(word) if chance.random() < _SHARE_MARKED else word

    def _marked(self, word: str) -> str:
        place = self._chance.choice([place for place, letter in enumerate(word) if letter in _MARKED])
        return word[:place] + self._chance.choice(_MARKED[word[place]]) + word[place + 1 :]


class _Writer:
    """Writes one vault."""

    def __init__(self, notes: int) -> None:
        self._notes = notes
        self._chance = random.Random(_SEED + notes)  # noqa: S311 - as above
        self._rarely = random.Random(_SEED - notes)  # noqa: S311 - as above
        vocabulary = _Vocabulary(notes)
        self._words = self._stream(vocabulary.words)
        self._tags = self._stream(vocabulary.tags)
        self._names = vocabulary.names
        characters = [chr(code) for code in self._chance.sample(range(0x4E00, 0x9F00), 1200)]
        self._cjk = self._stream(["".join(self._chance.choices(characters, k=2)) for _ in range(3000)])
        # The number makes titles unique; the words make them look like titles.
        self._titles = [f"{self._some(2).capitalize()} {number}" for number in range(notes)]

    def write(self, root: Path) -> None:
        """Write the notes below the folder ``root``."""
        for number, title in enumerate(self._titles):
            path = root / f"{self._place(number)}.md"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self._note(title).encode())
            # Spread over a year, one each few minutes: real notes did not all change just now.
            changed = 1_780_000_000 - number * (31_536_000 // self._notes)
            os.utime(path, (changed, changed))

    def _place(self, number: int) -> str:
        """Return the path of a note, without extension."""
        area, topic = divmod(number // _NOTES_A_FOLDER, _FOLDERS_AN_AREA)
        region = number * _REGIONS // self._notes
        return f"Region {region}/Area {area:02}/Topic {topic}/{self._titles[number]}"

    def _stream(self, words: list[str]) -> Iterator[str]:
        """Yield words without end, with the frequencies of a language: the n-th most common word is n times rarer (Zipf)."""
        weights = list(itertools.accumulate(1 / rank for rank in range(1, len(words) + 1)))
        while True:
            yield from self._chance.choices(words, cum_weights=weights, k=_BATCH)

    def _some(self, count: int) -> str:
        return " ".join(itertools.islice(self._words, count))

    def _note(self, title: str) -> str:
        chance = self._chance
        blocks = [*self._frontmatter(), f"# {title}", self._paragraph(chance.choice(self._names).capitalize())]
        blocks.append(f"{self._some(3).capitalize()}. ^{_BLOCK}")
        if chance.random() < _SHARE_CJK:
            blocks += [self._cjk_paragraph(), self._cjk_paragraph()]
        size = sum(map(len, blocks))
        wanted = chance.triangular(*_CHARACTERS)
        while size < wanted:
            blocks.append(self._block())
            size += len(blocks[-1]) + 2
        text = "\n\n".join(blocks) + "\n"
        # Some systems write diacritics as separate characters.
        return unicodedata.normalize("NFD", text) if chance.random() < 0.01 else text

    def _frontmatter(self) -> Iterator[str]:
        chance = self._chance
        if chance.random() < 0.1:
            return
        tags = {next(self._tags) for _ in range(3)}
        if self._rarely.random() < _SHARE_COMMON:
            tags.add(COMMON_TAG)
        lines = ["---", "tags:", *(f"  - {tag}" for tag in sorted(tags))]
        lines += [f"aliases: [{self._some(2)}]", f"created: 2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"]
        lines += [f"status: {chance.choice(('draft', 'active', 'done'))}", f"rating: {chance.randint(1, 5)}"]
        if self._rarely.random() < _SHARE_COMMON:
            lines.append(f"{COMMON_PROPERTY}: {self._rarely.choice(('true', 'false'))}")
        lines.append("---")
        yield "\n".join(lines)

    def _block(self) -> str:
        chance = self._chance
        kind = chance.random()
        if kind < 0.15:
            return f"## {self._some(3).capitalize()}"
        if kind < 0.23:
            return "\n".join(f"- [{chance.choice(' x')}] {self._some(6)}" for _ in range(4))
        if kind < 0.33:
            return "\n".join(f"- {self._some(9).capitalize()}" for _ in range(4))
        if kind < 0.36:
            return f"```python\n# {self._some(5)}\n{next(self._words)} = len({next(self._words)})\n```"
        return self._paragraph()

    def _paragraph(self, name: str = "") -> str:
        chance = self._chance
        text = " ".join(f"{self._some(chance.randint(6, 16)).capitalize()}." for _ in range(chance.randint(2, 6)))
        if name:
            text += f" {name} {self._some(4)}."
        if chance.random() < 0.6:
            # Squared, so that many notes link to a few.
            linked = int(self._notes * chance.random() ** 2)
            by_path = self._rarely.random() < _SHARE_LINKS_BY_PATH
            part = ""
            if not by_path and self._rarely.random() < _SHARE_LINKS_TO_PARTS:
                part = self._rarely.choice((f"#{self._titles[linked]}", f"#^{_BLOCK}"))
            text += f" See [[{self._place(linked) if by_path else self._titles[linked]}{part}]]."
        if chance.random() < 0.15:
            text += f" #{next(self._tags)}"
        return text

    def _cjk_paragraph(self) -> str:
        chance = self._chance
        return "".join(next(self._cjk) + chance.choice("のはをにと、。") for _ in range(chance.randint(30, 80)))
