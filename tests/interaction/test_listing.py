"""What a client learns before it calls anything, in every revision: identity, instructions, tools and their schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import jsonschema
import pytest

from interaction.conftest import EVERY_DOOR, EVERY_REVISION
from support.http_wire import Client
from support.proofs import proves
from support.wire import STATELESS_REVISION
from vaultwire.toolkit.catalog import standard_set

TOOLS = standard_set()
# The tools that change the vault but can lose no text, and those that may.
ADDING = ["append_daily_note"]
CHANGING = [
    *ADDING,
    "create_note",
    *("delete_note", "edit_note", "set_properties", "undo_changes", "move_notes", "rename", "more_tools"),
]
DEFAULTS = {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True}
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"


@pytest.fixture
def structured(connect: Callable[..., Client]) -> Client:
    return connect("--structured")


def tools_of(client: Client) -> list[dict[str, Any]]:
    tools: list[dict[str, Any]] = client.request("tools/list")["result"]["tools"]
    return tools


def schemas_within(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield the schema and every schema in it."""
    assert isinstance(schema, dict)
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from schemas_within(inner)
    if "items" in schema:
        yield from schemas_within(schema["items"])


@proves("ours: the tools, in one order, the same for everybody")
def test_all_tools_are_listed(shared: Client) -> None:
    assert [tool["name"] for tool in tools_of(shared)] == TOOLS


@proves("ours: --read-only shows only what reads")
def test_a_read_only_server_lists_only_what_reads(connect: Callable[..., Client]) -> None:
    assert [tool["name"] for tool in tools_of(connect("--read-only"))] == [
        name for name in TOOLS if name not in CHANGING or name == "more_tools"
    ]


@proves("spec 2025-11-25, Tools: name of 1 to 128 characters of A-Z a-z 0-9 _ - .")
def test_names_are_within_what_clients_accept(shared: Client) -> None:
    for tool in tools_of(shared):
        assert 1 <= len(tool["name"]) <= 64  # some clients put their own prefix before it
        assert tool["name"].replace("_", "").isalnum()
        assert tool["name"].isascii()


@EVERY_REVISION
@proves("spec: each field from the revision on that brought it")
def test_a_tool_has_the_fields_its_revision_knows(shared: Client, revision: str) -> None:
    for tool in tools_of(shared):
        assert ("annotations" in tool) is (revision >= "2025-03-26")
        assert ("title" in tool) is (revision >= "2025-06-18")
        assert set(tool) <= {"name", "title", "description", "inputSchema", "annotations"}
        assert tool["description"]


@EVERY_REVISION
@proves("ours: --structured lists all schemas, in the revisions that have them")
def test_programs_are_listed_whole_schemas(structured: Client, revision: str) -> None:
    for tool in tools_of(structured):
        assert ("outputSchema" in tool) is (revision >= "2025-06-18")
        assert {"additionalProperties", "$schema"} <= set(tool["inputSchema"])


@EVERY_REVISION
@proves("spec Tools: annotations tell what may be lost")
def test_annotations_tell_reading_from_changing_tools(shared: Client, revision: str) -> None:
    if revision == "2024-11-05":  # knows none
        return
    for tool in tools_of(shared):
        annotations = {**DEFAULTS, **tool["annotations"]}
        assert annotations["readOnlyHint"] is (tool["name"] not in CHANGING)
        if tool["name"] in CHANGING:
            assert annotations["destructiveHint"] is (tool["name"] not in ADDING)
        assert annotations["openWorldHint"] is False


@EVERY_REVISION
@proves("clients: draft-07 before 2025-11-25, 2020-12 from then on")
def test_schemas_name_the_dialect_clients_of_the_revision_validate_with(structured: Client, revision: str) -> None:
    expected = DRAFT_2020_12 if revision >= "2025-11-25" else DRAFT_07
    for tool in tools_of(structured):
        for schema in [tool["inputSchema"], *([tool["outputSchema"]] if "outputSchema" in tool else [])]:
            assert schema["$schema"] == expected
            jsonschema.validators.validator_for(schema).check_schema(schema)


@proves("clients: the common core of JSON Schema that all of them take")
def test_schemas_stay_within_what_every_client_accepts(shared: Client) -> None:
    for tool in tools_of(shared):
        for root in [tool["inputSchema"], *([tool["outputSchema"]] if "outputSchema" in tool else [])]:
            assert root["type"] == "object"
            for schema in schemas_within(root):
                assert isinstance(schema["type"], str), "a union of types"
                assert not {"anyOf", "oneOf", "allOf", "not", "$ref", "$defs", "definitions"} & set(schema)
                if schema["type"] == "object":
                    assert schema["properties"], "an empty object"
                    assert "additionalProperties" not in schema
                    assert set(schema.get("required", ())) <= set(schema["properties"])
                if schema["type"] == "array":
                    assert "items" in schema


@proves("ours: every argument is explained to programs")
def test_every_argument_is_described(structured: Client) -> None:
    for tool in tools_of(structured):
        for name, schema in tool["inputSchema"]["properties"].items():
            assert schema["description"], name


@EVERY_DOOR
@proves("spec Lifecycle / Discovery: identity and instructions, at most 1 KB of them")
def test_the_server_introduces_itself(shared: Client, revision: str) -> None:
    said = shared.opened
    if revision == STATELESS_REVISION:
        identity = said["_meta"]["io.modelcontextprotocol/serverInfo"]
        assert revision in said["supportedVersions"]
    else:
        identity = said["serverInfo"]
        assert said["protocolVersion"] == revision
    assert identity["name"] == "vaultwire"
    assert identity["version"]
    assert "tools" in said["capabilities"]
    assert 0 < len(said["instructions"].encode()) <= 1024
    assert "read-only" not in said["instructions"]
    assert "edit_note" in said["instructions"]


@proves("ours: a server that changes nothing says so, and names no tool that would")
def test_a_read_only_server_introduces_itself(connect: Callable[..., Client]) -> None:
    instructions = connect("--read-only").opened["instructions"]
    assert 0 < len(instructions.encode()) <= 1024
    assert "read-only" in instructions
    assert "edit_note" not in instructions


@proves("spec Pagination: a cursor that was not given out is refused")
def test_an_unknown_cursor_is_refused(shared: Client) -> None:
    assert shared.request("tools/list", {"cursor": "nonsense"})["error"]["code"] == -32602


@EVERY_DOOR
@proves("spec JSON-RPC: unknown methods, and the methods a revision has not")
def test_unknown_methods_are_refused(shared: Client, revision: str) -> None:
    assert shared.request("resources/write")["error"]["code"] == -32601
    assert ("error" in shared.request("ping")) is (revision == STATELESS_REVISION)
