"""The server's side of a relay: one message after another over Streamable HTTP, and their session. It knows no queues.

A request that may have run is never sent again. A request that cannot have run is, a number of times. When the server has
forgotten the session, it is opened again, as the client had it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from vaultwire import __version__
from vaultwire.protocol import http, jsonrpc
from vaultwire.protocol.events import meta_of
from vaultwire.protocol.revisions import META_VERSION
from vaultwire.transports.relay.http_client import (
    MAX_ANSWER_BYTES,
    ConnectionLost,
    ConnectionPool,
    ResponseTooLarge,
    Unreachable,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.http import HeaderParams
    from vaultwire.protocol.jsonrpc import Json, JsonObject
    from vaultwire.transports.relay.http_client import Response


# One message of the client on its way to the server: what is still to be answered of it, and why it failed. Sends nothing.

UNREACHABLE = "SERVER_UNREACHABLE"
LOST = "CONNECTION_LOST"
REFUSED = "SERVER_REFUSED"

# The most values in one answer. A list of all notes of a very large vault, with a few facts for each, has fewer.
MAX_ANSWER_VALUES = 1_000_000


class Failure(Exception):  # noqa: N818 - says what came of it
    """The server did not answer the message. ``may_have_run``: the message may have had its effect all the same."""

    def __init__(self, code: str, message: str, *, may_have_run: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.may_have_run = may_have_run


class NoMcp(Exception):  # noqa: N818 - says what there is
    """There is no MCP at this address, or not this method of it. The request has not run."""


class SessionGone(Exception):  # noqa: N818 - says what there is
    """The server does not know the session any more. The request has not run."""


class InFlightMessage:
    """One message or batch. ``ids`` are its requests that are neither answered nor cancelled. Also a task of a queue."""

    def __init__(self, frame: bytes, message: Json, *, is_internal: bool = False) -> None:
        """``is_internal``: the client is not told of the answer."""
        self.frame = frame
        self.message = message
        self.is_internal = is_internal
        self.single: JsonObject = message if isinstance(message, dict) else {}
        self.method: str = self.single.get("method", "")
        self.params: JsonObject = self.single["params"] if isinstance(self.single.get("params"), dict) else {}
        self.ids: set[Any] = {_request_id(each) for each in (message if isinstance(message, list) else [message])}
        self.ids.discard(None)
        self.is_stateless = META_VERSION in meta_of(self.params) or self.method == "server/discover"
        self.opens_session = self.method in ("initialize", "notifications/initialized")
        self.send_after: InFlightMessage | None = None
        self.is_started = False
        self.is_cancelled = False
        self.sent = threading.Event()  # set also when it is certain that it is never sent
        self.queue: Any = None  # set by the queue
        self.is_abandoned = False  # read by the queue
        self._response: Response | None = None

    @property
    def name(self) -> str:
        """The name of the message in error texts."""
        return self.method or ("a batch" if isinstance(self.message, list) else "an answer")

    @property
    def wants_answer(self) -> bool:
        """Whether the client wants the server's answer: also to a batch in which no id could be read."""
        return bool(self.ids) or isinstance(self.message, list)

    def begin(self, response: Response) -> None:
        """Note that the message is sent, and which response answers it."""
        self._response = response
        self.sent.set()
        if self.is_cancelled and self.is_stateless:  # cancelled while it was being sent
            response.abort()

    def abort(self) -> None:
        """Stop waiting for the response."""
        if self._response is not None:
            self._response.abort()


def _request_id(message: Json) -> Any:
    if isinstance(message, dict) and "method" in message and jsonrpc.is_request_id(message.get("id")):
        return message["id"]
    return None


# Server-sent events: lines to events (WHATWG HTML, "Server-sent events"). Pure.

# What a line costs in memory beyond its bytes: one event may have very many lines.
_LINE_BYTES = 40
# Bytes without any event between two events. Servers keep a stream open with some bytes every few seconds: 60 days of them.
_MAX_IDLE_BYTES = 1 << 20
# The id goes back to the server in a header. A longer one is ignored.
_MAX_ID_BYTES = 1024
# The longest pause before a new attempt that a server may ask for.
_MAX_RETRY_SECONDS = 300.0
_MAX_DIGITS = 9


class Cursor:
    """A client's place in a stream: the id of the last event, and how long to wait before asking for the rest."""

    last_id = ""
    retry_seconds: float | None = None


