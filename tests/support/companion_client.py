"""A client of the door for Gemini CLI and Qwen Code, in raw JSON-RPC: requests, and a stream it may listen to."""

from __future__ import annotations

import http.client
import itertools
import json
from types import TracebackType
from typing import Any, Self

PATIENCE = 20.0


class CompanionClient:
    """One client. It opens a session and listens unless told otherwise. Use as a context manager."""

    def __init__(self, port: int, token: str, *, revision: str = "2025-06-18", listens: bool = True) -> None:
        self.port = port
        self.headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        self.revision = revision
        self._listens = listens
        self._ids = itertools.count()
        self._stream: http.client.HTTPConnection | None = None
        self._lines: http.client.HTTPResponse | None = None
        self.last_event = ""

    def __enter__(self) -> Self:
        info = {"name": "streamable-http-client", "version": "0.61.0"}
        self.introduced = self.request(
            "initialize", {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": info}
        )
        self.headers["MCP-Protocol-Version"] = self.revision
        status, _, _ = self.send("POST", {"jsonrpc": "2.0", "method": "notifications/initialized"})
        assert status == 202
        if self._listens:
            self.listen()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.hang_up()

    def send(self, method: str, message: Any = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        """Send one HTTP request; return status, headers and body of the answer."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            body = None if message is None else json.dumps(message)
            connection.request(method, "/mcp", body, {"Content-Type": "application/json", **self.headers, **named})
            answer = connection.getresponse()
            got = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, got, answer.read()
        finally:
            connection.close()

    def ask(self, method: str, params: Any = None) -> Any:
        """Send a request and return its whole answer."""
        message = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params or {}}
        status, headers, body = self.send("POST", message)
        assert status == 200, body
        if method == "initialize":
            self.headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        answer = json.loads(body)
        assert answer["id"] == message["id"]
        return answer

    def request(self, method: str, params: Any = None) -> Any:
        """Send a request and return its result."""
        return self.ask(method, params)["result"]

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool and return the result."""
        return self.request("tools/call", {"name": tool, "arguments": arguments})

    def listen(self) -> None:
        """Start to listen, or continue after the last event."""
        self._stream = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        last = {"Last-Event-ID": self.last_event} if self.last_event else {}
        self._stream.request("GET", "/mcp", headers={**self.headers, "Accept": "text/event-stream", **last})
        self._lines = self._stream.getresponse()
        assert self._lines.status == 200

    def hang_up(self) -> None:
        """Stop listening without a message."""
        if self._lines is not None and self._stream is not None:
            self._lines.close()
            self._stream.close()
        self._lines = self._stream = None

    def hear(self) -> tuple[str, Any] | None:
        """Return method and parameters of the next notification; None at the end of the stream."""
        assert self._lines is not None
        for line in self._lines:
            assert not line.startswith(b":"), "nothing was told for so long that the stream was kept alive"
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                self.last_event = value
            if name == "data" and value:
                message = json.loads(value)
                assert "id" not in message
                return message["method"], message["params"]
        return None

    def context(self) -> list[dict[str, Any]]:
        """Return the files of the next context told."""
        told = self.hear()
        assert told is not None
        assert told[0] == "ide/contextUpdate"
        assert {name: list(inner) for name, inner in told[1].items()} == {"workspaceState": ["openFiles"]}
        files: list[dict[str, Any]] = told[1]["workspaceState"]["openFiles"]
        return files
