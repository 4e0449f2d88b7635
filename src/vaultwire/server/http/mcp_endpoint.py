"""The MCP endpoint of an HTTP server: one message in, one reply or one stream of frames out; and the sessions.

``protocol.http`` says which revision a request asks for and whether its headers fit. A stateless request, and one without a
session, get a protocol session of their own until they are answered; the others find theirs by its id. Nothing here waits: a
stream wakes its consumer. The transport writes frames to a socket.
"""

from __future__ import annotations

import secrets
import time

from vaultwire.protocol import http, jsonrpc
from vaultwire.protocol.dialects import FOR_PROGRAMS
from vaultwire.protocol.events import MAX_NAME, Peer, Request, Send, meta_of
from vaultwire.protocol.http import HeaderMismatch, Headers
from vaultwire.protocol.revisions import HEADER_MISMATCH, META_CLIENT_INFO
from vaultwire.server.http.streams import HttpSession, Stream
from vaultwire.vault.caller import MEMORY_BUDGET, UNCOUNTED_BYTES, estimated_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from vaultwire.protocol.events import Event
    from vaultwire.protocol.jsonrpc import Json, RequestId
    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Workers

# A client that has sent nothing for so long has left: few send DELETE.
SESSION_SECONDS = 3600.0
# Each costs a few kilobytes, and what its streams keep. A person has a few clients. A program that opens a session for each
# call ends idle sessions of others, which open new ones.
MAX_SESSIONS = 1000
# Callers without a session, told apart by key and name. What they have read is remembered.
_MAX_PEERS = 1000


class Reply:
    """An HTTP response that is whole."""

    __slots__ = ("body", "headers", "status")

    def __init__(self, status: int, body: bytes = b"", *headers: tuple[bytes, bytes]) -> None:
        self.status = status
        self.body = body
        self.headers = headers