def read_events(lines: Iterable[bytes], cursor: Cursor, most_bytes: int) -> Iterator[bytes]:
    """Yield the data of each event, lines joined by ``\\n``. The cursor moves on before the event is yielded.

    An event without an empty line at its end is dropped, as the standard says. An event without data is not yielded, but
    its id counts. Raises ResponseTooLarge.
    """
    data: list[bytes] = []
    size = idle = 0
    last_id = cursor.last_id
    for line in _split_at_carriage_returns(lines):
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"data":
            size += len(value) + _LINE_BYTES
            if size > most_bytes:
                raise ResponseTooLarge(f"an event of its answer has more than {most_bytes} bytes")
            data.append(value)
            continue
        idle += len(line) + 1
        if idle > _MAX_IDLE_BYTES:
            raise ResponseTooLarge(f"it sent {_MAX_IDLE_BYTES} bytes without an event")
        if not line:
            cursor.last_id = last_id
            whole, data, size = b"\n".join(data), [], 0
            if whole:
                idle = 0
                yield whole
        elif name == b"id" and b"\0" not in value and len(value) <= _MAX_ID_BYTES:
            last_id = value.decode("latin-1")
        elif name == b"retry" and value.isdigit() and len(value) <= _MAX_DIGITS:
            cursor.retry_seconds = min(int(value) / 1000, _MAX_RETRY_SECONDS)


