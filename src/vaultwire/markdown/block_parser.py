"""The lines of a note's body: which blocks they make, and which of them are prose. What prose says is ``inline``'s matter.

Blocks are found as CommonMark 0.31 finds them ("Appendix: A parsing strategy"): each line first goes on with the quotes and
list items that are open, then may begin new ones, then belongs to one block in the innermost. Obsidian adds four things,
and they are as observed in its own cache: tables (GFM), math between lines of ``$$``, comments between lines of ``%%``, and
an HTML comment that ends on its first line is a part of a paragraph if text follows it there.
"""

from __future__ import annotations

from vaultwire.markdown.block_patterns import (
    BULLETS,
    CONTAINER_MARKS,
    MARGIN,
    MARK,
    MAX_DEPTH,
    OWN_ID,
    TOO_FAR,
    USUAL,
)
from vaultwire.markdown.block_state import Body, Container, OpenBlocks, Row
from vaultwire.markdown.leaf_blocks import BEGIN, GO_ON


def read_body(body: str, first_line: int) -> Body:
    """Return what the lines of a note's body are; ``first_line`` is the number of the first."""
    scanner = _Scanner(body, first_line)
    scanner.run()
    return Body(scanner.lines, scanner.headings, scanner.spans)


class _Scanner(OpenBlocks):
    """One pass over the lines of a body."""

    def run(self) -> None:
        """Read all lines."""
        start = 0
        for number, line in enumerate(self.body.split("\n"), start=self.number + 1):
            self.number, self.start, self.line = number, start, line
            if not self._is_usual(line):
                self._read()
            start += len(line) + 1
        self.end_leaf()
        self.end_span()

    def _is_usual(self, line: str) -> bool:
        """Read a line the short way, a third of the long one: most are empty, or text or a list item that begins like this
        one. Tell whether it was such a line.
        """
        leaf = self.leaf
        if self.comment >= 0 or (leaf and leaf != "text"):
            return False
        if not line:
            for container in self.containers:
                if container.is_quote or container.is_empty:
                    return False
            if leaf:
                self.end_leaf()
            self.behind_empty = True
            return True
        usual = USUAL.match(line)
        if usual is None:
            return False
        width = usual.end()
        if width:
            if leaf and not self.containers and line[0] not in BULLETS:  # of numbers, some do not interrupt a paragraph
                return False
            self.end_leaf()
            self.keys += 1
            self.containers = [Container(width, self.keys, is_quote=False)]
            self.begin("text")
        elif not leaf:
            self.containers.clear()
            self.begin("text")
        self.rows.append(Row(self.number, self.start, line, width, width > 0, False))
        self.touch()
        self.behind_empty = False
        return True

    # ------------------------------------------------------------------ one line

    def _read(self) -> None:
        self.position = self.column = self.first = self.indent = self.matched = 0
        self.is_item = False
        if self.line[:1] in MARGIN:  # else it goes on with no container
            self.look()
            self._match_containers()
        self.is_whole = self.matched == len(self.containers)
        if self.comment > self.matched:
            self.comment = -1
        is_comment = self.comment >= 0
        if self.first == len(self.line):
            self._read_empty()
            self.behind_empty = True
            return
        if not (self.is_whole and self.leaf in GO_ON and GO_ON[self.leaf](self)):
            self._begin_blocks()
        self.behind_empty = False
        if is_comment and "%%" in self.line and self.leaf not in GO_ON:
            self.comment = -1
            self.end_leaf()

    def _match_containers(self) -> None:
        """Go on behind the marks of the open containers that the line is in, and count these."""
        for number, container in enumerate(self.containers):
            self.matched = number
            if container.is_quote:
                if self.indent >= TOO_FAR or self.line[self.first : self.first + 1] != ">":
                    return
                self._skip_quote()
            elif self.first == len(self.line):
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

    def _read_empty(self) -> None:
        """Read a line on which nothing stands but marks of quotes."""
        goes_on = self.is_whole and (
            self.leaf in ("code", "math", "indented") or (self.leaf == "html" and self.closing)
        )
        if not goes_on:
            self.end_leaf()
            del self.containers[self.matched :]
        if self.line.strip(" \t") and self.containers:
            self.touch()

    def _begin_blocks(self) -> None:
        """Begin what the line begins; else it goes on with a paragraph, or is one."""
        interrupts = self.leaf in ("text", "table")  # which are interrupted by some blocks only
        while self.indent < TOO_FAR:
            mark = self.line[self.first]
            begins = BEGIN.get(mark)
            if begins is not None and begins(self):
                return
            if mark not in CONTAINER_MARKS or len(self.containers) >= MAX_DEPTH:
                break
            if not (self._begins_quote() if mark == ">" else self._begins_item(interrupts)):
                break
            self.matched = len(self.containers)
            self.is_whole = True
            interrupts = False
            if self.first == len(self.line):
                self.touch()
                return
        if self.leaf == "text":
            self.add_row()
        elif self.leaf == "table" and self.is_whole:
            self.say([self.row(self.first)])
            self.touch()
        elif self.indent >= TOO_FAR:
            self.close()
            self.begin("indented")
            self.touch()
        else:
            self._begin_text()

    def _begin_text(self) -> None:
        self.close()
        self.begin("text")
        if self.containers or not (self.behind_empty and self.key and OWN_ID.match(self.line, self.first)):
            self.add_row()
        else:  # engine facts §2.1: an id alone on its line names the block before it
            self.rows.append(self.row(self.first))
            self.span_last = self.number

    def _begins_quote(self) -> bool:
        self.close()
        self.keys += 1
        self.containers.append(Container(0, self.keys, is_quote=True))
        self._skip_quote()
        self.is_item = False
        return True

    def _begins_item(self, interrupts: bool) -> bool:
        """Begin a list item. One that interrupts a paragraph has text, and is the first if it has a number."""
        found = MARK.match(self.line, self.first)
        if found is None:
            return False
        has_text = bool(self.line[found.end() :].strip(" \t"))
        if interrupts and self.is_whole and not (has_text and (found[1] or "1").lstrip("0") == "1"):
            return False
        margin, length = self.indent, found.end() - self.first
        self.close()
        self.skip(length)
        padding = self.indent if has_text and 1 <= self.indent <= TOO_FAR else 1
        self.consume(padding)
        self.keys += 1
        self.containers.append(Container(margin + length + padding, self.keys, is_quote=False, is_empty=not has_text))
        self.is_item = True
        return True
