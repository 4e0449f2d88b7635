"""``vaultwire connect``: a client at stdin talks to a server elsewhere.

It speaks MCP with the server. Where the server has none, it uses the REST API, and a session here speaks MCP with the client.
The change from the first way to the second happens at most once.
"""

from __future__ import annotations

import threading
from typing import NamedTuple

from vaultwire import __version__
from vaultwire.protocol import jsonrpc
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.dispatcher import serve
from vaultwire.transports.relay.forwarder import Forwarder
from vaultwire.transports.relay.http_client import ConnectionPool, make_tls, tcp_connector
from vaultwire.transports.relay.in_flight import NoMcp
from vaultwire.transports.relay.rest_client import RestMethods
from vaultwire.transports.relay.upstream import McpServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.json_types import Json, JsonObject
    from vaultwire.server.dispatcher import Entry, Stream
    from vaultwire.transports.relay.in_flight import Failure, InFlightMessage


class Target(NamedTuple):
    """A server to relay to. ``mcp`` and ``rest`` are paths on it, None for a protocol that is not tried."""

    url: str
    host: str
    port: int
    tls: bool
    mcp: str | None
    rest: str | None
    key: str | None
    ca_file: str | None

    @property
    def is_unencrypted(self) -> bool:
        """Whether a key goes to another computer without TLS."""
        is_here = self.host in ("localhost", "::1") or self.host.startswith("127.")
        return self.key is not None and not self.tls and not is_here


def run(open_stream: Callable[[], Stream], target: Target, say: Callable[[str], None]) -> bool:
    """Relay between the client and the target until the client is done; return whether the target was ever reached.

    ``say`` takes words for a person. Raises OSError, before the stream is opened, for a file without certificates.
    """
    tls = make_tls(target.ca_file) if target.tls else None
    headers = {} if target.key is None else {"Authorization": f"Bearer {target.key}"}
    connections = ConnectionPool(tcp_connector(target.host, target.port, tls), headers)
    methods = RestMethods(connections, target.url, target.rest or "", say)
    capabilities: JsonObject = {"logging": {}, "tools": {"listChanged": True}}
    session = Session(Identity("vaultwire", "Vaultwire", __version__, capabilities, ""), methods.methods)
    stream = open_stream()
    if target.mcp is None:
        serve(stream, session, methods, methods.run_background, methods.close)
        return connections.reaches()
    relay = _RelayStream(stream, McpServer(connections, target.url, target.mcp), say, has_rest=target.rest is not None)
    serve(relay, session, methods, methods.run_background, methods.close, relay.attach)
    relay.end()
    return connections.reaches()


class _RelayStream:
    """A ``Stream`` for the dispatcher. It forwards the client's frames, until the server turns out to have only a REST API.

    From then on the dispatcher handles all frames. This switch happens once, under ``_switching``.
    """

    def __init__(self, stream: Stream, server: McpServer, say: Callable[[str], None], *, has_rest: bool) -> None:
        self._stream = stream
        self._server = server
        self._say = say
        self._has_rest = has_rest
        self._forwarder = Forwarder(server, self.send, self._take_over, say, has_fallback=has_rest)
        self._writing = threading.Lock()
        self._switching = threading.Lock()
        self._is_switched = False
        self._initialize: bytes | None = None
        self._entry: Entry | None = None

    def attach(self, entry: Entry) -> None:
        """Take the dispatcher's second way in, for frames that the server did not answer."""
        self._entry = entry

    def receive(self) -> bytes | None:
        """Wait for the next frame for the dispatcher; None when the client is done and nothing is in flight."""
        while (frame := self._stream.receive()) is not None:
            if not self._intercept(frame):
                return frame
        self.end()
        return None

    def send(self, frame: bytes) -> None:
        """Send the client a frame, of the server or of the dispatcher."""
        with self._writing:
            self._stream.send(frame)

    def end(self) -> None:
        """Finish what is in flight to the server."""
        self._forwarder.end()

    def _intercept(self, frame: bytes) -> bool:
        """Forward a frame; False if the dispatcher is to handle it."""
        if self._is_switched and self._forwarder.is_idle:
            return False
        try:
            message = jsonrpc.parse_json(frame)
            if isinstance(message, dict):
                jsonrpc.check_message(message)
        except jsonrpc.MessageError:  # the session answers with the error
            return False
        return self._forward(frame, message)

    def _forward(self, frame: bytes, message: Json) -> bool:
        if isinstance(message, dict):
            method = message.get("method")
            if "method" not in message and not self._forwarder.expects_answer(message):
                return True  # nobody waits for this answer
            if method == "exit":
                return False
            if method == "notifications/cancelled":
                return self._forwarder.cancel(frame, message)
            if method == "initialize":
                self._initialize = frame
        elif not isinstance(message, list):
            return False
        self._forwarder.forward(frame, message)
        return True

    def _take_over(self, message: InFlightMessage, failure: Failure | NoMcp) -> bool:
        """Have the session here handle what cannot go over MCP."""
        with self._switching:
            if not self._is_switched:
                if not isinstance(failure, NoMcp) or not self._has_rest:
                    return False
                self._say(f"{self._server.name} speaks no MCP ({failure}); going on over its REST API")
                self._is_switched = True
                self._forwarder.abandon()
                if self._initialize is not None and message.method != "initialize":
                    self._dispatch(self._initialize, is_known=True)
        if getattr(failure, "may_have_run", False):
            return False
        self._dispatch(message.frame)
        return True

    def _dispatch(self, frame: bytes, *, is_known: bool = False) -> None:
        """Have the dispatcher handle a frame. ``is_known``: it only takes note of it."""
        assert self._entry is not None  # the dispatcher attaches before the first frame
        self._entry(frame, is_known)