def _split_at_carriage_returns(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines without their line ends. A ``\\r`` alone ends a line, too; no server we know sends one."""
    for line in lines:
        bare = line.removesuffix(b"\n").removesuffix(b"\r")
        start = 0
        while (end := bare.find(b"\r", start)) >= 0:  # one by one: there may be millions
            yield bare[start:end]
            start = end + 1
        yield bare[start:] if start else bare


# While the server has never answered: it may be starting. The contract's relay: 30 retries, 1 second doubled up to 30.
START_DELAYS = tuple(min(2.0**n, 30.0) for n in range(30))
# Later: long enough that nobody notices a restart of the server.
_LATER_DELAYS = (0.1, 0.2, 0.4, 0.8, 1.6)
# For the end of a stream after its response: servers end the stream at once.
_END_SECONDS = 1.0
_DELETE_SECONDS = 5.0

# These statuses say that the address or method does not exist, so nothing has run (RFC 9110).
_NOT_HERE = (404, 405, 501)
_OK, _NOT_FOUND, _SERVERS_FAULT, _NOT_NOW = 200, 404, 500, 503
_LISTS = ("tools", "prompts", "resources")


class McpServer(NamedTuple):
    """A server to forward to. ``name`` is for a person; ``path`` is its MCP endpoint."""

    connections: ConnectionPool
    name: str
    path: str


class Upstream:
    """One server, as one client sees it."""

    def __init__(
        self,
        server: McpServer,
        receive: Callable[[bytes, InFlightMessage | None], None],
        say: Callable[[str], None],
    ) -> None:
        """``receive`` takes each message of the server, with the message on whose stream it came.

        ``say`` takes words for a person.
        """
        self.name = server.name
        self._connections = server.connections
        self._path = server.path
        self._receive = receive
        self._say = say
        self._closing = threading.Event()
        self._has_answered = False
        self._reopening = threading.Lock()
        self._session_id = ""
        self._version = ""
        self._capabilities: JsonObject = {}
        self._listening: Response | None = None
        self._own_ids = 0
        # The client's state in the session, to be repeated when the session is opened again.
        self._initialize_params: JsonObject | None = None
        self._level: JsonObject | None = None
        self._subscribed: dict[str, JsonObject] = {}
        self.header_params: dict[str, HeaderParams] = {}  # by tool: the arguments that are also headers

    def close(self) -> None:
        """Stop all retries, and stop listening."""
        self._closing.set()
        if self._listening is not None:
            self._listening.abort()

    def leave(self) -> None:
        """End the session with the server and close its connections."""
        session_id, self._session_id = self._session_id, ""
        if session_id:
            headers = {"Mcp-Session-Id": session_id, "MCP-Protocol-Version": self._version}
            try:
                self._connections.request("DELETE", self._path, headers, seconds=_DELETE_SECONDS).close()
            except (Unreachable, ConnectionLost):  # the server ends the session itself after a while
                pass
        self._connections.close()

    # ------------------------------------------------------------------ one message

    def deliver(self, message: InFlightMessage) -> None:
        """Send a message and pass on its response. Raises Failure, NoMcp, Unreachable and ConnectionLost."""
        session_id = self._session_id
        try:
            self._post(message)
        except SessionGone:
            self._reopen(session_id)
            try:
                self._post(message)
            except SessionGone:
                raise Failure(REFUSED, f"{self.name} ends each session at once.") from None
        if message.ids and not message.is_cancelled:
            raise ConnectionLost("it ended without an answer")
        if message.method == "notifications/initialized":
            self._start_listening()

    def _post(self, message: InFlightMessage) -> None:
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "User-Agent": f"vaultwire/{__version__}",
        }
        if message.is_stateless:
            name = message.params.get("name")
            params = self.header_params.get(name, ()) if isinstance(name, str) else ()
            headers |= http.to_headers(message.single, params)
        elif message.method != "initialize":
            headers |= self._session_headers()
        response = self._send(message, headers)
        if response.status == _OK:
            if message.method == "initialize":
                self._session_id = response.header("mcp-session-id")
            if _is_stream(response):
                self._read_stream(message, response)
            else:
                self._receive(response.body(), message)
        elif response.status < 300:  # noqa: PLR2004 - any of these is a success
            response.body()
        elif response.status == _NOT_FOUND and "Mcp-Session-Id" in headers:
            response.body()
            raise SessionGone
        else:
            self._raise_refusal(message, response)

    def _send(self, message: InFlightMessage, headers: dict[str, str]) -> Response:
        """Send a message, with retries while the server cannot be reached; return the response when it begins."""
        delays = iter(_LATER_DELAYS if self._has_answered else START_DELAYS)
        while True:
            try:
                response = self._connections.send("POST", self._path, headers, message.frame)
            except Unreachable as error:
                delay = next(delays, None)
                if delay is None or error.is_final or message.is_cancelled:
                    raise
                if not self._has_answered:
                    self._say(f"{self.name} cannot be reached: {error}. Next try in {delay:g} s")
                if self._closing.wait(delay):
                    raise
                continue
            message.begin(response)
            response.begin()
            is_late = message.method != "initialize" or self._has_answered
            if response.status < _SERVERS_FAULT or response.status in _NOT_HERE or is_late:
                self._has_answered = True
                return response
            # A proxy whose server is starting. To open a session twice does no harm.
            delay = next(delays, None)
            if delay is None or self._closing.wait(delay):
                return response
            response.close()

    def _read_stream(self, message: InFlightMessage, response: Response) -> None:
        """Pass on what comes on a stream, and on the streams that resume it, until the message is answered."""
        cursor = Cursor()
        while True:
            lost: ConnectionLost | None = None
            try:
                for data in read_events(response.lines(), cursor, MAX_ANSWER_BYTES):
                    self._receive(data, message)
                    if not message.ids:
                        response.finish(_END_SECONDS)
                        return
            except (ResponseTooLarge, Failure, NoMcp):
                response.close()
                raise
            except ConnectionLost as error:
                lost = error
            if not message.ids or message.is_cancelled:
                return
            if not cursor.last_id or not self._session_id:
                raise lost or ConnectionLost("it hung up before the answer")
            response = self._resume(message, cursor)

    def _resume(self, message: InFlightMessage, cursor: Cursor) -> Response:
        """Ask for the rest of a stream (2025-11-25, "Resumability and Redelivery"). Raises ConnectionLost."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": cursor.last_id, **self._session_headers()}
        reason = ""
        for delay in (cursor.retry_seconds or 0.0, *_LATER_DELAYS):
            self._closing.wait(delay)
            try:
                response = self._connections.request("GET", self._path, headers)
            except (Unreachable, ConnectionLost) as error:
                reason = str(error)
                continue
            if response.status == _OK and _is_stream(response):
                message.begin(response)
                return response
            response.close()
            raise ConnectionLost(f"it does not know the rest of its answer any more, HTTP status {response.status}")
        raise ConnectionLost(reason)

    def _raise_refusal(self, message: InFlightMessage, response: Response) -> None:
        """Pass on the server's own error if it is JSON-RPC. Else raises Failure or NoMcp."""
        body = response.body()
        try:
            said = jsonrpc.parse_json(body, MAX_ANSWER_VALUES)
        except jsonrpc.MessageError:
            said = None
        if isinstance(said, dict) and isinstance(said.get("error"), dict) and message.wants_answer:
            self._receive(body, message)
            return
        if response.status in _NOT_HERE and message.method in ("initialize", "server/discover", "tools/call"):
            raise NoMcp(f"HTTP status {response.status}")
        reason = ""
        if isinstance(said, dict) and isinstance(said.get("message"), str):
            reason = f": {said['message'][:300]}"
        raise Failure(
            REFUSED,
            f"{self.name} refused {message.name} with HTTP status {response.status}{reason}",
            may_have_run=response.status >= _SERVERS_FAULT and response.status != _NOT_NOW,
        )

    # ------------------------------------------------------------------ the session

    def open(self, message: InFlightMessage, result: JsonObject) -> None:
        """Keep the answer to ``initialize``."""
        self._version = str(result.get("protocolVersion", ""))
        capabilities = result.get("capabilities")
        self._capabilities = capabilities if isinstance(capabilities, dict) else {}
        self._initialize_params = message.params

    def remember(self, message: InFlightMessage) -> None:
        """Keep what the client tells the session, for ``_reopen``."""
        uri = message.params.get("uri")
        if message.method == "logging/setLevel":
            self._level = message.params
        elif message.method == "resources/subscribe" and isinstance(uri, str):
            self._subscribed[uri] = message.params
        elif message.method == "resources/unsubscribe" and isinstance(uri, str):
            self._subscribed.pop(uri, None)

    def _session_headers(self) -> dict[str, str]:
        headers = {"MCP-Protocol-Version": self._version, "Mcp-Session-Id": self._session_id}
        return {name: value for name, value in headers.items() if value}

    def _reopen(self, session_id: str) -> None:
        """Open the session again, as the client had it. Raises Failure and as ``_post``."""
        with self._reopening:
            if self._session_id != session_id or self._initialize_params is None or self._closing.is_set():
                return  # another thread has opened it, or there was no session
            version, self._session_id = self._version, ""
            self._ask("initialize", self._initialize_params)
            if self._version != version:
                raise Failure(REFUSED, f"{self.name} was restarted and speaks another revision; restart this, too.")
            self._post(_own("notifications/initialized", {}, None))
            if self._level is not None:
                self._ask("logging/setLevel", self._level)
            for params in list(self._subscribed.values()):
                self._ask("resources/subscribe", params)
            self._start_listening()
        for kind in _LISTS:  # the server may offer other things than before
            declared = self._capabilities.get(kind)
            if isinstance(declared, dict) and declared.get("listChanged"):
                method = f"notifications/{kind}/list_changed"
                self._receive(jsonrpc.to_frame(jsonrpc.notification_message(method, {})), None)

    def _ask(self, method: str, params: JsonObject) -> None:
        """Send a request of the relay itself."""
        self._own_ids += 1
        meta = {name: value for name, value in meta_of(params).items() if name != "progressToken"}
        self._post(_own(method, {**params, "_meta": meta}, f"vaultwire-relay-{self._own_ids}"))

    # ------------------------------------------------------------------ the server's own stream

    def _start_listening(self) -> None:
        threading.Thread(target=self._listen, args=(self._session_id,), daemon=True, name="vaultwire-listening").start()

    def _listen(self, session_id: str) -> None:
        """Pass on the server's own messages (GET), as long as this session lasts."""
        cursor = Cursor()
        delays = iter(START_DELAYS)
        while not self._closing.is_set() and self._session_id == session_id:
            headers = {"Accept": "text/event-stream", **self._session_headers()}
            if cursor.last_id:
                headers["Last-Event-ID"] = cursor.last_id
            try:
                self._listening = response = self._connections.request("GET", self._path, headers)
                if response.status == _NOT_FOUND and session_id:
                    response.close()
                    self._reopen(session_id)
                    return
                if response.status != _OK or not _is_stream(response):  # 405: the server has no such stream
                    response.close()
                    return
                delays = iter(START_DELAYS)
                for data in read_events(response.lines(), cursor, MAX_ANSWER_BYTES):
                    self._receive(data, None)
            except ResponseTooLarge as error:  # it would send the same again
                response.close()
                self._say(f"{self.name} is not listened to any more: {error}")
                return
            except (Unreachable, ConnectionLost):  # the rest is asked for below
                pass
            except (Failure, NoMcp, SessionGone):  # the next call reports it
                return
            self._closing.wait(cursor.retry_seconds or next(delays, START_DELAYS[-1]))


def _own(method: str, params: JsonObject, id_: str | None) -> InFlightMessage:
    message = jsonrpc.notification_message(method, params)
    if id_ is not None:
        message = jsonrpc.request_message(id_, method, params)
    return InFlightMessage(jsonrpc.to_frame(message), message, is_internal=True)


def _is_stream(response: Response) -> bool:
    return response.header("content-type").lower().startswith("text/event-stream")
