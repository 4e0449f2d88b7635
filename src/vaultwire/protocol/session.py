"""One connection's side of the protocol: handshake, eras, batches, in-flight requests. No socket, no thread, no clock.

The driver feeds frames to ``receive`` and acts on the events; answers go back through ``reply`` and ``refuse``, which
return the frame to send, or None where nothing may be sent any more. What a method *does* lives in ``server.handlers``;
what it takes to be allowed to ask for it lives here. Not thread-safe: the driver holds a lock.

A door that has no connection makes a session for each exchange and tells it the revision to serve.
"""

from __future__ import annotations

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.dialects import MCP, Dialect
from vaultwire.protocol.events import Answered, Batch, Cancel, Exit, Peer, Question, Request, Send, meta_of
from vaultwire.protocol.jsonrpc import INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND, MessageError
from vaultwire.protocol.request_checks import (
    LOG_LEVELS,
    MAX_QUOTE,
    Refused,
    check_envelope,
    check_hello,
    check_level,
    quote,
)
from vaultwire.protocol.revisions import (
    LATEST_HANDSHAKE,
    META_CLIENT_CAPABILITIES,
    META_CLIENT_INFO,
    META_LOG_LEVEL,
    META_SERVER_INFO,
    META_SUBSCRIPTION,
    STATELESS,
    Revision,
    is_stateless_request,
    negotiate,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from vaultwire.protocol.events import Event, Identity
    from vaultwire.protocol.json_types import Json, JsonObject, RequestId

# server/discover may be cached (2026-07-28, "Caching"): nothing in it changes while the process runs, but it names this
# person's vault set-up, so not across users. One hour bounds how long a replaced server is mistaken for the old one.
DISCOVER_TTL_MS = 3_600_000
DISCOVER_CACHE_SCOPE = "private"

# Answers of a batch are kept until the last is there, and even "1,1,1,…" gets one answer a member.
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
        """Serve ``methods`` (name of each request the driver handles) under ``identity``.

        With a ``revision`` there is no handshake: requests are served by it, and if it is stateless by no other.
        """
        self._identity = identity
        self._methods = frozenset(methods)
        self.dialect = dialect
        self.peer = Peer()
        self._only_stateless = revision is not None and revision.stateless
        self._revision = None if self._only_stateless else revision  # else set by the handshake
        self._is_confirmed = revision is not None or not dialect.confirmed
        self._log_level: str | None = None  # set by logging/setLevel
        self._in_flight: dict[RequestId, Request] = {}
        self._asked: dict[RequestId, Question] = {}  # what the peer has not answered yet
        self._questions = 0

    @property
    def revision(self) -> Revision | None:
        """What the handshake settled on; None before it."""
        return self._revision

    @property
    def in_flight(self) -> int:
        """How many requests are neither answered nor cancelled."""
        return len(self._in_flight)

    def receive(self, frame: bytes) -> list[Event]:
        """Take one frame from the peer and return what to do, in order. Never raises."""
        try:
            message = jsonrpc.parse_json(frame)
        except MessageError as error:
            events: list[Event] = []
            self._answer(events, None, jsonrpc.error_message(error.id, error.code, error.message))
            return events
        return self.receive_parsed(message)

    def receive_parsed(self, message: Json) -> list[Event]:
        """Take what one frame held, for a door that had to look into it. As ``receive``."""
        events: list[Event] = []
        if isinstance(message, list):
            self._receive_batch(message, events)
        else:
            self._receive_message(message, None, events)
        return events

    def receive_oversized(self, limit: int) -> list[Event]:
        """Take note that the peer sent a frame longer than ``limit`` bytes, which the driver threw away."""
        reason = f"Invalid Request: a message may have at most {limit} bytes"
        return [Send(jsonrpc.to_frame(jsonrpc.error_message(None, INVALID_REQUEST, reason)), INVALID_REQUEST)]

    def reply(self, request: Request, result: JsonObject) -> bytes | None:
        """Answer the request. Returns the frame to send; None if it was cancelled, answered, or waits for its batch.

        Raises ValueError or TypeError for a result that is not JSON; the request then still waits for its answer.
        """
        if request.revision.stateless:
            result = self._envelope(result)
        return self._finish(request, jsonrpc.result_message(request.id, result))

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

    def log_level(self, request: Request) -> str | None:
        """Return from which level on the client wants to hear of this request, None if it does not."""
        return request.log_level if request.revision.stateless else self._log_level

    def log(self, request: Request, level: str, logger: str, data: Json) -> bytes | None:
        """Return a log notification, or None where the client did not ask for this level.

        Handshake era: the level set by ``logging/setLevel``, silent until then. 2026-07-28: the level in the request's
        own ``_meta``, and never after its answer.
        """
        wanted = self.log_level(request)
        if wanted is None or LOG_LEVELS.index(level) < LOG_LEVELS.index(wanted):
            return None
        if request.revision.stateless and not self._is_open(request):
            return None
        params: JsonObject = {"level": level, "logger": logger, "data": data}
        return jsonrpc.to_frame(jsonrpc.notification_message("notifications/message", params))

    def ask(self, method: str, params: JsonObject) -> tuple[Question, bytes]:
        """Return a request of ours and its frame; the peer's answer to it comes as an ``Answered``. Handshake era only."""
        self._questions += 1
        question = Question(f"vaultwire-{self._questions}")  # a name that no peer mistakes for an id of its own
        self._asked[question.id] = question
        return question, jsonrpc.to_frame(jsonrpc.request_message(question.id, method, params))

    def skip_questions(self, count: int) -> None:
        """Leave out so many names for our requests: another server may have used them with this peer."""
        self._questions += count

    def forget(self, question: Question) -> None:
        """Wait no longer for this answer."""
        self._asked.pop(question.id, None)

    def withdraw_all(self) -> list[Event]:
        """Take note that the peer is gone. As ``receive``."""
        return [event for id_ in list(self._in_flight) for event in self._cancel(id_)]

    def end_listening(self, request: Request) -> bytes | None:
        """Answer a ``subscriptions/listen`` request: nothing more will be told. Returns as ``reply`` does."""
        return self.reply(request, {"_meta": {META_SUBSCRIPTION: request.id}})

    def tell(self, method: str, params: JsonObject, request: Request | None = None) -> bytes:
        """Return a notification nobody asked for; on a ``subscriptions/listen`` request, one that says which it is."""
        if request is not None:
            params = {**params, "_meta": {**params.get("_meta", {}), META_SUBSCRIPTION: request.id}}
        return jsonrpc.to_frame(jsonrpc.notification_message(method, params))

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
        message = raw if jsonrpc.is_usual(raw) else self._receive_other(raw, batch, events)
        if message is None:
            return
        id_ = message["id"]
        if id_ in self._in_flight:
            # Answered under the id null: two answers under one id would settle the wrong call.
            reason = f"Invalid Request: id {quote(id_)} is in use by a request that is not answered yet"
            self._answer(events, batch, jsonrpc.error_message(None, INVALID_REQUEST, reason))
            return
        params = message.get("params")
        try:
            self._receive_request(id_, message["method"], params if type(params) is dict else {}, batch, events)
        except Refused as refusal:
            answer = jsonrpc.error_message(id_, refusal.code, refusal.message, refusal.data)
            self._answer(events, batch, answer)

    def _receive_other(self, raw: Json, batch: Batch | None, events: list[Event]) -> JsonObject | None:
        """Take a message that is no request as nearly all are; return it if it is one all the same."""
        try:
            message = jsonrpc.check_message(raw)
        except MessageError as error:
            # An answer under the id of a request in flight would settle that one.
            id_ = None if error.id in self._in_flight else error.id
            self._answer(events, batch, jsonrpc.error_message(id_, error.code, error.message))
            return None
        if "method" not in message:  # a response
            question = self._asked.pop(message["id"], None) if jsonrpc.is_request_id(message.get("id")) else None
            if question is not None:  # else answered already, or never asked
                question.result, question.error = message.get("result"), message.get("error")
                events.append(Answered(question))
            return None
        if "id" in message:
            return message
        params = message.get("params")
        self._receive_notification(message["method"], params if isinstance(params, dict) else {}, events)
        return None

    def _receive_notification(self, method: str, params: JsonObject, events: list[Event]) -> None:
        if method == "exit":
            events.append(Exit())
        elif method == "notifications/initialized":
            self._is_confirmed = self._is_confirmed or self._revision is not None
        elif method == "notifications/cancelled":
            request_id: Json = params.get("requestId")
            if not jsonrpc.is_request_id(request_id):
                return
            events += self._cancel(request_id)

    def _cancel(self, request_id: RequestId) -> list[Event]:
        request = self._in_flight.pop(request_id, None)
        if request is None:  # answered already, or never seen: both are normal (specification, Cancellation)
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
        meta = meta_of(params)
        capabilities = self.peer.capabilities
        has_eras = self.dialect.only_revision is None
        is_ready = self._revision is not None and self._is_confirmed
        if self._only_stateless or (has_eras and is_stateless_request(method, meta)):
            revision = check_envelope(method, meta)
            self.peer.introduce(meta.get(META_CLIENT_INFO))
            capabilities = meta[META_CLIENT_CAPABILITIES]
            if batch is not None:
                raise Refused(INVALID_REQUEST, f"Invalid Request: {revision.name} has no batches")
            if method == "server/discover":
                self._answer(events, batch, jsonrpc.result_message(id, self._discover(revision)))
                return
        elif method == "initialize":
            if batch is not None:
                raise Refused(INVALID_REQUEST, "Invalid Request: initialize may not be part of a batch")
            self._answer(events, batch, jsonrpc.result_message(id, self._initialize(params)))
            return
        elif method == "ping" and (is_ready or self.dialect.early_ping):
            self._answer(events, batch, jsonrpc.result_message(id, {}))
            return
        else:
            if self._revision is None or not is_ready:
                wanted = "initialize" if self._revision is None else "notifications/initialized"
                reason = f"Not initialized: send {wanted} before {quote(method)}"
                raise Refused(self.dialect.not_initialized, reason, {"errorCode": "NOT_INITIALIZED"})
            revision = self._revision
            if method == "logging/setLevel":
                self._log_level = check_level(params.get("level"), "level")
                self._answer(events, batch, jsonrpc.result_message(id, {}))
                return
        if method not in self._methods or method in revision.absent_methods:
            raise Refused(METHOD_NOT_FOUND, f"Method not found: {quote(method)}", {"method": method[:MAX_QUOTE]})
        self._open(Request(id, method, params, revision, self.peer, capabilities, meta), meta, batch, events)

    def _open(self, request: Request, meta: JsonObject, batch: Batch | None, events: list[Event]) -> None:
        token = request.progress_token
        if token is not None and not jsonrpc.is_request_id(token):
            got = jsonrpc.json_type(token)
            raise Refused(INVALID_PARAMS, f"Invalid params: progressToken must be a string or an integer, got {got}")
        if request.revision.stateless and META_LOG_LEVEL in meta:
            request.log_level = check_level(meta[META_LOG_LEVEL], META_LOG_LEVEL)
        if batch is not None:
            request.batch = batch
            batch.pending += 1
        self._in_flight[request.id] = request
        events.append(request)

    # ------------------------------------------------------------------ answering

    def _initialize(self, params: JsonObject) -> JsonObject:
        if self._revision is not None:
            raise Refused(INVALID_REQUEST, "Invalid Request: this connection is initialized already")
        proposed = params.get("protocolVersion")
        if not isinstance(proposed, str):
            served = "2024-11-05 to " + LATEST_HANDSHAKE.name
            got = "nothing" if proposed is None else jsonrpc.json_type(proposed)
            raise Refused(INVALID_PARAMS, f"Invalid params: protocolVersion must be a string ({served}), got {got}")
        size = check_hello(params)
        only = self.dialect.only_revision
        self._revision = negotiate(proposed if only is None else only)
        self.peer.introduce(params.get("clientInfo"))
        self.peer.capabilities, self.peer.capabilities_size = params.get("capabilities", {}), size
        result: JsonObject = {
            "protocolVersion": self._revision.name,
            "capabilities": self._capabilities(self._revision),
            "serverInfo": self._server_info(self._revision),
        }
        if self.dialect.instructions:
            result["instructions"] = self._identity.instructions
        return result

    def _discover(self, revision: Revision) -> JsonObject:
        result: JsonObject = {
            "supportedVersions": [served.name for served in STATELESS],
            "capabilities": self._capabilities(revision),
            "instructions": self._identity.instructions,
            "ttlMs": DISCOVER_TTL_MS,
            "cacheScope": DISCOVER_CACHE_SCOPE,
        }
        return self._envelope(result)

    def _server_info(self, revision: Revision) -> JsonObject:
        if self.dialect.server is not None:
            return dict(zip(("name", "version"), self.dialect.server, strict=True))
        server_info = dict(self._identity.server_info)
        if not revision.tool_output:  # `title` came in 2025-06-18
            del server_info["title"]
        return server_info

    def _capabilities(self, revision: Revision) -> JsonObject:
        """Return what this server can do, in the revision's words."""
        if self.dialect.capabilities is not None:
            return dict(self.dialect.capabilities)
        capabilities = dict(self._identity.capabilities)
        if revision.stateless:
            capabilities |= self._identity.stateless
        if not revision.completions:
            capabilities.pop("completions", None)
        return capabilities

    def _envelope(self, result: JsonObject) -> JsonObject:
        """Add what every 2026-07-28 result carries; handshake revisions know none of it."""
        meta = {**result.get("_meta", {}), META_SERVER_INFO: self._identity.server_info}
        return {"resultType": "complete", **result, "_meta": meta}

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
