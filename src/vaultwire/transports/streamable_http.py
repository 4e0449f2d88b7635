"""MCP over Streamable HTTP, as an ASGI callable: bytes in and out, and a client that leaves. Who may come is the guard's.

One request that has one answer is the common case and takes the short way: no framework, no task, one wake-up. A stream
begins when there is something to say before the answer, or when the answer takes long. What is said is ``exchange``'s
matter.
"""

from __future__ import annotations

import asyncio

from vaultwire.protocol import http
from vaultwire.protocol.http import Headers
from vaultwire.server.handover import Handover, call_each
from vaultwire.server.http.exchange import Exchanges, Reply
from vaultwire.server.http.streams import Stream
from vaultwire.transports import AT_ONCE, DONE, MEMO

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Workers
    from vaultwire.transports import AtOnce, Receive, Scope, Send

# What waits longer for its first frame becomes a stream, and a stream on which nothing happens says that it is alive:
# proxies give up after 30 or 60 seconds.
KEEP_ALIVE_SECONDS = 15.0
# Only then is there a look whether the client is still there: most answers are out by then.
_LOOK_AFTER_SECONDS = 0.05
# When a client that was hung up on should come back.
_RETRY_MS = 1000

_MINE = "mcp"  # among what is known of a head

_JSON = b"content-type: %s\r\n" % http.JSON_TYPE
_STREAM_HEADERS = (
    (b"content-type", http.STREAM_TYPE),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # nginx would hold events back
)


class StreamableHttp:
    """The door itself."""

    def __init__(self, exchanges: Exchanges, key_name: str) -> None:
        self._exchanges = exchanges
        self._key_name = key_name
        self._handover: Handover | None = None

    def close(self) -> None:
        """End the streams that would go on for ever, so that the server can end."""
        self._exchanges.close()

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Serve one HTTP request."""
        memo = scope.get(MEMO)  # what an earlier request's headers said that were alike
        headers: Headers | None = None if memo is None else memo.get(_MINE)
        if headers is None:
            headers = _headers(scope)
        principal: str = scope.get(self._key_name, "")
        at_once: AtOnce | None = scope.get(AT_ONCE)
        if at_once is not None and scope["method"] == "POST":
            body = at_once.body()
            if body is not None:
                answer = self._exchanges.post(headers, body, principal)
                if isinstance(answer, Reply):
                    return _send_reply(send, answer)
                if _reply(answer, headers, at_once):
                    return DONE
                writer = self._writer(answer, receive, send)
                writer.put_off(at_once)
                return writer.answer(headers)
        return self._serve(scope["method"], headers, principal, receive, send)

    def _writer(self, stream: Stream, receive: Receive, send: Send) -> _Writer:
        if self._handover is None:
            self._loop = asyncio.get_running_loop()
            self._handover = Handover(self._loop.call_soon_threadsafe, call_each)
        return _Writer(stream, receive, send, self._exchanges, self._loop, self._handover)

    async def _serve(self, method: str, headers: Headers, principal: str, receive: Receive, send: Send) -> None:
        match method:
            case "POST":
                body = await _read(receive)
                if body is None:
                    return
                answer = self._exchanges.post(headers, body, principal)
                if isinstance(answer, Reply):
                    await _send_reply(send, answer)
                else:
                    await self._writer(answer, receive, send).answer(headers)
            case "GET":
                meant = self._exchanges.get(headers, principal)
                if isinstance(meant, Reply):
                    await _send_reply(send, meant)
                else:
                    await self._writer(meant[0], receive, send).resume(meant[1])
            case "DELETE":
                await _send_reply(send, self._exchanges.delete(headers, principal))
            case _:
                await _send_reply(send, Reply(405, b"", (b"allow", b"POST, GET, DELETE")))


class _Writer:
    """Puts one stream onto one response."""

    def __init__(
        self,
        stream: Stream,
        receive: Receive,
        send: Send,
        exchanges: Exchanges,
        loop: asyncio.AbstractEventLoop,
        handover: Handover,
    ) -> None:
        self._stream = stream
        self._receive = receive
        self._send = send
        self._exchanges = exchanges
        self._loop = loop
        self._handover = handover
        self._at_once: AtOnce | None = None
        self._wanted: asyncio.Future[None] | None = None
        self._is_awake = False
        self._is_gone = False
        self._listener: asyncio.Task[None] | None = None
        self._consumer = 0

    def put_off(self, at_once: AtOnce) -> None:
        """Have ``answer`` begun when there is something to send, or the client has left, or it takes long."""
        self._at_once = at_once
        self._consumer = self._stream.attach(self._wake)
        if not self._has_something():
            at_once.put_off()

    async def answer(self, headers: Headers) -> None:
        """Send what answers a POST: as JSON if there is one frame, else as a stream."""
        stream = self._stream
        if not self._consumer:
            self._consumer = stream.attach(self._wake)
        try:
            if not self._has_something():
                await self._wait(KEEP_ALIVE_SECONDS if stream.takes_more else None)
            if self._is_gone:
                return
            if self._at_once is not None and _reply(stream, headers, self._at_once):
                return
            if _is_single(stream, headers):
                await _send_reply(self._send, _to_reply(stream))
            else:
                await self._stream_from(0)
        finally:
            self._end()

    def _has_something(self) -> bool:
        return self._stream.done or bool(self._stream.frames) or self._stream.paused

    async def resume(self, after: int) -> None:
        """Send what comes on a stream behind the frame of this number."""
        self._consumer = self._stream.attach(self._wake)
        try:
            await self._stream_from(after)
        finally:
            self._end()

    async def _stream_from(self, after: int) -> None:
        stream = self._stream
        stream.begin()
        extra = ((http.SESSION, stream.session_id.encode("ascii")),) if stream.session_id else ()
        await self._send({"type": "http.response.start", "status": 200, "headers": [*_STREAM_HEADERS, *extra]})
        if stream.kept and stream.revision.primed_streams:
            await self._put(http.to_first_event(f"{stream.number}-{after}", _RETRY_MS))
        while True:
            self._is_awake = False
            start, frames = stream.take(after)
            for number, frame in enumerate(frames, start):
                await self._put(http.to_event(frame, f"{stream.number}-{number}" if stream.kept else None))
            stream.delivered = after = max(after, start + len(frames) - 1)
            if self._is_gone:
                return
            if stream.is_over(after) or stream.paused or stream.consumer != self._consumer:
                break
            if not await self._wait(KEEP_ALIVE_SECONDS):
                await self._put(http.KEEP_ALIVE)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _put(self, event: bytes) -> None:
        await self._send({"type": "http.response.body", "body": event, "more_body": True})

    # ------------------------------------------------------------------ waiting

    def _wake(self) -> None:
        """Have the writer look. From any thread, any number of times."""
        self._handover.put(self._look)

    def _look(self) -> None:
        self._is_awake = True
        if self._at_once is not None:
            self._at_once.go_on()
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    async def _wait(self, seconds: float | None) -> bool:
        """Wait until there is something to look at; False if nothing happened for so long."""
        if self._has_news():
            return True
        self._wanted = self._loop.create_future()
        timers = []
        if self._listener is None:
            timers.append(self._loop.call_later(_LOOK_AFTER_SECONDS, self._listen))
        if seconds is not None:
            timers.append(self._loop.call_later(seconds, self._time_out))
        try:
            await self._wanted
        finally:
            self._wanted = None
            for timer in timers:
                timer.cancel()
        return self._has_news()

    def _has_news(self) -> bool:
        return self._is_awake or self._is_gone

    def _time_out(self) -> None:
        if self._wanted is not None and not self._wanted.done():
            self._wanted.set_result(None)

    def _listen(self) -> None:
        self._listener = self._loop.create_task(self._hear_leaving())

    async def _hear_leaving(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self._is_gone = True
        self._look()

    def _end(self) -> None:
        self._stream.detach(self._consumer)
        if self._listener is not None:
            self._listener.cancel()
        if not self._stream.done and not self._stream.kept and self._stream.revision.stateless:
            self._exchanges.leave(self._stream)


def make_app(
    workers: Workers, make_session: Callable[[Revision | None], Session], key_name: str = "vaultwire.key"
) -> StreamableHttp:
    """Return the door for one path. ``key_name``: where in the scope stands whose key a request came with."""
    return StreamableHttp(Exchanges(workers, make_session), key_name)


def _is_single(stream: Stream, headers: Headers) -> bool:
    """Tell whether a POST's answer is there, and is one that is sent as JSON."""
    return stream.done and len(stream.frames) <= 1 and (stream.code is not None or headers.takes_json)


