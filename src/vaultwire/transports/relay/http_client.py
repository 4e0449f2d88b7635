"""ConnectionPool to one HTTP server, kept alive between requests. What is said on them does not matter here.

Over ``http.client``: a request is a few lines there, TLS and chunked bodies are the standard library's, and a client
library would cost two to ten times its 30 ms of import. It waits for its answer, so each request under way has a thread.
What can be known of a request that failed is whether it can have had any effect: that is all the exceptions tell apart.
"""

from __future__ import annotations

import http.client
import select
import socket
import sys
import threading
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

CONNECT_SECONDS = 5.0
# Node hangs up after 5 seconds without a request: one that is sent just then is lost, and may or may not have run.
_IDLE_SECONDS = 4.0
# How long a peer that has vanished without a word goes unnoticed: TCP asks after so long, and so often.
_PROBE_SECONDS = 30
# As much as a message to a client at stdin may have (``transports.stdio``): of an answer, a line and an event. The largest
# note takes less, however it is escaped.
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# Behind the answer on a stream: the end of the stream, and perhaps a sign of life.
_MOST_BEHIND = 64 * 1024
_BROKEN = (OSError, http.client.HTTPException, ValueError, AttributeError)  # the last two: closed by another thread


class Unreachable(Exception):  # noqa: N818 - says what happened
    """The request has not reached the server whole, so it has not run. ``is_final``: nor will it if sent again."""

    def __init__(self, reason: str, *, is_final: bool) -> None:
        super().__init__(reason)
        self.is_final = is_final


class ConnectionLost(Exception):  # noqa: N818 - says what happened
    """The connection broke when the request was out: it may have run."""


class ResponseTooLarge(ConnectionLost):
    """The server answers with more than is taken. It makes no sense to ask for the rest."""


class Response:
    """What the server answers. To be read to its end, or closed."""

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
        """Return the whole body and give the connection back. Raises ConnectionLost."""
        try:
            body = self._open.read(MAX_ANSWER_BYTES + 1)
        except _BROKEN as error:
            self._connection.close()
            raise ConnectionLost(_reason(error)) from None
        if len(body) > MAX_ANSWER_BYTES:
            self._connection.close()
            raise ResponseTooLarge(f"its answer has more than {MAX_ANSWER_BYTES} bytes")
        if self._open.length:  # of the length its head said; a bounded read does not tell
            self._connection.close()
            raise ConnectionLost("it hung up in the middle of its answer")
        self._pool.give_back(self._connection, self._open)
        return body

    def lines(self) -> Iterator[bytes]:
        """Yield the body's lines as they come, each with its end. Raises ConnectionLost."""
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
                self._pool.give_back(self._connection, response)
                return
            yield line

    def finish(self, seconds: float) -> None:
        """Read what is left, if it ends in so many seconds and is not much, and give the connection back."""
        until = time.monotonic() + seconds
        left = _MOST_BEHIND
        try:
            while left > 0 and (patience := until - time.monotonic()) > 0:
                _set_patience(self._socket, patience)
                piece = self._open.read1(left)
                if not piece:
                    self._pool.give_back(self._connection, self._open)
                    return
                left -= len(piece)
        except _BROKEN:
            pass
        self._connection.close()

    def close(self) -> None:
        """Have nothing more to do with it."""
        self._connection.close()

    def abort(self) -> None:
        """Hang up while another thread reads, which then raises ConnectionLost."""
        if self._socket is not None:
            try:
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # past TLS, which is the reader's
            except OSError:  # gone already
                pass


