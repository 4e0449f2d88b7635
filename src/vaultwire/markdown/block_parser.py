"""The block parser: which blocks the lines of a note's body make, and which lines are prose. ``inline`` reads the prose.

It follows CommonMark 0.31 ("Appendix: A parsing strategy"): each line first continues the open quotes and list items, then
may start new ones, then belongs to one leaf block in the innermost. Obsidian adds four things, observed in its own cache:
tables (GFM), math between lines of ``$$``, comments between lines of ``%%``, and an HTML comment that ends on its first line
is part of a paragraph if text follows it there.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from vaultwire.markdown.inline import RawLink, read_definition, read_inline
from vaultwire.markdown.parsed_note import Heading, Span
from vaultwire.markdown.patterns import (
    ATX_HEADING,
    BULLETS,
    CODE_INDENT,
    COMMENT_AND_TEXT,
    CONTAINER_STARTS,
    CONTINUATION_STARTS,
    DELIMITER_ROW,
    FENCE,
    HTML_BLOCK,
    HTML_LINE,
    ID_LINE,
    LIST_MARKER,
    MATH_END,
    MAX_DEPTH,
    NOT_HEADING_TEXT,
    PLAIN_LINE,
    RAW_HTML,
    RULE_LINE,
    SETEXT_UNDERLINE,
    SPACES,
    THEMATIC_BREAK,
)

# Leaf blocks other than paragraphs: which line starts each, and which lines continue it. A small function for each kind.

# ---------------------------------------------------------------------- lines that continue a block


def _continue_code(blocks: BlockParser) -> bool:
    blocks.extend_span()
    end = blocks.end_pattern
    if blocks.indent < CODE_INDENT and end is not None and end.match(blocks.line, blocks.text_start):
        blocks.leaf = ""
    return True


def _continue_to_end(blocks: BlockParser) -> bool:
    blocks.extend_span()
    if blocks.end_pattern is not None and blocks.end_pattern.search(blocks.line, blocks.position):
        blocks.leaf = ""
    return True


def _continue_indented(blocks: BlockParser) -> bool:
    if blocks.indent < CODE_INDENT:
        return False
    blocks.extend_span()
    return True


# ---------------------------------------------------------------------- lines that start a block


def _start_heading(blocks: BlockParser) -> bool:
    opening = ATX_HEADING.match(blocks.line, blocks.text_start)
    if opening is None:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("heading")
    blocks.extend_span()
    line = blocks.text_line(opening.end())
    blocks.text_lines.append(line)
    _end_heading(blocks, len(opening[1]), _without_closing_marks(blocks.line[opening.end() :]), line)
    return True


def _start_rule_line(blocks: BlockParser) -> bool:
    """Read a line of nothing but rule characters: an underline, a table's delimiter row or a thematic break."""
    if RULE_LINE.match(blocks.line, blocks.text_start) is None:
        return False
    return _underline(blocks) or _start_table(blocks) or _start_thematic_break(blocks)


def _underline(blocks: BlockParser) -> bool:
    if (
        blocks.leaf != "paragraph"
        or not blocks.all_matched
        or SETEXT_UNDERLINE.match(blocks.line, blocks.text_start) is None
    ):
        return False
    texts = [line.text[line.content :].strip(" \t") for line in blocks.text_lines]
    begin = next((place for place, text in enumerate(texts) if not NOT_HEADING_TEXT.match(text)), None)
    if begin is None:
        return False
    blocks.extend_span()
    _end_heading(
        blocks, 1 if blocks.line[blocks.text_start] == "=" else 2, " ".join(texts[begin:]), blocks.text_lines[begin]
    )
    return True


def _end_heading(blocks: BlockParser, level: int, text: str, line: TextLine) -> None:
    """End a heading that begins on a line. It is kept only if Obsidian's outline has it."""
    if not blocks.containers and not line.is_comment:
        blocks.headings.append(Heading(level, text, line.number, blocks.number - line.number))
    blocks.leaf = "heading"
    blocks.close_leaf()


def _start_thematic_break(blocks: BlockParser) -> bool:
    if THEMATIC_BREAK.match(blocks.line, blocks.text_start) is None:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("")
    if blocks.containers:
        blocks.extend_span()
    return True


def _start_code(blocks: BlockParser) -> bool:
    fence = FENCE.match(blocks.line, blocks.text_start)
    if fence is None:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("code")
    blocks.extend_span()
    blocks.end_pattern = re.compile(rf"{re.escape(fence[0][0])}{{{len(fence[0])},}}[ \t]*\Z")
    return True


