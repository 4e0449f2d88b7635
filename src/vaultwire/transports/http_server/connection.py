"""One connection: bytes in, requests to the app, answers out (ASGI 3, RFC 9112). It limits how long a client may take.

The parser is httptools'. A connection has one request at a time: what a client sends before it has its answer ends the
connection after that answer. No client that is used does so, and every client must bear it (RFC 9112, 9.3.2).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import unquote

import httptools

from vaultwire.transports import call_on_loop
from vaultwire.trust.limits import MAX_EDITOR_MESSAGE_BYTES
from vaultwire.vault.caller import MEMORY_BUDGET, UNCOUNTED_BYTES

if TYPE_CHECKING:
    import socket
    import ssl
    from collections.abc import Coroutine, Iterable

    from vaultwire.transports import App, Message, Scope

# No client may send more (``guard.MAX_HEAD_BYTES``, in a piece that may be as long again).
_MAX_HEAD_BYTES = 32 * 1024
# Of a body that the app has not asked for yet; the client keeps the rest.
_MAX_UNREAD_BYTES = 64 * 1024
_FOREVER = float("inf")
# At the end of the server or of a WebSocket, for a client to finish its request, to take its answer, or to say goodbye.
_LAST_SECONDS = 2.0
_VERSIONS = ("1.0", "1.1")
_FIRST_ERROR_STATUS = 400
_ASGI = {"version": "3.0", "spec_version": "2.3"}
_STATUS_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
_WITHOUT_BODY = (204, 304)  # RFC 9110, 6.4.1
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Limits(NamedTuple):
    """How much a client may take of the server; in seconds, except for ``connections`` and ``message``."""

    # Of all endpoints. Each is an open file. There are never more than half as many as the process may have (``server``).
    connections: int = 200
    # From the first byte of a request to the end of its head: a few hundred bytes over the slowest line.
    head: float = 10.0
    # For the body after that: 16 MiB over a line of 2 Mbit/s.
    body: float = 70.0
    # Between two requests, as proxies have it: a connection that is idle costs nothing.
    idle: float = 75.0
    # With bytes waiting for a client that takes none of them.
    stalled: float = 30.0
    # At the end, for calls in flight: a little longer than the longest may take (``trust.limits``).
    grace: int = 65
    # Bytes of a WebSocket's message.
    message: int = MAX_EDITOR_MESSAGE_BYTES
    # Between two pings of a WebSocket.
    ping: float = 30.0
    # For the answer to one. A dead process is noticed at once, but a suspended one does not answer either, and Claude Code,
    # once cut off, never asks its new connection for diagnostics.
    patience: float = 3600.0


class Endpoint(NamedTuple):
    """A listener and the app that answers there."""

    app: App
    listener: socket.socket
    tls: ssl.SSLContext | None = None
    # Of answers that the server gives before the app is called.
    refusal_headers: Sequence[tuple[bytes, bytes]] = ()
    # What serves a WebSocket (``websocket.WebSocketCycle``). Without it, a request for one is answered as any other.
    websocket: Callable[[Connection, Scope], RequestCycle] | None = None

    @property
    def scheme(self) -> str:
        """The scheme of its URL."""
        return "http" if self.tls is None else "https"


class OwningServer(Protocol):
    """What a connection sees of its server (``server.Server``)."""

    date: bytes
    loop: asyncio.AbstractEventLoop

    @property
    def limits(self) -> Limits:
        """How much a client may take."""

    @property
    def is_ending(self) -> bool:
        """Whether connections close as soon as they can."""

    def start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine as a task that the end of the server waits for."""

    def opened(self, connection: Connection) -> None:
        """Note that a connection has its transport."""

    def closed(self, connection: Connection) -> None:
        """Note that a connection is lost: its slot is free."""


