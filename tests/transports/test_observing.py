"""What stderr says of a running server: with --log-json one JSON object a line, whatever happens."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Any

import pytest

from support.serving import PATIENCE, Serving, stage
from support.vaults import write_vault
from vaultwire.trust.keys import Keys

MCP = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
SIGNED_BY_NOBODY = ".".join(urlsafe_b64encode(part).decode().rstrip("=") for part in (b'{"alg":"RS256"}', b"{}", b"x"))
CRASH = b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "crash"}}'


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\nhello\n")


def lines_of(log: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in log.splitlines()]
    assert all(isinstance(line, dict) and line["time"] and line["event"] for line in lines)
    return lines


def test_a_tool_that_crashes_is_one_line_under_the_id_of_its_request(vault: Path) -> None:
    with stage(vault, "--log-json") as server:
        replies = [server.call("crash", {}), server.request("POST", "/mcp", CRASH, **MCP)]
        _, _, log = server.end(signal.SIGTERM)
    assert all(b"secret" not in reply.body for reply in replies)
    lines = lines_of(log)
    assert [line["event"] for line in lines] == ["crash", "request", "crash", "request"]
    for reply, crash, request in zip(replies, lines[::2], lines[1::2], strict=True):
        assert crash["id"] == request["id"] == reply.headers["x-request-id"]
        assert crash["what"] == "crash"
        assert "the secret reason" in crash["traceback"]


def test_calls_at_once_are_told_apart(vault: Path) -> None:
    crashes = b"[%s]" % b",".join(CRASH.replace(b'"id": 1', b'"id": %d' % number) for number in range(5))
    with stage(vault, "--log-json") as server:
        # On one connection, one behind the other: what goes on beside must not lend its id.
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        ids = []
        for method, path, body in (*[("POST", "/mcp", crashes)] * 3, ("GET", "/health", None)):
            connection.request(method, path, body)
            response = connection.getresponse()
            response.read()
            ids.append(response.headers["x-request-id"])
        connection.close()
        _, _, log = server.end(signal.SIGTERM)
    crashed = [line["id"] for line in lines_of(log) if line["event"] == "crash"]
    assert len(set(ids)) == 4
    assert crashed == [each for each in ids[:3] for _ in range(5)]


def test_without_json_a_crash_is_told_in_words_with_the_id(vault: Path) -> None:
    with stage(vault) as server:
        reply = server.call("crash", {})
        _, _, log = server.end(signal.SIGTERM)
    assert log.startswith(f"vaultwire: crash crashed (request {reply.headers['x-request-id']})\nTraceback ")


def test_what_others_write_is_json_too(vault: Path) -> None:
    with stage(vault, "--log-json") as server:
        assert server.call("complain", {}).json["success"] is True
        _, _, log = server.end(signal.SIGTERM)
    texts = [line["text"] for line in lines_of(log) if line["event"] == "message"]
    for told in (
        "half a line, and its end",
        "another \x1b line",
        "no end",
        "told by logging",
        "IndexError: pop from empty",
    ):
        assert any(told in text for text in texts), (told, texts)
    assert any("careful" in text for text in texts)


def test_a_server_that_cannot_start_says_so_as_json(vault: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        finished = subprocess.run(
            [sys.executable, "-m", "vaultwire", "serve", "--vault", str(vault), "--port", port, "--log-json"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    (line,) = lines_of(finished.stderr)
    assert finished.returncode == 2
    assert f"port {port} is in use" in line["text"]


def test_the_warning_of_a_server_in_the_open_is_json_too(vault: Path, tmp_path: Path) -> None:
    Keys(str(tmp_path / "keys")).issue("phone")
    with Serving(vault, "--host", "0.0.0.0", "--log-json", VAULTWIRE_STATE=str(tmp_path)) as server:
        _, _, log = server.end(signal.SIGTERM)
    assert "without TLS" in lines_of(log)[0]["text"]


def test_an_issuer_that_cannot_be_reached_is_json_too(vault: Path) -> None:
    issuer = "http://127.0.0.1:9"
    with Serving(vault, "--oauth-issuer", issuer, "--log-json") as server:
        # A token that is sound but for its signature is answered when it is clear that nobody can check that.
        reply = server.request("GET", "/mcp", authorization=f"Bearer {SIGNED_BY_NOBODY}")
        _, _, log = server.end(signal.SIGTERM)
    assert reply.status == 503
    assert any(issuer in line.get("text", "") for line in lines_of(log))
