"""One request and its answer: ASGI on one side, bytes on the other (RFC 9112)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from vaultwire.transports import AT_ONCE

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from vaultwire.transports import App, Message
    from vaultwire.transports.http_server.connection import Connection

# Of a body that nobody has asked for yet; the rest stays with the client.
_MAX_UNREAD_BYTES = 64 * 1024
# No body is longer; so more than that is left of one whose length nobody said.
_MAX_LENGTH = 1 << 62

_STATUS_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
_WITHOUT_BODY = (204, 304)  # RFC 9110, 6.4.1


class Exchange:
    """One request and its answer, as ASGI has them."""

    __slots__ = (
        "_body", "_chunked", "_connection", "_given", "_head", "_left", "_silent", "_size", "_waiting", "is_answered",
        "is_begun", "is_started", "more", "scope", "stays",
    )  # fmt: skip

    def __init__(self, connection: Connection, scope: dict[str, Any], *, stays: bool) -> None:
        """``stays``: the connection goes on behind the answer."""
        self.scope = scope
        self.stays = stays
        self.more = True  # of the request's body is to come
        self.is_begun = False
        self.is_started = False  # the answer is
        self.is_answered = False
        self._connection = connection
        self._body: list[bytes] = []
        self._size = 0
        self._given = False  # the end of the request's body was handed on
        self._waiting: asyncio.Future[None] | None = None
        self._head = b""  # of an answer whose body is to go out with it
        self._silent = False  # an answer without body
        self._chunked = False
        self._left = 0  # of the answer's body, as its head announced it

    async def run(self, app: App) -> None:
        """Have the callable answer. One that does not, or not to the end, ends the connection; why, it has told itself."""
        self.scope[AT_ONCE] = self
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001, S110 - see above
            pass
        finally:
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

    def take_all(self, body: bytes) -> None:
        """Take the request's body, before anybody asked for it."""
        self._body = [body]
        self.more = False

    def wake(self) -> None:
        """Have whoever waits for news look."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    def body(self) -> bytes | None:
        """Return the whole body, None if it is not here, or the client waits to be asked for it. See ``AtOnce``."""
        if self.more or self._given or self._connection.is_gone:
            return None
        self._given = True
        pieces, self._body, self._size = self._body, [], 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def reply(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes, lines: bytes = b"") -> bool:
        """Answer, as ``send`` does; False if the client has to be waited for. See ``AtOnce``.

        ``lines`` are headers as they go onto the wire.
        """
        connection = self._connection
        if connection.blocked is not None or connection.is_gone or connection.transport.is_closing():
            return False
        self._start(status, headers, lines)
        self._go_on(body, ends=True)
        return True

    async def receive(self) -> Message:
        """Return what has come of the body; once that is all, wait for the client to leave."""
        connection = self._connection
        if (
            self.more
            and not self._body
            and not self.is_started
            and (b"expect", b"100-continue") in self.scope["headers"]
        ):
            connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
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

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]], sound: bytes = b"") -> None:
        """Put the head together; ``sound`` are headers that have no line breaks but their last."""
        length = None
        pieces = [_STATUS_LINES[status], b"date: ", self._connection.server.date, b"\r\n"]
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
        if not self.stays:
            pieces.append(b"connection: close\r\n")
            lines += 1
        head = b"".join(pieces)
        if head.count(b"\n") != lines or head.count(b"\r") != lines:
            raise ValueError("a header of the answer has a line break in it")
        head += sound + b"\r\n"
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
            if self._waiting is not None:
                self.wake()
            self._connection.on_answered(self)
