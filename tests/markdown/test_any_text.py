"""Parsing never fails, whatever a note holds, and takes time in proportion to its length."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.markdown import edits
from vaultwire.markdown.links import parse_linktext
from vaultwire.markdown.parse import has_tag, parse_note
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.vault.query import match_note, parse_query

# Pieces that mean something to the scanner, so that random texts reach its corners.
PIECES = st.sampled_from([
    "---", "\n", "\n\n", "#a", "# ", "##", "`", "```", "~~~", "$", "$$", "<!--", "-->", "<div>", "<pre", "</pre>", "[[", "]]",
    "](", ")", "> ", "- ", "1. ", "\t", "    ", "|", "_", "\\", "/", "tags:", " [", "]", '"', "'", ",", ": ", "x", "\r", "\r\n",
    "\u00a0", "\ud800",
])  # fmt: skip
TEXTS = st.one_of(st.text(), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_parsing_any_text_gives_a_structure_that_lies_in_it(text: str) -> None:
    note = parse_note(text)
    frontmatter = parse_frontmatter(text)
    assert 0 <= frontmatter.end <= len(text)
    lines = text.split("\n")
    for heading in note.headings:
        assert 1 <= heading.level <= 6
        assert heading.text in lines[heading.line - 1]
        assert lines[heading.line - 1].lstrip(" ").startswith("#" * heading.level)
    assert len({tag.casefold() for tag in note.tags}) == len(note.tags)
    for tag in note.tags:
        assert tag in text.replace("\\", "") or "tags" in text.casefold()
        assert tag
        assert not any(character.isspace() for character in tag)
        assert has_tag(note.tags, tag)


@given(TEXTS)
def test_link_text_of_any_text_is_taken_apart(text: str) -> None:
    parts = parse_linktext(text)
    assert "#" not in parts.linkpath
    assert "|" not in parts.linkpath + parts.subpath


REPEATED = [
    "#a", "$", "$$", "[[", "]]", "[[#a]]", "<!--", "-->", "`", "``a", "`a``", "](", "(](", "#", "*- ", "> ", "\\$", '"',
    "'", "- ", "a: [", "[", "{", 'a: "', '\\"', "\t", "\u00a0", "#a/", "//", "___", "_#a", "|#a", "$#a ", "<a", "<div ",
    "~~~", "1. ", "a:", "\r", "<a ", "<!", " $", "$ ", "#a<", "---\n", "a: b\n", "- a\n", "```\n", "> ```\n", "<pre>\n",
    "\n", "@\n", "\r\r\n",
]  # fmt: skip
FRAMES = ["{}", "---\n{}\n---\n", "---\na: {}\n---\n", "---\na: [{}", "- {}", "x #a{}", "# {}"]


@pytest.mark.parametrize("frame", FRAMES)
def test_a_long_line_of_anything_is_read_in_linear_time(frame: str) -> None:
    """100 KB each: one quadratic pattern among them would take minutes, and the test's own time limit ends it."""
    query = parse_query('"a b" c')
    for piece in REPEATED:
        text = frame.format(piece * (100_000 // len(piece)))
        parse_note(text)
        edits.rewrite(text, text + "x")
        edits.prepend(text, "x")
        edits.to_plain(text)
        match_note(query, "x.md", text)
