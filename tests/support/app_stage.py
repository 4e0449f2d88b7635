"""A client that shows MCP Apps: a page with the official host side, over our real server on stdio.

Each view is served to a frame without an origin, under the policy of content that the specification gives for a resource
that names no domain (SEP-1865, 2026-01-26, "Content Security Policy Enforcement").
"""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from support.chromium import Tab
from support.wire import Server

APPS: dict[str, Any] = {
    "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}},
}
POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; media-src 'self' data:; connect-src 'none'; frame-src 'none'; object-src 'none'; "
    "base-uri 'self'; report-uri /violated"
)
_BAD = b"<!doctype html><script src='https://evil.example/x.js'></script>"


class AppStage:
    """Serves the host's page and the views until it is closed. ``violations``: what the browser reported."""

    def __init__(self, vault: Path, page: bytes, script: bytes) -> None:
        self.violations: list[Any] = []
        self._server = Server(vault)
        self._lock = threading.Lock()
        stage = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                if parts.path == "/view":
                    stage.send(self, stage.view(parse_qs(parts.query)["uri"][0]), "text/html; charset=utf-8", POLICY)
                elif parts.path == "/host.js":
                    stage.send(self, script, "text/javascript; charset=utf-8")
                else:
                    stage.send(self, page, "text/html; charset=utf-8")

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/violated":
                    stage.violations.append(body)
                    stage.send(self, b"{}", "application/json")
                else:
                    answer = stage.ask(body["method"], body["params"])
                    stage.send(self, json.dumps(answer).encode(), "application/json")

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever)

    def __enter__(self) -> Self:
        self._server.__enter__()
        self._server.open("2025-11-25", APPS)
        self._thread.start()
        return self

    def __exit__(self, *of: object) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        self._server.__exit__(None, None, None)

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the server's answer."""
        with self._lock:
            answer: dict[str, Any] = self._server.request(method, params)
        return {name: answer[name] for name in ("result", "error") if name in answer}

    def view(self, uri: str) -> bytes:
        """Return the page of a view, or one that breaks the policy, to see that this is noticed."""
        if uri == "bad":
            return _BAD
        (content,) = self.ask("resources/read", {"uri": uri})["result"]["contents"]
        text: str = content["text"]
        return text.encode()

    @staticmethod
    def send(to: BaseHTTPRequestHandler, body: bytes, kind: str, policy: str | None = None) -> None:
        """Answer a request."""
        to.send_response(200)
        to.send_header("Content-Type", kind)
        to.send_header("Content-Length", str(len(body)))
        if policy is not None:
            to.send_header("Content-Security-Policy", policy)
        to.end_headers()
        to.wfile.write(body)


class View:
    """The view in a host's page: what it shows, and clicks in it."""

    def __init__(self, tab: Tab) -> None:
        self._tab = tab

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression in the frame; the last one, and beside its own scripts."""
        tree = self._tab.do("Page.getFrameTree")["frameTree"]
        frame = tree["childFrames"][-1]["frame"]["id"]
        world = self._tab.do("Page.createIsolatedWorld", frameId=frame, worldName="test")["executionContextId"]
        found = self._tab.do(
            "Runtime.evaluate", expression=expression, contextId=world, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def wait_for(self, holds: str) -> None:
        """Wait until an expression is true in the frame."""
        met = self.evaluate(
            "new Promise((done) => { const begun = Date.now(); const look = () => { let met = false;"
            f"try {{ met = Boolean({holds}); }} catch {{}}"
            "if (met || Date.now() - begun > 20000) done(met); else setTimeout(look, 10); }; look(); })"
        )
        assert met, (holds, self.text, self._tab.errors)

    @property
    def text(self) -> str:
        """All text that is shown."""
        found: str = self.evaluate("document.body.innerText")
        return found

    def click(self, find: str) -> None:
        """Click an element, an expression in the frame, with the mouse."""
        self.wait_for(find)
        inside = self.evaluate(
            f"(() => {{ const r = ({find}).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        )
        outside = self._tab.evaluate(
            "(() => { const e = document.querySelector('iframe'); window.scrollTo(0, 0); const r = e.getBoundingClientRect();"
            "return [r.x + e.clientLeft, r.y + e.clientTop]; })()"
        )
        self._tab.move(inside[0] + outside[0], inside[1] + outside[1])
        self._tab.click_again()
