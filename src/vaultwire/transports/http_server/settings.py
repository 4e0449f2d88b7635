"""What the HTTP server is told: which app answers at which listener, and how much a client may take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    import ssl

    from vaultwire.transports import App


class Limits(NamedTuple):
    """How much a client may take of the server; in seconds, except for ``connections``."""

    # Each is an open file. There are never more than half as many as the process may have (``acceptor``).
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


class Endpoint(NamedTuple):
    """A listener and the app that answers there."""

    app: App
    listener: socket.socket
    tls: ssl.SSLContext | None = None
    # Of answers that the server gives before the app is called.
    refusal_headers: Sequence[tuple[bytes, bytes]] = ()

    @property
    def scheme(self) -> str:
        """The scheme of its URL."""
        return "http" if self.tls is None else "https"
