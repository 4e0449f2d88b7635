"""A client of an ASGI callable, without a socket: an event loop on a thread of its own, and requests one by one."""

from __future__ import annotations

import asyncio
import functools
import json
import queue
import threading
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self

from support.toolsets import PATIENCE


class Loop:
    """The event loop the callable runs on."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        async def end() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for task in others:
                task.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(PATIENCE)
        self._loop.close()

    def run(self, coroutine: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(PATIENCE)

    def start(self, coroutine: Coroutine[Any, Any, None]) -> Future[None]:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)

    def call(self, function: Any, *arguments: Any) -> None:
        self._loop.call_soon_threadsafe(function, *arguments)


class Response:
    """The answer to one request, while it arrives."""

    def __init__(
        self, loop: Loop, app: Any, method: str, headers: Mapping[str, str], body: bytes, scope: Mapping[str, Any]
    ) -> None:
        self._loop = loop
        self._messages: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._body = [
            {"type": "http.request", "body": body[:7], "more_body": True},
            {"type": "http.request", "body": body[7:], "more_body": False},
        ]
        self._left = asyncio.Event()
        self._rest = b""
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        self._running = loop.start(
            self._run(app, {"type": "http", "method": method, "path": "/mcp", "headers": raw, **scope})
        )

    @functools.cached_property
    def _start(self) -> dict[str, Any]:
        start = self._next()
        assert start is not None, "no answer began"
        return start

    @property
    def status(self) -> int:
        status: int = self._start["status"]
        return status

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self._start["headers"]}

    async def _run(self, app: Any, scope: dict[str, Any]) -> None:
        try:
            await app(scope, self._receive, self._send)
        finally:
            self._messages.put(None)

    async def _receive(self) -> dict[str, Any]:
        if self._body:
            return self._body.pop(0)
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self._messages.put(message)

    def _next(self) -> dict[str, Any] | None:
        message = self._messages.get(timeout=PATIENCE)
        if message is None:
            self._running.result(PATIENCE)  # raises what the callable raised
        return message

    def leave(self) -> None:
        """Close the connection, and wait until the callable has noticed."""
        self._loop.call(self._left.set)
        self._running.result(PATIENCE)

    def body(self) -> bytes:
        """Return the rest of the body."""
        assert self._start
        pieces = []
        while (message := self._next()) is not None:
            pieces.append(message["body"])
        return b"".join(pieces)

    def json(self) -> Any:
        assert self.headers["content-type"] == "application/json"
        return json.loads(self.body())

    def event(self) -> dict[str, str] | None:
        """Return the fields of the next event, None at the end of the stream."""
        assert self.headers["content-type"] == "text/event-stream"
        while b"\n\n" not in self._rest:
            message = self._next()
            if message is None:
                return None
            self._rest += message["body"]
        text, _, self._rest = self._rest.partition(b"\n\n")
        fields = {}
        for line in text.decode().split("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        return fields

    def message(self) -> Any:
        """Return the next message on the stream."""
        while (event := self.event()) is not None:
            if event.get("data"):
                return json.loads(event["data"])
        raise AssertionError("the stream ended")


class Http:
    """Requests to one callable."""

    def __init__(self, loop: Loop, app: Any) -> None:
        self._loop = loop
        self._app = app

    def send(self, method: str, headers: Mapping[str, str] | None = None, body: Any = None, **scope: Any) -> Response:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        return Response(self._loop, self._app, method, headers or {}, raw, scope)
