"""Finding tools: what a server lists, what a model finds beside it, and that whoever found a tool is told of its list."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.vaults import write_vault
from support.wire import Server
from vaultwire.app.engine import load_tools
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.tool_sets import CATEGORIES, CORE, DISCOVERY, STANDARD, Choice, category_of

CATALOG = load_catalog()
EVERY = [description["name"] for description in CATALOG]
SINGLE = [name for name in EVERY if name not in (*DISCOVERY, "web_search")]


def test_every_tool_stands_in_one_category() -> None:
    placed = [name for names in CATEGORIES.values() for name in names]
    assert sorted(placed) == sorted(tool.name for tool in load_tools())
    assert category_of("obsidian_eval") == "other"


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (Choice(), [*STANDARD, "web_search"]),
        (Choice("core"), [name for name in EVERY if name in CORE]),
        (Choice("all"), EVERY),
        (Choice("core", ["graph"]), [name for name in EVERY if name in (*CORE, "graph")]),
        (Choice(without=["delete_note"]), [name for name in [*STANDARD, "web_search"] if name != "delete_note"]),
        (Choice("all", ["graph"], ["graph"]), [name for name in EVERY if name != "graph"]),
    ],
    ids=["standard", "core", "all", "core and one", "without one", "without wins"],
)
def test_a_size_and_single_tools_say_what_is_listed(choice: Choice, expected: list[str]) -> None:
    assert [name for name in EVERY if choice.lists(name)] == expected


@pytest.mark.parametrize(
    ("choice", "grows"),
    [
        (Choice(), False),
        (Choice("all"), False),
        (Choice("core"), False),
        (Choice("core", ["search_tools"]), True),
        (Choice("core", ["search_tools"], without=["search_tools"]), False),
        (Choice("core", ["search_tools"], without=[name for name in EVERY if name not in (*CORE, *DISCOVERY)]), False),
    ],
)
def test_the_list_grows_only_where_there_is_more_and_a_way_to_it(choice: Choice, grows: bool) -> None:
    assert choice.can_grow is grows


def test_the_core_costs_a_model_a_quarter_of_the_whole_at_most() -> None:
    sizes = {description["name"]: len(json.dumps(description)) for description in CATALOG}
    assert sum(sizes[name] for name in CORE) * 4 < sum(sizes.values())


# ---------------------------------------------------------------------- over the wire


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", "=== A.md\nOne.\n")


@pytest.fixture
def core(notes: Path) -> Iterator[Server]:
    with Server(notes, "--tools", "core", "--tool", "search_tools", "--structured") as server:
        yield server


def listed(server: Server) -> list[str]:
    return [tool["name"] for tool in server.request("tools/list")["result"]["tools"]]


def found(server: Server, **arguments: Any) -> Any:
    return server.call("search_tools", **arguments)["structuredContent"]


def test_without_options_the_list_is_the_standard_one_and_does_not_change(notes: Path) -> None:
    with Server(notes) as server:
        capabilities = server.open("2025-11-25")["capabilities"]
        assert capabilities["tools"] == {"listChanged": False}
        assert listed(server) == [*STANDARD]


def test_more_tools_names_every_tool_that_is_not_listed(notes: Path) -> None:
    for arguments in (["--tools", "core"], []):
        with Server(notes, *arguments) as server:
            server.open("2025-11-25")
            tools = {tool["name"]: tool["description"] for tool in server.request("tools/list")["result"]["tools"]}
            unlisted = server.call("more_tools")["content"][0]["text"]
            first_sentence = tools["more_tools"].split(".")[0]
            named = set(re.findall(r"[a-z_]+", first_sentence.partition(":")[2]))
            runs = set(re.findall(r"^([a-z_]+)\(", unlisted, re.MULTILINE))
            assert named <= runs
            assert {*STANDARD} & runs <= named


def test_a_tool_that_is_found_is_listed_from_then_on_and_the_client_is_told(core: Server) -> None:
    assert core.open("2025-11-25")["capabilities"]["tools"] == {"listChanged": True}
    assert listed(core) == [name for name in EVERY if name in (*CORE, "search_tools")]
    result = found(core, query="rename_tag", limit=1)
    assert [tool["name"] for tool in result["tools"]] == ["rename"]
    assert result["listed"] is True
    assert "notifications/tools/list_changed" in [each["method"] for each in core.notifications]
    assert set(listed(core)) - set(CORE) == {"rename", "search_tools"}


def test_finding_what_is_listed_already_tells_nobody(core: Server) -> None:
    core.open("2025-11-25")
    assert found(core, query="read_notes", limit=1)["listed"] is True
    found(core, query="rename_tag", limit=1)
    found(core, query="rename_tag", limit=1)
    listed(core)
    assert [each["method"] for each in core.notifications] == ["notifications/tools/list_changed"]


def test_a_tool_that_is_not_listed_can_be_called(core: Server) -> None:
    core.open("2025-11-25")
    assert core.call("vault_stats")["isError"] is False


def test_where_there_are_no_sessions_the_list_stays_and_does_not_promise_to_change(core: Server) -> None:
    assert core.open("2026-07-28")["capabilities"]["tools"] == {"listChanged": False}
    assert found(core, query="rename tag")["listed"] is False
    assert listed(core) == [name for name in EVERY if name in (*CORE, "search_tools")]
    assert core.notifications == []


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("rename tag", "rename"),
        ("renaming of tags", "rename"),
        ("backlinks", "list_links"),
        ("undo", "undo_changes"),
        ("revert my last edit", "undo_changes"),
        ("move a note", "move_notes"),
        ("image", "add_attachment"),
        ("add a picture", "add_attachment"),
        ("upload pdf", "add_attachment"),
        ("frontmatter", "set_properties"),
        ("combine two notes", "merge_notes"),
        ("diary", "append_daily_note"),
        ("todos", "list_tasks"),
        ("trash", "delete_note"),
        ("rename hashtags", "rename"),
        ("search", "search_notes"),
        ("attachment", "add_attachment"),
    ],
)
def test_the_tool_that_is_meant_comes_first(core: Server, query: str, first: str) -> None:
    core.open("2025-11-25")
    assert found(core, query=query)["tools"][0]["name"] == first


def test_as_much_is_told_as_was_asked_for(core: Server) -> None:
    core.open("2025-11-25")
    (name,) = found(core, query="merge_notes", limit=1, detail_level="name")["tools"]
    assert name == {"name": "merge_notes", "category": "organize"}
    (summary,) = found(core, query="merge_notes", limit=1)["tools"]
    assert set(summary) == {"name", "category", "summary", "arguments"}
    assert summary["arguments"] == ["source", "target", "where?", "dry_run?"]
    tasks = found(core, query="set_task", detail_level="summary", limit=1)["tools"][0]
    assert tasks["arguments"][0] == "tasks: [{path, text?, line?, status?, due?}]"
    (full,) = found(core, query="merge_notes", limit=1, detail_level="full")["tools"]
    (described,) = (each for each in CATALOG if each["name"] == "merge_notes")
    assert full["description"] == described["description"]
    assert json.loads(full["input_schema"]) == described["inputSchema"]
    assert described["description"].startswith(full["summary"])


def test_nothing_found_says_what_there_is(core: Server) -> None:
    core.open("2025-11-25")
    result = core.call("search_tools", query="zzz")
    assert result["structuredContent"] == {"tools": [], "total": 0, "listed": False}
    assert "tags and properties" in result["content"][0]["text"]


def test_categories_hold_every_tool_that_may_be_called(core: Server) -> None:
    core.open("2025-11-25")
    data = core.call("list_tool_categories")["structuredContent"]
    named = [name for each in data["categories"] for name in each["tools"]]
    assert sorted(named) == sorted([*SINGLE, *DISCOVERY])  # web_search is not there
    assert data["total"] == len(named)
    one = core.call("list_tool_categories", category="Links")["structuredContent"]["categories"]
    assert [each["category"] for each in one] == ["links"]


def test_what_may_not_be_called_is_not_found(notes: Path) -> None:
    with Server(notes, "--tools", "all", "--read-only", "--no-tool", "graph", "--structured") as server:
        server.open("2025-11-25")
        everything = found(server, limit=50)["tools"]
        names = {tool["name"] for tool in everything}
        assert "read_note" in names
        assert not names & {"write_note", "edit_note", "graph"}
        for name in ("graph", "web_search"):
            error = server.request("tools/call", {"name": name, "arguments": {}})["error"]
            assert error["data"]["errorCode"] == "TOOL_NOT_FOUND"
            assert f"{name}," not in error["message"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--tool", "nosuch"], "--tool: there is no tool 'nosuch'"),
        (["--no-tool", "nosuch"], "--no-tool: there is no tool 'nosuch'"),
        (["--tool", "graph", "--no-tool", "graph"], "--tool: there is no tool 'graph'"),
        (["--tool", "web-search"], "--tool: there is no tool 'web_search'"),
        (["--rate", "nosuch=5"], "--rate: there is no tool 'nosuch'"),
        (["--rate", "many"], "not a rate: 'many'"),
        (["--timeout", "file=0"], "not a time: 'file=0'"),
        (["--max-answer", "0"], "--max-answer takes"),
        (["--allow-web", "https://x.example/"], "--allow-web takes the name of a host"),
        (["--attachments-from", "/no/such/folder"], "--attachments-from takes a folder that exists"),
        (["--attachments-from", "https://x.example/a"], "--attachments-from takes a folder that exists, or a host"),
        (["--attachments-from", "http://x.example"], "--attachments-from takes a folder that exists, or a host"),
        (["--audit-strict"], "--audit-strict needs --audit"),
    ],
)
def test_options_that_name_what_is_not_there_are_refused(
    notes: Path, options: list[str], complaint: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from vaultwire.cli import main  # noqa: PLC0415

    assert main(["stdio", "--vault", str(notes), *options]) == 2
    assert complaint in capfd.readouterr().err
