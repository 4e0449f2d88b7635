"""The endpoint of the review page, on the editors' port: who may open the page, and its messages.

The page's URL has a key that this program prints for the person; the page's WebSocket must come from the page itself. So no
other page, and no program that only knows the port, can read a note or accept a change.
"""

from __future__ import annotations

import contextlib
import hmac
import secrets
import threading
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection

from vaultwire.desk.review_page import Changes, make_page, parse_decision, to_message
from vaultwire.editor.proposals import Proposals

_PREFIX = "/desk/"
_SOCKET = "/desk/socket"


class ReviewEndpoint:
    """Serves the page and its WebSockets."""

    prefix = _PREFIX

    def __init__(self, proposals: Proposals, origins: set[str]) -> None:
        """``origins``: of this server's own pages."""
        self._proposals = proposals
        self._changes = Changes(proposals)
        self._origins = origins
        self._key = secrets.token_urlsafe(32)
        self._lock = threading.Lock()
        self._showing = threading.Lock()  # so that the latest state is sent last
        self._pages: dict[ServerConnection, set[str]] = {}  # each with the ids of the changes it knows
        proposals.listen(self._tell)

    @property
    def path(self) -> str:
        """The path of the page, with the key."""
        return f"{_PREFIX}?key={self._key}"

    @property
    def is_open(self) -> bool:
        """Whether the person has the page open."""
        return bool(self._pages)

    def admit(self, request: Request) -> Response | None:
        """Return the answer to a request below ``prefix``; None to accept the page's WebSocket."""
        where = urlsplit(request.path)
        key = parse_qs(where.query).get("key", [""])[0]
        if not hmac.compare_digest(key.encode(), self._key.encode()):
            return answer(HTTPStatus.FORBIDDEN, "This page is opened by the link that vaultwire prints.\n")
        if where.path == _PREFIX:
            page = make_page()
            return answer(HTTPStatus.OK, page.html, "text/html", page.content_security_policy)
        if where.path != _SOCKET:
            return answer(HTTPStatus.NOT_FOUND, "There is no such page.\n")
        if request.headers.get_all("Origin") not in [[origin] for origin in self._origins]:
            return answer(HTTPStatus.FORBIDDEN, "Other pages may not connect.\n")
        return None

    def serve(self, connection: ServerConnection) -> None:
        """Serve one page until it is closed."""
        with self._lock:
            self._pages[connection] = set()
        try:
            self._tell(connection)
            for said in connection:
                decision = parse_decision(said) if isinstance(said, str) else None
                if decision is not None:
                    self._proposals.decide(*decision)
        except ConnectionClosed:
            return
        finally:
            with self._lock:
                del self._pages[connection]

    def _tell(self, page: ServerConnection | None = None) -> None:
        """Send one page, or all pages, the changes that wait."""
        with self._showing:
            with self._lock:
                pages = {each: known for each, known in self._pages.items() if page in {None, each}}
            if not pages:
                return
            waiting = self._changes.waiting()
            for each, known in pages.items():
                message = to_message(waiting, known)
                known.clear()
                known.update(change["id"] for change in waiting)
                with contextlib.suppress(ConnectionClosed):
                    each.send(message)


def answer(status: HTTPStatus, text: str, kind: str = "text/plain", policy: str = "default-src 'none'") -> Response:
    """Return an answer that is not cached and may do only what ``policy`` allows."""
    body = text.encode()
    headers = Headers(
        {
            "Content-Type": f"{kind}; charset=utf-8",
            "Content-Length": str(len(body)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": policy,
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
    )
    return Response(status.value, status.phrase, headers, body)