def _start_html(blocks: BlockParser) -> bool:
    line, first = blocks.line, blocks.text_start
    for begins, ends in RAW_HTML:
        if begins.match(line, first):
            is_closed = ends.search(line, first) is not None
            if is_closed and COMMENT_AND_TEXT.match(line, first):
                return False
            blocks.close_unmatched()
            blocks.open_leaf("" if is_closed else "html")
            blocks.extend_span()
            blocks.end_pattern = ends
            return True
    if not (HTML_BLOCK.match(line, first) or (blocks.leaf != "paragraph" and HTML_LINE.match(line, first))):
        return False
    blocks.close_unmatched()
    blocks.open_leaf("html")
    blocks.extend_span()
    blocks.end_pattern = None
    return True


def _start_math(blocks: BlockParser) -> bool:
    line, first = blocks.line, blocks.text_start
    if not line.startswith("$$", first) or line.find("$$", first + 2) >= 0 or blocks.start + first >= blocks.last_math:
        return False
    blocks.math_marks += sum(line.text.count("$$", line.content) for line in blocks.text_lines[blocks.counted_lines :])
    blocks.counted_lines = len(blocks.text_lines)
    if blocks.math_marks % 2:
        return False  # it ends math within the paragraph
    blocks.close_unmatched()
    blocks.open_leaf("math")
    blocks.extend_span()
    blocks.end_pattern = MATH_END
    return True


def _start_comment(blocks: BlockParser) -> bool:
    line, first = blocks.line, blocks.text_start
    if blocks.comment >= 0 or not line.startswith("%%", first) or line.find("%%", first + 2) >= 0:
        return False
    if blocks.start + first >= blocks.last_comment:
        return False
    blocks.close_unmatched()
    blocks.open_leaf("paragraph")
    blocks.comment = len(blocks.containers)
    blocks.add_line()
    return True


def _start_table(blocks: BlockParser) -> bool:
    if (
        blocks.leaf != "paragraph"
        or not blocks.all_matched
        or DELIMITER_ROW.match(blocks.line, blocks.text_start) is None
    ):
        return False
    header = blocks.text_lines.pop()
    if blocks.text_lines:  # GFM: the line above is the table's header line, not the end of the paragraph
        blocks.close_leaf()
        blocks.open_leaf("table")
        blocks.take_line(header.number)
    blocks.leaf = "table"
    blocks.read_text([header])
    blocks.extend_span()
    return True


def _without_closing_marks(text: str) -> str:
    """Return a heading's text without the closing run of ``#``."""
    text = text.strip()
    bare = text.rstrip("#")
    return bare.rstrip() if not bare or bare[-1] in " \t" else text


CONTINUE: dict[str, Callable[[BlockParser], bool]] = {
    "code": _continue_code,
    "math": _continue_to_end,
    "html": _continue_to_end,
    "indented": _continue_indented,
}
# The blocks that may start, by the first character of the line's text.
START: dict[str, Callable[[BlockParser], bool]] = {
    "#": _start_heading,
    "`": _start_code,
    "~": _start_code,
    **dict.fromkeys("=-*_|:", _start_rule_line),
    "<": _start_html,
    "$": _start_math,
    "%": _start_comment,
}


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


