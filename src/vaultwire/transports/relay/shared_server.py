"""How ``vaultwire stdio`` uses a running server of the same vault and settings: to the client it makes no difference.

The handshake, and whatever the program knows by itself, is answered here at once, as ever; what needs the vault goes to
the server, which has its index at hand. When the server goes away, our own engine takes over for good: what cannot have
run, and what only reads, is done here; a change that may have been made is an error that says so.

Why, measured over 5,000 notes: the first search is answered after half the time, because no engine is loaded and no index
opened; a client takes 11 MB instead of 21, and one process follows the vault's changes instead of each. Every later call
pays half a millisecond for the way. So a running server is used whenever there is one, unless the person forbids it.
"""

from __future__ import annotations

import threading

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.events import meta_of
from vaultwire.protocol.revisions import META_VERSION
from vaultwire.server.dispatcher import serve
from vaultwire.server.workers import log_crash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from vaultwire.protocol.messages import Json, JsonObject
    from vaultwire.protocol.session import Session
    from vaultwire.server.dispatcher import Entry, Stream
    from vaultwire.server.handlers import Handlers
    from vaultwire.toolkit.registry import Description
    from vaultwire.transports.relay.forwarder import Forwarder
    from vaultwire.transports.relay.in_flight import Failure, InFlightMessage, NoMcp

# What needs the vault.
_FOR_SERVER = frozenset((
    "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list", "prompts/get",
    "completion/complete", "subscriptions/listen",
))  # fmt: skip
# What both need to know.
_FOR_BOTH = frozenset(("logging/setLevel", "resources/subscribe", "resources/unsubscribe"))
# A server that takes longer for its handshake is no help.
_OPEN_SECONDS = 1.0
# Numbers of the engine's own questions once it takes over: the client may not have answered the server's yet.
_APART = 1_000_000


def run(
    stream: Stream,
    session: Session,
    handlers: Handlers,
    find: Callable[[], str | None],
    load_catalog: Callable[[], Sequence[Description]],
) -> None:
    """Serve the client until it is done.

    ``find`` returns the socket of a server to be used, None if there is none; ``load_catalog`` the tools' descriptions.
    Both are called once the first answer is out.
    """
    shared = _SharedServerStream(stream, session, handlers, find, load_catalog)
    serve(shared, session, handlers, shared.tend, shared.close, shared.attach)
    shared.end()


