"""One connection's side of the protocol: handshake, eras, batches, in-flight requests. No socket, no thread, no clock.

The driver feeds frames to ``receive`` and acts on the events; answers go back through ``reply`` and ``refuse``, which
return the frame to send, or None where nothing may be sent any more. What a method *does* lives in ``server.handlers``;
what it takes to be allowed to ask for it lives here. Not thread-safe: the driver holds a lock.

Room left for network doors: a response from the client is recognised and dropped, because no request of ours is out yet.
"""

from __future__ import annotations

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.dialects import MCP, Dialect
from vaultwire.protocol.events import Batch, Call, Cancel, Exit, Peer, Request, Send, meta_of
from vaultwire.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MessageError
from vaultwire.protocol.revisions import (
    LATEST_HANDSHAKE,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
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
    from collections.abc import Sequence

    from vaultwire.protocol.events import Event, Identity
    from vaultwire.protocol.messages import Json, JsonObject, RequestId

LOG_LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")  # RFC 5424, ascending

# server/discover may be cached (2026-07-28, "Caching"): nothing in it changes while the process runs, but it names this
# person's vault set-up, so not across users. One hour bounds how long a replaced server is mistaken for the old one.
DISCOVER_TTL_MS = 3_600_000
DISCOVER_CACHE_SCOPE = "private"

# Answers of a batch are kept until the last is there, and even "1,1,1,…" gets one answer a member.
MAX_BATCH = 1000

# Longest piece of a peer's text repeated in an answer: enough to recognise it, not enough to flood a log.
_MAX_QUOTE = 80


class Session:
    """The protocol state of one connection."""

    def __init__(self, identity: Identity, methods: Sequence[str], dialect: Dialect = MCP) -> None:
        """Serve ``methods`` (name of each request the driver handles) under ``identity``."""
        self._identity = identity
        self._methods = frozenset(methods)
        self.dialect = dialect
        self._peer = Peer()
        self._revision: Revision | None = None  # set by the handshake
        self._log_level: str | None = None  # set by logging/setLevel
        self._in_flight: dict[RequestId, Request] = {}

    @property
    def in_flight(self) -> int:
        """How many requests are neither answered nor cancelled."""
        return len(self._in_flight)

    def receive(self, frame: bytes) -> list[Event]:
        """Take one frame from the peer and return what to do, in order. Never raises."""
        events: list[Event] = []
        try:
            message = jsonrpc.parse_json(frame)
        except MessageError as error:
            self._answer(events, None, jsonrpc.error_message(error.id, error.code, error.message))
            return events
        if isinstance(message, list):
            self._receive_batch(message, events)
        else:
            self._receive_message(message, None, events)
        return events

    def receive_oversized(self, limit: int) -> list[Event]:
        """Take note that the peer sent a frame longer than ``limit`` bytes, which the driver threw away."""
        reason = f"Invalid Request: a message may have at most {limit} bytes"
        return [Send(jsonrpc.to_frame(jsonrpc.error_message(None, INVALID_REQUEST, reason)))]

    def reply(self, request: Request, result: JsonObject) -> bytes | None:
        """Answer the request. Returns the frame to send; None if it was cancelled, answered, or waits for its batch.

        Raises ValueError or TypeError for a result that is not JSON; the request then still waits for its answer.
        """
        return self._finish(request, jsonrpc.result_message(request.id, self._envelope(request.revision, result)))

    def refuse(self, request: Request, code: int, message: str, data: JsonObject | None = None) -> bytes | None:
        """Answer the request with a JSON-RPC error. Returns as ``reply`` does."""
        return self._finish(request, jsonrpc.error_message(request.id, code, message, data))

    def report(self, request: Request, progress: float, total: float | None, message: str | None) -> bytes | None:
        """Return a progress notification, or None where the caller did not ask for it or the value did not grow."""
        if request.progress_token is None or not self._is_open(request) or progress <= request.progress:
            return None
        request.progress = progress
        params: JsonObject = {"progressToken": request.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None and request.revision.tool_annotations:  # `message` came in 2025-03-26 too
            params["message"] = message
        return jsonrpc.to_frame(jsonrpc.notification_message("notifications/progress", params))

    def log(self, request: Request, level: str, logger: str, data: Json) -> bytes | None:
        """Return a log notification, or None where the client did not ask for this level.

        Handshake era: the level set by ``logging/setLevel``, silent until then. 2026-07-28: the level in the request's
        own ``_meta``, and never after its answer.
        """
        wanted = request.log_level if request.revision.stateless else self._log_level
        if wanted is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted):
            return None
        if request.revision.stateless and not self._is_open(request):
            return None
        params: JsonObject = {"level": level, "logger": logger, "data": data}
        return jsonrpc.to_frame(jsonrpc.notification_message("notifications/message", params))

    # ------------------------------------------------------------------ receiving

    def _receive_batch(self, messages: list[Json], events: list[Event]) -> None:
        if self._revision is None or not self._revision.batches:
            reason = "Invalid Request: batches exist in protocol version 2025-03-26 only; send one message per line"
            self._answer(events, None, jsonrpc.error_message(None, INVALID_REQUEST, reason))
            return
        if not messages:
            self._answer(events, None, jsonrpc.error_message(None, INVALID_REQUEST, "Invalid Request: empty batch"))
            return
        if len(messages) > MAX_BATCH:
            reason = f"Invalid Request: a batch may have at most {MAX_BATCH} messages, this one has {len(messages)}"
            self._answer(events, None, jsonrpc.error_message(None, INVALID_REQUEST, reason))
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
            # An answer under the id of a request in flight would settle that one.
            id_ = None if error.id in self._in_flight else error.id
            self._answer(events, batch, jsonrpc.error_message(id_, error.code, error.message))
            return
        if jsonrpc.is_response(message):
            return
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if "id" not in message:
            self._receive_notification(message["method"], params, events)
            return
        if message["id"] in self._in_flight:
            # Answered under the id null: two answers under one id would settle the wrong call.
            reason = f"Invalid Request: id {_quote(message['id'])} is in use by a request that is not answered yet"
            self._answer(events, batch, jsonrpc.error_message(None, INVALID_REQUEST, reason))
            return
        try:
            self._receive_request(message["id"], message["method"], params, batch, events)
        except _Refusal as refusal:
            answer = jsonrpc.error_message(message["id"], refusal.code, refusal.message, refusal.data)
            self._answer(events, batch, answer)

    def _receive_notification(self, method: str, params: JsonObject, events: list[Event]) -> None:
        # Unknown ones, `notifications/initialized` among them, need no action: we send nothing unasked.
        if method == "exit":
            events.append(Exit())
        elif method == "notifications/cancelled":
            request_id: Json = params.get("requestId")
            if not jsonrpc.is_request_id(request_id):
                return
            request = self._in_flight.pop(request_id, None)
            if request is None:  # answered already, or never seen: both are normal (specification, Cancellation)
                return
            events.append(Cancel(request))
            if request.batch is not None:
                request.batch.pending -= 1
                frame = request.batch.frame_if_complete()
                if frame is not None:
                    events.append(Send(frame))

    def _receive_request(
        self,
        id: RequestId,  # noqa: A002 - the wire's name
        method: str,
        params: JsonObject,
        batch: Batch | None,
        events: list[Event],
    ) -> None:
        meta = meta_of(params)
        if is_stateless_request(method, meta):
            revision = _check_envelope(method, meta)
            self._peer.introduce(meta.get(META_CLIENT_INFO))
            if batch is not None:
                raise _Refusal(INVALID_REQUEST, f"Invalid Request: {revision.name} has no batches")
            if method == "server/discover":
                self._answer(events, batch, jsonrpc.result_message(id, self._discover(revision)))
                return
        elif method == "initialize":
            if batch is not None:
                raise _Refusal(INVALID_REQUEST, "Invalid Request: initialize may not be part of a batch")
            self._answer(events, batch, jsonrpc.result_message(id, self._initialize(params)))
            return
        elif method == "ping":
            self._answer(events, batch, jsonrpc.result_message(id, {}))
            return
        else:
            if self._revision is None:
                raise _Refusal(
                    self.dialect.not_initialized,
                    f"Not initialized: send initialize before {_quote(method)}",
                    {"errorCode": "NOT_INITIALIZED"},
                )
            revision = self._revision
            if method == "logging/setLevel":
                self._log_level = _check_level(params.get("level"), "level")
                self._answer(events, batch, jsonrpc.result_message(id, {}))
                return
        if method not in self._methods:
            raise _Refusal(METHOD_NOT_FOUND, f"Method not found: {_quote(method)}", {"method": method[:_MAX_QUOTE]})
        self._open(Request(id, method, params, revision, self._peer), meta, batch, events)

    def _open(self, request: Request, meta: JsonObject, batch: Batch | None, events: list[Event]) -> None:
        token = request.progress_token
        if token is not None and not jsonrpc.is_request_id(token):
            got = jsonrpc.json_type(token)
            raise _Refusal(INVALID_PARAMS, f"Invalid params: progressToken must be a string or an integer, got {got}")
        if request.revision.stateless and META_LOG_LEVEL in meta:
            request.log_level = _check_level(meta[META_LOG_LEVEL], META_LOG_LEVEL)
        request.batch = batch
        if batch is not None:
            batch.pending += 1
        self._in_flight[request.id] = request
        events.append(Call(request))

    # ------------------------------------------------------------------ answering

    def _initialize(self, params: JsonObject) -> JsonObject:
        if self._revision is not None:
            raise _Refusal(INVALID_REQUEST, "Invalid Request: this connection is initialized already")
        proposed = params.get("protocolVersion")
        if not isinstance(proposed, str):
            served = "2024-11-05 to " + LATEST_HANDSHAKE.name
            got = "nothing" if proposed is None else jsonrpc.json_type(proposed)
            raise _Refusal(INVALID_PARAMS, f"Invalid params: protocolVersion must be a string ({served}), got {got}")
        for name in ("capabilities", "clientInfo"):
            if not isinstance(params.get(name, {}), dict):
                got = jsonrpc.json_type(params[name])
                raise _Refusal(INVALID_PARAMS, f"Invalid params: {name} must be an object, got {got}")
        self._revision = negotiate(proposed)
        self._peer.introduce(params.get("clientInfo"))
        server_info = dict(self._identity.server_info)
        if not self._revision.tool_output:  # `title` came in 2025-06-18
            del server_info["title"]
        return {
            "protocolVersion": self._revision.name,
            "capabilities": self._capabilities(self._revision),
            "serverInfo": server_info,
            "instructions": self._identity.instructions,
        }

    def _discover(self, revision: Revision) -> JsonObject:
        result: JsonObject = {
            "supportedVersions": [served.name for served in STATELESS],
            "capabilities": self._capabilities(revision),
            "instructions": self._identity.instructions,
            "ttlMs": DISCOVER_TTL_MS,
            "cacheScope": DISCOVER_CACHE_SCOPE,
        }
        return self._envelope(revision, result)

    def _capabilities(self, revision: Revision) -> JsonObject:
        """Return what this server can do, in the revision's words."""
        capabilities = dict(self._identity.capabilities)
        if not revision.completions:
            capabilities.pop("completions", None)
        return capabilities

    def _envelope(self, revision: Revision, result: JsonObject) -> JsonObject:
        """Add what every 2026-07-28 result carries; handshake revisions know none of it."""
        if not revision.stateless:
            return result
        meta = {**result.get("_meta", {}), META_SERVER_INFO: self._identity.server_info}
        return {"resultType": "complete", **result, "_meta": meta}

    def _is_open(self, request: Request) -> bool:
        return self._in_flight.get(request.id) is request

    def _finish(self, request: Request, answer: JsonObject) -> bytes | None:
        if not self._is_open(request):
            return None
        frame = jsonrpc.to_frame(answer)
        del self._in_flight[request.id]
        if request.batch is None:
            return frame
        request.batch.pending -= 1
        request.batch.answers.append(frame)
        return request.batch.frame_if_complete()

    def _answer(self, events: list[Event], batch: Batch | None, answer: JsonObject) -> None:
        frame = jsonrpc.to_frame(answer)
        if batch is None:
            events.append(Send(frame))
        else:
            batch.answers.append(frame)


class _Refusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    """A request that gets a JSON-RPC error instead of a handler."""

    def __init__(self, code: int, message: str, data: JsonObject | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data


def _check_envelope(method: str, meta: JsonObject) -> Revision:
    """Return the revision a self-describing request asks for (2026-07-28, "Request metadata")."""
    for key, expected, shape in ((META_VERSION, str, "a string"), (META_CLIENT_CAPABILITIES, dict, "an object")):
        if not isinstance(meta.get(key), expected):
            got = jsonrpc.json_type(meta[key]) if key in meta else "nothing"
            raise _Refusal(
                INVALID_PARAMS, f'Invalid params: {_quote(method)} needs _meta["{key}"] ({shape}), got {got}'
            )
    if not isinstance(meta.get(META_CLIENT_INFO, {}), dict):
        got = jsonrpc.json_type(meta[META_CLIENT_INFO])
        raise _Refusal(INVALID_PARAMS, f'Invalid params: _meta["{META_CLIENT_INFO}"] must be an object, got {got}')
    revision = stateless(meta[META_VERSION])
    if revision is None:
        supported = [served.name for served in STATELESS]
        raise _Refusal(
            UNSUPPORTED_PROTOCOL_VERSION,
            f"Unsupported protocol version: {_quote(meta[META_VERSION])}; per-request _meta is served for "
            f"{', '.join(supported)}, older versions open with initialize",
            {"supported": supported, "requested": meta[META_VERSION]},
        )
    return revision


def _check_level(level: Json, name: str) -> str:
    if isinstance(level, str) and level in LOG_LEVELS:
        return level
    got = _quote(level) if isinstance(level, str) else jsonrpc.json_type(level)
    raise _Refusal(INVALID_PARAMS, f"Invalid params: {name} must be one of {', '.join(LOG_LEVELS)}; got {got}")


def _quote(value: RequestId) -> str:
    """Return the peer's text fit for a message: bounded, printable."""
    text = str(value) if not isinstance(value, str) else value
    text = text if len(text) <= _MAX_QUOTE else text[: _MAX_QUOTE - 1] + "…"
    return repr(text) if isinstance(value, str) else text
