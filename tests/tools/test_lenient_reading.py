"""What can mean only one thing is read as this, what passes the strict check stays as it is, and errors show what is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from support.calls import attempt, call
from support.schemas import hold_to
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.arguments import OTHER_NAMES, check_arguments, example_of, meanings, read_arguments
from vaultwire.toolkit.catalog import APP_CATALOG, MORE, load_catalog
from vaultwire.toolkit.registry import Failure

CATALOG = [*load_catalog(), *load_catalog(APP_CATALOG)]
SCHEMAS = {description["name"]: description["inputSchema"] for description in CATALOG}
ABOUT = {description["name"]: description["description"] for description in CATALOG}
CHANGING = [each["name"] for each in load_catalog() if not each["annotations"]["readOnlyHint"] and each["name"] != MORE]

# Texts that look like something else: where a text is wanted, they must stay what they are.
ODD_TEXTS = st.sampled_from(
    ["5", "true", "null", "[]", '["a"]', '{"a": 1}', '"a"', "a, b", "a\nb", "1.10", " 3 ", "None", "status", "é"]
)


def fitting(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Return values that fit."""
    match schema["type"]:
        case "string" if "enum" in schema:
            return st.sampled_from(schema["enum"])
        case "string":
            least, most = schema.get("minLength", 0), min(schema.get("maxLength", 30), 30)
            return st.text(min_size=least, max_size=most) | ODD_TEXTS.filter(lambda text: least <= len(text) <= most)
        case "integer":
            return st.integers(schema.get("minimum", -5), min(schema.get("maximum", 2000), 2000))
        case "boolean":
            return st.booleans()
        case "object":
            members = {name: fitting(inner) for name, inner in schema["properties"].items()}
            required = {name: members.pop(name) for name in schema["required"]}
            return st.fixed_dictionaries(required, optional=members)
    return st.lists(fitting(schema["items"]), min_size=schema.get("minItems", 0), max_size=3)


@st.composite
def strict_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    tool = draw(st.sampled_from(list(SCHEMAS)))
    return tool, draw(fitting(SCHEMAS[tool]))


WILD = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 1200) | st.floats() | st.text(max_size=5) | ODD_TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
NAMES = st.sampled_from([*OTHER_NAMES, *(name for names in OTHER_NAMES.values() for name in names), "status", "tags"])


