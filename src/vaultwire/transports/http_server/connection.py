"""One connection: parses bytes into requests, has them answered one after the other, and limits how long a client may take.

What happens between one request and its answer is in ``request_cycle``.
"""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from typing import Any
from urllib.parse import unquote

import httptools

from vaultwire.transports.http_server.connection_memory import ConnectionMemory
from vaultwire.transports.http_server.request_cycle import CONTINUE, RequestCycle, refusal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports.http_server.interfaces import OwningServer
    from vaultwire.transports.http_server.settings import Endpoint
    from vaultwire.transports.http_server.slots import Slots

# No client may send more (``guard.MAX_HEAD_BYTES``, in a piece that may be as long again).
_MAX_HEAD_BYTES = 32 * 1024
_FOREVER = float("inf")
# After a client has closed its sending side: when to look whether it still waits for its answer.
_PROBE_SECONDS = 0.1
# At the end of the server, for a client to finish its request or to take its answer.
_LAST_SECONDS = 2.0
_VERSIONS = ("1.0", "1.1")
_FIRST_ERROR_STATUS = 400
_ASGI = {"version": "3.0", "spec_version": "2.3"}


class Connection(asyncio.Protocol):
    """One connection of one client."""

    def __init__(self, server: OwningServer, endpoint: Endpoint, address: str, slots: Slots) -> None:
        """``address``: where the client is, as ``slots`` names it. The connection has its slot already."""
        self.server = server
        self._endpoint = endpoint
        self.address = address
        self.idle_since = time.monotonic()
        self.was_served = False
        self.is_refused = False  # there was no slot
        self.entering: asyncio.Task[None] | None = None  # until the TLS handshake is over
        self.transport: Any = None
        self._slots = slots
        self.blocked: asyncio.Future[None] | None = None  # while the client takes no more bytes
        self.is_gone = False
        self._limits = server.limits
        self._parser: Any = httptools.HttpRequestParser(self)  # None once the connection is lost
        self._cycles: deque[RequestCycle] = deque()  # not answered yet; the first is worked on
        self._incoming: RequestCycle | None = None  # whose body is not here yet
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._is_paused = False
        self._head_bytes = 0
        self._in_head = True
        self._in_message = False
        self._is_last = False  # no further request is read
        self._has_ended = False  # the client has closed its sending side
        self._error = (400, "Invalid request")  # why the parser stops
        self._deadline = _FOREVER  # for what the client has to send next
        self.memory: Any = None  # as soon as there is a transport

    # ------------------------------------------------------------------ called by asyncio

    def connection_made(self, transport: Any) -> None:
        """Begin to read, if there was a slot."""
        self.transport = transport
        if transport.is_closing():  # it was closed during the handshake
            self.is_gone = True
            self._slots.leave(self)
            return
        self.server.connections.add(self)
        self.memory = ConnectionMemory(self.server.loop, transport)
        self._deadline = time.monotonic() + self._limits.head
        if self.is_refused:
            self._refuse(503, "Too many connections", b"retry-after: 1\r\n")
        elif self.server.is_ending:
            self.server.loop.call_soon(self.end)

    def connection_lost(self, exception: Exception | None) -> None:  # noqa: ARG002 - asyncio's own names
        """Tell the requests that are worked on."""
        self.is_gone = True
        self.server.connections.discard(self)
        self._slots.leave(self)
        self.resume_writing()
        for cycle in tuple(self._cycles):
            cycle.wake()
        # No reference cycles: those that exist during ``gc.freeze`` would never be freed.
        self._cycles.clear()
        self._parser = self._incoming = None
        self.server.look_for_end()

    def eof_received(self) -> bool:
        """Note that the client sends nothing more; return True if it may still wait for an answer.

        A client that waits for its answer and one that has left look the same here. But a client does not stop in the
        middle of a request; and one that stops while its answer is a stream wants no more of the stream.
        """
        cycles = self._cycles
        if not cycles or cycles[0] is self._incoming or cycles[0].is_started:
            return False
        if self._incoming is not None:
            self._incoming = None
            cycles.pop()  # the app was not called for it
        self._is_last = self._has_ended = True
        self._deadline = _FOREVER
        cycles[-1].keeps_connection = False
        self.server.loop.call_later(_PROBE_SECONDS, self._probe)
        return True

    def _probe(self) -> None:
        """Send a client that sends nothing more an answer it ignores. If it is gone, its system says so now."""
        if self._waits_silently() and self._cycles[0].scope["http_version"] == "1.1":
            self.transport.write(CONTINUE)
            self.server.loop.call_later(_PROBE_SECONDS, self._drop_if_gone)

    def _drop_if_gone(self) -> None:
        """Close the connection if its client has turned out to be gone. Nothing is read from it, so nothing else tells."""
        if self._waits_silently():
            connected = self.transport.get_extra_info("socket")
            if connected is not None and connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.transport.abort()

    def _waits_silently(self) -> bool:
        """Tell whether a client that sends nothing more waits for an answer that has not begun."""
        return (
            self._has_ended
            and not self.transport.is_closing()
            and bool(self._cycles)
            and not self._cycles[0].is_started
        )

    @property
    def is_idle(self) -> bool:
        """Whether no request of it is worked on."""
        return not self._cycles

    def hang_up(self) -> None:
        """Close at once, to make room for another client."""
        if self.entering is not None and self.transport is None:
            self.entering.cancel()
        elif self.transport is not None:
            self.transport.abort()

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
        self._begin_next()

    def data_received(self, data: bytes) -> None:
        """Parse what came. The app is called for the first request as soon as its head is whole."""
        if self._is_last or self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._is_last = True  # the request is answered as any other; the protocol is never changed
        except httptools.HttpParserError:
            if not self._is_last:  # else they are bytes after the last request
                self._refuse(*self._error)
            return
        if self._in_head and self._head_bytes > _MAX_HEAD_BYTES:
            self._refuse(431, "Request headers too large")
        elif len(self._cycles) > 1:
            self.pause_reading()

    # ------------------------------------------------------------------ called by the parser

    def on_message_begin(self) -> None:
        """Note that a request begins."""
        self._url = b""
        self._headers = []
        self._in_head = self._in_message = True
        self._deadline = time.monotonic() + self._limits.head

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
        self._deadline = time.monotonic() + self._limits.body
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
        keeps = parser.should_keep_alive() and version == "1.1" and not parser.should_upgrade()
        self._incoming = RequestCycle(self, scope, keeps_connection=keeps)
        self._cycles.append(self._incoming)
        self._begin_next()

    def on_body(self, body: bytes) -> None:
        """Add a piece of the body."""
        if self._incoming is not None and not self._incoming.is_answered:
            self._incoming.add_body(body)
            self.memory.body_size += len(body)
            self.memory.count()

    def on_message_complete(self) -> None:
        """Note that a request is here as a whole."""
        cycle, self._incoming = self._incoming, None
        assert cycle is not None
        self._in_head = True  # of the next request
        self._in_message = False
        self._head_bytes = 0
        self._is_last = not cycle.keeps_connection
        cycle.has_more_body = False
        self.memory.body_size = 0
        self.memory.count()
        cycle.wake()
        self._deadline = time.monotonic() + self._limits.idle if cycle.is_answered else _FOREVER

    # ------------------------------------------------------------------ one request after the other

    def _begin_next(self) -> None:
        """Call the app for the first request, unless that has been done. A client that takes no answers gets no further one."""
        if self._cycles and self.blocked is None and not self.transport.is_closing():
            first = self._cycles[0]
            if not first.is_begun:
                first.is_begun = True
                self.server.start_task(first.run(self._endpoint.app))

    def on_answered(self, cycle: RequestCycle) -> None:
        """Go on to the next request, or close the connection."""
        self._cycles.popleft()
        self.idle_since = time.monotonic()
        self.was_served = self.was_served or cycle.status < _FIRST_ERROR_STATUS
        if self.transport.is_closing():
            return
        if not cycle.keeps_connection or (self.server.is_ending and not self._cycles):
            self.transport.close()
            return
        if not self._in_message:  # else it was refused before its whole body came, and the time for the body runs on
            self._deadline = _FOREVER if self._cycles else time.monotonic() + self._limits.idle
        self.resume_reading()
        self._begin_next()

    def pause_reading(self) -> None:
        """Read no more for now."""
        self._is_paused = True
        self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Read on if reading was paused and no request waits."""
        if self._is_paused and len(self._cycles) <= 1 and not self.transport.is_closing():
            self._is_paused = False
            self.transport.resume_reading()

    def end(self) -> None:
        """Close after the requests that are worked on, at once if there are none."""
        if self._cycles:
            self._cycles[-1].keeps_connection = False
            self._deadline = min(self._deadline, time.monotonic() + _LAST_SECONDS)
        elif self.transport is not None:
            self.transport.close()

    def check_time(self, now: float) -> None:
        """Close the connection of a client that takes too long to send, or to take its answer."""
        self._drop_if_gone()
        if self.transport.is_closing() and not self.transport.get_write_buffer_size():
            return
        if self.memory.stalled_seconds(now) > (_LAST_SECONDS if self.server.is_ending else self._limits.stalled):
            # Not ``close``, which would wait until the client has taken what is unsent.
            self.transport.abort()
        elif now > self._deadline:
            if self._in_message and not self.transport.is_closing():
                self._refuse(408, "Request timeout")
            else:
                self.transport.abort()

    def _refuse(self, status: int, error: str, header: bytes = b"") -> None:
        """Answer what is not understood, after all requests that were, and close."""
        self._is_last = True
        incoming, self._incoming = self._incoming, None
        if incoming is not None and incoming.is_answered:  # refused before its body came
            self.transport.close()
            return
        if incoming is not None and incoming is not self._cycles[0]:
            self._cycles.pop()
            incoming = None
        if self._cycles and incoming is None:
            self._deadline = _FOREVER
            self._cycles[-1].keeps_connection = False
            return
        if incoming is None or not incoming.is_started:
            lines = b"".join(b"%s: %s\r\n" % line for line in self._endpoint.refusal_headers)
            self.transport.write(refusal(status, error.encode(), lines + header))
        self.transport.close()
