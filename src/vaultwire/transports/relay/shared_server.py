"""``vaultwire stdio`` over a running ``vaultwire serve`` of the same vault and settings. The client notices no difference.

This process answers the handshake itself, and everything else that needs no vault. The server answers the rest: its index is
loaded already. When the server goes away, the engine of this process takes over and stays. It repeats what cannot have run
and what only reads. A change that may have been made becomes an error that says so.

Measured over 5,000 notes: the first search takes half the time, because no engine is loaded and no index is opened. A client
takes 11 MB instead of 21, and one process watches the vault instead of one for each client. Every later call takes 0.5 ms
longer. So a running server is always used, unless the person forbids it (``--standalone``).
"""

from __future__ import annotations

import threading

from vaultwire.protocol.events import meta_of
from vaultwire.protocol.revisions import META_VERSION
from vaultwire.server.dispatcher import serve
from vaultwire.server.workers import log_crash
from vaultwire.transports.relay.interception import InterceptedStream

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from vaultwire.protocol.json_types import Json, JsonObject
    from vaultwire.protocol.session import Session
    from vaultwire.server.dispatcher import Stream
    from vaultwire.server.handlers import Handlers
    from vaultwire.toolkit.registry import Description
    from vaultwire.transports.relay.forwarder import Forwarder
    from vaultwire.transports.relay.in_flight import Failure, InFlightMessage, NoMcp

# The methods that need the vault.
_FOR_SERVER = frozenset((
    "tools/list", "tools/call", "resources/list", "resources/templates/list", "resources/read", "prompts/list", "prompts/get",
    "completion/complete", "subscriptions/listen",
))  # fmt: skip
# The methods that both sides need to know of.
_FOR_BOTH = frozenset(("logging/setLevel", "resources/subscribe", "resources/unsubscribe"))
# A server that takes longer for its handshake is not used.
_OPEN_SECONDS = 1.0
# The engine here numbers its requests to the client from here on: the client may still have to answer the server's.
_FIRST_OWN_ID = 1_000_000


def run(
    stream: Stream,
    session: Session,
    handlers: Handlers,
    find: Callable[[], str | None],
    load_catalog: Callable[[], Sequence[Description]],
) -> None:
    """Serve the client until it is done.

    ``find`` returns the socket of a running server, None if there is none; ``load_catalog`` returns the tools' descriptions.
    Both are called after the first answer.
    """
    shared = _SharedServerStream(stream, session, handlers, find, load_catalog)
    serve(shared, session, handlers, shared.run_background, shared.close, shared.attach)
    shared.end()


