"""Every tool called at every door: what succeeds, what fails, and how either looks on the wire."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import EVERY_DOOR, EVERY_REVISION
from support.http_wire import Client
from support.proofs import proves
from support.schemas import hold_to
from support.vaults import snapshot
from support.wire import STATELESS_REVISION

CALLS: dict[str, tuple[dict[str, Any], list[str]]] = {
    # arguments, words the text for the model must hold
    "search_notes": ({"query": "fox"}, ["2 of 5 notes match", "Welcome.md", "Projects/Alpha.md", "The fox again"]),
    "list_notes": ({}, ["5 notes", "Archive/Plan.md", "Projects/Alpha.md"]),
    "read_note": ({"path": "Unicode/Grüße 日本.md"}, ["Grüße 🗝", "etag"]),
    "read_notes": (
        {"paths": ["Welcome", "Nowhere", "2026-03-31"]},
        ["1 of 3 notes read", "brown fox", "FILE_NOT_FOUND"],
    ),
    "search_by_tags": ({"tags": ["project"]}, ["2 notes", "Welcome.md", "#project/alpha"]),
    "list_links": ({"path": "Welcome"}, ["Welcome.md has 1 link", "Projects/Alpha.md"]),
    "find_notes": ({"name": "alpha"}, ["1 note found", "Projects/Alpha.md"]),
    "list_tasks": ({"status": "any"}, ["task"]),
    "check_notes": ({}, ["0 faults in 5 files"]),
    "vault_overview": ({}, ["5 notes", "Projects"]),
    # These two last: what is said above is said of the vault before them.
    "write_note": ({"path": "New/Idea.md", "content": "An idea.\n"}, ["Created", "New/Idea.md", "etag"]),
    "delete_note": ({"path": "Projects/Alpha.md"}, ["Projects/Alpha.md", ".trash"]),
}


def text_of(result: dict[str, Any]) -> str:
    assert all(block["type"] == "text" for block in result["content"])
    return "\n".join(block["text"] for block in result["content"])


def error_code_of(answer: dict[str, Any]) -> str:
    code: str = answer["result"]["_meta"]["errorCode"]
    assert answer["result"]["isError"] is True
    assert "structuredContent" not in answer["result"]
    assert text_of(answer["result"]).startswith(f"{code}: ")
    return code


@EVERY_REVISION
@proves("spec Tools: a successful call, its text, its data, and what we promise to say about it")
def test_every_tool_succeeds(connect: Callable[..., Client], revision: str) -> None:
    client = connect("--structured", "--tools", "all")
    tools = {tool["name"]: tool for tool in client.request("tools/list")["result"]["tools"]}
    for name, (arguments, words) in CALLS.items():
        result = client.call(name, **arguments)
        assert result["isError"] is False, name
        text = text_of(result)
        for word in words:
            assert word in text, name
        check_envelope_and_data(result, text, tools[name], revision)


def check_envelope_and_data(result: dict[str, Any], text: str, tool: dict[str, Any], revision: str) -> None:
    assert isinstance(result["_meta"]["executionTime"], int | float)
    assert result["_meta"]["executionTime"] >= 0
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", result["_meta"]["timestamp"])
    if revision >= "2025-06-18":
        hold_to(result["structuredContent"], tool["outputSchema"])
        assert not text.lstrip().startswith("{"), "the data once more, instead of text for a model"
    else:
        assert "structuredContent" not in result


@EVERY_DOOR
@proves("spec 2026-07-28: resultType and serverInfo there, and nowhere before")
def test_only_2026_07_28_results_carry_its_envelope(shared: Client, revision: str) -> None:
    result = shared.call("read_note", path="Welcome")
    if revision == STATELESS_REVISION:
        assert result["resultType"] == "complete"
        assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "vaultwire"
    else:
        assert "resultType" not in result
        assert set(result["_meta"]) == {"executionTime", "timestamp"}
    assert not {"ttlMs", "cacheScope"} & set(result)


WRONG_ARGUMENTS: dict[str, tuple[str, dict[str, Any], list[str]]] = {
    # tool, arguments, what the text must name: the argument, what was expected, what came
    "missing": ("read_note", {}, ["'path' is missing", "a text"]),
    "of the wrong type": (
        "read_note",
        {"path": 5.5},
        ["'path' must be", "a text", "got 5.5", '{"path": "Projects/Plan"}'],
    ),
    "null": ("read_note", {"path": None}, ["'path' must be", "a text", "got null"]),
    "empty": ("search_notes", {"query": ""}, ["'query' must be", "1 to 1000 characters", "got ''"]),
    "too large": ("search_notes", {"query": "x", "limit": 1001}, ["'limit' must be", "from 1 to 1000", "got 1001"]),
    "too small": ("list_notes", {"limit": 0}, ["'limit' must be", "from 1 to 1000", "got 0"]),
    "a boolean for a number": ("list_notes", {"limit": True}, ["'limit' must be", "an integer", "got true"]),
    "a fraction": ("list_notes", {"limit": 1.5}, ["'limit' must be", "an integer", "got 1.5"]),
    "not one of the choices": (
        "write_note",
        {"path": "x", "content": "", "mode": "erase"},
        ["'mode' must be", "'create'", "'append'", "got 'erase'"],
    ),
    "a text for a list": ("search_by_tags", {"tags": "x, y"}, ["'tags' must be", "a list", "got 'x, y'", '["work"]']),
    "a wrong item": ("search_by_tags", {"tags": ["x", True]}, ["tags[1]", "a text", "got true"]),
    "unknown": ("read_note", {"path": "Welcome", "colour": "red"}, ["'colour' is not an argument", "path"]),
}


@EVERY_REVISION
@proves("SEP-1303: wrong arguments are a result from 2025-11-25 on, a protocol error before")
@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_wrong_arguments_are_named_with_what_was_expected_and_what_came(
    shared: Client, revision: str, case: str
) -> None:
    tool, arguments, words = WRONG_ARGUMENTS[case]
    answer = shared.request("tools/call", {"name": tool, "arguments": arguments})
    if revision >= "2025-11-25":
        assert error_code_of(answer) == "INVALID_ARGUMENTS"
        text = text_of(answer["result"])
    else:
        assert answer["error"]["code"] == -32602
        assert answer["error"]["data"]["errorCode"] == "INVALID_ARGUMENTS"
        text = answer["error"]["message"]
    for word in words:
        assert word in text


@EVERY_REVISION
@proves("spec Tools, Error Handling: an unknown tool is a protocol error in every revision")
def test_an_unknown_tool_is_a_protocol_error(shared: Client) -> None:
    error = shared.request("tools/call", {"name": "fly", "arguments": {}})["error"]
    assert error["code"] == -32602
    assert "read_note" in error["message"]


FAILURES: dict[str, tuple[str, dict[str, Any], str]] = {
    "no such note": ("read_note", {"path": "Nowhere"}, "FILE_NOT_FOUND"),
    "no such note to delete": ("delete_note", {"path": "Nowhere.md"}, "FILE_NOT_FOUND"),
    "no such note to append to": (
        "write_note",
        {"path": "Nowhere", "content": "x", "mode": "append"},
        "FILE_NOT_FOUND",
    ),
    "no such folder": ("list_notes", {"folder": "Nowhere"}, "FILE_NOT_FOUND"),
    "up and out": ("read_note", {"path": "../secret.md"}, "PATH_OUTSIDE_VAULT"),
    "an absolute path": ("read_note", {"path": "/etc/passwd"}, "PATH_OUTSIDE_VAULT"),
    "out through a link": ("read_note", {"path": "Link/secret.md"}, "PATH_OUTSIDE_VAULT"),
    "writing up and out": ("write_note", {"path": "../out.md", "content": "x"}, "PATH_OUTSIDE_VAULT"),
    "deleting up and out": ("delete_note", {"path": "../secret.md", "permanent": True}, "PATH_OUTSIDE_VAULT"),
    "listing up and out": ("list_notes", {"folder": ".."}, "PATH_OUTSIDE_VAULT"),
    "a note that exists": ("write_note", {"path": "Welcome", "content": "x"}, "NOTE_EXISTS"),
    "a note that changed": (
        "write_note",
        {"path": "Welcome", "content": "x", "mode": "overwrite", "if_match": "stale"},
        "STALE_EDIT",
    ),
}


@proves("ours: a failure has a code, and changes nothing")
@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_has_a_code_and_changes_nothing(shared: Client, shared_vault: Path, case: str) -> None:
    tool, arguments, code = FAILURES[case]
    before = snapshot(shared_vault.parent)
    answer = shared.request("tools/call", {"name": tool, "arguments": arguments})
    assert error_code_of(answer) == code
    assert "a secret" not in text_of(answer["result"])
    assert snapshot(shared_vault.parent) == before


@proves("ours: an ambiguous name lists its candidates, for models and for programs")
@pytest.mark.parametrize("name", ["Plan", "[[Plan]]", "plan.md"])
def test_an_ambiguous_name_lists_its_candidates(shared: Client, name: str) -> None:
    answer = shared.request("tools/call", {"name": "read_note", "arguments": {"path": name}})
    assert error_code_of(answer) == "AMBIGUOUS_NAME"
    for candidate in ("Projects/Plan.md", "Archive/Plan.md"):
        assert candidate in text_of(answer["result"])
    details = answer["result"]["_meta"]["errorDetails"]
    assert sorted(details["candidates"]) == ["Archive/Plan.md", "Projects/Plan.md"]


@proves("ours: a note is found by path, by name and by wikilink text")
@pytest.mark.parametrize(
    "name", ["Projects/Alpha.md", "Projects/Alpha", "Alpha", "alpha", "[[Alpha]]", "[[Alpha#Alpha|a]]"]
)
def test_a_note_is_found_by_what_it_is_called(shared: Client, name: str) -> None:
    assert "The fox again" in text_of(shared.call("read_note", path=name))


@proves("ours: a whole day's work, one call after the other")
def test_what_was_written_is_read_found_and_deleted(client: Client, vault: Path) -> None:
    before = snapshot(vault)
    assert client.call("write_note", path="Work/Day.md", content="unheard-of words")["isError"] is False
    assert (vault / "Work" / "Day.md").read_text() == "unheard-of words"
    assert "Work/Day.md" in text_of(client.call("search_notes", query="unheard-of"))
    client.call("write_note", path="Day", content="and more", mode="append")
    assert "unheard-of words\nand more" in text_of(client.call("read_note", path="Day"))
    assert client.call("delete_note", path="Day")["isError"] is False
    assert "0 of 5 notes match" in text_of(client.call("search_notes", query="unheard-of"))
    left = {path: mark for path, mark in snapshot(vault).items() if not path.startswith(".trash/")}
    assert left == before


@proves("ours: --read-only refuses what it does not list, and leaves the folder byte for byte")
def test_a_read_only_server_changes_nothing(connect: Callable[..., Client], vault: Path) -> None:
    client = connect("--read-only")
    before = snapshot(vault)
    for name, (arguments, _) in CALLS.items():
        answer = client.request("tools/call", {"name": name, "arguments": arguments})
        if name in ("write_note", "delete_note"):
            assert error_code_of(answer) == "POLICY_DENIED"
        else:
            assert answer["result"]["isError"] is False
    assert client.close()[0] == 0
    assert snapshot(vault) == before


@proves("ours: reading leaves no trace, neither in files nor beside them")
def test_reading_tools_leave_the_folder_as_it_was(client: Client, vault: Path) -> None:
    before = snapshot(vault)
    for name in ("search_notes", "list_notes", "read_note", "search_by_tags"):
        assert client.call(name, **CALLS[name][0])["isError"] is False
    assert client.close()[0] == 0
    assert snapshot(vault) == before
