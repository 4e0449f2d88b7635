"""Values of a YAML text that change: it says what it should, and every other line stays."""

from __future__ import annotations

import copy
import difflib
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultwire.markdown.property_values import one_line, same_value
from vaultwire.markdown.yaml_core import read_yaml
from vaultwire.markdown.yaml_edits import NotEditedError, rewritten

TEXT = """# head
filters: file.hasTag("book")  # which
formulas:
  # doubled
  double: price * 2
  long: |
    a +
    b
  # of the other
  other: "x"
views:
  # the table
  - type: table   # t
    name: All
    unknown: {a: 1, b: [1,2]}
    order:
      - file.name   # the name
      # status comes next
      - status
  # the cards
  - type: cards
    name: Two
    limit: 3

# tail
"""
_Change = Callable[[dict[str, Any]], object]


def _difference(text: str, change: _Change) -> list[str]:
    values: Any = copy.deepcopy(read_yaml(text, 1).values)
    change(values)
    after = rewritten(text, values)
    assert same_value(read_yaml(after, 1).values, values)
    lines = difflib.unified_diff(text.split("\n"), after.split("\n"), lineterm="", n=0)
    return [line for line in lines if line[0] in "+-" and line[:3] not in ("+++", "---")]


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (lambda v: v["views"][0].update(name="Every"), ["-    name: All", "+    name: Every"]),
        (lambda v: v["formulas"].update(other="y"), ['-  other: "x"', '+  other: "y"']),
        (lambda v: v["formulas"].update(double="1"), ["-  double: price * 2", '+  double: "1"']),
        (
            lambda v: v["formulas"].update(long="a", new="b\nc\n"),
            ["-  long: |", "-    a +", "-    b", "+  long: a", "+  new: |", "+    b", "+    c"],
        ),
        (lambda v: v["views"][0]["order"].append("formula.double"), ["+      - formula.double"]),
        (lambda v: v["views"][0]["order"].remove("status"), ["-      # status comes next", "-      - status"]),
        (lambda v: v["views"][1].pop("limit"), ["-    limit: 3"]),
        (
            lambda v: v["views"][0]["unknown"].update(a=2),
            ["-    unknown: {a: 1, b: [1,2]}", "+    unknown: {a: 2, b: [1,2]}"],
        ),
        (
            lambda v: v.update(filters={"and": ["a", "b: c"]}),
            [
                '-filters: file.hasTag("book")  # which',
                "+filters:  # which", "+  and:", "+    - a", '+    - "b: c"',
            ],
        ),
        (lambda v: v["views"][0].update(type="list"), ["-  - type: table   # t", "+  - type: list   # t"]),
        (lambda v: v["views"][0].pop("type"), ["-  - type: table   # t", "-    name: All", "+  - name: All"]),
        (
            lambda v: v["views"].append({"name": "N", "sort": [{"property": "a", "direction": "ASC"}]}),
            ["+  - name: N", "+    sort:", "+      - property: a", "+        direction: ASC"],
        ),
        (
            lambda v: v["views"].pop(1),
            ["-  # the cards", "-  - type: cards", "-    name: Two", "-    limit: 3"],
        ),
        (lambda v: v["views"][0]["order"].clear(), [
            "-    order:", "-      - file.name   # the name", "-      # status comes next", "-      - status",
            "+    # status comes next", "+    order: []",
        ]),
        (lambda v: v.update(empty=None), ["+empty: null"]),
    ],
)  # fmt: skip
def test_only_the_lines_of_the_change_differ(change: _Change, difference: list[str]) -> None:
    assert _difference(TEXT, change) == difference


def test_items_that_move_take_their_comments_along() -> None:
    after = rewritten(TEXT, {**read_yaml(TEXT, 1).values, "views": [*reversed(_views(TEXT))]})
    assert after.index("# the cards") < after.index("name: Two") < after.index("name: All") < after.index("# the name")
    assert sorted(after.split("\n")) == sorted(TEXT.split("\n"))


def _views(text: str) -> list[Any]:
    views: Any = read_yaml(text, 1).values["views"]
    assert isinstance(views, list)
    return views


def test_line_ends_of_windows_stay() -> None:
    after = rewritten(TEXT.replace("\n", "\r\n"), {**read_yaml(TEXT, 1).values, "filters": "x"})
    assert after.count("\n") == after.count("\r\n") == TEXT.count("\n")


