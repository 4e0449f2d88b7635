"""One connection: bytes to requests, which are answered one after the other; how long and how much a client may send.

What of a request and its answer is the callable's matter is an ``Exchange``.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from typing import Any
from urllib.parse import unquote

import httptools

from vaultwire.transports import MEMO
from vaultwire.transports.http_server.buffered import Buffered
from vaultwire.transports.http_server.exchange import CONTINUE, Exchange, refusal
from vaultwire.transports.http_server.known_heads import KnownHeads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports.http_server.places import Places
    from vaultwire.transports.http_server.shapes import Owner

# More than this comes of no client (``guard.MAX_HEAD_BYTES``, in a piece that may be as long again).
_MAX_HEAD_BYTES = 32 * 1024
_FOREVER = float("inf")
# After the end of what a client sends: so soon there is a look whether it still waits for its answer.
_PROBE_SECONDS = 0.1
# What a client gets at the end of the server to finish its request, or to take its answer.
_LAST_SECONDS = 2.0
_VERSIONS = ("1.0", "1.1")
_REFUSALS = 400  # and above
_ASGI = {"version": "3.0", "spec_version": "2.3"}


class Connection(asyncio.Protocol):
    """One connection: bytes to requests, which are answered one after the other."""

    def __init__(self, server: Owner, address: str, places: Places) -> None:
        """``address``: where it comes from, as ``places`` know it, where it has its place already."""
        self.server = server
        self.address = address
        self.idle_since = time.monotonic()
        self.was_served = False
        self.is_refused = False  # there was no place
        self.entering: asyncio.Task[None] | None = None  # until its handshake is over
        self.transport: Any = None
        self._places = places
        self.blocked: asyncio.Future[None] | None = None  # while the client takes no more bytes
        self.is_gone = False
        self._limits = server.limits
        self._parser: Any = httptools.HttpRequestParser(self)  # None once nothing comes any more
        self._exchanges: deque[Exchange] = deque()  # not answered yet; the first is worked on
        self._coming: Exchange | None = None  # whose body is not here yet
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._known = KnownHeads()
        self._is_paused = False
        self._is_going_on = False
        self._left = 0  # of the body of a request whose head was known
        self._head_bytes = 0
        self._in_head = True
        self._in_message = False
        self._is_last = False  # nothing that comes now is a request any more
        self._has_ended = False  # nothing comes any more at all
        self._wrong = (400, "Invalid request")  # what the parser is told to stop for
        self._until = _FOREVER  # when patience with the client ends
        self._buffered: Any = None  # as soon as there is a transport

    # ------------------------------------------------------------------ what asyncio says

    def connection_made(self, transport: Any) -> None:
        """Begin to listen to the client, if there was a place for it."""
        self.transport = transport
        if transport.is_closing():  # it had to go while it entered
            self.is_gone = True
            self._places.leave(self)
            return
        self.server.connections.add(self)
        self._buffered = Buffered(self.server.loop, transport)
        self._until = time.monotonic() + self._limits.head
        if self.is_refused:
            self._refuse(503, "Too many connections", b"retry-after: 1\r\n")
        elif self.server.is_ending:
            self.server.loop.call_soon(self.end)

    def connection_lost(self, exception: Exception | None) -> None:  # noqa: ARG002 - asyncio's own names
        """Tell the request that is worked on."""
        self.is_gone = True
        self.server.connections.discard(self)
        self._places.leave(self)
        self.resume_writing()
        for exchange in tuple(self._exchanges):
            exchange.wake()
        # No circles, in which what is frozen at the time would never be freed (``Handlers.tend``).
        self._exchanges.clear()
        self._parser = self._coming = None
        self.server.look_for_end()

    def eof_received(self) -> bool:
        """Take note that the client sends nothing more; True if it may still wait for an answer.

        Whether it does, or has left for good, its system says alike. It does not say so in the middle of a request, and
        who hangs up on a stream wants no more of it.
        """
        exchanges = self._exchanges
        if not exchanges or exchanges[0] is self._coming or exchanges[0].is_started:
            return False
        if self._coming is not None:
            self._coming = None
            exchanges.pop()  # nobody has begun on it
        self._is_last = self._has_ended = True
        self._until = _FOREVER
        exchanges[-1].stays = False
        self.server.loop.call_later(_PROBE_SECONDS, self._probe)
        return True

    def _probe(self) -> None:
        """Send a client that sends nothing more what it may ignore, so that its system says if it is gone."""
        if self._is_waited_for() and self._exchanges[0].scope["http_version"] == "1.1":
            self.transport.write(CONTINUE)
            self.server.loop.call_later(_PROBE_SECONDS, self._look_for_client)

    def _look_for_client(self) -> None:
        """Let go of a client that turned out to be gone. Nobody reads from it, so nobody else would notice."""
        if self._is_waited_for():
            connected = self.transport.get_extra_info("socket")
            if connected is not None and connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.transport.abort()

    def _is_waited_for(self) -> bool:
        """Tell whether a client that sends nothing more waits for an answer that has not begun."""
        return (
            self._has_ended
            and not self.transport.is_closing()
            and bool(self._exchanges)
            and not self._exchanges[0].is_started
        )

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is worked on."""
        return not self._exchanges

    def hang_up(self) -> None:
        """Make room for somebody else."""
        if self.entering is not None and self.transport is None:
            self.entering.cancel()
        elif self.transport is not None:
            self.transport.abort()

    def pause_writing(self) -> None:
        """Have who writes wait for the client."""
        self.blocked = self.server.loop.create_future()
        self._buffered.is_blocked = True
        self._buffered.count()

    def resume_writing(self) -> None:
        """Have who writes go on."""
        blocked, self.blocked = self.blocked, None
        if blocked is None:
            return
        if not blocked.done():
            blocked.set_result(None)
        self._buffered.is_blocked = False
        self._buffered.count()
        if self._exchanges and not self.is_gone:
            self._go_on()

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
            if len(self._exchanges) == 1 and self._exchanges[0].stays:
                self._known.learn(data, self._exchanges[0].scope)
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
            if self._is_last:  # bytes behind the last request; that is answered
                return True
            self._refuse(*self._wrong)
            return False
        if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
            self._refuse(431, "Request headers too large")
            return False
        return True

    # ------------------------------------------------------------------ heads that came before

    def _take_known(self, data: bytes) -> bool:
        """Take a request whose head came before, as the parser would; False if this is none, or there is more behind it."""
        known = self._known.find(data)
        if known is None:
            return False
        _, end, scope, length = known
        left = end + length - len(data)
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
        if version not in _VERSIONS:
            self._wrong = (505, "HTTP version not supported")
            raise ValueError(version)
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
        if self._coming is not None and not self._coming.is_answered:
            self._coming.take(body)
            self._buffered.coming += len(body)
            self._buffered.count()

    def on_message_complete(self) -> None:
        """Take note that a request is here as a whole."""
        coming, self._coming = self._coming, None
        assert coming is not None
        self._in_head = True  # what comes next is a head again
        self._in_message = False
        self._head_bytes = 0
        self._is_last = not coming.stays
        coming.more = False
        self._buffered.coming = 0
        self._buffered.count()
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
            # While the client does not take an answer, no other is made for it.
            while exchanges and not exchanges[0].is_begun and self.blocked is None and not self.transport.is_closing():
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
        self.idle_since = time.monotonic()
        self.was_served = self.was_served or exchange.status < _REFUSALS
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
            self._until = min(self._until, time.monotonic() + _LAST_SECONDS)
        elif self.transport is not None:
            self.transport.close()

    def look(self, now: float) -> None:
        """Let go of a client that takes too long to send, or to take what it asked for."""
        if self._exchanges:
            self._exchanges[0].go_on()
        self._look_for_client()
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        if self._buffered.stalled_seconds(now) > (_LAST_SECONDS if self.server.is_ending else self._limits.stalled):
            # Not closed in good order: that would wait for the client to take what is unsent.
            self.transport.abort()
        elif now > self._until:
            if self._in_message and not self.transport.is_closing():
                self._refuse(408, "Request timeout")
            else:
                self.transport.abort()

    def _refuse(self, status: int, error: str, header: bytes = b"") -> None:
        """Answer what cannot be understood, behind all that could be, and hang up."""
        self._is_last = True
        coming, self._coming = self._coming, None
        if coming is not None and coming.is_answered:  # refused before its body came
            self.transport.close()
            return
        if coming is not None and coming is not self._exchanges[0]:
            self._exchanges.pop()
            coming = None
        if self._exchanges and coming is None:
            self._until = _FOREVER
            self._exchanges[-1].stays = False
            self._go_on()
            return
        if coming is None or not coming.is_started:
            self.transport.write(refusal(status, error.encode(), self.server.refusal_lines + header))
        self.transport.close()
