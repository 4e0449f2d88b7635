"""The standard set of tools: what it costs to list, and how the others are run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, write_vault
from support.wire import Server
from vaultwire.toolkit.catalog import MORE, WEB, lean_schema, load_catalog, standard_set
from vaultwire.trust.audit import records

STANDARD = standard_set()
CORE = standard_set("core")

NOTES = """
=== Home.md
---
status: open
---
# Home
See [[Garden]]. #plants

## Tasks
- [ ] water
- [x] weed
=== Projects/Garden.md
# Garden
Back to [[Home]] and [[Nowhere]].
=== Board.canvas
{"nodes": [{"id": "a", "type": "text", "text": "An idea", "x": 0, "y": 0, "width": 1, "height": 1}], "edges": []}
=== 2026-03-30.md
A day.
"""
CATALOG = {each["name"]: each for each in load_catalog()}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", NOTES)


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    with Server(root) as running:
        running.open("2025-11-25")
        yield running


def listed(server: Server) -> dict[str, dict[str, Any]]:
    return {tool["name"]: tool for tool in server.request("tools/list")["result"]["tools"]}


def text_of(result: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in result["content"])


# ---------------------------------------------------------------------- what the list costs


def test_the_standard_set_costs_no_more_than_sixteen_kilobytes(server: Server) -> None:
    answer = server.request("tools/list")
    assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()) <= 16 * 1024
    tools = answer["result"]["tools"]
    assert [tool["name"] for tool in tools] == [*STANDARD]
    model_sees = [{name: tool[name] for name in ("name", "description", "inputSchema")} for tool in tools]
    assert len(json.dumps(model_sees, ensure_ascii=False, separators=(",", ":")).encode()) <= 8 * 1024


def test_the_core_costs_four_kilobytes_and_is_no_dead_end(root: Path) -> None:
    with Server(root, "--tools", "core") as server:
        server.open("2025-11-25")
        answer = server.request("tools/list")
        assert len(json.dumps(answer, ensure_ascii=False, separators=(",", ":")).encode()) <= 4 * 1024
        assert set(listed(server)) == set(CORE)
        others = text_of(server.call(MORE))
        assert all(f"{name}(" in others for name in STANDARD if name not in CORE)
        assert server.call(MORE, tool="move_notes", arguments={"paths": ["Home"], "to": "Start"})["isError"] is False
        assert (root / "Start.md").exists()


def test_all_lists_every_tool(root: Path) -> None:
    with Server(root, "--tools", "all") as server:
        server.open("2025-11-25")
        assert set(listed(server)) == CATALOG.keys() - {WEB, MORE}  # there are no more


@pytest.mark.parametrize("name", STANDARD)
def test_what_is_listed_is_a_part_of_what_is_checked(name: str) -> None:
    full = CATALOG[name]["inputSchema"]
    lean = lean_schema(CATALOG[name])
    assert lean["properties"].keys() <= full["properties"].keys()
    assert lean.get("required", []) == full["required"]
    for argument, schema in lean["properties"].items():
        assert {key: full["properties"][argument][key] for key in ("type", "enum") if key in schema} == {
            key: schema[key] for key in ("type", "enum") if key in schema
        }
    text = json.dumps(lean)
    assert not any(word in text for word in ("additionalProperties", "$schema", "maximum", "maxLength", '"default"'))


# ---------------------------------------------------------------------- results


def test_results_are_text_alone(server: Server) -> None:
    for tool in listed(server).values():
        assert "outputSchema" not in tool
    for name, arguments in (("read_notes", {"paths": ["Home"]}), ("list_tasks", {}), ("read_note", {"path": "Home"})):
        assert "structuredContent" not in server.call(name, **arguments)


@pytest.mark.parametrize("how", ["option", "variable"])
def test_structured_gives_both(root: Path, how: str) -> None:
    options, variables = (["--structured"], {}) if how == "option" else ([], {"VAULTWIRE_STRUCTURED": "1"})
    with Server(root, *options, **variables) as server:
        server.open("2025-11-25")
        assert all("outputSchema" in tool for tool in listed(server).values())
        result = server.call("read_notes", paths=["Home"])
        assert result["structuredContent"]["notes"][0]["etag"] in text_of(result)


# ---------------------------------------------------------------------- more_tools


def test_a_tool_that_is_not_listed_runs_as_if_it_was_called(server: Server, root: Path) -> None:
    arguments = {"source": "Garden", "target": "Home"}
    assert "merged Projects/Garden.md into Home.md" in text_of(
        server.call(MORE, tool="merge_notes", arguments=arguments)
    )
    assert not (root / "Projects/Garden.md").exists()
    assert "merge_notes by" in text_of(server.call("list_changes"))


@pytest.mark.parametrize(
    "sent",
    [
        {"tool": "read_canvas", "arguments": {"path": "Board"}},
        {"tool": "read-canvas", "arguments": '{"note": "Board"}'},
        {"name": "read_canvas", "args": {"path": "Board"}},
        {"tool": "read_canvas", "path": "Board"},
    ],
)
def test_its_arguments_may_come_in_many_forms(server: Server, sent: dict[str, Any]) -> None:
    expected = server.call("read_canvas", path="Board")
    assert not expected["isError"]
    assert server.call(MORE, **sent)["content"] == expected["content"]


def test_errors_are_those_of_the_tool_that_runs(server: Server) -> None:
    for arguments in ({}, {"path": "Nobody"}, {"path": 1.5}):
        direct = server.call("insert_template", **arguments)
        assert server.call(MORE, tool="insert_template", arguments=arguments)["content"] == direct["content"]
        assert direct["isError"]


def test_without_a_tool_it_tells_what_there_is(server: Server) -> None:
    text = text_of(server.call(MORE))
    assert "merge_notes(source, target, where?, dry_run?)" in text
    assert "read_note" in text.splitlines()[-1]
    assert len(text.encode()) <= 2048
    unknown = server.call(MORE, tool="add a picture")
    assert unknown["isError"]
    assert "add_attachment(name?, data?" in text_of(unknown)
    assert server.call(MORE, tool=MORE)["isError"]


def test_the_log_and_the_rate_see_the_tool_that_runs(root: Path, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    with Server(root, "--audit", str(log), "--rate", "read_note=2") as server:
        server.open("2025-11-25")
        server.call(MORE, tool="read_note", arguments={"path": "Home"})
        server.call("read_notes", paths=["Home"])
        limited = server.call(MORE, tool="read_note", arguments={"path": "Home"})
        assert limited["_meta"]["errorCode"] == "RATE_LIMITED"
    names = [each["tool_name"] for each in records(str(log)) if each["type"] == "request" and "tool_name" in each]
    assert names[:2] == ["read_note", "read_notes"]
    assert MORE not in names


# ---------------------------------------------------------------------- single tools


@pytest.mark.parametrize("part", [{}, {"part": "outline"}, {"section": "Tasks"}])
def test_both_names_of_reading_a_note_say_the_same(root: Path, part: dict[str, str]) -> None:
    vault = open_vault(root)
    several = call(vault, "read_notes", paths=["Home"], **part)
    assert several.texts == call(vault, "read_note", path="Home", **part).texts


def test_parts_of_several_notes_are_read(root: Path) -> None:
    vault = open_vault(root)
    outcome = call(vault, "read_notes", paths=["Home", "Nobody", "Garden"], part="outline")
    text = "\n".join(outcome.texts)
    assert text.startswith("2 of 3 notes read.")
    assert "## Tasks" in text
    assert "FILE_NOT_FOUND" in text
    assert "1 of 2 tasks done" in text
    assert refusal(vault, "read_notes", paths=["Home"], section="Tasks", lines="1-2")[0] == "INVALID_ARGUMENTS"


def test_properties_of_several_notes_are_one_change(root: Path) -> None:
    vault = open_vault(root)
    outcome = call(vault, "set_properties", paths=["Home", "Garden"], set={"due": "2026-04-01", "tags": ["a"], "n": 5})
    assert outcome.data["file_count"] == 2
    for name in ("Home.md", "Projects/Garden.md"):
        text = (root / name).read_text(encoding="utf-8")
        assert "due: 2026-04-01" in text
        assert "n: 5" in text
    call(vault, "undo_changes", changes=[outcome.data["change"]])
    assert "due" not in (root / "Home.md").read_text(encoding="utf-8")


def test_a_value_that_no_property_has_is_refused(root: Path) -> None:
    vault = open_vault(root)
    for value in ({"a": 1}, [["a"]]):
        assert refusal(vault, "set_properties", paths=["Home"], set={"x": value})[0] == "INVALID_ARGUMENTS"
    assert refusal(vault, "set_properties", paths=["Home"])[0] == "INVALID_ARGUMENTS"
    assert refusal(vault, "set_properties", paths=["Home"], set={"x": "\ud800"})[0] == "INVALID_ARGUMENTS"


def test_a_note_is_made_with_properties_and_added_to(root: Path) -> None:
    vault = open_vault(root)
    call(vault, "create_note", path="New/Idea", content="Text.\n", properties={"status": "open", "tags": ["a", "b"]})
    made = root / "New" / "Idea.md"
    assert made.read_text(encoding="utf-8") == "---\nstatus: open\ntags:\n  - a\n  - b\n---\nText.\n"
    assert refusal(vault, "create_note", path="New/Idea", content="x")[0] == "NOTE_EXISTS"
    dry = call(vault, "create_note", path="New/Idea", content="More.\n", if_exists="append", dry_run=True)
    assert "+More." in dry.texts[-1]
    call(vault, "create_note", path="New/Idea", content="More.\n", if_exists="append")
    assert made.read_text(encoding="utf-8").endswith("Text.\nMore.\n")
    code, _ = refusal(vault, "create_note", path="New/Idea", content="x", if_exists="overwrite", if_match="0" * 24)
    assert code == "STALE_EDIT"
    call(vault, "create_note", path="New/Idea", content="Other.\n", if_exists="overwrite")
    assert made.read_text(encoding="utf-8") == "Other.\n"
    assert refusal(vault, "create_note", path="Garden", content="x", if_exists="overwrite")[0] == "NOTE_EXISTS"


def test_several_changes_are_undone_the_latest_first(root: Path) -> None:
    vault = open_vault(root)
    before = (root / "Home.md").read_bytes()
    numbers = [call(vault, "edit_note", path="Home", edits=[{"action": "append", "content": each}]).data["change"]
               for each in ("one", "two", "three")]  # fmt: skip
    shown = call(vault, "list_changes", change=numbers[0])
    assert "+one" in shown.texts[1]
    outcome = call(vault, "undo_changes", changes=numbers)
    assert (outcome.data["changed"], len(outcome.data["undone"])) == (True, 3)
    assert (root / "Home.md").read_bytes() == before
    code, message = refusal(vault, "undo_changes", changes=[999])
    assert code != ""
    assert "999" in message
