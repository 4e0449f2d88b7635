"""The pages of the views: each one HTML text without any address, made from the desk's own modules when first read."""

from __future__ import annotations

import functools
import os

from vaultwire.server.apps.composer import compose, escaped
from vaultwire.server.apps.extension import CHANGE, GRAPH, MIME_TYPE, SEARCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_DESK, _APPS = "desk/page/", "server/apps/page/"
# A view asks its host, not a server, and it shows notes only as they are in a difference.
_INSTEAD = {_DESK + "api.js": _APPS + "no_api.js", _DESK + "views.js": _APPS + "no_views.js"}
_TITLES = {SEARCH: "Search results", CHANGE: "A change", GRAPH: "Graph of notes"}
_STYLES = {
    SEARCH: (_DESK + "desk.css", _DESK + "glance/glance.css", _APPS + "app.css"),
    CHANGE: (_DESK + "desk.css", _APPS + "app.css"),
    GRAPH: (_DESK + "desk.css", _DESK + "glance/glance.css", _APPS + "app.css"),
}
# Scripts that set a global name, which is why they are no modules.
_SCRIPTS = {GRAPH: (_DESK + "vendor/graphology-0.26.0.js", _DESK + "vendor/sigma-3.0.3.js")}


def contents_of(view: str, uri: str) -> JsonObject:
    """Return the content of a view's resource. Its page may ask no address at all, so it names no domain."""
    ui = {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
    return {"uri": uri, "mimeType": MIME_TYPE, "text": page_of(view), "_meta": {"ui": ui}}


@functools.cache
def page_of(view: str) -> str:
    """Return the page of a view. Raises OSError."""
    styles = "\n".join(map(_read, _STYLES[view]))
    assert "</style" not in styles.lower()
    scripts = [f"<script>{escaped(_read(path))}</script>" for path in _SCRIPTS.get(view, ())]
    module = escaped(compose(f"{_APPS}{view}.js", _read, _INSTEAD))
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


def _read(path: str) -> str:
    with open(os.path.join(_PACKAGE, *path.split("/")), encoding="utf-8") as file:
        return file.read()
