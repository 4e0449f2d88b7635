"""What a session hands to its driver: events, and the requests they carry."""

from __future__ import annotations

from vaultwire.protocol import jsonrpc
from vaultwire.protocol.revisions import META_SERVER_INFO, STATELESS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeAlias

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.json_types import Json, JsonObject, RequestId
    from vaultwire.protocol.revisions import Revision

# server/discover may be cached (2026-07-28, "Caching"): nothing in it changes while the process runs. It is private, because
# it names this person's vaults. After one hour a client notices that the server was replaced.
DISCOVER_TTL_MS = 3_600_000
DISCOVER_CACHE_SCOPE = "private"

# Of a client's name for itself so much is kept: real ones have a few words.
MAX_NAME = 100
# What an address costs that a client wants to hear of, besides its characters.
_URI_BYTES = 100
# What the answers to one batch may have together: two of the largest. Short ones are always there, of up to 1000.
_MOST_BATCH_BYTES = 32 * 1024 * 1024
_SHORT_BYTES = 16 * 1024

BATCH_TOO_LARGE = "BATCH_TOO_LARGE"
"""The error code of a request whose answer had no room in its batch."""


class Identity:
    """What this server says of itself in ``initialize`` and ``server/discover``.

    ``stateless`` are capabilities that are others where there are no sessions (2026-07-28).
    """

    __slots__ = ("capabilities", "instructions", "server_info", "stateless")

    def __init__(
        self,
        name: str,
        title: str,
        version: str,
        capabilities: JsonObject,
        instructions: str,
        stateless: JsonObject | None = None,
    ) -> None:
        self.server_info: JsonObject = {"name": name, "title": title, "version": version}
        self.capabilities = capabilities
        self.instructions = instructions
        self.stateless = stateless or {}

    def handshake_result(self, dialect: Dialect, revision: Revision) -> JsonObject:
        """Return the result of ``initialize``."""
        result: JsonObject = {
            "protocolVersion": revision.name,
            "capabilities": self._capabilities(dialect, revision),
            "serverInfo": self._server_info(dialect, revision),
        }
        if dialect.instructions:
            result["instructions"] = self.instructions
        return result

    def discovery_result(self, dialect: Dialect, revision: Revision) -> JsonObject:
        """Return the result of ``server/discover``."""
        return self.enveloped(
            {
                "supportedVersions": [served.name for served in STATELESS],
                "capabilities": self._capabilities(dialect, revision),
                "instructions": self.instructions,
                "ttlMs": DISCOVER_TTL_MS,
                "cacheScope": DISCOVER_CACHE_SCOPE,
            }
        )

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

    def _capabilities(self, dialect: Dialect, revision: Revision) -> JsonObject:
        """Return this server's capabilities as the revision spells them."""
        if dialect.capabilities is not None:
            return dict(dialect.capabilities)
        capabilities = dict(self.capabilities)
        if revision.stateless:
            capabilities |= self.stateless
        if not revision.completions:
            capabilities.pop("completions", None)
        return capabilities


class Batch:
    """The answers of one JSON-RPC batch, sent together when the last is there."""

    __slots__ = ("answers", "open", "pending", "size")

    def __init__(self) -> None:
        self.answers: list[bytes] = []  # as frames: what JSON cannot hold fails its own request, not its neighbours
        self.size = 0  # of the answers, in bytes
        self.pending = 0
        self.open = True  # messages of the batch are still being read

    def add(self, frame: bytes, id_: RequestId | None) -> None:
        """Keep the answer to a request until the last is there; a long one that is too much says so instead."""
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
        """Return the frame that answers the batch once every message in it is settled, None before."""
        if self.open or self.pending or not self.answers:
            return None
        return jsonrpc.to_batch_frame(self.answers)


UNNAMED = "stdio:"
"""What principals begin with that tell callers apart and say of nobody who it is. No key has such a name."""


class Peer:
    """The other side of one connection: ``name`` is what it calls itself, empty as long as it has not said.

    ``principal`` is whose key or token it came with, empty where it came with neither. A name says what its client likes:
    where who it is matters, the principal goes first.
    ``memory`` is the handlers': what they keep of this peer between its requests. The session does not look at it.
    """

    __slots__ = ("capabilities", "capabilities_size", "memory", "name", "principal", "shown", "watched")

    def __init__(self, principal: str = "") -> None:
        self.name = ""
        self.principal = principal
        self.capabilities: JsonObject = {}  # what it said in the handshake, if there was one
        self.capabilities_size = 0  # as JSON
        self.memory: Any = None
        self.watched: set[str] = set()  # URIs of resources it wants to hear of
        self.shown: frozenset[str] = frozenset()  # tools listed to it besides those listed to everybody

    @property
    def authority(self) -> str:
        """Whose rights it has: those of its principal; empty for whoever came with no key or token."""
        return "" if self.principal.startswith(UNNAMED) else self.principal

    @property
    def identity(self) -> tuple[str, str]:
        """Who it is: its principal, or, without one, the name it gives itself. No name is equal to a principal."""
        return (self.principal, "") if self.principal else ("", self.name)

    @property
    def signature(self) -> str:
        """Who it is in words, its principal first."""
        if not (self.authority and self.name):
            return self.authority or self.name
        return f"{self.authority} ({self.name})"

    @property
    def size(self) -> int:
        """How many bytes are kept of what it said, about."""
        return 16 * self.capabilities_size + sum(map(len, self.watched)) + _URI_BYTES * len(self.watched)

    def introduce(self, client_info: Json) -> None:
        """Take note of what the peer says of itself in ``clientInfo``."""
        if isinstance(client_info, dict) and isinstance(client_info.get("name"), str):
            self.name = client_info["name"][:MAX_NAME]


class Request:
    """One request on its way through the server: handle it, then ``reply`` or ``refuse`` once.

    Its connection tells later whether an answer may still be sent.
    ``capabilities`` is what the client can do, as far as it may be relied on for this request.
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
        """``meta`` is what ``params`` have under ``_meta``, for who knows it already."""
        self.id = id
        self.capabilities = capabilities or {}
        self.method = method
        self.params = params
        self.revision = revision
        self.peer = peer
        self.progress_token: Json = (meta_of(params) if meta is None else meta).get("progressToken")
        self.log_level: str | None = None
        self.progress = -1.0  # last value reported: the next one must be larger (specification, Progress)
        self.batch: Batch | None = None


class Question:
    """A request of ours. ``waiting`` is the driver's: who is to be woken by the answer."""

    __slots__ = ("error", "id", "result", "waiting")

    def __init__(self, id: str) -> None:  # noqa: A002 - the wire's name
        self.id = id
        self.result: Json = None
        self.error: Json = None
        self.waiting: Any = None


class Send:
    """Put this frame on the wire; it answers what was received. ``code`` is its error's, None if it is none."""

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
