"""Block ids, tasks, and which lines make one block."""

from __future__ import annotations

import pytest

from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.parsed_note import BlockId, Span, Task

HELP = "obsidian-help: Internal links, Link to a block in a note"
COMMONMARK = "CommonMark 0.31"
GFM = "GitHub Flavored Markdown 0.29, Tables"
BASIC = "obsidian-help: Basic formatting syntax"
OURS = "ours: the line as a reader sees it"

IDS = [
    ("text ^id", [("id", 1)], HELP),
    ("text ^id  ", [("id", 1)], OURS),
    ("text ^37066f\nmore ^a-B-9", [("37066f", 1), ("a-B-9", 2)], HELP),
    ("> quote\n\n^id", [("id", 3)], HELP),
    ("> quote ^id", [("id", 1)], HELP),
    ("> quote\n> ^id", [("id", 2)], OURS),
    ("- item ^a\n  - [ ] task ^b", [("a", 1), ("b", 2)], HELP),
    ("- item\n  ^id", [("id", 2)], HELP),
    ("`code` ^id", [("id", 1)], OURS),
    ("[[Note#^other]] ^id", [("id", 1)], OURS),
    ("[[Note#^other]]", [], OURS),
    ("text^id", [], HELP),
    ("text ^id more", [], HELP),
    ("text ^", [], HELP),
    ("text ^a_b", [], HELP),
    ("text ^ä", [], HELP),
    ("`text ^id`", [], OURS),
    ("$x ^2$", [], OURS),
    ("text ^id $$\nx\n$$", [], OURS),
    ("[[a]] ^id $$\nx\n$$", [], OURS),
    ("text ^id <!--\nx -->", [], OURS),
    ("[^1]: note", [], OURS),
    ("```\ntext ^id\n```", [], OURS),
    ("    ^id", [], OURS),
    ("# Heading ^id", [], HELP),  # a heading is linked by its text
]


@pytest.mark.parametrize(("text", "expected", "source"), IDS, ids=[repr(case[0]) for case in IDS])
def test_a_block_id_stands_at_the_end_of_a_line_or_alone(
    text: str, expected: list[tuple[str, int]], source: str
) -> None:
    assert parse_note(text).block_ids == [BlockId(*one) for one in expected], source


TASKS = [
    ("- [ ] a", [(" ", "a", 1)], BASIC),
    ("* [x] a\n+ [X] b", [("x", "a", 1), ("X", "b", 2)], BASIC),
    ("1. [/] a\n2) [-] b", [("/", "a", 1), ("-", "b", 2)], BASIC),
    ("- [é] a", [("é", "a", 1)], BASIC),
    ("- a\n  - [ ] b\n\t- [x] c", [(" ", "b", 2), ("x", "c", 3)], BASIC),
    ("> - [ ] a", [(" ", "a", 1)], BASIC),
    ("> [!todo]\n> > - [x] a", [("x", "a", 2)], BASIC),
    ("- - [ ] a", [(" ", "a", 1)], COMMONMARK),
    ("- [ ]", [(" ", "", 1)], OURS),  # editors cut the space at the end
    ("- [ ]  see [[a]] #b ^c ", [(" ", "see [[a]] #b ^c", 1)], OURS),
    ("- [x](a.md)", [], BASIC),
    ("- [ ]a", [], BASIC),
    ("- [] a", [], BASIC),
    ("- [xx] a", [], BASIC),
    ("-[ ] a", [], COMMONMARK),
    ("[ ] a", [], BASIC),
    ("x - [ ] a", [], BASIC),
    ("- # [ ] a", [], COMMONMARK),
    ("```\n- [ ] a\n```", [], OURS),
    ("<!--\n- [ ] a\n-->", [], OURS),
    ("---\n- [ ] a\n---\n- [ ] b", [(" ", "b", 4)], OURS),
]


@pytest.mark.parametrize(("text", "expected", "source"), TASKS, ids=[repr(case[0]) for case in TASKS])
def test_a_task_is_a_list_item_with_one_character_in_a_box(
    text: str, expected: list[tuple[str, str, int]], source: str
) -> None:
    assert parse_note(text).tasks == [Task(*one) for one in expected], source


