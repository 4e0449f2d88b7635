"""The REST door, which has no revisions: each call of the other doors says the same here, in the contract's shape."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from interaction.test_calls import CALLS, FAILURES, WRONG_ARGUMENTS
from support.http_wire import HttpClient
from support.proofs import proves
from support.serving import Serving
from support.vaults import open_vault, snapshot
from support.wire import HANDSHAKE_REVISIONS
from vaultwire.toolkit.catalog import WEB, ToolSelection, load_catalog

READS = {tool["name"]: tool["annotations"]["readOnlyHint"] for tool in load_catalog()}
TOOLS = [
    tool["name"] for tool in load_catalog() if tool["name"] != WEB and ToolSelection().lists(tool, is_contract=True)
]
CHANGING = [name for name in TOOLS if not READS[name]]

VAULT_OPTIONS: tuple[tuple[str, ...], ...] = ((), ("--read-only",))


def called(server: Serving, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Call a tool and return the body, whose shape is the contract's."""
    reply = server.call(tool, arguments)
    assert reply.status == 200
    body: dict[str, Any] = reply.json
    assert set(body) == ({"success", "content"} if body["success"] else {"success", "content", "isError"})
    assert body.get("isError", False) is not body["success"]
    return body


def text_of(body: dict[str, Any]) -> str:
    return "\n".join(block["text"] for block in body["content"])


@pytest.fixture(params=VAULT_OPTIONS, ids=["all", "read-only"])
def options(request: pytest.FixtureRequest) -> tuple[str, ...]:
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture
def server(vault: Path, options: tuple[str, ...]) -> Iterator[Serving]:
    with Serving(vault, *options) as started:
        yield started


@proves("contract v1: the tools other doors list, by name")
def test_the_same_tools_are_listed(server: Serving, options: tuple[str, ...]) -> None:
    expected = [name for name in TOOLS if not (options and name in CHANGING)]
    assert [tool["name"] for tool in server.request("GET", "/bridge/v1/tools").json["tools"]] == sorted(expected)


@proves("contract v1: what a tool says, the same as at /mcp; --read-only refuses what changes")
def test_every_tool_says_the_same_as_at_the_other_door(server: Serving, options: tuple[str, ...], vault: Path) -> None:
    before = snapshot(vault)
    with HttpClient(server, in_session=True) as client:
        client.open(HANDSHAKE_REVISIONS[-1])
        for name, (arguments, words) in CALLS.items():
            body = called(server, name, arguments)
            if options and name in CHANGING:
                assert text_of(body).startswith("Error: POLICY_DENIED: ")
                continue
            assert body["success"], text_of(body)
            for word in words:
                assert word in text_of(body), name
            if name not in CHANGING:
                assert body["content"] == client.call(name, **arguments)["content"], name
    assert (snapshot(vault) == before) is bool(options)


@proves("contract v1: a tool's failure is 200 with its code in words")
@pytest.mark.parametrize("case", FAILURES)
def test_a_failure_has_its_code(shared_serving: Serving, shared_vault: Path, case: str) -> None:
    tool, arguments, code = FAILURES[case]
    before = snapshot(shared_vault.parent)
    body = called(shared_serving, tool, arguments)
    assert text_of(body).startswith(f"Error: {code}: ")
    assert "a secret" not in text_of(body)
    assert snapshot(shared_vault.parent) == before


@proves("contract v1: wrong arguments are a tool's failure too, told as at the other doors")
@pytest.mark.parametrize("case", WRONG_ARGUMENTS)
def test_wrong_arguments_are_named(shared_serving: Serving, case: str) -> None:
    tool, arguments, words = WRONG_ARGUMENTS[case]
    body = called(shared_serving, tool, arguments)
    assert text_of(body).startswith("Error: INVALID_ARGUMENTS: ")
    for word in words:
        assert word in text_of(body)


@proves("contract v1: an unknown tool is no tool's failure")
def test_an_unknown_tool_is_not_found(shared_serving: Serving) -> None:
    reply = shared_serving.call("fly", {})
    assert (reply.status, reply.json["error"]) == (404, "Tool not found")


@proves("ours: a note written at one door is read, found and deleted at the other")
def test_doors_see_one_vault(vault: Path) -> None:
    with Serving(vault) as server, HttpClient(server, in_session=False) as client:
        client.open(HANDSHAKE_REVISIONS[0])
        assert called(server, "write_note", {"path": "Work/Day.md", "content": "unheard-of words"})["success"]
        assert "unheard-of words" in client.call("read_note", path="Day")["content"][0]["text"]
        assert "Work/Day.md" in str(client.call("search_notes", query="unheard-of")["content"])
        assert client.call("delete_note", path="Day")["isError"] is False
        assert text_of(called(server, "read_note", {"path": "Day"})).startswith("Error: FILE_NOT_FOUND: ")


def test_a_held_write_waits_and_what_became_of_it_is_told_once(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))
    (tmp_path / "policy.toml").write_text('[[review]]\nmode = "hold"\n')
    with Serving(vault, "--policy", str(tmp_path / "policy.toml")) as server:
        assert "waits for the person: proposal 1" in text_of(
            called(server, "create_note", {"path": "New.md", "content": "x"})
        )
        assert not (vault / "New.md").exists()
        open_vault(vault, state=tmp_path / "state").holding.refuse(1, "no")
        assert "The person refused proposal 1" in str(called(server, "read_note", {"path": "Welcome.md"}))
        assert "refused" not in str(called(server, "read_note", {"path": "Welcome.md"}))