@pytest.mark.parametrize("text", ["", "# only a comment\n", "{a: 1,\n b: 2}\n", "---\na: 1\n"])
def test_a_text_of_another_form_gets_the_values(text: str) -> None:
    after = rewritten(text, {"a": 1, "views": [{"name": "x"}]})
    assert read_yaml(after, 1).values == {"a": 1, "views": [{"name": "x"}]}
    assert ("comment" in after) == ("comment" in text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: [", "is not YAML"),
        ("a: &x 1\nb: *x\n", "anchors"),
        ("a: &x\n  c: 1\nb: 1\n", "anchor"),
        ("a: [1, # why\n  2]\n", "comment within brackets"),
        ("a: 1\r\nb: 2\n", "line ends"),
        ("a: 1\na: 2\n", "cannot be read"),
        ("? a\n: 1\nb: 1\n", "question mark"),
    ],
)
def test_what_cannot_change_alone_is_refused(text: str, says: str) -> None:
    with pytest.raises(NotEditedError, match=says):
        rewritten(text, {"a": {"c": 2, "d": [1]}, "b": 1})


@pytest.mark.parametrize(
    ("text", "new", "after"),
    [
        ("a: | # c\n  x\nb: 1\n", "z", "a: z # c\nb: 1\n"),
        ("a: |2 # c\n    x\n  # x\n# d\nb: 1\n", "z", "a: z # c\n# d\nb: 1\n"),  # the second is a line of the text
        ("a: &n >- # c\n  x\nb: 1\n", "p\nq", "a: |- # c\n  p\n  q\nb: 1\n"),
        ("a: 'x\n  y' # c\nb: 1\n", ["p"], "a: # c\n  - p\nb: 1\n"),
        ("a: [1,\n 2] # c\nb: 1\n", "z", "a: z # c\nb: 1\n"),
        ("a: # 1\n  # 2\n  [x,\n   y] # 3\nb: 1\n", "z", "# 2\n# 3\na: z # 1\nb: 1\n"),
        ("a:\n  - x # c\n  - 'y' # d\nb: 1\n", ["x", "z"], "a:\n  - x # c\n  - 'z' # d\nb: 1\n"),
        ("a:\n  - - x # c\n    - y\nb: 1\n", [["x", "z"]], "a:\n  - - x # c\n    - z\nb: 1\n"),
        ("{a: 1, b: 1} # c\n# d\n", "z", "# c\na: z\nb: 1\n# d\n"),
        ("--- {a: 1, b: 1} # c\n", "z", "---\n# c\na: z\nb: 1\n"),
    ],
)
def test_a_comment_behind_a_value_stays_where_the_value_is_written_again(text: str, new: object, after: str) -> None:
    assert rewritten(text, {"a": new, "b": 1}) == after  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("text", "new", "after"),
    [
        ("""["x y",b,  'c' ]""", ["x y", "b", "d"], """["x y",b,  'd' ]"""),
        ("""["x y", 'c' ]""", ["x y", "e", "c"], """["x y", e, 'c' ]"""),
        ("""["x y",b,  'c' ]""", ["b", "c"], "[b,'c' ]"),
        ("{k: 'v', 0x1f: 1e3, l: [1,2]}", {"k": "w", "31": 1000, "l": [1, 3]}, "{k: 'w', 0x1f: 1e3, l: [1,3]}"),
        ("{k: 'v'}", {"k": "v", "n": "x, y"}, "{k: 'v', n: \"x, y\"}"),
        ("[x,]", ["x", "y"], "[x, y,]"),
        ("{k}", {"k": 1}, "{k: 1}"),
        ("{~: 1, k: 'v'}", {"": 1, "k": "w"}, "{~: 1, k: 'w'}"),
        ("[&n x, *n]", ["x", "x", "y"], "[&n x, *n, y]"),
        ("[k: 'v', x]", [{"k": "w"}, "x"], "[{k: w}, x]"),
    ],
)
def test_what_stays_within_brackets_keeps_its_text(text: str, new: Any, after: str) -> None:
    assert rewritten(f"a: {text} # c\n", {"a": new}) == f"a: {after} # c\n"


