"""What goes before and behind every request: each is on record once, however it ends, and no client has more than its share."""

from __future__ import annotations

import http.client
import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.connection import Peer
from support.http_wire import HttpClient
from support.serving import PATIENCE, Serving
from support.serving import stage as serving_stage
from support.toolsets import Stage
from vaultwire.protocol.events import Identity
from vaultwire.protocol.revisions import LATEST_HANDSHAKE
from vaultwire.protocol.session import Session
from vaultwire.server.handlers import Handlers
from vaultwire.server.middleware import Middleware
from vaultwire.server.results import FrameSink
from vaultwire.server.workers import Workers
from vaultwire.trust.audit import Audit, ChainedLog, records
from vaultwire.trust.policy import Policy
from vaultwire.vault.vault import Vault


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def middleware(log: Path) -> Middleware:
    return Middleware(Audit(ChainedLog(str(log)), print, strict=True))


def ends(log: Path) -> list[tuple[str, str]]:
    """Return of every result which tool it was and how it ended."""
    found = [each for each in records(str(log)) if each["type"] == "response"]
    asked = [each for each in records(str(log)) if each["type"] == "request"]
    assert sorted(each["request_id"] for each in found) == sorted(each["request_id"] for each in asked)
    return [(each["tool_name"], each.get("error_code", each["result_status"])) for each in found]


def test_a_call_that_is_cancelled_has_its_end_on_record(
    stage: Stage, vault: Vault, middleware: Middleware, log: Path
) -> None:
    with Peer(stage, vault, middleware=middleware) as peer:
        waiting = peer.post_call("wait", gate="a")
        stage.gate("a").wait_for_arrival()
        peer.cancel(waiting)
        assert stage.stopped.wait(30)
        assert peer.call("echo")["isError"] is False
    assert ends(log) == [("wait", "cancelled"), ("echo", "success")]


def test_a_call_past_its_deadline_ends_once_whatever_its_work_does_later(
    stage: Stage, vault: Vault, middleware: Middleware, log: Path
) -> None:
    with Peer(stage, vault, file_seconds=0.05, middleware=middleware) as peer:
        peer.post_call("hang", gate="a")
        assert peer.receive()["result"]["_meta"]["errorCode"] == "TIMEOUT"
        stage.gate("a").released.set()
        peer.call("echo")
    assert ends(log) == [("hang", "TIMEOUT"), ("echo", "success")]


def test_a_call_whose_time_is_up_before_its_turn_is_on_record(
    stage: Stage, vault: Vault, middleware: Middleware, log: Path
) -> None:
    with Peer(stage, vault, file_seconds=0.05, middleware=middleware) as peer:
        peer.post_call("change", name="slow", gate="a")
        stage.gate("a").wait_for_arrival()
        peer.post_call("change_soon", name="never")
        assert peer.receive()["result"]["_meta"]["errorCode"] == "TIMEOUT"
        stage.gate("a").released.set()
        stage.wait_for_change("slow")
    assert sorted(ends(log)) == [("change", "success"), ("change_soon", "TIMEOUT")]
    assert stage.order == ["slow"]


def test_a_crash_is_on_record_as_what_the_client_is_told(
    stage: Stage, vault: Vault, middleware: Middleware, log: Path
) -> None:
    with Peer(stage, vault, middleware=middleware) as peer:
        assert peer.call("crash")["_meta"]["errorCode"] == "INTERNAL"
    assert ends(log) == [("crash", "INTERNAL")]
    assert "secret reason" not in log.read_text()


def test_changes_are_on_record_in_the_order_in_which_they_were_made(
    stage: Stage, vault: Vault, middleware: Middleware, log: Path
) -> None:
    with Peer(stage, vault, middleware=middleware) as peer:
        for number in range(20):
            peer.post_call("change", name=str(number))
        for _ in range(20):
            peer.receive()
    asked = [each["arguments"]["name"] for each in records(str(log)) if each["type"] == "request"]
    assert asked == stage.order == [str(number) for number in range(20)]


