"""Random searches with every operator of the query language, made of what the notes of any vault hold.

The vault's own words make queries that find something. A query may be invalid; the program says so, and it is left out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

_WORD = re.compile(r"\w{2,30}")
_TAG = re.compile(r"(?<!\S)#([^\s#,;:.)\]]{1,40})")
_PROPERTY = re.compile(r"^([\w -]{1,30}):[ \t]*(.{0,60})$", re.MULTILINE)
_TASK = re.compile(r"^\s*[-*+] \[.\] (.+)$", re.MULTILINE)
_IN_PART = ("line", "block", "section", "content")
_TASKS = ("task", "task-todo", "task-done")
_CASES = ("match-case", "ignore-case")


class QueryMaker:
    """Makes queries from some notes: paths and texts."""

    def __init__(self, chance: random.Random, notes: Sequence[tuple[str, str]]) -> None:
        self._chance = chance
        self._notes = [(path, text) for path, text in notes if _WORD.search(text)]
        self.kinds: dict[str, Callable[[], str]] = {
            "word": self.word,
            "words": lambda: " ".join(self.word() for _ in range(self._chance.randint(2, 3))),
            "part of a word": self._piece,
            "phrase": self._phrase,
            "OR": lambda: " OR ".join(self._leaf() for _ in range(self._chance.randint(2, 3))),
            "group": self._group,
            "-not": lambda: f"{self._leaf()} -{self._leaf()}",
            "-not alone": lambda: f"-{self._leaf()}",
            "match-case: ignore-case:": lambda: f"{self._chance.choice(_CASES)}:{self._leaf()}",
            **{f"{name}:": self._within(name) for name in _IN_PART},
            "task: task-todo: task-done:": self._task,
            "file:": lambda: f"file:{self._of_path(self._path().rsplit('/', 1)[-1])}",
            "path:": lambda: f"path:{self._of_path(self._path())}",
            "tag:": self._tag,
            "[property]": self._property,
            "regex": self._regex,
            "regex without a literal": self._shape,
            "nested": lambda: self._nested(3),
        }

    def word(self) -> str:
        """Return a word of a note as it is written there: common ones are drawn often."""
        words: list[str] = _WORD.findall(self._text())
        return self._chance.choice(words)

    def _text(self) -> str:
        return self._chance.choice(self._notes)[1]

    def _path(self) -> str:
        return self._chance.choice(self._notes)[0]

    def _piece(self) -> str:
        word = self.word()
        start = self._chance.randrange(len(word))
        return word[start : start + self._chance.randint(1, 5)]

    def _phrase(self) -> str:
        """Return some tokens that stand side by side in a note, with the signs between them."""
        tokens = self._chance.choice([line for line in self._text().split("\n") if _WORD.search(line)]).split()
        start = self._chance.randrange(len(tokens))
        return _quoted(" ".join(tokens[start : start + self._chance.randint(1, 4)]))

    def _leaf(self) -> str:
        return self._chance.choice((self.word, self.word, self._piece, self._phrase))()

    def _group(self) -> str:
        return f"({self._leaf()} OR {self._leaf()}) {self._chance.choice(('', '-'))}({self._leaf()} OR {self._leaf()})"

    def _within(self, operator: str) -> Callable[[], str]:
        def make() -> str:
            lines = [line for line in self._text().split("\n") if _WORD.search(line)]
            words = _WORD.findall(self._chance.choice(lines))
            pair = " ".join(self._chance.choices(words, k=2))
            return self._chance.choice(
                (
                    f"{operator}:({pair})",
                    f"{operator}:({self._leaf()} {self._leaf()})",
                    f"{operator}:{self._leaf()}",
                    f"-{operator}:({pair})",
                    f"{operator}:({self.word()} -{self.word()})",
                    f"{operator}:({self.word()} OR {self._phrase()})",
                    f"{operator}:({self.word()} {self._regex()})",
                    f"{operator}:(match-case:{self.word()} {self.word()})",
                )
            )

        return make

    def _task(self) -> str:
        operator = self._chance.choice(_TASKS)
        tasks = _TASK.findall(self._text())
        words = _WORD.findall(self._chance.choice(tasks)) if tasks else []
        word = self._chance.choice(words or [self.word()])
        return self._chance.choice((f"{operator}:{word}", f'{operator}:""', f"{operator}:({word} -{self.word()})"))

    def _of_path(self, path: str) -> str:
        words = _WORD.findall(path) or ["md"]
        word = self._chance.choice(words)
        return self._chance.choice((word, word[1:] or word, _quoted(word), _quoted(path), f"({' '.join(words[:3])})"))

    def _tag(self) -> str:
        tags = _TAG.findall(self._text()) or [self.word()]
        tag = self._chance.choice(tags)
        return self._chance.choice(
            (f"tag:#{tag}", f"tag:{tag}", f"-tag:{tag}", f"tag:({tag} OR {self.word()})", f"#{tag}")
        )

    def _property(self) -> str:
        found = [pair for pair in _PROPERTY.findall(self._text()[:1000]) if pair[0].strip()]
        name, value = self._chance.choice(found) if found else (self.word(), self.word())
        words = _WORD.findall(value) or ["1"]
        word, other = self._chance.choice(words), self.word()
        name = name.strip() if re.fullmatch(r"\w+", name.strip()) else _quoted(name.strip())
        inside = self._chance.choice(
            (
                name,
                f"{name}:{word}",
                f"{name}:{_quoted(value.strip())}" if value.strip() else f"{name}:null",
                f"{name}:null",
                f"{name}:EMPTY",
                f"{name}:TRUE",
                f"{name}:{self._chance.choice(('<', '>', '<=', '>='))}{self._chance.choice(('3', '2024-06-15', '0.5'))}",
                f"{name}:{word} OR {other}",
                f"{name}:-{word}",
                f"{name}:/{word[:2]}./",
            )
        )
        return f"{self._chance.choice(('', '', '-'))}[{inside}]"

    def _regex(self) -> str:
        word, other = self.word(), self.word()
        pattern = self._chance.choice(
            (
                rf"{word[:3]}\w+",
                rf"({word}|{other})",
                rf"({word}|{other}) \w",
                rf"\b{word}\b",
                rf"{word}.{{0,20}}{other}",
                rf"^\W*{word}",
                rf"{word}s?$",
                rf"(?:{word[:4]}|{other[:4]}){{1,2}}\W",
                rf"{word}(?!s)",
                rf"\[\[[^\]]*{word}",
            )
        )
        return f"/{pattern}/"

    def _shape(self) -> str:
        letters = "".join(self._chance.sample("abcdefghijklmnoprstuvw", 3))
        return self._chance.choice(
            (
                rf"/\b[{letters}]\w{{9,}}[aeiou]\b/",
                rf"/[{letters}][aeiou][{letters}][aeiou]\b/",
                r"/\d{4}-\d\d-\d\d/",
                rf"/^[{letters}]\w+ \w+$/",
                r"/\W{5}/",
                rf"/match-case[{letters}]|[{letters.upper()}]{{3}}/",
            )
        )

    def _nested(self, depth: int) -> str:
        if depth == 0:
            kind = self._chance.choice([name for name in self.kinds if name != "nested"])
            return f"({self.kinds[kind]()})"
        one, other = self._nested(depth - 1), self._nested(self._chance.randrange(depth))
        return f"({self._chance.choice((f'{one} {other}', f'{one} OR {other}', f'{one} -{other}', one))})"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