class _SharedServerStream(InterceptedStream):
    """Forwards the frames that need the vault, as long as there is a server."""

    def __init__(
        self,
        stream: Stream,
        session: Session,
        handlers: Handlers,
        find: Callable[[], str | None],
        load_catalog: Callable[[], Sequence[Description]],
    ) -> None:
        super().__init__(stream)
        self._session = session
        self._handlers = handlers
        self._find = find
        self._load_catalog = load_catalog
        self._initialize: tuple[bytes, Json] | None = None
        self._is_searching = False  # the first answer is sent, and a server is looked for
        self._is_decided = threading.Event()  # the search is over
        self._is_closed = False
        self._is_released = threading.Event()  # ``run_background`` need not wait any more

    # ------------------------------------------------------------------ beside the calls

    def run_background(self) -> None:
        """Use a server as long as there is one, then run the handlers' own ``run_background``."""
        try:
            self._join()
        except Exception:  # noqa: BLE001 - it works without a server
            log_crash("the search for a running server")
            self._leave_server()
        self._is_decided.set()
        self._is_released.wait()
        if not self._is_closed:
            self._handlers.run_background()

    def close(self) -> None:
        """End ``run_background``."""
        self._is_closed = True
        self._is_released.set()
        self._handlers.close()

    def _join(self) -> None:
        """Look for a server and shake hands with it."""
        path = self._find()
        if path is None:
            self._leave_server()
            return
        import os  # noqa: PLC0415 - only where there is a server, here and below

        from vaultwire.transports.relay.forwarder import Forwarder  # noqa: PLC0415
        from vaultwire.transports.relay.http_client import ConnectionPool, unix_connector  # noqa: PLC0415
        from vaultwire.transports.relay.upstream import McpServer  # noqa: PLC0415

        # The socket asks for no key. This random one tells the sessions and the memory of clients apart.
        connections = ConnectionPool(unix_connector(path), {"Authorization": f"Bearer {os.urandom(16).hex()}"})
        server = McpServer(connections, "the running server", "/mcp", is_patient=False)
        forwarder = Forwarder(server, self.send, self._take_over, lambda _: None, has_fallback=False)
        forwarder.changing = {each["name"]: not each["annotations"]["readOnlyHint"] for each in self._load_catalog()}
        self._forwarder = forwarder
        if self._initialize is not None:
            forwarder.forward(*self._initialize, is_internal=True)
            if not forwarder.wait_until_open(_OPEN_SECONDS):
                self._leave_server()
                forwarder.abort()

    def _leave_server(self) -> None:
        """Use no server from now on."""
        with self._switching:
            if self._is_switched:
                return
            self._session.skip_questions(_FIRST_OWN_ID)
            self._is_switched = True
            if self._forwarder is not None:
                self._forwarder.abandon()
            self._is_released.set()

    # ------------------------------------------------------------------ frames

    def send(self, frame: bytes) -> None:
        """Send the client a frame, of the server or of the dispatcher."""
        self._is_searching = True
        super().send(frame)

    def _intercept(self, frame: bytes) -> bool:
        if self._is_searching:
            self._is_decided.wait()
        return super()._intercept(frame)

    def _forward(self, frame: bytes, message: Json) -> bool:
        forwarder = self._forwarder
        if isinstance(message, dict):
            return self._forward_message(frame, message, forwarder)
        if forwarder is None or not isinstance(message, list) or not self._is_understood(message):
            return False
        forwarder.forward(frame, message)
        return True

    def _forward_message(self, frame: bytes, message: JsonObject, forwarder: Forwarder | None) -> bool:
        method = message.get("method")
        if method == "initialize" and self._session.revision is None and "id" in message:
            self._initialize = frame, message
            if forwarder is not None:
                forwarder.forward(frame, message, is_internal=True)
            return False
        if forwarder is None:
            return False
        if method is None:
            if not forwarder.expects_answer(message):
                return False
            forwarder.forward(frame, message)
            return True
        if method == "notifications/cancelled":
            return forwarder.cancel(frame, message)
        if method in _FOR_SERVER and "id" in message and self._is_understood(message):
            forwarder.forward(frame, message)
            return True
        if (method in _FOR_BOTH or "id" not in message) and self._session.revision is not None and method != "exit":
            forwarder.forward(frame, message, is_internal=True)
        return False

    def _is_understood(self, message: Any) -> bool:
        """Tell whether the server can know the client's revision: from the handshake, or from the message itself."""
        if self._session.revision is not None:
            return True
        params = message.get("params") if isinstance(message, dict) else None
        return isinstance(params, dict) and META_VERSION in meta_of(params)

    # ------------------------------------------------------------------ when the server goes away

    def _take_over(self, message: InFlightMessage | None, failure: Failure | NoMcp) -> bool:
        """Have the engine here do what the server did not do."""
        self._leave_server()
        if message is None or message.is_internal or not message.ids:
            return True
        if getattr(failure, "may_have_run", False) and not self._only_reads(message):
            return False
        self._dispatch(message.frame)
        return True

    def _only_reads(self, message: InFlightMessage) -> bool:
        if message.method != "tools/call":
            return message.method in _FOR_SERVER
        assert self._forwarder is not None
        return self._forwarder.changing.get(str(message.params.get("name"))) is False
