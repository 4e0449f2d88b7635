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
from vaultwire.server.results import TOOL_NOT_FOUND, Refusal, Result
from vaultwire.server.subscriptions import Subscriptions
from vaultwire.server.tasks import Job
from vaultwire.transports.relay.forwarder import Forwarder
from vaultwire.transports.relay.http_client import ConnectionLost, ConnectionPool, Unreachable, make_tls, tcp_connector
from vaultwire.transports.relay.upstream import (
    LOST,
    MAX_ANSWER_VALUES,
    REFUSED,
    START_DELAYS,
    UNREACHABLE,
    Failure,
    McpServer,
    NoMcp,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import Json, JsonObject
    from vaultwire.server.dispatcher import Entry, Stream
    from vaultwire.server.results import Answer
    from vaultwire.server.subscriptions import Listening
    from vaultwire.transports.relay.upstream import InFlightMessage


# The methods of a server over another server's REST API, version 1, where that has no MCP. Only tools: it has no more.
#
# The API does not say when the list of tools changes, so it is read every few seconds. A call is sent once.

# The contract's relay: how often it reads the list, and how long it waits for it.
POLL_SECONDS = 5.0
_LIST_SECONDS = 5.0
# For the list while the server is starting: ``START_DELAYS`` add up to 13 minutes. For a call: a little longer than the
# longest call may take (``trust.limits``).
_START_SECONDS = 900.0
_CALL_SECONDS = 65.0
_HEADERS = {"Accept": "application/json", "User-Agent": f"vaultwire/{__version__}"}
# 2026-07-28, "Caching": the list is read so often.
_TTL_MS = int(POLL_SECONDS * 1000)
_OK, _INVALID, _NOT_FOUND, _TOO_LARGE = 200, 400, 404, 413
_CLIENTS_FAULT = range(400, 500)


class RestMethods:
    """As ``server.handlers.Handlers``, over a REST API instead of a vault."""

    methods = ("tools/list", "tools/call", "subscriptions/listen")

    def __init__(self, connections: ConnectionPool, where: str, root: str, say: Callable[[str], None]) -> None:
        """``where`` is the server's name for a person, ``root`` the path of its API; ``say`` takes words for a person."""
        self._connections = connections
        self._where = where
        self._root = root
        self._say = say
        self._closing = threading.Event()
        self._hash: str | None = None  # of the list that was read last
        self.subscriptions = Subscriptions(("toolsListChanged",))

    def handle(self, request: Request, _: Dialect) -> Answer | Job | Listening:
        """Return the answer, the job that makes it, or the request as one that stays open."""
        if request.method == "subscriptions/listen":
            return self.subscriptions.honoured(request.params, request.peer)
        if request.method == "tools/list":
            return Job("tools/list", lambda _: self._list(request), _give_up, _START_SECONDS, changes_vault=False)
        name, arguments = request.params.get("name"), request.params.get("arguments") or {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            return Refusal(
                jsonrpc.INVALID_PARAMS, "Invalid params: tools/call takes name, a string, and arguments, an object"
            )
        # The API does not say which tools change something, so all calls go one after another.
        return Job(name, lambda _: self._call(name, arguments), _give_up, _CALL_SECONDS, changes_vault=True)

    def describe(self, _tool: str) -> None:
        """Return nothing: no argument is also a header."""

    def run_background(self) -> None:
        """Read the list of tools every few seconds until ``close``; tell the client when it has changed."""
        while not self._closing.wait(POLL_SECONDS):
            known = self._hash
            try:
                self._get_tools()
            except Failure:  # the next call reports it
                continue
            if known is not None and self._hash != known:
                self.subscriptions.publish("toolsListChanged")

    def close(self) -> None:
        """End ``run_background``, and every wait for a server that cannot be reached."""
        self._closing.set()

    def _list(self, request: Request) -> Answer:
        delays = iter(() if self._hash is not None else START_DELAYS)  # a server that has answered is not starting
        while True:
            try:
                result: JsonObject = {"tools": self._get_tools()}
            except Failure as failure:
                delay = next(delays, None)
                if failure.code == REFUSED or delay is None:
                    return _to_refusal(failure)
                self._say(f"{failure.message} Next try in {delay:g} s")
                if self._closing.wait(delay):
                    return _to_refusal(failure)
                continue
            if request.revision.stateless:
                result |= {"ttlMs": _TTL_MS, "cacheScope": "private"}
            return Result(result)

    def _get_tools(self) -> list[Any]:
        """Return the tools and keep their hash. Raises Failure; REFUSED if another attempt would not help."""
        status, value = self._exchange("GET", "/tools", None, _LIST_SECONDS)
        if status in _CLIENTS_FAULT:
            raise Failure(REFUSED, self._refused("/tools", status, value))
        tools = value.get("tools")
        if status != _OK or not isinstance(tools, list):
            raise Failure(UNREACHABLE, self._refused("/tools", status, value))
        self._hash = str(value.get("hash", ""))
        return tools

    def _call(self, name: str, arguments: JsonObject) -> Answer:
        from urllib.parse import quote  # noqa: PLC0415 - http.client has loaded it by now

        try:
            body = jsonrpc.to_frame({"arguments": arguments})
            status, value = self._exchange("POST", f"/tools/{quote(name, safe='')}/call", body, _CALL_SECONDS)
        except Failure as failure:
            unsure = " It may have run: look before you call it again." if failure.may_have_run else ""
            return _give_up(failure.code, f"{failure.message}{unsure}")
        message = str(value.get("message", value.get("error", "")))
        if status == _OK and isinstance(value.get("content"), list):
            return Result({"content": value["content"], "isError": value.get("success") is not True})
        if status == _NOT_FOUND and value.get("error") == "Tool not found":
            return Refusal(jsonrpc.INVALID_PARAMS, f"Unknown tool: {message}", {"errorCode": TOOL_NOT_FOUND})
        if status in (_INVALID, _TOO_LARGE):
            return Refusal(jsonrpc.INVALID_PARAMS, f"Invalid params: {message}")
        return _give_up(REFUSED, self._refused(name, status, value))

    def _exchange(self, method: str, path: str, body: bytes | None, seconds: float) -> tuple[int, JsonObject]:
        """Return an answer's status and JSON object, empty if it has none. Raises Failure."""
        headers = _HEADERS if body is None else {**_HEADERS, "Content-Type": "application/json"}
        try:
            answer = self._connections.request(method, self._root + path, headers, body, seconds)
            text = answer.body()
        except Unreachable as error:
            code = REFUSED if error.is_final else UNREACHABLE
            raise Failure(code, f"{self._where} cannot be reached: {error}.") from None
        except ConnectionLost as error:
            raise Failure(
                LOST,
                f"The connection to {self._where} was lost after the request was sent ({error}).",
                may_have_run=True,
            ) from None
        try:
            value = jsonrpc.parse_json(text, MAX_ANSWER_VALUES)
        except jsonrpc.MessageError:
            value = None
        return answer.status, value if isinstance(value, dict) else {}

    def _refused(self, what: str, status: int, value: JsonObject) -> str:
        said = f": {str(value['message'])[:300]}" if "message" in value else ""
        return f"{self._where} answered {what} with HTTP status {status}{said}"


def _give_up(code: str, message: str) -> Answer:
    return Result({"content": [{"type": "text", "text": message}], "isError": True, "_meta": {"errorCode": code}})


def _to_refusal(failure: Failure) -> Refusal:
    return Refusal(jsonrpc.INTERNAL_ERROR, failure.message, {"errorCode": failure.code})


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
