"""Methods and their answers: listing in pages, calls that name no tool or nothing sensible, what each revision sees."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from support.connection import Peer
from support.toolsets import Stage, toolset_of
from support.vaults import open_vault
from support.wire import HANDSHAKE_REVISIONS, REVISIONS, STATELESS_REVISION
from vaultwire.server import handlers
from vaultwire.trust.policy import Policy
from vaultwire.vault.vault import Vault

NAMES = ["echo", "wait", "wait_soon", "hang", "change", "change_soon", "crash", "count", "babble"]


# ---------------------------------------------------------------------- tools/list


@pytest.mark.parametrize("size", [1, 2, 4, 8, 9, 10])
def test_pages_together_hold_every_tool_once_in_one_order(
    stage: Stage, vault: Vault, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(handlers, "TOOLS_PER_PAGE", size)
    with Peer(stage, vault) as peer:
        names: list[str] = []
        pages = 1
        result = peer.request("tools/list")["result"]
        names += [tool["name"] for tool in result["tools"]]
        while "nextCursor" in result:
            assert isinstance(result["nextCursor"], str)
            assert len(result["tools"]) == size
            result = peer.request("tools/list", {"cursor": result["nextCursor"]})["result"]
            names += [tool["name"] for tool in result["tools"]]
            pages += 1
        assert names == NAMES
        assert pages == -(-len(NAMES) // size)


def test_a_list_that_fits_on_one_page_has_no_cursor(stage: Stage, vault: Vault) -> None:
    with Peer(stage, vault) as peer:
        assert "nextCursor" not in peer.request("tools/list")["result"]
        assert "nextCursor" not in peer.request("tools/list", {"cursor": None})["result"]


@pytest.mark.parametrize("cursor", ["nonsense", "", 0, 1.5, True, [], {"name": "echo"}, "ECHO"])
def test_a_cursor_we_did_not_give_is_refused(stage: Stage, vault: Vault, cursor: Any) -> None:
    with Peer(stage, vault) as peer:
        error = peer.request("tools/list", {"cursor": cursor})["error"]
        assert error["code"] == -32602
        assert "cursor" in error["message"]


def test_a_read_only_list_pages_over_the_tools_it_shows(
    stage: Stage, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers, "TOOLS_PER_PAGE", 4)
    with Peer(stage, vault, policy=Policy(read_only=True)) as peer:
        first = peer.request("tools/list")["result"]
        assert [tool["name"] for tool in first["tools"]] == ["echo", "wait", "wait_soon", "hang"]
        second = peer.request("tools/list", {"cursor": first["nextCursor"]})["result"]
        assert [tool["name"] for tool in second["tools"]] == ["crash", "count", "babble"]
        assert "error" in peer.request("tools/list", {"cursor": "change"})


@pytest.mark.parametrize("revision", REVISIONS)
def test_only_2026_07_28_is_told_how_long_a_list_may_be_kept(stage: Stage, vault: Vault, revision: str) -> None:
    with Peer(stage, vault, revision) as peer:
        result = peer.request("tools/list")["result"]
        if revision == STATELESS_REVISION:
            assert isinstance(result["ttlMs"], int)
            assert result["ttlMs"] > 0
            assert result["cacheScope"] == "private"
            assert result["resultType"] == "complete"
        else:
            assert not {"ttlMs", "cacheScope", "resultType", "_meta"} & set(result)


LISTED_FIELDS = {
    "2024-11-05": {"name", "description", "inputSchema"},
    "2025-03-26": {"name", "description", "inputSchema", "annotations"},
    "2025-06-18": {"name", "description", "inputSchema", "annotations", "title", "outputSchema"},
    "2025-11-25": {"name", "description", "inputSchema", "annotations", "title", "outputSchema"},
    "2026-07-28": {"name", "description", "inputSchema", "annotations", "title", "outputSchema"},
}


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_tool_is_listed_with_the_fields_its_revision_knows(stage: Stage, vault: Vault, revision: str) -> None:
    with Peer(stage, vault, revision) as peer:
        for tool in peer.request("tools/list")["result"]["tools"]:
            assert set(tool) == LISTED_FIELDS[revision]


# ---------------------------------------------------------------------- tools/call

MALFORMED_CALLS: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({}, "name must be a string, got nothing"),
    "name null": ({"name": None}, "name must be a string, got null"),
    "name a number": ({"name": 1}, "name must be a string, got a number"),
    "name a list": ({"name": ["echo"]}, "name must be a string, got an array"),
    "arguments a list": ({"name": "echo", "arguments": ["x"]}, "arguments must be an object, got an array"),
    "arguments a string": ({"name": "echo", "arguments": "{}"}, "arguments must be an object, got a string"),
    "arguments false": ({"name": "echo", "arguments": False}, "arguments must be an object, got a boolean"),
}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(("params", "reason"), MALFORMED_CALLS.values(), ids=MALFORMED_CALLS)
def test_a_malformed_call_is_refused_in_every_revision(
    stage: Stage, vault: Vault, params: dict[str, Any], reason: str, revision: str
) -> None:
    with Peer(stage, vault, revision) as peer:
        error = peer.request("tools/call", params)["error"]
        assert error["code"] == -32602
        assert reason in error["message"]


@pytest.mark.parametrize("arguments", [{}, {"arguments": None}, {"arguments": {}}])
def test_arguments_may_be_left_out(stage: Stage, vault: Vault, arguments: dict[str, Any]) -> None:
    with Peer(stage, vault) as peer:
        answer = peer.request("tools/call", {"name": "echo", **arguments})
        assert answer["result"]["structuredContent"] == {"text": ""}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("name", ["nonsense", "", "Echo", "echo ", "x" * 100_000])
def test_an_unknown_tool_is_a_protocol_error_that_lists_the_known_ones(
    stage: Stage, vault: Vault, name: str, revision: str
) -> None:
    with Peer(stage, vault, revision) as peer:
        error = peer.request("tools/call", {"name": name})["error"]
        assert (error["code"], error["data"]) == (-32602, {"errorCode": "TOOL_NOT_FOUND"})
        assert ", ".join(NAMES) in error["message"]
        assert len(error["message"]) < 500


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_result_says_how_long_it_took_and_when_it_was_made(stage: Stage, vault: Vault, revision: str) -> None:
    with Peer(stage, vault, revision) as peer:
        result = peer.call("echo", text="grüße")
        assert result["content"] == [{"type": "text", "text": "grüße"}]
        assert result["isError"] is False
        assert result["_meta"]["executionTime"] >= 0
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", result["_meta"]["timestamp"])
        assert ("structuredContent" in result) is (revision >= "2025-06-18")


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
def test_a_tool_the_policy_forbids_is_not_run(stage: Stage, vault: Vault, revision: str) -> None:
    with Peer(stage, vault, revision, policy=Policy(read_only=True)) as peer:
        result = peer.call("change", name="x")
        assert result["isError"] is True
        assert result["_meta"]["errorCode"] == "POLICY_DENIED"
        assert stage.order == []


def test_the_guide_is_read_again_when_a_file_beside_it_has_changed(tmp_path: Path) -> None:
    guides = iter(["first", "second", "third"])
    vault = open_vault(tmp_path)
    made = handlers.Handlers(
        toolset_of([]),
        lambda: vault,
        Policy(),
        read_guide=lambda: next(guides),
    )
    report = made._report_changes(made.vaults.get(""))
    report(["Folder/AGENTS.md"], ["Folder"])
    assert made.guide == "first"
    report(["AGENTS.md"], [])
    assert made.guide == "second"
    report([], [""])
    assert made.guide == "third"
