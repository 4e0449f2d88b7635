"""A client that sends raw JSON-RPC over Streamable HTTP to a real server, with the methods of ``wire.Server``."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import signal
import socket
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from support.serving import PATIENCE, Serving
from support.wire import CAPABILITIES, STATELESS_REVISION, Server, envelope

# The server closes a connection that is idle for 75 seconds. A client of a whole run may be left alone for as long.
IDLE_SECONDS = 30.0

NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}


class HttpClient:
    """One client of a server, in a session or without one. Use as a context manager, which does not end the server."""

    def __init__(self, server: Serving, *, in_session: bool) -> None:
        self.server = server
        self.opened: Any = None
        self.notifications: list[dict[str, Any]] = []
        self.in_session = in_session
        self.extra: dict[str, str] = {}  # more headers for its requests
        self._revision = ""
        self._session = ""
        self._capabilities: dict[str, Any] = {}
        self._ids = itertools.count(1)
        self._connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
        self._used = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Closing alone would wait for a thread that reads an answer, until the server's next keep-alive.
        if self._connection.sock is not None:
            with contextlib.suppress(OSError):
                self._connection.sock.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def open(self, revision: str, capabilities: dict[str, Any] | None = None) -> Any:
        """Use this revision for all later requests; return the server's description of itself."""
        self._capabilities = capabilities or {}
        if revision == STATELESS_REVISION:
            self._revision = revision
            self.opened = self.request("server/discover")["result"]
            return self.opened
        info = {"name": "tests", "version": "0"}
        params = {"protocolVersion": revision, "capabilities": self._capabilities, "clientInfo": info}
        self.opened = self.request("initialize", params)["result"]
        self._revision = revision
        if self.in_session:
            self.notify("notifications/initialized")
        else:
            self._session = ""  # the server has opened one and will see that nobody uses it
        return self.opened

    def _message(self, method: str, params: dict[str, Any] | None) -> dict[str, Any]:
        params = dict(params or {})
        if self._revision == STATELESS_REVISION:
            params["_meta"] = {**envelope(**{CAPABILITIES: self._capabilities}), **params.get("_meta", {})}
        return {"jsonrpc": "2.0", "method": method, "params": params}

    def _headers(self, message: dict[str, Any]) -> dict[str, str]:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self.extra}
        if self._revision:
            headers["MCP-Protocol-Version"] = self._revision
        if self._session:
            headers["Mcp-Session-Id"] = self._session
        if self._revision == STATELESS_REVISION:
            headers["Mcp-Method"] = message["method"]
            name = message["params"].get(NAMED.get(message["method"], ""))
            if isinstance(name, str):
                headers["Mcp-Name"] = name
        return headers

    def notify(self, method: str, **params: Any) -> None:
        """Send a notification on its own connection, because another may be busy with a call."""
        self._post_aside(self._message(method, params))

    def unasked(self) -> Iterator[Any]:
        """Yield what the server says unasked, on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        headers = {"Accept": "text/event-stream", "Mcp-Session-Id": self._session}
        connection.request("GET", "/mcp", headers={**headers, "MCP-Protocol-Version": self._revision})
        with contextlib.closing(connection), connection.getresponse() as answer:
            for line in answer:
                if line.startswith(b"data: ") and line.strip() != b"data:":
                    yield json.loads(line.removeprefix(b"data: "))

    def respond(self, id_: Any, result: dict[str, Any]) -> None:
        """Answer a request of the server's."""
        self._post_aside({"jsonrpc": "2.0", "id": id_, "result": result})

    def _post_aside(self, message: dict[str, Any]) -> None:
        headers = {name.replace("-", "_"): value for name, value in self._headers(message).items()}
        assert self.server.request("POST", "/mcp", json.dumps(message).encode(), **headers).status == 202

    def said(self, method: str, params: dict[str, Any] | None = None) -> Iterator[tuple[int, Any]]:
        """Send a request; yield its id with each message for it. Stopping early closes the connection."""
        id_ = next(self._ids)
        message = {**self._message(method, params), "id": id_}
        if time.monotonic() > self._used + IDLE_SECONDS:
            self._connection.close()  # the request opens another
        self._connection.request("POST", "/mcp", json.dumps(message), self._headers(message))
        answer = self._connection.getresponse()
        if method == "initialize":
            self._session = answer.headers.get("Mcp-Session-Id", "")
        if answer.headers.get("Content-Type") == "application/json":
            message = json.loads(answer.read())
            self._used = time.monotonic()
            yield id_, message
            return
        try:
            for line in answer:
                if line.startswith(b"data: "):
                    yield id_, json.loads(line.removeprefix(b"data: "))
        finally:
            self._used = time.monotonic()
            if not answer.isclosed():
                answer.close()
                self._connection.close()

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send a request and return its answer; notifications that come before it are kept in ``notifications``."""
        for id_, message in self.said(method, params):
            if message.get("id") == id_ and "method" not in message:
                return message
            self.notifications.append(message)
        raise AssertionError(f"{method} was not answered")

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool and return the result."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answer, answer
        return answer["result"]

    def cancel(self, id_: int) -> None:
        """Say that a call of this session is no longer wanted."""
        self.notify("notifications/cancelled", requestId=id_)

    def close(self) -> tuple[int, bytes, bytes]:
        """End the server; return its exit code, the rest of stdout, and stderr."""
        self._connection.close()
        code, output, errors = self.server.end(signal.SIGTERM)
        return code, output.encode(), errors.encode()


Client = Server | HttpClient
"""A client, whichever door it came in by."""
