"""The doors together in one process: MCP beside REST, behind one guard, over one vault."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.serving import PATIENCE, Serving, received
from support.vaults import write_vault

LIST = '{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}'
CALL = """{
  "jsonrpc": "2.0",
  "id": 2,
  "method": "tools/call",
  "params": {
    "name": "read_note",
    "arguments": {
      "path": "Notes/Example.md"
    }
  }
}"""
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}},
}
TAKES_BOTH = {"content_type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Notes/Example.md\nhello\n")


@pytest.fixture(scope="module")
def server(vault: Path) -> Iterator[Serving]:
    with Serving(vault, "--allow-origin", "https://app.example") as started:
        yield started


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
@pytest.mark.parametrize("message", [LIST, CALL])
def test_the_contracts_mcp_examples_work_as_they_are_printed(server: Serving, message: str) -> None:
    command = (
        f"curl -s -X POST http://127.0.0.1:3000/mcp \\\n  -H 'Content-Type: application/json' \\\n  -d '{message}'"
    )
    told = subprocess.run(
        command.replace(":3000", f":{server.port}"), shell=True, capture_output=True, timeout=PATIENCE, check=True
    )
    answer = json.loads(told.stdout)
    if message == LIST:
        assert "read_note" in [tool["name"] for tool in answer["result"]["tools"]]
    else:
        assert answer["result"]["content"][0]["text"] == "hello\n"


def test_both_doors_show_the_same_tools_and_the_same_vault(server: Serving) -> None:
    over_rest = server.request("GET", "/bridge/v1/tools").json["tools"]
    over_mcp = server.request("POST", "/mcp", LIST.encode(), **TAKES_BOTH).json["result"]["tools"]
    assert {tool["name"]: tool["description"] for tool in over_rest} == {
        tool["name"]: tool["description"] for tool in over_mcp
    }
    server.call("write_note", {"path": "Shared", "content": "from REST\n"})
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    reading = json.dumps({**call, "params": {"name": "read_note", "arguments": {"path": "Shared"}}}).encode()
    answer = server.request("POST", "/mcp", reading, **TAKES_BOTH)
    assert answer.json["result"]["content"][0]["text"] == "from REST\n"


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "https://app.example"}, 200),
    ],
)
def test_the_guard_stands_before_mcp_too(server: Serving, headers: dict[str, str], status: int) -> None:
    reply = server.request("POST", "/mcp", CALL.encode(), **TAKES_BOTH, **headers)
    assert reply.status == status
    assert (b"hello" in reply.body) is (status == 200)


def test_a_foreign_page_may_not_even_ask_over_mcp_and_an_allowed_one_sees_its_session(server: Serving) -> None:
    for origin, status in (("https://evil.example", 403), ("https://app.example", 204)):
        asked = server.request("OPTIONS", "/mcp", origin=origin, access_control_request_method="POST")
        assert asked.status == status
    opened = server.request("POST", "/mcp", json.dumps(HELLO).encode(), origin="https://app.example", **TAKES_BOTH)
    assert opened.headers["mcp-session-id"]
    assert opened.headers["access-control-allow-origin"] == "https://app.example"
    assert "Mcp-Session-Id" in opened.headers["access-control-expose-headers"]


def test_any_origin_for_rest_is_none_for_mcp(vault: Path) -> None:
    with Serving(vault, "--cors-any-origin") as server:
        reply = server.request("POST", "/mcp", CALL.encode(), **TAKES_BOTH, origin="https://evil.example")
    assert reply.status == 403


def test_an_open_stream_does_not_hold_up_the_end(vault: Path) -> None:
    with Serving(vault) as server, server.connect() as connection:
        opened = server.request("POST", "/mcp", json.dumps(HELLO).encode(), **TAKES_BOTH)
        session = opened.headers["mcp-session-id"]
        connection.sendall(
            f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\nMcp-Session-Id: {session}\r\n"
            "MCP-Protocol-Version: 2025-11-25\r\n\r\n".encode()
        )
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert server.end(signal.SIGTERM) == (0, "", "")
        received(connection)
