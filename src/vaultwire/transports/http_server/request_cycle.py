"""One request and its answer: ASGI on one side, bytes on the other (RFC 9112). Not the parsing, which is ``connection``'s."""

from __future__ import annotations

from http import HTTPStatus

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from vaultwire.transports import App, Message, Scope
    from vaultwire.transports.http_server.interfaces import ClientConnection

# Of a body that the app has not asked for yet; the client keeps the rest.
_MAX_UNREAD_BYTES = 64 * 1024

_STATUS_LINES = {status.value: b"HTTP/1.1 %d %s\r\n" % (status, status.phrase.encode()) for status in HTTPStatus}
_WITHOUT_BODY = (204, 304)  # RFC 9110, 6.4.1
_CLOSE = b"connection: close\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
"""Not an answer yet. A client may wait for this before it sends its body, and ignores it otherwise."""


class RequestCycle:
    """One request and its answer, as ASGI has them."""

    __slots__ = (
        "_body", "_chunked", "_connection", "_end_was_read", "_head", "_left", "_silent", "_size", "_waiting",
        "has_more_body", "is_answered", "is_begun", "is_started", "keeps_connection", "scope", "status",
    )  # fmt: skip

    def __init__(self, connection: ClientConnection, scope: Scope, *, keeps_connection: bool) -> None:
        """``keeps_connection``: the connection stays open after the answer."""
        self.scope = scope
        self.keeps_connection = keeps_connection
        self.status = 0
        self.has_more_body = True  # more of the request's body is to come
        self.is_begun = False  # the app was called
        self.is_started = False  # the answer's head was sent
        self.is_answered = False
        self._connection = connection
        self._body: list[bytes] = []  # what came and was not read yet
        self._size = 0  # of it, in bytes
        self._end_was_read = False
        self._waiting: asyncio.Future[None] | None = None  # ``receive`` waits for it

    async def run(self, app: App) -> None:
        """Have the app answer. If it fails, or does not finish its answer, the connection ends; the guard has logged why."""
        try:
            await app(self.scope, self.receive, self.send)
        except Exception:  # noqa: BLE001, S110 - see above
            pass
        finally:
            transport = self._connection.transport
            if not self.is_answered and not transport.is_closing():
                transport.abort()

    def add_body(self, body: bytes) -> None:
        """Take a piece of the request's body from the parser."""
        if not self.is_answered:
            self._body.append(body)
            self._size += len(body)
            if self._size > _MAX_UNREAD_BYTES:
                self._connection.pause_reading()
            self.wake()

    def wake(self) -> None:
        """Have ``receive`` look again: there is more of the body, or the client has left."""
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def receive(self) -> Message:
        """Return what has come of the body. After its end, wait until the client leaves."""
        connection = self._connection
        if self.has_more_body and not self._body and not self.is_started and _expects_continue(self.scope["headers"]):
            connection.transport.write(CONTINUE)
        while not (connection.is_gone or self.is_answered):
            if self._body or not (self.has_more_body or self._end_was_read):
                body, self._body, self._size = b"".join(self._body), [], 0
                self._end_was_read = not self.has_more_body
                if self.has_more_body:
                    connection.resume_reading()
                return {"type": "http.request", "body": body, "more_body": self.has_more_body}
            self._waiting = connection.server.loop.create_future()
            await self._waiting
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """Send the head of the answer, or a piece of its body; wait while the client takes no bytes."""
        connection = self._connection
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
        self._silent = status in _WITHOUT_BODY or self.scope["method"] == "HEAD"
        values = list(headers)
        length = dict(values).get(b"content-length")
        self._left = None if length is None else int(length)  # of the body, as the head says; None where it does not
        lines = [b"%s: %s\r\n" % (name, value) for name, value in values]
        self._chunked = self._left is None and not self._silent and self.scope["http_version"] == "1.1"
        if self._chunked:
            lines.append(b"transfer-encoding: chunked\r\n")
        if not self.keeps_connection:
            lines.append(_CLOSE)
        head = b"".join(lines)
        if head.count(b"\n") != len(lines) or head.count(b"\r") != len(lines):
            raise ValueError("a header of the answer has a line break in it")
        self._head = b"%s%s%s\r\n" % (_STATUS_LINES[status], self._connection.server.date, head)
        self.is_started = True
        if self._chunked:  # a stream: its first piece may come late
            self._connection.transport.write(self._head)
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
            self._connection.memory.write(head + body)
        if is_last:
            self.is_answered = True
            self.wake()
            self._connection.on_answered(self)


def _expects_continue(headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Tell whether the client waits with its body until it is asked for it. Letter case is free (RFC 9110, 10.1.1)."""
    return any(name == b"expect" and value.strip(b" \t").lower() == b"100-continue" for name, value in headers)


def refusal(status: int, error: bytes, headers: bytes) -> bytes:
    """Return the bytes of an answer after which the connection closes; ``headers`` are whole lines."""
    body = b'{"error":"%s","message":"%s"}' % (error, error)
    return (
        b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%sconnection: close\r\n\r\n%s"
        % (status, error, len(body), headers, body)
    )
