"""Frontmatter: where the block ends, which forms are read, what is reported as odd, and that other forms are left out."""

from __future__ import annotations

import pytest

from vaultwire.markdown.properties import parse_frontmatter

VALUES = [
    ("a: b", {"a": "b"}),
    ("a:", {"a": None}),
    ("a: ", {"a": None}),
    ("a:b", {}),  # no blank behind the colon: not a property
    ("a: b # c", {"a": "b"}),
    ("a: b#c", {"a": "b#c"}),
    ("a: 'b # c' # d", {"a": "b # c"}),
    ('a: "b"', {"a": "b"}),
    ('a: "b \\" c"', {"a": 'b " c'}),
    ("a: 'it''s'", {"a": "it's"}),
    ("'a': b", {"a": "b"}),
    ('"a: b": c', {"a: b": "c"}),
    ("a b: c", {"a b": "c"}),
    ("a: http://x", {"a": "http://x"}),
    ("a: 2024-01-05", {"a": "2024-01-05"}),  # values stay text
    ("a: yes", {"a": "yes"}),
    ("a: [b, c]", {"a": ["b", "c"]}),
    ("a: [b, 'c, d']", {"a": ["b", "c, d"]}),
    ('a: ["[[Link]]"]', {"a": ["[[Link]]"]}),
    ("a: []", {"a": []}),
    ("a: [b, ]", {"a": ["b"]}),
    ("a:\n  - b\n  - 'c'", {"a": ["b", "c"]}),
    ("a:\n- b\nc: d", {"a": ["b"], "c": "d"}),
    ("a: b\n\nc: d", {"a": "b", "c": "d"}),
    ("# x\na: b", {"a": "b"}),
    ("Ä: ö", {"Ä": "ö"}),
    # other YAML forms: the value is left out, not guessed
    ("a: |\n  b\n  - c\nd: e", {"a": None, "d": "e"}),
    ("a: >\n  b", {"a": None}),
    ("a: {b: c}", {"a": None}),
    ("a: &x b", {"a": None}),
    ("a: !!str b", {"a": None}),
    ("a:\n  b: c", {"a": None}),
    ("a: b\n  c", {"a": None}),  # one text on two lines
    ("a: [b,\n  c]", {"a": None}),
    ("a: [[Link]]", {"a": []}),
    ("", {}),
]


@pytest.mark.parametrize(("block", "expected"), VALUES, ids=[repr(case[0]) for case in VALUES])
def test_properties_are_read_in_the_forms_obsidian_writes(block: str, expected: dict[str, object]) -> None:
    assert parse_frontmatter(f"---\n{block}\n---\nbody").values == expected


BLOCKS = [
    ("---\na: b\n---\nbody", "body"),
    ("---\na: b\n---", ""),  # the file may end with the mark
    ("---\n---\nbody", "body"),
    ("---\na: b\n--- \nbody", "body"),
    ("---\na: b\n ---\n---\nbody", "body"),  # the mark stands at the line's start
    ("---\na: b\n---x\n---\nbody", "body"),
    ("---\na: b\n---\n---\nc: d\n---\n", "---\nc: d\n---\n"),  # the first block only
]


@pytest.mark.parametrize(("text", "body"), BLOCKS, ids=[repr(case[0]) for case in BLOCKS])
def test_a_block_ends_behind_its_closing_mark(text: str, body: str) -> None:
    assert text[parse_frontmatter(text).end :] == body


@pytest.mark.parametrize(
    "text",
    [
        "",
        "body",
        "\n---\na: b\n---\n",
        " ---\na: b\n---\n",
        "----\na: b\n---\n",
        "---\na: b\n",
        "---",
        "---\n",
        "x\n---\na: b\n---",
    ],
)
def test_there_is_no_block_unless_the_first_line_opens_and_another_closes_it(text: str) -> None:
    frontmatter = parse_frontmatter(text)
    assert (frontmatter.values, frontmatter.end) == ({}, 0)


PROBLEMS = [
    ("---\na: b\nc", ["frontmatter is opened with --- and never closed"]),
    ("---\na rule, then text", []),
    ("---\na: b\na: c\n---\n", ["line 3: property 'a' is there twice"]),
    ("---\na:\n\t- b\n---\n", ["line 3: a tab cannot indent YAML"]),
    ("---\n- b\n---\n", ["line 2: expected 'name: value'"]),
    ("---\njust text\n---\n", ["line 2: expected 'name: value'"]),
    ("---\n@x: y\n---\n", ["line 2: expected 'name: value'"]),
    ("---\n\na: b\n\n{{x}}\n---\n", ["line 5: expected 'name: value'"]),
    ("---\na: b\n---\n", []),
    ("---\na:\n  - b\n  c: d\n---\n", []),
    ("body", []),
]


@pytest.mark.parametrize(("text", "problems"), PROBLEMS, ids=[repr(case[0]) for case in PROBLEMS])
def test_what_is_no_yaml_is_a_problem_with_its_line(text: str, problems: list[str]) -> None:
    assert parse_frontmatter(text).problems == problems


def test_of_many_problems_the_first_ten_are_told() -> None:
    assert len(parse_frontmatter("---\n" + "@\n" * 50 + "---\n").problems) == 10


@pytest.mark.timeout(20)  # takes a second; copying the list for each item took forty
def test_a_list_of_many_items_is_read_whole() -> None:
    assert parse_frontmatter("---\na:\n" + "- b\n" * 200_000 + "---\n").values == {"a": ["b"] * 200_000}
