"""Sockets, TLS and the run of the HTTP server, uvicorn. What is answered is the matter of the callable it is given.

What stops a server from starting is a ``StartError`` whose message is one line for a person. How slowly a client may send
and read is decided here, because only here are there bytes: uvicorn itself waits for as long as a client likes.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import os
import signal
import socket
import ssl
import sys
import time
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from types import FrameType

    from vaultwire.transports import App


class Limits(NamedTuple):
    """How much a client may take of the server's patience; in seconds, but for ``connections``."""

    # A process on macOS may have 256 files open unless somebody changed that; each connection is one.
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


# More than this comes of no client (``guard.MAX_HEAD_BYTES``, in a piece that may be as long again).
_MAX_HEAD_BYTES = 32 * 1024
_FOREVER = float("inf")


class StartError(Exception):
    """The server cannot start as it was told to."""


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address, not listening yet. Raises StartError. Port 0 is any that is free."""
    try:
        # For a name with several addresses, IPv4 first: that is where clients of old look.
        found = sorted(
            socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE),
            key=lambda each: each[0] != socket.AF_INET,
        )
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "no name of a computer"
        raise StartError(f"cannot listen on {host!r}: {reason}. Give an address of this computer with --host") from None
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        if sys.platform == "win32":  # where SO_REUSEADDR would let two servers have one port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(1)  # two may bind one port as long as neither listens; asyncio sets the real length
    except OSError as error:
        listener.close()
        raise StartError(_why_not(error, host, port)) from None
    return listener


def is_loopback(listener: socket.socket) -> bool:
    """Tell whether only this computer itself can reach the socket."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_loopback


def is_any_address(listener: socket.socket) -> bool:
    """Tell whether the socket can be reached at every address of this computer."""
    return ipaddress.ip_address(listener.getsockname()[0].partition("%")[0]).is_unspecified


def names(listener: socket.socket, *others: str) -> frozenset[str]:
    """Return what the socket's server may be called by, as ``Host`` headers spell it, without ports."""
    named = {"localhost", "127.0.0.1", "::1", listener.getsockname()[0], *others}
    return frozenset(f"[{name}]" if ":" in name else name.lower() for name in named)


def url(listener: socket.socket, *, tls: bool) -> str:
    """Return where a bound socket is reached."""
    host, port = listener.getsockname()[:2]
    return f"{'https' if tls else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def make_tls(certificate: str, key: str | None) -> ssl.SSLContext:
    """Return what TLS needs, from PEM files; without ``key`` it is in the certificate's. Raises StartError."""
    for what, path in (("certificate", certificate), ("key", key)):
        if path is not None:
            _check_readable(what, path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])

    def refuse_password() -> str:
        raise StartError(f"the key {key or certificate} is protected by a password; give one without")

    try:
        context.load_cert_chain(certificate, key, refuse_password)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            raise StartError(f"the key {key} does not belong to the certificate {certificate}") from None
        files = certificate if key is None else f"{certificate} and {key}"
        raise StartError(f"no certificate and key in PEM form in {files} ({error.reason or error})") from None
    except OSError as error:
        raise StartError(f"cannot read {certificate}: {error.strerror}") from None
    return context


