"""``vaultwire connect``: a client at stdin talks to a server elsewhere.

It speaks MCP with the server. Where the server has none, it uses the REST API, and a session here speaks MCP with the client.
The change from the first way to the second happens at most once.
"""

from __future__ import annotations

import threading
from typing import NamedTuple
from urllib.parse import quote

from vaultwire import __version__
from vaultwire.protocol import http, jsonrpc
from vaultwire.protocol.events import Identity
from vaultwire.protocol.session import Session
from vaultwire.server.dispatcher import serve
from vaultwire.server.results import TOOL_NOT_FOUND, Refusal, Result
from vaultwire.server.subscriptions import Subscriptions
from vaultwire.server.workers import Job, WorkQueue, log_crash
from vaultwire.transports.relay.http_client import ConnectionLost, ConnectionPool, Unreachable, make_tls
from vaultwire.transports.relay.upstream import (
    LOST,
    MAX_ANSWER_VALUES,
    REFUSED,
    START_DELAYS,
    UNREACHABLE,
    Failure,
    InFlightMessage,
    McpServer,
    NoMcp,
    Upstream,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import Json, JsonObject, RequestId
    from vaultwire.server.dispatcher import Entry, Stream
    from vaultwire.server.results import Answer
    from vaultwire.server.subscriptions import Listening


# ---------------------------------------------------------------------- to a server's MCP
#
# Messages of the client to the server, and back. How they travel is ``upstream``'s part.
#
# Calls of tools that change something go one after another, in the order in which they came, as with a server at stdin. All
# other requests go in parallel. ``on_failure`` decides about a message that failed: an error for the client, or another way.

# Requests at once. Each has a thread; more than these wait in the queue.
_MAX_PARALLEL = 32
# How long the end waits for calls in flight: a little longer than the longest call may take (``trust.limits``).
_GRACE_SECONDS = 65.0
# How many unanswered requests of the server are remembered, and how many tools: many times what any server has.
_MAX_SERVER_REQUESTS = 1000
_MAX_TOOLS = 10_000


class Forwarder:
    """Connects one client with one server."""

    def __init__(
        self,
        server: McpServer,
        send: Callable[[bytes], None],
        on_failure: Callable[[InFlightMessage, Failure | NoMcp], bool],
        say: Callable[[str], None],
        *,
        has_fallback: bool,
    ) -> None:
        """``send`` takes frames for the client, ``say`` words for a person.

        ``on_failure`` returns True if it handles the message itself; else the client gets an error. ``has_fallback``: it
        handles NoMcp.
        """
        self._has_fallback = has_fallback
        self._send = send
        self._on_failure = on_failure
        self._upstream = Upstream(server, self._receive, say)
        self._name = server.name
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._in_flight: dict[Any, InFlightMessage] = {}
        self._pending = 0  # messages in a queue or on their way
        self._opening = 0  # those among them that open the session: others wait for them
        self._server_requests: dict[RequestId, None] = {}  # those that the client has not answered
        self._is_over = False
        self._parallel: Any = WorkQueue(self._run, _MAX_PARALLEL)  # Any: a message has what the queue needs of a task
        self._serial: Any = WorkQueue(self._run, 1)
        self._notices: Any = WorkQueue(self._run, 1)  # answers and notifications: calls in flight may wait for them
        self._changing: dict[str, bool] = {}  # by tool: whether it changes something

    # ------------------------------------------------------------------ the client's side

    def forward(self, frame: bytes, content: Json) -> None:
        """Queue a message, which is sound JSON-RPC. Does not wait."""
        message = InFlightMessage(frame, content)
        queue = self._queue_of(message)
        with self._lock:
            duplicates = message.ids & self._in_flight.keys()
            if not duplicates:
                self._in_flight.update(dict.fromkeys(message.ids, message))
                self._pending += 1
                self._opening += message.opens_session
                if isinstance(content, dict) and "method" not in content:
                    self._server_requests.pop(content["id"], None)
        if duplicates:
            reason = f"Invalid Request: id {next(iter(duplicates))!r} is in use by a request that is not answered yet"
            self._send(jsonrpc.to_frame(jsonrpc.error_message(None, jsonrpc.INVALID_REQUEST, reason)))
            return
        self._upstream.remember(message)
        queue.put(message)

    def cancel(self, frame: bytes, notification: JsonObject) -> bool:
        """Cancel the request that a client's notification names; False if it is not in flight here."""
        params = notification.get("params")
        request_id = params.get("requestId") if isinstance(params, dict) else None
        with self._lock:
            message = self._in_flight.pop(request_id, None) if jsonrpc.is_request_id(request_id) else None
            if message is None:
                return False
            message.ids.discard(request_id)
            message.is_cancelled = not message.ids
            if not message.is_started:
                return True
            self._pending += not message.is_stateless
        if message.is_stateless:  # there, to close the connection is to cancel
            message.abort()
        else:
            notice = InFlightMessage(frame, notification)
            notice.send_after = message
            self._notices.put(notice)
        return True

    def expects_answer(self, answer: JsonObject) -> bool:
        """Tell whether a client's answer is to a request of the server that is still open."""
        return jsonrpc.is_request_id(answer.get("id")) and answer["id"] in self._server_requests

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight."""
        return self._pending == 0

    def abandon(self) -> None:
        """Send nothing more. Queued messages go to ``on_failure``."""
        self._is_over = True
        self._upstream.close()

    def end(self) -> None:
        """Finish what is in flight, then end the session with the server."""
        self._upstream.close()
        with self._changed:
            self._changed.wait_for(lambda: not self._pending, _GRACE_SECONDS)
        if not self._is_over:
            self._upstream.leave()

    # ------------------------------------------------------------------ queues

    def _queue_of(self, message: InFlightMessage) -> Any:
        if message.opens_session or isinstance(message.message, list):
            return self._serial
        if not message.ids:
            return self._notices
        if message.method == "tools/call":
            name = message.params.get("name")
            # A tool that was in no list may change something.
            if not isinstance(name, str) or self._changing.get(name) is not False:
                return self._serial
        return self._parallel

    def _run(self, message: Any) -> None:
        try:
            self._process(message)
        except Exception:  # noqa: BLE001 - the client must get an answer
            log_crash(message.name)
            self._report(message, Failure(LOST, f"The relay failed at {message.name}; its log says more."))
        finally:
            message.sent.set()
            with self._changed:
                self._pending -= 1
                self._opening -= message.opens_session
                self._changed.notify_all()

    def _process(self, message: InFlightMessage) -> None:
        if message.send_after is not None:
            message.send_after.sent.wait()
        with self._changed:
            if not message.opens_session:
                self._changed.wait_for(lambda: not self._opening)
            if message.is_cancelled:
                return
            message.is_started = True
        failure = self._try(message)
        if failure is None or message.is_cancelled:
            return
        if self._on_failure(message, failure):
            with self._lock:
                for id_ in message.ids:
                    self._in_flight.pop(id_, None)
        elif isinstance(failure, Failure):
            self._report(message, failure)
        else:
            self._report(message, Failure(REFUSED, f"{self._name} does not serve {message.name} ({failure})."))

    def _try(self, message: InFlightMessage) -> Failure | NoMcp | None:
        """Have the server answer; return the failure, None for none."""
        name = message.name
        if self._is_over:
            return Failure(UNREACHABLE, f"{self._name} cannot be reached any more. {name} was not sent.")
        try:
            self._upstream.deliver(message)
        except (Failure, NoMcp) as failure:
            return failure
        except Unreachable as error:
            return Failure(UNREACHABLE, f"{self._name} cannot be reached: {error}. {name} was not sent.")
        except ConnectionLost as error:
            words = f"The connection to {self._name} was lost after {name} was sent ({error})."
            return Failure(LOST, words + _warning(message), may_have_run=True)
        return None

    def _report(self, message: InFlightMessage, failure: Failure) -> None:
        """Send the client an error for each request that the server has not answered."""
        with self._lock:
            unanswered = [id_ for id_ in message.ids if self._in_flight.pop(id_, None) is not None]
            message.ids.clear()
        data: JsonObject = {"errorCode": failure.code}
        for id_ in unanswered:
            error = jsonrpc.error_message(id_, jsonrpc.INTERNAL_ERROR, failure.message, data)
            self._send(jsonrpc.to_frame(error))

    # ------------------------------------------------------------------ the server's side

    def _receive(self, data: bytes, message: InFlightMessage | None) -> None:
        """Take a message of the server. ``message``: the one on whose stream it came.

        Raises NoMcp, and Failure for what is not JSON-RPC.
        """
        try:
            said = _parse(data)
        except jsonrpc.MessageError as error:
            if message is None:  # nobody waits for it
                return
            words = f"{self._name} answered {message.name} with what is no JSON-RPC message ({error.message})."
            raise Failure(LOST, words + _warning(message), may_have_run=True) from None
        if isinstance(said, list):
            awaited = [self._complete(each, message) for each in said]  # a list: ``any`` would stop at the first
            if any(awaited):
                self._send(_to_frame(data))
            return
        if "method" in said:
            if jsonrpc.is_request_id(said.get("id")):
                self._remember_request(said["id"])
            self._send(_to_frame(data))
            return
        if said.get("id") is None and message is not None and len(message.ids) == 1:
            said["id"] = next(iter(message.ids))  # the server could not read the id; we can
            data = jsonrpc.to_frame(said)
        is_of_batch = said.get("id") is None and message is not None and message.wants_answer
        if is_of_batch or self._complete(said, message):
            self._send(_to_frame(data))

    def _remember_request(self, id_: RequestId) -> None:
        """Remember a request of the server, and forget the oldest if there are too many."""
        with self._lock:
            self._server_requests[id_] = None
            if len(self._server_requests) > _MAX_SERVER_REQUESTS:
                del self._server_requests[next(iter(self._server_requests))]

    def _complete(self, answer: Json, message: InFlightMessage | None) -> bool:
        """Mark a request as answered; tell whether the client waits for the answer. Raises NoMcp."""
        id_ = answer.get("id") if isinstance(answer, dict) else None
        if not isinstance(answer, dict) or not jsonrpc.is_request_id(id_):
            return False
        error, result = answer.get("error"), answer.get("result")
        is_no_mcp = isinstance(error, dict) and error.get("code") == jsonrpc.METHOD_NOT_FOUND
        if is_no_mcp and self._has_fallback and message and message.method in ("initialize", "tools/call"):
            raise NoMcp("it does not know the method")
        with self._lock:
            completed = self._in_flight.pop(id_, None)
            if completed is None and message is not None and id_ in message.ids:
                completed = message  # a request of the relay itself
            if completed is None:
                return False
            completed.ids.discard(id_)
        if isinstance(result, dict):
            self._learn(completed, result)
        return not completed.is_internal

    def _learn(self, message: InFlightMessage, result: JsonObject) -> None:
        """Keep what a result says of the session and of tools."""
        if message.method == "initialize":
            self._upstream.open(message, result)
        elif message.method == "tools/list" and isinstance(result.get("tools"), list):
            for tool in result["tools"]:
                has_room = len(self._changing) < _MAX_TOOLS
                if has_room and isinstance(tool, dict) and isinstance(tool.get("name"), str):
                    hints, schema = tool.get("annotations"), tool.get("inputSchema")
                    self._changing[tool["name"]] = isinstance(hints, dict) and hints.get("readOnlyHint") is False
                    params = http.header_params(schema) if isinstance(schema, dict) else ()
                    self._upstream.header_params[tool["name"]] = params


def _parse(data: bytes) -> JsonObject | list[JsonObject]:
    """Return a server's message or batch. Raises MessageError if it is not sound JSON-RPC."""
    message = jsonrpc.parse_json(data, MAX_ANSWER_VALUES)
    if isinstance(message, list) and message:
        return [jsonrpc.check_server_message(each) for each in message]
    return jsonrpc.check_server_message(message)


def _warning(message: InFlightMessage) -> str:
    """Return the end of an error text for a message that may have changed something."""
    if message.name not in ("tools/call", "a batch"):
        return ""
    return " It may have run: look before you send it again."


def _to_frame(data: bytes) -> bytes:
    """Return one JSON text as one line. In JSON, line breaks stand only outside of strings and mean nothing."""
    return data.strip().replace(b"\r", b" ").replace(b"\n", b" ") + b"\n"


# ---------------------------------------------------------------------- to a server's REST API
#
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
    connections = ConnectionPool(target.host, target.port, tls, headers)
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
