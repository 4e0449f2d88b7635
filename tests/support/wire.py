"""A client that sends raw JSON-RPC to a real, spawned server, so that a test sees what an SDK would hide."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.forking import Command, loaded, start

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
STATELESS_REVISION = "2026-07-28"
REVISIONS = (*HANDSHAKE_REVISIONS, STATELESS_REVISION)

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"


def envelope(**meta: Any) -> dict[str, Any]:
    """Return the ``_meta`` of a 2026-07-28 request."""
    return {
        "io.modelcontextprotocol/protocolVersion": STATELESS_REVISION,
        "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "0"},
        **meta,
    }


class Server:
    """A spawned ``vaultwire stdio`` and the pipes to it. Use as a context manager."""

    def __init__(self, vault: Path | None, *options: str, command: Command | None = None, **environment: str) -> None:
        """Without a ``command`` of its own it is a process that need not load the program (``support.forking``)."""
        command = command or loaded("vaultwire", "stdio")
        arguments = [*(() if vault is None else ("--vault", str(vault))), *options]
        self.process = start(command, arguments, {"PYTHONUNBUFFERED": "", **environment})
        self._ids = itertools.count(1)
        self._revision: str | None = None
        self._capabilities: dict[str, Any] = {}
        self.opened: Any = None  # what the server said when a revision was opened
        self.notifications: list[dict[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()

    def send_line(self, line: bytes) -> None:
        """Send these bytes and a line end."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def send(self, message: Any) -> None:
        """Send one JSON value as a line."""
        self.send_line(json.dumps(message).encode())

    def receive(self) -> Any:
        """Return the server's next message; fail if it ends without one."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line.endswith(b"\n"), f"the server ended; its last words: {line!r}"
        return json.loads(line)

    def open(self, revision: str, capabilities: dict[str, Any] | None = None) -> Any:
        """Use this revision for all later requests, after its handshake if it has one; return the server's answer."""
        self._revision = revision
        self._capabilities = capabilities or {}
        if revision == STATELESS_REVISION:
            self.opened = self.request("server/discover")["result"]
            return self.opened
        params = {
            "protocolVersion": revision,
            "capabilities": self._capabilities,
            "clientInfo": {"name": "tests", "version": "0"},
        }
        self.opened = self.request("initialize", params)["result"]
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return self.opened

    def post(self, method: str, params: dict[str, Any] | None = None) -> int:
        """Send a request of the opened revision and return its id, without waiting."""
        params = dict(params or {})
        if self._revision == STATELESS_REVISION:
            params["_meta"] = {**envelope(**{CAPABILITIES: self._capabilities}), **params.get("_meta", {})}
        request_id = next(self._ids)
        self.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def request(self, method: str, params: dict[str, Any] | None = None) -> Any:
        """Send a request and return its answer; notifications that come before it are kept in ``notifications``."""
        request_id = self.post(method, params)
        while True:
            message = self.receive()
            if message.get("id") == request_id and "method" not in message:
                return message
            self.notifications.append(message)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Call a tool and return the result."""
        answer = self.request("tools/call", {"name": tool, "arguments": arguments})
        assert "result" in answer, answer
        return answer["result"]

    def said(self, method: str, params: dict[str, Any] | None = None) -> Iterator[tuple[int, Any]]:
        """Send a request; yield its id with each message that comes, the answer last."""
        id_ = self.post(method, params)
        while True:
            message = self.receive()
            yield id_, message
            if message.get("id") == id_ and "method" not in message:
                return

    def unasked(self) -> Iterator[Any]:
        """Yield what the server says unasked. Nothing else may be read from it meanwhile."""
        while True:
            yield self.receive()

    def respond(self, id_: Any, result: dict[str, Any]) -> None:
        """Answer a request of the server's."""
        self.send({"jsonrpc": "2.0", "id": id_, "result": result})

    def close(self) -> tuple[int, bytes, bytes]:
        """Close the input; return the exit code, the rest of stdout, and stderr."""
        output, errors = self.process.communicate(timeout=60)
        return self.process.wait(), output, errors
