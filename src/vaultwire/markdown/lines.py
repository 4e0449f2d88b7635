"""The lines of a note's body: which are prose, and which lines make one block. What a line of prose says is ``inline``'s.

The rules are Obsidian's as observed, not CommonMark's in full: where a reader could not tell the difference, the simpler
rule stands.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vaultwire.markdown.inline import RawLink, read_line
from vaultwire.markdown.model import Span

HEADING = re.compile(r" {0,3}(#{1,6})(?=[ \t]|\Z)")
_FENCE = re.compile(r"[ \t>]*+(?:(?:[-*+]|\d{1,9}[.)])[ \t>]++)*+(`{3,}(?=[^`]*\Z)|~{3,})")
_FENCE_MARKS = ("`", "~")
_LIST_MARKS = tuple("-*+0123456789")
_LIST_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]")
_BARE_ITEM = re.compile(r"[ \t]*+(?:[-*+]|\d{1,9}[.)])\Z")
# CommonMark 0.31 "Thematic breaks"; one of dashes right behind a paragraph underlines it instead.
_RULE = re.compile(r"[ \t]*+(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)\Z")
_RULE_MARKS = ("-", "*", "_")
_TABLE_RULE = re.compile(r"[ \t]*+(?=[^|]*+\|)[ \t|:]*-[-| :\t]*+\Z")
_TABLE_MARKS = ("|", ":", "-")
_BULLETS = ("- ", "* ", "+ ")
# Blocks that a line of text goes on with, and those that may go on behind a blank line.
_GO_ON, _GO_ON_BEHIND_BLANK = ("text", "item", "quote"), ("item", "indented")
_OWN_ID = re.compile(r"[ \t]*+\^[A-Za-z0-9-]+[ \t]*+\Z")
_INDENTED = re.compile(r"(?: {4}|\t)")
# CommonMark 0.31 "HTML blocks": these begin one anywhere (conditions 1 and 6), any other tag only where it stands alone
# on a line behind a blank one (condition 7), so that a paragraph may well begin with <mark>.
_HTML_BLOCK = re.compile(
    r" {0,3}</?(?:address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div"
    r"|dl|dt|fieldset|figcaption|figure|footer|form|frame|frameset|h[1-6]|head|header|hr|html|iframe|legend|li|link|main"
    r"|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th|thead|title|tr"
    r"|track|ul)(?:[\s/>]|\Z)",
    re.IGNORECASE,
)
_HTML_LINE = re.compile(r" {0,3}</?[A-Za-z][A-Za-z0-9-]*(?:[\s/][^<>]*+)?>[ \t]*\Z")
_RAW_HTML = re.compile(r" {0,3}<(?:pre|script|style|textarea)(?:[\s>]|\Z)", re.IGNORECASE)
_RAW_HTML_END = re.compile(r"</(?:pre|script|style|textarea)>", re.IGNORECASE)


class Line(NamedTuple):
    """A line outside code, math, comments and HTML that may hold something.

    ``prose`` is the text with inline code and the like blanked out, ``first`` its first character behind quote marks.
    """

    number: int
    text: str
    first: str
    prose: str
    links: list[RawLink]


class _Blocks:
    """The blocks so far and the one still open. Spans come out in order and never overlap."""

    __slots__ = ("first", "indent", "kind", "last", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.kind = ""  # of the open block, empty where none is
        self.first = self.last = 0
        self.indent = 0  # columns a line needs to belong to the open list item behind a blank line

    def open(self, kind: str, number: int) -> None:
        if self.kind:
            self.spans.append(Span(self.first, self.last))
        self.kind, self.first, self.last = kind, number, number

    def close(self) -> None:
        if self.kind:
            self.spans.append(Span(self.first, self.last))
            self.kind = ""

    def add(self, kind: str, number: int, indent: int, line: str) -> None:
        """Count a line to the open list item it is indented for, else to a block of its kind."""
        if self.kind == kind or (self.kind == "item" and indent and _columns(line[:indent]) >= self.indent):
            self.last = number
        else:
            self.open(kind, number)

    def add_text(self, number: int, indent: int, line: str, behind_blank: bool) -> None:
        """Count a line of text: it goes on with a paragraph, an item or, without its mark, a quote."""
        if not self.kind:
            self.open("text", number)
        elif not behind_blank and self.kind in _GO_ON:
            self.last = number
        else:
            self.add("text", number, indent, line)
        if behind_blank and self.first == number and self.spans and _OWN_ID.match(line):
            # engine facts §2.1: an id alone on its line names the block before it
            self.spans[-1] = Span(self.spans[-1].first, number)
            self.kind = ""


def read_lines(body: str, first_line: int) -> tuple[list[Line], list[Span]]:  # noqa: C901, PLR0912, PLR0915 - one loop, a branch per kind of block
    """Return the lines of prose that may hold a heading, tag, link, task or block id, and the spans of all blocks."""
    lines: list[Line] = []
    blocks = _Blocks()
    closing: re.Pattern[str] | None = None  # what ends the block we are in
    in_html = in_list = in_code = in_quote = False
    blank_before = True
    for number, line in enumerate(body.split("\n"), start=first_line):
        if closing is None and not in_html:
            # Most lines are empty, or text or a list item that begins like this one: the short way, a third of the long one.
            if not line:
                blank_before = True
                if blocks.kind not in _GO_ON_BEHIND_BLANK:
                    blocks.close()
                continue
            is_item = line[:2] in _BULLETS and (line[2:3].isalpha() or line[2:3] == "[")
            if is_item or line[0].isalpha():
                if is_item:
                    blocks.open("item", number)
                    blocks.indent, in_list = 2, True
                elif not blank_before and blocks.kind in _GO_ON:
                    blocks.last = number
                else:
                    blocks.open("text", number)
                    in_list = in_list and not blank_before
                in_code = blank_before = False
                if ("[" in line and (is_item or "[[" in line or "](" in line)) or _holds_more(line):
                    prose, links, closing = read_line(line)
                    in_quote = False
                    lines.append(Line(number, line, line[0], prose, links))
                continue
        bare = line.lstrip(" \t")
        first = bare[:1]  # decides cheaply which patterns can match at all
        is_quote = first == ">"
        if closing is not None and in_quote and not is_quote:
            closing = None  # a code block ends with the quote it stands in
            if blocks.kind == "quote":
                blocks.close()
        if closing is not None:
            if bare:
                blocks.last = number
            if closing.search(line):
                closing = None
                if blocks.kind in ("code", "math", "html"):
                    blocks.close()
            continue
        if is_quote:
            first = bare.lstrip(" \t>")[:1]
        elif not first:
            blank_before, in_html = True, False
            if blocks.kind not in _GO_ON_BEHIND_BLANK:
                blocks.close()
            continue
        indent = len(line) - len(bare)
        fence = _FENCE.match(line) if first in _FENCE_MARKS else None
        item = None
        if first in _LIST_MARKS and (item := _LIST_ITEM.match(line)):
            in_list = True
            fence = _FENCE.match(line) if "`" in line or "~" in line else None
        elif blank_before and not line[0].isspace():
            in_list = False
        if first == "<" and not in_html:
            if _RAW_HTML.match(line):
                closing, in_quote = None if _RAW_HTML_END.search(line) else _RAW_HTML_END, False
                blocks.add("html", number, indent, line)
                continue
            in_html = bool(_HTML_BLOCK.match(line) or (blank_before and _HTML_LINE.match(line)))
        in_code = not in_list and (in_code or blank_before) and line[0] in " \t" and _INDENTED.match(line) is not None
        behind_blank, blank_before = blank_before, False
        if in_html or in_code:
            blocks.add("html" if in_html else "indented", number, indent, line)
            continue
        if is_quote:
            blocks.add("quote", number, indent, line)
        elif first == "#" and HEADING.match(line):
            blocks.open("heading", number)
            blocks.close()
        elif first in _RULE_MARKS and _RULE.match(line):
            if first == "-" and blocks.kind == "text":
                blocks.last = number
            blocks.close()
        elif item is not None or (first in _LIST_MARKS and _BARE_ITEM.match(line)):
            blocks.open("item", number)
            blocks.indent = _columns(line if item is None else item[0])
        elif fence is not None:
            blocks.add("code", number, indent, line)
        elif first in _TABLE_MARKS and blocks.kind == "text" and _TABLE_RULE.match(line):
            if blocks.first < number - 1:  # GFM: the line above is the table's head, not the paragraph's end
                blocks.last = number - 2
                blocks.open("text", number - 1)
            blocks.last = number
        elif first == "$" and bare.startswith("$$"):
            blocks.add("math", number, indent, line)
        elif first == "<" and bare.startswith("<!--"):  # CommonMark 0.31 "HTML blocks", condition 2
            blocks.add("html", number, indent, line)
        else:
            blocks.add_text(number, indent, line, behind_blank)
        if fence is not None:
            closing, in_quote = _closing_fence(fence[1]), is_quote
        elif ("[" in line and ("[[" in line or "](" in line or first in _LIST_MARKS)) or _holds_more(line):
            prose, links, closing = read_line(line)
            in_quote = False
            lines.append(Line(number, line, first, prose, links))
        if blocks.kind == "math" and closing is None:
            blocks.kind = "text"  # $$ was closed on its own line: a paragraph may go on
    blocks.close()
    return lines, blocks.spans


def _holds_more(line: str) -> bool:
    """Tell whether the line may hold a tag, a block id, a comment or math."""
    # One character is found in a tenth of the time of two.
    return "#" in line or "^" in line or ("<" in line and "<!--" in line) or ("$" in line and "$$" in line)


def _columns(text: str) -> int:
    """Return how wide an indentation is; a tab reaches to the next fourth column."""
    return len(text.expandtabs(4)) if "\t" in text else len(text)


def _closing_fence(mark: str) -> re.Pattern[str]:
    """Return what closes a code block: a run of the same mark at least as long, nothing behind it."""
    return re.compile(rf"^[ \t>]*{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
