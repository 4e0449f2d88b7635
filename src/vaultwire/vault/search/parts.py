"""The parts of a note that a search looks into, each made when first asked for. Pure text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from vaultwire.markdown.parsed_note import ParsedNote, Span
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.markdown.yaml_core import PropertyValue
from vaultwire.vault.disk.paths import is_canvas
from vaultwire.vault.search.searched import parse_searched, searched_name
from vaultwire.vault.search.terms import BARE, FOLDED, Forms, Leaf

_BOX = re.compile(r"\[.\]")
# What underlines a heading, or is a rule.
_UNDERLINE = re.compile(r"\n {0,3}(?:=+|-+)[ \t]*+(?:\n|\Z)")
_EMPTY: tuple[PropertyValue, ...] = (None, "", [], {})


class Piece(NamedTuple):
    """A part of a note an operator looks into, and the line it begins on."""

    first: int
    text: Forms


class Value(NamedTuple):
    """A property's name and its scalars, those of lists and maps within too; ``is_null``: it has no value, ``is_empty``:
    nor would a reader see one.
    """

    name: Forms
    texts: list[Forms]
    is_null: bool
    is_empty: bool


class NoteParts:
    """What a query may ask of a note, each made when first asked for."""

    def __init__(self, path: str, text: str, parse: Callable[[str], ParsedNote]) -> None:
        self.path = path
        self.text = text
        self.body = Forms(text)
        self.columns: dict[Leaf, dict[int, int]] = {}
        self._parse = parse

    @cached_property
    def name(self) -> Forms:
        """The note's name."""
        return Forms(searched_name(self.path))

    @property
    def has_marks(self) -> bool:
        """Whether leaving diacritics out may change what is found."""
        return self.body.get(BARE) != self.body.get(FOLDED) or not self.path.isascii()

    @cached_property
    def parsed(self) -> ParsedNote:
        """The note's structure."""
        return parse_searched(self.path, self.text) if is_canvas(self.path) else self._parse(self.text)

    def is_heading(self, index: int, line: str) -> bool:
        """Tell whether a line is a heading or a part of one, by how many lines come before it and what it says."""
        # Most lines are told by what they begin with, and the note need not be parsed for them.
        return (line.lstrip(" ").startswith("#") or self._has_underlines) and index + 1 in self._heading_lines

    @cached_property
    def _has_underlines(self) -> bool:
        top = self.text.find("\n---") + 1 if self.text.startswith("---") else 0  # what ends frontmatter is no underline
        return _UNDERLINE.search(self.text, top) is not None

    @cached_property
    def _heading_lines(self) -> frozenset[int]:
        try:
            headings = self.parsed.headings
        except Exception:  # noqa: BLE001 - a note that cannot be parsed is found all the same, only further below
            return frozenset()
        return frozenset(each.line + more for each in headings for more in range(each.more + 1))

    @cached_property
    def frontmatter(self) -> Frontmatter:
        """The properties as read."""
        return parse_frontmatter(self.text)

    @cached_property
    def tags(self) -> list[Forms]:
        """The tags, without ``#``."""
        if "#" not in self.text and not self.text.startswith("---"):
            return []
        return [Forms(tag) for tag in self.parsed.tags]

    @cached_property
    def properties(self) -> list[Value]:
        """The properties."""
        written = self.frontmatter.written
        return [
            Value(Forms(name), [Forms(text) for text in written[name]], value is None, value in _EMPTY)
            for name, value in self.frontmatter.values.items()
        ]

    def pieces(self, operator: str) -> Iterator[Piece]:
        """Yield the parts of the note an operator looks into one by one."""
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
        """Yield the lines from each heading to the next, the heading included; what stands before the first is one too."""
        starts = [1, *(heading.line for heading in self.parsed.headings), self.text.count("\n") + 2]
        for first, after in pairwise(starts):
            if first < after:
                yield Span(first, after - 1)

    def _tasks(self, operator: str) -> Iterator[Piece]:
        if not _BOX.search(self.text):
            return
        for task in self.parsed.tasks:
            # "You can use any character inside the brackets to mark it as complete" (Obsidian's help, Basic formatting
            # syntax, Task lists): everything but a blank is done.
            is_done = bool(task.mark.strip())
            if operator == "task" or is_done is (operator == "task-done"):
                yield Piece(task.line, Forms(task.text))
