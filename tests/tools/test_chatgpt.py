"""ChatGPT's pair of tools: the fields of its contract, who is listed them, and whose rights they need."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.vaults import write_vault
from support.wire import Server

PAIR = ["search", "fetch"]
NOTES = """=== Garden/Tomatoes.md
---
tags: [garden]
---
# Tomatoes
Water them in the morning. Ünïcode stays.
=== Other.md
Nothing of it.
=== Long.md
""" + "".join(f"line {number} of a long note with some words\n" for number in range(20_000))


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", NOTES)


def as_client(server: Server, name: str) -> None:
    """Do the handshake under a name."""
    params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": name, "version": "1"}}
    server.send({"jsonrpc": "2.0", "id": "hello", "method": "initialize", "params": params})
    server.receive()
    server.send({"jsonrpc": "2.0", "method": "notifications/initialized"})


def ask(server: Server, method: str, **params: Any) -> Any:
    server.send({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return server.receive()["result"]


def listed(server: Server) -> dict[str, Any]:
    return {tool["name"]: tool for tool in ask(server, "tools/list")["tools"]}


@pytest.mark.parametrize(
    ("client", "options", "is_listed"),
    [
        ("openai-mcp", [], True),
        ("ChatGPT", [], True),
        ("claude-ai", [], False),
        ("my-chatgpt-clone", [], False),
        ("claude-ai", ["--profile", "chatgpt"], True),
        ("claude-ai", ["--tools", "all"], True),
        ("openai-mcp", ["--no-tool", "search_notes"], False),
        ("openai-mcp", ["--dialect", "filesystem"], False),
    ],
)
def test_the_pair_is_listed_to_clients_of_that_name_and_by_a_profile(
    notes: Path, client: str, options: list[str], is_listed: bool
) -> None:
    with Server(notes, *options) as server:
        as_client(server, client)
        tools = listed(server)
        assert ("search" in tools) is is_listed
        assert len({"search_notes", "search-vault"} & tools.keys()) == ("--no-tool" not in options)


def test_the_list_says_their_arguments_their_results_and_that_they_only_read(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "openai-mcp")
        tools = listed(server)
    for name, argument in zip(PAIR, ["query", "id"], strict=True):
        assert [*tools[name]["inputSchema"]["properties"]] == tools[name]["inputSchema"]["required"] == [argument]
        assert tools[name]["annotations"]["readOnlyHint"] is True
        assert tools[name]["outputSchema"]["type"] == "object"


def test_a_note_is_searched_and_fetched_as_data_and_as_the_same_json(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "openai-mcp")
        found = ask(server, "tools/call", name="search", arguments={"query": "When do I water tomatoes?"})
        result = {"id": "Garden/Tomatoes.md", "title": "Tomatoes", "url": ""}
        assert found["structuredContent"] == {"results": [result]}
        fetched = ask(server, "tools/call", name="fetch", arguments={"id": result["id"]})
        data = fetched["structuredContent"]
        assert {**data, "metadata": None} == {**result, "text": (notes / result["id"]).read_text(), "metadata": None}
        assert [*data["metadata"]] == ["modified"]
        for answer in (found, fetched):
            assert [json.loads(block["text"]) for block in answer["content"]] == [answer["structuredContent"]]


def test_a_long_note_is_cut_and_says_so_and_nothing_is_an_empty_list(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "openai-mcp")
        data = ask(server, "tools/call", name="fetch", arguments={"id": "Long.md"})["structuredContent"]
        assert data["metadata"]["cut"] == f"lines 1 to {data['text'].count(chr(10))} of 20000"
        none = ask(server, "tools/call", name="search", arguments={"query": "zzzqqq"})
        assert none["structuredContent"] == {"results": []}
        missing = ask(server, "tools/call", name="fetch", arguments={"id": "Nothing.md"})
        assert missing["isError"] is True
        assert "Nothing.md" in missing["content"][0]["text"]


def test_more_tools_neither_names_nor_runs_them(notes: Path) -> None:
    with Server(notes) as server:
        as_client(server, "claude-ai")
        for arguments in ({}, {"tool": "search", "arguments": {"query": "tomatoes"}}):
            text = ask(server, "tools/call", name="more_tools", arguments=arguments)["content"][0]["text"]
            assert "\nsearch(" not in text
            assert "fetch(" not in text
