"""The block parser: which blocks the lines of a note's body make, and which lines are prose. ``inline`` reads the prose.

It follows CommonMark 0.31 ("Appendix: A parsing strategy"): each line first continues the open quotes and list items, then
may start new ones, then belongs to one leaf block in the innermost. Obsidian adds four things, observed in its own cache:
tables (GFM), math between lines of ``$$``, comments between lines of ``%%``, and an HTML comment that ends on its first line
is part of a paragraph if text follows it there.
"""

from __future__ import annotations

from vaultwire.markdown.block_patterns import (
    BULLETS,
    CODE_INDENT,
    CONTAINER_STARTS,
    CONTINUATION_STARTS,
    ID_LINE,
    LIST_MARKER,
    MAX_DEPTH,
    PLAIN_LINE,
)
from vaultwire.markdown.block_state import BlockState, Body, Container, TextLine
from vaultwire.markdown.leaf_blocks import CONTINUE, START


def read_body(body: str, first_line: int) -> Body:
    """Return the blocks of a note's body; ``first_line`` is the number of its first line in the note."""
    scanner = BlockParser(body, first_line)
    scanner.run()
    return Body(scanner.lines, scanner.headings, scanner.spans)


class BlockParser(BlockState):
    """One pass over the lines of a body."""

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
        found = LIST_MARKER.match(self.line, self.text_start)
        if found is None:
            return False
        has_text = bool(self.line[found.end() :].strip(" \t"))
        if interrupts and self.all_matched and not (has_text and (found[1] or "1").lstrip("0") == "1"):
            return False
        margin, length = self.indent, found.end() - self.text_start
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