class BlockParser:
    """One pass over the lines of a body: the open blocks at a line, and what was read before it.

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

    # ------------------------------------------------------------------ lines

    def run(self) -> None:
        """Read all lines."""
        start = 0
        for number, line in enumerate(self.body.split("\n"), start=self.number + 1):
            self.number, self.start, self.line = number, start, line
            if not self._read_plain_line(line):
                self._read_line()
            start += len(line) + 1
        self.close_leaf()
        self.close_span()

    def _read_plain_line(self, line: str) -> bool:
        """Read a line that is blank, plain text, or a list item of plain text, and tell whether it was one.

        A quicker way beside ``_read_line``: parsing real notes takes a fifth less with it, 65 us a note of 4 KB. A property
        test compares the two (``tests/markdown/test_plain_lines.py``).
        """
        leaf = self.leaf
        if self.comment >= 0 or (leaf and leaf != "paragraph"):
            return False
        if not line:
            for container in self.containers:
                if container.is_quote or container.is_empty:
                    return False
            if leaf:
                self.close_leaf()
            self.after_blank = True
            return True
        plain = PLAIN_LINE.match(line)
        if plain is None:
            return False
        width = plain.end()  # of the list marker and its space
        if width:
            if leaf and not self.containers and line[0] not in BULLETS:  # some numbers do not interrupt a paragraph
                return False
            self.close_leaf()
            self.last_id += 1
            self.containers = [Container(width, self.last_id, is_quote=False)]
            self.open_leaf("paragraph")
        elif not leaf:
            self.containers.clear()
            self.open_leaf("paragraph")
        self.text_lines.append(TextLine(self.number, self.start, line, width, width > 0, False))
        self.extend_span()
        self.after_blank = False
        return True

    # ------------------------------------------------------------------ one line

    def _read_line(self) -> None:
        self.position = self.column = self.text_start = self.indent = self.matched = 0
        self.is_item = False
        if self.line[:1] in CONTINUATION_STARTS:  # else it continues no container
            self.measure_indent()
            self._match_containers()
        self.all_matched = self.matched == len(self.containers)
        if self.comment > self.matched:
            self.comment = -1
        is_comment = self.comment >= 0
        if self.text_start == len(self.line):
            self._read_blank_line()
            self.after_blank = True
            return
        if not (self.all_matched and self.leaf in CONTINUE and CONTINUE[self.leaf](self)):
            self._start_blocks()
        self.after_blank = False
        if is_comment and "%%" in self.line and self.leaf not in CONTINUE:
            self.comment = -1
            self.close_leaf()

    def _match_containers(self) -> None:
        """Pass over the markers of the open containers that the line continues, and count these containers."""
        for number, container in enumerate(self.containers):
            self.matched = number
            if container.is_quote:
                if self.indent >= CODE_INDENT or self.line[self.text_start : self.text_start + 1] != ">":
                    return
                self._skip_quote()
            elif self.text_start == len(self.line):
                if container.is_empty:
                    return
            elif self.indent >= container.width:
                self.consume(container.width)
            else:
                return
        self.matched = len(self.containers)

    def _skip_quote(self) -> None:
        self.skip(1)
        if self.indent:
            self.consume(1)

    def _read_blank_line(self) -> None:
        """Read a line that is blank except for markers of quotes."""
        continues = self.all_matched and (
            self.leaf in ("code", "math", "indented") or (self.leaf == "html" and self.end_pattern)
        )
        if not continues:
            self.close_leaf()
            del self.containers[self.matched :]
        if self.line.strip(" \t") and self.containers:
            self.extend_span()

    def _start_blocks(self) -> None:
        """Start the blocks that the line starts; if there is none, it continues a paragraph or starts one."""
        interrupts = self.leaf in ("paragraph", "table")  # only some blocks interrupt these
        while self.indent < CODE_INDENT:
            character = self.line[self.text_start]
            start = START.get(character)
            if start is not None and start(self):
                return
            if character not in CONTAINER_STARTS or len(self.containers) >= MAX_DEPTH:
                break
            if not (self._start_quote() if character == ">" else self._start_item(interrupts)):
                break
            self.matched = len(self.containers)
            self.all_matched = True
            interrupts = False
            if self.text_start == len(self.line):
                self.extend_span()
                return
        if self.leaf == "paragraph":
            self.add_line()
        elif self.leaf == "table" and self.all_matched:
            self.read_text([self.text_line(self.text_start)])
            self.extend_span()
        elif self.indent >= CODE_INDENT:
            self.close_unmatched()
            self.open_leaf("indented")
            self.extend_span()
        else:
            self._start_paragraph()

    def _start_paragraph(self) -> None:
        self.close_unmatched()
        self.open_leaf("paragraph")
        if self.containers or not (self.after_blank and self.span_owner and ID_LINE.match(self.line, self.text_start)):
            self.add_line()
        else:  # engine facts §2.1: an id alone on a line names the block before it
            self.text_lines.append(self.text_line(self.text_start))
            self.span_last = self.number

    def _start_quote(self) -> bool:
        self.close_unmatched()
        self.last_id += 1
        self.containers.append(Container(0, self.last_id, is_quote=True))
        self._skip_quote()
        self.is_item = False
        return True

    def _start_item(self, interrupts: bool) -> bool:
        """Start a list item. One that interrupts a paragraph must have text, and a number must be 1."""
        marker = LIST_MARKER.match(self.line, self.text_start)
        if marker is None:
            return False
        has_text = bool(self.line[marker.end() :].strip(" \t"))
        if interrupts and self.all_matched and not (has_text and (marker[1] or "1").lstrip("0") == "1"):
            return False
        margin, length = self.indent, marker.end() - self.text_start
        self.close_unmatched()
        self.skip(length)
        padding = self.indent if has_text and 1 <= self.indent <= CODE_INDENT else 1
        self.consume(padding)
        self.last_id += 1
        self.containers.append(
            Container(margin + length + padding, self.last_id, is_quote=False, is_empty=not has_text)
        )
        self.is_item = True
        return True


def read_body(body: str, first_line: int) -> Body:
    """Return the blocks of a note's body; ``first_line`` is the number of its first line in the note."""
    scanner = BlockParser(body, first_line)
    scanner.run()
    return Body(scanner.lines, scanner.headings, scanner.spans)
