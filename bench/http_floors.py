"""The smallest HTTP servers in Python: one answer to everything, no checks. Two of them, by name.

``asgi``: a callable on uvicorn, with its fastest loop and parser. ``bare``: the parser on the loop, without uvicorn.
The difference to ours is the cost of our own work; their own cost is that of the system and the client.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sys
from collections.abc import Callable
from typing import Any

import httptools
import uvicorn

_BODY = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hello"}],"structuredContent":{"text":"hello"}}}'
_HEADERS = [(b"content-type", b"application/json"), (b"content-length", str(len(_BODY)).encode())]
_ANSWER = b"HTTP/1.1 200 OK\r\n" + b"".join(b"%s: %s\r\n" % header for header in _HEADERS) + b"\r\n" + _BODY


async def answer(_scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Answer any request after its body has arrived."""
    json.loads((await receive())["body"])
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": _BODY})


class Bare(asyncio.Protocol):
    """One connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._parser = httptools.HttpRequestParser(self)
        self._body = b""

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_body(self, body: bytes) -> None:
        """Keep it."""
        self._body += body

    def on_message_complete(self) -> None:
        """Answer."""
        json.loads(self._body)
        self._body = b""
        self._transport.write(_ANSWER)


def main() -> None:
    """Serve as the first argument says."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    if sys.argv[1] == "asgi":
        uvicorn.Server(uvicorn.Config(answer, log_level="critical", access_log=False, lifespan="off")).run([listener])
        return
    loop_factory: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with contextlib.suppress(ImportError):  # not on Windows
        from uvloop import new_event_loop as loop_factory  # noqa: PLC0415

    async def serve() -> None:
        server = await asyncio.get_running_loop().create_server(Bare, sock=listener)
        await server.serve_forever()

    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(serve())


if __name__ == "__main__":
    main()
