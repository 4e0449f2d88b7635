"""One connection: bytes to requests, which are answered one after the other; how long and how much a client may send.

What of a request and its answer is the callable's matter is an ``Exchange``.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import Any, NamedTuple
from urllib.parse import unquote

import httptools

from vaultwire.transports import MEMO
from vaultwire.transports.http_server.exchange import Exchange

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports.http_server.server import Server

# More than this comes of no client (``guard.MAX_HEAD_BYTES``, in a piece that may be as long again).
_MAX_HEAD_BYTES = 32 * 1024
# Heads of one connection that need not be parsed again, and how long they may be: a client calls a few tools in turn, and
# says the same each time but for a name and a length.
_MOST_KNOWN_HEADS = 16
_MOST_KNOWN_BYTES = 4096
_HEAD_END = b"\r\n\r\n"
_FOREVER = float("inf")
_ASGI = {"version": "3.0", "spec_version": "2.3"}


class _Head(NamedTuple):
    """A head that came before, and what it says."""

    data: bytes
    end: int  # how long it is
    scope: dict[str, Any]
    length: int  # of the body


class Connection(asyncio.Protocol):
    """One connection: bytes to requests, which are answered one after the other."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.transport: Any = None
        self.blocked: asyncio.Future[None] | None = None  # while the client takes no more bytes
        self.is_gone = False
        self._limits = server.limits
        self._parser: Any = httptools.HttpRequestParser(self)  # None once nothing comes any more
        self._exchanges: deque[Exchange] = deque()  # not answered yet; the first is worked on
        self._coming: Exchange | None = None  # whose body is not here yet
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._known: dict[bytes, _Head] = {}
        self._latest: _Head | None = None  # of those, the one that came last
        self._is_paused = False
        self._is_going_on = False
        self._left = 0  # of the body of a request whose head was known
        self._head_bytes = 0
        self._in_head = True
        self._in_message = False
        self._is_last = False  # nothing that comes now is a request any more
        self._until = _FOREVER  # when patience with the client ends
        self._unsent = 0
        self._unsent_since = 0.0

    # ------------------------------------------------------------------ what asyncio says

    def connection_made(self, transport: Any) -> None:
        """Take up the connection, if there are not too many."""
        self.transport = transport
        self.server.connections.add(self)
        self._until = time.monotonic() + self._limits.head
        if len(self.server.connections) > self._limits.connections:
            self._refuse(503, "Too many connections", b"retry-after: 1\r\n")

    def connection_lost(self, exception: Exception | None) -> None:  # noqa: ARG002 - asyncio's own names
        """Tell the request that is worked on."""
        self.is_gone = True
        self.server.connections.discard(self)
        self.resume_writing()
        for exchange in tuple(self._exchanges):
            exchange.wake()
        # No circles, in which what is frozen at the time would never be freed (``Handlers.tend``).
        self._exchanges.clear()
        self._parser = self._coming = None
        self.server.look_for_end()

    def pause_writing(self) -> None:
        """Have who writes wait for the client."""
        self.blocked = self.server.loop.create_future()

    def resume_writing(self) -> None:
        """Have who writes go on."""
        blocked, self.blocked = self.blocked, None
        if blocked is not None and not blocked.done():
            blocked.set_result(None)

    def data_received(self, data: bytes) -> None:
        """Take what came, and begin on the first request that is not begun."""
        if self._is_last or self.transport.is_closing():
            return
        if self._left:
            data = self._take_body(data)
            if not data:
                return
        if self._in_message or self._exchanges:
            if self._parse(data):
                self._go_on()
        elif self._take_known(data):
            self._go_on()
        elif self._parse(data):
            if len(self._exchanges) == 1:
                self._learn(data)
            self._go_on()

    def _parse(self, data: bytes) -> bool:
        """Have the parser look; False if that was the end."""
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_last = True  # the request itself is answered, which says no
        except httptools.HttpParserError:
            if not self._is_last:
                self._refuse(400, "Invalid request")
            return False
        if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
            self._refuse(431, "Request headers too large")
            return False
        return True

    # ------------------------------------------------------------------ heads that came before

    def _learn(self, data: bytes) -> None:
        """Keep the head of a request that is all there is in ``data``, so far as its body is here."""
        scope = self._exchanges[0].scope
        end = data.find(_HEAD_END) + 4
        head = data[:end]
        lengths = [value for name, value in scope["headers"] if name == b"content-length"]
        if (
            self._exchanges[0].stays
            and len(lengths) == 1
            and len(data) <= end + int(lengths[0])
            and end <= _MOST_KNOWN_BYTES
            and data.startswith(b"POST ")  # no line before it
            and head.count(b"\n") == head.count(b"\r\n")  # so it ends where the parser ends it, too
            and not any(name in (b"transfer-encoding", b"expect", b"upgrade") for name, _ in scope["headers"])
        ):
            if len(self._known) >= _MOST_KNOWN_HEADS:
                self._known.clear()
            self._known[head] = self._latest = _Head(head, end, {**scope}, int(lengths[0]))

    def _take_known(self, data: bytes) -> bool:
        """Take a request whose head came before, as the parser would; False if this is none, or there is more behind it."""
        known = self._latest
        if known is None or not data.startswith(known.data):
            known = self._latest = self._known.get(data[: data.find(_HEAD_END) + 4])
            if known is None:
                return False
        _, end, scope, length = known
        left = end + length - len(data)
        if left < 0:
            return False
        if left:
            exchange = Exchange(self, scope.copy(), stays=True)
            self._coming, self._left = exchange, left
            self._in_head, self._in_message = False, True
            self._until = time.monotonic() + self._limits.body
            if len(data) > end:
                exchange.take(data[end:])
        else:
            exchange = Exchange(self, scope.copy(), stays=True, body=data[end:])
            self._until = _FOREVER
        self._exchanges.append(exchange)
        return True

    def _take_body(self, data: bytes) -> bytes:
        """Take what comes of a body whose head was known; return what is behind it."""
        body, rest = data[: self._left], data[self._left :]
        self._left -= len(body)
        self.on_body(body)
        if not self._left:
            self.on_message_complete()
        return rest

    # ------------------------------------------------------------------ what the parser says

    def on_message_begin(self) -> None:
        """Take note that a request begins."""
        self._url = b""
        self._headers = []
        self._in_head = self._in_message = True
        self._until = time.monotonic() + self._limits.head

    def on_url(self, url: bytes) -> None:
        """Take a piece of the request's target."""
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header. One behind the body is no part of what the request says of itself."""
        if self._in_head:
            self._headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Make the request known: a callable may refuse it before its body is here."""
        self._in_head = False
        self._until = time.monotonic() + self._limits.body
        path, _, query = self._url.partition(b"?")
        if not path.startswith(b"/"):  # a proxy's form, or none at all
            parsed = httptools.parse_url(self._url)
            path, query = parsed.path or b"", parsed.query or b""
        text = path.decode("ascii")
        parser = self._parser
        version = parser.get_http_version()
        scope = {
            "type": "http",
            "asgi": _ASGI,
            "http_version": version,
            "scheme": self.server.scheme,
            "method": parser.get_method().decode("ascii"),
            "path": unquote(text) if "%" in text else text,
            "raw_path": path,
            "query_string": query,
            "headers": self._headers,
            MEMO: {},
        }
        stays = parser.should_keep_alive() and version == "1.1" and not parser.should_upgrade()
        self._coming = Exchange(self, scope, stays=stays)
        self._exchanges.append(self._coming)

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        if self._coming is not None:
            self._coming.take(body)

    def on_message_complete(self) -> None:
        """Take note that a request is here as a whole."""
        coming, self._coming = self._coming, None
        assert coming is not None
        self._in_head = True  # what comes next is a head again
        self._in_message = False
        self._head_bytes = 0
        self._is_last = not coming.stays
        coming.more = False
        coming.wake()
        self._until = time.monotonic() + self._limits.idle if coming.is_answered else _FOREVER

    # ------------------------------------------------------------------ one after the other

    def _go_on(self) -> None:
        """Begin on the next requests, until one has to be waited for; a client that sends more is not read from."""
        if self._is_going_on:  # inside of what is begun on below, which may be one of very many
            return
        self._is_going_on = True
        try:
            exchanges = self._exchanges
            while exchanges and not exchanges[0].is_begun and not self.transport.is_closing():
                first = exchanges[0]
                first.is_begun = True
                left = first.begin(self.server.app)
                if left is not None:
                    self.server.see_through(left)
        finally:
            self._is_going_on = False
        if len(exchanges) > 1:
            self.pause_reading()

    def on_answered(self, exchange: Exchange) -> None:
        """Go on to the next request, or let the connection go."""
        self._exchanges.popleft()
        if self.transport.is_closing():
            return
        if not exchange.stays or (self.server.is_ending and not self._exchanges):
            self.transport.close()
            return
        if not self._in_message:  # refused before its body had come: the clock of the body runs on
            # A client may have sent its next request already, which is worked on now.
            self._until = _FOREVER if self._exchanges else time.monotonic() + self._limits.idle
        if self._is_paused:
            self.resume_reading()
        if self._exchanges:
            self._go_on()

    def pause_reading(self) -> None:
        """Read no more for now."""
        self._is_paused = True
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on, if that was paused and no request waits."""
        if self._is_paused and len(self._exchanges) <= 1 and not self.transport.is_closing():
            self._is_paused = False
            self.transport.resume_reading()

    def end(self) -> None:
        """Hang up after what is worked on, at once if that is nothing."""
        if self._exchanges:
            self._exchanges[-1].stays = False
        else:
            self.transport.close()

    def look(self, now: float) -> None:
        """Let go of a client that takes too long to send, or to take what it asked for."""
        if self._exchanges:
            self._exchanges[0].go_on()
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent or self._unsent == 0:
            self._unsent_since = now
        self._unsent = unsent
        if now > self._until or now - self._unsent_since > self._limits.stalled:
            # Not closed in good order: that would wait for the client to take what is unsent.
            self.transport.abort()

    def _refuse(self, status: int, error: str, header: bytes = b"") -> None:
        """Answer what cannot be understood, behind all that could be, and hang up."""
        self._is_last = True
        coming, self._coming = self._coming, None
        if coming is not None and coming is not self._exchanges[0]:
            self._exchanges.pop()
            coming = None
        if self._exchanges and coming is None:
            self._until = _FOREVER
            self._exchanges[-1].stays = False
            self._go_on()
            return
        if coming is None or not coming.is_started:
            body = b'{"error":"%s","message":"%s"}' % (error.encode(), error.encode())
            self.transport.write(
                b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%sconnection: close\r\n\r\n%s"
                % (status, error.encode(), len(body), header, body)
            )
        self.transport.close()
