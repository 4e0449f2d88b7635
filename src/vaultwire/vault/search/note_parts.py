"""The parts of a note that search operators look into, each made when first asked for. Pure text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from vaultwire.markdown.parsed_note import ParsedNote, Span
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.vault.disk.paths import is_canvas
from vaultwire.vault.search.filters import EMPTY_VALUES
from vaultwire.vault.search.searchable import parse_searchable, searchable_name
from vaultwire.vault.search.terms import Leaf
from vaultwire.vault.search.text_forms import FOLDED, UNACCENTED, TextForms

_BOX = re.compile(r"\[.\]")
# Underlines a heading, or is a horizontal rule.
_UNDERLINE = re.compile(r"\n {0,3}(?:=+|-+)[ \t]*+(?:\n|\Z)")


class Piece(NamedTuple):
    """A part of a note that an operator looks into, and its first line."""

    first: int
    text: TextForms


class Value(NamedTuple):
    """A property's name and scalars, also those within lists and maps.

    ``is_null``: it has no value; ``is_empty``: it has none, or an empty text, list or map.
    """

    name: TextForms
    texts: list[TextForms]
    is_null: bool
    is_empty: bool


class NoteParts:
    """The parts of one note, each made when first asked for."""

    def __init__(self, path: str, text: str, parse: Callable[[str], ParsedNote]) -> None:
        self.path = path
        self.text = text
        self.body = TextForms(text)
        self.columns: dict[Leaf, dict[int, int]] = {}
        self._parse = parse

    @cached_property
    def name(self) -> TextForms:
        """The note's name."""
        return TextForms(searchable_name(self.path))

    @property
    def has_diacritics(self) -> bool:
        """Whether a search with diacritics may find less in the note than one without."""
        return self.body.get(UNACCENTED) != self.body.get(FOLDED) or not self.path.isascii()

    @cached_property
    def parsed(self) -> ParsedNote:
        """The note's structure."""
        return parse_searchable(self.path, self.text) if is_canvas(self.path) else self._parse(self.text)

    def is_heading(self, index: int, line: str) -> bool:
        """Tell whether a line is a heading or a part of one; ``index`` counts from 0."""
        # How a line begins rules out most lines. So the note is rarely parsed, which takes about a millisecond.
        return (line.lstrip(" ").startswith("#") or self._has_underlines) and index + 1 in self._heading_lines

    @cached_property
    def _has_underlines(self) -> bool:
        top = (
            self.text.find("\n---") + 1 if self.text.startswith("---") else 0
        )  # the end of frontmatter is no underline
        return _UNDERLINE.search(self.text, top) is not None

    @cached_property
    def _heading_lines(self) -> frozenset[int]:
        try:
            headings = self.parsed.headings
        except Exception:  # noqa: BLE001 - a note that cannot be parsed is found too, only with a lower score
            return frozenset()
        return frozenset(each.line + more for each in headings for more in range(each.more + 1))

    @cached_property
    def frontmatter_lines(self) -> int:
        """How many lines at the top may be frontmatter."""
        if not self.text.startswith("---\n"):
            return 0
        end = self.text.find("\n---", 3)
        return self.text.count("\n", 0, end) + 2 if end >= 0 else 0

    @property
    def first_line(self) -> dict[int, int]:
        """The first line of text that is no heading, with the column 0; empty if there is none."""
        lines = enumerate(self.text.split("\n"), 1)
        top = self.frontmatter_lines
        return next(
            ({number: 0} for number, line in lines if number > top and line.strip(" #=-") and line[0] != "#"), {}
        )

    @cached_property
    def frontmatter(self) -> Frontmatter:
        """The parsed properties."""
        return parse_frontmatter(self.text)

    @cached_property
    def tags(self) -> list[TextForms]:
        """The tags, without ``#``."""
        if "#" not in self.text and not self.text.startswith("---"):
            return []
        return [TextForms(tag) for tag in self.parsed.tags]

    @cached_property
    def properties(self) -> list[Value]:
        """The properties."""
        written = self.frontmatter.written
        return [
            Value(TextForms(name), [TextForms(text) for text in written[name]], value is None, value in EMPTY_VALUES)
            for name, value in self.frontmatter.values.items()
        ]

    def pieces(self, operator: str) -> Iterator[Piece]:
        """Yield the parts of the note that the operator looks into one by one."""
        if operator == "line":
            spans: Iterable[Span] = (Span(number, number) for number in range(1, self.text.count("\n") + 2))
        elif operator == "block":
            spans = self.parsed.blocks
        elif operator == "section":
            spans = self._sections()
        else:
            yield from self._tasks(operator)
            return
        for first, last in spans:
            yield Piece(first, self.body.part(first, last))

    def _sections(self) -> Iterator[Span]:
        """Yield the lines from each heading to the next, with the heading; the lines before the first heading are one too."""
        starts = [1, *(heading.line for heading in self.parsed.headings), self.text.count("\n") + 2]
        for first, after in pairwise(starts):
            if first < after:
                yield Span(first, after - 1)

    def _tasks(self, operator: str) -> Iterator[Piece]:
        if not _BOX.search(self.text):
            return
        for task in self.parsed.tasks:
            # "You can use any character inside the brackets to mark it as complete" (Obsidian's help, Basic formatting
            # syntax, Task lists): every mark except a space means done.
            is_done = bool(task.mark.strip())
            if operator == "task" or is_done is (operator == "task-done"):
                yield Piece(task.line, TextForms(task.text))
