"""An edit of properties changes the lines of those it names and not a byte more, and is read back as asked for.

What is read back is judged by the reader of properties, whose own tests hold it to Obsidian's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from hypothesis import assume, event, example, given
from hypothesis import strategies as st

from vaultwire.markdown.edits import to_plain
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.markdown.property_edits import (
    PropertyEditError,
    remove_properties,
    rename_property,
    set_properties,
)
from vaultwire.markdown.yaml_core import PropertyValue

HELP = Path(__file__).parents[3] / "shared" / "vaults" / "obsidian-help"


def _both(block: str, ending: str) -> str:
    """A note with a block, in either line end."""
    return f"---\n{block}\n---\nbody\n".replace("\n", ending)


SETS: list[tuple[str, Mapping[str, PropertyValue], str]] = [
    # one value for another
    ("a: b", {"a": "c"}, "a: c"),
    ("A: b", {"a": "c"}, "A: c"),
    ("a: b # x", {"a": "c"}, "a: c # x"),
    ("a:   b   # x", {"a": "c"}, "a:   c   # x"),
    ("a : b", {"a": "c"}, "a : c"),
    ("a:\tb", {"a": "c"}, "a:\tc"),
    ("  a: b\n  c: d", {"a": 1, "e": 2}, "  a: 1\n  c: d\n  e: 2"),
    ('"a b": c', {"A B": "d"}, '"a b": d'),
    ("\U0001f600: \U0001f600 # \U0001f600", {"\U0001f600": "\U0001f601"}, "\U0001f600: \U0001f601 # \U0001f600"),
    ("no: on # off", {"no": "x", "on": True}, 'no: x # off\n"on": true'),
    ("a: 1\nb: 2\nc: 3", {"c": 4, "a": 5, "d": 6}, "a: 5\nb: 2\nc: 4\nd: 6"),
    # quotes
    ("a: 'b' # x", {"a": "c"}, "a: 'c' # x"),
    ("a: 'b'", {"a": "it's"}, "a: 'it''s'"),
    ("a: 'b'", {"a": "c\td"}, 'a: "c\\td"'),
    ('a: "b"', {"a": 'c "d" \\'}, 'a: "c \\"d\\" \\\\"'),
    ('a: "1"', {"a": 1}, "a: 1"),
    ("a: 1", {"a": "1"}, 'a: "1"'),
    ("a: b", {"a": "[[C]]"}, 'a: "[[C]]"'),
    ("a: b", {"a": "2024-01-05"}, "a: 2024-01-05"),
    ("a: 2024-01-05 # day", {"a": "2024-01-06T10:30:00"}, "a: 2024-01-06T10:30:00 # day"),
    ("a: 1", {"a": 2.0, "b": 0.5, "c": -3, "d": 1e300}, "a: 2\nb: 0.5\nc: -3\nd: 1e+300"),
    ("a: !!str 1 # x", {"a": "2"}, 'a: "2" # x'),
    # nothing to something, something to nothing
    ("a:", {"a": "b"}, "a: b"),
    ("a:  # x", {"a": "b"}, "a: b  # x"),
    ("a: null # x", {"a": True}, "a: true # x"),
    ("a: b", {"a": None}, "a:"),
    ("a: b # x", {"a": None}, "a: # x"),
    ("a:\n  - b # x\n# y", {"a": None}, "a:\n# y"),
    ("a:\n  b # x", {"a": None}, "a:"),
    # lists
    ("a: [b, 'c']", {"a": ["b", "c", "d"]}, "a: [b, 'c', d]"),
    ("a: [ 'b' , 'c' ] # x", {"a": ["c", "d"]}, "a: [ 'c', 'd' ] # x"),
    ("a: [b, c, d]", {"a": ["d"]}, "a: [d]"),
    ("a: [b, c,]", {"a": ["b"]}, "a: [b,]"),
    ("a: [b, c]", {"a": ["x", "b", "c"]}, "a: [x, b, c]"),
    ("a: [b]", {"a": ["c, d", "[[E]]", None, 1]}, 'a: ["c, d", "[[E]]", null, 1]'),
    ("a: [b, # x\n  c] # y", {"a": ["b", "d"]}, "a: [b, # x\n  d] # y"),
    ("a: [[B]]", {"a": ["[[B]]"]}, 'a: ["[[B]]"]'),
    ("a: [b]", {"a": []}, "a: []"),
    ("a: [] # x", {"a": ["b"]}, "a: # x\n  - b"),
    ("a:\n  - b\n  - 'c'\nd: e", {"a": ["b", "c", "f"]}, "a:\n  - b\n  - 'c'\n  - f\nd: e"),
    ("a:\n  - b # x\n  # y\n  - c", {"a": ["n", "b", "c"]}, "a:\n  - n\n  - b # x\n  # y\n  - c"),
    ("a:\n  - b # x\n  # y\n  - c # z", {"a": ["c"]}, "a:\n  # y\n  - c # z"),
    ("a:\n- b\n- c", {"a": ["b", "d"]}, "a:\n- b\n- d"),
    ("a:\n    -   b\n    -   c", {"a": ["b", "d", "c"]}, "a:\n    -   b\n    -   d\n    -   c"),
    ('a:\n  - "b"\n  - "c"', {"a": ["b", "c", "d"]}, 'a:\n  - "b"\n  - "c"\n  - "d"'),
    ("a:\n  -\n    b\n  -\n  - c", {"a": ["b", None, "d"]}, "a:\n  -\n    b\n  -\n  - d"),
    ("a:\n  - |\n    b\n\n    c\n\n  - d", {"a": ["b\n\nc\n", "e"]}, "a:\n  - |\n    b\n\n    c\n\n  - e"),
    ("a:\n  - - b\n    - c\n  - d", {"a": [["b", "c"], ["e"]]}, "a:\n  - - b\n    - c\n  - [e]"),
    ("a: # x\n  - b\n  # y\nc: d", {"a": []}, "a: [] # x\n  # y\nc: d"),
    ("a: # x\n  - b\n  # y\nc: d", {"a": "e"}, "a: e # x\n  # y\nc: d"),
    ("a: b # x", {"a": ["c", "#d"]}, 'a: # x\n  - c\n  - "#d"'),
    # texts of several lines, and maps
    ("a: |- # x\n  b\n\n  c\n\n# y\nd: e", {"a": "f"}, "a: f\n\n# y\nd: e"),
    ("a: >+\n  b\n\nc: d", {"a": "e"}, "a: e\n\nc: d"),
    ("a: b\n  c\n\n  d # x\ne: f", {"a": "g"}, "a: g # x\ne: f"),
    ('a: "b\n  c" # x\nd: e', {"a": "f"}, 'a: "f" # x\nd: e'),
    ("a:\n  # x\n  b\nc: d", {"a": "e"}, "a: e\n  # x\nc: d"),
    ("a: b # x\nc: d", {"a": "e\n\n  f\n"}, "a: | # x\n  e\n\n    f\nc: d"),
    ("a: b", {"a": "e\nf"}, "a: |-\n  e\n  f"),
    ("a: b", {"a": " e\nf"}, 'a: " e\\nf"'),
    ("a: b", {"a": "e \nf"}, 'a: "e \\nf"'),  # editors strip what nobody sees
    ("a: b", {"a": "e\n\n"}, 'a: "e\\n\\n"'),
    ("a: 'b'\n  # x\nc: d", {"a": "e\nf"}, 'a: "e\\nf"\n  # x\nc: d'),
    ("a: b", {"a": "e\n---\nf"}, "a: |-\n  e\n  ---\n  f"),
    (
        "a:\n  b: c\n  # x\n\nd: e",
        {"a": {"b": [1, "x, y"], "2": None}},
        'a: {b: [1, "x, y"], "2": null}\n  # x\n\nd: e',
    ),
    ("a: {b: c,\n  d: e} # x", {"a": 1}, "a: 1 # x"),
    # anchors and names of other kinds
    ("a: &x b\nc: *x", {"c": "d"}, "a: &x b\nc: d"),
    ("a: &x # y\n# - z\n- b\n- c", {"a": ["b", "d"]}, "a: &x # y\n# - z\n- b\n- d"),
    ("a: &x [b] # y", {"a": ["c"]}, "a: &x [c] # y"),
    ("a: &x\n  - b\nc: *x", {"d": 1}, "a: &x\n  - b\nc: *x\nd: 1"),
    ("? a\n: b\nc: d", {"c": 1, "e": 2}, "? a\n: b\nc: 1\ne: 2"),
    ("012: a", {"12": "b", "013": "c"}, '012: b\n"013": c'),
    # a new one comes last
    ("# x", {"a": 1}, "# x\na: 1"),
    ("a: b\n\n# x\n", {"c": None}, "a: b\n\n# x\n\nc:"),
    ("a: |+\n  b\n\n", {"c": ["d"]}, "a: |+\n  b\n\n\nc:\n  - d"),
    ("a: b", {"c: d": "e", " f": 1}, 'a: b\n"c: d": e\n" f": 1'),
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("before", "values", "after"), SETS, ids=[repr(case[0]) for case in SETS])
def test_a_property_that_is_set_changes_its_own_value_only(
    before: str, values: Mapping[str, PropertyValue], after: str, ending: str
) -> None:
    changed = set_properties(_both(before, ending), values, {})
    assert changed == _both(after, ending)
    assert set_properties(changed, values, {}) == changed


# Notes of both line ends: what is new gets the line end of the line it follows, and every other line keeps its own.
MIXED: list[tuple[str, Mapping[str, PropertyValue], str]] = [
    ("---\r\na: b\n---\r\n", {"c": 1}, "---\r\na: b\nc: 1\n---\r\n"),
    ("---\na: b\r\n---\n", {"c": 1}, "---\na: b\r\nc: 1\r\n---\n"),
    ("---\na: b\r\nc: d\n---\n", {"a": ["e"]}, "---\na:\r\n  - e\r\nc: d\n---\n"),
    ("---\na:\n  - b\r\n  - c\n---\n", {"a": ["b", "d", "c"]}, "---\na:\n  - b\r\n  - d\r\n  - c\n---\n"),
    ("---\na:\n  - b\r\n  - c\n---\n", {"a": ["d", "b", "c"]}, "---\na:\n  - d\r\n  - b\r\n  - c\n---\n"),
    ("---\na:\n  - b\r\n  - c\n---\n", {"a": ["d", "e", "c"]}, "---\na:\n  - d\r\n  - e\r\n  - c\n---\n"),
    ("---\na: |\r\n  b\n  c\r\nd: e\n---\n", {"a": "f", "d": "g"}, "---\na: f\r\nd: g\n---\n"),
    ("---\n\r\n---\n", {"a": 1}, "---\n\r\na: 1\r\n---\n"),
]


@pytest.mark.parametrize(("before", "values", "after"), MIXED, ids=[repr(case[0]) for case in MIXED])
def test_in_a_note_of_both_line_ends_each_line_keeps_its_own(
    before: str, values: Mapping[str, PropertyValue], after: str
) -> None:
    assert set_properties(before, values, {}) == after
    assert to_plain(after) == set_properties(to_plain(before), values, {})


def test_a_tab_between_a_dash_and_its_text_is_no_hindrance() -> None:
    text = "---\na:\n-\tb\n- \tc # x\nd: e\n---\n"
    assert set_properties(text, {"d": "f"}, {}) == text.replace("d: e", "d: f")
    assert set_properties(text, {"a": ["b", "c", "g"]}, {}) == text.replace("# x\n", "# x\n-\tg\n")
    assert rename_property(text, "a", "h") == text.replace("a:", "h:")


REMOVES: list[tuple[str, list[str], str]] = [
    ("a: b\nc: d", ["a"], "c: d"),
    ("a: b\nC: d # x", ["c"], "a: b"),
    ("a: b\nc: d\ne: f", ["e", "a"], "c: d"),
    ("# x\na: b\n# y\nc: d", ["a"], "# x\n# y\nc: d"),
    ("# x\na: b", ["a"], "# x"),
    ("a: b\n# x", ["a"], "# x"),
    ("\na: b", ["a"], ""),
    ("a:\n  - b # x\n  # y\n\n  - c\n  # z\n# v\nd: e", ["a"], "# v\nd: e"),
    ("a:\n- b\n# x\nc: d", ["a"], "# x\nc: d"),
    ("a: |\n  b\n\n  # c\n\nd: e", ["a"], "\nd: e"),
    ("a: b\n  c\n  d\ne: f", ["a"], "e: f"),
    ('a: "b\nc: d\n" # x\ne: f', ["a"], "e: f"),
    ("a: [b,\nc\n] # x\ne: f", ["a"], "e: f"),
    ("a: {b: c,\n  # x\n  d: e}\nf: g", ["a"], "f: g"),
    ("a:\n  b:\n    - c: d\n      e: |\n        f\ng: h", ["a"], "g: h"),
    ("a: &x b\nc: *x\nd: e", ["c"], "a: &x b\nd: e"),
    ("a: |\n  b\nc:\n    - d\n    # e\nf: g", ["c"], "a: |\n  b\nf: g"),
    ("? a\n: b\nc: d", ["c"], "? a\n: b"),
    ("a: b", ["c"], "a: b"),
    ("a: 1\nA: 2", ["A"], "a: 1"),
    # an empty line that stays would be one more at the end of the text above, which keeps them
    ("a: |+\n  b\n\nc: d\n\ne: f", ["c"], "a: |+\n  b\n\ne: f"),
    ("a: |+\n  b\nc: |\n  d\n\n\ne: f", ["c"], "a: |+\n  b\ne: f"),
    ("a: |\n  b\nc: |\n  d\n\n\ne: f", ["c"], "a: |\n  b\n\n\ne: f"),
    ("a:\n  -\tb\nc: d", ["c"], "a:\n  -\tb"),
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("before", "names", "after"), REMOVES, ids=[repr(case[0]) for case in REMOVES])
def test_a_property_that_is_removed_takes_its_own_lines_only(
    before: str, names: list[str], after: str, ending: str
) -> None:
    assert remove_properties(_both(before, ending), names) == _both(after, ending)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("---\na: b\n---\nbody", "body"),
        ("---\na: b\n---", ""),
        ("---\r\na: b\r\n---\r\n", ""),
        ("---\na:\n  - b\n  # c\n--- \n\nbody", "\nbody"),
        ("---\na: b\n---\n---\nc: d\n---\n", "---\n---\n---\nc: d\n---\n"),  # nothing else may become the frontmatter
        ("---\na: b\n---\n---\nc: d\n", "---\n---\n---\nc: d\n"),
        ("---\na: b\n\n---\nbody", "---\n---\nbody"),  # the mark of a block that was there before
        ("---\n\na: b\n---\nbody", "---\n\n---\nbody"),
    ],
)
def test_the_block_goes_with_its_last_property_unless_there_is_a_reason_to_keep_it(before: str, after: str) -> None:
    assert remove_properties(before, ["a"]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "---\na: b\n---\n"),
        ("body", "---\na: b\n---\nbody"),
        ("x\r\ny", "---\r\na: b\r\n---\r\nx\r\ny"),
        ("\n---\nc: d\n---\n", "---\na: b\n---\n\n---\nc: d\n---\n"),
        ("---\na rule, then text\n", "---\na: b\n---\n---\na rule, then text\n"),
        ("---\n---", "---\na: b\n\n---"),
        ("---\r\n---\r\nbody", "---\r\na: b\r\n\r\n---\r\nbody"),
        ("---\n\n---\n", "---\n\na: b\n---\n"),
        ("---\nc: d\n---", "---\nc: d\na: b\n---"),
        ("---\r\nc: d\r\n---\nx\ny\nz", "---\r\nc: d\r\na: b\r\n---\nx\ny\nz"),  # the block's own line end
        ("---\r\r\nc: d\r\r\n---\r\r\nx", "---\r\r\nc: d\r\r\na: b\r\n---\r\r\nx"),  # a file converted twice
    ],
)
def test_what_was_set_first_in_a_note_is_removed_without_a_trace(before: str, after: str) -> None:
    assert set_properties(before, {"a": "b"}, {}) == after
    assert remove_properties(after, ["a"]) == before


RENAMES = [
    ("a: b # x\nc: d", "a", "e", "e: b # x\nc: d"),
    ("Tags: [b]", "tags", "tags", "tags: [b]"),
    ("Tags: [b]", "TAGS", "Labels", "Labels: [b]"),
    ("'a b' : c", "a b", "it's", "'it''s' : c"),
    ('"a":\n  - b', "a", "c", '"c":\n  - b'),
    ("a: b", "a", "c: d", '"c: d": b'),
    ("a: b", "a", "2024", '"2024": b'),
    ("a: &x b\nc: *x", "a", "d", "d: &x b\nc: *x"),
]


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize(("before", "old", "new", "after"), RENAMES, ids=[repr(case[0]) for case in RENAMES])
def test_a_property_that_is_renamed_changes_its_name_only(
    before: str, old: str, new: str, after: str, ending: str
) -> None:
    assert rename_property(_both(before, ending), old, new) == _both(after, ending)


BROKEN = [
    ("---\na: b\na: c\n---\n", "line 3: property 'a' is there twice"),
    ("---\na: {b: 1, b: 2}\n---\n", "line 2: 'b' is there twice"),
    ("---\na:\n\t- b\n---\n", "line 3: a tab cannot indent YAML"),
    ("---\na: b: c\n---\n", "line 2: a text with ': ' in it needs quotes"),
    ("---\na: @b\n---\n", "line 2: a text that begins with @"),
    ("---\na: b\nbody", "line 1: frontmatter is opened with --- and never closed"),
    ('---\na: "b\n---\n', "line 2: "),
    ("---\njust text\n---\n", "line 2: expected 'name: value'"),
    ("---\n- a\n---\n", "line 2: expected 'name: value'"),
    ("---\na: *x\n---\n", "line 2: there is no &x before *x"),
    ('---\n\n{"a": 1}\n---\n', "line 3: the frontmatter is written in one piece"),
    ("---\nnull\n---\n", "line 2: the frontmatter is written in one piece"),
]
EDITS: list[Callable[[str], str]] = [
    lambda text: set_properties(text, {"new": 1}, {}),
    lambda text: remove_properties(text, ["a"]),
    lambda text: rename_property(text, "a", "new"),
]


@pytest.mark.parametrize("edit", EDITS, ids=["set", "remove", "rename"])
@pytest.mark.parametrize(("text", "problem"), BROKEN, ids=[repr(case[0]) for case in BROKEN])
def test_broken_frontmatter_is_refused_with_the_line_and_the_problem(
    text: str, problem: str, edit: Callable[[str], str]
) -> None:
    with pytest.raises(PropertyEditError) as refusal:
        edit(text)
    assert problem in str(refusal.value)


REFUSED: list[tuple[str, Callable[[str], str], str]] = [
    ("? a\n: b", lambda text: set_properties(text, {"a": 1}, {}), "does not begin with a plain or quoted name"),
    ("&x a: b", lambda text: remove_properties(text, ["a"]), "does not begin with a plain or quoted name"),
    ("[a]: b", lambda text: rename_property(text, "[ a ]", "c"), "does not begin with a plain or quoted name"),
    ("a: &x b\nc: *x", lambda text: set_properties(text, {"a": 1}, {}), "'a' holds &x, and 'c' uses it as *x"),
    ("a: [&x b]\nc: {d: *x}", lambda text: remove_properties(text, ["a"]), "'a' holds &x, and 'c' uses it as *x"),
    ("a: &x 1\nb: &x 2\n? c\n: *x", lambda text: remove_properties(text, ["b"]), "without changing what else"),
    ("a: b\n...", lambda text: set_properties(text, {"c": 1}, {}), "without changing what else"),
    ("Ab: 1\naB: 2", lambda text: set_properties(text, {"ab": 1}, {}), "'ab' may be any of 'Ab', 'aB'"),
    ("a: 1", lambda text: set_properties(text, {"b": 1, "B": 2}, {}), "upper and lower case are one name"),
    ("a: 1\nB: 2", lambda text: rename_property(text, "a", "b"), "there is a property 'B' already"),
    ("a: 1", lambda text: rename_property(text, "b", "c"), "there is no property 'b'"),
    ("a: 1", lambda text: rename_property(text, "a", "b\nc"), "one line of text"),
    ("a: 1", lambda text: set_properties(text, {" ": 1}, {}), "one line of text"),
    ("a: 1", lambda text: set_properties(text, {"a": "\ud83d"}, {}), "half a character"),
    ("a: 1", lambda text: set_properties(text, {"a": 10**400}, {}), "too many digits"),
    ("a: 1", lambda text: set_properties(text, {"b" * 2_000: 1}, {}), "without changing what else"),
    ("a: 1", lambda text: set_properties(text, {"b": b"c"}, {}), "not b'c'"),  # type: ignore[dict-item]
    ("a: 1", lambda text: set_properties(text, {"b": _nested(30)}, {}), "more than 20 levels"),
]


def _nested(depth: int) -> PropertyValue:
    return [_nested(depth - 1)] if depth else "x"


@pytest.mark.parametrize(("block", "edit", "reason"), REFUSED, ids=[repr((case[0], case[2])) for case in REFUSED])
def test_what_cannot_be_done_safely_is_refused_with_the_reason(
    block: str, edit: Callable[[str], str], reason: str
) -> None:
    with pytest.raises(PropertyEditError) as refusal:
        edit(_both(block, "\n"))
    assert reason in str(refusal.value)


DECLARED = {
    "text": "text",
    "list": "multitext",
    "number": "number",
    "done": "checkbox",
    "day": "date",
    "time": "datetime",
}
TYPED: list[tuple[str, PropertyValue, PropertyValue | str]] = [
    ("text", "b", "b"),
    ("text", "", ""),
    ("TEXT", "5", "5"),
    ("text", 5, "5"),
    ("text", 0.5, "0.5"),
    ("text", True, "true"),
    ("list", "b", ["b"]),
    ("list", 5, [5]),
    ("list", ["b", True, 0.5], ["b", True, 0.5]),
    ("list", [], []),
    ("tags", "b/c", ["b/c"]),
    ("Tags", ["#b"], ["#b"]),
    ("aliases", "b c", ["b c"]),
    ("cssclasses", "b", ["b"]),
    ("number", 0.5, 0.5),
    ("number", "0.5", 0.5),
    ("number", "-12", -12),
    ("done", "true", True),
    ("done", False, False),
    ("day", "2024-02-29", "2024-02-29"),
    ("day", "2000-02-29", "2000-02-29"),
    ("time", "2024-01-05T10:30:00", "2024-01-05T10:30:00"),
    ("time", "2024-01-05T10:30", "2024-01-05T10:30"),
    ("free", "2024-99-99", "2024-99-99"),
    ("free", {"b": 1}, {"b": 1}),
    *((name, None, None) for name in (*DECLARED, "tags", "free")),
]
MISTYPED: list[tuple[str, PropertyValue, str]] = [
    ("Text", ["b"], "Text: expected a text, not ['b']"),
    ("list", {"b": 1}, "list: expected a list of texts or numbers"),
    ("list", ["b", ["c"]], "list: expected a list of texts or numbers"),
    ("aliases", [None], "aliases: expected a list of texts or numbers"),
    ("tags", "b c", "tags: expected a list of tags, each a text without spaces or commas"),
    ("tags", ["b,c"], "tags: expected a list of tags"),
    ("tags", ["b", 1984], "tags: expected a list of tags"),
    ("tags", ["#1984"], "tags: expected a list of tags"),
    ("tags", [""], "tags: expected a list of tags"),
    ("number", "1.20", "number: expected a number, not '1.20', which would become 1.2: give that if it is meant"),
    ("number", "+41", "number: expected a number, not '+41', which would become 41"),
    ("number", "9" * 300, "number: expected a number, not '9"),
    ("number", True, "number: expected a number, not True"),
    ("done", "True", "done: expected true or false, not 'True', which would become true"),
    ("done", "yes", "done: expected true or false, not 'yes'"),
    ("done", 1, "done: expected true or false, not 1"),
    ("day", "05.01.2024", "day: expected YYYY-MM-DD, not '05.01.2024'"),
    ("day", "2023-02-29", "day: expected YYYY-MM-DD"),
    ("day", "1900-02-29", "day: expected YYYY-MM-DD"),
    ("day", "2024-04-31", "day: expected YYYY-MM-DD"),
    ("day", "2024-01-00", "day: expected YYYY-MM-DD"),
    ("day", "2024-13-01", "day: expected YYYY-MM-DD"),
    ("day", "2024-01-05T10:30:00", "day: expected YYYY-MM-DD"),
    ("day", 2024, "day: expected YYYY-MM-DD"),
    ("time", "2024-01-05", "time: expected YYYY-MM-DDTHH:MM:SS"),
    ("time", "2024-01-05T24:00:00", "time: expected YYYY-MM-DDTHH:MM:SS"),
    ("time", "2024-01-05 10:30", "time: expected YYYY-MM-DDTHH:MM:SS"),
]


@pytest.mark.parametrize(("name", "value", "expected"), TYPED)
def test_a_value_of_the_declared_type_is_set_and_one_text_for_a_list_is_a_list(
    name: str, value: PropertyValue, expected: PropertyValue
) -> None:
    for before in ("", f"---\n{name}: [old]\n---\n", f"---\n{name}: {{}}\n---\n"):
        read = parse_frontmatter(set_properties(before, {name: value}, DECLARED))
        assert repr(read.values) == repr({name: expected})


@pytest.mark.parametrize(("name", "value", "message"), MISTYPED)
def test_a_value_of_another_type_is_refused_with_what_is_expected(
    name: str, value: PropertyValue, message: str
) -> None:
    for before in ("", f"---\n{name}: old\n---\n"):
        with pytest.raises(PropertyEditError) as refusal:
            set_properties(before, {name: value}, DECLARED)
        assert str(refusal.value).startswith(message)


def test_what_is_there_already_is_not_asked_for_its_type() -> None:
    text = "---\nday: someday\ntags: [a b, 1984]\nlist: one\n---\n"
    assert set_properties(text, {"day": "someday", "tags": ["a b", 1984], "list": "one"}, DECLARED) == text
    added = set_properties(text, {"tags": ["a b", 1984, "new"]}, DECLARED)
    assert added == text.replace("1984]", "1984, new]")


@pytest.mark.parametrize(
    "word",
    [
        "yes",
        "NO",
        "on",
        "Off",
        "1_000",
        "0b101",
        "0x_F",
        "1:30",
        "12:30:45",
        "190:20:30.15",
        "=",
        "<<",
        "0o7",
        "012",
        ".5",
        "~",
    ],
)
def test_texts_that_an_older_yaml_takes_for_something_else_are_quoted(word: str) -> None:
    values: list[PropertyValue] = [word, [word], {"b": word}]
    for value in values:
        block = set_properties("", {"a": value}, {})[4:-4]
        assert yaml.safe_load(block) == {"a": value}  # PyYAML's own constructor reads YAML 1.1


@pytest.mark.parametrize(
    "text", ["50%", "it's", "b#c", "http://x", "-b", "a, b", "x]", "yesterday", "1.2.3", "é", "C++"]
)
def test_texts_that_need_no_quotes_get_none(text: str) -> None:
    assert set_properties("", {"a": text}, {}) == f"---\na: {text}\n---\n"


# The reader's own stand-ins are the one thing it cannot tell apart (yaml_core).
CHARACTERS = st.characters(exclude_categories=["Cs"], max_codepoint=0xFFFFF)
TEXTS = st.one_of(
    st.text(st.one_of(st.sampled_from("-?:,[]{}#&*!|>'\"%@`\\~ ab10_\n\t\r\x85\u2028"), CHARACTERS), max_size=8),
    st.sampled_from(
        ["---", "...", "a\n---\nb", "a\nb\n", "a\n\n b", "- a", "a: b", "a #b", "true", "~", "012", "[[L]]"]
    ),
)
NUMBERS = st.one_of(st.integers(-(10**30), 10**30), st.floats())
SCALARS = st.one_of(TEXTS, NUMBERS, st.booleans(), st.none())
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(TEXTS.filter(lambda name: bool(name.strip()) and name.isprintable()), inner, max_size=3),
    ),
    max_leaves=6,
)


def _same(one: PropertyValue, other: PropertyValue) -> bool:
    """What JavaScript cannot tell apart is the same: 1 and 1.0."""
    return _plain(one) == _plain(other)


def _plain(value: PropertyValue) -> object:
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return ("number", "nan" if value != value else value)  # noqa: PLR0124 - what nan is known by
    return (type(value), value)


@given(VALUES)
@example([["a", "-1", ":", "?x", "a:"], {"-a": "b}", ":": ""}])
@example("a\n\tb")
@example(" a\nb")
@example("\na\nb")
@example("a\nb\n\n")
@example("\ufeffa")
def test_any_value_is_read_back_as_it_was_set(value: PropertyValue) -> None:
    for before in (
        "body",
        "---\na: old\n---\n",
        "---\r\na: 'old' # c\r\nb: 1\r\n---\r\n",
        "---\na: [x, y]\n---",
        "---\na:\n- x\n---",
    ):
        after = set_properties(before, {"a": value}, {})
        assert _same(parse_frontmatter(to_plain(after)).values["a"], value)


# Properties as nasty as they come, {} being the name: each is valid, and all of its text belongs to it.
PIECES = [
    "{}: plain", "{}: 'single' # comment", '{}: "double \\" \\n"', "{}:", "{}: # nothing", "{} : 012", "{}:\ttab\t",
    "{}: [a, 'b', 3]", "{}: [] # none", "{}: [[Link]]", "{}: [a, # x\n  b,\n\n  c, ]",
    "{}:\n  - a\n  - 'b' # x\n  # y\n  - 3", "{}:\n- a\n\n- b", "{}:\n    -   a\n    # end",
    "{}:\n  -\n  - |\n    a\n     b\n\n  - - c\n    - d\n  - e: f\n    g: h", "{}: |\n  a\n\n  # b",
    "{}: >-\n    folded\n    text", "{}: |2- # x\n    a", "{}: multi\n  line\n  plain # x", '{}: "a\n\n  b" # x',
    "{}: 'a\nb: c'", "{}:\n  later # x", "{}:\n  # x\n  'later'", "{}:\n  k: v\n  l: [1,\n    2]\n  # x",
    "{}: {{k: v,\n  l: m}}", "{}: 2024-01-05", "{}: no # on", "{}: \U0001f600 # \U0001f600", "{}: !!str 12 # x",
    "{}: !tag\n  - a", "{}: '[[L|a]]'", "{}: a\u2028b\x85c", "{}: http://x#y", "{}: {{{{date}}}}",
]  # fmt: skip
NAMES = ["alpha", "Beta b", "'it''s'", '"q: r"', "2024", "\U0001f600", "no", "due.date", "x-y"]
FILLERS = ["", "# comment\n", "\n", "# c: d\n\n# e\n"]


@st.composite
def _notes(draw: st.DrawFn) -> list[str]:
    """A note's parts, the properties' at odd places, and its body; a property stands between others."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    parts = ["---\nfirst: 1\n"]
    for name in names:
        parts += [draw(st.sampled_from(PIECES)).format(name) + "\n", draw(st.sampled_from(FILLERS))]
    parts[-1] += "last: 1\n---" + draw(st.sampled_from(["", "\n", " \nbody", "\n---\nx: y\n---\n"]))
    ending = draw(st.sampled_from(["\n", "\r\n"]))
    return [part.replace("\n", ending) for part in parts]