class ConnectionPool:
    """As many connections to one server as there are requests at a time. Safe from any thread."""

    def __init__(self, connect: Callable[[], http.client.HTTPConnection], headers: Mapping[str, str]) -> None:
        """``connect`` makes one that is not open yet; ``headers`` go with every request."""
        self._connect = connect
        self._headers = dict(headers)
        self._lock = threading.Lock()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []

    def send(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        seconds: float | None = None,
    ) -> Response:
        """Send a request and return the answer to come. Raises Unreachable.

        ``seconds`` bounds each wait for the server; None: as long as the peer is there.
        """
        connection = self._take()
        try:
            if connection.sock is None:
                connection.connect()
            _set_patience(connection.sock, seconds)
            connection.request(method, path, body, {**self._headers, **headers})
        except _BROKEN as error:
            connection.close()
            raise Unreachable(_reason(error), is_final=_is_untrusted(error)) from None
        return Response(self, connection)

    def ask(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None = None,
        seconds: float | None = None,
    ) -> Response:
        """Send a request and wait until the answer begins. Raises Unreachable and ConnectionLost."""
        answer = self.send(method, path, headers, body, seconds)
        answer.begin()
        return answer

    def give_back(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        """Keep a connection whose answer has been read, if both sides want that."""
        if connection.sock is None or response.will_close:
            connection.close()
            return
        with self._lock:
            self._idle.append((connection, time.monotonic()))

    def close(self) -> None:
        """Close those that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()

    def _take(self) -> http.client.HTTPConnection:
        now = time.monotonic()
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                if now - since < _IDLE_SECONDS and _is_silent(connection.sock):
                    return connection
                connection.close()
        return self._connect()


def to_server(host: str, port: int, tls: Any = None) -> Callable[[], http.client.HTTPConnection]:
    """Return what makes connections to a server, over TLS if there is an ``ssl.SSLContext``."""
    if tls is None:
        return lambda: _Plain(host, port, timeout=CONNECT_SECONDS)
    return lambda: _Tls(host, port, timeout=CONNECT_SECONDS, context=tls)


def to_socket(path: str) -> Callable[[], http.client.HTTPConnection]:
    """Return what makes connections to a server at a socket in the file system (not on Windows)."""
    return lambda: _Local(path)


def make_tls(ca_file: str | None) -> Any:
    """Return what TLS needs to know a server: the system's authorities, or those in a PEM file. Raises OSError."""
    import ssl  # noqa: PLC0415 - only where there is TLS

    return ssl.create_default_context(cafile=ca_file)


class _Plain(http.client.HTTPConnection):
    """One that sends head and body together: a server woken for each of them takes a fifth longer."""

    _held: list[bytes] | None = None

    def request(
        self, method: str, url: str, body: Any = None, headers: Any = None, *, encode_chunked: bool = False
    ) -> None:
        """Send a request, whole."""
        self._held = []
        try:
            super().request(method, url, body, headers or {}, encode_chunked=encode_chunked)
            pieces, self._held = self._held, None
            super().send(b"".join(pieces))
        finally:
            self._held = None

    def send(self, data: Any) -> None:
        """Send, or hold what is part of a request."""
        if self._held is None:
            super().send(data)
        else:
            self._held.append(data)

    def connect(self) -> None:
        """Connect, and have the system notice a peer that is gone."""
        super().connect()
        _keep_alive(self.sock)


class _Tls(_Plain, http.client.HTTPSConnection):
    pass


class _Local(_Plain):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=CONNECT_SECONDS)
        self._path = path

    def connect(self) -> None:
        """Connect."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(CONNECT_SECONDS)
        self.sock.connect(self._path)


def _set_patience(connected: socket.socket | None, seconds: float | None) -> None:
    if connected is not None and connected.gettimeout() != seconds:
        connected.settimeout(seconds)


def _keep_alive(connected: socket.socket) -> None:
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name in ("TCP_KEEPIDLE", "TCP_KEEPALIVE", "TCP_KEEPINTVL"):  # the second is the first, on macOS
        if hasattr(socket, name):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), _PROBE_SECONDS)


def _is_silent(connected: socket.socket | None) -> bool:
    """Tell whether an idle connection is still good: one with something to read was hung up on."""
    if connected is None:
        return False
    if sys.platform == "win32":
        return not select.select([connected], [], [], 0)[0]
    poll = select.poll()
    poll.register(connected, select.POLLIN)
    return not poll.poll(0)


def _is_untrusted(error: Exception) -> bool:
    return type(error).__name__ == "SSLCertVerificationError"  # by name: without TLS its module need not be there


def _reason(error: Exception) -> str:
    """Return what went wrong, for a person."""
    if isinstance(error, TimeoutError):
        return "it did not answer in time"
    if _is_untrusted(error):
        return f"its certificate cannot be trusted: {getattr(error, 'verify_message', error)}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[:1].lower() + error.strerror[1:]
    if isinstance(error, http.client.RemoteDisconnected | ConnectionError):
        return "it hung up"
    return str(error) or type(error).__name__
