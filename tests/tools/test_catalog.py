"""The tools as clients see them: complete, fresh, and inside the part of JSON Schema every client accepts."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from scripts.pages.schema import describe

from support.schemas import hold_to
from vaultwire.app.engine import make_outside
from vaultwire.toolkit.catalog import MORE, SIZES, ToolSelection, Toolset, load_catalog
from vaultwire.toolkit.registry import AnyTool, load_tool
from vaultwire.tools import instructions

ROOT = Path(__file__).parent.parent.parent
CATALOG = load_catalog()

# What clients are known to accept; anything else in a schema is a mistake here.
KEYWORDS = {
    "type", "description", "default", "enum", "properties", "required", "additionalProperties", "items",
    "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems",
}  # fmt: skip

# The tools that change the vault, and whether text may be lost by it.
CHANGING = {
    **dict.fromkeys(["write_note", "delete_note", "edit_note", "set_properties"], True),
    **dict.fromkeys(
        ["append_daily_note", "insert_template", "add_attachment", "save_file", "restore_note", "pending_changes"],
        False,
    ),
    "create_note": True,  # links in other notes may follow
    **dict.fromkeys(["merge_notes", "extract_section", "fix_links", "edit_canvas", "set_task"], True),
    "set_properties_in_view": True,
    "create_note_in_view": False,
    "edit_base": True,
    "create_base": True,
    "remember": False,
    "forget": True,
    **dict.fromkeys(["move_notes", "rename", "undo_changes", "resolve_conflicts", "more_tools"], True),
}


def test_the_page_names_every_tool_and_argument() -> None:
    page = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    for described in CATALOG:
        assert f"## {described['name']}\n" in page
        for argument in described["inputSchema"]["properties"]:
            assert f"| `{argument}` |" in page


def test_a_tool_says_what_it_is() -> None:
    for description in CATALOG:
        seen = {"name", "title", "description", "inputSchema", "outputSchema", "annotations"}
        ours = {"timeClass", "category", "listed", "module", "sameAs", "also", "rare", "plain", "structured", "meta"}
        assert seen | {"timeClass", "category", "listed", "module"} <= set(description) <= seen | ours
        assert {*description.get("rare", ())} <= description["inputSchema"]["properties"].keys()
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
            assert schema["additionalProperties"] or all(
                field["description"] for field in schema["properties"].values()
            )


def test_only_what_changes_nothing_is_called_read_only() -> None:
    for described in CATALOG:
        hints = described["annotations"]
        assert hints["readOnlyHint"] is (described["name"] not in CHANGING)
        assert hints["destructiveHint"] is CHANGING.get(described["name"], False)
        assert hints["openWorldHint"] is (described["name"] in ("web_search", "add_attachment", "save_file"))


def test_tools_that_look_at_the_whole_vault_have_the_longer_deadline() -> None:
    assert {described["name"] for described in CATALOG if described["timeClass"] == "file"} == {
        "fetch",
        "read_note",
        "write_note",
        "delete_note",
        "edit_note",
        "set_task",
        "set_properties",
        "create_note",
        "append_daily_note",
        "create_note_in_view",
        "edit_base",
        "create_base",
        "insert_template",
        "add_attachment",
        "save_file",
        "read_canvas",
        "edit_canvas",
        "list_changes",
        "pending_changes",
        "restore_note",
        "undo_changes",
        "more_tools",
        "remember",
        "forget",
    }


def test_schemas_stay_inside_what_every_client_accepts() -> None:
    for schema_of_tool in (description[side] for description in CATALOG for side in ("inputSchema", "outputSchema")):
        assert schema_of_tool["type"] == "object"
        for schema in _schemas(schema_of_tool):
            assert set(schema) <= KEYWORDS
            assert isinstance(schema["type"], str)
        for schema in _objects(schema_of_tool):
            assert schema["properties"]
            assert set(schema["required"]) <= set(schema["properties"])
            assert isinstance(schema["additionalProperties"], bool)
        for version in (jsonschema.Draft7Validator, jsonschema.Draft202012Validator):
            version.check_schema(schema_of_tool)


def test_defaults_fit_their_own_schema() -> None:
    for description in CATALOG:
        for name, schema in description["inputSchema"]["properties"].items():
            if "default" in schema:
                hold_to(schema["default"], schema)
                assert name not in description["inputSchema"]["required"]


def test_a_described_tool_is_loaded_from_its_module() -> None:
    for description in CATALOG:
        assert describe(load_tool(description, make_outside())) == description


def test_a_tool_is_loaded_once_and_only_when_it_is_asked_for() -> None:
    loaded: list[str] = []

    def load(described: dict[str, Any]) -> AnyTool:
        loaded.append(described["name"])
        return load_tool(described, make_outside())

    toolset = Toolset(load_catalog, load)
    assert toolset.describe("read_notes") is not None
    assert loaded == []
    assert toolset.tool("read_notes") is toolset.tool("read_notes")
    assert loaded == ["read_notes"]
    with pytest.raises(KeyError):
        toolset.tool("no_tool")


@pytest.mark.parametrize("read_only", [True, False])
def test_instructions_fit_into_a_kilobyte_and_name_tools_that_are_there(read_only: bool) -> None:
    usable = {each["name"] for each in CATALOG if each["annotations"]["readOnlyHint"] or not read_only} | {MORE}
    for size in SIZES:
        listed = {each["name"] for each in CATALOG if each["name"] in usable and ToolSelection(size).lists(each)}
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