BLOCKS = [
    ("", [], OURS),
    ("\n\n", [], OURS),
    ("a\nb\n\n\nc\n", [(1, 2), (5, 5)], COMMONMARK),
    ("---\na: b\n---\nc", [(4, 4)], OURS),
    ("# a\nb\n# c", [(1, 1), (2, 2), (3, 3)], COMMONMARK),
    # lists: one span an item
    ("- a\n- b\n  c\n1. d", [(1, 1), (2, 3), (4, 4)], OURS),
    ("- a\n  - b\n    c\n  - d", [(1, 1), (2, 3), (4, 4)], OURS),
    ("- a\nb", [(1, 2)], COMMONMARK),  # goes on without its indentation
    ("- a\n\n  b\n\nc", [(1, 3), (5, 5)], COMMONMARK),
    ("- a\n\n\tb", [(1, 3)], COMMONMARK),
    ("1. a\n\n  b", [(1, 1), (3, 3)], COMMONMARK),
    ("- a\n  - b\n\n  c", [(1, 1), (2, 2), (4, 4)], OURS),  # spans do not overlap
    ("- a\n  ```\n  b\n\n  c\n  ```\n  d\n- e", [(1, 7), (8, 8)], COMMONMARK),
    ("- a\n```\nb\n```", [(1, 1), (2, 4)], COMMONMARK),
    ("- a\n  > b\n  | c |", [(1, 3)], COMMONMARK),
    ("-\n-", [(1, 1), (2, 2)], COMMONMARK),
    ("a\n- b", [(1, 1), (2, 2)], COMMONMARK),
    # quotes and callouts
    ("> a\n> b\n\n> c", [(1, 2), (4, 4)], COMMONMARK),
    ("> [!note] a\n>\n> - b\n> ```\n> c\n> ```", [(1, 6)], OURS),
    ("> a\nb\n\nc", [(1, 2), (4, 4)], COMMONMARK),
    ("> ```\n> a\nb", [(1, 2), (3, 3)], COMMONMARK),
    ("a\n> b\n# c", [(1, 1), (2, 2), (3, 3)], COMMONMARK),
    # code
    ("a\n```\nb\n\nc\n```\nd", [(1, 1), (2, 6), (7, 7)], COMMONMARK),
    ("```\na\n\n\n", [(1, 2)], COMMONMARK),  # never closed
    ("    a\n\n    b\nc", [(1, 3), (4, 4)], COMMONMARK),
    # tables
    ("| a |\n| --- |\n| b |\n\nc", [(1, 3), (5, 5)], GFM),
    ("x\n| a |\n| :-: |\n| b |", [(1, 1), (2, 4)], GFM),
    ("x\ny\na | b\n-|-\nc | d", [(1, 2), (3, 5)], GFM),
    # math, HTML, comments
    ("a\n$$\nb\n\nc\n$$\nd", [(1, 1), (2, 6), (7, 7)], OURS),
    ("a $$ b\nc $$\nd", [(1, 3)], OURS),
    ("$$a$$\nb", [(1, 2)], OURS),
    ("<div>\na\n</div>\n\nb", [(1, 3), (5, 5)], COMMONMARK),
    ("<pre>\n\na\n</pre>\nb", [(1, 4), (5, 5)], COMMONMARK),
    ("<!-- a\n\nb -->\nc", [(1, 3), (4, 4)], COMMONMARK),
    # rules
    ("a\n***\nb", [(1, 1), (3, 3)], COMMONMARK),
    ("a\n\n---\n\nb", [(1, 1), (5, 5)], COMMONMARK),
    ("a\n---\nb", [(1, 2), (3, 3)], COMMONMARK),  # underlines its paragraph
    ("- a\n- - -\n- b", [(1, 1), (3, 3)], COMMONMARK),
    # an id alone on its line
    ("> a\n\n^id\n\nb", [(1, 3), (5, 5)], HELP),
    ("- a\n- b\n\n^id", [(1, 1), (2, 4)], HELP),
    ("^id\n\na", [(1, 1), (3, 3)], OURS),
]


@pytest.mark.parametrize(("text", "expected", "source"), BLOCKS, ids=[repr(case[0]) for case in BLOCKS])
def test_blocks_are_what_a_reader_sees_as_one(text: str, expected: list[tuple[int, int]], source: str) -> None:
    assert parse_note(text).blocks == [Span(*one) for one in expected], source