def test_a_text_of_many_entries_is_compared_in_proportion_to_its_length() -> None:
    count = 10_000
    text = "".join(f"- k{number}: x\n  t: 1\n" for number in range(count))
    flow = ",\n ".join(f'"x # {number}"' for number in range(2 * count))
    wanted: dict[str, Any] = {"a": [{f"j{number}": "y", "t": 1} for number in range(count)], "b": "y"}
    after = rewritten(f"a:\n{text}b: [{flow}]\n", wanted)  # pairs of all entries would take longer than a test may
    assert after.count("y\n") == count + 1


def test_what_yaml_cannot_hold_is_refused() -> None:
    with pytest.raises(NotEditedError, match="half a character"):
        rewritten("a: 1\n", {"a": "\ud800"})


# ---------------------------------------------------------------------- any text

_QUOTES = ["", "'", '"']
_NAMES = st.sampled_from(["a", "b", "name", "views", "a b", "x: y", "#", "ä", "- c", "1", "true", ""])
_SCALARS = st.one_of(
    st.sampled_from(
        [None, True, 0, -1.5, "", "x", "a # b", "a: b", "'", '"', "- x", "| x", "a\nb", "a\nb\n", "\n", " x ", "#"]
    ),
    st.text(max_size=5),
)
_VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(_NAMES.filter(bool), inner, max_size=3)),
    max_leaves=8,
)
_MAPS = st.dictionaries(_NAMES.filter(bool), _VALUES, max_size=4)


class _Writer:
    """Writes values as YAML in random styles, with a comment of its own at every place where one may stand."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw
        self.comments = 0

    def rows(self, value: Any, indent: int) -> list[str]:
        found: list[str] = []
        if isinstance(value, dict):
            for name, each in value.items():
                found += [*self._above(indent), *self._entry(f"{' ' * indent}{one_line(name, '', 1)}:", each, indent)]
        else:
            for each in value:
                found += [*self._above(indent), *self._entry(f"{' ' * indent}-", each, indent)]
        return found

    def _above(self, indent: int) -> list[str]:
        kind = self._draw(st.integers(0, 5))
        return [f"{' ' * indent}{self._comment()}"] if kind == 0 else [""] if kind == 1 else []

    def _comment(self) -> str:
        self.comments += 1
        return f"# note {self.comments}."

    def _behind(self) -> str:
        return f"  {self._comment()}" if self._draw(st.integers(0, 5)) == 0 else ""

    def _entry(self, head: str, value: Any, indent: int) -> list[str]:
        if isinstance(value, (dict, list)) and value and self._draw(st.booleans()):
            is_dense = isinstance(value, list) and head.endswith(":") and self._draw(st.booleans())
            rows = self.rows(value, indent if is_dense else indent + self._draw(st.integers(1, 4)))
            return [head + self._behind(), *rows]
        quote = self._draw(st.sampled_from(_QUOTES))
        return [f"{head} {one_line(value, quote)}{self._behind()}"]


@st.composite
def _texts(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    values = draw(_MAPS)
    rows = _Writer(draw).rows(values, 0)
    return "\n".join(rows) + draw(st.sampled_from(["\n", "", "\n# tail\n"])), values


@settings(max_examples=400, deadline=None)
@given(_texts(), _MAPS, st.data())
def test_any_text_gets_any_values_and_entries_that_stay_keep_their_lines(
    text_of: tuple[str, dict[str, Any]], other: dict[str, Any], data: st.DataObject
) -> None:
    text, values = text_of
    assert same_value(read_yaml(text, 1).values, values)
    wanted = {name: data.draw(st.sampled_from([value, other.get(name, value)])) for name, value in values.items()}
    wanted |= data.draw(st.sampled_from([{}, other]))
    for name in data.draw(st.sets(st.sampled_from(sorted(wanted)))) if wanted else ():
        del wanted[name]
    after = rewritten(text, wanted)
    assert same_value(read_yaml(after, 1).values, wanted)
    if same_value(wanted, values):
        assert after == text
    kept = [name for name, value in wanted.items() if name in values and same_value(values[name], value)]
    for name in kept:
        only = rewritten(text, {name: values[name]}).strip("\n")
        assert all(row in after.split("\n") for row in only.split("\n") if "# note" in row)