@st.composite
def wild_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Draw a call with some arguments replaced by anything, some added, some left out."""
    tool, arguments = draw(strict_calls())
    for name in draw(st.lists(st.sampled_from([*SCHEMAS[tool]["properties"], "odd"]) | NAMES, max_size=2)):
        arguments[name] = draw(WILD | st.dictionaries(NAMES, WILD, max_size=3))
    left_out = draw(st.sampled_from([None, *arguments]))
    return tool, {name: value for name, value in arguments.items() if name != left_out}


# ---------------------------------------------------------------------- what passes strictly


@given(strict_calls())
def test_what_the_schema_accepts_is_read_as_it_is(call: tuple[str, dict[str, Any]]) -> None:
    tool, arguments = call
    hold_to(arguments, SCHEMAS[tool])
    assert read_arguments(SCHEMAS[tool], arguments) == (arguments, [])


@given(wild_calls())
def test_whatever_comes_the_strict_check_has_the_first_and_the_last_word(call: tuple[str, dict[str, Any]]) -> None:
    tool, arguments = call
    before = json.dumps(arguments)
    strict, strict_problems = check_arguments(SCHEMAS[tool], arguments)
    read, problems = read_arguments(SCHEMAS[tool], arguments)
    assert json.dumps(arguments) == before  # nothing is changed in place
    if not strict_problems:
        assert json.dumps(read) == json.dumps(strict)
    if problems:
        assert strict_problems
    else:
        hold_to(read, SCHEMAS[tool])
        assert check_arguments(SCHEMAS[tool], read) == (read, [])
    assert json.dumps(read_arguments(SCHEMAS[tool], read)) == json.dumps((read, problems))  # once is enough


# ---------------------------------------------------------------------- what was meant


def loosened(draw: st.DrawFn, schema: dict[str, Any], value: Any) -> Any:
    """Return a value in another form that a model may send."""
    ways = [value]
    match value:
        case bool():
            ways += [str(value), str(value).lower()]
        case int():
            ways += [str(value), f" {value} ", float(value)]
        case str() if value.isdecimal() and value == str(int(value)) and "enum" not in schema:
            ways.append(int(value))
        case str() if "enum" in schema:
            ways += [value.upper(), f" {value} "]
        case list():
            ways += [json.dumps(value), [loosened(draw, schema["items"], each) for each in value]]
            if len(value) == 1 and not (isinstance(value[0], str) and value[0].strip().startswith(("[", "{"))):
                ways.append(loosened(draw, schema["items"], value[0]))
            if value and all(isinstance(each, dict) and each.keys() <= {"name", "value"} for each in value):
                pairs = {each["name"]: each.get("value") for each in value}
                ways += [pairs, json.dumps(pairs)] if len(pairs) == len(value) else []
        case dict():
            ways += [json.dumps(value)]
            ways += [] if schema["additionalProperties"] else [loosened_object(draw, schema, value)]
    return draw(st.sampled_from(ways))


def loosened_object(draw: st.DrawFn, schema: dict[str, Any], value: dict[str, Any]) -> dict[str, Any]:
    """Return an object with members in other forms, under other names, and null for some that were left out."""
    properties = schema["properties"]
    found: dict[str, Any] = {}
    for name, inner in value.items():
        camel = name.split("_")[0] + "".join(part.title() for part in name.split("_")[1:])
        names = [name, *(other for other in (*OTHER_NAMES.get(name, ()), camel) if other not in properties)]
        found[draw(st.sampled_from(names))] = loosened(draw, properties[name], inner)
    assume(len(found) == len(value))
    left_out = [name for name in properties if name not in value and name not in schema["required"]]
    for name in draw(st.lists(st.sampled_from(left_out), max_size=1)) if left_out else ():
        found.setdefault(name, None)
    return found


@st.composite
def loose_calls(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any]]:
    tool, arguments = draw(strict_calls())
    return tool, arguments, loosened_object(draw, SCHEMAS[tool], arguments)


@given(loose_calls())
def test_a_call_in_another_form_is_read_as_it_was_meant_or_refused(
    call: tuple[str, dict[str, Any], dict[str, Any]],
) -> None:
    tool, meant, sent = call
    read, problems = read_arguments(SCHEMAS[tool], sent)
    if not problems:
        assert read == meant


EDIT = {"action": "append", "section": "Log", "content": "x"}
READ: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("search_notes", {"query": "a", "limit": "3"}, {"query": "a", "limit": 3}),
    ("search_notes", {"query": "a", "limit": "3.0"}, {"query": "a", "limit": 3}),
    ("search_notes", {"query": 2026}, {"query": "2026"}),
    ("search_notes", {"q": "a", "maxTokens": 500, "cursor": None}, {"query": "a", "max_tokens": 500}),
    ("delete_note", {"path": "a", "permanent": "True"}, {"path": "a", "permanent": True}),
    ("search_by_tags", {"tags": "garden"}, {"tags": ["garden"]}),
    ("search_by_tags", {"tag": "garden", "match": "ANY"}, {"tags": ["garden"], "match": "any"}),
    ("search_by_tags", {"tags": '["garden", "work"]'}, {"tags": ["garden", "work"]}),
    ("read_notes", {"paths": "Kickoff"}, {"paths": ["Kickoff"]}),
    ("find_notes", {"properties": "due<today"}, {"properties": ["due<today"]}),
    ("find_notes", {"properties": "[status:active]"}, {"properties": ["[status:active]"]}),
    ("find_notes", {"query": "plan", "tag": "work"}, {"name": "plan", "tags": ["work"]}),
    ("read_note", {"name": "A", "heading": "Tasks"}, {"path": "A", "section": "Tasks"}),
    ("read_note", {"file": "A", "lines": 10}, {"path": "A", "lines": "10"}),
    ("read_note", {"path": "A", "section": None, "lines": None}, {"path": "A"}),
    (
        "append_daily_note",
        {"text": "x", "heading": "Log", "date": "today"},
        {"content": "x", "section": "Log", "day": "today"},
    ),
    (
        "vault_overview",
        {"what": "tags", "folder": None, "directory": "Projects"},
        {"what": "tags", "folder": "Projects"},
    ),
    ("move_notes", {"path": "A", "new_path": "B"}, {"paths": ["A"], "to": "B"}),
    ("move_notes", {"source": "A", "destination": "B", "dryRun": "true"}, {"paths": ["A"], "to": "B", "dry_run": True}),
    (
        "rename",
        {"what": "heading", "path": "A", "section": "x", "new_heading": "y"},
        {"what": "heading", "path": "A", "old": "x", "new": "y"},
    ),
    ("rename", {"what": "tag", "tag": "a", "to": "b"}, {"what": "tag", "old": "a", "new": "b"}),
    ("merge_notes", {"from": "A", "into": "B"}, {"source": "A", "target": "B"}),
    ("undo_changes", {"id": "7"}, {"changes": [7]}),
    ("undo_changes", {"change": 7}, {"changes": [7]}),
    ("read_notes", {"path": "Plans, old"}, {"paths": ["Plans, old"]}),
    ("move_notes", {"source": "A, b", "destination": "B"}, {"paths": ["A, b"], "to": "B"}),
    ("list_links", {"path": "A", "what": "backlinks"}, {"path": "A", "what": "in"}),
    ("list_links", {"path": "A", "direction": "incoming"}, {"path": "A", "direction": "in"}),
    ("find_notes", {"properties": {"status": "done", "rating": ">=4"}}, {"properties": ["status=done", "rating>=4"]}),
    ("create_note", {"path": "A", "on_collision": "number"}, {"path": "A", "if_exists": "number"}),
    ("set_properties", {"path": "A", "set": '{"n": 5}'}, {"paths": ["A"], "set": {"n": 5}}),
    (
        "more_tools",
        {"name": "list_links", "args": '{"what": "hubs"}'},
        {"tool": "list_links", "arguments": {"what": "hubs"}},
    ),
    ("edit_note", {"path": "A", "edits": EDIT}, {"path": "A", "edits": [EDIT]}),
    ("edit_note", {"path": "A", "edits": json.dumps(EDIT)}, {"path": "A", "edits": [EDIT]}),
    ("edit_note", {"path": "A", "edits": json.dumps([EDIT, EDIT])}, {"path": "A", "edits": [EDIT, EDIT]}),
    ("edit_note", {"path": "A", "edits": [json.dumps(EDIT)]}, {"path": "A", "edits": [EDIT]}),
    ("edit_note", {"path": "A", **EDIT}, {"path": "A", "edits": [EDIT]}),
    (
        "edit_note",
        {"path": "A", "action": "append", "heading": "Log", "text": None, "content": "x"},
        {"path": "A", "edits": [EDIT]},
    ),
    (
        "edit_note",
        {"path": "A", "old_text": "teh", "new_text": "the"},
        {"path": "A", "edits": [{"text": "teh", "content": "the", "action": "replace"}]},
    ),
    (
        "edit_note",
        {"path": "A", "edits": [{"oldText": "teh", "newText": "", "replace_all": True}]},
        {"path": "A", "edits": [{"text": "teh", "content": "", "every": True, "action": "replace"}]},
    ),
    (
        "set_properties",
        {"path": "A", "properties": {"status": "done", "tags": ["a"], "n": 5, "x": 1.5, "ok": True, "due": None}},
        {
            "paths": ["A"],
            "properties": [
                {"name": "status", "value": "done", "type": "text"},
                {"name": "tags", "values": ["a"], "type": "text"},
                {"name": "n", "value": "5"},
                {"name": "x", "value": "1.5"},
                {"name": "ok", "value": "true"},
                {"name": "due"},
            ],
        },
    ),
    (
        "set_properties",
        {"path": "A", "properties": '{"zip": "01234"}'},
        {"paths": ["A"], "properties": [{"name": "zip", "value": "01234", "type": "text"}]},
    ),
    (
        "set_properties",
        {"path": "A", "properties": [{"status": "done"}, {"name": "n", "value": 5}]},
        {
            "paths": ["A"],
            "properties": [{"name": "status", "value": "done", "type": "text"}, {"name": "n", "value": "5"}],
        },
    ),
    (
        "set_properties",
        {"path": "A", "properties": [{"key": "n", "value": "x"}]},
        {"paths": ["A"], "properties": [{"name": "n", "value": "x"}]},
    ),
    (
        "set_properties",
        {"path": "A", "properties": {"type": "book", "value": "x"}},
        {
            "paths": ["A"],
            "properties": [
                {"name": "type", "value": "book", "type": "text"},
                {"name": "value", "value": "x", "type": "text"},
            ],
        },
    ),
    (
        "set_properties",
        {"path": "A", "name": "n", "value": 5},
        {"paths": ["A"], "properties": [{"name": "n", "value": "5"}]},
    ),
    (
        "set_properties",
        {"path": "A", "properties": [{"name": "n", "values": [1, True, "x"]}]},
        {"paths": ["A"], "properties": [{"name": "n", "values": ["1", "true", "x"]}]},
    ),
    ("set_properties", {"paths": ["A"], "remove": "status"}, {"paths": ["A"], "remove": ["status"]}),
    ("obsidian_set_property", {"name": "n", "value": 5, "path": "A"}, {"name": "n", "value": "5", "path": "A"}),
]


@pytest.mark.parametrize(("tool", "sent", "meant"), READ)
def test_what_can_mean_only_one_thing_is_read(tool: str, sent: dict[str, Any], meant: dict[str, Any]) -> None:
    assert check_arguments(SCHEMAS[tool], sent)[1]
    assert read_arguments(SCHEMAS[tool], sent) == (meant, [])


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    # What can mean several things, or nothing.
    ("search_by_tags", {"tags": "garden, work"}, "'tags' must be a list"),
    ("read_notes", {"paths": "A\nB"}, "'paths' must be a list"),
    ("search_by_tags", {"tags": None}, "'tags' must be a list"),
    ("search_notes", {"query": "a", "limit": "many"}, "'limit' must be an integer"),
    ("search_notes", {"query": "a", "limit": "0"}, "'limit' must be an integer from 1 to 1000, got '0'"),
    ("search_notes", {"query": "a", "limit": "007"}, "'limit' must be"),
    ("search_notes", {"query": "a", "limit": "NaN"}, "'limit' must be"),
    ("read_note", {"path": 1.1}, "'path' must be a text"),  # or 1.10
    ("read_note", {"path": True}, "'path' must be a text"),
    ("read_note", {"path": ["A"]}, "'path' must be a text"),
    ("delete_note", {"path": "A", "permanent": "yes"}, "'permanent' must be true or false"),
    ("delete_note", {"path": "A", "permanent": 1}, "'permanent' must be true or false"),
    ("read_note", {"path": "A", "file": "B"}, "it means 'path', which is given, too"),
    ("read_note", {"note": "A", "file": "B"}, "did you mean 'path'?"),
    ("read_note", {"path": "A", "note": None}, "'note' is not an argument"),
    ("find_notes", {"property": "x"}, "'property' is not an argument"),
    ("obsidian_read_note", {"note_name": "A", "noteName": "B"}, "is not an argument"),
    ("obsidian_read_note", {"note": "A"}, "'note' is not an argument"),  # by name, or by path
    ("edit_note", {"path": "A", "content": "x", "section": "Log"}, "is not an argument"),  # which action?
    ("edit_note", {"path": "A", "edits": [EDIT], "new_text": "x"}, "'new_text' is not an argument"),
    ("edit_note", {"path": "A", "edits": '[{"action": "append", "content": "x", "content": "y"}]'}, "'edits' must be"),
    ("edit_note", {"path": "A", "edits": '[{"action": "append"'}, "'edits' must be a list"),
    ("edit_note", {"path": "A", "edits": "[" * 100_000}, "'edits' must be a list"),
    ("set_properties", {"path": "A", "properties": {"name": "x", "value": "y"}}, "'properties' must be a list"),
    ("set_properties", {"path": "A", "properties": {"name": "x"}}, "'properties' must be a list"),
    ("set_properties", {"path": "A", "properties": {"x": {"y": 1}}}, "'properties' must be a list"),
    ("set_properties", {"path": "A", "properties": {"x": [["y"]]}}, "'properties' must be a list"),
    ("set_properties", {"path": "A", "properties": {"x": 1e300}}, "'properties' must be a list"),
    ("set_properties", {"path": "A", "properties": {"": "x"}}, "'properties' must be a list"),
    ("set_properties", {"path": "A", "properties": [{"key": "x"}]}, "did you mean 'name'?"),
    ("set_properties", {"path": "A", "properties": [{"key": "x", "value": {}}]}, "value' must be a text"),
    ("set_properties", {"path": "A", "properties": {"key": "x", "values": "a,b"}}, "'properties' must be a list"),
    ("set_properties", {"path": "A", "name": "Status"}, "is not an argument"),  # another note's name, or a property
    ("set_properties", {"path": "A", "status": "done"}, "'status' is not an argument"),
]


@pytest.mark.parametrize(("tool", "sent", "problem"), REFUSED)
def test_what_can_mean_several_things_is_refused(tool: str, sent: dict[str, Any], problem: str) -> None:
    assert problem in "; ".join(read_arguments(SCHEMAS[tool], sent)[1])


def test_arguments_that_a_header_repeats_are_read_strictly() -> None:
    marked = {"type": "string", "x-mcp-header": "Path"}
    schema = {"type": "object", "properties": {"path": marked, "limit": {"type": "integer"}}, "required": []}
    for sent in ({"file": "A"}, {"path": "A", "limit": "5"}):
        assert read_arguments(schema, sent)[1] == check_arguments(schema, sent)[1] != []


@pytest.mark.parametrize(
    "edits",
    [
        json.dumps([{"x": "y"}] * 100_000),
        "[" + "[]," * 400_000 + "[]]",
        [{f"n{number}": 1 for number in range(1000)}] * 100,
        [{"text": json.dumps(["x"] * 1000)}] * 100,
        "x" * 5_000_000,
    ],
)
def test_very_much_that_is_wrong_is_refused_with_few_words(edits: Any) -> None:
    problems = read_arguments(SCHEMAS["edit_note"], {"path": "A", "edits": edits})[1]
    assert problems
    assert len(str(problems)) < 10_000


# ---------------------------------------------------------------------- the table of names


def test_other_names_are_of_arguments_that_there_are() -> None:
    used: set[str] = {"vault"}  # where several are served

    def collect(schema: dict[str, Any]) -> None:
        for name, inner in schema.get("properties", {}).items():
            used.add(name)
            collect(inner)
            collect(inner.get("items", {}))

    for schema in SCHEMAS.values():
        collect(schema)
    assert set(OTHER_NAMES) <= used
    for argument, names in OTHER_NAMES.items():
        assert argument not in names
        assert len(names) == len(set(names))


def test_a_name_means_an_argument_only_where_it_is_no_argument_itself() -> None:
    assert meanings("heading", ["path", "section"]) == ["section"]
    assert read_arguments(SCHEMAS["list_links"], {"path": "A", "to": "y"})[0]["to"] == "y"
    assert meanings("new-Path", ["path", "to"]) == ["to"]
    assert meanings("_", ["path", "to"]) == []
    assert meanings("x" * 1_000_000, ["path"]) == []


# ---------------------------------------------------------------------- examples in errors


@given(wild_calls())
@example(("edit_note", {}))
def test_the_example_of_an_error_is_accepted(call: tuple[str, dict[str, Any]]) -> None:
    tool, arguments = call
    shown = example_of(SCHEMAS[tool], arguments, ABOUT[tool])
    hold_to(shown, SCHEMAS[tool])
    assert check_arguments(SCHEMAS[tool], shown) == (shown, [])
    assert len(json.dumps(shown)) < 2000


def test_an_error_shows_an_example_with_what_was_right(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path / "vault", "=== A.md\ntext\n"))
    failure = attempt(vault, "set_properties", path="A", properties=5)
    assert isinstance(failure, Failure)
    right = {"paths": ["A"], "set": {"status": "done"}}
    assert failure.message.endswith(f"Right would be, for example: {json.dumps(right)}.")
    assert failure.details["example"] == right
    call(vault, "set_properties", **failure.details["example"])
    failure = attempt(vault, "edit_note", path="A", colour="red")
    assert isinstance(failure, Failure)
    assert "'colour' is not an argument (there are: path, edits, if_match, dry_run)" in failure.message
    call(vault, "edit_note", **failure.details["example"])
    failure = attempt(vault, "set_properties", path="A", colour="red", dry_run=True, if_match="0" * 24)
    assert isinstance(failure, Failure)
    assert failure.details["example"] == {**right, "dry_run": True, "if_match": "0" * 24}


@pytest.mark.parametrize("tool", CHANGING)
@pytest.mark.parametrize("sent", [{}, {"dry_run": True, "suggested": True, "section": 5}])
def test_the_example_of_a_changing_tool_makes_sense(tmp_path: Path, tool: str, sent: dict[str, Any]) -> None:
    notes = (
        "=== Projects/Plan.md\n---\nwork: a\n---\n# Tasks\n# Ideas\n#work\n"
        "=== Inbox.md\n- [ ] call mum\n=== Draft.md\n=== Board.canvas\n{}\n"
    )
    vault = open_vault(write_vault(tmp_path / "vault", notes))
    right = {name: value for name, value in sent.items() if name in SCHEMAS[tool]["properties"]}
    shown = example_of(SCHEMAS[tool], right, ABOUT[tool])
    assert ("dry_run" in shown) == ("dry_run" in right)
    outcome = attempt(vault, tool, **shown)
    assert not isinstance(outcome, Failure) or outcome.code != "INVALID_ARGUMENTS", outcome.message


def test_a_call_in_another_form_does_what_was_meant(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== A.md\n# Log\nteh cat\n")
    vault = open_vault(root)
    call(vault, "set_properties", note="A", properties={"status": "done", "tags": ["a"], "n": 5})
    call(vault, "edit_note", path="A", old_text="teh", new_text="the")
    call(vault, "edit_note", path="A", edits='{"action": "append", "section": "Log", "content": "more"}')
    call(vault, "move_notes", paths=["A"], new_path="Folder/B.md")
    text = (root / "Folder/B.md").read_text()
    assert text == "---\nstatus: done\ntags:\n  - a\nn: 5\n---\n# Log\nthe cat\nmore\n"
