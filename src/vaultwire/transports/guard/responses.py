"""What the guard does with responses: the headers that it adds to every one, refusals, and answers to CORS preflights."""

from __future__ import annotations

import json

from vaultwire.transports import send_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vaultwire.transports import Message, Send

# On every response: it is not a page, nobody may store it, and its type is what it says.
_NO_STORE = (b"cache-control", b"no-store")
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
# What scripts of an allowed page may do and see.
_ALLOWED_METHODS = b"GET, POST, DELETE, OPTIONS"
_FOR_PAGES = (
    (b"access-control-expose-headers", b"Mcp-Session-Id, X-Request-Id, WWW-Authenticate, Allow"),
    (b"vary", b"Origin"),
)
_PREFLIGHT_SECONDS = b"600"


class Refusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    """The request is refused, with this status and error."""

    def __init__(self, status: int, error: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = headers


class Response:
    """The response to one request. Its ``send`` is what the door gets."""

    __slots__ = ("_send", "id", "origin", "status")

    def __init__(self, send: Send, id: bytes) -> None:  # noqa: A002 - the word for it everywhere else
        self.id = id
        self.status = 0
        self.origin: bytes | None = None  # the page that may read it
        self._send = send

    async def send(self, message: Message) -> None:
        """Pass on what the door sends, with the headers that every response has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers: list[tuple[bytes, bytes]] = list(message.get("headers", ()))
            names = [name for name, _ in headers]
            if b"cache-control" not in names:
                headers.append(_NO_STORE)
            if self.origin is not None and b"access-control-allow-origin" not in names:
                headers.append((b"access-control-allow-origin", self.origin))
                headers += _FOR_PAGES
            headers += _SECURITY if b"content-security-policy" not in names else ()  # a door of pages has its own
            headers.append((b"x-request-id", self.id))
            message = {**message, "headers": headers}
        await self._send(message)

    async def refuse(self, refusal: Refusal, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Send a refusal as the REST API writes its errors. ``headers`` are those that all answers of the door have."""
        body = json.dumps({"error": refusal.error, "message": refusal.message}).encode()
        lines = [(b"content-type", b"application/json"), *headers, *refusal.headers]
        await send_whole(self.send, refusal.status, lines, body)

    async def allow_preflight(self, requested: Mapping[bytes, bytes]) -> None:
        """Tell a browser what scripts of an allowed page may do; ``requested`` are the headers of its question."""
        headers = [
            (b"access-control-allow-methods", _ALLOWED_METHODS),
            # All it asks for: arguments may be in headers whose names only a tool's schema knows.
            (b"access-control-allow-headers", requested.get(b"access-control-request-headers", b"")),
            (b"access-control-max-age", _PREFLIGHT_SECONDS),
        ]
        await send_whole(self.send, 204, headers)
