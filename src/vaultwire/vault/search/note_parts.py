"""The parts of a note that search operators look into, each made when first asked for. Pure text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import pairwise
from math import log
from typing import NamedTuple

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import ParsedNote, Span, Task
from vaultwire.markdown.properties import Frontmatter, parse_frontmatter
from vaultwire.vault.disk.contents import plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import CANVAS_SUFFIX, is_canvas, is_note, stem
from vaultwire.vault.errors import VaultError
from vaultwire.vault.search.filters import EMPTY_VALUES
from vaultwire.vault.search.terms import FOLDED, UNACCENTED, AnyNeedle, Leaf, Text, TextForms
from vaultwire.vault.value_types import Line, VaultPath

# Which files search looks into, and their searchable text: a note's text, the cards and groups of a canvas.
#
# As in Obsidian's own search (engine facts §2.6). A canvas's text keeps the line numbers of its file, so that a line that is
# found is the line that is read. Tags, tasks and links in cards do not count, as in Obsidian's cache.


def is_searchable(path: str) -> bool:
    """Tell whether search looks into a file of this path."""
    return is_note(path) or is_canvas(path)


def searchable_name(path: str) -> str:
    """Return the name under which search finds a note or canvas: its file name without the extension."""
    return path.rsplit("/", 1)[-1][: -len(CANVAS_SUFFIX)] if is_canvas(path) else stem(path)


def searchable_text(path: str, data: bytes) -> str:
    """Return the text that search looks into."""
    text = plain_text(data)
    if not is_canvas(path):
        return text
    from vaultwire.markdown.canvas import cards_text  # noqa: PLC0415 - only for a canvas

    return cards_text(text)


def read_searchable(files: Files, path: VaultPath) -> str | None:
    """Return the text that search looks into, None if the file cannot be read."""
    try:
        return searchable_text(path, files.read(path).data)
    except VaultError:
        return None


def with_inline_fields(frontmatter: Frontmatter, text: str) -> Frontmatter:
    """Return the properties of a note with its inline fields. See ``dataview.fields``."""
    from vaultwire.dataview import fields  # noqa: PLC0415 - few runs have them

    return fields.with_inline_fields(frontmatter, text)


def parse_searchable(path: str, text: str) -> ParsedNote:
    """Return the structure of the searchable text: of a canvas, one block for each card, and nothing else."""
    if not is_canvas(path):
        return parse_note(text)
    blocks = [Span(number, number) for number, line in enumerate(text.split("\n"), 1) if line]
    return ParsedNote(Frontmatter({}, 0, [], {}, {}), [], [], [], [], [], blocks, [])


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

    def __init__(
        self, path: str, text: str, parse: Callable[[str], ParsedNote], *, has_inline_fields: bool = False
    ) -> None:
        """``has_inline_fields``: they count as properties."""
        self.path = path
        self.text = text
        self.body = TextForms(text)
        self.columns: dict[Leaf, dict[int, int]] = {}
        self._parse = parse
        self._has_inline_fields = has_inline_fields

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
        read = self.frontmatter
        if self._has_inline_fields and is_note(self.path):
            read = with_inline_fields(read, self.text)
        return [
            Value(
                TextForms(name), [TextForms(text) for text in read.written[name]], value is None, value in EMPTY_VALUES
            )
            for name, value in read.values.items()
        ]

    @cached_property
    def tasks(self) -> list[Task]:
        """The tasks."""
        return self.parsed.tasks

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
        for task in self.tasks:
            # "You can use any character inside the brackets to mark it as complete" (Obsidian's help, Basic formatting
            # syntax, Task lists): every mark except a space means done.
            is_done = bool(task.mark.strip())
            if operator == "task" or is_done is (operator == "task-done"):
                yield Piece(task.line, TextForms(task.text))


# Which lines of a note a search shows. Pure. Whether a note matches is decided in ``vault.search.matching``.

# Shown per note; all matching lines are counted. A long line is cut to this many characters around its match.
MAX_LINES_SHOWN = 5
_MAX_LINE_CHARACTERS = 200
_PATTERN_LENGTH = 5  # a regular expression says as much as a word of so many characters


def first_columns(whole: str, needle: AnyNeedle, form: int) -> dict[int, int]:
    """Return each line of a text in ``form`` that holds the needle, counted from 0, and the needle's first column on it."""
    columns: dict[int, int] = {}
    index = counted = 0
    position = needle.find_in(whole, form)
    while position >= 0:
        index += whole.count("\n", counted, position)
        columns[index] = position - whole.rfind("\n", counted, position) - 1
        counted = whole.find("\n", position)
        position = needle.find_in(whole, form, counted + 1) if counted >= 0 else -1
    return columns


def add_lines(first: int, columns: dict[int, int], lines: dict[int, int]) -> None:
    """Add lines, counted from ``first``, to ``lines``; of a line's columns the first is kept."""
    for index, column in columns.items():
        number = first + index
        lines[number] = min(column, lines.get(number, column))


def leaf_weight(leaf: Leaf, lines: int, text: str) -> float:
    """Return what it says of a line of the text that it holds the leaf, which ``lines`` of the lines do.

    The rarer in this note, the more; and the longer, the more: the little words of most languages are short. No other note
    counts, so the same note and query always show the same lines.
    """
    length = len(leaf.text) if isinstance(leaf, Text) else _PATTERN_LENGTH
    return length * log(1 + (text.count("\n") + 1) / lines) if lines else 0.0


def best_lines(lines: dict[int, int], says: dict[int, float], top: int) -> dict[int, int]:
    """Return the lines that say most; of equal ones the first. Lines up to ``top`` come last."""
    ranked = sorted(lines, key=lambda number: (number <= top, -says.get(number, 0.0), number))
    return {number: lines[number] for number in ranked[:MAX_LINES_SHOWN]}


def snippets(lines: dict[int, int], text: str) -> list[Line]:
    """Return the first few of these lines of a text; ``lines`` are line numbers with the column to show."""
    first = sorted(lines.items())[:MAX_LINES_SHOWN]
    plain = text.split("\n", first[-1][0]) if first else []
    return [Line(number, _excerpt(plain[number - 1], column)) for number, column in first]


def _excerpt(line: str, column: int) -> str:
    """Return the line, cut around ``column`` if it is long. Folding may shift columns a little, so the cut is wide."""
    if len(line) <= _MAX_LINE_CHARACTERS:
        return line.strip()
    start = max(0, min(column - _MAX_LINE_CHARACTERS // 3, len(line) - _MAX_LINE_CHARACTERS))
    end = start + _MAX_LINE_CHARACTERS
    return ("…" if start else "") + line[start:end].strip() + ("…" if end < len(line) else "")
