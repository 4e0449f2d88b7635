"""The conformance suite knows only HTTP: this program has it talk to our stdio door. ``python stdio_front.py PORT``; 0 is any.

It passes messages on and adds what belongs to HTTP alone: sessions, event streams, status codes, and the check of headers
against bodies, for all of which it has the real door's rules. Each session gets a server process of its own, as each
assistant has; requests without a session share one. What it cannot do is what stdio does not have: hanging up, coming
back, and headers that repeat arguments.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import secrets
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.server import MOST_BYTES, serve
from vaultwire.protocol import http
from vaultwire.protocol.http import HeaderMismatch, Headers
from vaultwire.protocol.revisions import HEADER_MISMATCH, Revision

SERVER = Path(__file__).parent / "server.py"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

Message = dict[str, Any]


class Child:
    """A server process at the other end of two pipes, and who waits for what it says."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._waiting: dict[Any, asyncio.Queue[Message]] = {}  # by id, the oldest request first
        self._ids_by_token: dict[Any, Any] = {}
        self.aside: asyncio.Queue[Message] = asyncio.Queue()
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def start(cls) -> Child:
        return cls(
            await asyncio.create_subprocess_exec(
                sys.executable,
                str(SERVER),
                "stdio",
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                limit=MOST_BYTES,
            )
        )

    def send(self, message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\n")

    async def ask(self, request: Message) -> AsyncGenerator[Message]:
        """Send a request; yield what is said on its behalf, its answer last. Its id must be free."""
        id_ = request["id"]
        heard = self._waiting[id_] = asyncio.Queue()
        params = request.get("params")
        token = params.get("_meta", {}).get("progressToken") if isinstance(params, dict) else None
        if token is not None:
            self._ids_by_token[token] = id_
        try:
            self.send(request)
            while True:
                message = await heard.get()
                yield message
                if "method" not in message:
                    return
        finally:
            del self._waiting[id_]
            self._ids_by_token.pop(token, None)

    async def _read(self) -> None:
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            message = json.loads(line)
            self._waiting.get(self._id_behind(message), self.aside).put_nowait(message)

    def _id_behind(self, message: Message) -> Any:
        """Return the id of the request on whose behalf a message comes. Where it does not say: of the latest."""
        if "method" not in message:
            return message.get("id")
        params = message.get("params", {})
        if "progressToken" in params:
            return self._ids_by_token.get(params["progressToken"])
        if SUBSCRIPTION in params.get("_meta", {}):
            return params["_meta"][SUBSCRIPTION]
        if "id" in message or message["method"] == "notifications/message":
            return next(reversed(self._waiting), None)
        return None

    async def end(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
        await self._reading


class Front:
    """The ASGI callable before the server processes."""

    def __init__(self) -> None:
        self._sessions: dict[bytes, Child] = {}
        self._shared: Child | None = None
        self._numbers = itertools.count(1)
        self._starting = asyncio.Lock()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        headers = Headers(scope["headers"])
        child = self._sessions.get(headers.get(http.SESSION) or b"")
        if scope["method"] == "POST":
            body = b""
            while (part := await receive())["type"] == "http.request":
                body += part["body"]
                if not part["more_body"]:
                    break
            await self._post(headers, body, child, receive, send)
        elif headers.get(http.SESSION) is None:
            await answer(send, 405)
        elif child is None:
            await answer(send, 404)
        elif scope["method"] == "DELETE":
            del self._sessions[headers.get(http.SESSION) or b""]
            await child.end()
            await answer(send, 204)
        else:
            await tell_aside(child, receive, send)

    async def _post(self, headers: Headers, body: bytes, child: Child | None, receive: Any, send: Any) -> None:
        try:
            message = json.loads(body)
        except ValueError:
            await answer(send, 400, error(None, -32700, "Parse error"))
            return
        revision = http.revision_of(message, headers)
        if revision.stateless:
            await self._post_stateless(message, headers, revision, receive, send)
        elif isinstance(message, dict) and message.get("method") == "initialize":
            child = await Child.start()
            session = secrets.token_urlsafe().encode()
            self._sessions[session] = child
            await pass_on(child.ask(message), revision, receive, send, (http.SESSION, session))
        elif child is None:
            known = headers.get(http.SESSION) is None
            await answer(send, 400 if known else 404, error(None, -32600, "No such session"))
        elif isinstance(message, dict) and "method" in message and "id" in message:
            await pass_on(child.ask(message), revision, receive, send)
        else:
            child.send(message)
            await answer(send, 202)

    async def _post_stateless(
        self, message: Any, headers: Headers, revision: Revision, receive: Any, send: Any
    ) -> None:
        if not isinstance(message, dict) or "method" not in message:
            await answer(send, 400, error(None, -32600, "Invalid Request"))
            return
        try:
            http.check_headers(message, headers)
        except HeaderMismatch as mismatch:
            await answer(send, 400, error(message.get("id"), HEADER_MISMATCH, str(mismatch)))
            return
        async with self._starting:
            child = self._shared = self._shared or await Child.start()
        if "id" not in message:
            child.send(message)
            await answer(send, 202)
            return
        # Several clients may have chosen the same id or token: on the way there each gets a number of ours.
        number = f"front-{next(self._numbers)}"
        theirs, token = message["id"], None
        asked = {**message, "id": number}
        params = message.get("params")
        if isinstance(params, dict) and "progressToken" in params.get("_meta", {}):
            token = params["_meta"]["progressToken"]
            asked["params"] = {**params, "_meta": {**params["_meta"], "progressToken": number}}

        def restored(said: Message) -> Message:
            if "method" not in said:
                return {**said, "id": theirs}
            told = dict(said["params"])
            if told.get("progressToken") == number:
                told["progressToken"] = token
            if told.get("_meta", {}).get(SUBSCRIPTION) == number:
                told["_meta"] = {**told["_meta"], SUBSCRIPTION: theirs}
            return {**said, "params": told}

        over = await pass_on(child.ask(asked), revision, receive, send, restored=restored)
        if not over:
            child.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": number}})

    async def end(self) -> None:
        for child in [*self._sessions.values(), *([self._shared] if self._shared else [])]:
            await child.end()


def error(id_: Any, code: int, message: str) -> Message:
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": code, "message": message}}


async def answer(send: Any, status: int, message: Message | None = None, *headers: tuple[bytes, bytes]) -> None:
    body = b"" if message is None else json.dumps(message).encode()
    shape = ((b"content-type", http.JSON_TYPE),) if body else ()
    length = ((b"content-length", str(len(body)).encode()),) if status != 204 else ()
    await send({"type": "http.response.start", "status": status, "headers": [*shape, *length, *headers]})
    await send({"type": "http.response.body", "body": body})


async def pass_on(
    said: AsyncGenerator[Message],
    revision: Revision,
    receive: Any,
    send: Any,
    *headers: tuple[bytes, bytes],
    restored: Callable[[Message], Message] = lambda message: message,
) -> bool:
    """Send what is said as it comes, as JSON if that is the answer alone; False if the client left before that."""
    leaving = asyncio.create_task(leave(receive))
    streams = False
    try:
        while True:
            coming = asyncio.ensure_future(anext(said))
            await asyncio.wait([coming, leaving], return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                return False
            message = restored(coming.result())
            if "method" not in message and not streams:
                code = message.get("error", {}).get("code")
                await answer(send, http.status_of(code, revision), message, *headers)
                return True
            if not streams:
                await begin_stream(send, *headers)
                streams = True
            await put(send, message)
            if "method" not in message:
                await send({"type": "http.response.body", "body": b""})
                return True
    finally:
        leaving.cancel()


async def tell_aside(child: Child, receive: Any, send: Any) -> None:
    """Send what no request is answered with, until the client leaves."""
    await begin_stream(send)
    await send({"type": "http.response.body", "body": http.KEEP_ALIVE, "more_body": True})

    async def tell() -> None:
        while True:
            await put(send, await child.aside.get())

    telling = asyncio.create_task(tell())
    await leave(receive)
    telling.cancel()


async def leave(receive: Any) -> None:
    """Wait until the client is gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def begin_stream(send: Any, *headers: tuple[bytes, bytes]) -> None:
    shape = (b"content-type", http.STREAM_TYPE)
    await send({"type": "http.response.start", "status": 200, "headers": [shape, *headers]})


async def put(send: Any, message: Message) -> None:
    event = http.to_event(json.dumps(message).encode())
    await send({"type": "http.response.body", "body": event, "more_body": True})


if __name__ == "__main__":
    front = Front()
    serve(front, front.end, int(sys.argv[1]) if sys.argv[1:] else 0)