def _reply(stream: Stream, headers: Headers, at_once: AtOnce) -> bool:
    """Send that answer the shorter way if it is a result, as most are, and opens no session; tell whether it was sent."""
    if (
        stream.code is None
        and _is_single(stream, headers)
        and stream.frames
        and not stream.session_id
        and at_once.reply(200, _JSON, stream.frames[0])
    ):
        stream.kept = False  # as in ``_to_reply``
        return True
    return False


def _to_reply(stream: Stream) -> Reply:
    """Return a single answer. What was no stream is not come back to."""
    stream.kept = False
    frames = stream.frames  # nothing comes any more
    if not frames:  # cancelled: there is no answer, and HTTP wants one
        return Reply(202)
    extra = ((http.SESSION, stream.session_id.encode("ascii")),) if stream.session_id else ()
    status = 200 if stream.code is None else http.status_of(stream.code, stream.revision)
    return Reply(status, frames[0], *extra)


async def _read(receive: Receive) -> bytes | None:
    """Return the whole body, None if the client left before its end."""
    message = await receive()
    if message["type"] != "http.request":
        return None
    body: bytes = message.get("body", b"")
    if not message.get("more_body"):
        return body
    pieces = [body]
    while message.get("more_body"):
        message = await receive()
        if message["type"] != "http.request":
            return None
        pieces.append(message.get("body", b""))
    return b"".join(pieces)


def _headers(scope: Scope) -> Headers:
    """Return what a request's headers say, and keep it for those that are alike."""
    headers = Headers(scope["headers"])
    if MEMO in scope:
        scope[MEMO][_MINE] = headers
    return headers


def _to_lines(reply: Reply) -> list[tuple[bytes, bytes]]:
    if reply.body:
        return [(b"content-type", http.JSON_TYPE), (b"content-length", b"%d" % len(reply.body)), *reply.headers]
    if reply.status == 204:  # noqa: PLR2004 - RFC 9110 §8.6: no length with it
        return [*reply.headers]
    return [(b"content-length", b"0"), *reply.headers]


async def _send_reply(send: Send, reply: Reply) -> None:
    await send({"type": "http.response.start", "status": reply.status, "headers": _to_lines(reply)})
    await send({"type": "http.response.body", "body": reply.body})
