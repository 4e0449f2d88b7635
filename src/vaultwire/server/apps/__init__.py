"""Views inside clients: the MCP Apps extension (``ui://``, SEP-1865). Not the desk, which decides and has its own page.

Entries of tools, what a result carries, and the pages as resources. A page is one HTML text without any address, made from
the desk's own modules when first read.
"""

from __future__ import annotations

import functools
import os
import re

from vaultwire.protocol.revisions import APPS
from vaultwire.server.results import POLICY_DENIED, READING
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from vaultwire.protocol.dialects import Dialect
    from vaultwire.protocol.events import Request
    from vaultwire.protocol.jsonrpc import JsonObject
    from vaultwire.server.apps.view_data import ViewData
    from vaultwire.server.vaults import Vaults


# ---------------------------------------------------------------------- the wire
#
# What the Apps extension says on the wire: who declared it, which tool has which view.
#
# Facts: SEP-1865, modelcontextprotocol/ext-apps, specification 2026-01-26.

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


_PAGE_TTL_MS = 3_600_000  # a page changes only with the program


class Views:
    """The views of one server. Safe to call from several threads."""

    def __init__(
        self, vaults: Vaults, describe: Callable[[str], object], may_read_by: Callable[[str, Request], bool]
    ) -> None:
        """``describe`` returns None for a tool that this run does not have.

        ``may_read_by`` tells whether the client of a request may call a tool that reads.
        """
        self._vaults = vaults
        self._describe = describe
        self._may_read_by = may_read_by
        self._data: ViewData | None = None

    def listed(self, tools: Sequence[JsonObject], descriptions: Sequence[Mapping[str, Any]]) -> list[JsonObject]:
        """Return the entries of ``tools/list`` with the views of the tools."""
        shown = zip(tools, map(view_of, descriptions), strict=True)
        return [tool | ({"_meta": {"ui": {"resourceUri": _PREFIX + view}}} if view else {}) for tool, view in shown]

    def shown_by(
        self, description: Mapping[str, Any], vault: str, arguments: Mapping[str, Any], request: Request
    ) -> Callable[[Mapping[str, Any]], JsonObject] | None:
        """Return the function that makes of a tool's data what ``_meta`` has for its view; None if the tool has none."""
        view = view_of(description)
        if view is None:
            return None

        def make(data: Mapping[str, Any]) -> JsonObject:
            if self._data is None:  # two threads may make one each; they are equal
                from vaultwire.server.apps.view_data import ViewData  # noqa: PLC0415 - with the first result that is shown

                self._data = ViewData(self._vaults)
            shown = self._data.of(view, vault, arguments, data, lambda tool: self._may(tool, request))
            return {} if shown is None else {DATA: shown}

        return make

    def _may(self, tool: str, request: Request) -> bool:
        return self._describe(tool) is not None and self._may_read_by(tool, request)

    def page(self, request: Request) -> JsonObject | None:
        """Return the result for a request that reads the page of a view, None for another. Raises VaultError.

        A page holds no note. It is there for who may read notes, as every resource is.
        """
        uri = request.params.get("uri")
        view = next((view for view in VIEWS if uri == _PREFIX + view), None)
        if request.method != "resources/read" or view is None:
            return None
        if not self._may(READING, request):
            refused = f"The policy of this server does not allow {READING}, so it does not allow resources/read here."
            raise VaultError(POLICY_DENIED, refused)
        from vaultwire.server.features import caching  # noqa: PLC0415

        # A page may ask no address at all, so it names no domain.
        ui = {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
        contents = {"uri": uri, "mimeType": MIME_TYPE, "text": page_of(view), "_meta": {"ui": ui}}
        return {"contents": [contents], **caching(request.revision, _PAGE_TTL_MS)}


_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_DESK, _APPS = "desk/page/", "server/apps/page/"
_END = re.compile(r"</(script)", re.IGNORECASE)
_SOURCE_MAP = re.compile(r"^//# sourceMappingURL=.*$", re.MULTILINE)
_TITLES = {SEARCH: "Search results", CHANGE: "A change", GRAPH: "Graph of notes"}
_STYLES = {
    SEARCH: (_DESK + "desk.css", _DESK + "glance/glance.css", _APPS + "app.css"),
    CHANGE: (_DESK + "desk.css", _APPS + "app.css"),
    GRAPH: (_DESK + "desk.css", _DESK + "glance/glance.css", _APPS + "app.css"),
}
# Scripts that set a global name, which is why they are no modules.
_SCRIPTS = {GRAPH: (_DESK + "vendor/graphology-0.26.0.js", _DESK + "vendor/sigma-3.0.3.js")}


@functools.cache
def page_of(view: str) -> str:
    """Return the page of a view. Raises OSError."""
    styles = "\n".join(map(_read, _STYLES[view]))
    assert "</style" not in styles.lower()
    scripts = [f"<script>{escaped(_read(path))}</script>" for path in _SCRIPTS.get(view, ())]
    module = escaped(_read(f"server/apps/bundled/{view}.js"))
    return "\n".join(
        [
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{_TITLES[view]}</title><style>{styles}</style></head>",
            '<body class="app"><main id="app"></main>',
            *scripts,
            f'<script type="module">{module}</script></body></html>',
        ]
    )


def escaped(script: str) -> str:
    """Return a script as it may stand inside a ``script`` element, which only two sequences would end or change.

    In JavaScript they occur in strings, templates and regular expressions, where a backslash before ``/`` or ``!`` changes
    nothing. (``<script`` does harm only after ``<!--``: HTML, "Restrictions for contents of script elements".)
    """
    return _END.sub(r"<\\/\1", _SOURCE_MAP.sub("", script)).replace("<!--", r"<\!--")


def _read(path: str) -> str:
    with open(os.path.join(_PACKAGE, *path.split("/")), encoding="utf-8") as file:
        return file.read()
