"""Blocks and links are found where a CommonMark parser finds them, in random notes: markdown-it-py is asked the same.

Not in the notes is what Obsidian adds or changes: wikilinks, tags, ``%%`` comments, ``$`` math, tables, footnotes, block ids,
and HTML with its comments, of which an HTML comment that ends on its line leaves the rest of the line prose. Tasks,
highlights and callouts are text to CommonMark, so they may be there. Reference links are none here: no link of them leads to
a note. Headings count at the top level only, not in quotes and list items: so Obsidian lists them.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import unquote

from hypothesis import assume, example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from vaultwire.markdown.block_parser import BlockParser, read_body
from vaultwire.markdown.parsed_note import Heading, Span

COMMONMARK = MarkdownIt("commonmark").disable(["html_block", "entity", "reference"])

MARGINS = st.sampled_from(["", "", "", " ", "  ", "   ", "    ", "     ", "      ", "\t", " \t", "\t\t"])
MARKS = st.lists(
    st.sampled_from(
        ["> ", ">", "- ", "* ", "+ ", "1. ", "1) ", "2. ", "10. ", "-\t", ">\t", "-   ", "-     ", "- [ ] "]
    ),
    max_size=3,
).map("".join)
WHOLE_LINES = st.sampled_from([
    "", "", "", "# h", "## h ##", "###", "#h", "===", "=", "---", "--", "-", "***", "* * *", "___", "```", "```", "````",
    "~~~", "``` x", "~~~ `", "``` `", "1.", "*", "+", ">", "==x==", "> [!note] x", "#", "- - -", "\\# x", "text",
])  # fmt: skip
PIECES = st.sampled_from([
    "x", "x", " ", " ", "`", "``", "\\`", "\\", "[", "]", "(", ")", "![", "](", "](<", ">)", "[a](", ' "t")', " 't'", "**", "_",
    "\\[", "\\]", "[y](N.md)", "![y](N.md)", "[`y](N.md)", "[y]( N.md )", "[y](<N.md>)", '[y](N.md "t")', "[x[y](N.md)](M.md)",
    "N.md", "(N.md)", "[y](N(1).md)", "[y](N\\)", "`[y](N.md)`", "!", "[y]",
])  # fmt: skip
TEXT_LINES = st.lists(PIECES, min_size=1, max_size=6).map("".join)
LINES = st.builds(
    lambda margin, marks, inner, text: margin + marks + inner + text,
    MARGINS,
    MARKS,
    st.sampled_from(["", "", "", "  ", "    "]),
    st.one_of(WHOLE_LINES, TEXT_LINES),
)
NOTES = st.lists(LINES, max_size=10)


_OTHER = (
    re.compile(r"\[\[.*\]\]"),  # a wikilink
    re.compile(r"\]\((?:[^\n(]*\(){4}"),  # parentheses in a destination may be more than three within each other
    # markdown-it lets a quote go on however far its mark is indented, counts the columns of a tab behind two of them its way,
    # and takes a space or a line's end behind a backslash otherwise than where it stands alone.
    re.compile(r">[^\n]*\n[>\t ]*(?: {4}| {0,3}\t)[ \t]*>|>.*>.*\t|\\[ \n]"),
)


class _Lazy(BlockParser):
    """Notes whether a line that begins as a block does goes on with a paragraph, as it is indented too far to begin one and
    not far enough for the item. CommonMark 0.31, "Paragraph continuation text", says so; markdown-it ends some of them.
    """

    is_odd = False

    def add_line(self) -> None:
        if self.indent > 3 and not self.all_matched and re.match(r"[->#`~*+_]|\d+[.)]", self.line[self.text_start :]):
            self.is_odd = True
        super().add_line()


class Seen(NamedTuple):
    """What a parser sees: headings, destinations of links and images in order, lines on which a list item's text begins,
    and the blocks at the top level that are no lists, without rules.
    """

    headings: list[Heading]
    links: list[str]
    items: list[int]
    blocks: list[Span]


def _numbered(lines: list[str]) -> str:
    """Return the lines as a note in which each ``N`` is another name, so that one link is not taken for another.

    Behind each line that may hold text stands a link, so that it tells whether the line is prose.
    """
    numbers = iter(range(10_000))
    text = "\n".join(f"{line} [z](N.md)" if line.endswith(("x", "h", "text", ")")) else line for line in lines)
    return re.sub("N", lambda _: f"n{next(numbers)}", text)


def _theirs(text: str) -> Seen:
    seen = Seen([], [], [], [])
    containers: list[Token] = []
    rows = text.split("\n")
    heading: Token | None = None
    for token in COMMONMARK.parse(text):
        if token.nesting == 1 and token.type in ("list_item_open", "blockquote_open"):
            containers.append(token)
        elif token.nesting == -1 and token.type in ("list_item_close", "blockquote_close"):
            containers.pop()
        heading = token if token.type == "heading_open" else heading
        if token.type == "inline":
            assert token.map
            if heading is not None and not containers:
                assert heading.map
                extent = heading.map[1] - heading.map[0] - 1
                text_of = " ".join(line.strip(" \t") for line in token.content.split("\n"))
                seen.headings.append(Heading(int(heading.tag[1]), text_of, heading.map[0] + 1, extent))
            heading = None
            begins = containers and containers[-1].type == "list_item_open" and containers[-1].map
            if begins and begins[0] == token.map[0] and "[" in rows[token.map[0]]:
                seen.items.append(token.map[0] + 1)
            seen.links.extend(_destinations(token.children or []))
        if (
            token.level == 0
            and token.map
            and token.type not in ("bullet_list_open", "ordered_list_open", "hr", "inline")
        ):
            first, last = token.map
            while last > first + 1 and not rows[last - 1].strip(" \t"):
                last -= 1
            seen.blocks.append(Span(first + 1, last))
    return seen


def _destinations(tokens: list[Token]) -> list[str]:
    found = []
    for token in tokens:
        if token.type in ("link_open", "image"):
            found.append(unquote(str(token.attrs["href" if token.type == "link_open" else "src"])))
        found += _destinations(token.children or [])
    return [each for each in found if each]


def _ours(text: str, lists: list[Span]) -> Seen:
    body = read_body(text, 1)
    links = [(line.base + link.start, link.linktext) for line in body.lines for link in line.links]
    in_lists = {number for span in lists for number in range(span.first, span.last + 1)}
    return Seen(
        body.headings,
        [linktext for _, linktext in sorted(links)],
        [line.number for line in body.lines if line.is_item and "[" in line.text],
        [span for span in body.blocks if span.first not in in_lists],
    )


@given(NOTES)
@example(["# h", "    [y](N.md)"])
@example(["- ```", "  x", "", "[y](N.md)"])
@example(["> ```", "> x", "[y](N.md)"])
@example(["\\`[y](N.md) `x"])
@example(["[y", "y](N.md) `x", "[y](N.md)` x"])
@example(["> [y](", "> N.md", ">   't') x"])
@example(["x", "  y", "==="])
@example(["- x", "---"])
@example(["> x", "---"])
@example(["> x", "==="])
@example(["1. x", "", "   x", "2. x", "3) x"])
@example(["x", "2. x", "1. x"])
@example(["x", "*", "", "*", "", "  x"])
@example(["-\tx", "", "\tx", "", "\t\tx"])
@example(["\t- x", "- \t\tx", "      x"])
@example(["- x", "\t- x", "\t\t- x", "\t\t\t- x", "y"])
@example(["- # [y](N.md)"])
@example(["\\\\![x[y](N.md)](M.md)"])
@example(["[y](a(b(N(1).md)))"])
@example(["x", "2. **y**", "", "10) `y`", "3) x"])
def test_blocks_and_links_are_where_commonmark_has_them(lines: list[str]) -> None:
    text = _numbered(lines)
    lazy = _Lazy(text, 1)
    lazy.run()
    assume(not any(pattern.search(text) for pattern in _OTHER) and not lazy.is_odd)
    tokens = COMMONMARK.parse(text)
    lists = [
        Span(token.map[0] + 1, token.map[1])
        for token in tokens
        if token.level == 0 and token.map and token.type in ("bullet_list_open", "ordered_list_open")
    ]
    theirs, ours = _theirs(text), _ours(text, lists)
    assert ours.headings == theirs.headings, text
    assert sorted(ours.links) == sorted(theirs.links), text
    assert ours.items == theirs.items, text
    assert ours.blocks == theirs.blocks, text
