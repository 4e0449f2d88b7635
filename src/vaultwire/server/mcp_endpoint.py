"""The MCP endpoint of an HTTP server: one message in, one reply or one stream of frames out; and the sessions.

``protocol.http`` says which revision a request asks for and whether its headers fit. A stateless request, and one without a
session, get a protocol session of their own until they are answered; the others find theirs by its id. Nothing here waits: a
stream wakes its consumer. The transport writes frames to a socket.
"""

from __future__ import annotations

import json
import secrets
import time
from typing import Protocol

from vaultwire.protocol import http, jsonrpc
from vaultwire.protocol.dialects import FOR_PROGRAMS
from vaultwire.protocol.events import MAX_NAME, Peer, Request, Send, meta_of
from vaultwire.protocol.http import HeaderMismatch, Headers
from vaultwire.protocol.revisions import HEADER_MISMATCH, META_CLIENT_INFO
from vaultwire.server.results import FrameSink
from vaultwire.vault.caller import MEMORY_BUDGET, UNCOUNTED_BYTES, Reservation, estimated_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from vaultwire.protocol.events import Event
    from vaultwire.protocol.jsonrpc import Json, RequestId
    from vaultwire.protocol.revisions import Revision
    from vaultwire.protocol.session import Session
    from vaultwire.server.workers import Workers


# ---------------------------------------------------------------------- streams
#
# Streams of frames to a client over HTTP, and the sessions that keep them. Not their form on the wire (``protocol.http``).
#
# One ``Stream`` for each request, and one standalone for each session. Workers put frames in on any thread; the writer of the
# response takes them out. A stream of a session keeps what it sent, so that a client whose connection broke can ask for the
# rest (2025-11-25, "Resumability and Redelivery"). All of it is bounded, for each session and all together
# (``vault.caller``).

# Frames that a client has not taken yet, or may ask for again: those of a call that reports progress ten times a second
# for two minutes. The answer itself is never dropped.
_MOST_FRAMES = 1200
# What a session keeps of ended streams, for a client that comes back: two of the largest attachments.
_MOST_KEPT_BYTES = 16 * 1024 * 1024
_MOST_KEPT_STREAMS = 32
# The cost of a session that keeps nothing yet.
_SESSION_BYTES = 12_000


