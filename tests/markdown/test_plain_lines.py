"""The short way of reading a line says what the long way says: one space at the start of a line leads to the long way."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.markdown.block_parser import read_body

BEGINNINGS = [
    "word",
    "É",
    "東",
    "- word",
    "- [ ] word",
    "* x",
    "+ y",
    "- - z",
    "- ",
    "1. x",
    "> q",
    "# h",
    "---",
    "^id",
    "2. **b**",
    "10) `c`",
    "**b** x",
    "==h==",
    "*",
    "`c`",
    "~~s~~",
    "__b__",
]
BEGINNINGS += [
    "```",
    "~~~",
    "$$",
    "<!--",
    "-->",
    "<div>",
    "</div>",
    "<pre>",
    "</pre>",
    "<b>x</b>",
    "|a|",
    "|-|",
    "[[",
    "(",
]
PIECES = [
    " ",
    "x",
    "[[n]]",
    "![[n|d]]",
    "[[a\\|b]]",
    "[d](t)",
    "[",
    "]",
    "](b)",
    "#tag",
    " ^id",
    "$$",
    "$m$",
    "`c`",
    "<!--",
]
PIECES += ["-->", "```", "~~~", "<b>", "\\", "|", "*", "_"]
lines_of_text = st.builds(
    str.__add__, st.sampled_from(BEGINNINGS), st.lists(st.sampled_from(PIECES), max_size=5).map("".join)
)


@example(["> ```", "> ```", "", "word <!--", "word #a", "-->"])
@given(st.lists(st.just("") | lines_of_text, max_size=14))
def test_a_line_is_read_as_one_behind_a_space_is(texts: list[str]) -> None:
    short, headings, blocks = read_body("\n".join(texts), 1)
    long, same_headings, same_blocks = read_body("\n".join(f" {text}" if text else "" for text in texts), 1)
    assert blocks == same_blocks
    assert headings == same_headings
    assert [(line.number, *line[7:]) for line in short] == [(line.number, *line[7:]) for line in long]
    assert [f" {line.prose}" for line in short] == [line.prose for line in long]
    assert [link[:4] for line in short for link in line.links] == [link[:4] for line in long for link in line.links]
