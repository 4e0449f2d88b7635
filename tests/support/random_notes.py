"""Notes and canvases of every shape that search looks into, made at random from a few hundred words."""

from __future__ import annotations

import json
import random
from pathlib import Path

_SYLLABLES = ["ba", "den", "fi", "gor", "hal", "ki", "lum", "mo", "ner", "pas", "qui", "ro", "sel", "tu", "ver", "zan"]
_ODD = [
    *["Café", "cafe\u0301", "naïve", "NAIVE", "Straße", "STRASSE", "ﬁsh", "İstanbul", "ΣΟΦΟΣ", "σοφός", "ёлка", "x-y"],
    *[
        "日本語",
        "本",
        "한국어",
        "ไทย",
        "don't",
        "C++",
        "a_b",
        "3.14",
        "2024-06-15",
        "1,000",
        "`code`",
        "**bold**",
        "&amp;",
    ],
    *["https://example.org/a_b", "e\u0301\u0323", "ß", "\u200bzero", "½", "it’s", "[[Note 3|shown]]", "^id", "$x$"],  # noqa: RUF001 - that is what they are for
]
_TAGS = ["work", "Work/Plan", "work/plan/deep", "été", "日本/語", "a-b", "to_do", "2024/q1"]
_PROPERTIES = [
    *[
        "status: draft",
        "status: Done",
        "rating: 4",
        "rating: 10",
        "rating: 0.5",
        "due: 2024-06-15",
        "due: 2025-01-01T10:00",
    ],
    *[
        "empty:",
        "list: [red, Green, 3]",
        "list: []",
        'quoted: "two words"',
        "flag: true",
        "flag: false",
        "aliases: [Café B]",
    ],
    *[
        "tags: [work, été]",
        "tags: work/plan",
        "two words: yes",
        "É: é",
        "text: a longer value of words",
        "link: '[[Note 1]]'",
    ],
]
_MARKS = "  xX/-"


class NoteMaker:
    """Makes the files of a vault. The same ``chance`` makes the same ones."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._words = ["".join(chance.choices(_SYLLABLES, k=chance.randint(1, 4))) for _ in range(400)]
        self._weights = [1 / rank for rank in range(1, len(self._words) + 1)]  # as common as words of a language are

    def write(self, root: Path, count: int) -> list[str]:
        """Write so many files and return their paths."""
        paths = [self._path(number) for number in range(count)]
        for path in paths:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_bytes(self.text(path).encode())
        return paths

    def text(self, path: str) -> str:
        """Return a text for a file of this path."""
        if path.endswith(".canvas"):
            cards = [
                {"id": str(number), "type": "text", "text": self._block(), "x": 0, "y": 0, "width": 1, "height": 1}
                for number in range(self._chance.randint(0, 4))
            ]
            return json.dumps({"nodes": cards, "edges": []}, indent=1)
        blocks = [self._frontmatter()] if self._chance.random() < 0.6 else []
        blocks += [self._block() for _ in range(self._chance.randint(0, 12))]
        ends = "\r\n" if self._chance.random() < 0.05 else "\n"
        return "\n\n".join(blocks).replace("\n", ends) + self._chance.choice(("", ends))

    def _path(self, number: int) -> str:
        folder = self._chance.choice(["", "", "Work/", "Work/Plans/", "Été/", "日本/", "a b/"])
        suffix = ".canvas" if self._chance.random() < 0.03 else ".md"
        name = self._chance.choice((f"Note {number}", f"{self._some(2).replace('/', ' ')} {number}"))
        return folder + "".join(sign for sign in name if sign not in '/\\:*?"<>|#^[]') + suffix

    def _word(self) -> str:
        if self._chance.random() < 0.06:
            return self._chance.choice(_ODD)
        word = self._chance.choices(self._words, self._weights)[0]
        return self._chance.choice((word, word, word, word.capitalize(), word.upper()))

    def _some(self, most: int) -> str:
        return " ".join(self._word() for _ in range(self._chance.randint(1, most)))

    def _frontmatter(self) -> str:
        lines = self._chance.sample(_PROPERTIES, self._chance.randint(0, 5))
        by_name = {line.partition(":")[0]: line for line in lines}
        return "\n".join(["---", *by_name.values(), "---"])

    def _block(self) -> str:
        chance = self._chance
        kind = chance.randrange(14)
        if kind == 0:
            return f"{'#' * chance.randint(1, 4)} {self._some(4)}"
        if kind == 1:
            return f"{self._some(4)}\n{chance.choice(('===', '---'))}"
        if kind == 2:
            return "\n".join(f"- {self._some(6)}" for _ in range(chance.randint(1, 4)))
        if kind == 3:
            return "\n".join(
                f"{'  ' * chance.randrange(2)}- [{chance.choice(_MARKS)}] {self._some(6)}"
                for _ in range(chance.randint(1, 4))
            )
        if kind == 4:
            return f"```\n# {self._some(4)}\n- [ ] {self._some(3)} #work\n```"
        if kind == 5:
            return "\n".join(f"> {self._some(6)}" for _ in range(chance.randint(1, 3)))
        if kind == 6:
            return f"| {self._some(2)} | {self._some(2)} |\n| --- | --- |\n| {self._some(3)} | {self._some(1)} |"
        if kind == 7:
            return f"%% {self._some(4)} %%\n<div>{self._some(3)}</div>"
        tag = f" #{chance.choice(_TAGS)}" if kind == 8 else ""
        lines = (
            " ".join((self._some(9), *([self._some(5)] if chance.random() < 0.5 else []))) for _ in range(kind % 3 + 1)
        )
        return "\n".join(lines) + tag
