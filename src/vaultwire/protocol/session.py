"""The protocol state of one connection: handshake, eras, batches, requests in flight. No socket, no thread, no clock.

The driver feeds frames to ``receive`` and acts on the events. Answers go back through ``reply`` and ``refuse``: both
return the frame to send, or None if nothing may be sent any more. The session decides whether a request is allowed;
``server.handlers`` carries it out. Not thread-safe: the driver holds a lock.

A door without connections makes a session for each exchange and gives it the revision to serve.
"""

from __future__ import annotations

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.dialects import MCP, Dialect
from vaultwire.protocol.events import Answered, Batch, Cancel, Exit, Peer, Question, Request, Send, meta_of
from vaultwire.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MessageError
from vaultwire.protocol.revisions import (
    LATEST_HANDSHAKE,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SUBSCRIPTION,
    META_VERSION,
    STATELESS,
    UNSUPPORTED_PROTOCOL_VERSION,
    Revision,
    is_stateless_request,
    negotiate,
    stateless,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from vaultwire.protocol.events import Event, Identity
    from vaultwire.protocol.jsonrpc import Json, JsonObject, RequestId


LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")  # RFC 5424, ascending

# Characters of a peer's text that an answer repeats: enough to recognise it, not enough to flood a log.
MAX_QUOTE = 80

# A session keeps the capabilities as long as it lives. Real ones have a few hundred bytes.
_MAX_CAPABILITIES_BYTES = 16 * 1024


class Refused(Exception):  # noqa: N818 - an answer, not a failure of ours
    """A request that gets a JSON-RPC error instead of a handler."""

    def __init__(self, code: int, message: str, data: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def check_envelope(method: str, meta: JsonObject) -> Revision:
    """Return the revision that a stateless request names in its ``_meta`` (2026-07-28, "Request metadata")."""
    for key, expected, shape in ((META_VERSION, str, "a string"), (META_CLIENT_CAPABILITIES, dict, "an object")):
        if not isinstance(meta.get(key), expected):
            got = jsonrpc.json_type(meta[key]) if key in meta else "nothing"
            raise Refused(INVALID_PARAMS, f'Invalid params: {quote(method)} needs _meta["{key}"] ({shape}), got {got}')
    if not isinstance(meta.get(META_CLIENT_INFO, {}), dict):
        got = jsonrpc.json_type(meta[META_CLIENT_INFO])
        raise Refused(INVALID_PARAMS, f'Invalid params: _meta["{META_CLIENT_INFO}"] must be an object, got {got}')
    revision = stateless(meta[META_VERSION])
    if revision is None:
        supported = [served.name for served in STATELESS]
        raise Refused(
            UNSUPPORTED_PROTOCOL_VERSION,
            f"Unsupported protocol version: {quote(meta[META_VERSION])}; per-request _meta is served for "
            f"{', '.join(supported)}, older versions open with initialize",
            {"supported": supported, "requested": meta[META_VERSION]},
        )
    return revision


def check_initialize(params: JsonObject) -> int:
    """Check the params of ``initialize``; return how many bytes the client's capabilities have as JSON."""
    for name in ("capabilities", "clientInfo"):
        if not isinstance(params.get(name, {}), dict):
            got = jsonrpc.json_type(params[name])
            raise Refused(INVALID_PARAMS, f"Invalid params: {name} must be an object, got {got}")
    capabilities = params.get("capabilities")
    size = len(jsonrpc.to_frame(capabilities)) if capabilities else 0
    if size > _MAX_CAPABILITIES_BYTES:
        reason = f"capabilities may have at most {_MAX_CAPABILITIES_BYTES} bytes, these have {size}"
        raise Refused(INVALID_PARAMS, f"Invalid params: {reason}")
    return size


def check_level(level: Json, name: str) -> str:
    """Return the log level. Raises Refused, which calls it ``name``, if it is none."""
    if isinstance(level, str) and level in LOG_LEVELS:
        return level
    got = quote(level) if isinstance(level, str) else jsonrpc.json_type(level)
    raise Refused(INVALID_PARAMS, f"Invalid params: {name} must be one of {', '.join(LOG_LEVELS)}; got {got}")


def check_progress_token(token: Json) -> None:
    """Raise Refused unless the token is one, or None."""
    if token is not None and not jsonrpc.is_request_id(token):
        got = jsonrpc.json_type(token)
        raise Refused(INVALID_PARAMS, f"Invalid params: progressToken must be a string or an integer, got {got}")


def quote(value: RequestId) -> str:
    """Return the peer's text in a form for messages: bounded and printable."""
    text = str(value) if not isinstance(value, str) else value
    text = text if len(text) <= MAX_QUOTE else text[: MAX_QUOTE - 1] + "…"
    return repr(text) if isinstance(value, str) else text


# The answers of a batch are kept until the last one is there, and even in "[1,1,1,…]" each member gets one.
MAX_BATCH = 1000


class Session:
    """The protocol state of one connection."""

    __slots__ = (
        "__weakref__", "_asked", "_identity", "_in_flight", "_is_confirmed", "_log_level", "_methods", "_only_stateless",
        "_questions", "_revision", "dialect", "peer",
    )  # fmt: skip

    def __init__(
        self, identity: Identity, methods: Collection[str], dialect: Dialect = MCP, revision: Revision | None = None
    ) -> None:
        """Serve ``methods`` (the names of the requests that the driver handles) under ``identity``.

        With a ``revision`` there is no handshake: requests are served by that revision. If it is stateless, no other
        revision is served.
        """
        self._identity = identity
        self._methods = frozenset(methods)
        self.dialect = dialect
        self.peer = Peer()
        self._only_stateless = revision is not None and revision.stateless
        self._revision = None if self._only_stateless else revision  # None: the handshake sets it
        self._is_confirmed = revision is not None or not dialect.confirmed
        self._log_level: str | None = None  # set by logging/setLevel
        self._in_flight: dict[RequestId, Request] = {}
        self._asked: dict[RequestId, Question] = {}  # our requests that the peer has not answered yet
        self._questions = 0

    @property
    def revision(self) -> Revision | None:
        """The revision that the handshake agreed on; None before it."""
        return self._revision

    @property
    def level(self) -> str:
        """The level that ``logging/setLevel`` set, empty for none."""
        return self._log_level or ""

    @property
    def opening(self) -> JsonObject:
        """The ``initialize`` request that brings another session to where this one's handshake was."""
        params: JsonObject = {
            "protocolVersion": "" if self._revision is None else self._revision.name,
            "capabilities": self.peer.capabilities,
            "clientInfo": {"name": self.peer.name},
        }
        return jsonrpc.request_message("opening", "initialize", params)

    def resume(self, level: str, questions: int) -> None:
        """Go on where the same session is on another server: its handshake is complete, and it has set this log level.

        ``questions``: the number of the first question. The other server has questions of its own.
        """
        self._is_confirmed = True
        self._log_level = level or None
        self._questions = questions

    @property
    def in_flight(self) -> int:
        """How many requests are neither answered nor cancelled."""
        return len(self._in_flight)

    def receive(self, frame: bytes) -> list[Event]:
        """Read one frame from the peer and return what to do, in order. Never raises."""
        try:
            message = jsonrpc.parse_json(frame)
        except MessageError as error:
            events: list[Event] = []
            self._answer(events, None, jsonrpc.error_message(error.id, error.code, error.message))
            return events
        return self.receive_parsed(message)

    def receive_parsed(self, message: Json) -> list[Event]:
        """Do the same as ``receive`` for a frame that the door has parsed already."""
        events: list[Event] = []
        if isinstance(message, list):
            self._receive_batch(message, events)
        else:
            self._receive_message(message, None, events)
        return events

    def receive_oversized(self, limit: int) -> list[Event]:
        """Return the events for a frame longer than ``limit`` bytes, which the driver threw away."""
        reason = f"Invalid Request: a message may have at most {limit} bytes"
        return [Send(jsonrpc.to_frame(jsonrpc.error_message(None, INVALID_REQUEST, reason)), INVALID_REQUEST)]

    def reply(self, request: Request, result: JsonObject) -> bytes | None:
        """Answer the request and return the frame to send; None if it was cancelled or answered, or its batch is not complete.

        Raises ValueError or TypeError for a result that is not JSON; the request then still waits for its answer.
        """
        if request.revision.stateless:
            result = self._identity.enveloped(result)
        return self._finish(request, jsonrpc.result_message(request.id, result))

    def refuse(self, request: Request, code: int, message: str, data: JsonObject | None = None) -> bytes | None:
        """Answer the request with a JSON-RPC error and return the frame, as ``reply`` does."""
        return self._finish(request, jsonrpc.error_message(request.id, code, message, data))

    def report(self, request: Request, progress: float, total: float | None, message: str | None) -> bytes | None:
        """Return a progress notification; None if the caller did not ask for progress or the value did not grow."""
        if request.progress_token is None or not self._is_open(request) or progress <= request.progress:
            return None
        request.progress = progress
        params: JsonObject = {"progressToken": request.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and request.revision.tool_annotations:  # `message` came with 2025-03-26, too
            params["message"] = message
        return jsonrpc.to_frame(jsonrpc.notification_message("notifications/progress", params))

    def log_level(self, request: Request) -> str | None:
        """Return the lowest level of log messages that the client wants for this request; None if it wants none."""
        return request.log_level if request.revision.stateless else self._log_level

    def log(self, request: Request, level: str, logger: str, data: Json) -> bytes | None:
        """Return a log notification; None if the client did not ask for messages of this level.

        In the handshake era ``logging/setLevel`` sets the level, and before it nothing is sent. In 2026-07-28 the
        request's own ``_meta`` has the level, and nothing is sent after the answer.
        """
        lowest = self.log_level(request)
        if lowest is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(lowest):
            return None
        if request.revision.stateless and not self._is_open(request):
            return None
        params: JsonObject = {"level": level, "logger": logger, "data": data}
        return jsonrpc.to_frame(jsonrpc.notification_message("notifications/message", params))

    def ask(self, method: str, params: JsonObject) -> tuple[Question, bytes]:
        """Return a request of ours and its frame. The peer's answer comes as an ``Answered`` event. Handshake era only."""
        self._questions += 1
        question = Question(f"vaultwire-{self._questions}")  # no peer takes this for an id of its own
        self._asked[question.id] = question
        return question, jsonrpc.to_frame(jsonrpc.request_message(question.id, method, params))

    def forget(self, question: Question) -> None:
        """Stop waiting for this answer."""
        self._asked.pop(question.id, None)

    def withdraw_all(self) -> list[Event]:
        """Cancel all requests in flight, because the peer is gone, and return the events."""
        return [event for id_ in list(self._in_flight) for event in self._cancel(id_)]

    def end_listening(self, request: Request) -> bytes | None:
        """Answer a ``subscriptions/listen`` request, which ends it. Return the frame, as ``reply`` does."""
        return self.reply(request, {"_meta": {META_SUBSCRIPTION: request.id}})

    def tell(self, method: str, params: JsonObject, request: Request | None = None) -> bytes:
        """Return a notification; one that belongs to a ``subscriptions/listen`` request names that request."""
        if request is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), META_SUBSCRIPTION: request.id}}
        return jsonrpc.to_frame(jsonrpc.notification_message(method, params))

    # ------------------------------------------------------------------ receiving

    def _receive_batch(self, messages: list[Json], events: list[Event]) -> None:
        reason = ""
        if self._revision is None or not self._revision.batches:
            reason = "batches exist in protocol version 2025-03-26 only; send one message per line"
        elif not messages:
            reason = "empty batch"
        elif len(messages) > MAX_BATCH:
            reason = f"a batch may have at most {MAX_BATCH} messages, this one has {len(messages)}"
        if reason:
            error = jsonrpc.error_message(None, INVALID_REQUEST, f"Invalid Request: {reason}")
            self._answer(events, None, error)
            return
        batch = Batch()
        for message in messages:
            self._receive_message(message, batch, events)
        batch.open = False
        frame = batch.frame_if_complete()
        if frame is not None:
            events.append(Send(frame))

    def _receive_message(self, raw: Json, batch: Batch | None, events: list[Event]) -> None:
        try:
            message = jsonrpc.check_message(raw)
        except MessageError as error:
            # An error under the id of a request in flight would be taken for that request's answer.
            id_ = None if error.id in self._in_flight else error.id
            self._answer(events, batch, jsonrpc.error_message(id_, error.code, error.message))
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if jsonrpc.is_response(message):
            self._receive_response(message, events)
        elif "id" in message:
            self._receive_request(message["id"], message["method"], params, batch, events)
        else:
            self._receive_notification(message["method"], params, events)

    def _receive_response(self, message: JsonObject, events: list[Event]) -> None:
        question = self._asked.pop(message["id"], None) if jsonrpc.is_request_id(message.get("id")) else None
        if question is not None:  # else answered already, or never asked
            question.result, question.error = message.get("result"), message.get("error")
            events.append(Answered(question))

    def _receive_notification(self, method: str, params: JsonObject, events: list[Event]) -> None:
        if method == "exit":
            events.append(Exit())
        elif method == "notifications/initialized":
            self._is_confirmed = self._is_confirmed or self._revision is not None
        elif method == "notifications/cancelled" and jsonrpc.is_request_id(params.get("requestId")):
            events += self._cancel(params["requestId"])

    def _cancel(self, request_id: RequestId) -> list[Event]:
        request = self._in_flight.pop(request_id, None)
        if request is None:  # answered already, or never received: both are normal (specification, Cancellation)
            return []
        events: list[Event] = [Cancel(request)]
        if request.batch is not None:
            request.batch.pending -= 1
            frame = request.batch.frame_if_complete()
            if frame is not None:
                events.append(Send(frame))
        return events

    def _receive_request(
        self,
        id: RequestId,  # noqa: A002 - the wire's name
        method: str,
        params: JsonObject,
        batch: Batch | None,
        events: list[Event],
    ) -> None:
        if id in self._in_flight:
            # The error has the id null: under this id it would be taken for the answer to the first request.
            reason = f"Invalid Request: id {quote(id)} is in use by a request that is not answered yet"
            self._answer(events, batch, jsonrpc.error_message(None, INVALID_REQUEST, reason))
            return
        try:
            accepted = self._accept(id, method, params, batch)
        except Refused as refusal:
            self._answer(events, batch, jsonrpc.error_message(id, refusal.code, refusal.message, refusal.data))
            return
        if not isinstance(accepted, Request):
            self._answer(events, batch, jsonrpc.result_message(id, accepted))
            return
        if batch is not None:
            accepted.batch = batch
            batch.pending += 1
        self._in_flight[id] = accepted
        events.append(accepted)

    def _accept(self, id: RequestId, method: str, params: JsonObject, batch: Batch | None) -> Request | JsonObject:  # noqa: A002
        """Return the request if a handler must answer it, or the result if the session can. Raises Refused."""
        meta = meta_of(params)
        capabilities = self.peer.capabilities
        has_eras = self.dialect.only_revision is None
        if self._only_stateless or (has_eras and is_stateless_request(method, meta)):
            revision = check_envelope(method, meta)
            self.peer.introduce(meta.get(META_CLIENT_INFO))
            capabilities = meta[META_CLIENT_CAPABILITIES]
            if batch is not None:
                raise Refused(INVALID_REQUEST, f"Invalid Request: {revision.name} has no batches")
            if method == "server/discover":
                return self._identity.discovery_result(self.dialect, revision, self.peer, capabilities)
        elif method == "initialize":
            if batch is not None:
                raise Refused(INVALID_REQUEST, "Invalid Request: initialize may not be part of a batch")
            return self._initialize(params)
        elif method == "ping" and (self._is_ready or self.dialect.early_ping):
            return {}
        else:
            revision = self._negotiated_revision(method)
            if method == "logging/setLevel":
                self._log_level = check_level(params.get("level"), "level")
                return {}
        if method not in self._methods or method in revision.absent_methods:
            raise Refused(METHOD_NOT_FOUND, f"Method not found: {quote(method)}", {"method": method[:MAX_QUOTE]})
        request = Request(id, method, params, revision, self.peer, capabilities, meta)
        check_progress_token(request.progress_token)
        if revision.stateless and META_LOG_LEVEL in meta:
            request.log_level = check_level(meta[META_LOG_LEVEL], META_LOG_LEVEL)
        return request

    @property
    def _is_ready(self) -> bool:
        return self._revision is not None and self._is_confirmed

    def _negotiated_revision(self, method: str) -> Revision:
        """Return the revision of the handshake. Raises Refused if the handshake is not complete."""
        if self._revision is not None and self._is_confirmed:
            return self._revision
        missing = "initialize" if self._revision is None else "notifications/initialized"
        reason = f"Not initialized: send {missing} before {quote(method)}"
        raise Refused(self.dialect.not_initialized, reason, {"errorCode": "NOT_INITIALIZED"})

    # ------------------------------------------------------------------ answering

    def _initialize(self, params: JsonObject) -> JsonObject:
        if self._revision is not None:
            raise Refused(INVALID_REQUEST, "Invalid Request: this connection is initialized already")
        proposed = params.get("protocolVersion")
        if not isinstance(proposed, str):
            served = "2024-11-05 to " + LATEST_HANDSHAKE.name
            got = "nothing" if proposed is None else jsonrpc.json_type(proposed)
            raise Refused(INVALID_PARAMS, f"Invalid params: protocolVersion must be a string ({served}), got {got}")
        size = check_initialize(params)
        only = self.dialect.only_revision
        self._revision = negotiate(proposed if only is None else only)
        self.peer.introduce(params.get("clientInfo"))
        self.peer.capabilities, self.peer.capabilities_size = params.get("capabilities", {}), size
        return self._identity.handshake_result(self.dialect, self._revision, self.peer)

    def _is_open(self, request: Request) -> bool:
        return self._in_flight.get(request.id) is request

    def _finish(self, request: Request, answer: JsonObject) -> bytes | None:
        in_flight, id_ = self._in_flight, request.id
        if in_flight.get(id_) is not request:
            return None
        frame = jsonrpc.to_frame(answer)
        del in_flight[id_]
        if request.batch is None:
            return frame
        request.batch.pending -= 1
        request.batch.add(frame, id_)
        return request.batch.frame_if_complete()

    def _answer(self, events: list[Event], batch: Batch | None, answer: JsonObject) -> None:
        frame = jsonrpc.to_frame(answer)
        if batch is None:
            events.append(Send(frame, answer["error"]["code"] if "error" in answer else None))
        else:
            batch.add(frame, answer["id"])
