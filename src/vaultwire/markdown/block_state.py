"""The block that is open while a note's lines are read, the quotes and list items around it, and what came of those before.

Which blocks a line begins is ``lines``' matter.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import accumulate
from typing import NamedTuple

from vaultwire.markdown.block_patterns import SPACES
from vaultwire.markdown.inline import RawLink, read_inline
from vaultwire.markdown.parsed_note import Heading, Span


class Line(NamedTuple):
    """A line outside code, math and HTML that may hold something.

    ``start`` is where it begins in the body, ``content`` the column where the block's own text begins. ``prose`` is as long
    as ``text``: spaces stand for marks of quotes and list items in it, dots for inline code and the like. Places of links are
    counted from ``base`` in the body. ``is_item`` says that a list item begins there, ``is_heading`` and ``is_comment`` what
    the line is in.
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
    """Lines of prose that may hold a tag, link, task or block id, the headings, and the spans of all blocks."""

    lines: list[Line]
    headings: list[Heading]
    blocks: list[Span]


class Row(NamedTuple):
    """A line of a paragraph: its number, its place in the body, its text, where in it the paragraph's begins."""

    number: int
    start: int
    text: str
    content: int
    is_item: bool
    is_comment: bool


class Container:
    """A quote, or a list item with the columns its content is indented by."""

    __slots__ = ("is_empty", "is_quote", "key", "width")

    def __init__(self, width: int, key: int, *, is_quote: bool, is_empty: bool = False) -> None:
        self.width = width
        self.key = key
        self.is_quote = is_quote
        self.is_empty = is_empty  # an item whose first line has its mark only, and nothing has come since


class OpenBlocks:
    """What is open at a line. ``leaf`` is the kind of the open block that holds text itself; empty where none is open."""

    def __init__(self, body: str, first_line: int) -> None:
        self.body = body
        self.lines: list[Line] = []
        self.headings: list[Heading] = []
        self.spans: list[Span] = []
        self.containers: list[Container] = []
        self.leaf = ""
        self.rows: list[Row] = []  # of the open paragraph
        self.math_marks = self.counted = 0  # how many marks of math these have, and up to which row they are counted
        self.closing: re.Pattern[str] | None = None  # what ends the open code block or HTML; None for an empty line
        self.comment = -1  # in how many containers the open comment stands
        self.behind_empty = True
        # The line at hand: its place, the character and column reached, where its text begins and how far it is indented.
        self.number = first_line - 1
        self.start = 0
        self.line = ""
        self.position = self.column = 0
        self.first = self.indent = 0
        self.is_item = self.is_whole = False
        self.matched = 0  # of the open containers, those that the line is in
        # The span that is open: whose it is, its lines.
        self.key = self.keys = self.leaf_key = 0
        self.span_first = self.span_last = 0
        # What nothing ends begins nothing: a math block or comment is closed further below.
        # One character is found in a tenth of the time of two, and most notes have neither.
        self.last_math = body.rfind("$$") if "$" in body else -1
        self.last_comment = body.rfind("%%") if "%" in body else -1

    # ------------------------------------------------------------------ the line at hand

    def look(self) -> None:
        """Find where the line's text begins from here, and how many columns it is indented."""
        line, position = self.line, self.position
        self.first = SPACES.match(line, position).end()  # type: ignore[union-attr] # matches anything
        if line.find("\t", position, self.first) < 0:
            self.indent = self.first - position
            return
        begun = self.column % 4  # of the tab that is used up in part
        self.indent = len((" " * begun + line[position : self.first]).expandtabs(4)) - begun

    def consume(self, columns: int) -> None:
        """Pass over columns of spaces. Of a tab a part may be passed over: then the column tells how much."""
        columns = min(columns, self.indent)
        if self.line.find("\t", self.position, self.first) < 0:
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
        self.look()

    def skip(self, characters: int) -> None:
        """Pass over the indentation and this many characters of text."""
        self.column += self.indent + characters
        self.position = self.first + characters
        self.look()

    # ------------------------------------------------------------------ what is open

    def close(self) -> None:
        """Close the open block, and the containers the line does not go on with."""
        self.end_leaf()
        del self.containers[self.matched :]
        if self.containers:
            self.containers[-1].is_empty = False

    def begin(self, leaf: str) -> None:
        """Open a block that holds text itself."""
        self.leaf = leaf
        self.keys += 1
        self.leaf_key = self.keys

    def end_leaf(self) -> None:
        """Close the open block; if it is a paragraph or heading, read its text."""
        if self.rows:
            self.say(self.rows)
            self.rows = []
            self.math_marks = self.counted = 0
        self.leaf = ""

    def row(self, content: int) -> Row:
        """Return the line at hand as one of a paragraph, or as a heading, whose text begins at ``content``."""
        return Row(self.number, self.start, self.line, content, self.is_item, self.comment >= 0)

    def add_row(self) -> None:
        """Count the line at hand to the open paragraph."""
        self.rows.append(self.row(self.first))
        self.touch()

    def touch(self) -> None:
        """Count the line to the span of the outermost quote, else of the innermost list item, else of the block itself."""
        owner = self.leaf_key
        if self.containers:
            owner = self.containers[0].key
            for container in self.containers:
                if container.is_quote:
                    break
                owner = container.key
        if owner != self.key:
            self.end_span()
            self.key, self.span_first = owner, self.number
        self.span_last = self.number

    def end_span(self) -> None:
        """Close the open span."""
        if self.key:
            self.spans.append(Span(self.span_first, self.span_last))

    def say(self, rows: list[Row]) -> None:
        """Read the text of lines that belong together, and keep those that hold something."""
        first = rows[0]
        is_one = len(rows) == 1
        text = first.text[first.content :] if is_one else self.body[first.start : rows[-1].start + len(rows[-1].text)]
        if not (
            "#" in text or "^" in text or ("[" in text and (first.is_item or "[[" in text or "](" in text))
        ):  # no tag, block id, link or task
            return
        is_heading = self.leaf == "heading"
        if is_one:
            number, start, line, content, is_item, is_comment = first
            prose, links = read_inline(text)
            prose = " " * content + prose
            self.lines.append(
                Line(number, start, line, content, prose, links, start + content, is_item, is_heading, is_comment)
            )
            return
        if any(row.content for row in rows):
            text = "\n".join([row.text[row.content :] for row in rows])
        prose, links = read_inline(text)
        begins = [0, *accumulate(len(row.text) - row.content + 1 for row in rows[:-1])]
        placed: dict[int, list[RawLink]] = {}
        for link in links:
            places = []
            for place in link[4:]:
                number = bisect_right(begins, place) - 1
                places.append(place - begins[number] + rows[number].start + rows[number].content)
            placed.setdefault(bisect_right(begins, link.start) - 1, []).append(RawLink(*link[:4], *places))
        for number, (row, begin) in enumerate(zip(rows, begins, strict=True)):
            own = prose[begin : begin + len(row.text) - row.content]
            its_links = placed.get(number, [])
            if its_links or "#" in own or "^" in own or row.is_item:
                own = " " * row.content + own
                self.lines.append(Line(*row[:4], own, its_links, 0, row.is_item, is_heading, row.is_comment))
