"""A stage for the views of the vault at a glance: the page's own files and ``Glance`` over HTTP, under the page's policy."""

from __future__ import annotations

import json
import mimetypes
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from typing import Any
from urllib.parse import parse_qs, urlsplit

from vaultwire.review.glance import Glance
from vaultwire.vault.errors import VaultError

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
INDEX = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Glance</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,"><script type="module" src="assets/stage.js"></script></head>
<body><main id="desk"></main></body></html>"""
MOUNT = """
import { html, render } from "./vendor/htm-preact-3.1.1.js";
import { views, renderTree } from "./glance/index.js";
window.renderTree = renderTree;
window.draw = (tree) => render(html`<div>${renderTree(tree)}</div>`, document.getElementById("desk"));
const show = () => {
  const [vault, key, ...rest] = location.hash.slice(2).split("/");
  const view = views.find((each) => each.key === key);
  if (view) render(html`<${view.View} key=${location.hash} vault=${decodeURIComponent(vault)}
    rest=${rest.map(decodeURIComponent).join("/")} />`, document.getElementById("desk"));
};
addEventListener("hashchange", show);
show();
"""


@contextmanager
def serving(glance: Glance) -> Iterator[str]:
    """Serve the views over a vault; yield the page's address."""
    page = resources.files("vaultwire.desk") / "page"

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = urlsplit(self.path)
            given = {key: values[0] for key, values in parse_qs(asked.query).items()}
            status = 200
            if asked.path == "/desk/":
                body, kind = INDEX.encode(), "text/html"
            elif asked.path == "/desk/assets/stage.js":
                body, kind = MOUNT.encode(), "text/javascript"
            elif asked.path.startswith("/desk/assets/"):
                name = asked.path.removeprefix("/desk/assets/")
                body, kind = (page / name).read_bytes(), mimetypes.guess_type(name)[0] or "text/plain"
            else:
                status, answer = answered(glance, asked.path.removeprefix("/desk/api/"), given)
                body, kind = json.dumps(answer).encode(), "application/json"
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Security-Policy", POLICY)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/desk/"
        finally:
            server.shutdown()
            thread.join()


def answered(glance: Glance, name: str, given: dict[str, str]) -> tuple[int, dict[str, Any]]:
    """Return the status and answer of a call."""
    try:
        if name == "search":
            return 200, glance.search(given.get("q", ""))
        if name == "note":
            return 200, glance.note(given["path"])
        if name == "problems":
            return 200, glance.problems(int(given.get("offset", "0")))
        return 200, {"graph": glance.graph, "activity": glance.activity}[name]()
    except VaultError as error:
        return 404, {"error": {"code": error.code, "message": error.message, "details": {}}}
