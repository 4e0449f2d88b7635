"""The pages of the views: each one HTML text without any address.

A host shows a view in a frame without an origin, where ``import`` finds nothing. So the modules of each view (``page/``) and
those of the desk that they use are put together into one script by ``make views-js``, and kept in ``bundled/``.
"""

from __future__ import annotations

import functools
import os
import re

from vaultwire.server.apps.extension import CHANGE, GRAPH, MIME_TYPE, SEARCH

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.protocol.jsonrpc import JsonObject

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
