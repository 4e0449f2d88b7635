"""Several real servers for the same vaults: what tests ask them, and a client that uses any of them."""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from typing import Any, TypeAlias

from support.command_line import run_command
from support.serving import Reply, Serving

Start: TypeAlias = Callable[..., Serving]
OWNER, STAND_BY = "owner", "stand-by"


def role(server: Serving) -> str:
    answer: dict[str, str] = server.request("GET", "/ready").json
    return answer["role"] if answer["status"] == "ok" else ""


def wait_for(is_so: Callable[[], object]) -> None:
    """Ask until it is so; the test's own time limit ends what never is."""
    pause = threading.Event()
    while not is_so():
        pause.wait(0.05)


def issue(name: str, url: str) -> str:
    """Return a new key in a database."""
    done = run_command("keys", "issue", name, "--database", url)
    assert done.returncode == 0, done
    return done.stdout.split()[-1]


def write(server: Serving, name: str) -> Reply:
    return server.call("write_note", {"path": f"{name}.md", "content": f"by {name}"})


def text_of(reply: Reply) -> str:
    assert reply.status == 200, reply
    return "".join(part["text"] for part in reply.json["content"])


class Client:
    """An MCP client of the handshake era, whose every request may go to another server."""

    def __init__(self, server: Serving, key: str | None = None, **capabilities: Any) -> None:
        self._numbers = itertools.count(1)
        self._headers = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        if key is not None:
            self.use_key(key)
        about = {
            "protocolVersion": "2025-06-18",
            "capabilities": capabilities,
            "clientInfo": {"name": "t", "version": "1"},
        }
        answer = self.post(server, "initialize", about)
        self._headers |= {"mcp_session_id": answer.headers["mcp-session-id"], "mcp_protocol_version": "2025-06-18"}
        assert self.send(server, {"jsonrpc": "2.0", "method": "notifications/initialized"}).status == 202

    def use_key(self, key: str) -> None:
        self._headers["x_api_key"] = key

    def request(self, server: Serving, method: str, body: bytes | None = None) -> Reply:
        return server.request(method, "/mcp", body, **self._headers)

    def send(self, server: Serving, message: Any) -> Reply:
        return self.request(server, "POST", json.dumps(message).encode())

    def post(self, server: Serving, method: str, params: dict[str, Any]) -> Reply:
        return self.send(server, {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params})

    def listen(self, server: Serving, *headers: str) -> Generator[str]:
        """Yield the lines of the stream that a GET opens."""
        return self._lines(server, "GET", b"", headers)

    def stream(self, server: Serving, method: str, params: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """Yield the messages that answer a request as a stream."""
        body = {"jsonrpc": "2.0", "id": next(self._numbers), "method": method, "params": params}
        for line in self._lines(server, "POST", json.dumps(body).encode(), ()):
            if line.startswith("data: {"):
                yield json.loads(line.removeprefix("data: "))

    def _lines(self, server: Serving, method: str, body: bytes, headers: Sequence[str]) -> Generator[str]:
        lines = [f"{name.replace('_', '-')}: {value}" for name, value in self._headers.items()]
        head = "\r\n".join(
            [f"{method} /mcp HTTP/1.1", "Host: localhost", *lines, f"Content-Length: {len(body)}", *headers]
        )
        with server.connect() as connection:
            connection.sendall(head.encode() + b"\r\n\r\n" + body)
            with connection.makefile("r", encoding="utf-8") as stream:
                yield from stream
