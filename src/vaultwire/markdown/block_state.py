"""The state of the block parser: the open leaf block, the quotes and list items around it, and what was read so far.

Which blocks a line starts is decided in ``block_parser`` and ``leaf_blocks``.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from vaultwire.markdown.block_patterns import SPACES
from vaultwire.markdown.inline import RawLink, read_definition, read_inline
from vaultwire.markdown.parsed_note import Heading, Span


class Line(NamedTuple):
    """A line outside code, math and HTML that may hold a link, tag, task or block id.

    ``start`` is where it begins in the body, ``content`` the offset in it where the block's own text begins. ``prose`` is
    as long as ``text``: in it, spaces replace markers of quotes and list items, dots inline code and the like. The offsets
    of ``links`` are counted from ``base`` in the body. ``is_item``: the line begins a list item; ``is_heading``,
    ``is_comment``: it is part of one.
    """

    number: int
    start: int
    text: str
    content: int
    prose: str
    links: list[RawLink]
    base: int
    is_item: bool
    is_heading: bool
    is_comment: bool


class Body(NamedTuple):
    """The lines of prose that may hold a tag, link, task or block id, the headings, and the spans of all blocks."""

    lines: list[Line]
    headings: list[Heading]
    blocks: list[Span]


class TextLine(NamedTuple):
    """A line of a paragraph, heading or table.

    ``start`` is where it begins in the body, ``content`` the offset in it where the block's own text begins.
    """

    number: int
    start: int
    text: str
    content: int
    is_item: bool
    is_comment: bool


class Container:
    """An open quote, or an open list item and the indentation of its content in columns."""

    __slots__ = ("id", "is_empty", "is_quote", "width")

    def __init__(self, width: int, id: int, *, is_quote: bool, is_empty: bool = False) -> None:  # noqa: A002
        self.width = width
        self.id = id
        self.is_quote = is_quote
        self.is_empty = is_empty  # an item whose first line is only its marker, and no other line came yet


class BlockState:
    """The open blocks at a line, and what was read before it.

    ``leaf`` is the kind of the open leaf block, the innermost one, which holds text; empty if none is open.
    """

    def __init__(self, body: str, first_line: int) -> None:
        self.body = body
        self.lines: list[Line] = []
        self.headings: list[Heading] = []
        self.spans: list[Span] = []
        self.containers: list[Container] = []
        self.leaf = ""
        self.text_lines: list[TextLine] = []  # of the open paragraph
        self.math_marks = self.counted_lines = 0  # how many ``$$`` these have, and in how many of them they are counted
        self.end_pattern: re.Pattern[str] | None = None  # what ends the open code block or HTML; None: a blank line
        self.comment = -1  # the number of containers around the open comment; -1 for none
        self.after_blank = True
        # The current line: its offset in the body, the character and column reached in it, the offset of its text behind
        # spaces and tabs, and its indentation in columns.
        self.number = first_line - 1
        self.start = 0
        self.line = ""
        self.position = self.column = 0
        self.text_start = self.indent = 0
        self.is_item = self.all_matched = False
        self.matched = 0  # how many of the open containers the line continues
        # The open span: the id of the block that it belongs to, and its lines.
        self.span_owner = self.last_id = self.leaf_id = 0
        self.span_first = self.span_last = 0
        # The last mark of each kind: behind it no math block or comment starts, because nothing would close it.
        # To look for one character takes a tenth of the time of two, and most notes have neither.
        self.last_math = body.rfind("$$") if "$" in body else -1
        self.last_comment = body.rfind("%%") if "%" in body else -1

    # ------------------------------------------------------------------ the current line

    def measure_indent(self) -> None:
        """Find the next text of the line from here, and how many columns it is indented."""
        line, position = self.line, self.position
        self.text_start = SPACES.match(line, position).end()  # type: ignore[union-attr] # matches anything
        if line.find("\t", position, self.text_start) < 0:
            self.indent = self.text_start - position
            return
        begun = self.column % 4  # columns of a tab that are passed already
        self.indent = len((" " * begun + line[position : self.text_start]).expandtabs(4)) - begun

    def consume(self, columns: int) -> None:
        """Pass over columns of spaces. A tab may be passed in part: then the column tells how much of it."""
        columns = min(columns, self.indent)
        if self.line.find("\t", self.position, self.text_start) < 0:
            self.position += columns
            self.column += columns
            self.indent -= columns
            return
        while columns > 0:
            width = 4 - self.column % 4 if self.line[self.position] == "\t" else 1
            if width > columns:
                self.column += columns
                break
            self.position += 1
            self.column += width
            columns -= width
        self.measure_indent()

    def skip(self, characters: int) -> None:
        """Pass over the indentation and this many characters of text."""
        self.column += self.indent + characters
        self.position = self.text_start + characters
        self.measure_indent()

    # ------------------------------------------------------------------ open blocks

    def close_unmatched(self) -> None:
        """Close the open leaf block, and the containers that the line does not continue."""
        self.close_leaf()
        del self.containers[self.matched :]
        if self.containers:
            self.containers[-1].is_empty = False

    def open_leaf(self, leaf: str) -> None:
        """Open a leaf block."""
        self.leaf = leaf
        self.last_id += 1
        self.leaf_id = self.last_id

    def close_leaf(self) -> None:
        """Close the open leaf block; if it is a paragraph or heading, read its text."""
        if self.text_lines:
            self.read_text(self.text_lines)
            self.text_lines = []
            self.math_marks = self.counted_lines = 0
        self.leaf = ""

    def text_line(self, content: int) -> TextLine:
        """Return the current line as a line of the leaf block, whose text begins at ``content``."""
        return TextLine(self.number, self.start, self.line, content, self.is_item, self.comment >= 0)

    def add_line(self) -> None:
        """Add the current line to the open paragraph."""
        self.text_lines.append(self.text_line(self.text_start))
        self.extend_span()

    def extend_span(self) -> None:
        """Add the line to the span of the outermost quote, else of the innermost list item, else of the leaf block."""
        owner = self.leaf_id
        if self.containers:
            owner = self.containers[0].id
            for container in self.containers:
                if container.is_quote:
                    break
                owner = container.id
        if owner != self.span_owner:
            self.close_span()
            self.span_owner, self.span_first = owner, self.number
        self.span_last = self.number

    def take_line(self, number: int) -> None:
        """Let the open leaf block begin with line ``number``, which was read as the end of a paragraph."""
        if not self.containers:
            self.span_last = number - 1
            self.extend_span()
            self.span_first = number

    def close_span(self) -> None:
        """Close the open span."""
        if self.span_owner:
            self.spans.append(Span(self.span_first, self.span_last))

    def _read_definitions(self, lines: list[TextLine]) -> list[TextLine]:
        """Read the definitions of links at the start of a paragraph; return its other lines."""
        for number, line in enumerate(lines):
            found = read_definition(line.text[line.content :])
            if found is None:
                return lines[number:]
            prose, links = found
            if links or line.is_item:
                prose = " " * line.content + prose
                base = line.start + line.content
                self.lines.append(Line(*line[:4], prose, links, base, line.is_item, False, line.is_comment))
        return []

    def read_text(self, lines: list[TextLine]) -> None:
        """Read the inline text of lines that belong together, and keep the lines that hold something."""
        may_define = self.leaf == "paragraph" or (self.leaf == "heading" and len(lines) > 1)
        if may_define and "]:" in lines[0].text:
            lines = self._read_definitions(lines)
            if not lines:
                return
        first = lines[0]
        is_one = len(lines) == 1
        text = first.text[first.content :] if is_one else self.body[first.start : lines[-1].start + len(lines[-1].text)]
        if not (
            "#" in text or "^" in text or ("[" in text and (first.is_item or "[[" in text or "](" in text))
        ):  # no tag, block id, link or task
            return
        is_heading = self.leaf == "heading"
        if is_one:
            prose, links = read_inline(text)
            prose = " " * first.content + prose
            base = first.start + first.content
            self.lines.append(Line(*first[:4], prose, links, base, first.is_item, is_heading, first.is_comment))
            return
        if any(line.content for line in lines):
            text = "\n".join([line.text[line.content :] for line in lines])
        prose, links = read_inline(text)
        begins = [0, *accumulate(len(line.text) - line.content + 1 for line in lines[:-1])]
        placed: dict[int, list[RawLink]] = {}
        for link in links:
            places = []
            for place in link[4:]:
                number = bisect_right(begins, place) - 1
                places.append(place - begins[number] + lines[number].start + lines[number].content)
            placed.setdefault(bisect_right(begins, link.start) - 1, []).append(RawLink(*link[:4], *places))
        for number, (line, begin) in enumerate(zip(lines, begins, strict=True)):
            own = prose[begin : begin + len(line.text) - line.content]
            its_links = placed.get(number, [])
            if its_links or "#" in own or "^" in own or line.is_item:
                own = " " * line.content + own
                self.lines.append(Line(*line[:4], own, its_links, 0, line.is_item, is_heading, line.is_comment))