class Stream(FrameSink):
    """The frames that answer one POST, or the unasked ones of a session."""

    __slots__ = (
        "__weakref__", "_base", "_held", "_lock", "_wake", "can_ask", "code", "consumer", "delivered", "done", "frames",
        "home", "keeper", "most", "number", "paused", "resumable", "revision", "session", "session_id", "size", "takes_more",
    )  # fmt: skip

    def __init__(self, workers: Workers, revision: Revision, *, takes_more: bool, resumable: bool = False) -> None:
        """``takes_more``: the client takes other frames than the answer. ``resumable``: it may ask for them again."""
        self._lock = workers.lock
        self._held: Reservation | None = None  # the message that it answers, until it is answered
        self.keeper: HttpSession | None = None  # the session that counts its frames
        self._wake: Callable[[], None] | None = None
        self._base = 1  # the number of the first of the frames
        self.frames: list[bytes] = []  # these under the account's lock
        self.size = 0  # of all of them, in bytes
        self.revision = revision
        self.takes_more = takes_more
        self.resumable = resumable
        self.most = _MOST_FRAMES
        self.can_ask = resumable and takes_more
        self.number = 0
        self.session: Session | None = None  # whose request it answers
        self.home: HttpSession | None = None  # the session that keeps it once it is more than a single answer
        self.session_id = ""  # of the session that this request opened
        self.code: int | None = None
        self.done = False
        self.paused = False
        self.consumer = 0
        self.delivered = 0  # the number of the last frame that a consumer took

    # ------------------------------------------------------------------ the workers' side (holds their lock)

    def hold(self, size: int) -> None:
        """Count the message that is answered here, of so many bytes, until then."""
        with MEMORY_BUDGET.lock:
            if not self.done:
                self._held = Reservation(size)

    def send(self, frame: bytes) -> None:
        """Add a frame that is not the last. A notification that repeats one still waiting says nothing new."""
        if self.takes_more and not self.done and not self._repeats_waiting(frame):
            self._add(frame, self.most)
            self.wake()

    def answer(self, frame: bytes, code: int | None) -> None:
        """Add the last frame, unless the session has ended meanwhile and nobody can ask for it."""
        if not self.done:
            self._add(frame, self.most + 1)
            self.code = code
        self.abandon()

    def abandon(self) -> None:
        """End: add no more frames."""
        with MEMORY_BUDGET.lock:
            self.done = True
            if self._held is not None:
                self._held.end()
                self._held = None
        self.can_ask = False
        self.wake()

    def _repeats_waiting(self, frame: bytes) -> bool:
        with MEMORY_BUDGET.lock:
            return self._base + len(self.frames) - 1 > self.delivered and self.frames[-1:] == [frame]

    def _add(self, frame: bytes, most: int) -> None:
        with MEMORY_BUDGET.lock:
            self.frames.append(frame)
            self.size += len(frame)
            if len(self.frames) > most:
                self.size -= len(self.frames.pop(0))
                self._base += 1
            self.count()

    def count(self) -> None:
        """Tell the account how much is kept here."""
        if self.keeper is not None:
            self.keeper.count(is_used=self is not self.keeper.standalone)
        elif self.size > UNCOUNTED_BYTES:
            MEMORY_BUDGET.record(self, self.size)

    def evict(self) -> int:
        """Keep all frames: a client waits for them, and its connection counts as well. See ``MemoryHolder``."""
        return self.size

    def empty(self) -> None:
        """Drop all frames. Holds the account's lock."""
        self._base += len(self.frames)
        self.frames = []
        self.size = 0

    def hang_up(self) -> None:
        """Close the response until the client asks for the rest, if its revision has that."""
        if self.resumable and self.takes_more and self.revision.primed_streams:
            self.paused = True
            self.wake()

    def wake(self) -> None:
        """Have the consumer look for frames."""
        if self._wake is not None:
            self._wake()

    # ------------------------------------------------------------------ the consumer's side

    def attach(self, wake: Callable[[], None]) -> int:
        """Become the consumer, in place of the one before; return the consumer's number."""
        with self._lock:
            self.wake()
            self._wake = wake
            self.paused = False
            self.consumer += 1
            return self.consumer

    def begin(self) -> None:
        """Become a stream on the wire, which a client may come back to. A single answer is not kept: it has no event id."""
        home, self.home = self.home, None
        if home is not None:
            home.keep(self)

    def detach(self, consumer: int) -> None:
        """Stop being the consumer. Drop frames that no client can come back to.

        Not left to the end of the stream: after a wait it is part of a cycle, and waits for the garbage collector.
        """
        with self._lock:
            if self.consumer == consumer:
                self._wake = None
                if self.done and not self.resumable:
                    self.take(self.delivered)

    @property
    def is_attached(self) -> bool:
        """Whether there is a consumer."""
        return self._wake is not None

    def take(self, after: int) -> tuple[int, list[bytes]]:
        """Return the frames after the frame with this number, and the number of the first of them."""
        with MEMORY_BUDGET.lock:
            start = max(after + 1, self._base)
            frames = self.frames[start - self._base :]
            if not self.resumable and self.frames:
                self.empty()
                MEMORY_BUDGET.record(self, 0)
            return start, frames

    def is_over(self, after: int) -> bool:
        """Tell whether no frame comes after the frame with this number."""
        return self.done and after + 1 >= self._base + len(self.frames)


