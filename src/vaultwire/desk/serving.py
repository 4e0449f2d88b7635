"""The person's pages on the editors' socket: who may open them, and what goes between page and proposals.

A page is opened by a URL that holds a key, which only this program's own words to the person tell; its socket must come from
the page itself. So no other page, and nobody who merely knows the port, can look at a note or accept a change.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import ServerConnection

from vaultwire.desk.changes import make_page, parse_decision, to_message
from vaultwire.editor.diffs import Proposals

_PREFIX = "/desk/"
_SOCKET = "/desk/socket"


class Desk:
    """The pages of one server."""

    prefix = _PREFIX

    def __init__(self, proposals: Proposals, origins: set[str]) -> None:
        """``origins`` are those that pages of this server have."""
        self._proposals = proposals
        self._origins = origins
        self._key = secrets.token_urlsafe(32)
        self._lock = threading.Lock()
        self._showing = threading.Lock()  # so that what is sent last is the latest
        self._pages: list[ServerConnection] = []
        proposals.listen(self._tell)

    @property
    def path(self) -> str:
        """Where the page is, with the key."""
        return f"{_PREFIX}?key={self._key}"

    @property
    def is_open(self) -> bool:
        """Whether the person has the page open."""
        return bool(self._pages)

    def admit(self, request: Request) -> Response | None:
        """Return the answer to a request below ``prefix``; None if it opens the page's socket, and may."""
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
        """Talk with one page until it is closed."""
        with self._lock:
            self._pages.append(connection)
        try:
            with self._showing:
                connection.send(to_message(self._proposals.waiting))
            for said in connection:
                decision = parse_decision(said) if isinstance(said, str) else None
                if decision is not None:
                    self._proposals.decide(*decision)
        except ConnectionClosed:
            return
        finally:
            with self._lock:
                self._pages.remove(connection)

    def _tell(self) -> None:
        """Tell every page what waits now."""
        with self._showing:
            message = to_message(self._proposals.waiting)
            with self._lock:
                pages = list(self._pages)
            for page in pages:
                try:
                    page.send(message)
                except ConnectionClosed:
                    continue


def answer(status: HTTPStatus, text: str, kind: str = "text/plain", policy: str = "default-src 'none'") -> Response:
    """Return an answer that is kept nowhere and may do nothing but what ``policy`` allows."""
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
