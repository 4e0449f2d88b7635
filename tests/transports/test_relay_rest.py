"""``vaultwire connect`` where there is no MCP: the REST API, version 1, behind a session of the relay's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.behind import Asked, Behind, Relay
from support.serving import Serving
from support.vaults import write_vault
from support.wire import HANDSHAKE_REVISIONS, REVISIONS, STATELESS_REVISION

LATEST = HANDSHAKE_REVISIONS[-1]
TOOLS = [{"name": "folder/look", "description": "Look", "inputSchema": {"type": "object", "properties": {}}}]


class OldBehind(Behind):
    """A server with a REST API whose ``/mcp`` answers as ``mcp`` says."""

    def __init__(self, mcp: Any) -> None:
        super().__init__(GET=self._get)
        self.tools: list[Any] = TOOLS
        self.hash = "1"
        for method in ("initialize", "server/discover", "tools/list"):
            self.on[method] = mcp
        self.on["answer"] = self._be_called  # a call is the one POST that is no JSON-RPC
        self.called: Any = lambda asked: asked.reply(
            200, {"success": True, "content": [{"type": "text", "text": "ok"}]}
        )

    def _be_called(self, asked: Asked) -> None:
        self.called(asked)

    def _get(self, asked: Asked) -> None:
        if asked.path == "/bridge/v1/tools":
            asked.reply(200, {"tools": self.tools, "hash": self.hash})
        else:
            asked.reply(404, {"error": "Not found", "message": "nothing there"})

    @property
    def calls(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.path.startswith("/bridge/v1/tools/")]


def status(code: int) -> Any:
    return lambda asked: asked.reply(code, {"error": "Not found", "message": "nothing there"})


def no_method(asked: Asked) -> None:
    asked.reply(
        200, {"jsonrpc": "2.0", "id": asked.message["id"], "error": {"code": -32601, "message": "Method not found"}}
    )


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nhello\n")
    with Serving(vault) as server:
        yield server


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_client_of_any_revision_can_list_and_call(served: Serving, revision: str) -> None:
    with Relay(served.url, "--transport", "v1") as relay:
        relay.open(revision)
        listed = relay.request("tools/list")["result"]
        assert "read_note" in [tool["name"] for tool in listed["tools"]]
        assert ("ttlMs" in listed) is (revision == STATELESS_REVISION)
        result = relay.request("tools/call", {"name": "read_note", "arguments": {"path": "Note"}})["result"]
        assert (result["content"][0]["text"], result["isError"]) == ("hello\n", False)
        result = relay.request("tools/call", {"name": "read_note", "arguments": {"path": "No"}})["result"]
        assert result["isError"] is True
        assert result["content"][0]["text"].startswith("Error: ")
        unknown = relay.request("tools/call", {"name": "no_tool"})
        assert unknown["error"]["code"] == -32602
        assert relay.close() == (0, b"", b"")


@pytest.mark.parametrize("mcp", [status(404), status(405), status(501), no_method])
@pytest.mark.parametrize("options", [(), ("--transport", "auto")])
def test_where_there_is_no_mcp_the_rest_api_is_used(mcp: Any, options: tuple[str, ...]) -> None:
    with OldBehind(mcp) as behind, Relay(behind.url, *options, VAULTWIRE_KEY="k") as relay:
        assert relay.open(LATEST)["capabilities"]["tools"] == {"listChanged": True}
        assert [tool["name"] for tool in relay.request("tools/list")["result"]["tools"]] == ["folder/look"]
        called = relay.request("tools/call", {"name": "folder/look", "arguments": {"a": [1]}})
        assert called["result"] == {"content": [{"type": "text", "text": "ok"}], "isError": False}
        (asked,) = behind.calls
        assert asked.path == "/bridge/v1/tools/folder%2Flook/call"
        assert asked.message == {"arguments": {"a": [1]}}
        assert asked.headers["authorization"] == "Bearer k"
        assert relay.close()[0] == 0
        assert behind.count("initialize") == 1


def test_a_stateless_client_is_served_there_too() -> None:
    with OldBehind(status(404)) as behind, Relay(behind.url) as relay:
        assert relay.open(STATELESS_REVISION)["supportedVersions"] == [STATELESS_REVISION]
        assert relay.request("tools/call", {"name": "folder/look"})["result"]["resultType"] == "complete"


@pytest.mark.parametrize("mcp", [status(404), no_method])
def test_who_wants_mcp_only_is_told_that_there_is_none(mcp: Any) -> None:
    with OldBehind(mcp) as behind, Relay(behind.url, "--transport", "mcp") as relay:
        relay.post("initialize", {"protocolVersion": LATEST, "capabilities": {}})
        assert "error" in relay.receive()
        assert behind.count("GET") == 0


@pytest.mark.parametrize("code", [400, 401, 403, 500])
def test_no_other_refusal_is_taken_for_a_missing_mcp(code: int) -> None:
    with OldBehind(status(code)) as behind, Relay(behind.url) as relay:
        if code == 500:  # it may be starting
            relay.post("initialize", {"protocolVersion": LATEST, "capabilities": {}})
            behind.wait_for("initialize")
            behind.on["initialize"] = behind.open_session
            assert "result" in relay.receive()
        else:
            relay.post("initialize", {"protocolVersion": LATEST, "capabilities": {}})
            assert str(code) in relay.receive()["error"]["message"]
        assert behind.count("GET") == 0


@pytest.mark.parametrize("mcp", [status(405), no_method])
def test_a_call_that_mcp_does_not_take_any_more_is_made_over_the_rest_api(mcp: Any) -> None:
    with OldBehind(no_method) as behind, Relay(behind.url) as relay:
        behind.on["initialize"] = behind.open_session
        behind.on["tools/call"] = mcp
        relay.open(LATEST)
        called = relay.request("tools/call", {"name": "folder/look"})
        assert called["result"]["content"] == [{"type": "text", "text": "ok"}]
        assert len(behind.calls) == 1
        assert len(relay.request("tools/list")["result"]["tools"]) == 1


def test_a_call_that_may_have_run_is_not_sent_again() -> None:
    with OldBehind(status(404)) as behind, Relay(behind.url) as relay:
        relay.open(LATEST)
        behind.called = lambda asked: asked.drop()
        result = relay.request("tools/call", {"name": "folder/look"})["result"]
        assert result["isError"] is True
        assert "It may have run" in result["content"][0]["text"]
        assert result["_meta"]["errorCode"] == "CONNECTION_LOST"
        assert len(behind.calls) == 1


def test_the_list_is_waited_for_while_the_server_starts_but_not_when_it_refuses() -> None:
    with OldBehind(status(404)) as behind, Relay(behind.url, "--transport", "v1") as relay:
        behind.on["GET"] = status(503)
        relay.open(LATEST)
        relay.post("tools/list")
        behind.wait_for("GET")
        behind.on["GET"] = lambda asked: asked.reply(200, {"tools": [], "hash": ""})
        assert relay.receive()["result"] == {"tools": []}
        behind.on["GET"] = status(403)
        assert "403" in relay.request("tools/list")["error"]["message"]


@pytest.mark.parametrize("revision", [LATEST, STATELESS_REVISION])
def test_a_changed_list_is_noticed_within_seconds_and_told_once(revision: str) -> None:
    with OldBehind(status(404)) as behind, Relay(behind.url) as relay:
        relay.open(revision)
        relay.request("tools/list")
        if revision == STATELESS_REVISION:
            relay.post("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
            assert relay.receive()["method"] == "notifications/subscriptions/acknowledged"
        behind.tools, behind.hash = [], "2"
        assert relay.receive()["method"] == "notifications/tools/list_changed"
        assert relay.request("tools/list")["result"]["tools"] == []
        assert relay.notifications == []


def test_calls_go_one_after_another_in_their_order(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\nhello\n")
    with Serving(vault) as server, Relay(server.url, "--transport", "v1") as relay:
        relay.open(LATEST)
        params = [{"name": "append_daily_note", "arguments": {"content": f"line {n}"}} for n in range(20)]
        ids = [relay.post("tools/call", each) for each in params]
        assert [relay.receive()["id"] for _ in ids] == ids
        (daily,) = [path for path in vault.glob("*.md") if path.name != "Note.md"]
        lines = [line for line in daily.read_text().splitlines() if line.startswith("line")]
        assert lines == [f"line {n}" for n in range(20)]