class HttpSession:
    """A session of the handshake era over HTTP: its protocol state, and the streams a client may come back to."""

    def __init__(self, id_: str, session: Session, principal: str, workers: Workers, revision: Revision) -> None:
        """``principal``: the key it was opened with; no other may use it."""
        self.id = id_
        self.session = session
        self.principal = principal
        self.revision = revision
        self.opening = ""
        """The message that opened it, where other servers have to know it."""
        self.kept: tuple[str, frozenset[str]] | None = None
        """What other servers know of it: its log level, and what it watches."""
        self.used = time.monotonic()
        self.is_over = False
        """Whether it has ended because others needed the memory."""
        self.standalone = Stream(workers, revision, takes_more=True, resumable=True)
        self.standalone.can_ask = False
        self.standalone.keeper = self
        self.streams: dict[int, Stream] = {0: self.standalone}
        self._numbers = 0
        self.use()

    def number_from(self, number: int) -> None:
        """Give the streams numbers that begin here."""
        self._numbers = number

    def keep(self, stream: Stream) -> None:
        """Number the stream, so that the client can come back to it; drop the oldest streams that have ended."""
        with MEMORY_BUDGET.lock:
            self._numbers += 1
            stream.number = self._numbers
            self.streams[stream.number] = stream
            MEMORY_BUDGET.record(stream, 0)
            stream.keeper = self
            ended = self._ended()
            size = sum(stream.size for stream in ended)
            for count, old in enumerate(ended):
                if len(ended) - count <= _MOST_KEPT_STREAMS and size <= _MOST_KEPT_BYTES:
                    break
                size -= old.size
                del self.streams[old.number]
            self.count()

    def _ended(self) -> list[Stream]:
        return [stream for stream in self.streams.values() if stream.done and not stream.is_attached]

    def use(self) -> None:
        """Note that the client is there."""
        self.used = time.monotonic()
        with MEMORY_BUDGET.lock:
            self._base = _SESSION_BYTES + self.session.peer.size
            self.count()

    def count(self, *, is_used: bool = True) -> None:
        """Tell the account how much is kept. Holds its lock. ``is_used``: the client has asked for something."""
        if not self.is_over:
            size = self._base + sum(stream.size for stream in self.streams.values())
            MEMORY_BUDGET.record(self, size, is_used=is_used)

    def evict(self) -> int:
        """End; or, if an answer is awaited or being sent, drop the streams that have ended. See ``MemoryHolder``."""
        if self.session.in_flight or any(
            stream.is_attached for stream in self.streams.values() if stream is not self.standalone
        ):
            for stream in self._ended():
                if stream is not self.standalone:
                    del self.streams[stream.number]
            return self._base + sum(stream.size for stream in self.streams.values())
        self.is_over = True
        for stream in self.streams.values():
            stream.empty()
            stream.abandon()
        return 0

    @property
    def is_busy(self) -> bool:
        """Whether a request is in flight, or the client listens."""
        return self.session.in_flight > 0 or any(stream.is_attached for stream in self.streams.values())


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


class SharedSessions(Protocol):
    """The sessions of several servers: any of them can go on with any session. All methods wait, and raise OSError."""

    def add(self, id_: str, principal: str, opening: str, /) -> None:
        """Keep a new session."""

    def load(self, id_: str, /) -> tuple[str, str, str, Collection[str]] | None:
        """Return a session's principal, ``initialize`` message, log level and watched resources; None for an unknown one."""

    def note(self, id_: str, level: str, watched: Collection[str], /) -> None:
        """Keep what a session asks for now."""

    def end(self, id_: str, /) -> None:
        """Forget a session."""


# Numbers of one server's streams and questions begin somewhere here, so that those of two servers are never equal.
_NUMBERS = 1 << 40


