"""One request and its answer: ASGI on one side, bytes on the other (RFC 9112)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from vaultwire.transports import AT_ONCE, DONE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Coroutine, Iterable

    from vaultwire.transports import App, Message
    from vaultwire.transports.http_server.shapes import Line

# Of a body that nobody has asked for yet; the rest stays with the client.
_MAX_UNREAD_BYTES = 64 * 1024
# No body is longer; so more than that is left of one whose length nobody said.
_MAX_LENGTH = 1 << 62

_STATUS_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
_WITHOUT_BODY = (204, 304)  # RFC 9110, 6.4.1
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""No answer yet: what a client may wait for before it sends its body, and else has no use for."""
_LAST_LINES = b"connection: close\r\n\r\n"  # where nothing comes behind the answer


class Exchange:
    """One request and its answer, as ASGI has them."""

    __slots__ = (
        "_body", "_chunked", "_connection", "_given", "_head", "_is_put_off", "_left", "_rest", "_silent", "_size",
        "_waiting", "besides", "is_answered", "is_begun", "is_started", "more", "scope", "status", "stays",
    )  # fmt: skip

    def __init__(self, connection: Line, scope: dict[str, Any], *, stays: bool, body: bytes | None = None) -> None:
        """``stays``: the connection goes on behind the answer. ``body``: all of it, if it is here."""
        self.scope = scope
        self.besides = b""  # these two as in ``AtOnce``
        self.status = 0
        self.stays = stays
        self.more = body is None  # of the request's body is to come
        self.is_begun = False
        self.is_started = False  # the answer is
        self.is_answered = False
        self._connection = connection
        self._body: list[bytes] = [] if body is None else [body]
        self._size = 0
        self._given = False  # the end of the request's body was handed on
        self._is_put_off = False
        self._rest: Coroutine[Any, Any, None] | None = None  # what was put off
        self._waiting: asyncio.Future[None] | None = None

    def begin(self, app: App) -> Coroutine[Any, Any, None] | None:
        """Have the callable answer; return what is left to wait for, None if nothing is, or not yet.

        One that does not, or not to the end, ends the connection; why, it has told itself.
        """
        self.scope[AT_ONCE] = self
        try:
            left = app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001 - see above
            left = DONE
        if left is DONE:
            self._end()
            return None
        rest = self._see_through(left)
        if not self._is_put_off:
            return rest
        self._rest = rest
        return None

    def put_off(self) -> None:
        """Have what the callable returns begun later. See ``AtOnce``."""
        self._is_put_off = True

    def go_on(self) -> None:
        """Have it begun now. See ``AtOnce``."""
        self._is_put_off = False
        rest, self._rest = self._rest, None
        if rest is not None:
            self._connection.server.see_through(rest)

    async def _see_through(self, left: Awaitable[None]) -> None:
        try:
            await left
        except Exception:  # noqa: BLE001, S110 - see ``begin``
            pass
        finally:
            self._end()

    def _end(self) -> None:
        self.scope.pop(AT_ONCE, None)  # no circle, which would stay until the next collection
        if not self.is_answered:
            self._connection.transport.abort()

    def take(self, body: bytes) -> None:
        """Take a piece of the request's body."""
        if not self.is_answered:
            self._body.append(body)
            self._size += len(body)
            if self._size > _MAX_UNREAD_BYTES:
                self._connection.pause_reading()
            self.wake()

    def wake(self) -> None:
        """Have whoever waits for news look."""
        self.go_on()
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def body(self) -> bytes | None:
        """Return the whole body, None if it is not here, or the client waits to be asked for it. See ``AtOnce``."""
        if self.more or self._given or self._connection.is_gone:
            return None
        self._given = True
        pieces = self._body
        if len(pieces) == 1:
            return pieces.pop()
        self._body = []
        return b"".join(pieces)

    def reply(self, status: int, lines: bytes, body: bytes) -> bool:
        """Answer, as ``send`` does, to the byte; False if the client has to be waited for. See ``AtOnce``."""
        connection = self._connection
        transport, server = connection.transport, connection.server
        if (
            status in _WITHOUT_BODY
            or self.scope["method"] == "HEAD"
            or connection.blocked is not None
            or connection.is_gone
            or transport.is_closing()
        ):
            return False
        last = b"\r\n" if self.stays else _LAST_LINES
        length = b"content-length: %d\r\n" % len(body)
        self.status = status
        self.is_started = self.is_answered = True
        transport.write(b"".join((_STATUS_LINES[status], server.date, lines, length, self.besides, last, body)))
        if self._waiting is not None:
            self.wake()
        connection.on_answered(self)
        return True

    async def receive(self) -> Message:
        """Return what has come of the body; once that is all, wait for the client to leave."""
        connection = self._connection
        if self.more and not self._body and not self.is_started and _asks_first(self.scope["headers"]):
            connection.transport.write(CONTINUE)
        while not (connection.is_gone or self.is_answered):
            if self._body or not (self.more or self._given):
                body, self._body, self._size = b"".join(self._body), [], 0
                self._given = not self.more
                if self.more:
                    connection.resume_reading()
                return {"type": "http.request", "body": body, "more_body": self.more}
            self._waiting = connection.server.loop.create_future()
            await self._waiting
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a piece of its body; wait for a client that does not take them."""
        connection = self._connection
        while connection.blocked is not None:
            await connection.blocked
        if connection.is_gone or connection.transport.is_closing():
            return
        if message["type"] == "http.response.start":
            self._start(message["status"], message["headers"])
        else:
            self._go_on(message.get("body", b""), ends=not message.get("more_body"))

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Put the head together."""
        self.status = status
        self._head = b""  # of an answer whose body is to go out with it
        self._silent = False  # an answer without body
        self._chunked = False
        self._left = 0  # of the answer's body, as its head announced it
        length = None
        pieces = [_STATUS_LINES[status], self._connection.server.date]
        lines = 2
        for name, value in headers:
            if name == b"content-length":
                length = int(value)
            pieces += (name, b": ", value, b"\r\n")
            lines += 1
        self._silent = status in _WITHOUT_BODY or self.scope["method"] == "HEAD"
        if length is not None:
            self._left = length
        elif not self._silent and self.scope["http_version"] == "1.1":
            self._chunked = True
            pieces.append(b"transfer-encoding: chunked\r\n")
            lines += 1
        else:
            self._left = 2 * _MAX_LENGTH
        pieces.append(b"\r\n" if self.stays else _LAST_LINES)
        lines += 1 if self.stays else 2
        head = b"".join(pieces)
        if head.count(b"\n") != lines or head.count(b"\r") != lines:
            raise ValueError("a header of the answer has a line break in it")
        self.is_started = True
        if self._chunked:  # a stream, whose first piece may be long in coming
            self._connection.transport.write(head)
        else:
            self._head = head

    def _go_on(self, body: bytes, *, ends: bool) -> None:
        head, self._head = self._head, b""
        if self._silent:
            body = b""
        elif self._chunked:
            body = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
            if ends:
                body += b"0\r\n\r\n"
        else:
            self._left -= len(body)
            if self._left < 0 or (ends and 0 < self._left <= _MAX_LENGTH):
                raise ValueError("the body of the answer is not as long as its head says")
        if head or body:
            self._connection.transport.write(head + body)
        if ends:
            self.is_answered = True
            self.wake()
            self._connection.on_answered(self)


def _asks_first(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Tell whether a client waits with its body until it is asked for it. The word is one in any case (RFC 9110, 10.1.1)."""
    return any(name == b"expect" and value.strip(b" \t").lower() == b"100-continue" for name, value in headers)


def refusal(status: int, error: bytes, headers: bytes) -> bytes:
    """Return the bytes of an answer after which the connection is closed; ``headers`` are whole lines."""
    body = b'{"error":"%s","message":"%s"}' % (error, error)
    return (
        b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%sconnection: close\r\n\r\n%s"
        % (status, error, len(body), headers, body)
    )