# ---------------------------------------------------------------------- two clients over HTTP


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving_stage(tmp_path) as server:
        yield server


def send(server: Serving, session: str, tool: str, arguments: dict[str, Any]) -> http.client.HTTPConnection:
    """Send a call and do not wait for its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    body = {"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    headers = {
        "content-type": "application/json",
        "accept": "application/json, text/event-stream",
        "mcp-protocol-version": "2025-06-18",
        "mcp-session-id": session,
    }
    connection.request("POST", "/mcp", json.dumps({**body, "id": id(connection)}).encode(), headers)
    return connection


def opened_by_the_server(pipes: list[Path], count: int) -> dict[Path, int]:
    """Wait until the server reads so many of the pipes; return those, open to write."""
    held: dict[Path, int] = {}
    until = time.monotonic() + PATIENCE
    while len(held) < count:
        assert time.monotonic() < until
        for pipe in pipes:
            try:
                if pipe not in held:
                    held[pipe] = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:  # nobody reads it
                continue
    return held


@pytest.mark.skipif(sys.platform == "win32", reason="pipes with names are POSIX")
def test_a_client_whose_calls_take_every_thread_it_may_does_not_make_another_wait(
    server: Serving, tmp_path: Path
) -> None:
    with HttpClient(server, in_session=True) as flood, HttpClient(server, in_session=True) as other:
        flood.open("2025-06-18")
        other.open("2025-06-18")
        pipes = [tmp_path / f"pipe {number}" for number in range(30)]
        for pipe in pipes:
            os.mkfifo(pipe)
        sent = [send(server, flood._session, "wait", {"fifo": str(pipe)}) for pipe in pipes]
        held = opened_by_the_server(pipes, 4)
        own = tmp_path / "own"
        os.mkfifo(own)
        done = threading.Thread(target=own.write_text, args=("of the other",))
        done.start()
        assert (
            other.call("wait", fifo=str(own))["content"][0]["text"] == "of the other"
        )  # and nothing of the flood ended
        done.join()
        for descriptor in held.values():
            os.close(descriptor)
        for pipe in pipes:
            if pipe not in held:
                pipe.write_text("")
        assert [connection.getresponse().status for connection in sent] == [200] * 30
        for connection in sent:
            connection.close()


class _FrameSink(FrameSink):
    """Where the answers of one client go."""

    can_ask = False

    def __init__(self) -> None:
        self.answers: list[Any] = []

    def send(self, frame: bytes) -> None:
        raise AssertionError(frame)

    def answer(self, frame: bytes, code: int | None) -> None:
        self.answers.append(json.loads(frame))


def test_a_client_alone_may_have_half_of_the_calls_under_way(stage: Stage, vault: Vault) -> None:
    handlers = Handlers(stage.toolset(), lambda: vault, Policy())
    workers = Workers(handlers, most_tasks=20)
    identity = Identity("test", "Test", "1", {"tools": {}}, "")

    def post(principal: str, count: int) -> list[Any]:
        """Have a client make so many calls that wait; return the answers that come at once."""
        session, sink = Session(identity, handlers.methods, revision=LATEST_HANDSHAKE), _FrameSink()
        session.peer.principal = principal
        for number in range(count):
            params = {"name": "hang", "arguments": {"gate": "a"}}
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            for event in session.receive_parsed(message):
                workers.act(event, session, sink)
        return [answer["result"]["_meta"]["errorCode"] for answer in sink.answers]

    assert post("flood", 15) == ["SERVER_BUSY"] * 5
    assert post("flood", 3) == ["SERVER_BUSY"] * 3  # in a session of its own, too
    assert post("other", 8) == []
    assert post("third", 4) == ["SERVER_BUSY"] * 2
    stage.gate("a").released.set()
    workers.wait_until_idle(30)
    assert post("flood", 1) == []
    workers.wait_until_idle(30)
