"""Legacy SSE: MCP over HTTP of revision 2024-11-05, with a stream to listen to and an address to post to. Two ASGI apps.

Deprecated since 2025-03-26, and there only when asked for. Sessions are ``server.http.legacy_sessions``' matter.
"""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from vaultwire.protocol import http, jsonrpc
from vaultwire.server.http.legacy_sessions import LegacySessions
from vaultwire.transports import await_leaving, call_on_loop, read_body, send_whole
from vaultwire.vault.memory_budget import estimated_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.http.legacy_sessions import LegacySession
    from vaultwire.server.workers import Workers
    from vaultwire.transports import Receive, Scope, Send

# A stream without news sends a comment after so long: proxies give up after 30 or 60 seconds.
KEEP_ALIVE_SECONDS = 15.0


class LegacySse:
    """The two doors."""

    listening, posting = "/sse", "/messages"
    """Where they are."""

    def __init__(self, workers: Workers, make_session: Callable[[Revision | None], Session], key_name: str) -> None:
        """``key_name``: where the scope holds the principal of the key a request came with."""
        self._sessions = LegacySessions(workers, make_session)
        self._key_name = key_name

    def close(self) -> None:
        """End each stream as soon as no request of its session is in flight."""
        self._sessions.close()

    async def listen(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Open a session, tell the address for its messages, and send its frames until the client leaves."""
        if scope["method"] != "GET" or scope["path"] != self.listening:
            await _refuse(send, *_wrong_place(scope, self.listening, b"GET"))
            return
        loop = asyncio.get_running_loop()
        news = asyncio.Event()

        legacy = self._sessions.open(scope.get(self._key_name, ""), lambda: call_on_loop(loop, news.set))
        if legacy is None:
            await _refuse(send, 503, "There are too many sessions; try again later", (b"retry-after", b"10"))
            return

        async def hear_leaving() -> None:
            await await_leaving(receive)
            self._sessions.end(legacy)
            news.set()

        listener = loop.create_task(hear_leaving())
        try:
            await send({"type": "http.response.start", "status": 200, "headers": [*http.STREAM_HEADERS]})
            event = (
                f"event: endpoint\ndata: {scope.get('root_path', '')}{self.posting}?sessionId={legacy.id}\n\n".encode(
                    "ascii"
                )
            )
            while event:
                await send({"type": "http.response.body", "body": event, "more_body": True})
                event = await self._next(legacy, news)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        finally:
            self._sessions.end(legacy)
            listener.cancel()

    async def _next(self, legacy: LegacySession, news: asyncio.Event) -> bytes:
        """Wait for the next events and return them; nothing at the end."""
        loop = asyncio.get_running_loop()
        until = loop.time() + KEEP_ALIVE_SECONDS
        while not legacy.is_over:
            news.clear()
            frames = legacy.take()
            if frames:
                return b"".join(map(http.to_event, frames))
            if self._sessions.is_closing and not legacy.session.in_flight:
                break
            if loop.time() >= until:
                return http.KEEP_ALIVE
            # Not wait_for: up to Python 3.11 it forgets a cancellation that comes together with the news.
            timer = loop.call_at(until, news.set)
            try:
                await news.wait()
            finally:
                timer.cancel()
        return b""

    async def post(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take one message. Its answer goes out on the stream of its session."""
        if scope["method"] != "POST" or scope["path"] != self.posting:
            await _refuse(send, *_wrong_place(scope, self.posting, b"POST"))
            return
        body = await read_body(receive)
        if body is None:
            return
        id_ = parse_qs(scope["query_string"].decode("latin-1")).get("sessionId", [""])[0]
        legacy = self._sessions.find(id_, scope.get(self._key_name, ""))
        if legacy is None:
            await _refuse(
                send, 404, f"There is no such session: it ended with its stream, or never was; see {self.listening}"
            )
            return
        try:
            parsed = jsonrpc.parse_json(body)
        except jsonrpc.MessageError as error:
            await _refuse(send, 400, error.message)
            return
        if self._sessions.post(legacy, parsed, estimated_bytes(body)):
            await send_whole(send, 202, [], b"Accepted")
        else:
            await _refuse(send, 503, "Too many requests are worked on; wait for answers", (b"retry-after", b"1"))


def _wrong_place(scope: Scope, path: str, method: bytes) -> tuple[int, str] | tuple[int, str, tuple[bytes, bytes]]:
    if scope["path"] != path:
        return 404, f"There is nothing at {scope['path'][:200]}"
    return 405, f"Use {method.decode()}", (b"allow", method)


async def _refuse(send: Send, status: int, message: str, *headers: tuple[bytes, bytes]) -> None:
    body = jsonrpc.to_frame(jsonrpc.error_message(None, jsonrpc.INVALID_REQUEST, message))
    await send_whole(send, status, [(b"content-type", http.JSON_TYPE), *headers], body)
