"""The door of ``vaultwire connect``: whatever a client says at stdin goes to a server elsewhere, by the way it knows.

MCP at first; where there is none, the REST API, over which a session of our own speaks MCP with the client. So there are
two who could take a frame, the way to the server and our own dispatcher, and a switch between them that is thrown once.
"""

from __future__ import annotations

import threading

from vaultwire import __version__
from vaultwire.protocol import jsonrpc
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.dispatcher import serve
from vaultwire.transports.relay.forwarder import Forwarder
from vaultwire.transports.relay.http_client import ConnectionPool, make_tls, to_server
from vaultwire.transports.relay.in_flight import NoMcp
from vaultwire.transports.relay.rest_client import RestMethods

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from vaultwire.protocol.messages import JsonObject
    from vaultwire.server.dispatcher import Entry, Stream
    from vaultwire.transports.relay.in_flight import Failure, InFlightMessage

    class Target(Protocol):
        """A server to relay to. ``mcp`` and ``rest`` are paths, None for a way not to be tried."""

        url: str
        host: str
        port: int
        tls: bool
        mcp: str | None
        rest: str | None
        key: str | None
        ca_file: str | None


def run(open_stream: Callable[[], Stream], target: Target, say: Callable[[str], None]) -> None:
    """Relay between the client and the target until the client is done; ``say`` takes words for a person.

    Raises OSError, before the stream is opened, for a file of certificates that holds none.
    """
    tls = make_tls(target.ca_file) if target.tls else None
    headers = {} if target.key is None else {"Authorization": f"Bearer {target.key}"}
    connections = ConnectionPool(to_server(target.host, target.port, tls), headers)
    methods = RestMethods(connections, target.url, target.rest or "", say)
    capabilities: JsonObject = {"logging": {}, "tools": {"listChanged": True}}
    session = Session(Identity("vaultwire", "Vaultwire", __version__, capabilities, ""), methods.methods)
    stream = open_stream()
    if target.mcp is None:
        serve(stream, session, methods, methods.tend, methods.close)
        return
    relay = _RelayStream(stream, connections, target, say)
    serve(relay, session, methods, methods.tend, methods.close, relay.attach)
    relay.end()


class _RelayStream:
    """The dispatcher's stream, which keeps for itself what goes to the server."""

    def __init__(self, stream: Stream, connections: ConnectionPool, target: Target, say: Callable[[str], None]) -> None:
        assert target.mcp is not None
        self._stream = stream
        self._writing = threading.Lock()
        self._say = say
        self._has_other_way = target.rest is not None
        self._forwarder = Forwarder(
            connections,
            target.url,
            target.mcp,
            self.send,
            self._take_over,
            say,
            has_other_way=self._has_other_way,
        )
        self._where = target.url
        self._switching = threading.Lock()
        self._is_switched = False
        self._opened_with: bytes | None = None
        self._entry: Entry | None = None

    def attach(self, entry: Entry) -> None:
        """Get to know the dispatcher."""
        self._entry = entry

    def receive(self) -> bytes | None:
        """Wait for the next frame that the dispatcher is to take; None when the client is done and all is finished."""
        while (frame := self._stream.receive()) is not None:
            if not self._takes(frame):
                return frame
        self.end()
        return None

    def send(self, frame: bytes) -> None:
        """Send the client a frame, whoever made it."""
        with self._writing:
            self._stream.send(frame)

    def end(self) -> None:
        """Finish what is on its way to the server."""
        self._forwarder.end()

    def _takes(self, frame: bytes) -> bool:
        if self._is_switched and self._forwarder.is_idle:
            return False
        try:
            message = jsonrpc.parse_json(frame)
            if isinstance(message, dict):
                jsonrpc.check_message(message)
        except jsonrpc.MessageError:  # the session says so
            return False
        if isinstance(message, dict):
            if "method" not in message and not self._forwarder.has_asked(message):
                return True  # an answer that nobody waits for
            if message.get("method") == "exit":
                return False
            if message.get("method") == "notifications/cancelled":
                return self._forwarder.cancel(frame, message)
            if message.get("method") == "initialize":
                self._opened_with = frame
        elif not isinstance(message, list):
            return False
        self._forwarder.take(frame, message)
        return True

    def _take_over(self, exchange: InFlightMessage | None, failure: Failure | NoMcp) -> bool:
        """Have our own session take what cannot go over MCP."""
        if exchange is None:
            return False
        with self._switching:
            if not self._is_switched:
                if not isinstance(failure, NoMcp) or not self._has_other_way:
                    return False
                self._say(f"{self._where} speaks no MCP ({failure}); going on over its REST API")
                self._is_switched = True
                self._forwarder.abandon()
                if self._opened_with is not None and exchange.method != "initialize":
                    self._enter(self._opened_with, is_known=True)
        if not getattr(failure, "may_have_run", False):
            self._enter(exchange.frame)
            return True
        return False

    def _enter(self, frame: bytes, *, is_known: bool = False) -> None:
        assert self._entry is not None  # before the first frame
        self._entry(frame, is_known)