class _SharedServerStream:
    """The dispatcher's stream, which keeps for itself what goes to the server."""

    def __init__(
        self,
        stream: Stream,
        session: Session,
        handlers: Handlers,
        find: Callable[[], str | None],
        load_catalog: Callable[[], Sequence[Description]],
    ) -> None:
        self._stream = stream
        self._session = session
        self._handlers = handlers
        self._find = find
        self._load_catalog = load_catalog
        self._writing = threading.Lock()
        self._entry: Entry | None = None
        self._forwarder: Forwarder | None = None
        self._opened_with: tuple[bytes, Json] | None = None
        self._has_begun = False  # the first answer is out, and a server is being looked for
        self._is_decided = threading.Event()  # whether there is one
        self._switching = threading.Lock()
        self._is_alone = False  # there is none, or not any more
        self._is_closed = False
        self._released = threading.Event()  # from waiting for that

    def attach(self, entry: Entry) -> None:
        """Get to know the dispatcher."""
        self._entry = entry

    # ------------------------------------------------------------------ beside the calls

    def tend(self) -> None:
        """Use a server as long as there is one, then be one."""
        try:
            self._join()
        except Exception:  # noqa: BLE001 - it goes without
            log_crash("the search for a running server")
            self._be_alone()
        self._is_decided.set()
        self._released.wait()
        if not self._is_closed:
            self._handlers.tend()

    def close(self) -> None:
        """End ``tend``."""
        self._is_closed = True
        self._released.set()
        self._handlers.close()

    def end(self) -> None:
        """Finish what is on its way to the server."""
        if self._forwarder is not None:
            self._forwarder.end()

    def _join(self) -> None:
        path = self._find()
        if path is None:
            self._be_alone()
            return
        import os  # noqa: PLC0415 - only where there is a server, here and below

        from vaultwire.transports.relay.forwarder import Forwarder  # noqa: PLC0415
        from vaultwire.transports.relay.http_client import ConnectionPool, to_socket  # noqa: PLC0415

        # Whoever can reach the socket needs no key; this tells one client's sessions and memory from another's.
        connections = ConnectionPool(to_socket(path), {"Authorization": f"Bearer {os.urandom(16).hex()}"})
        forwarder = Forwarder(
            connections,
            "the running server",
            "/mcp",
            self.send,
            self._take_over,
            lambda _: None,
            has_other_way=False,
            is_patient=False,
        )
        forwarder.changing = {each["name"]: not each["annotations"]["readOnlyHint"] for each in self._load_catalog()}
        self._forwarder = forwarder
        if self._opened_with is not None:
            forwarder.take(*self._opened_with, own=True)
            if not forwarder.wait_until_open(_OPEN_SECONDS):
                self._be_alone()
                forwarder.hang_up()

    def _be_alone(self) -> None:
        """Use no server from now on."""
        with self._switching:
            if self._is_alone:
                return
            self._session.skip_questions(_APART)
            self._is_alone = True
            if self._forwarder is not None:
                self._forwarder.abandon()
            self._released.set()

    # ------------------------------------------------------------------ frames

    def receive(self) -> bytes | None:
        """Wait for the next frame that the dispatcher is to take; None when the client is done and all is finished."""
        while (frame := self._stream.receive()) is not None:
            if not self._takes(frame):
                return frame
        self.end()
        return None

    def send(self, frame: bytes) -> None:
        """Send the client a frame, whoever made it."""
        self._has_begun = True
        with self._writing:
            self._stream.send(frame)

    def _takes(self, frame: bytes) -> bool:
        if self._has_begun:
            self._is_decided.wait()
        if self._is_alone and (self._forwarder is None or self._forwarder.is_idle):
            return False
        try:
            message = jsonrpc.parse_json(frame)
            if isinstance(message, dict):
                jsonrpc.check_message(message)
        except jsonrpc.MessageError:  # the session says so
            return False
        forwarder = self._forwarder
        if isinstance(message, dict):
            return self._takes_message(frame, message, forwarder)
        if forwarder is None or not isinstance(message, list) or not self._can_be_told(message):
            return False
        forwarder.take(frame, message)
        return True

    def _takes_message(self, frame: bytes, message: JsonObject, forwarder: Forwarder | None) -> bool:
        method = message.get("method")
        if method == "initialize" and self._session.revision is None and "id" in message:
            self._opened_with = frame, message
            if forwarder is not None:
                forwarder.take(frame, message, own=True)
            return False
        if forwarder is None:
            return False
        if method is None:
            if not forwarder.has_asked(message):
                return False
            forwarder.take(frame, message)
            return True
        if method == "notifications/cancelled":
            return forwarder.cancel(frame, message)
        if method in _FOR_SERVER and "id" in message and self._can_be_told(message):
            forwarder.take(frame, message)
            return True
        if (method in _FOR_BOTH or "id" not in message) and self._session.revision is not None and method != "exit":
            forwarder.take(frame, message, own=True)
        return False

    def _can_be_told(self, message: Any) -> bool:
        """Tell whether the server knows of the client what it needs to: all that our own session knows."""
        if self._session.revision is not None:
            return True
        params = message.get("params") if isinstance(message, dict) else None
        return isinstance(params, dict) and META_VERSION in meta_of(params)

    # ------------------------------------------------------------------ when the server goes away

    def _take_over(self, exchange: InFlightMessage | None, failure: Failure | NoMcp) -> bool:
        """Have our own engine do what the server did not."""
        self._be_alone()
        if exchange is None or exchange.own or not exchange.ids:
            return True
        may_have_run = getattr(failure, "may_have_run", False)
        if may_have_run and not self._only_reads(exchange):
            return False
        assert self._entry is not None  # before the first frame
        self._entry(exchange.frame, False)
        return True

    def _only_reads(self, exchange: InFlightMessage) -> bool:
        if exchange.method != "tools/call":
            return exchange.method in _FOR_SERVER
        assert self._forwarder is not None
        return self._forwarder.changing.get(str(exchange.params.get("name"))) is False
