"""What the Apps extension says on the wire: who declared it, which tool has which view.

Facts: SEP-1865, modelcontextprotocol/ext-apps, specification 2026-01-26.
"""

from __future__ import annotations

from vaultwire.protocol.revisions import APPS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import JsonObject

MIME_TYPE = "text/html;profile=mcp-app"
DATA = "vaultwire/view"
"""The name in a result's ``_meta`` of what the view shows. It is not for the model."""

SEARCH, CHANGE, GRAPH = "search", "change", "graph"
VIEWS = (SEARCH, CHANGE, GRAPH)
_PREFIX = "ui://vaultwire/"
_BY_TOOL = {"search_notes": SEARCH, "list_links": GRAPH, "list_changes": CHANGE}


def has_apps(request: Request, dialect: Dialect) -> bool:
    """Tell whether the client declared that it shows views of our kind."""
    extensions = request.capabilities.get("extensions")
    if dialect.is_contract or not request.revision.extensions or not isinstance(extensions, dict):
        return False
    declared = extensions.get(APPS)
    types = declared.get("mimeTypes") if isinstance(declared, dict) else None
    return isinstance(types, list) and MIME_TYPE in types


def view_of(description: Mapping[str, Any]) -> str | None:
    """Return the name of a tool's view, None if it has none. A tool that makes a change on record shows that change."""
    known = _BY_TOOL.get(description["name"])
    if known is None and "change" in description.get("outputSchema", {}).get("properties", ()):
        return CHANGE
    return known


def listed_meta(description: Mapping[str, Any]) -> JsonObject:
    """Return what a tool's entry in ``tools/list`` has besides for a client with views."""
    view = view_of(description)
    return {} if view is None else {"_meta": {"ui": {"resourceUri": _PREFIX + view}}}


def view_in(uri: object) -> str | None:
    """Return the name of the view that a URI means, None if it means none."""
    return next((view for view in VIEWS if uri == _PREFIX + view), None)
