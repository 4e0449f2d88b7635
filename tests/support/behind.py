"""A server behind a relay that does what a test tells it: real HTTP on a real socket, also for what no correct server does."""

from __future__ import annotations

import json
import queue
import socket
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from support.forking import loaded
from support.serving import PATIENCE
from support.wire import Server

TOOLS = [
    {"name": "look", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}},
    {"name": "change", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": False}},
    {
        "name": "send",
        "inputSchema": {
            "type": "object",
            "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "urgent": {"type": "boolean"}},
        },
    },
]


class Asked:
    """One request as it came, and ways to answer it."""

    def __init__(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        self._handler = handler
        self.method = handler.command
        self.path = handler.path
        self.headers = {name.lower(): value for name, value in handler.headers.items()}
        self.message: Any = json.loads(body) if body else None

    @property
    def rpc(self) -> str:
        """The JSON-RPC method, or what stands for it: the HTTP method, ``batch``, ``answer``."""
        if self.message is None:
            return self.method
        if isinstance(self.message, list):
            return "batch"
        return str(self.message.get("method", "answer"))

    def reply(self, status: int, value: Any = None, *, indent: int | None = None, **headers: str) -> None:
        """Answer with JSON, or with nothing."""
        body = b"" if value is None else json.dumps(value, indent=indent).encode()
        self._handler.send_response(status)
        for name, text in {"content-type": "application/json", **headers}.items():
            self._handler.send_header(name.replace("_", "-"), text)
        self._handler.send_header("content-length", str(len(body)))
        self._handler.end_headers()
        self._handler.wfile.write(body)

    def result(self, result: Any, **headers: str) -> None:
        """Answer with a result."""
        self.reply(200, self.answer(result), indent=None, **headers)

    def answer(self, result: Any) -> Any:
        """Return the answer without sending it."""
        return {"jsonrpc": "2.0", "id": self.message["id"], "result": result}

    def begin_stream(self) -> None:
        """Begin to answer with events."""
        self._handler.send_response(200)
        self._handler.send_header("content-type", "text/event-stream")
        self._handler.send_header("transfer-encoding", "chunked")
        self._handler.end_headers()

    def write(self, text: str) -> None:
        """Write into the stream as it is."""
        data = text.encode()
        self._handler.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, message: Any, id_: str = "") -> None:
        """Send a message as an event."""
        self.write((f"id: {id_}\n" if id_ else "") + f"data: {json.dumps(message)}\n\n")

    def end_stream(self) -> None:
        """End the stream properly."""
        self._handler.wfile.write(b"0\r\n\r\n")

    def drop(self) -> None:
        """Close the connection without a message."""
        self._handler.connection.shutdown(socket.SHUT_RDWR)
        self._handler.close_connection = True

    def wait_for_hanging_up(self) -> bytes:
        """Return the next byte that the client sends; nothing if it closes the connection."""
        self._handler.connection.settimeout(PATIENCE)
        received: bytes = self._handler.connection.recv(1)
        return received


class Behind:
    """The server. ``on`` is what it does for each JSON-RPC method, or HTTP method where there is no body."""

    def __init__(self, port: int = 0, /, **on: Callable[[Asked], None]) -> None:
        """Listen at a port of this computer, 0 for any."""
        self.on: dict[str, Callable[[Asked], None]] = {
            "initialize": self.open_session,
            "tools/list": lambda asked: asked.result({"tools": TOOLS}),
            "GET": lambda asked: asked.reply(405, allow="POST"),
            "DELETE": lambda asked: asked.reply(204),
            "answer": lambda asked: asked.reply(202),
            "notifications/initialized": lambda asked: asked.reply(202),
            "notifications/cancelled": lambda asked: asked.reply(202),
        }
        self.on.update({name.replace("__", "/"): action for name, action in on.items()})
        self.capabilities: dict[str, Any] = {"tools": {}}
        self.sessions = 0
        self.asked: list[Asked] = []
        self._came: queue.Queue[Asked] = queue.Queue()
        behind = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self) -> None:
                length = int(self.headers.get("content-length", 0))
                asked = Asked(self, self.rfile.read(length))
                behind.asked.append(asked)
                behind._came.put(asked)
                behind.on.get(asked.rpc, behind.answer_nothing)(asked)

            do_POST = do_GET = do_DELETE = _serve  # noqa: N815 - the library's names

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *who: Any) -> None:
                if not isinstance(sys.exc_info()[1], OSError):  # the client hung up
                    super().handle_error(*who)

        self._server = Quiet(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(PATIENCE)

    def open_session(self, asked: Asked) -> None:
        """Answer ``initialize``."""
        self.sessions += 1
        version = asked.message["params"]["protocolVersion"]
        told = {
            "protocolVersion": version,
            "capabilities": self.capabilities,
            "serverInfo": {"name": "b", "version": "1"},
        }
        asked.result(told, mcp_session_id=f"session-{self.sessions}")

    def answer_nothing(self, asked: Asked) -> None:
        """Answer a request for which the test has no answer."""
        asked.reply(500, {"error": "Internal server error", "message": f"unforeseen: {asked.rpc}"})

    def wait_for(self, rpc: str) -> Asked:
        """Return the next request of this method."""
        while True:
            asked = self._came.get(timeout=PATIENCE)
            if asked.rpc == rpc:
                return asked

    def count(self, rpc: str) -> int:
        """Return how many such requests came."""
        return sum(asked.rpc == rpc for asked in self.asked)


class Relay(Server):
    """A spawned ``vaultwire connect`` and the pipes to it."""

    def __init__(self, url: str, *options: str, **environment: str) -> None:
        super().__init__(None, url, *options, command=loaded("vaultwire", "connect"), **environment)
