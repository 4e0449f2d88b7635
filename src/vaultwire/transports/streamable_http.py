"""MCP over Streamable HTTP, as an ASGI app: bytes in and out, and clients that leave. Not sessions, not access control.

Most requests have one answer, sent as JSON. A stream begins when there is something to send before the answer, or when the
answer takes long. For sessions and messages see ``server.http.mcp_endpoint``.
"""

from __future__ import annotations

import asyncio
from typing import TypeVar

from vaultwire.protocol import http
from vaultwire.protocol.http import Headers
from vaultwire.server.mcp_endpoint import McpEndpoint, Reply, Stream
from vaultwire.transports import PASSED_ON, await_leaving, call_on_loop, read_body, send_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.mcp_endpoint import SharedSessions
    from vaultwire.server.workers import Workers
    from vaultwire.transports import Receive, Scope, Send

_Result = TypeVar("_Result")
# An answer that takes longer becomes a stream, and a stream without news sends a comment: proxies give up after 30 or 60
# seconds.
KEEP_ALIVE_SECONDS = 15.0
# Only then does the door listen whether the client leaves: most answers are sent by then.
_LISTEN_AFTER_SECONDS = 0.05
# When a client whose connection the server closed should come back.
_RETRY_MS = 1000


class StreamableHttp:
    """The door itself."""

    def __init__(
        self,
        workers: Workers,
        make_session: Callable[[Revision | None], Session],
        key_name: str,
        shared: SharedSessions | None = None,
    ) -> None:
        """``key_name``: where the scope holds the principal of the key a request came with. ``shared``: as for the endpoint."""
        self._endpoint = McpEndpoint(workers, make_session, shared)
        self._key_name = key_name

    def close(self) -> None:
        """End the streams that would never end, so that the server can end."""
        self._endpoint.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one HTTP request."""
        headers = Headers(scope["headers"])
        try:
            await self._serve(headers, scope, receive, send)
        except _SessionsAwayError:
            await _send_reply(send, Reply(503, b"", (b"retry-after", b"2")))

    async def _serve(self, headers: Headers, scope: Scope, receive: Receive, send: Send) -> None:
        principal: str = scope.get(self._key_name, "")
        await self._load(headers)
        match scope["method"]:
            case "POST":
                body = await read_body(receive)
                if body is None:
                    return
                answer = self._endpoint.post(headers, body, principal)
                keep = self._endpoint.to_keep(headers, answer)
                if keep is not None and headers.get(PASSED_ON) is None:  # else the server that passed it on has kept it
                    await _wait_for(keep)
                if isinstance(answer, Reply):
                    await _send_reply(send, answer)
                else:
                    await _Writer(answer, receive, send, self._endpoint).answer(headers)
            case "GET":
                found = self._endpoint.get(headers, principal)
                if isinstance(found, Reply):
                    await _send_reply(send, found)
                else:
                    stream, after = found
                    await _Writer(stream, receive, send, self._endpoint).resume(after)
            case "DELETE":
                reply = self._endpoint.delete(headers, principal)
                forget = self._endpoint.to_forget(headers)
                if forget is not None and reply.status == 204:  # noqa: PLR2004 - it has ended
                    await _wait_for(forget)
                await _send_reply(send, reply)
            case _:
                await _send_reply(send, Reply(405, b"", (b"allow", b"POST, GET, DELETE")))

    async def _load(self, headers: Headers) -> None:
        """Open the session that a request names, if another server has opened it."""
        load = self._endpoint.to_load(headers)
        kept = None if load is None else await _wait_for(load)
        if kept is not None and headers.session is not None:
            self._endpoint.reopen(headers.session, kept)


class _SessionsAwayError(Exception):
    """What keeps the sessions of several servers does not answer."""


async def _wait_for(call: Callable[[], _Result]) -> _Result:
    """Return what a call returns that waits, made on another thread."""
    try:
        return await asyncio.to_thread(call)
    except OSError as error:
        raise _SessionsAwayError from error


class _Writer:
    """Writes one stream to one response."""

    def __init__(self, stream: Stream, receive: Receive, send: Send, endpoint: McpEndpoint) -> None:
        self._stream = stream
        self._receive = receive
        self._send = send
        self._endpoint = endpoint
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Future[None] | None = None  # while it waits
        self._is_awake = False
        self._is_gone = False
        self._timer: asyncio.TimerHandle | None = None
        self._listener: asyncio.Task[None] | None = None
        self._consumer = 0

    async def answer(self, headers: Headers) -> None:
        """Send the answer to a POST: as JSON if it is a single frame, else as a stream."""
        stream = self._stream
        self._consumer = stream.attach(self._wake)
        try:
            if not (stream.done or stream.frames or stream.paused):
                await self._wait(KEEP_ALIVE_SECONDS if stream.takes_more else None)
            if self._is_gone:
                return
            if stream.done and len(stream.frames) <= 1 and (stream.code is not None or headers.takes_json):
                await _send_reply(self._send, _to_reply(stream))
            else:
                await self._stream_from(0)
        finally:
            self._end()

    async def resume(self, after: int) -> None:
        """Send the frames of a stream that come after the frame of this number."""
        self._consumer = self._stream.attach(self._wake)
        try:
            await self._stream_from(after)
        finally:
            self._end()

    async def _stream_from(self, after: int) -> None:
        stream = self._stream
        stream.begin()
        headers = [*http.STREAM_HEADERS, *_session_header(stream)]
        await self._send({"type": "http.response.start", "status": 200, "headers": headers})
        if stream.resumable and stream.revision.primed_streams:
            await self._send_event(http.to_first_event(f"{stream.number}-{after}", _RETRY_MS))
        while True:
            self._is_awake = False
            start, frames = stream.take(after)
            for number, frame in enumerate(frames, start):
                await self._send_event(http.to_event(frame, f"{stream.number}-{number}" if stream.resumable else None))
            stream.delivered = after = max(after, start + len(frames) - 1)
            if self._is_gone:
                return
            if stream.is_over(after) or stream.paused or stream.consumer != self._consumer:
                break
            if not await self._wait(KEEP_ALIVE_SECONDS):
                await self._send_event(http.KEEP_ALIVE)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_event(self, event: bytes) -> None:
        await self._send({"type": "http.response.body", "body": event, "more_body": True})

    # ------------------------------------------------------------------ waiting

    def _wake(self) -> None:
        """Have the writer look for news. From any thread, any number of times."""
        call_on_loop(self._loop, self._look)

    def _look(self) -> None:
        self._is_awake = True
        self._stop_waiting()

    def _stop_waiting(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def _wait(self, seconds: float | None) -> bool:
        """Wait for news, at most so many seconds; return False if there are none."""
        if not self._has_news():
            self._news = self._loop.create_future()
            if self._listener is None:
                self._timer = self._loop.call_later(_LISTEN_AFTER_SECONDS, self._listen, seconds)
            elif seconds is not None:
                self._timer = self._loop.call_later(seconds, self._stop_waiting)
            try:
                await self._news
            finally:
                self._news = None
                if self._timer is not None:
                    self._timer.cancel()
        return self._has_news()

    def _has_news(self) -> bool:
        return self._is_awake or self._is_gone

    def _listen(self, seconds: float | None) -> None:
        """Listen whether the client leaves, and go on waiting."""
        self._listener = self._loop.create_task(self._await_leaving())
        self._timer = None if seconds is None else self._loop.call_later(seconds, self._stop_waiting)

    async def _await_leaving(self) -> None:
        await await_leaving(self._receive)
        self._is_gone = True
        self._look()

    def _end(self) -> None:
        stream = self._stream
        stream.detach(self._consumer)
        if self._listener is not None:
            self._listener.cancel()
        if not stream.done and not stream.resumable and stream.revision.stateless:
            self._endpoint.leave(stream)


def _to_reply(stream: Stream) -> Reply:
    """Return a single answer. A client cannot come back to it, because it was never a stream."""
    stream.resumable = False
    frames = stream.frames  # no more will come
    if not frames:  # cancelled: there is no answer, and HTTP needs one
        return Reply(202)
    status = 200 if stream.code is None else http.status_of(stream.code, stream.revision)
    return Reply(status, frames[0], *_session_header(stream))


def _session_header(stream: Stream) -> tuple[tuple[bytes, bytes], ...]:
    """Return the header that names the session which the request has opened, if it has."""
    return ((http.SESSION, stream.session_id.encode("ascii")),) if stream.session_id else ()


async def _send_reply(send: Send, reply: Reply) -> None:
    own = [(b"content-type", http.JSON_TYPE)] if reply.body else []
    await send_whole(send, reply.status, [*own, *reply.headers], reply.body)
