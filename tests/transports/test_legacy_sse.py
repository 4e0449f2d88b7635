"""MCP as 2024-11-05 had it over HTTP: the official SDK's client for it, and what no well-meaning client does."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.sse import sse_client
from mcp_types import TextContent

from support.asgi import Http, Loop, Response
from support.asking import CAN_ALL, AskingStage
from support.serving import Serving
from support.toolsets import PATIENCE
from support.vaults import open_vault, write_vault
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.server.http import legacy_sessions
from vaultwire.server.subscriptions import LIST_CHANGES, RESOURCE_UPDATES, Subscriptions
from vaultwire.server.workers import Workers
from vaultwire.transports import legacy_sse
from vaultwire.transports.legacy_sse import LegacySse
from vaultwire.trust.keys import Keys
from vaultwire.trust.policy import Policy


class Door:
    """The pair of doors over the asking stage."""

    def __init__(self, loop: Loop, handlers: Handlers, app: LegacySse) -> None:
        self.handlers = handlers
        self.app = app
        self._streams = Http(loop, app.listen)
        self._posts = Http(loop, app.post)

    def get(self, **scope: Any) -> Response:
        return self._streams.send("GET", None, path="/sse", **scope)

    def post(self, id_: str, message: Any, **scope: Any) -> Response:
        query = f"sessionId={id_}".encode()
        return self._posts.send("POST", None, message, path="/messages", query_string=query, **scope)

    def open(self, revision: str = "2024-11-05", **scope: Any) -> Listening:
        return Listening(self, self.get(**scope), revision, scope)


class Listening:
    """One client: its stream and its session."""

    def __init__(self, door: Door, stream: Response, revision: str, scope: dict[str, Any]) -> None:
        self.door = door
        self.stream = stream
        self.scope = scope
        event = stream.event()
        assert event is not None
        assert event["event"] == "endpoint"
        path, _, self.id = event["data"].partition("?sessionId=")
        assert path == "/messages"
        params = {"protocolVersion": revision, "capabilities": CAN_ALL, "clientInfo": {"name": "old", "version": "0"}}
        assert self.request("initialize", params)["result"]["protocolVersion"] == revision
        assert self.post("notifications/initialized", id_=None).status == 202

    def post(self, method: str, params: Any = None, id_: Any = 1) -> Response:
        message = {"jsonrpc": "2.0", "method": method, "params": params or {}}
        return self.door.post(self.id, message if id_ is None else {**message, "id": id_}, **self.scope)

    def request(self, method: str, params: Any = None, id_: Any = 1) -> Any:
        assert self.post(method, params, id_).status == 202
        return self.stream.message()

    def call(self, tool: str, id_: Any = 1, **arguments: Any) -> Response:
        return self.post("tools/call", {"name": tool, "arguments": arguments}, id_)


@pytest.fixture
def door(stage: AskingStage, tmp_path: Path) -> Iterator[Door]:
    subscriptions = Subscriptions([*LIST_CHANGES, RESOURCE_UPDATES])
    by_class = {"file": PATIENCE, "search": PATIENCE}
    handlers = Handlers(stage.toolset(), lambda: open_vault(tmp_path), Policy(), by_class, subscriptions=subscriptions)
    identity = Identity("test", "Test", "1", {"tools": {}, "logging": {}}, "Be kind.")
    app = LegacySse(
        Workers(handlers), lambda revision: Session(identity, handlers.methods, revision=revision), "vaultwire.key"
    )
    with Loop() as loop:
        yield Door(loop, handlers, app)


def text_of(answer: Any) -> str:
    text: str = answer["result"]["content"][0]["text"]
    return text


# ---------------------------------------------------------------------- the official client


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nhello\n")


def test_the_official_client_lists_and_calls(vault: Path, tmp_path: Path) -> None:
    key = Keys(str(tmp_path / "keys")).issue("old")
    with Serving(vault, "--legacy-sse", "--require-key", VAULTWIRE_STATE=str(tmp_path)) as server:

        async def converse() -> None:
            transport = sse_client(f"{server.url}/sse", headers={"Authorization": f"Bearer {key}"})
            async with Client(transport, mode="legacy", read_timeout_seconds=30) as client:
                assert "read_notes" in [tool.name for tool in (await client.list_tools()).tools]
                for _ in range(20):
                    result = await client.call_tool("read_note", {"path": "Note"})
                    assert isinstance(result.content[0], TextContent)
                    assert result.content[0].text == "hello\n"

        anyio.run(converse)
        assert server.request("GET", "/sse").status == 401
        assert server.end(signal.SIGTERM)[0] == 0


def test_it_is_there_only_when_asked_for(vault: Path) -> None:
    with Serving(vault) as server:
        assert server.request("GET", "/sse").status == 404
        assert server.request("POST", "/messages?sessionId=x").status == 404


def test_the_guard_stands_before_it_and_an_open_stream_does_not_hold_up_the_end(vault: Path) -> None:
    with Serving(vault, "--legacy-sse") as server, server.connect() as connection:
        assert server.request("GET", "/sse", host="evil.example").status == 421
        assert server.request("GET", "/sse", origin="https://evil.example").status == 403
        assert server.request("POST", "/messages?sessionId=x", b"{}", origin="https://evil.example").status == 403
        assert server.request("POST", "/messages", b" " * (16 * 1024 * 1024 + 1)).status == 413
        connection.sendall(b"GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert server.end(signal.SIGTERM) == (0, "", "")


# ---------------------------------------------------------------------- the conversation


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-11-25"])
def test_answers_come_on_the_stream(door: Door, revision: str) -> None:
    client = door.open(revision)
    assert client.call("echo", "a", text="hi").status == 202
    answer = client.stream.message()
    assert (answer["id"], text_of(answer)) == ("a", "hi")
    assert client.request("ping", id_=7) == {"jsonrpc": "2.0", "id": 7, "result": {}}
    assert client.request("nonsense")["error"]["code"] == -32601


def test_a_tool_asks_on_the_stream_and_hears_the_answer_from_a_post(door: Door) -> None:
    client = door.open("2025-11-25")
    client.call("ask")
    question = client.stream.message()
    assert question["method"] == "roots/list"
    answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"roots": [{}]}}
    assert door.post(client.id, answer).status == 202
    assert text_of(client.stream.message()) == "1 roots"


def test_a_client_hears_of_changes_once_it_has_said_hello(door: Door) -> None:
    client = door.open()
    client.request("resources/subscribe", {"uri": "obsidian://a"})
    door.handlers.subscriptions.publish("toolsListChanged")
    assert client.stream.message()["method"] == "notifications/tools/list_changed"
    door.handlers.subscriptions.publish(RESOURCE_UPDATES, "obsidian://b")
    door.handlers.subscriptions.publish(RESOURCE_UPDATES, "obsidian://a")
    assert client.stream.message()["params"] == {"uri": "obsidian://a"}
    client.stream.leave()
    assert not door.handlers.subscriptions._listeners  # nothing else shows what is kept


def test_a_stream_on_which_nothing_happens_says_that_it_is_alive(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy_sse, "KEEP_ALIVE_SECONDS", 0.01)
    assert door.open().stream.event() == {"": "keep-alive"}


def test_calls_of_a_client_that_leaves_are_stopped(door: Door, stage: AskingStage) -> None:
    client = door.open()
    client.call("wait", gate="a")
    stage.gate("a").wait_for_arrival()
    client.stream.leave()
    assert stage.stopped.wait(PATIENCE)
    assert client.call("echo").status == 404


def test_a_question_to_a_client_that_leaves_is_given_up(door: Door) -> None:
    client = door.open("2025-11-25")
    client.call("ask")
    client.stream.message()
    client.stream.leave()
    other = door.open()
    assert text_of(other.request("tools/call", {"name": "echo", "arguments": {"text": "on"}})) == "on"


def test_a_session_is_its_callers_alone(door: Door) -> None:
    client = door.open(**{"vaultwire.key": "anna"})
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    assert door.post(client.id, ping).status == 404
    assert door.post(client.id, ping, **{"vaultwire.key": "ben"}).status == 404
    assert door.post(client.id, ping, **{"vaultwire.key": "anna"}).status == 202


@pytest.mark.parametrize("body", [b"", b"{", b"\xff", b"nonsense"])
def test_what_is_no_message_is_refused(door: Door, body: bytes) -> None:
    refused = door.post(door.open().id, body)
    assert refused.status == 400
    assert "error" in refused.json()


def test_other_methods_and_places_are_none(door: Door) -> None:
    assert [door._streams.send(method, path="/sse").status for method in ("POST", "DELETE")] == [405, 405]
    assert door._posts.send("GET", path="/messages").status == 405
    assert door._streams.send("GET", path="/sse/x").status == 404
    assert door._posts.send("POST", path="/messages/x").status == 404


def test_at_the_end_what_is_under_way_is_answered_first(door: Door, stage: AskingStage) -> None:
    client, idle = door.open(), door.open()
    client.call("wait", gate="a")
    stage.gate("a").wait_for_arrival()
    door.app.close()
    assert idle.stream.event() is None
    assert door.get().status == 503
    stage.gate("a").released.set()
    assert text_of(client.stream.message()) == "waited"
    assert client.stream.event() is None


# ---------------------------------------------------------------------- bounds


def test_there_are_so_many_sessions_and_no_more(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy_sessions, "MAX_SESSIONS", 2)
    first, _ = door.open(), door.open()
    assert door.get().status == 503
    first.stream.leave()
    assert door.open().stream.status == 200


def test_a_client_may_have_so_many_requests_under_way_and_no_more(
    door: Door, stage: AskingStage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(legacy_sessions, "MAX_IN_FLIGHT", 3)
    client = door.open()
    statuses = [client.call("wait", number, gate="a").status for number in range(5)]
    assert statuses == [202, 202, 202, 503, 503]
    stage.gate("a").released.set()
    assert sorted(client.stream.message()["id"] for _ in range(3)) == [0, 1, 2]
    assert client.call("echo").status == 202


def test_a_client_for_which_too_much_waits_is_let_go(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(legacy_sessions, "_MOST_WAITING_BYTES", 10_000)
    client = door.open()
    client.call("echo", text="x" * 9_000)
    assert len(text_of(client.stream.message())) == 9_000
    client.call("echo", text="x" * 11_000)
    assert client.stream.event() is None
    assert client.call("echo").status == 404


def test_no_session_id_whatever_leads_anywhere(door: Door) -> None:
    for query in (b"", b"sessionId=", b"sessionId", b"sessionId=%ff", b"session_id=x", b"\xff\xfe", b"&&&=;"):
        answer = door._posts.send("POST", None, {}, path="/messages", query_string=query)
        assert answer.status == 404
        assert json.loads(answer.body())["error"]["message"]
