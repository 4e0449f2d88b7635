"""An HTTP client: a pool of connections to one server, kept alive between requests. It does not know what MCP is.

It uses ``http.client``: TLS and chunked bodies are the standard library's, and another client library would take two to ten
times its 30 ms of import. A request blocks until its response comes, so each request in flight has its own thread.
The exceptions tell one thing apart: whether a failed request can have had an effect.
"""

from __future__ import annotations

import http.client
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

_CONNECT_SECONDS = 5.0
# Node closes a connection after 5 idle seconds. A request that is sent at that moment is lost: it may or may not have run.
_IDLE_SECONDS = 4.0
# TCP keep-alive: the first probe after so many seconds, and the time between two probes.
_PROBE_SECONDS = 30
# The most bytes of a body, of one line and of one event: as many as a message to a client at stdin may have
# (``transports.stdio``). The largest note needs less, however it is escaped.
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# The most bytes that are read after the last event that a caller waits for: the end of the stream, and comments.
_MAX_REST_BYTES = 64 * 1024
_BROKEN = (OSError, http.client.HTTPException, ValueError, AttributeError)  # the last two: closed by another thread


class Unreachable(Exception):  # noqa: N818 - says what happened
    """The server did not get the whole request, so it has not run. ``is_final``: another attempt would fail, too."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final


class ConnectionLost(Exception):  # noqa: N818 - says what happened
    """The connection broke after the request was sent: it may have run."""


class ResponseTooLarge(ConnectionLost):
    """The response is larger than the limit. To ask for the rest would not help."""


class Response:
    """The response to one request. The caller must read it to its end, or close it."""

    def __init__(self, pool: ConnectionPool, connection: http.client.HTTPConnection) -> None:
        self._pool = pool
        self._connection = connection
        self._socket = connection.sock
        self._response: http.client.HTTPResponse | None = None

    def begin(self) -> None:
        """Wait for status and headers. Raises ConnectionLost."""
        try:
            self._response = self._connection.getresponse()
        except _BROKEN as error:
            self._connection.close()
            raise ConnectionLost(_reason(error)) from None

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self._open.status

    @property
    def _open(self) -> http.client.HTTPResponse:
        assert self._response is not None  # ``begin`` comes first
        return self._response

    def header(self, name: str) -> str:
        """Return a header's value, empty where it is missing."""
        return self._open.getheader(name, "")

    def body(self) -> bytes:
        """Return the whole body and release the connection. Raises ConnectionLost."""
        try:
            body = self._open.read(MAX_ANSWER_BYTES + 1)
        except _BROKEN as error:
            self._connection.close()
            raise ConnectionLost(_reason(error)) from None
        if len(body) > MAX_ANSWER_BYTES:
            self._connection.close()
            raise ResponseTooLarge(f"its answer has more than {MAX_ANSWER_BYTES} bytes")
        if self._open.length:  # bytes still missing by Content-Length; a bounded read does not report them
            self._connection.close()
            raise ConnectionLost("it hung up in the middle of its answer")
        self._pool.release(self._connection, self._open)
        return body

    def lines(self) -> Iterator[bytes]:
        """Yield the body's lines as they come, with their line ends. Raises ConnectionLost."""
        response = self._open
        while True:
            try:
                line = response.readline(MAX_ANSWER_BYTES + 1)
            except _BROKEN as error:
                self._connection.close()
                raise ConnectionLost(_reason(error)) from None
            if len(line) > MAX_ANSWER_BYTES:
                self._connection.close()
                raise ResponseTooLarge(f"a line of its answer has more than {MAX_ANSWER_BYTES} bytes")
            if not line:
                self._pool.release(self._connection, response)
                return
            yield line

    def finish(self, seconds: float) -> None:
        """Read the rest, if it is small and ends within ``seconds``, and release the connection. Else close it."""
        until = time.monotonic() + seconds
        left = _MAX_REST_BYTES
        try:
            while left > 0 and (remaining := until - time.monotonic()) > 0:
                _set_timeout(self._socket, remaining)
                piece = self._open.read1(left)
                if not piece:
                    self._pool.release(self._connection, self._open)
                    return
                left -= len(piece)
        except _BROKEN:
            pass
        self._connection.close()

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def abort(self) -> None:
        """Break the connection while another thread reads from it. That thread then raises ConnectionLost."""
        if self._socket is not None:
            try:
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # below TLS, whose state belongs to the reader
            except OSError:  # gone already
                pass


