"""The events that a session returns to its driver, and the objects in them: requests, peers, batches, our own questions."""

from __future__ import annotations

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.revisions import META_SERVER_INFO, STATELESS, TASKS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping
    from typing import Any, TypeAlias

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.jsonrpc import Json, JsonObject, RequestId
    from vaultwire.protocol.revisions import Revision

# server/discover may be cached (2026-07-28, "Caching"): nothing in it changes while the process runs. It is private, because
# it names this person's vaults. After one hour a client notices that the server was replaced.
DISCOVER_TTL_MS = 3_600_000
DISCOVER_CACHE_SCOPE = "private"

# Characters kept of a client's name for itself: real ones have a few words.
MAX_NAME = 100
# Memory of one resource URI that a client subscribes to, on top of its characters.
_URI_BYTES = 100
# Bytes of all answers to one batch: two of the largest. Short answers are always sent; there are at most 1000.
_MOST_BATCH_BYTES = 32 * 1024 * 1024
_SHORT_BYTES = 16 * 1024

BATCH_TOO_LARGE = "BATCH_TOO_LARGE"
"""The error code of a request whose answer was too large for its batch."""


class Identity:
    """How this server introduces itself in ``initialize`` and ``server/discover``.

    ``instructions`` may depend on the client. ``extensions`` are told to clients that declare them, too; the others get no
    byte more.
    """

    __slots__ = ("capabilities", "extensions", "instructions", "server_info")

    def __init__(
        self,
        name: str,
        title: str,
        version: str,
        capabilities: JsonObject,
        instructions: str | Callable[[Peer], str],
        extensions: Mapping[str, JsonObject] | None = None,
    ) -> None:
        self.server_info: JsonObject = {"name": name, "title": title, "version": version}
        self.capabilities = capabilities
        self.instructions = instructions
        self.extensions = extensions or {}

    def handshake_result(self, dialect: Dialect, revision: Revision, peer: Peer) -> JsonObject:
        """Return the result of ``initialize``."""
        result: JsonObject = {
            "protocolVersion": revision.name,
            "capabilities": self._capabilities(dialect, revision, peer.capabilities),
            "serverInfo": self._server_info(dialect, revision),
        }
        if dialect.instructions:
            result["instructions"] = self._instructions(peer)
        return result

    def discovery_result(
        self, dialect: Dialect, revision: Revision, peer: Peer, capabilities: JsonObject
    ) -> JsonObject:
        """Return the result of ``server/discover`` for a client with these capabilities."""
        return self.enveloped(
            {
                "supportedVersions": [served.name for served in STATELESS],
                "capabilities": self._capabilities(dialect, revision, capabilities),
                "instructions": self._instructions(peer),
                "ttlMs": DISCOVER_TTL_MS,
                "cacheScope": DISCOVER_CACHE_SCOPE,
            }
        )

    def _instructions(self, peer: Peer) -> str:
        return self.instructions if isinstance(self.instructions, str) else self.instructions(peer)

    def enveloped(self, result: JsonObject) -> JsonObject:
        """Return the result with the fields that every result of 2026-07-28 has, and no earlier one."""
        meta = {**result.get("_meta", {}), META_SERVER_INFO: self.server_info}
        return {"resultType": "complete", **result, "_meta": meta}

    def _server_info(self, dialect: Dialect, revision: Revision) -> JsonObject:
        if dialect.server is not None:
            return dict(zip(("name", "version"), dialect.server, strict=True))
        server_info = dict(self.server_info)
        if not revision.tool_output:  # `title` came with 2025-06-18
            del server_info["title"]
        return server_info

    def _capabilities(self, dialect: Dialect, revision: Revision, of_client: JsonObject) -> JsonObject:
        """Return this server's capabilities as the revision spells them."""
        if dialect.capabilities is not None:
            return dict(dialect.capabilities)
        capabilities = dict(self.capabilities)
        if not revision.completions:
            capabilities.pop("completions", None)
        declared = of_client.get("extensions") if revision.extensions else None
        served = dict(self.extensions)
        if not revision.stateless:  # earlier schemas lack the field: it is for who uses it, too
            names = declared if isinstance(declared, dict) else {}
            served = {name: served[name] for name in served if name in names and name != TASKS}
        if served:
            capabilities["extensions"] = served
        return capabilities


class Batch:
    """The answers to one JSON-RPC batch, sent together when the last one is there."""

    __slots__ = ("answers", "open", "pending", "size")

    def __init__(self) -> None:
        self.answers: list[bytes] = []  # as frames: an answer that is not JSON fails alone, without the others
        self.size = 0  # of the answers, in bytes
        self.pending = 0
        self.open = True  # messages of the batch are still being read

    def add(self, frame: bytes, id_: RequestId | None) -> None:
        """Keep the answer to a request; one that is too large is replaced by an error."""
        if len(frame) > _SHORT_BYTES and self.size + len(frame) > _MOST_BATCH_BYTES:
            reason = (
                f"This was done, but its answer of {len(frame)} bytes is left out: the answers to one batch may have "
                f"{_MOST_BATCH_BYTES} bytes together. Ask for it again, alone, if it only reads."
            )
            data: JsonObject = {"errorCode": BATCH_TOO_LARGE}
            frame = jsonrpc.to_frame(jsonrpc.error_message(id_, jsonrpc.INTERNAL_ERROR, reason, data))
        self.answers.append(frame)
        self.size += len(frame)

    def frame_if_complete(self) -> bytes | None:
        """Return the frame that answers the batch; None while a request in it is in flight."""
        if self.open or self.pending or not self.answers:
            return None
        return jsonrpc.to_batch_frame(self.answers)


