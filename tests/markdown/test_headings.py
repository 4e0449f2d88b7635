"""Which lines of a note are headings, with their level, text and line number."""

from __future__ import annotations

import pytest

from vaultwire.markdown.inline import LinkText, parse_linktext
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import Heading

HEADINGS = [
    ("# a", [(1, "a", 1)]),
    ("###### a", [(6, "a", 1)]),
    ("####### a", []),
    ("#a", []),
    ("#", [(1, "", 1)]),
    ("#\ta", [(1, "a", 1)]),
    ("   # a", [(1, "a", 1)]),
    ("    # a", []),  # code
    ("x # a", []),
    ("\\# a", []),
    ("## a ##", [(2, "a", 1)]),
    ("## a#", [(2, "a#", 1)]),
    ("## a \\#", [(2, "a \\#", 1)]),
    ("## #", [(2, "", 1)]),
    ("x\n# a\n\n## b", [(1, "a", 2), (2, "b", 4)]),
    ("---\nx: 1\n---\n# a", [(1, "a", 4)]),
    ("---\n# a\n---\n", []),  # a comment of the frontmatter
    ("# See [[Note#Part]] and `code #x`", [(1, "See [[Note#Part]] and `code #x`", 1)]),  # stored raw
    ("# $x$ <b>y</b> [z](u#v) <!-- w -->", [(1, "$x$ <b>y</b> [z](u#v) <!-- w -->", 1)]),
    ("```\n# a\n```\n# b", [(1, "b", 4)]),
    ("- ```sh\n  # a\n  ```", []),
    ("$$\n# a\n$$", []),
    ("<!--\n# a\n-->", []),
    ("<!-- x --># a", []),
    ("<div>\n# a\n</div>", []),
]


@pytest.mark.parametrize(("text", "expected"), HEADINGS, ids=[repr(case[0]) for case in HEADINGS])
def test_headings_are_found_where_a_reader_sees_them(text: str, expected: list[tuple[int, str, int]]) -> None:
    assert parse_note(text).headings == [Heading(*heading) for heading in expected]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Note", ("Note", "", "")),
        ("[[Note]]", ("Note", "", "")),
        ("![[Note]]", ("Note", "", "")),
        (" [[ Note ]] ", ("Note", "", "")),
        ("[[Note#Part]]", ("Note", "Part", "")),
        ("[[Note#A#B]]", ("Note", "A#B", "")),  # obsidian.d.ts parseLinktext: the first # ends the path
        ("[[Note#^id]]", ("Note", "^id", "")),
        ("[[Note|shown]]", ("Note", "", "shown")),
        ("[[Note#Part|shown]]", ("Note", "Part", "shown")),
        ("[[Note|a#b|c]]", ("Note", "", "a#b|c")),
        ("[[Note\\|shown]]", ("Note", "", "shown")),  # in a table
        ("[[#Part]]", ("", "Part", "")),
        ("[[Folder/Note.md]]", ("Folder/Note.md", "", "")),
        ("[[]]", ("", "", "")),
        ("[[Note", ("[[Note", "", "")),
        ("", ("", "", "")),
    ],
)
def test_link_text_is_taken_apart(text: str, expected: tuple[str, str, str]) -> None:
    assert parse_linktext(text) == LinkText(*expected)
