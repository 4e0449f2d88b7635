"""HTTP/1.1 between sockets and an ASGI callable. What is answered is the callable's matter, where to listen ``listening``'s.

The parser is httptools'. Whatever goes beyond one request and its answer is decided here, because only here are there
bytes: how slowly a client may send and take them, how much may come before it is understood, and how all of it ends. No
other protocol is ever switched to.
"""

from vaultwire.transports.http_server.server import Limits, run, run_aside

__all__ = ["Limits", "run", "run_aside"]
