"""The way back: what every answer carries, and how a request is turned away."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultwire.transports import Message, Send

# On every answer: nothing here is a page, is to be kept by anybody, or to be guessed at.
_NOT_KEPT = (b"cache-control", b"no-store")
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
ALWAYS = b"".join(b"%s: %s\r\n" % header for header in (_NOT_KEPT, *_SECURITY)) + b"x-request-id: %s\r\n"
"""The same as they go onto the wire, with the request's id."""
# What scripts of an allowed page may do and see.
_ALLOWED_METHODS = b"GET, POST, DELETE, OPTIONS"
_FOR_PAGES = (
    (b"access-control-expose-headers", b"Mcp-Session-Id, X-Request-Id, WWW-Authenticate, Allow"),
    (b"vary", b"Origin"),
)
_PREFLIGHT_SECONDS = b"600"


class Refusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    """A request is turned away: what it is answered with."""

    def __init__(self, status: int, error: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = headers


class Answer:
    """The way back of one exchange; adds what every answer carries."""

    __slots__ = ("_send", "id", "origin", "status")

    def __init__(self, send: Send, id: bytes) -> None:  # noqa: A002 - the word for it everywhere else
        self.id = id
        self.status = 0
        self.origin: bytes | None = None  # the page that may read the answer
        self._send = send

    async def send(self, message: Message) -> None:
        """Send what a door sends."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
            if not _has(headers, b"cache-control"):
                headers.append(_NOT_KEPT)
            if self.origin is not None and not _has(headers, b"access-control-allow-origin"):
                headers.append((b"access-control-allow-origin", self.origin))
                headers += _FOR_PAGES
            headers += _SECURITY
            headers.append((b"x-request-id", self.id))
            message["headers"] = headers
        await self._send(message)

    async def refuse(self, refusal: Refusal, besides: Sequence[tuple[bytes, bytes]] = ()) -> None:
        """Send a refusal in the words of the REST API's errors. ``besides`` are headers that the door's answers carry."""
        body = json.dumps({"error": refusal.error, "message": refusal.message}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *besides,
            *refusal.headers,
        ]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


async def answer_preflight(answer: Answer, asked: dict[bytes, bytes]) -> None:
    """Tell a browser what scripts of an allowed page may do; ``asked`` are the headers of its question."""
    headers = [
        (b"access-control-allow-methods", _ALLOWED_METHODS),
        # Whatever it wants to send: arguments may stand in headers whose names only a tool's schema knows.
        (b"access-control-allow-headers", asked.get(b"access-control-request-headers", b"")),
        (b"access-control-max-age", _PREFLIGHT_SECONDS),
    ]
    await answer.send({"type": "http.response.start", "status": 204, "headers": headers})
    await answer.send({"type": "http.response.body"})


def _has(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> bool:
    for name, _ in headers:  # noqa: SIM110 - any() takes three times as long, on every answer
        if name == wanted:
            return True
    return False
