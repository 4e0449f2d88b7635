"""Arguments are held to their schema exactly as the ``jsonschema`` library would, and errors say what to change."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.toolkit.arguments import check_arguments
from vaultwire.toolkit.catalog import load_catalog

CATALOG = load_catalog()
SCHEMAS = [description["inputSchema"] for description in CATALOG]
NUMBERS = {
    "type": "object",
    "properties": {
        "count": {"type": "integer", "minimum": -2, "maximum": 5, "description": ""},
        "least": {"type": "integer", "minimum": 1, "description": ""},
        "counts": {"type": "array", "items": {"type": "integer"}, "minItems": 1, "description": ""},
        "sure": {"type": "boolean", "description": ""},
        "edits": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string", "minLength": 1}, "line": {"type": "integer", "minimum": 1}},
                "required": ["text"],
                "additionalProperties": False,
            },
            "description": "",
        },
    },
    "required": ["count"],
    "additionalProperties": False,
}

JSON = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-5, 1200),
        st.integers(),
        st.floats(),
        st.sampled_from([5.0, 0.0, 1e300, float("inf"), -0.5]),
        st.text(max_size=5),
        st.sampled_from(["", "x" * 1000, "x" * 1001, "create", "all", "ALL", "🔥" * 200, "1" * 21]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=2)),
    max_leaves=5,
)


def _fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that mostly fit, so that not every random argument fails at once."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema["type"]:
        case "string":
            return st.text(max_size=30)
        case "integer":
            return st.integers(-3, 1100) | st.floats(-3, 1100).map(round).map(float)
        case "boolean":
            return st.booleans()
        case "object":
            members = {name: _fitting(inner) for name, inner in schema["properties"].items()}
            required = {name: members.pop(name) for name in schema["required"]}
            return st.fixed_dictionaries(required, optional=members)
    return st.lists(_fitting(schema["items"]), max_size=4)


@st.composite
def _calls(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    schema = draw(st.sampled_from([*SCHEMAS, NUMBERS]))
    names = draw(st.lists(st.sampled_from([*schema["properties"], *schema["required"]]), unique=True))
    arguments = {name: draw(_fitting(schema["properties"][name]) | JSON) for name in names}
    if draw(st.integers(0, 5)) == 0:
        arguments[draw(st.text(max_size=4))] = draw(JSON)
    return schema, arguments


@given(_calls())
def test_the_verdict_is_that_of_the_jsonschema_library(call: tuple[dict[str, Any], dict[str, Any]]) -> None:
    schema, arguments = call
    checked, problems = check_arguments(schema, arguments)
    for validator in (jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
        assert (not problems) == validator(schema).is_valid(arguments), problems
    if not problems:
        assert checked == arguments
        for name, value in checked.items():
            if schema["properties"][name]["type"] == "integer":
                assert type(value) is int
    assert all(len(problem) < 400 for problem in problems)


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        ("read_note", {}, "'path' is missing (expected a text of 1 to 1000 characters)"),
        ("read_note", {"path": 5}, "'path' must be a text of 1 to 1000 characters, got 5"),
        ("read_note", {"path": None}, "'path' must be a text of 1 to 1000 characters, got null"),
        ("read_note", {"path": ""}, "'path' must be a text of 1 to 1000 characters, got ''"),
        ("read_note", {"path": ["a"]}, "'path' must be a text of 1 to 1000 characters, got a list of 1"),
        ("read_note", {"path": {}}, "'path' must be a text of 1 to 1000 characters, got an object"),
        (
            "read_note",
            {"path": "a", "name": "b"},
            (
                "'name' is not an argument; it means 'path', which is given, too "
                "(there are: path, section, lines, part, max_tokens)"
            ),
        ),
        (
            "read_note",
            {"path": "a", "heading": "b"},
            (
                "'heading' is not an argument; did you mean 'section'? "
                "(there are: path, section, lines, part, max_tokens)"
            ),
        ),
        (
            "read_note",
            {"path": "a", "setcion": "b"},
            (
                "'setcion' is not an argument; did you mean 'section'? "
                "(there are: path, section, lines, part, max_tokens)"
            ),
        ),
        (
            "read_note",
            {"path": "a", "colour": "b"},
            "'colour' is not an argument (there are: path, section, lines, part, max_tokens)",
        ),
        ("write_note", {"path": "a", "content": True}, "'content' must be a text, got true"),
        (
            "write_note",
            {"path": "a", "content": "b", "mode": "replace"},
            "'mode' must be one of 'create', 'overwrite', 'append', 'prepend', got 'replace'",
        ),
        ("list_notes", {"limit": 0}, "'limit' must be an integer from 1 to 1000, got 0"),
        ("list_notes", {"limit": 1.5}, "'limit' must be an integer from 1 to 1000, got 1.5"),
        ("list_notes", {"limit": True}, "'limit' must be an integer from 1 to 1000, got true"),
        ("list_notes", {"limit": "5"}, "'limit' must be an integer from 1 to 1000, got '5'"),
        ("delete_note", {"path": "a", "permanent": "yes"}, "'permanent' must be true or false, got 'yes'"),
        ("search_by_tags", {"tags": "a"}, "'tags' must be a list of 1 to 50 items, got 'a'"),
        ("search_by_tags", {"tags": []}, "'tags' must be a list of 1 to 50 items, got a list of 0"),
        ("search_by_tags", {"tags": ["a", 5]}, "'tags[1]' must be a text of 1 to 200 characters, got 5"),
        (
            "search_notes",
            {"query": "x" * 2000},
            f"'query' must be a text of 1 to 1000 characters, got {'x' * 60!r}… (2000 characters)",
        ),
    ],
)
def test_an_error_names_the_argument_what_was_expected_and_what_came(
    tool: str, arguments: dict[str, Any], expected: str
) -> None:
    (schema,) = [description["inputSchema"] for description in CATALOG if description["name"] == tool]
    assert check_arguments(schema, arguments)[1] == [expected]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        (["a"], "'edits[0]' must be an object with 'text', got 'a'"),
        ([{"text": "a"}, {"line": 2}], "'edits[1].text' is missing (expected a text of at least 1 character)"),
        ([{"text": "a", "line": 0}], "'edits[0].line' must be an integer of at least 1, got 0"),
        ([{"text": "a", "row": 1}], "'row' is not an argument of 'edits[0]' (there are: text, line)"),
    ],
)
def test_an_error_in_an_object_of_a_list_names_its_place(edits: list[Any], expected: str) -> None:
    assert check_arguments(NUMBERS, {"count": 1, "edits": edits})[1] == [expected]


def test_every_problem_is_told_at_once() -> None:
    problems = check_arguments(NUMBERS, {"least": 0, "counts": [], "sure": 1, "odd": 1})[1]
    assert [problem.split("'")[1] for problem in problems] == ["count", "least", "counts", "sure", "odd"]


def test_whole_floats_become_integers_in_lists_too() -> None:
    checked, problems = check_arguments(NUMBERS, {"count": 2.0, "counts": [1.0, 2]})
    assert problems == []
    assert json.dumps(checked) == '{"count": 2, "counts": [1, 2]}'


def test_arguments_are_not_changed_in_place() -> None:
    arguments: dict[str, Any] = {"count": 2.0, "counts": [1.0]}
    check_arguments(NUMBERS, arguments)
    assert type(arguments["count"]) is float
    assert type(arguments["counts"][0]) is float


@pytest.mark.parametrize("text", ["\ud800", "ab\udfffc", "é\ud83d"])
def test_half_of_a_surrogate_pair_is_no_text_though_json_can_spell_it(text: str) -> None:
    schema = {"type": "object", "properties": {"names": {"type": "array", "items": {"type": "string"}}}, "required": []}
    (problem,) = check_arguments(schema, {"names": ["fine 🔥", text]})[1]
    assert "'names[1]'" in problem
    assert "surrogate" in problem


def test_of_very_many_names_that_are_no_arguments_the_first_are_told_and_how_many_more_there_are() -> None:
    problems = check_arguments(NUMBERS, {"count": 1, **{f"odd {number}": [] for number in range(100_000)}})[1]
    assert [problem.partition(" (")[0] for problem in problems] == [
        *(f"'odd {number}' is not an argument" for number in range(5)),
        "99995 more names are not arguments",
    ]
    inner = {"text": "a", **dict.fromkeys(map(str, range(7)))}
    assert check_arguments(NUMBERS, {"count": 1, "edits": [inner]})[1][-1] == (
        "2 more names are not arguments of 'edits[0]'"
    )


@pytest.mark.parametrize("items", [["x"] * 100_000, [{}] * 100_000, [{"text": "a", "odd": 1}] * 100_000])
def test_of_very_many_wrong_items_the_first_are_told(items: list[Any]) -> None:
    problems = check_arguments(NUMBERS, {"count": 1, "edits": items, "least": 0})[1]
    assert len(problems) < 30
    assert "'edits[0" in problems[0]
    assert problems[-1] == "there may be more; these are the first"
    assert len(str(problems)) < 5000
