"""Two vaults behind the network doors: MCP with a handshake and without, and REST."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.serving import Reply, Serving
from support.vaults import write_vault
from support.wire import STATELESS_REVISION, envelope
from vaultwire.transports.rest import tools_hash

BOTH = {"content_type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    work = write_vault(tmp_path / "work", "=== Note.md\nat work\n")
    home = write_vault(tmp_path / "home", "=== Note.md\nat home\n")
    with Serving(Path(f"Work={work}"), "--vault", f"Home={home}") as started:
        yield started


class Handshaken:
    """A client of the handshake era."""

    def __init__(self, server: Serving) -> None:
        self._server = server
        self._headers = dict(BOTH)
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}}
        self.opened = self._post("initialize", params)
        self._headers["mcp_session_id"] = self.opened.headers["mcp-session-id"]
        self.told = self.opened.json["result"]

    def _post(self, method: str, params: dict[str, Any]) -> Reply:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        return self._server.request("POST", "/mcp", body.encode(), **self._headers)

    def request(self, method: str, params: dict[str, Any]) -> Any:
        return self._post(method, params).json


class Stateless:
    """A client that says all in each request."""

    def __init__(self, server: Serving) -> None:
        self._server = server
        self.told = self.request("server/discover", {})["result"]

    def request(self, method: str, params: dict[str, Any]) -> Any:
        headers = {**BOTH, "mcp_protocol_version": STATELESS_REVISION, "mcp_method": method}
        name = params.get("name", params.get("uri"))
        if name is not None:
            headers["mcp_name"] = name
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": envelope()}})
        return self._server.request("POST", "/mcp", body.encode(), **headers).json


@pytest.mark.parametrize("client_of", [Handshaken, Stateless])
def test_mcp_serves_both_vaults(server: Serving, client_of: type[Handshaken | Stateless]) -> None:
    client = client_of(server)
    assert "'Work', 'Home'" in client.told["instructions"]

    def read(**arguments: str) -> Any:
        return client.request("tools/call", {"name": "read_note", "arguments": {"path": "Note", **arguments}})["result"]

    for arguments, text in (({}, "at work\n"), ({"vault": "Home"}, "at home\n"), ({"vault": "Work"}, "at work\n")):
        assert read(**arguments)["content"][0]["text"] == text
    assert read(vault="Nowhere")["_meta"]["errorCode"] == "VAULT_NOT_FOUND"
    contents = client.request("resources/read", {"uri": "obsidian://vault/Home/Note.md"})["result"]["contents"]
    assert contents[0]["text"] == "at home\n"


def test_rest_serves_both_vaults(server: Serving) -> None:
    listed = server.request("GET", "/bridge/v1/tools").json
    assert all(tool["inputSchema"]["properties"]["vault"]["enum"] == ["Work", "Home"] for tool in listed["tools"])
    assert listed["hash"] == tools_hash(listed["tools"])
    document = server.request("GET", "/bridge/v1/openapi.json").json
    assert "'Home'" in str(document["paths"]["/tools/read_note/call"])
    assert server.call("read_note", {"path": "Note"}).json["content"][0]["text"] == "at work\n"
    assert server.call("read_note", {"path": "Note", "vault": "Home"}).json["content"][0]["text"] == "at home\n"
    refused = server.call("read_note", {"path": "Note", "vault": "Nowhere"})
    assert (refused.status, refused.json["success"]) == (200, False)
    assert "VAULT_NOT_FOUND" in refused.json["content"][0]["text"]
    assert "'Work', 'Home'" in refused.json["content"][0]["text"]


def test_what_one_session_wrote_in_a_vault_all_doors_find_there_and_nowhere_else(server: Serving) -> None:
    client = Handshaken(server)
    arguments = {"path": "New", "content": "elderberry", "vault": "Home"}
    assert not client.request("tools/call", {"name": "write_note", "arguments": arguments})["result"]["isError"]
    for vault, found in (("Home", "1 of 2"), ("Work", "0 of 1")):
        reply = server.call("search_notes", {"query": "elderberry", "vault": vault})
        assert reply.json["content"][0]["text"].startswith(found)


def test_a_server_of_two_vaults_ends_when_it_is_told_to(server: Serving) -> None:
    server.call("read_note", {"path": "Note", "vault": "Home"})
    assert server.end(signal.SIGTERM) == (0, "", "")
