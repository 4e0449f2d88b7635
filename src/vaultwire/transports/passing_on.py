"""Passes HTTP requests on to another vaultwire, as they are: heads, bodies and streams, both ways while they last.

The other server checks the request as if the client had come to it: names, keys, sizes. Nothing is kept here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

import httptools

from vaultwire.transports import PASSED_ON, send_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ssl import SSLContext

    from vaultwire.transports import Message, Receive, Scope, Send

RETRY_SECONDS = 2
# The other server is near. One that has crashed with its computer answers nothing at all.
_CONNECT_SECONDS = 3.0
# How often to look whether the other server still is the one to ask.
_LOOK_SECONDS = 1.0
# For an answer that it made while it was, to be on its way.
_LAST_SECONDS = 1.0
_PIECE = 1 << 16
_PORTS = {"http": 80, "https": 443}
# Of one connection, not of the message (RFC 9110, 7.6.1).
_OF_CONNECTION = frozenset(
    (
        b"connection",
        b"date",  # each server writes its own
        b"expect",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
        PASSED_ON,
    )
)


async def refuse(send: Send, message: str, seconds: int = RETRY_SECONDS) -> None:
    """Answer that the server cannot say anything now, and when to ask again."""
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"%d" % seconds)]
    body = {"error": "SERVER_BUSY", "message": f"{message} Try again in {seconds} seconds."}
    await send_whole(send, 503, headers, json.dumps(body).encode())


async def pass_on(
    address: str,
    scope: Scope,
    receive: Receive,
    send: Send,
    is_current: Callable[[], bool] = lambda: True,
    *,
    only_reads: bool = False,
) -> None:
    """Pass one request on to the server at ``address`` (``http://HOST:PORT``), and its answer back.

    ``is_current`` tells whether that server still is the one to ask: one that is paused or cut off ends no connection, and an
    answer of it may never come. ``only_reads``: the request changes nothing, so that the client may repeat it without a look.
    """
    parts = urlsplit(address)
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            tls = _make_tls() if parts.scheme == "https" else None
            reader, writer = await _connected(parts.hostname or "", parts.port or _PORTS[parts.scheme], tls)
    except (OSError, TimeoutError):
        await refuse(send, "The server that owns these vaults cannot be reached. Nothing was done.")
        return
    answer, body = _Answer(scope["method"], send), _Body(scope, receive)
    try:
        _write(writer, _head(scope))
        sending = asyncio.ensure_future(body.send_to(writer))
        reading = asyncio.ensure_future(answer.read_from(reader))
        try:
            # The client's leaving ends it; an answer may come before the body is whole.
            await _wait_for_one((sending, reading), is_current)
            if not reading.done() and sending.exception() is None:
                return  # the client has left
            await reading
        finally:
            for task in (sending, reading):
                task.cancel()
                with suppress(asyncio.CancelledError, OSError):
                    await task
    except OSError:
        if answer.has_begun:
            raise
        if not body.is_whole:
            done = ", nor taken the whole request. Nothing was done."
        else:
            done = ". Nothing was changed." if only_reads else ", and perhaps has done it: look first."
        await refuse(send, f"The server that owns these vaults has not answered{done}")
    finally:
        if answer.is_whole:
            writer.close()
        else:  # what is not sent yet may wait for a server that is paused
            writer.transport.abort()
        with suppress(OSError):
            await writer.wait_closed()


async def _wait_for_one(tasks: Sequence[asyncio.Future[None]], is_current: Callable[[], bool]) -> None:
    """Wait until one of the tasks is done. Raises ConnectionAbortedError if the other server has not answered in its time."""
    waits = partial(asyncio.wait, tasks, return_when=asyncio.FIRST_COMPLETED)
    done: set[asyncio.Future[None]] = set()
    while not done and is_current():
        done, _ = await waits(timeout=_LOOK_SECONDS)
    if not done:
        done, _ = await waits(timeout=_LAST_SECONDS)
    if not done:
        raise ConnectionAbortedError


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    """Write to the other server. Raises ConnectionResetError if the connection is lost: uvloop raises RuntimeError then."""
    if writer.transport.is_closing():
        raise ConnectionResetError
    writer.write(data)


def _make_tls() -> SSLContext:
    import ssl  # noqa: PLC0415 - 4 MB that a server without does not need

    return ssl.create_default_context()


def _is_chunked(scope: Scope) -> bool:
    return any(name == b"transfer-encoding" for name, _ in scope["headers"])


def _head(scope: Scope) -> bytes:
    target = scope["raw_path"] + (b"?" + scope["query_string"] if scope["query_string"] else b"")
    lines = [b"%s %s HTTP/1.1" % (scope["method"].encode(), target)]
    lines += [b"%s: %s" % (name, value) for name, value in scope["headers"] if name not in _OF_CONNECTION]
    lines += [b"connection: close", PASSED_ON + b": 1"]
    if _is_chunked(scope):
        lines.append(b"transfer-encoding: chunked")
    return b"\r\n".join(lines) + b"\r\n\r\n"


class _Reader(asyncio.StreamReader):
    """Gives what came before the connection was lost: an answer may come before the body that it refuses has gone out."""

    def set_exception(self, exc: Exception) -> None:  # noqa: ARG002 - asyncio's own name
        """Take a lost connection for the end of what comes."""
        self.feed_eof()


async def _connected(host: str, port: int, tls: SSLContext | None) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    reader = _Reader(limit=_PIECE, loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.create_connection(lambda: protocol, host, port, ssl=tls)
    return reader, asyncio.StreamWriter(transport, protocol, reader, loop)


class _Body:
    """The body of a request on its way."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._is_chunked = _is_chunked(scope)
        self._left = next((int(value) for name, value in scope["headers"] if name == b"content-length"), 0)
        self.is_whole = not (self._is_chunked or self._left)
        """Whether all of it is sent. Its last bytes may come before the message that says so."""
        self._receive = receive

    async def send_to(self, writer: asyncio.StreamWriter) -> None:
        """Send the body, then wait until the client leaves."""
        while (message := await self._receive())["type"] == "http.request":
            piece: bytes = message.get("body", b"")
            has_more = bool(message.get("more_body"))
            if self._is_chunked:
                piece = (b"%x\r\n%s\r\n" % (len(piece), piece) if piece else b"") + (b"" if has_more else b"0\r\n\r\n")
            _write(writer, piece)
            self._left -= len(piece)
            self.is_whole = not has_more or (self._left <= 0 and not self._is_chunked)
            await writer.drain()


class _BrokenAnswerError(ConnectionError):
    """The other server's answer has no end, or is none."""


class _Answer:
    """The answer on its way to the client; the methods ``on_...`` are called by httptools."""

    def __init__(self, method: str, send: Send) -> None:
        self.has_begun = False
        self.is_whole = False
        self._has_no_body = method == "HEAD"
        self._send = send
        self._headers: list[tuple[bytes, bytes]] = []
        self._messages: list[Message] = []
        self._parser = httptools.HttpResponseParser(self)

    async def read_from(self, reader: asyncio.StreamReader) -> None:
        """Pass the answer on, piece by piece. Raises _BrokenAnswerError."""
        while not self.is_whole:
            data = await reader.read(_PIECE)
            if not data:
                raise _BrokenAnswerError
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserError as error:
                if not self.is_whole:  # of HEAD it takes what follows for a body
                    raise _BrokenAnswerError from error
            messages, self._messages = self._messages, []
            for message in messages:
                self.has_begun = True
                await self._send(message)

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name not in _OF_CONNECTION:
            self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._messages.append({"type": "http.response.start", "status": status, "headers": self._headers})
        if self._has_no_body:
            self.on_message_complete()

    def on_body(self, body: bytes) -> None:
        self._messages.append({"type": "http.response.body", "body": body, "more_body": True})

    def on_message_complete(self) -> None:
        if not self.is_whole:
            self.is_whole = True
            self._messages.append({"type": "http.response.body", "body": b""})
