"""The five MCP revisions served, and their differences. The only module that compares protocol dates.

There are two eras: four revisions open with an ``initialize`` handshake; in 2026-07-28 there is none, and ``params._meta``
describes every request. The era is decided for each request (specification 2026-07-28, "Versioning": a server may serve both
eras on one connection), so a client may try one era and fall back to the other.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject

META_VERSION = "io.modelcontextprotocol/protocolVersion"
META_CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META_CLIENT_INFO = "io.modelcontextprotocol/clientInfo"
META_LOG_LEVEL = "io.modelcontextprotocol/logLevel"
META_SERVER_INFO = "io.modelcontextprotocol/serverInfo"
META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

APPS = "io.modelcontextprotocol/ui"
"""The extension of views inside clients (SEP-1865)."""
SKILLS = "io.modelcontextprotocol/skills"
"""The extension of skills (SEP-2640)."""
SKILL_METHODS = ("skills/list", "skills/get")
TASKS = "io.modelcontextprotocol/tasks"
"""The extension of tasks (SEP-2663): calls that are answered later, when the client asks again."""
TASK_METHODS = ("tasks/get", "tasks/update", "tasks/cancel")

HEADER_MISMATCH = -32020
MISSING_CLIENT_CAPABILITY = -32021
UNSUPPORTED_PROTOCOL_VERSION = -32022

# Clients of older revisions know draft-07 only and reject the newer name; clients of newer ones do the reverse. Every keyword
# that we use means the same in both, so each client gets the name that it knows.
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
DRAFT_2020_12 = "https://json-schema.org/draft/2020-12/schema"


class Revision:
    """One published revision and what it expects of a server."""

    __slots__ = (
        "absent_methods",
        "asks_in_results",
        "batches",
        "completions",
        "extensions",
        "name",
        "primed_streams",
        "resource_not_found",
        "schema_dialect",
        "stateless",
        "tasks",
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
        # `completion/complete` is older than the capability that announces it.
        self.completions = name >= "2025-03-26"
        # Clients declare extensions in `capabilities.extensions` from 2025-11-25 on, some with the one before, too. What an
        # extension adds stands in `_meta` of tools, which came with 2025-06-18.
        self.extensions = name >= "2025-06-18"
        # The extension of tasks. In 2025-11-25 tasks were part of the protocol, in another form that is not served.
        self.tasks = name >= "2026-07-28"
        # `title` on resources, templates, prompts and their arguments, and `lastModified` among annotations.
        self.titles = name >= "2025-06-18"
        # 2026-07-28, "Resources", "Error handling": the older number must not be sent any more.
        self.resource_not_found = -32602 if name >= "2026-07-28" else -32002
        self.tool_annotations = name >= "2025-03-26"
        # title, outputSchema and structuredContent arrived together.
        self.tool_output = name >= "2025-06-18"
        # SEP-1303: wrong arguments are a result that the model can read and correct, not a protocol error.
        self.tool_errors_for_arguments = name >= "2025-11-25"
        # Older clients take an event without data for a broken message (2025-11-25, "Sending Messages to the Server").
        self.primed_streams = name >= "2025-11-25"
        # Methods of other revisions that this one does not have.
        self.absent_methods = (
            ("resources/subscribe", "resources/unsubscribe") if name >= "2026-07-28" else ("subscriptions/listen",)
        ) + (() if self.extensions else SKILL_METHODS)
        self.absent_methods += () if self.tasks else TASK_METHODS
        # A server asks the client by a result, "input_required", not by a request.
        self.asks_in_results = name >= "2026-07-28"
        self.schema_dialect = DRAFT_2020_12 if name >= "2025-11-25" else DRAFT_07

    def __repr__(self) -> str:
        return f"Revision({self.name!r})"


HANDSHAKE = tuple(map(Revision, ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")))
STATELESS = (Revision("2026-07-28"),)
LATEST_HANDSHAKE = HANDSHAKE[-1]
# The revision of an HTTP request without version header and session (2025-06-18, "Protocol Version Header").
WITHOUT_HEADER = HANDSHAKE[1]
_HANDSHAKE_BY_NAME = {revision.name: revision for revision in HANDSHAKE}
_STATELESS_BY_NAME = {revision.name: revision for revision in STATELESS}


def negotiate(proposed: str) -> Revision:
    """Return the revision that a handshake agrees on: the proposed one if served, else our latest (lifecycle, 2025-11-25).

    2026-07-28 has no handshake, so proposing it gets the latest revision that has one.
    """
    return _HANDSHAKE_BY_NAME.get(proposed, LATEST_HANDSHAKE)


def handshake(name: str) -> Revision | None:
    """Return the revision of this name that opens with a handshake; None if it is not served."""
    return _HANDSHAKE_BY_NAME.get(name)


def stateless(name: str) -> Revision | None:
    """Return the revision of this name without a handshake; None if it is not served."""
    return _STATELESS_BY_NAME.get(name)


def is_stateless_request(method: str, meta: JsonObject) -> bool:
    """Tell whether a request belongs to the stateless era.

    ``initialize`` always opens the handshake era, also with a version in ``_meta``. Otherwise the version key alone decides,
    so that the error for an incomplete ``_meta`` says what is missing. ``server/discover`` exists in the stateless era only.
    """
    return method != "initialize" and (META_VERSION in meta or method == "server/discover")
