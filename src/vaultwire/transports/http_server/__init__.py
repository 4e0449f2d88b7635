"""An ASGI server for HTTP/1.1. Not what is answered (the app), nor where to listen (``listening``).

The parser is httptools'. Everything beyond one request and its answer is decided here, because only here are there bytes:
how slowly a client may send and read, how much may come before it is understood, and how all of it ends. The server never
switches to another protocol.
"""

from vaultwire.transports.http_server.server import run, run_beside
from vaultwire.transports.http_server.settings import Endpoint, Limits

__all__ = ["Endpoint", "Limits", "run", "run_beside"]
