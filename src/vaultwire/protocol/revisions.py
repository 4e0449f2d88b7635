"""The five MCP revisions served, and what differs between them. The only module that compares protocol dates.

Two eras: four revisions open with an ``initialize`` handshake; 2026-07-28 has none, every request describes itself in
``params._meta``. A request is judged on its own (specification 2026-07-28, "Versioning": a server may serve both eras
on one connection), so a client that probes one era and falls back to the other is never locked out.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.json_types import JsonObject

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022

# Clients on the older revisions validate with draft-07 only and reject the newer name; clients on the newer ones do the
# reverse. Every keyword we use means the same in both, so each is told the name it knows.
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"


class Revision:
    """One published revision and the answers it expects."""

    __slots__ = (
        "absent_methods",
        "asks_in_results",
        "batches",
        "completions",
        "name",
        "primed_streams",
        "resource_not_found",
        "schema_dialect",
        "stateless",
        "titles",
        "tool_annotations",
        "tool_errors_for_arguments",
        "tool_output",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.stateless = name >= "2026-07-28"
        # JSON-RPC batches came with 2025-03-26 and left with 2025-06-18.
        self.batches = name == "2025-03-26"
        # `completion/complete` is older than the capability that tells of it.
        self.completions = name >= "2025-03-26"
        # `title` on resources, templates, prompts and their arguments, and `lastModified` among annotations.
        self.titles = name >= "2025-06-18"
        # 2026-07-28, "Resources", "Error handling": the number before it must not be sent any more.
        self.resource_not_found = -32602 if name >= "2026-07-28" else -32002
        self.tool_annotations = name >= "2025-03-26"
        # title, outputSchema and structuredContent arrived together.
        self.tool_output = name >= "2025-06-18"
        # SEP-1303: wrong arguments are a result the model can read and mend, not a protocol error.
        self.tool_errors_for_arguments = name >= "2025-11-25"
        # Before, clients took an event without data for a broken message (2025-11-25, "Sending Messages to the Server").
        self.primed_streams = name >= "2025-11-25"
        # Served methods that this revision does not have.
        self.absent_methods = (
            ("resources/subscribe", "resources/unsubscribe") if name >= "2026-07-28" else ("subscriptions/listen",)
        )
        # The server's requests became results, "input_required".
        self.asks_in_results = name >= "2026-07-28"
        self.schema_dialect = DRAFT_2020_12 if name >= "2025-11-25" else DRAFT_07

    def __repr__(self) -> str:
        return f"Revision({self.name!r})"


HANDSHAKE = tuple(map(Revision, ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")))
STATELESS = (Revision("2026-07-28"),)
LATEST_HANDSHAKE = HANDSHAKE[-1]
# What an HTTP request without a version header and without a session asks for (2025-06-18, "Protocol Version Header").
WITHOUT_HEADER = HANDSHAKE[1]
_HANDSHAKE_BY_NAME = {revision.name: revision for revision in HANDSHAKE}
_STATELESS_BY_NAME = {revision.name: revision for revision in STATELESS}


def negotiate(proposed: str) -> Revision:
    """Return the revision a handshake settles on: the proposed one if served, else our latest (lifecycle, 2025-11-25).

    2026-07-28 has no handshake, so proposing it gets the latest revision that has one.
    """
    return _HANDSHAKE_BY_NAME.get(proposed, LATEST_HANDSHAKE)


def handshake(name: str) -> Revision | None:
    """Return the revision of this name that opens with a handshake, None if it is not served."""
    return _HANDSHAKE_BY_NAME.get(name)


def stateless(name: str) -> Revision | None:
    """Return the handshake-less revision of this name, None if it is not served."""
    return _STATELESS_BY_NAME.get(name)


def is_stateless_request(method: str, meta: JsonObject) -> bool:
    """Tell which era a request belongs to.

    ``initialize`` always opens the handshake era, whatever its ``_meta`` says. Else the version key alone decides, so
    that a half-built envelope is told what it lacks. ``server/discover`` exists in the stateless era only.
    """
    return method != "initialize" and (META_VERSION in meta or method == "server/discover")
