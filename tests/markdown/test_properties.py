"""Frontmatter: where the block ends, what its properties are, what is reported as odd and what is still read then; and
that the short way says what the long way does.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.properties import _read_plain, parse_frontmatter, property_type
from vaultwire.markdown.yaml_core import PropertyValue, read_yaml

HELP = Path(__file__).parents[3] / "shared" / "vaults" / "obsidian-help"

# What Obsidian writes, and what people write much the same way.
PLAIN: list[tuple[str, dict[str, PropertyValue]]] = [
    ("a: b", {"a": "b"}),
    ("a:", {"a": None}),
    ("a: ", {"a": None}),
    ("a: # c", {"a": None}),
    ("a: b # c", {"a": "b"}),
    ("a: b#c", {"a": "b#c"}),
    ("a:\tb\t", {"a": "b"}),
    ("a: 'b # c' # d", {"a": "b # c"}),
    ('a: "b"', {"a": "b"}),
    ('a: "b \\" c"', {"a": 'b " c'}),
    ("a: 'it''s'", {"a": "it's"}),
    ("a: it's", {"a": "it's"}),
    ("a b: c", {"a b": "c"}),
    ("a: http://x", {"a": "http://x"}),
    ("a: 2024-01-05", {"a": "2024-01-05"}),
    ("a: yes", {"a": "yes"}),
    ("a: true\nb: 012\nc: .5\nd: ~\ne: '12'", {"a": True, "b": 12, "c": 0.5, "d": None, "e": "12"}),
    ("a: -1\nb: -x\nc: ?x\nd: :x", {"a": -1, "b": "-x", "c": "?x", "d": ":x"}),
    ("a: x, y\nb: x]\nc: a {b}", {"a": "x, y", "b": "x]", "c": "a {b}"}),
    ("a: [b, c]", {"a": ["b", "c"]}),
    ("a: [b, 'c, d']", {"a": ["b", "c, d"]}),
    ('a: ["[[Link]]", "x"]', {"a": ["[[Link]]", "x"]}),
    ("a: [1, true, null, '1', http://x] # c", {"a": [1, True, None, "1", "http://x"]}),
    ("a: []", {"a": []}),
    ("a: [b, ]", {"a": ["b"]}),
    ("a:\n  - b\n  - 'c'", {"a": ["b", "c"]}),
    ("a:\n  - 1\n  -\n  - http://x", {"a": [1, None, "http://x"]}),
    ("a:\n- b\nc: d", {"a": ["b"], "c": "d"}),
    ("a:\n  - b\n# x\n\n  - c\nd: e", {"a": ["b", "c"], "d": "e"}),
    ("a: b\n\n \t\nc: d", {"a": "b", "c": "d"}),
    ("# x\na: b", {"a": "b"}),
    ("Ä: ö", {"Ä": "ö"}),
    ("a: x\u2028y\u00a0z", {"a": "x\u2028y\u00a0z"}),
    ("", {}),
]
OTHER: list[tuple[str, dict[str, PropertyValue]]] = [
    ("a: x\u00a0# y\nb:\u00a0c: d", {"a": "x\u00a0# y", "b:\u00a0c": "d"}),  # no space to YAML
    ("a: [[Link]]", {"a": [["Link"]]}),
    ("a: |\n  b\n  - c\nd: e", {"a": "b\n- c\n", "d": "e"}),
    ("a: {b: c}", {"a": {"b": "c"}}),
    ("a: b\n  c", {"a": "b c"}),
    ("a:\n  - b\n   - c", {"a": ["b - c"]}),
    ("'a': b", {"a": "b"}),
    ('"a: b": c', {"a: b": "c"}),
    ("2024: a", {"2024": "a"}),
    ("012: a", {"12": "a"}),
    (r'a: "b\nc"', {"a": "b\nc"}),
    ("a" * 300 + ": b", {"a" * 300: "b"}),
]


@pytest.mark.parametrize(("block", "expected"), PLAIN + OTHER, ids=[repr(case[0][:40]) for case in PLAIN + OTHER])
def test_properties_have_the_values_obsidian_gives_them(block: str, expected: dict[str, PropertyValue]) -> None:
    frontmatter = parse_frontmatter(f"---\n{block}\n---\nbody")
    assert repr(frontmatter.values) == repr(expected)  # 1, 1.0 and True are equal
    assert frontmatter.problems == []


# Which way a block is read shows only in the time it takes: a look behind the door.
@pytest.mark.parametrize("block", [block for block, _ in PLAIN])
def test_what_obsidian_writes_is_read_the_short_way(block: str) -> None:
    assert _read_plain(block + "\n", 2) is not None


@pytest.mark.parametrize("block", [block for block, _ in OTHER])
def test_other_forms_are_read_the_long_way(block: str) -> None:
    assert _read_plain(block + "\n", 2) is None


ALPHABET = st.sampled_from(
    [*"-?:,[]{}#&*!|>'\"%@`\\~/=+. ab10xe_", "\u00a0", "\x85", "\u2028", "\x07", "é", "\U0001f600"]
)
WORDS = st.sampled_from([
    "", "b", "b c", "true", "NO", "null", "~", "12", "012", "0x1F", "0o7", "1e3", ".5", "1.0", ".inf", "-", "-1", "- a", "a: b",
    "2024-01-05", "1:30", "http://x", "[[L]]", "[]", "{}", "{b: c}", "|", ">", "&x", "*x", "!!str 1", "<<", "it's", '"b" c',
    "'b'", '"b"', r'"\n"', r'"\""', "b # c", "# c", "b#", "b:", ":b", "#", "%x", "@x", "...", "--- x",
])  # fmt: skip
TEXTS = st.text(ALPHABET, max_size=6)
SCALARS = st.one_of(WORDS, TEXTS, TEXTS.map("'{}'".format), TEXTS.map('"{}"'.format))
NAMES = st.one_of(st.sampled_from(["a", "b", "c d", "ä", "2024", "null", "<<", "a.b-c", "tags"]), TEXTS)
LISTS = st.builds(
    lambda separator, items, end: f"[{separator.join(items)}{end}]",
    st.sampled_from([", ", ",", " ,  "]),
    st.lists(SCALARS, max_size=3),
    st.sampled_from(["", ",", " "]),
)
LINES = st.one_of(
    st.builds(
        "{}{}{}{}".format,
        NAMES,
        st.sampled_from([": ", ":", ":  ", " : "]),
        st.one_of(SCALARS, LISTS, st.just("")),
        st.sampled_from(["", " ", " # c"]),
    ),
    st.builds(
        "{}{}{}".format, st.sampled_from(["  - ", "- ", "    - ", "  -", "-"]), SCALARS, st.sampled_from(["", " #"])
    ),
    st.sampled_from(["a:", "b:", "", "  ", "# c", "  # c", "  c"]),
    TEXTS,
)


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_where_the_short_way_reads_a_block_the_long_way_says_the_same(block: str) -> None:
    plain = _read_plain(block + "\n", 2)
    event("long way" if plain is None else "short way")
    if plain is not None:
        assert repr(plain) == repr(read_yaml(block + "\n", 2))


@given(st.lists(LINES, max_size=6).map("\n".join))
def test_any_block_is_read_without_failing_and_each_text_has_a_line_in_it(block: str) -> None:
    read = parse_frontmatter(f"---\n{block}\n---\nbody")
    assert read.values.keys() == read.lines.keys() == read.written.keys()
    for name, lines in read.lines.items():
        assert len(lines) == len(read.written[name])
        assert all(2 <= line <= block.count("\n") + 2 for line in lines)
    for problem in read.problems:
        number = re.match(r"line (\d+): \S", problem)
        assert number is not None
        assert 2 <= int(number[1]) <= block.count("\n") + 2


ITEMS = st.one_of(
    st.sampled_from(
        ["b", "b c", "true", "NO", "null", "~", "12", "012", "0x1F", "1e3", "1.0", "2024-01-05", "-1", "http://x"]
    ),
    TEXTS.map(lambda text: "'" + text.replace("'", "''") + "'"),
    TEXTS.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'),
)


@given(st.dictionaries(st.text("abc", min_size=1), st.one_of(ITEMS, st.lists(ITEMS))), st.booleans())
def test_what_is_written_well_is_read_the_short_way_as_the_long_way_does(
    properties: dict[str, str | list[str]], is_flow: bool
) -> None:
    lines = []
    for name, value in properties.items():
        if isinstance(value, str):
            lines.append(f"{name}: {value}")
        elif is_flow or not value:
            lines.append(f"{name}: [{', '.join(value)}]")
        else:
            lines += [f"{name}:", *(f"  - {item}" for item in value)]
    block = "\n".join(lines) + "\n"
    plain = _read_plain(block, 2)
    assert plain is not None
    assert repr(plain) == repr(read_yaml(block, 2))


def test_real_notes_are_read_the_short_way_as_the_long_way_does() -> None:
    texts = [to_plain(path.read_text("utf-8")) for path in sorted(HELP.rglob("*.md"))]
    if not texts:
        pytest.skip("no copy of obsidian-help")
    blocks = [text[4 : frontmatter.end - 4] for text in texts if (frontmatter := parse_frontmatter(text)).end]
    assert len(blocks) > 100
    for block in blocks:
        assert repr(_read_plain(block, 2)) == repr(read_yaml(block, 2))


@pytest.mark.parametrize("more", ["", "x: {}\n"], ids=["the short way", "the long way"])
def test_texts_and_lines_are_those_of_every_scalar_under_a_name_in_any_case(more: str) -> None:
    read = parse_frontmatter(f"---\nA: [b, 1.0, ~, .5]\nc:\nd: TRUE\nTags:\n  - '#x'\n\n  - 012\n{more}---\n")
    assert read.texts("a") == ["b", "1.0", "0.5"]
    assert read.texts("C") == []
    assert read.texts("D") == ["true"]
    assert read.texts("tags") == ["#x", "12"]
    assert read.texts("none") == []
    assert {key: read.lines[key] for key in ("A", "c", "d", "Tags")} == {
        "A": [2] * 3,
        "c": [],
        "d": [4],
        "Tags": [6, 8],
    }
    assert (read.value("TAGS"), read.value("c"), read.value("none")) == (["#x", 12], None, None)


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


PROBLEMS: list[tuple[str, list[str], dict[str, PropertyValue]]] = [
    ("---\na: b\nc", ["frontmatter is opened with --- and never closed"], {}),
    ("---\na rule, then text", [], {}),
    ("---\na: b\na: c\n---\n", ["line 3: property 'a' is there twice"], {"a": "c"}),
    ("---\na: b\na: {c: d}\n---\n", ["line 3: property 'a' is there twice"], {"a": {"c": "d"}}),
    ("---\na: {}\na: [b\nc: d\n---\n", ["line 3: "], {"a": {}, "c": "d"}),
    (
        "---\na: b\na: c\nd: e: f\n---\n",
        ["line 3: property 'a' is there twice", "line 4: a text with ': ' in it needs quotes"],
        {"a": "c"},
    ),
    ("---\na:\n\t- b\nc: d\n---\n", ["line 3: a tab cannot indent YAML"], {"c": "d"}),
    ("---\n- b\n- c\n---\n", ["line 2: expected 'name: value'"], {}),
    ("---\njust text\n---\n", ["line 2: expected 'name: value'"], {}),
    ("---\na:b\n---\n", ["line 2: expected 'name: value'"], {}),  # no space behind the colon
    ("---\n@x: y\nz: 1\n---\n", ["line 2: expected 'name: value'"], {"z": 1}),
    ("---\n\na: b\n\n{{x}}\n---\n", ["line 5: expected 'name: value'"], {"a": "b"}),
    ("---\na: b: c\nd: e\n---\n", ["line 2: a text with ': ' in it needs quotes"], {"d": "e"}),
    (
        "---\na: b\naliases:\n  - @name\n  - x\nd: {e: f}\n---\n",
        ["line 4: a text that begins with @, ` or % needs quotes"],
        {"a": "b", "d": {"e": "f"}},
    ),
    ("---\na: `x`\nb: %x\nc: 1\n---\n", ["line 2: a text that begins", "line 3: a text that begins"], {"c": 1}),
    ('---\na: "b\nc: d\n---\n', ["line 2: "], {"c": "d"}),
    ("---\na:\n  - b\n  c: d\n---\n", ["line 4: "], {}),
    ("---\na: b\n- c\nd: e\n---\n", ["line 3: "], {"d": "e"}),
    ("---\na: b\n...\nc: d\n---\n", ["line 3: expected 'name: value'"], {"a": "b", "c": "d"}),
    ("---\na: &x [*x]\nb: c\n---\n", ["line 2: there is no &x before *x"], {"b": "c"}),
    ("---\na: b\n---\n", [], {"a": "b"}),
    ("body", [], {}),
]


@pytest.mark.parametrize(("text", "problems", "values"), PROBLEMS, ids=[repr(case[0]) for case in PROBLEMS])
def test_what_is_no_yaml_is_a_problem_with_its_line_and_the_rest_is_read(
    text: str, problems: list[str], values: dict[str, PropertyValue]
) -> None:
    read = parse_frontmatter(text)
    assert len(read.problems) == len(problems), read.problems
    for said, expected in zip(read.problems, problems, strict=True):
        assert said.startswith(expected)
        assert len(said) > len("line 2: ")
    assert read.values == values
    assert read.values.keys() == read.lines.keys() == read.written.keys()


def test_a_note_whose_aliases_would_fill_the_memory_keeps_its_other_properties() -> None:
    laughs = "a0: &a0 [lol]\n" + "".join(f"a{n + 1}: &a{n + 1} [{', '.join([f'*a{n}'] * 10)}]\n" for n in range(30))
    read = parse_frontmatter(f"---\ntitle: Laughs\n{laughs}tags: [x]\n---\n")
    assert read.values == {"title": "Laughs", "a0": ["lol"], "tags": ["x"]}
    assert 0 < len(read.problems) <= 10


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "deep", ["a: " + "[" * 50_000, "a: " + "{" * 50_000, "a:\n" + "- " * 50_000, "a: " + "{b: " * 50_000]
)
def test_a_note_that_is_nested_without_end_keeps_its_other_properties(deep: str) -> None:
    read = parse_frontmatter(f"---\ntitle: Deep\n{deep}\n---\n")
    assert read.values == {"title": "Deep"}
    assert len(read.problems) == 1


def test_of_many_problems_the_first_ten_are_told() -> None:
    assert len(parse_frontmatter("---\n" + "@\n" * 50 + "---\n").problems) == 10


@pytest.mark.timeout(10)  # takes half a second; copying the list for each item took fourteen
def test_a_list_of_as_many_items_as_may_be_is_read_whole() -> None:
    assert parse_frontmatter("---\na:\n" + "- b\n" * 120_000 + "---\n").values == {"a": ["b"] * 120_000}


@pytest.mark.parametrize(
    ("block", "tags"),
    [
        ("tags: [a, 1, true, ~, [b], {c: d}, '2b', \"1984\"]", ["a", "2b"]),
        ("tags: 1984\ntag: b", []),
        ("tags: true", []),
        ("tags: {a: b}", []),
        ("tags: >\n  a, b\n  c", []),
        ("tags: &x [a]\nother: *x", ["a"]),
    ],
)
def test_only_texts_are_tags(block: str, tags: list[str]) -> None:
    assert parse_note(f"---\n{block}\n---\n").tags == tags


def test_links_in_lists_and_maps_of_properties_are_told_with_their_lines() -> None:
    block = "a:\n  - 1\n  - '[[One]]'\nb: {c: ['[[Two|2]]', '[x](Three.md)'], d: 'see [[No]]'}\ne: [[No]]"
    links = parse_note(f"---\n{block}\n---\n").links
    assert [(link.linktext, link.display, link.line) for link in links] == [
        ("One", "", 4),
        ("Two", "2", 5),
        ("Three.md", "x", 5),
    ]


TYPES: list[tuple[str, PropertyValue, str]] = [
    ("a", None, "text"),
    ("a", "", "text"),
    ("a", "b", "text"),
    ("a", "12", "text"),
    ("a", 12, "number"),
    ("a", 0.5, "number"),
    ("a", True, "checkbox"),
    ("a", "2024-01-05", "date"),
    ("a", "2024-01-05T10:30", "datetime"),
    ("a", "2024-01-05T10:30:00", "datetime"),
    ("a", "2024-01-05 10:30", "text"),
    ("a", "2024-01", "text"),
    ("a", [], "multitext"),
    ("a", ["b"], "multitext"),
    ("a", {}, "unknown"),
    ("tags", "b", "tags"),
    ("Tags", None, "tags"),
    ("aliases", ["b"], "aliases"),
    ("cssclasses", None, "multitext"),
    ("tag", "b", "text"),
    ("Rating", "b", "number"),  # declared, in another case
    ("due", None, "datetime"),
    ("done", ["b"], "checkbox"),
    ("odd", 1, "number"),  # declared as something that is no type
]


@pytest.mark.parametrize(("name", "value", "expected"), TYPES)
def test_a_property_has_the_type_the_vault_declares_or_else_that_of_its_name_and_value(
    name: str, value: PropertyValue, expected: str
) -> None:
    declared = {"rating": "number", "due": "datetime", "Done": "checkbox", "odd": "sparkle"}
    assert property_type(name, value, declared) == expected