class ConnectionMemory:
    """Tells the account of memory how many bytes one connection holds. Fills its ``MemoryHolder``."""

    def __init__(self, loop: asyncio.AbstractEventLoop, transport: asyncio.Transport) -> None:
        self.is_blocked = False
        """Whether the client takes no more bytes for now."""
        self.body_size = 0
        """Bytes of the body that is coming."""
        self._loop = loop
        self._transport = transport
        self._is_counted = False
        self._written = 0
        self._unsent = 0
        self._unsent_since = 0.0

    def write(self, data: bytes) -> None:
        """Send bytes. Until the client has taken the last of them, the transport keeps them all, also those that are gone."""
        if not self._transport.get_write_buffer_size():
            self._written = 0
        self._written += len(data)
        self._transport.write(data)
        if self.is_blocked:
            self.count()

    def count(self) -> None:
        """Tell the account how many bytes there are."""
        size = self.body_size + (self._written if self.is_blocked else 0)
        if self._is_counted or size > UNCOUNTED_BYTES:
            self._is_counted = size > UNCOUNTED_BYTES
            MEMORY_BUDGET.record(self, size if self._is_counted else 0)

    def stalled_seconds(self, now: float) -> float:
        """Return for how long the client has taken no byte of those that wait for it. Called once a second."""
        unsent = self._transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent or self._unsent == 0:
            self._unsent_since = now
            if unsent != self._unsent:
                self.count()
        self._unsent = unsent
        return now - self._unsent_since

    def evict(self) -> int:
        """Close the connection: others need the memory, and this client has read and sent nothing for longer than they."""
        self._is_counted = False
        call_on_loop(self._loop, self._transport.abort)
        return 0


