"""An ASGI server for HTTP/1.1 and WebSockets. Not what is answered (the app), nor where to listen (``listening``).

Everything beyond one request and its answer is decided here, because only here are there bytes: how slowly a client may send
and read, how much may come before it is understood, and how all of it ends. ``connection`` is one connection, ``server`` all
of them; ``websocket`` is loaded by those that serve one.
"""

from vaultwire.transports.http_server.connection import Endpoint, Limits
from vaultwire.transports.http_server.server import run

__all__ = ["Endpoint", "Limits", "run"]
