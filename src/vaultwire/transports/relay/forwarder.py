"""Forwards a client's messages to a server, and the server's messages to the client. How they travel is ``upstream``'s part.

Calls of tools that change something go one after another, in the order in which they came, as with a server at stdin. All
other requests go in parallel. ``on_failure`` decides about a message that failed: an error for the client, or another way.
"""

from __future__ import annotations

import threading

from vaultwire.protocol import http, jsonrpc
from vaultwire.server.work_queue import WorkQueue
from vaultwire.server.workers import log_crash
from vaultwire.transports.relay.http_client import ConnectionLost, Unreachable
from vaultwire.transports.relay.upstream import (
    LOST,
    MAX_ANSWER_VALUES,
    REFUSED,
    UNREACHABLE,
    Failure,
    InFlightMessage,
    NoMcp,
    Upstream,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from vaultwire.protocol.jsonrpc import Json, JsonObject, RequestId
    from vaultwire.transports.relay.upstream import McpServer

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