class RequestCycle:
    """One request and its answer, as ASGI has them."""

    def __init__(self, connection: Connection, scope: Scope, *, keeps_connection: bool = False) -> None:
        """``keeps_connection``: the connection stays open after the answer."""
        self.scope = scope
        self.keeps_connection = keeps_connection
        self.status = 0
        self.has_more_body = True  # more of the request's body is to come
        self.has_left = False  # the client sends nothing more, or is gone
        self.is_started = False  # the answer's head was sent
        self.is_answered = False
        self.connection = connection
        self._body: list[bytes] = []  # what came and was not read yet
        self._size = 0  # of it, in bytes
        self._end_was_read = False
        self._waiting: asyncio.Future[None] | None = None  # ``receive`` waits for it

    async def run(self, app: App) -> None:
        """Have the app answer. If it fails, or does not finish its answer, the connection ends; the guard has logged why."""
        connection = self.connection
        try:
            while connection.blocked is not None:  # a client that takes no answers gets no further one
                await connection.blocked
            await app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001, S110 - see above
            pass
        finally:
            if not self.is_answered and not connection.transport.is_closing():
                connection.transport.abort()

    def feed(self, data: bytes) -> None:
        """Take a piece of the request's body from the parser."""
        self._body.append(data)
        self._size += len(data)
        if self._size > _MAX_UNREAD_BYTES:
            self.connection.pause_reading()
        self.wake()

    def leave(self) -> None:
        """Note that the client sends nothing more, or is gone."""
        self.has_left = True
        self.wake()

    def wake(self) -> None:
        """Have ``receive`` look again."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def wait(self) -> None:
        """Wait until ``wake`` is called."""
        self._waiting = self.connection.server.loop.create_future()
        await self._waiting

    async def receive(self) -> Message:
        """Return what has come of the body. After its end, wait until the client leaves."""
        connection = self.connection
        if self.has_more_body and not self._body and not self.is_started and _expects_continue(self.scope["headers"]):
            connection.transport.write(_CONTINUE)
        while True:
            has_news = bool(self._body) or not (self.has_more_body or self._end_was_read)
            if self.is_answered or connection.is_gone or (self.has_left and not has_news):
                return {"type": "http.disconnect"}
            if has_news:
                body, self._body, self._size = b"".join(self._body), [], 0
                self._end_was_read = not self.has_more_body
                if self.has_more_body:
                    connection.resume_reading()
                return {"type": "http.request", "body": body, "more_body": self.has_more_body}
            await self.wait()

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a piece of its body; wait while the client takes no bytes."""
        connection = self.connection
        while connection.blocked is not None:
            await connection.blocked
        if connection.is_gone or connection.transport.is_closing():
            return
        if message["type"] == "http.response.start":
            self._send_head(message["status"], message.get("headers", ()))
        else:
            self._send_body(message.get("body", b""), is_last=not message.get("more_body"))

    def _send_head(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Put the head together. It goes out with the first piece of the body, at once if that is chunked."""
        self.status = status
        self._silent = status in _WITHOUT_BODY or self.scope.get("method") == "HEAD"
        values = list(headers)
        length = dict(values).get(b"content-length")
        self._left = None if length is None else int(length)  # of the body, as the head says; None where it does not
        lines = [b"%s: %s\r\n" % (name, value) for name, value in values]
        self._chunked = self._left is None and not self._silent and self.scope["http_version"] == "1.1"
        if self._chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        if not self.keeps_connection:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise ValueError("a header of the answer has a line break in it")
        self._head = b"%s%s%s\r\n" % (_STATUS_LINES[status], self.connection.server.date, head)
        self.is_started = True
        if self._chunked:  # a stream: its first piece may come late
            self.connection.transport.write(self._head)
            self._head = b""

    def _send_body(self, body: bytes, *, is_last: bool) -> None:
        head, self._head = self._head, b""
        if self._silent:
            body = b""
        elif self._chunked:
            body = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
            if is_last:
                body += b"0\r\n\r\n"
        elif self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (is_last and self._left):
                raise ValueError("the body of the answer is not as long as its head says")
        if head or body:
            self.connection.memory.write(head + body)
        if is_last:
            self.is_answered = True
            self.wake()
            self.connection.on_answered(self)

    def end(self) -> None:
        """End soon: the server ends. A request is answered, and nothing after it."""
        self.keeps_connection = False

    def check_time(self, now: float) -> None:
        """Look, once a second, for what is due."""


class Connection(asyncio.Protocol):
    """One connection of one client."""

    def __init__(self, server: OwningServer, endpoint: Endpoint, address: str) -> None:
        """``address``: where the client is, as ``server.address_of`` names it."""
        self.server = server
        self._endpoint = endpoint
        self.address = address
        self.idle_since = time.monotonic()
        self.was_served = False
        """Whether it has got an answer that was no refusal."""
        self.is_refused = False  # there was no slot
        self.entering: asyncio.Task[None] | None = None  # until the TLS handshake is over
        self.transport: Any = None
        self.blocked: asyncio.Future[None] | None = None  # while the client takes no more bytes
        self.is_gone = False
        self._limits = server.limits
        self._parser: Any = httptools.HttpRequestParser(self)  # None once the connection is lost
        self._cycle: RequestCycle | None = None  # not answered yet, or its body is not here yet
        self._is_switched = False  # it is a WebSocket
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._is_paused = False
        self._head_bytes = 0
        self._in_head = True
        self._in_message = False
        self._is_last = False  # no further request is read
        self._error = (400, "Invalid request")  # why the parser stops
        self.deadline = _FOREVER  # for what the client has to send next
        self.memory: Any = None  # as soon as there is a transport

    # ------------------------------------------------------------------ called by asyncio

    def connection_made(self, transport: Any) -> None:
        """Begin to read, if there was a slot."""
        self.transport = transport
        if transport.is_closing():  # it was closed during the handshake
            self.is_gone = True
            self.server.closed(self)
            return
        self.server.opened(self)
        self.memory = ConnectionMemory(self.server.loop, transport)
        self.deadline = time.monotonic() + self._limits.head
        if self.is_refused:
            self._refuse(503, "Too many connections", b"retry-after: 1\r\n")
        elif self.server.is_ending:
            self.server.loop.call_soon(self.end)

    def connection_lost(self, exception: Exception | None) -> None:  # noqa: ARG002 - asyncio's own names
        """Tell the request that is worked on."""
        self.is_gone = True
        self.resume_writing()
        if self._cycle is not None:
            self._cycle.leave()
        # No reference cycles: those that exist during ``gc.freeze`` would never be freed.
        self._parser = self._cycle = None
        self.server.closed(self)

    def eof_received(self) -> bool:
        """Note that the client sends nothing more; return True if it still gets its answer.

        It looks the same here whether a client waits for its answer or has left. So an app that listens whether the client
        leaves, as those of long calls and of streams do, is told that it has; other answers are sent.
        """
        cycle = self._cycle
        if cycle is None or cycle.is_answered:
            return False
        self._is_last = True
        self.deadline = _FOREVER
        cycle.keeps_connection = False
        cycle.leave()
        return self._endpoint.tls is None  # TLS ends with one side

    def pause_writing(self) -> None:
        """Have the app wait: the client takes no bytes."""
        self.blocked = self.server.loop.create_future()
        self.memory.is_blocked = True
        self.memory.count()

    def resume_writing(self) -> None:
        """Have the app go on."""
        blocked, self.blocked = self.blocked, None
        if blocked is None:
            return
        if not blocked.done():
            blocked.set_result(None)
        self.memory.is_blocked = False
        self.memory.count()

    def data_received(self, data: bytes) -> None:
        """Parse what came. The app is called as soon as the head of a request is whole."""
        if self._is_switched and self._cycle is not None:
            self._cycle.feed(data)
            return
        if self._is_last or self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as upgrade:
            self._is_last = True
            if self._is_switched and self._cycle is not None:
                self._cycle.feed(data[upgrade.args[0] :])
        except httptools.HttpParserError:
            if not self._is_last:  # else they are bytes after the last request
                self._refuse(*self._error)
        else:
            if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
                self._refuse(431, "Request headers too large")

    # ------------------------------------------------------------------ called by the parser

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        if self._cycle is not None:
            self._take_no_more()
            raise ValueError("the client has not waited for its answer")
        self._url = b""
        self._headers = []
        self._in_head = self._in_message = True
        self.deadline = time.monotonic() + self._limits.head

    def on_url(self, url: bytes) -> None:
        """Add a piece of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header. A trailer, which comes after the body, is not one."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Begin on the request before its body is here: the app may refuse it."""
        self._in_head = False
        self.deadline = time.monotonic() + self._limits.body
        path, _, query = self._url.partition(b"?")
        if not path.startswith(b"/"):  # the form for a proxy, or not a path at all
            parsed = httptools.parse_url(self._url)
            path, query = parsed.path or b"", parsed.query or b""
        text = path.decode("ascii")
        parser = self._parser
        version = parser.get_http_version()
        if version not in _VERSIONS:
            self._error = (505, "HTTP version not supported")
            raise ValueError(version)
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "scheme": self._endpoint.scheme,
            "method": parser.get_method().decode("ascii"),
            "path": unquote(text) if "%" in text else text,
            "raw_path": path,
            "query_string": query,
            "headers": self._headers,
        }
        switch = self._endpoint.websocket
        self._is_switched = switch is not None and parser.should_upgrade() and _asks_for_websocket(scope)
        if switch is not None and self._is_switched:
            self._cycle = switch(self, scope)
        else:
            keeps = parser.should_keep_alive() and version == "1.1" and not parser.should_upgrade()
            self._cycle = RequestCycle(self, scope, keeps_connection=keeps)
        self.server.start_task(self._cycle.run(self._endpoint.app))

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body."""
        if self._cycle is not None and not self._cycle.is_answered:
            self._cycle.feed(body)
            self.memory.body_size += len(body)
            self.memory.count()

    def on_message_complete(self) -> None:
        """Note that a request is here as a whole."""
        cycle = self._cycle
        assert cycle is not None
        self._in_head = True  # of the next request
        self._in_message = False
        self._head_bytes = 0
        self._is_last = not cycle.keeps_connection
        cycle.has_more_body = False
        self.memory.body_size = 0
        self.memory.count()
        cycle.wake()
        if cycle.is_answered:
            self._cycle = None
        self.deadline = time.monotonic() + self._limits.idle if cycle.is_answered else _FOREVER

    # ------------------------------------------------------------------ one request after the other

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is worked on."""
        return self._cycle is None or self._cycle.is_answered

    def on_answered(self, cycle: RequestCycle) -> None:
        """Wait for the next request, or close the connection."""
        self.idle_since = time.monotonic()
        self.was_served = self.was_served or cycle.status < _FIRST_ERROR_STATUS
        if self.transport.is_closing():
            return
        if not cycle.keeps_connection or self.server.is_ending:
            self.transport.close()
            return
        if not self._in_message:  # else it was refused before its whole body came, and the time for the body runs on
            self._cycle = None
            self.deadline = self.idle_since + self._limits.idle
        self.resume_reading()

    def pause_reading(self) -> None:
        """Read no more for now."""
        self._is_paused = True
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on if reading was paused."""
        if self._is_paused and not self.transport.is_closing():
            self._is_paused = False
            self.transport.resume_reading()

    def hang_up(self) -> None:
        """Close at once, to make room for another client."""
        if self.entering is not None and self.transport is None:
            self.entering.cancel()
        elif self.transport is not None:
            self.transport.abort()

    def end(self) -> None:
        """Close after the request that is worked on, at once if there is none."""
        if self._cycle is not None and not self._cycle.is_answered:
            self._cycle.end()
            if self._in_message:  # else the server waits for the answer
                self.end_soon()
        elif self.transport is not None:
            self.transport.close()

    def end_soon(self) -> None:
        """Give the client a last moment for what it has to send."""
        self.deadline = min(self.deadline, time.monotonic() + _LAST_SECONDS)

    def check_time(self, now: float) -> None:
        """Close the connection of a client that takes too long to send, or to take its answer."""
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        if self.memory.stalled_seconds(now) > (_LAST_SECONDS if self.server.is_ending else self._limits.stalled):
            # Not ``close``, which would wait until the client has taken what is unsent.
            self.transport.abort()
        elif now > self.deadline:
            if self._in_message and not self.transport.is_closing():
                self._refuse(408, "Request timeout")
            else:
                self.transport.abort()
        elif self._cycle is not None:
            self._cycle.check_time(now)

    def _take_no_more(self) -> None:
        """Read no further request, and close after the answer."""
        self._is_last = True
        self.deadline = _FOREVER
        if self._cycle is not None:
            self._cycle.keeps_connection = False

    def _refuse(self, status: int, error: str, header: bytes = b"") -> None:
        """Answer what is not understood, after the request that was, and close."""
        cycle = self._cycle
        if cycle is not None and not cycle.is_answered and not cycle.has_more_body:
            self._take_no_more()
            return
        self._is_last = True
        if cycle is None or not cycle.is_started:
            lines = b"".join(b"%s: %s\r\n" % line for line in self._endpoint.refusal_headers) + header
            body = b'{"error":"%s","message":"%s"}' % (error.encode(), error.encode())
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%sconnection: close\r\n\r\n%s"
                % (status, error.encode(), len(body), lines, body)
            )
        self.transport.close()


def _expects_continue(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Tell whether the client waits with its body until it is asked for it. Letter case is free (RFC 9110, 10.1.1)."""
    return any(name == b"expect" and value.strip(b" \t").lower() == b"100-continue" for name, value in headers)


def _asks_for_websocket(scope: Scope) -> bool:
    return any(name == b"upgrade" and value.strip(b" \t").lower() == b"websocket" for name, value in scope["headers"])