class McpEndpoint:
    """The endpoint: its sessions, and the requests in flight."""

    def __init__(
        self,
        workers: Workers,
        make_session: Callable[[Revision | None], Session],
        shared: SharedSessions | None = None,
    ) -> None:
        """``make_session`` makes the protocol state: of a handshake to come, or of requests at a fixed revision.

        ``shared``: the sessions of several servers, None if this is the only one.
        """
        self._workers = workers
        self._shared = shared
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
        opened = self._add(secrets.token_urlsafe(24), session, principal, session.revision)
        if self._shared is not None:
            opened.opening = json.dumps(session.opening)
        stream = Stream(self._workers, session.revision, takes_more=False)
        stream.session_id = opened.id
        self._act(events, session, stream)
        return stream

    def _add(self, id_: str, session: Session, principal: str, revision: Revision) -> HttpSession:
        session.peer.principal = principal
        opened = self._sessions[id_] = HttpSession(id_, session, principal, self._workers, revision)
        if self._shared is not None:
            opened.number_from(secrets.randbelow(_NUMBERS))
        self._workers.handlers.subscriptions.attach(self._workers.lock, session, opened.standalone)
        return opened

    # ------------------------------------------------------------------ sessions of several servers

    def to_load(self, headers: Headers) -> Callable[[], tuple[str, str, str, Collection[str]] | None] | None:
        """Return what finds the session that is named and not open here, and waits for that; None if nothing is to be found."""
        id_, shared = headers.session, self._shared
        if shared is None or id_ is None or self._find(id_) is not None:
            return None
        return lambda: shared.load(id_)

    def reopen(self, id_: str, kept: tuple[str, str, str, Collection[str]]) -> None:
        """Go on with a session that was opened on another server, or was closed here to make room."""
        principal, opening, level, watched = kept
        if id_ in self._sessions or not self._make_room():  # another request has done it meanwhile
            return
        session = self._make_session(None)
        with self._workers.lock:
            session.receive_parsed(json.loads(opening))
            session.resume(level, secrets.randbelow(_NUMBERS))
        if session.revision is not None:
            session.peer.watched.update(watched)
            self._add(id_, session, principal, session.revision).kept = level, frozenset(watched)

    def to_keep(self, headers: Headers, answer: Reply | Stream) -> Callable[[], None] | None:
        """Return what keeps for the other servers what a message has changed of its session, and waits; None for nothing."""
        id_ = answer.session_id if isinstance(answer, Stream) and answer.session_id else headers.session
        session, shared = self._sessions.get(id_ or ""), self._shared
        if session is None or shared is None:
            return None
        known, level, watched = session.kept, session.session.level, session.session.peer.watched
        if known is not None and known[0] == level and known[1] == watched:
            return None
        session.kept = now = level, frozenset(watched)
        if known is None:
            return lambda: shared.add(session.id, session.principal, session.opening)
        return lambda: shared.note(session.id, *now)

    def to_forget(self, headers: Headers) -> Callable[[], None] | None:
        """Return what makes the other servers forget the session that is named, and waits for that; None for none."""
        id_, shared = headers.session, self._shared
        return None if id_ is None or shared is None else lambda: shared.end(id_)

    def _post_in_session(self, message: Json, headers: Headers, session_id: str, principal: str) -> Reply | Stream:
        session = self._find(session_id, principal)
        if session is None:
            id_ = message.get("id") if isinstance(message, dict) else None
            return _no_session(id_ if jsonrpc.is_request_id(id_) else None)
        stream = Stream(self._workers, session.revision, takes_more=headers.takes_stream, resumable=True)
        stream.home = session
        return self._run(session.session, message, stream)

    def get(self, headers: Headers, principal: str = "") -> Reply | tuple[Stream, int]:
        """Return the stream that a client asks for, and the number of the last frame it has."""
        session, refused = self._named_session(headers, principal)
        if session is None:
            return refused
        if not headers.takes_stream:
            return _refusal(406, None, jsonrpc.INVALID_REQUEST, "Invalid Request: Accept must name text/event-stream")
        last = headers.get(http.LAST_EVENT)
        if last is None:
            return session.standalone, session.standalone.delivered
        number, _, after = last.decode("latin-1").partition("-")
        stream = session.streams.get(int(number)) if number.isdecimal() and after.isdecimal() else None
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

    def _find(self, session_id: str, principal: str | None = None) -> HttpSession | None:
        """Return a session that this principal, if one is given, has opened."""
        session = self._sessions.get(session_id)
        if session is None or principal not in (None, session.principal):
            return None
        is_late = time.monotonic() - session.used > SESSION_SECONDS
        if session.is_over or (is_late and not session.is_busy):
            self._end(session)
            return None
        session.use()
        return session

    def _make_room(self) -> bool:
        """End the sessions whose time is up; if there are still too many, also the one used longest ago."""
        if self._is_closing:
            return False
        for session in [session for session in self._sessions.values() if session.is_over]:
            self._end(session)
        now = time.monotonic()
        idle = sorted(
            (session for session in self._sessions.values() if not session.is_busy), key=lambda session: session.used
        )
        for session in idle:
            if now - session.used <= SESSION_SECONDS and len(self._sessions) < MAX_SESSIONS:
                break
            self._end(session)
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