def _odd(parts: list[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield each odd property's name with what stands before it, itself, and what stands behind."""
    names = list(parse_frontmatter(to_plain("".join(parts))).values)[1:-1]
    assert len(names) == len(parts) // 2
    for number, name in enumerate(names):
        place = 2 * number + 1
        yield name, "".join(parts[:place]), parts[place], "".join(parts[place + 1 :])


@given(_notes(), VALUES)
def test_setting_a_property_leaves_every_byte_around_it(parts: list[str], value: PropertyValue) -> None:
    text = "".join(parts)
    old = parse_frontmatter(to_plain(text))
    assert not old.problems
    for name, before, _, behind in _odd(parts):
        after = set_properties(text, {name.upper(): value}, {})
        assert after.startswith(before)
        assert after.endswith(behind)
        read = parse_frontmatter(to_plain(after))
        assert read.problems == []
        assert list(read.values) == list(old.values)
        assert all(_same(there, value if key == name else old.values[key]) for key, there in read.values.items())


@given(_notes())
def test_removing_a_property_removes_all_of_its_text_and_nothing_else(parts: list[str]) -> None:
    text = "".join(parts)
    for name, before, _, behind in _odd(parts):
        assert remove_properties(text, [name.upper()]) == before + behind
    names = [name for name, *_ in _odd(parts)]
    assert remove_properties(text, names) == "".join(parts[::2])


@given(_notes(), TEXTS.filter(lambda name: bool(name.strip()) and name.isprintable()))
@example(["---\nfirst: 1\n", "a: b\n", "last: 1\n---"], "- c")
def test_renaming_a_property_changes_its_name_only(parts: list[str], new: str) -> None:
    text = "".join(parts)
    old = parse_frontmatter(to_plain(text))
    assume(new.casefold() not in map(str.casefold, old.values))
    for name, before, itself, behind in _odd(parts):
        after = rename_property(text, name.upper(), new)
        assert after.startswith(before)
        assert after.endswith(itself[itself.index(":", len(name)) :] + behind)
        assert list(parse_frontmatter(to_plain(after)).values) == [new if key == name else key for key in old.values]


@given(_notes())
def test_setting_what_is_there_changes_nothing(parts: list[str]) -> None:
    text = "".join(parts)
    values = parse_frontmatter(to_plain(text)).values
    assert set_properties(text, values, dict.fromkeys(map(str.casefold, values), "date")) == text


@given(_notes(), st.dictionaries(st.sampled_from(["new", "n: w", "N E W", "30"]), VALUES, min_size=1))
def test_what_is_set_and_removed_leaves_no_trace(parts: list[str], values: dict[str, PropertyValue]) -> None:
    for text in ("".join(parts), parts[-1], parts[0] + parts[-1]):
        assume("n:" not in text)
        after = set_properties(text, values, {})
        assert after != text
        assert remove_properties(after, values) == text


BITS = st.sampled_from([
    "---", "--- ", "a: b", "a:", "  - c", "- c", "b: [c", "]", "b: {", "}", "c: |", "  text", "\tx", "# c", "  # c",
    "", " ", "d: 'e", "'", "? e", ": f", "&x f: &y g", "g: *y", "!t h: i", "...", "%YAML 1.2", "body", "A: 1",
    "[i]: j", "{{x}}", "\r",
])  # fmt: skip


@given(st.lists(BITS, max_size=8), st.sampled_from(["\n", "\r\n", "\r\r\n"]), st.booleans(), SCALARS)
@example(["---", "a: |", "  b", "", "---"], "\n", False, "x\ny")
def test_any_text_comes_back_as_it_was_or_is_refused(
    bits: list[str], ending: str, has_frontmatter: bool, value: PropertyValue
) -> None:
    text = ending.join(["---", *bits, "---", "body"] if has_frontmatter else bits)
    names = list(parse_frontmatter(to_plain(text)).values)
    try:
        after = set_properties(text, {"new": value}, {})
    except PropertyEditError:
        event("refused")
    else:
        event("set")
        assert remove_properties(after, ["NEW"]) == text
    for name in names:
        try:
            without = remove_properties(text, [name])
            renamed = rename_property(rename_property(text, name, "new"), "new", name)
        except PropertyEditError:
            continue
        assert list(parse_frontmatter(to_plain(without)).values) == [key for key in names if key != name]
        assert parse_frontmatter(to_plain(renamed)).values == parse_frontmatter(to_plain(text)).values


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_properties_of_real_notes_come_back_byte_for_byte(ending: str) -> None:
    notes = [to_plain(path.read_text("utf-8")).replace("\n", ending) for path in sorted(HELP.rglob("*.md"))]
    if not notes:
        pytest.skip("no copy of obsidian-help")
    assert len(notes) > 100
    new: list[PropertyValue] = ["[[Link]]", ["a", "b: c"], None, 12, "two\nlines", "2024-01-05"]
    for text in notes:
        values = parse_frontmatter(to_plain(text)).values
        assert set_properties(text, values, {}) == text
        for value in new:
            after = set_properties(text, {"vaultwire test": value}, {})
            assert after.endswith(text[text.find("\n---") if values else 0 :])
            assert remove_properties(after, ["vaultwire test"]) == text
        for name, there in values.items():
            types = {name.casefold(): "text"}
            changed = set_properties(text, {name: "other"}, types)
            assert changed != text
            if isinstance(there, str):
                assert set_properties(changed, {name: there}, types) == text
            assert name not in parse_frontmatter(to_plain(remove_properties(text, [name]))).values