class McpEndpoint:
    """The endpoint: its sessions, and the requests in flight."""

    def __init__(self, workers: Workers, make_session: Callable[[Revision | None], Session]) -> None:
        """``make_session`` makes the protocol state: of a handshake to come, or of requests at a fixed revision."""
        self._workers = workers
        self._make_session = make_session
        self._sessions: dict[str, HttpSession] = {}
        self._peers: dict[tuple[str, str], Peer] = {}
        self._params: dict[str, http.HeaderParams] = {}  # by tool, as found when it was first called
        self._is_closing = False

    # ------------------------------------------------------------------ requests

    def post(self, headers: Headers, body: bytes, principal: str = "") -> Reply | Stream:
        """Take one message. ``principal`` is the name of the key it came with, empty for none."""
        size = estimated_bytes(body)
        if size <= UNCOUNTED_BYTES:
            return self._post(headers, body, principal)
        if not MEMORY_BUDGET.has_room(size):
            return Reply(503, b"", (b"retry-after", b"1"))
        answered = self._post(headers, body, principal)
        if isinstance(answered, Stream):
            answered.hold(size)
        return answered

    def _post(self, headers: Headers, body: bytes, principal: str) -> Reply | Stream:
        if not headers.is_json:
            return _refusal(
                415, None, jsonrpc.INVALID_REQUEST, "Invalid Request: Content-Type must be application/json"
            )
        if not (headers.takes_json or headers.takes_stream):
            message = "Invalid Request: Accept must name application/json or text/event-stream, better both"
            return _refusal(406, None, jsonrpc.INVALID_REQUEST, message)
        try:
            message = jsonrpc.parse_json(body)
        except jsonrpc.MessageError as error:
            return _refusal(400, error.id, error.code, error.message)
        revision = http.revision_of(message, headers)
        if revision.stateless:
            return self._post_stateless(message, headers, revision, principal)
        if headers.session is not None:
            return self._post_in_session(message, headers, headers.session, principal)
        if isinstance(message, dict) and message.get("method") == "initialize":
            return self._open(message, headers, principal)
        session = self._one_request_session(message, revision, principal)
        if not headers.names_revision and not session.dialect.is_contract:
            session.dialect = FOR_PROGRAMS  # a client of the contract v1, which knows no handshake
        return self._run(session, message, Stream(self._workers, revision, takes_more=headers.takes_stream))

    def _post_stateless(self, message: Json, headers: Headers, revision: Revision, principal: str) -> Reply | Stream:
        if not isinstance(message, dict) or ("method" not in message and ("result" in message or "error" in message)):
            reason = f"Invalid Request: {revision.name} takes one request or notification at a time"
            return _refusal(400, None, jsonrpc.INVALID_REQUEST, reason)
        if "id" in message:
            try:
                http.check_headers(message, headers)
                params = message.get("params")
                if message.get("method") == "tools/call" and isinstance(params, dict):
                    in_headers = self._params_of(params.get("name"))
                    if in_headers:
                        http.check_params(in_headers, params.get("arguments"), headers)
            except HeaderMismatch as mismatch:
                id_ = message["id"] if jsonrpc.is_request_id(message["id"]) else None
                return _refusal(400, id_, HEADER_MISMATCH, f"Header mismatch: {mismatch}")
            if message.get("method") == "subscriptions/listen" and not headers.takes_stream:
                reason = "Invalid Request: this is answered as a stream; Accept must name text/event-stream"
                return _refusal(406, None, jsonrpc.INVALID_REQUEST, reason)
        session = self._one_request_session(message, revision, principal)
        return self._run(session, message, Stream(self._workers, revision, takes_more=headers.takes_stream))

    def _params_of(self, tool: Json) -> http.HeaderParams:
        """Return which arguments of a tool are in headers, too."""
        description = self._workers.handlers.describe(tool) if isinstance(tool, str) else None
        if description is None:
            return ()
        name = description["name"]
        if name not in self._params:
            self._params[name] = http.header_params(description["inputSchema"])
        return self._params[name]

    def _one_request_session(self, message: Json, revision: Revision, principal: str) -> Session:
        """Return the protocol state for one request. What its caller has read is remembered, as with a session."""
        session = self._make_session(revision)
        params = message.get("params") if isinstance(message, dict) else None
        info = meta_of(params).get(META_CLIENT_INFO) if isinstance(params, dict) else None
        name = info.get("name") if isinstance(info, dict) else None
        key = (principal, name[:MAX_NAME] if isinstance(name, str) else "")
        peer = self._peers.get(key)
        if peer is None:
            if len(self._peers) >= _MAX_PEERS:
                del self._peers[next(iter(self._peers))]
            peer = self._peers[key] = Peer(principal)
            peer.is_sessionless = True
        session.peer = peer
        return session

    def _run(self, session: Session, message: Json, stream: Stream) -> Reply | Stream:
        stream.session = session
        with self._workers.lock:
            events = session.receive_parsed(message)
        return stream if self._act(events, session, stream) else Reply(202)

    def _act(self, events: list[Event], session: Session, stream: Stream) -> bool:
        """Do what the events ask for; return whether an answer will come."""
        is_answered = False
        for event in events:
            self._workers.act(event, session, stream)
            is_answered = is_answered or isinstance(event, (Request, Send))
        return is_answered

    def leave(self, stream: Stream) -> None:
        """Cancel a stateless request: its client has closed the stream, which means that (2026-07-28)."""
        session = stream.session
        if session is not None:
            with self._workers.lock:
                events = session.withdraw_all()
            self._act(events, session, stream)

    # ------------------------------------------------------------------ sessions

    def _open(self, message: Json, headers: Headers, principal: str) -> Reply | Stream:
        """Answer ``initialize``, and open a session unless it is refused."""
        if not self._make_room():
            return Reply(503, b"", (b"retry-after", b"10"))
        session = self._make_session(None)
        with self._workers.lock:
            events = session.receive_parsed(message)
        if session.revision is None:  # refused
            stream = Stream(self._workers, http.revision_of(None, headers), takes_more=False)
            self._act(events, session, stream)
            return stream if events else Reply(202)
        session.peer.principal = principal
        id_ = secrets.token_urlsafe(24)
        opened = HttpSession(id_, session, principal, self._workers, session.revision)
        self._sessions[id_] = opened
        self._workers.handlers.subscriptions.attach(self._workers.lock, session, opened.standalone)
        stream = Stream(self._workers, session.revision, takes_more=False)
        stream.session_id = id_
        self._act(events, session, stream)
        return stream

    def _post_in_session(self, message: Json, headers: Headers, session_id: str, principal: str) -> Reply | Stream:
        found = self._find(session_id, principal)
        if found is None:
            id_ = message.get("id") if isinstance(message, dict) else None
            return _no_session(id_ if jsonrpc.is_request_id(id_) else None)
        stream = Stream(self._workers, found.revision, takes_more=headers.takes_stream, resumable=True)
        stream.home = found
        return self._run(found.session, message, stream)

    def get(self, headers: Headers, principal: str = "") -> Reply | tuple[Stream, int]:
        """Return the stream that a client asks for, and the number of the last frame it has."""
        found, refused = self._named_session(headers, principal)
        if found is None:
            return refused
        if not headers.takes_stream:
            return _refusal(406, None, jsonrpc.INVALID_REQUEST, "Invalid Request: Accept must name text/event-stream")
        last = headers.get(http.LAST_EVENT)
        if last is None:
            return found.standalone, found.standalone.delivered
        number, _, after = last.decode("latin-1").partition("-")
        stream = found.streams.get(int(number)) if number.isdecimal() and after.isdecimal() else None
        if stream is None:
            message = "Invalid Request: Last-Event-ID names no event that is still kept"
            return _refusal(400, None, jsonrpc.INVALID_REQUEST, message)
        return stream, int(after)

    def delete(self, headers: Headers, principal: str = "") -> Reply:
        """End a session."""
        found, refused = self._named_session(headers, principal)
        if found is None:
            return refused
        self._end(found)
        return Reply(204)

    def _named_session(self, headers: Headers, principal: str) -> tuple[HttpSession | None, Reply]:
        if headers.session is None or headers.revision.stateless:
            return None, Reply(405, b"", (b"allow", b"POST"))
        return self._find(headers.session, principal), _no_session(None)

    def _find(self, session_id: str, principal: str) -> HttpSession | None:
        found = self._sessions.get(session_id)
        if found is None or found.principal != principal:
            return None
        is_late = time.monotonic() - found.used > SESSION_SECONDS
        if found.is_over or (is_late and not found.is_busy):
            self._end(found)
            return None
        found.use()
        return found

    def _make_room(self) -> bool:
        """End the sessions whose time is up; if there are still too many, also the one used longest ago."""
        if self._is_closing:
            return False
        for each in [each for each in self._sessions.values() if each.is_over]:
            self._end(each)
        now = time.monotonic()
        idle = sorted((each for each in self._sessions.values() if not each.is_busy), key=lambda each: each.used)
        for each in idle:
            if now - each.used <= SESSION_SECONDS and len(self._sessions) < MAX_SESSIONS:
                break
            self._end(each)
        return len(self._sessions) < MAX_SESSIONS

    def _end(self, ending: HttpSession) -> None:
        self._sessions.pop(ending.id, None)
        self._workers.handlers.subscriptions.end(ending.session)
        with self._workers.lock:
            events = ending.session.withdraw_all()
        self._act(events, ending.session, ending.standalone)
        with self._workers.lock:
            for stream in ending.streams.values():
                stream.abandon()

    def close(self) -> None:
        """End what would never end: open subscriptions and standalone streams. Calls in flight go on."""
        self._is_closing = True
        self._workers.handlers.subscriptions.close()
        with self._workers.lock:
            for each in self._sessions.values():
                each.standalone.abandon()


def _no_session(id_: RequestId | None) -> Reply:
    message = "Session not found: it ended, or never was; send initialize without Mcp-Session-Id"
    return _refusal(404, id_, jsonrpc.INVALID_REQUEST, message)


def _refusal(status: int, id_: RequestId | None, code: int, message: str) -> Reply:
    return Reply(status, jsonrpc.to_frame(jsonrpc.error_message(id_, code, message)))
