"""The endpoint of the review page, on the editors' port: who may open the page, and its messages.

The page's URL has a key that this program prints for the person; the page's WebSocket must come from the page itself. So no
other page, and no program that only knows the port, can read a note or accept a change.
"""

from __future__ import annotations

import hmac
import secrets
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection

from vaultwire.desk.review_page import make_page, parse_decision, to_message
from vaultwire.desk.viewers import Viewers
from vaultwire.editor.proposals import Proposals

_PREFIX = "/desk/"
_SOCKET = "/desk/socket"


class ReviewEndpoint:
    """Serves the page and its WebSockets."""

    prefix = _PREFIX

    def __init__(self, proposals: Proposals, origins: set[str]) -> None:
        """``origins``: of this server's own pages."""
        self._proposals = proposals
        self._viewers = Viewers(proposals, to_message)
        self._origins = origins
        self._key = secrets.token_urlsafe(32)

    @property
    def path(self) -> str:
        """The path of the page, with the key."""
        return f"{_PREFIX}?key={self._key}"

    @property
    def is_open(self) -> bool:
        """Whether the person has the page open."""
        return bool(self._viewers.connections)

    def admit(self, request: Request) -> Response | None:
        """Return the answer to a request below ``prefix``; None to accept the page's WebSocket."""
        where = urlsplit(request.path)
        key = parse_qs(where.query).get("key", [""])[0]
        if not hmac.compare_digest(key.encode(), self._key.encode()):
            return answer(HTTPStatus.FORBIDDEN, "This page is opened by the link that vaultwire prints.\n")
        if where.path == _PREFIX:
            page, policy = make_page()
            return answer(HTTPStatus.OK, page, "text/html", policy)
        if where.path != _SOCKET:
            return answer(HTTPStatus.NOT_FOUND, "There is no such page.\n")
        if request.headers.get_all("Origin") not in [[origin] for origin in self._origins]:
            return answer(HTTPStatus.FORBIDDEN, "Other pages may not connect.\n")
        return None

    def serve(self, connection: ServerConnection) -> None:
        """Serve one page until it is closed."""
        self._viewers.serve(connection, self._receive)

    def _receive(self, said: str) -> None:
        decision = parse_decision(said)
        if decision is not None:
            self._proposals.decide(*decision)


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