def run(
    app: App,
    listener: socket.socket,
    tls: ssl.SSLContext | None,
    on_ready: Callable[[], None],
    on_stop: Callable[[], Awaitable[None]],
    limits: Limits,
) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; then finish what is in flight and return. A second signal does not wait.

    ``on_ready`` is called once connections are taken, ``on_stop`` when no more are: it ends what would go on for ever.
    """
    config = uvicorn.Config(
        app,
        http=type("Connection", (_Connection,), {"limits": limits}),
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        log_level=logging.CRITICAL + 1,  # the guard tells of what happens; uvicorn would name paths and crashes twice
        access_log=False,
        proxy_headers=False,  # who may come must not depend on what a caller says of itself
        server_header=False,
        timeout_keep_alive=int(limits.idle),
        timeout_graceful_shutdown=limits.grace,
        timeout_notify=1,
        workers=1,
    )
    config.load()
    config.ssl = tls
    server = _Server(config, on_ready, on_stop)

    async def look_at_connections() -> None:
        now = time.monotonic()
        for connection in list(server.server_state.connections):
            if isinstance(connection, _Connection):
                connection.look(now)

    config.callback_notify = look_at_connections
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, server.handle_exit)
    server.run(sockets=[listener])


class _Server(uvicorn.Server):
    """uvicorn's server, which ends well when it is told to end, and tells when it begins and ends."""

    def __init__(
        self, config: uvicorn.Config, on_ready: Callable[[], None], on_stop: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(config)
        self._on_ready = on_ready
        self._on_stop = on_stop

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:  # noqa: ARG002 - uvicorn's own names
        """Take a signal. It is not raised again at the end: that would make a good end look like a crash."""
        self.force_exit = self.should_exit
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take connections."""
        await super().startup(sockets)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no more connections and finish those there are."""
        for server in self.servers:
            server.close()
        await self._on_stop()
        await super().shutdown(sockets)


class _Corked:
    """A transport that sends together what is written together.

    uvicorn writes head and body of an answer apart, and a client that is woken for each of them waits a fifth longer.
    """

    __slots__ = ("_loop", "_pieces", "_transport")

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Write with all else that is written before the loop turns."""
        if not self._pieces:
            self._loop.call_soon(self.flush)
        self._pieces.append(data)

    def close(self) -> None:
        """Close when all is written."""
        self.flush()
        self._transport.close()

    def flush(self) -> None:
        """Hand on what was written."""
        pieces, self._pieces = self._pieces, []
        if pieces and not self._transport.is_closing():
            self._transport.write(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Connection(HttpToolsProtocol):
    """One connection, with an eye on the clock and on the size of what comes before the body."""

    limits = Limits()

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head_bytes = 0
        self._in_head = True
        self._in_message = False
        self._until = _FOREVER  # when patience with the client ends
        self._unsent = 0
        self._unsent_since = 0.0

    def connection_made(self, transport: Any) -> None:
        self.transport: Any
        super().connection_made(_Corked(transport, self.loop))  # type: ignore[arg-type]
        self._until = time.monotonic() + self.limits.head
        if len(self.connections) > self.limits.connections:
            self._refuse(503, "Too many connections", b"retry-after: 1\r\n")

    def eof_received(self) -> None:
        self.transport.flush()  # the loop closes what is below: answers that are ready still go out

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > _MAX_HEAD_BYTES and not self.transport.is_closing():
            self._refuse(431, "Request headers too large")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._in_head = self._in_message = True
        self._until = time.monotonic() + self.limits.head

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self._in_head = False
        self._until = time.monotonic() + self.limits.body

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._in_head = True  # what comes next is a head again
        self._in_message = False
        self._head_bytes = 0
        answered = self.cycle.response_complete
        self._until = time.monotonic() + self.limits.idle if answered else _FOREVER

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self._in_message:  # refused before its body had come: the clock of the body runs on
            # A client may have sent its next request already, which is worked on now.
            self._until = time.monotonic() + self.limits.idle if self.cycle.response_complete else _FOREVER

    def look(self, now: float) -> None:
        """Let go of a client that takes too long to send, or to take what it asked for."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent < self._unsent or self._unsent == 0:
            self._unsent_since = now
        self._unsent = unsent
        if now > self._until or now - self._unsent_since > self.limits.stalled:
            # Not closed in good order: that would wait for the client to take what is unsent.
            self.transport.abort()

    def _refuse(self, status: int, error: str, header: bytes = b"") -> None:
        """Answer without having understood the request, and hang up."""
        body = b'{"error":"%s","message":"%s"}' % (error.encode(), error.encode())
        self.transport.write(
            b"HTTP/1.1 %d %s\r\ncontent-type: application/json\r\ncontent-length: %d\r\n%sconnection: close\r\n\r\n%s"
            % (status, error.encode(), len(body), header, body)
        )
        self.transport.close()


def _why_not(error: OSError, host: str, port: int) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return f"port {port} is in use by another program; give another one with --port"
        case errno.EACCES if 0 < port < 1024:  # noqa: PLR2004 - what Unix calls privileged ports
            return f"no permission for port {port}: those below 1024 are the system's; give another one with --port"
        case errno.EADDRNOTAVAIL:
            return f"this computer has no address {host}; give one it has with --host"
    return f"cannot listen on {host}, port {port}: {error.strerror}"


def _check_readable(what: str, path: str) -> None:
    """Raise StartError for a file that cannot be read: the TLS library does not say which one it means."""
    problem = ""
    if not os.path.exists(path):
        problem = "there is no such file"
    elif not os.path.isfile(path):
        problem = "it is no file"
    elif not os.access(path, os.R_OK):
        problem = "permission denied"
    if problem:
        raise StartError(f"cannot read the {what} {path}: {problem}")