def name_of_principal(principal: str) -> str:
    """Return the name of a key without its id, and the owner of a token as it is: only that has a colon."""
    name, _, _ = principal.partition("#")
    return principal if ":" in name else name


class Peer:
    """The other side of one connection. ``name`` is the name it gives itself, empty before it gave one.

    ``principal`` is its key, with the key's name and id (``phone#0f3a…``), or the owner of its token; empty if it has
    neither. A client may choose any name, so access is decided by the principal. A person's rules name a key
    (``authority``); what is kept of a peer is kept for its principal, because a later key may have the same name.
    ``memory`` belongs to the handlers: what they keep of this peer between its requests.
    """

    __slots__ = (
        "capabilities",
        "capabilities_size",
        "is_person",
        "is_sessionless",
        "memory",
        "name",
        "principal",
        "watched",
    )

    def __init__(self, principal: str = "") -> None:
        self.name = ""
        self.principal = principal
        self.capabilities: JsonObject = {}  # as given in the handshake, if there was one
        self.capabilities_size = 0  # as JSON
        self.memory: Any = None
        self.is_person = (
            False  # whether it is the person's own command, so that none of its changes waits for the person
        )
        self.is_sessionless = False  # whether its requests belong together by its principal and name only
        self.watched: set[str] = set()  # URIs of resources that it subscribed to

    @property
    def authority(self) -> str:
        """The name of its key, or the owner of its token, whose rights it has; empty for a peer without either."""
        return name_of_principal(self.principal)

    @property
    def key_id(self) -> str:
        """The id of its key; empty for a peer without one."""
        return self.principal[len(name_of_principal(self.principal)) + 1 :]

    @property
    def identity(self) -> tuple[str, str]:
        """Its principal or, without one, the name it gives itself. No name is equal to a principal."""
        return (self.principal, "") if self.principal else ("", self.name)

    @property
    def owner(self) -> Hashable:
        """What tells its calls from those of others: all that come with the same key are one client, else each session is."""
        return self.principal or self

    @property
    def signature(self) -> str:
        """Its authority and name in words."""
        if not (self.authority and self.name):
            return self.authority or self.name
        return f"{self.authority} ({self.name})"

    @property
    def size(self) -> int:
        """About how many bytes of memory its data needs."""
        return 16 * self.capabilities_size + sum(map(len, self.watched)) + _URI_BYTES * len(self.watched)

    def introduce(self, client_info: Json) -> None:
        """Keep the name that the peer gives itself in ``clientInfo``."""
        if isinstance(client_info, dict) and isinstance(client_info.get("name"), str):
            self.name = client_info["name"][:MAX_NAME]


class Request:
    """One request to be handled, then answered once by ``Session.reply`` or ``Session.refuse``.

    ``capabilities`` are those of the client that hold for this request.
    """

    __slots__ = (
        "batch",
        "capabilities",
        "id",
        "log_level",
        "method",
        "params",
        "peer",
        "progress",
        "progress_token",
        "revision",
    )

    def __init__(
        self,
        id: RequestId,  # noqa: A002 - the wire's name
        method: str,
        params: JsonObject,
        revision: Revision,
        peer: Peer,
        capabilities: JsonObject | None = None,
        meta: JsonObject | None = None,
    ) -> None:
        """Take ``_meta`` from ``params`` unless the caller gives it as ``meta``."""
        self.id = id
        self.capabilities = capabilities or {}
        self.method = method
        self.params = params
        self.revision = revision
        self.peer = peer
        self.progress_token: Json = (meta_of(params) if meta is None else meta).get("progressToken")
        self.log_level: str | None = None
        self.progress = -1.0  # last reported value: the next one must be larger (specification, Progress)
        self.batch: Batch | None = None


class Question:
    """A request of ours to the peer. ``waiting`` belongs to the driver: what the answer wakes."""

    __slots__ = ("error", "id", "result", "waiting")

    def __init__(self, id: str) -> None:  # noqa: A002 - the wire's name
        self.id = id
        self.result: Json = None
        self.error: Json = None
        self.waiting: Any = None

    @property
    def is_answered(self) -> bool:
        """Whether its answer, or the peer's refusal, is here."""
        return self.result is not None or self.error is not None


class Send:
    """Send this frame, the answer to what was received. ``code`` is the code of its error; None if it is no error."""

    __slots__ = ("code", "frame")
    __match_args__ = ("frame", "code")

    def __init__(self, frame: bytes, code: int | None = None) -> None:
        self.frame = frame
        self.code = code


class Cancel:
    """Stop working on this request; it will not be answered."""

    __slots__ = ("request",)
    __match_args__ = ("request",)

    def __init__(self, request: Request) -> None:
        self.request = request


class Answered:
    """The peer answered this question of ours."""

    __slots__ = ("question",)
    __match_args__ = ("question",)

    def __init__(self, question: Question) -> None:
        self.question = question


class Exit:
    """The client asked the process to end: finish what is in flight, then stop."""

    __slots__ = ()


if TYPE_CHECKING:
    Event: TypeAlias = Send | Request | Cancel | Answered | Exit


def meta_of(params: JsonObject) -> JsonObject:
    """Return a request's ``_meta``, empty where there is none."""
    meta = params.get("_meta")
    return meta if isinstance(meta, dict) else {}
