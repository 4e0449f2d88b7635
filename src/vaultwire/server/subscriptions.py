"""The subscribers: open ``subscriptions/listen`` requests (2026-07-28), and connections of the handshake era.

Each is sent what it asked for and no more. What has changed is found out elsewhere, and published here.
"""

from __future__ import annotations

import threading

from vaultwire.protocol.jsonrpc import json_type
from vaultwire.vault.errors import INVALID_ARGUMENTS, POLICY_DENIED, VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from vaultwire.protocol.events import Peer, Request
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.protocol.session import Session
    from vaultwire.server.results import FrameSink

# What a client may subscribe to (2026-07-28, "Subscriptions"), and the notification for it.
RESOURCE_LIST = "resourcesListChanged"
LIST_CHANGES = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    RESOURCE_LIST: "notifications/resources/list_changed",
}
RESOURCE_UPDATES = "resourceSubscriptions"
_RESOURCE_UPDATED = "notifications/resources/updated"


# Resources that one client may subscribe to: more than a person has open. Each is compared at every change.
MAX_WATCHED = 1000
# Characters of their URIs together: they are kept as long as the client listens. A usual one has 100.
MAX_WATCHED_CHARACTERS = 256 * 1024


class Listening:
    """A request that stays open, with what it subscribed to: ``kinds`` of lists, and resources."""

    __slots__ = ("kinds", "uris")

    def __init__(self, kinds: frozenset[str], uris: frozenset[str]) -> None:
        self.kinds = kinds
        self.uris = uris


class _Listener:
    """A subscriber. ``request`` is None for a connection of the handshake era."""

    __slots__ = ("listening", "lock", "request", "session", "sink")

    def __init__(
        self,
        lock: threading.Lock,
        session: Session,
        sink: FrameSink,
        request: Request | None,
        listening: Listening | None,
    ) -> None:
        self.lock = lock
        self.session = session
        self.sink = sink
        self.request = request
        self.listening = listening

    @property
    def uris(self) -> Collection[str]:
        """The resources that it subscribed to. A copy where requests change the set."""
        return self.session.peer.watched.copy() if self.listening is None else self.listening.uris

    def wants(self, kind: str, uri: str | None) -> bool:
        if uri is not None:
            return uri in (self.session.peer.watched if self.listening is None else self.listening.uris)
        if self.listening is None:
            declared = self.session.dialect.capabilities
            is_known = declared is None or kind.removesuffix("ListChanged") in declared
            return is_known and self.session.revision is not None  # without a handshake it hears what it asked for
        return kind in self.listening.kinds


class Subscriptions:
    """The subscribers of one server, at all its doors."""

    def __init__(self, kinds: Collection[str] = ()) -> None:
        """``kinds`` are the changes that the server tells of at all."""
        self.kinds = frozenset(kinds)
        self.may_hear: Callable[[Peer, str], bool] = lambda _, __: True
        """Tells whether a client may hear of a kind of changes."""
        self._lock = threading.Lock()
        self._listeners: dict[Request | Session, _Listener] = {}

    def honoured(self, params: JsonObject, peer: Peer) -> Listening:
        """Return the part of a ``subscriptions/listen`` request that will be served. Raises VaultError."""
        notifications = params.get("notifications")
        offered = {kind for kind in self.kinds if self.may_hear(peer, kind)}
        if not isinstance(notifications, dict):
            raise VaultError(INVALID_ARGUMENTS, f"notifications must be an object, got {json_type(notifications)}")
        uris = notifications.get(RESOURCE_UPDATES, [])
        if not isinstance(uris, list) or len(uris) > MAX_WATCHED or not all(isinstance(uri, str) for uri in uris):
            raise VaultError(INVALID_ARGUMENTS, f"{RESOURCE_UPDATES} must be a list of at most {MAX_WATCHED} URIs")
        _check_length(uris)
        kinds = frozenset(kind for kind in LIST_CHANGES if kind in offered and notifications.get(kind) is True)
        return Listening(kinds, frozenset(uris if RESOURCE_UPDATES in offered else ()))

    def listen(
        self, lock: threading.Lock, session: Session, sink: FrameSink, request: Request, listening: Listening
    ) -> None:
        """Acknowledge the request and keep it open. Holds the ``lock``, which orders what is sent."""
        request.params, request.capabilities = {}, {}  # it may stay open for days, and these are not needed again
        with self._lock:
            self._listeners[request] = _Listener(lock, session, sink, request, listening)
        honoured: JsonObject = dict.fromkeys(sorted(listening.kinds), True)
        if listening.uris:
            honoured[RESOURCE_UPDATES] = sorted(listening.uris)
        sink.send(session.tell("notifications/subscriptions/acknowledged", {"notifications": honoured}, request))

    def attach(self, lock: threading.Lock, session: Session, sink: FrameSink) -> None:
        """Serve a connection of the handshake era until ``end``."""
        with self._lock:
            self._listeners[session] = _Listener(lock, session, sink, None, None)

    def end(self, subscriber: Request | Session) -> None:
        """End a subscription."""
        with self._lock:
            listener = self._listeners.pop(subscriber, None)
        if listener is not None:
            listener.sink.abandon()

    def close(self) -> None:
        """End all subscriptions: answer the open requests."""
        with self._lock:
            listeners, self._listeners = list(self._listeners.values()), {}
        for listener in listeners:
            if listener.request is None:
                continue
            with listener.lock:
                frame = listener.session.end_listening(listener.request)
                if frame is not None:
                    listener.sink.answer(frame, None)

    def watched(self) -> set[str]:
        """Return the URIs that somebody subscribed to."""
        with self._lock:
            return {uri for listener in self._listeners.values() for uri in listener.uris}

    def publish(self, kind: str, uri: str | None = None) -> None:
        """Tell the subscribers that a list, or the resource of this URI, has changed. Safe from any thread."""
        if kind not in self.kinds:
            return
        method, params = (LIST_CHANGES[kind], {}) if uri is None else (_RESOURCE_UPDATED, {"uri": uri})
        with self._lock:
            listeners = [
                listener
                for listener in self._listeners.values()
                if listener.wants(kind, uri) and self.may_hear(listener.session.peer, kind)
            ]
        for listener in listeners:
            with listener.lock:
                listener.sink.send(listener.session.tell(method, params, listener.request))


def watch(request: Request, may_hear: Callable[[Peer, str], bool]) -> None:
    """Carry out ``resources/subscribe`` or ``resources/unsubscribe``. Raises VaultError."""
    uri, watched = request.params.get("uri"), request.peer.watched
    if not isinstance(uri, str):
        raise VaultError(INVALID_ARGUMENTS, f"uri must be a string, got {json_type(uri)}")
    if request.method == "resources/unsubscribe":
        watched.discard(uri)
        return
    if not may_hear(request.peer, RESOURCE_UPDATES):
        raise VaultError(
            POLICY_DENIED, "The policy of this server does not allow to read notes, nor to hear of changes."
        )
    if len(watched) >= MAX_WATCHED and uri not in watched:
        raise VaultError(INVALID_ARGUMENTS, f"at most {MAX_WATCHED} resources can be watched")
    _check_length([*watched, uri])
    watched.add(uri)


def _check_length(uris: Iterable[str]) -> None:
    """Raise VaultError if the URIs together are too long to be kept."""
    if sum(map(len, uris)) > MAX_WATCHED_CHARACTERS:
        reason = f"URIs of resources to be watched may have at most {MAX_WATCHED_CHARACTERS} characters together"
        raise VaultError(INVALID_ARGUMENTS, reason)
