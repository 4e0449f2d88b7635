"""The network doors on another ASGI server: a real uvicorn, where the app is by itself or mounted below a path."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.serving import PATIENCE, TESTS, Reply, Serving
from support.vaults import write_vault
from support.wire import STATELESS_REVISION, envelope
from vaultwire.app import asgi
from vaultwire.config import ConfigError
from vaultwire.trust.keys import Keys

NO_KEY = {"require_key": False}
MCP = {"content_type": "application/json", "accept": "application/json, text/event-stream"}


def uvicorn(vault: Path, *options: str, **given: Any) -> Serving:
    command = [sys.executable, "-m", "support.uvicorn_serve", "--options", json.dumps(given)]
    return Serving(vault, *options, command=command, PYTHONPATH=str(TESTS))


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe text\n")


@pytest.fixture(scope="module", params=["", "/notes"])
def mount(request: pytest.FixtureRequest) -> str:
    """Where the app is mounted."""
    path: str = request.param
    return path


@pytest.fixture(scope="module")
def server(vault: Path, mount: str) -> Iterator[Serving]:
    with uvicorn(vault, "--mounted", mount, **NO_KEY, allow_host="notes.example") as started:
        yield started


def post(server: Serving, message: dict[str, Any], path: str = "/mcp", **headers: str) -> Reply:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **message}).encode()
    return server.request("POST", path, body, **MCP, **headers)


def read_note(path: str = "Note") -> dict[str, Any]:
    return {"method": "tools/call", "params": {"name": "read_note", "arguments": {"path": path}}}


def initialize(version: str) -> dict[str, Any]:
    client = {"name": "tests", "version": "0"}
    return {"method": "initialize", "params": {"protocolVersion": version, "capabilities": {}, "clientInfo": client}}


@pytest.mark.parametrize("version", ["2025-03-26", "2025-11-25"])
def test_a_session_is_opened_used_and_ended(server: Serving, mount: str, version: str) -> None:
    opened = post(server, initialize(version), f"{mount}/mcp")
    assert opened.json["result"]["protocolVersion"] == version
    session = {"mcp_session_id": opened.headers["mcp-session-id"], "mcp_protocol_version": version}
    assert "the text" in post(server, read_note(), f"{mount}/mcp", **session).json["result"]["content"][0]["text"]
    assert server.request("DELETE", f"{mount}/mcp", None, **session).status == 204
    assert post(server, read_note(), f"{mount}/mcp", **session).status == 404


def test_a_stateless_request_is_answered(server: Serving, mount: str) -> None:
    message = read_note()
    message["params"]["_meta"] = envelope()
    routing = {"mcp_protocol_version": STATELESS_REVISION, "mcp_method": "tools/call", "mcp_name": "read_note"}
    assert b"the text" in post(server, message, f"{mount}/mcp", **routing).body


def test_the_rest_api_answers_and_says_where_it_is(server: Serving, mount: str) -> None:
    root = f"{mount}/bridge/v1"
    assert server.request("GET", f"{root}/health").json["status"] == "ok"
    called = server.request("POST", f"{root}/tools/read_note/call", b'{"arguments": {"path": "Note"}}')
    assert called.json["success"] is True
    assert (
        server.request("POST", f"{root}/tools/no%2Ftool/call", b'{"arguments": {}}').json["error"] == "Tool not found"
    )
    assert server.request("GET", f"{root}/openapi.json").json["servers"] == [{"url": root}]
    assert server.request("GET", f"{mount}/nothing").status == 404


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "notes.example"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "192.0.2.7"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"padding": "x" * 20_000}, 431),
    ],
)
def test_the_guard_stands_before_every_door(server: Serving, mount: str, headers: dict[str, str], status: int) -> None:
    assert post(server, initialize("2025-11-25"), f"{mount}/mcp", **headers).status == status


def test_a_body_that_is_too_long_is_refused(server: Serving, mount: str) -> None:
    path = f"{mount}/bridge/v1/tools/read_note/call"
    assert server.request("POST", path, iter([b"x" * (600 * 1024)] * 2)).status == 413


def test_a_key_is_needed_unless_somebody_says_otherwise(
    vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path))
    with pytest.raises(ConfigError, match="a key is needed"):
        asgi(str(vault))
    key = Keys(str(tmp_path / "keys")).issue("phone")
    with uvicorn(vault) as server:
        assert server.request("GET", "/health").status == 200
        assert post(server, initialize("2025-11-25")).status == 401
        assert post(server, initialize("2025-11-25"), authorization="Bearer wrong").status == 401
        assert post(server, initialize("2025-11-25"), authorization=f"Bearer {key}").status == 200


def test_an_option_that_there_is_not_is_an_error(vault: Path) -> None:
    unknown: Any = {"port": 3000}
    with pytest.raises(TypeError, match="port"):
        asgi(str(vault), **unknown)


def test_one_event_loop_after_another_is_served(vault: Path) -> None:
    app = asgi(str(vault), require_key=False)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, **read_note()}).encode()
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def ask(*, is_first: bool) -> None:
        if is_first:
            app.open()
        headers = [(b"host", b"localhost"), (b"content-type", b"application/json"), (b"accept", b"application/json")]
        scope = {
            "type": "http",
            "method": "POST",
            "scheme": "http",
            "path": "/mcp",
            "query_string": b"",
            "headers": headers,
        }
        async with asyncio.timeout(PATIENCE):
            await app(scope, receive, send)

    try:
        for number in range(3):
            asyncio.run(ask(is_first=number == 0))
            assert b"the text" in sent.pop()["body"]
            assert sent.pop()["status"] == 200
    finally:
        app.close()


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGTERM and a pipe that looks like a file")
@pytest.mark.parametrize("lifespan", ["on", "off"])
def test_a_hanging_call_holds_up_nobody_and_the_end_waits_for_its_answer(tmp_path: Path, lifespan: str) -> None:
    hanging = tmp_path / "hanging"
    os.mkfifo(hanging)
    with uvicorn(tmp_path, "--stage", "--lifespan", lifespan) as server, ThreadPoolExecutor(1) as threads:
        stuck = threads.submit(server.call, "wait", {"fifo": str(hanging)})
        pipe = os.open(hanging, os.O_WRONLY)  # waits until the tool reads
        for _ in range(20):
            assert server.request("GET", "/health").status == 200
        server.process.send_signal(signal.SIGTERM)
        os.write(pipe, b"at last")
        os.close(pipe)
        assert stuck.result(PATIENCE).json["content"] == [{"type": "text", "text": "at last"}]
        assert server.process.wait(PATIENCE) in (0, -signal.SIGTERM)  # uvicorn ends by the signal it was sent


@pytest.mark.skipif(sys.platform == "win32", reason="needs SIGINT")
@pytest.mark.parametrize("lifespan", ["on", "off"])
def test_the_process_ends_with_or_without_lifespan_events(vault: Path, lifespan: str) -> None:
    with uvicorn(vault, "--lifespan", lifespan, **NO_KEY) as server:
        assert post(server, read_note()).status == 200
        code, output, _ = server.end(signal.SIGINT)
        assert (code in (0, 1, -signal.SIGINT, 130), output) == (True, "")
