"""The list of tools: what a server lists, and how a model gets at the others."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.vaults import write_vault
from support.wire import Server
from vaultwire.toolkit.catalog import CATEGORIES, MORE, ToolSelection, load_catalog, standard_set

STANDARD = standard_set()
CORE = standard_set("core")

CATALOG = load_catalog()
EVERY = [description["name"] for description in CATALOG]


def test_every_tool_stands_in_one_category_and_is_listed_in_their_order() -> None:
    rest = [each["category"] for each in CATALOG if each["name"] not in STANDARD]
    assert [*dict.fromkeys(rest)] == sorted({*rest}, key=CATEGORIES.index)
    assert [each["name"] for each in CATALOG[: len(STANDARD)]] == STANDARD
    assert "other" not in {each["category"] for each in CATALOG}


@pytest.mark.parametrize(
    ("selection", "expected"),
    [
        (ToolSelection(), [*STANDARD, "web_search"]),
        (ToolSelection("core"), [name for name in EVERY if name in CORE]),
        (ToolSelection("all"), EVERY),
        (ToolSelection("core", ["list_notes"]), [name for name in EVERY if name in (*CORE, "list_notes")]),
        (ToolSelection(without=["delete_note"]), [name for name in [*STANDARD, "web_search"] if name != "delete_note"]),
        (ToolSelection("all", ["list_notes"], ["list_notes"]), [name for name in EVERY if name != "list_notes"]),
    ],
    ids=["standard", "core", "all", "core and one", "without one", "without wins"],
)
def test_a_size_and_single_tools_say_what_is_listed(selection: ToolSelection, expected: list[str]) -> None:
    assert {each["name"] for each in CATALOG if selection.lists(each)} == {*expected}


def test_the_core_costs_a_model_a_quarter_of_the_whole_at_most() -> None:
    sizes = {description["name"]: len(json.dumps(description)) for description in CATALOG}
    assert sum(sizes[name] for name in CORE) * 4 < sum(sizes.values())


# ---------------------------------------------------------------------- over the wire


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", "=== A.md\nOne.\n")


@pytest.fixture
def core(notes: Path) -> Iterator[Server]:
    with Server(notes, "--tools", "core", "--structured") as server:
        yield server


def listed(server: Server) -> list[str]:
    return [tool["name"] for tool in server.request("tools/list")["result"]["tools"]]


def near(server: Server, wish: str) -> list[str]:
    """Return the tools that are named where somebody asks for one by what it should do."""
    answer = server.call(MORE, tool=wish)
    assert answer["_meta"]["errorCode"] == "TOOL_NOT_FOUND"
    return re.findall(r"^([a-z_]+)\(", answer["content"][0]["text"], re.MULTILINE)


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


def test_a_tool_that_is_not_listed_can_be_called(core: Server) -> None:
    assert core.open("2025-11-25")["capabilities"]["tools"] == {"listChanged": False}
    assert core.call("vault_overview")["isError"] is False


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
    assert near(core, query)[0] == first


def test_a_tool_is_told_with_its_arguments_those_first_that_it_needs(core: Server) -> None:
    core.open("2025-11-25")
    tools = {each["name"]: each for each in core.call(MORE)["structuredContent"]["tools"]}
    assert tools["merge_notes"]["arguments"] == ["source", "target", "where?", "dry_run?"]
    assert tools["set_task"]["arguments"][0] == "tasks: [{path, text?, line?, status?, due?}]"
    assert tools["merge_notes"]["category"] == "organize"
    (described,) = (each for each in CATALOG if each["name"] == "merge_notes")
    assert described["description"].startswith(tools["merge_notes"]["summary"].removesuffix(" …"))


def test_a_wish_that_no_tool_fits_says_how_to_see_all(core: Server) -> None:
    core.open("2025-11-25")
    assert "more_tools lists what there is" in core.call(MORE, tool="zzz")["content"][0]["text"]


def test_a_former_tool_is_named_with_the_one_that_does_its_work(core: Server) -> None:
    core.open("2025-11-25")
    assert "list_links does its work now" in core.call(MORE, tool="list_backlinks")["content"][0]["text"]
    error = core.request("tools/call", {"name": "rename_tag", "arguments": {}})["error"]
    assert "rename does its work now" in error["message"]


def test_what_may_not_be_called_is_not_found(notes: Path) -> None:
    with Server(notes, "--tools", "all", "--read-only", "--no-tool", "list_notes", "--structured") as server:
        server.open("2025-11-25")
        names = {*listed(server)}
        assert "read_note" in names
        assert not names & {"write_note", "edit_note", "list_notes"}
        for name in ("list_notes", "web_search"):
            error = server.request("tools/call", {"name": name, "arguments": {}})["error"]
            assert error["data"]["errorCode"] == "TOOL_NOT_FOUND"
            assert f"{name}," not in error["message"]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--no-tool", "rename_tag"], "there is no tool 'rename_tag' in this run; rename does its work now"),
        (["--tool", "nosuch"], "--tool: there is no tool 'nosuch'"),
        (["--no-tool", "nosuch"], "--no-tool: there is no tool 'nosuch'"),
        (["--tool", "list_notes", "--no-tool", "list_notes"], "--tool: there is no tool 'list_notes'"),
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