class ConnectionPool:
    """A pool: as many connections to one server as there are requests at a time. Safe to use from any thread."""

    def __init__(self, host: str, port: int, tls: Any, headers: Mapping[str, str]) -> None:
        """``tls`` is an ``ssl.SSLContext``, None for connections without TLS; ``headers`` go with every request."""
        self._host = host
        self._port = port
        self._tls = tls
        self._headers = dict(headers)
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._was_reached = False

    def reaches(self) -> bool:
        """Tell whether the server was ever connected to; if nothing was sent, try once."""
        if not self._was_reached:
            connection = self._new()
            with suppress(*_BROKEN):
                connection.connect()
                self._was_reached = True
            connection.close()
        return self._was_reached

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        seconds: float | None = None,
    ) -> Response:
        """Send a request and return its response, which has not begun yet. Raises Unreachable.

        ``seconds`` bounds each wait for the server; None waits as long as the connection lives.
        """
        connection = self._acquire()
        try:
            if connection.sock is None:
                connection.connect()
            self._was_reached = True
            _set_timeout(connection.sock, seconds)
            connection.request(method, path, body, {**self._headers, **headers})
        except _BROKEN as error:
            connection.close()
            raise Unreachable(_reason(error), is_final=_is_untrusted(error)) from None
        return Response(self, connection)

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        seconds: float | None = None,
    ) -> Response:
        """Send a request and wait for the status and headers. Raises Unreachable and ConnectionLost."""
        response = self.send(method, path, headers, body, seconds)
        response.begin()
        return response

    def release(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        """Put a connection whose response has been read back into the pool, if the server keeps it open."""
        if connection.sock is None or response.will_close:
            connection.close()
            return
        with self._lock:
            self._idle.append((connection, time.monotonic()))

    def close(self) -> None:
        """Close the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _acquire(self) -> http.client.HTTPConnection:
        now = time.monotonic()
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                if now - since < _IDLE_SECONDS and _is_usable(connection.sock):
                    return connection
                connection.close()
        return self._new()

    def _new(self) -> http.client.HTTPConnection:
        """Return a connection that is not open yet."""
        if self._tls is None:
            return _Tcp(self._host, self._port, timeout=_CONNECT_SECONDS)
        return _Tls(self._host, self._port, timeout=_CONNECT_SECONDS, context=self._tls)


def make_tls(ca_file: str | None) -> Any:
    """Return an ``ssl.SSLContext`` that trusts the system's certificates, or those in a PEM file. Raises OSError."""
    return ssl.create_default_context(cafile=ca_file)


class _Tcp(http.client.HTTPConnection):
    def connect(self) -> None:
        """Connect, with TCP keep-alive: the system then notices a peer that vanished."""
        super().connect()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL"):  # macOS has the second name for the first one
            if hasattr(socket, name):
                self.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), _PROBE_SECONDS)


class _Tls(_Tcp, http.client.HTTPSConnection):
    pass


def _set_timeout(connected: socket.socket | None, seconds: float | None) -> None:
    if connected is not None and connected.gettimeout() != seconds:
        connected.settimeout(seconds)


def _is_usable(connected: socket.socket | None) -> bool:
    """Tell whether an idle connection is still good. One with something to read was closed by the server."""
    try:
        return connected is not None and not select.select([connected], [], [], 0)[0]
    except (OSError, ValueError):  # closed here
        return False


def _is_untrusted(error: Exception) -> bool:
    return type(error).__name__ == "SSLCertVerificationError"  # by name: without TLS its module need not be there


def _reason(error: Exception) -> str:
    """Return why a request failed, in words for a person."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if _is_untrusted(error):
        return f"its certificate cannot be trusted: {getattr(error, 'verify_message', error)}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    if isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        return "it hung up"
    return str(error) or type(error).__name__
