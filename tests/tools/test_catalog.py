"""The tools as clients see them: complete, fresh, and inside the part of JSON Schema every client accepts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from vaultwire.app.engine import load_first_tools, load_tools
from vaultwire.toolkit.catalog import Toolset, load_catalog
from vaultwire.toolkit.registry import AnyTool
from vaultwire.toolkit.schema import describe
from vaultwire.toolkit.tool_sets import MORE, SIZES, Choice
from vaultwire.tools.instructions import instructions

ROOT = Path(__file__).parent.parent.parent
CATALOG = load_catalog()
NAMES = [description["name"] for description in CATALOG]

# What clients are known to accept; anything else in a schema is a mistake here.
KEYWORDS = {
    "type", "description", "default", "enum", "properties", "required", "additionalProperties", "items",
    "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems",
}  # fmt: skip

# The tools that change the vault, and whether text may be lost by it.
CHANGING = {
    **dict.fromkeys(["write_note", "delete_note", "edit_note", "set_properties", "remove_properties"], True),
    **dict.fromkeys(
        ["append_daily_note", "insert_template", "add_attachment", "restore_note", "pending_changes"], False
    ),
    "create_note": True,  # links in other notes may follow
    **dict.fromkeys(["move_note", "rename_heading", "rename_tag", "rename_property"], True),
    **dict.fromkeys(["merge_notes", "extract_section", "undo_change", "fix_links", "edit_canvas", "set_task"], True),
    "set_properties_in_view": True,
    "create_note_in_view": False,
    "edit_base": True,
    "create_base": True,
    **dict.fromkeys(["move_notes", "rename", "undo_changes", "more_tools"], True),
}


@pytest.fixture(params=CATALOG, ids=NAMES)
def description(request: pytest.FixtureRequest) -> dict[str, Any]:
    described: dict[str, Any] = request.param
    return described


def test_the_tools_are_there_and_listed_in_the_order_of_the_code() -> None:
    assert set(NAMES) == {
        "search_notes", "list_notes", "read_note", "write_note", "delete_note", "search_by_tags",
        "get_outline", "list_links", "list_backlinks", "list_tags", "recent_notes",
        "read_many", "daily_note", "graph", "list_attachments", "read_canvas", "query_base", "vault_guide",
        "find_notes", "list_properties", "list_tasks", "check_notes", "vault_stats", "related_notes", "find_duplicates",
        *CHANGING, "list_changes", "show_change",
        "web_search", "search_tools", "list_tool_categories", "read_notes", "vault_overview",
    }  # fmt: skip
    assert [tool.name for tool in load_tools()] == NAMES


def test_catalog_and_page_are_fresh() -> None:
    run = subprocess.run(
        [sys.executable, ROOT / "scripts" / "generate.py", "--check"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (0, ""), run.stdout + run.stderr


def test_the_page_names_every_tool_and_argument() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    for described in CATALOG:
        assert f"## {described['name']}\n" in page
        for argument in described["inputSchema"]["properties"]:
            assert f"| `{argument}` |" in page


def test_a_tool_says_what_it_is(description: dict[str, Any]) -> None:
    assert set(description) == {
        "name",
        "title",
        "description",
        "inputSchema",
        "outputSchema",
        "annotations",
        "timeClass",
    }
    assert description["title"]
    assert len(description["description"]) > 20
    assert set(description["annotations"]) == {
        "title",
        "readOnlyHint",
        "destructiveHint",
        "idempotentHint",
        "openWorldHint",
    }
    for schema in _objects(description["inputSchema"]):
        assert schema["additionalProperties"] or all(field["description"] for field in schema["properties"].values())


def test_only_what_changes_nothing_is_called_read_only() -> None:
    for described in CATALOG:
        hints = described["annotations"]
        assert hints["readOnlyHint"] is (described["name"] not in CHANGING)
        assert hints["destructiveHint"] is CHANGING.get(described["name"], False)
        assert hints["openWorldHint"] is (described["name"] in ("web_search", "add_attachment"))


def test_tools_that_look_at_the_whole_vault_have_the_longer_deadline() -> None:
    assert {described["name"] for described in CATALOG if described["timeClass"] == "file"} == {
        "read_note",
        "write_note",
        "delete_note",
        "get_outline",
        "edit_note",
        "set_task",
        "set_properties",
        "remove_properties",
        "create_note",
        "append_daily_note",
        "create_note_in_view",
        "edit_base",
        "create_base",
        "insert_template",
        "add_attachment",
        "read_canvas",
        "edit_canvas",
        "list_changes",
        "pending_changes",
        "show_change",
        "undo_change",
        "restore_note",
        "undo_changes",
        "more_tools",
        "search_tools",
        "list_tool_categories",
    }


@pytest.mark.parametrize("side", ["inputSchema", "outputSchema"])
def test_schemas_stay_inside_what_every_client_accepts(description: dict[str, Any], side: str) -> None:
    assert description[side]["type"] == "object"
    for schema in _schemas(description[side]):
        assert set(schema) <= KEYWORDS
        assert isinstance(schema["type"], str)
    for schema in _objects(description[side]):
        assert schema["properties"]
        assert set(schema["required"]) <= set(schema["properties"])
        assert isinstance(schema["additionalProperties"], bool)
    for version in (jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
        version.check_schema(description[side])


def test_defaults_fit_their_own_schema(description: dict[str, Any]) -> None:
    for name, schema in description["inputSchema"]["properties"].items():
        if "default" in schema:
            jsonschema.validate(schema["default"], schema)
            assert name not in description["inputSchema"]["required"]


def test_a_described_tool_is_a_tool_with_code(description: dict[str, Any]) -> None:
    toolset = Toolset(load_catalog, load_tools)
    assert describe(toolset.tools[description["name"]]) == description == toolset.descriptions[description["name"]]


def test_tools_that_are_not_loaded_first_are_loaded_when_one_is_asked_for() -> None:
    first = load_first_tools()
    times: list[int] = []

    def load() -> Sequence[AnyTool]:
        times.append(1)
        return load_tools()

    toolset = Toolset(load_catalog, load, lambda: first)
    assert [toolset.tools[tool.name] for tool in first] == [*first]
    assert times == []
    assert [name for name in NAMES if toolset.tools[name].name != name] == []
    assert times == [1]
    with pytest.raises(KeyError):
        toolset.tools["no_tool"]


@pytest.mark.parametrize("read_only", [True, False])
def test_instructions_fit_into_a_kilobyte_and_name_tools_that_are_there(read_only: bool) -> None:
    usable = {each["name"] for each in CATALOG if each["annotations"]["readOnlyHint"] or not read_only} | {MORE}
    for size in SIZES:
        listed = {name for name in usable if Choice(size).lists(name)}
        text = instructions(listed, read_only=read_only)
        assert len(text.encode()) <= 1024
        named = set(re.findall(r"\b[a-z]+(?:_[a-z]+)+\b", text)) - {"if_match", "dry_run"}
        assert {"search_notes", MORE} <= named <= listed
        assert read_only is ("tick tasks off, add attachments" not in text)


def _schemas(schema: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the schema and all within it."""
    inner = [*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])]
    return [schema, *(part for each in inner for part in _schemas(each))]


def _objects(schema: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in _schemas(schema) if part["type"] == "object"]
