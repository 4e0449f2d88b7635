"""The one way in for every network door: who may come to which door, and with how much. An ASGI callable around theirs.

In this order, each before the door hears anything: the shape and size of the head, the name the server was called by
(DNS rebinding), the page a browser sends from, the key, the size of the body. What a door then does is its own matter;
how bytes come off a socket, and how slowly they may, is ``http_server``'s.
"""

from __future__ import annotations

import ipaddress
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import Any, NamedTuple, Protocol

from vaultwire.trust.tokens import INSUFFICIENT_SCOPE, IssuerUnreachable, TokenRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import App, Message, Receive, Scope, Send

# Clients send a few hundred bytes; a token or a cookie of 4 KiB still fits (nginx and Apache allow 8 KiB a line).
MAX_HEAD_BYTES = 16 * 1024
# Twice what a browser sends.
MAX_HEADERS = 64

# Header lines that decide something below: two of a kind could be read one way here and another way there.
_ONCE = frozenset((b"host", b"origin", b"authorization", b"x-api-key", b"content-length"))
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?", re.IGNORECASE)
_PORTS = {"http": "80", "https": "443"}

# On every answer: nothing here is a page, is to be kept by anybody, or to be guessed at.
_NOT_KEPT = (b"cache-control", b"no-store")
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
# Spellings of our own names, with ports that tunnels and proxies add.
_MOST_CALLED = 100
_PREFLIGHT_SECONDS = b"600"

READING = frozenset(("GET", "HEAD", "OPTIONS"))
EVERYTHING = READING | {"POST"}
"""Methods, for ``Door.for_any_page``."""

KEY_NAME = "vaultwire.key"
"""Where doors find in the scope whose key a request came with; an empty text for none."""


class Door(NamedTuple):
    """One door: the path it is found under, with all below, and what the guard lets through to it."""

    name: str
    path: str
    app: App
    max_body_bytes: int
    needs_key: bool = True
    # Which methods any page in a browser may use: it sees what everybody sees, and changes nothing.
    for_any_page: Collection[str] = ()


class Rules(NamedTuple):
    """Who may come. ``owner`` returns the name of the key's owner, None for no key of ours."""

    names: Collection[str]  # that the server answers to, without port, in small letters
    any_address: bool  # answers to whatever address it was reached at, too
    origins: Collection[str]  # pages from elsewhere that may call, such as https://example.org
    key_required: bool
    owner: Callable[[str], str | None]
    # Returns the name of the owner of an access token, which is no key of ours. Raises TokenRefused, IssuerUnreachable.
    token_owner: Callable[[str], Awaitable[str]] | None = None
    challenge: str = ""  # what WWW-Authenticate says besides, so that clients find who gives out tokens


class Observer(Protocol):
    """Hears of what happened."""

    listens: bool
    """Whether it has any use for what ``ended`` says."""

    def began(self, id: bytes) -> None:  # noqa: A002
        """Take note of the exchange that is worked on from here on."""

    def ended(self, *, id: str, door: str, method: str, path: str, status: int, seconds: float, key: str) -> None:  # noqa: A002
        """Take note of an exchange that is over. ``status`` 499: the client left before there was an answer."""

    def crashed(self, *, id: str, what: str) -> None:  # noqa: A002
        """Take note of the exception at hand."""


class _Refusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    def __init__(self, status: int, error: str, message: str, headers: Sequence[tuple[bytes, bytes]] = ()) -> None:
        super().__init__(message)
        self.status = status
        self.error = error
        self.message = message
        self.headers = headers


class Guard:
    """The ASGI callable that stands before the doors."""

    def __init__(self, doors: Sequence[Door], rules: Rules, observer: Observer) -> None:
        self._doors = sorted(doors, key=lambda door: len(door.path), reverse=True)
        self._rules = rules
        self._observer = observer
        self._run = b"%08x" % (time.time_ns() & 0xFFFFFFFF)  # tells this run's request ids from another's
        self._count = 0
        self._called: dict[bytes, tuple[str, str]] = {}  # Host headers that have passed, taken apart

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through to its door, or refuse it."""
        if scope["type"] != "http":  # no door speaks anything else yet
            return
        started = time.perf_counter()
        self._count += 1
        answer = _Answer(send, b"%s-%x" % (self._run, self._count))
        door = self._door(scope["path"])
        key = ""
        self._observer.began(answer.id)
        try:
            headers = _checked_headers(scope)
            called = self._check_host(headers)
            owner = self._check(scope, headers, door, answer, called)
            key = await self._owner_of_token(headers) if owner is None else owner
            scope[KEY_NAME] = key
            if answer.origin and _is_preflight(scope, headers):
                await _answer_preflight(answer, headers)
            else:
                await door.app(scope, _counted(receive, headers, door.max_body_bytes), answer.send)
        except _Refusal as refusal:
            if answer.status:
                raise
            await answer.refuse(refusal)
        except Exception:
            self._observer.crashed(id=answer.id.decode(), what=f"{scope['method']} {scope['path'][:200]}")
            if answer.status:
                raise
            await answer.refuse(_Refusal(500, "Internal server error", "The server's log says more"))
        finally:
            if self._observer.listens:
                self._observer.ended(
                    id=answer.id.decode(),
                    door=door.name,
                    method=scope["method"],
                    path=scope["path"][:200],
                    status=answer.status or 499,
                    seconds=time.perf_counter() - started,
                    key=key,
                )

    def _door(self, path: str) -> Door:
        for door in self._doors:
            if path.startswith(door.path) and (len(path) == len(door.path) or path[len(door.path)] == "/"):
                return door
        return _NOWHERE

    def _check_host(self, headers: dict[bytes, bytes]) -> tuple[str, str]:
        """Return the name and port the server was called by, if it may be called so.

        A page whose own name suddenly leads to this computer is, for its browser, on the same origin as we; only this
        name tells it from us. An address cannot be made to lead elsewhere.
        """
        host = headers.get(b"host", b"")
        known = self._called.get(host)
        if known is not None:
            return known
        text = host.decode("latin-1")
        found = _HOST.fullmatch(text)
        if found is None:
            raise _Refusal(400, "Invalid request", "The request needs one Host header with a name or an address")
        name, port = found[1].lower(), found[2] or ""
        if name in self._rules.names or (self._rules.any_address and _is_address(name)):
            if len(self._called) < _MOST_CALLED:
                self._called[host] = name, port
            return name, port
        raise _Refusal(
            421,
            "Misdirected request",
            f"This server does not answer to the name {name[:100]!r}; start it with --allow-host if it should",
        )

    def _check(
        self,
        scope: Scope,
        headers: dict[bytes, bytes],
        door: Door,
        answer: _Answer,
        called: tuple[str, str],
    ) -> str | None:
        """Check page and key; return the name of the key's owner, None for what may be an access token."""
        origin = headers.get(b"origin")
        if origin is not None:
            text = origin.decode("latin-1")
            if self._is_known(text, called, scope["scheme"]):
                answer.origin = origin
            elif scope["method"] not in door.for_any_page:
                raise _Refusal(
                    403,
                    "Forbidden",
                    f"Pages from {text[:100]!r} may not call this server; start it with --allow-origin if they should",
                )
        if not door.needs_key:
            return ""
        secret = _secret(headers)
        if secret is None and not self._rules.key_required:
            return ""
        if _is_preflight(scope, headers):  # a browser asks for leave to send a key before it sends one
            return ""
        owner = None if secret is None else self._rules.owner(secret)
        if owner is None and self._rules.key_required:
            if secret is not None and self._rules.token_owner is not None:
                return None
            what = (
                "This server needs a key" if secret is None else "This key is not, or no longer, a key of this server"
            )
            message = f"{what}; send one as Authorization: Bearer KEY"
            raise self._unauthorized(message, "" if secret is None else 'error="invalid_token"')
        return owner or ""

    async def _owner_of_token(self, headers: dict[bytes, bytes]) -> str:
        assert self._rules.token_owner is not None
        try:
            return await self._rules.token_owner(_secret(headers) or "")
        except TokenRefused as refused:
            error = f'error="{refused.error}", error_description="{refused}"'
            raise self._unauthorized(str(refused), error, 403 if refused.error == INSUFFICIENT_SCOPE else 401) from None
        except IssuerUnreachable:
            message = "Whether this token is good cannot be told: its issuer's keys cannot be had. Try again later"
            raise _Refusal(503, "Service unavailable", message, [(b"retry-after", b"10")]) from None

    def _unauthorized(self, message: str, error: str, status: int = 401) -> _Refusal:
        parts = ['realm="vaultwire"', self._rules.challenge, error]
        challenge = "Bearer " + ", ".join(filter(None, parts))
        error_name = "Unauthorized" if status == 401 else "Forbidden"  # noqa: PLR2004 - RFC 6750, 3.1
        return _Refusal(status, error_name, message, [(b"www-authenticate", challenge.encode("ascii"))])

    def _is_known(self, origin: str, called: tuple[str, str], scheme: str) -> bool:
        """Tell whether a page comes from this server itself or from where the person said."""
        if origin in self._rules.origins:
            return True
        found = _ORIGIN.fullmatch(origin)
        if found is None:  # "null" too: any page can make itself that
            return False
        name, port = found[2].lower(), found[3] or _PORTS[found[1].lower()]
        # All of our names lead here, so a page at another of them with our port is our own. Behind a proxy that does TLS
        # for us its scheme is not ours; the other way round it comes from somebody in between.
        has_port = port == (called[1] or _PORTS[found[1].lower()])
        is_safe = scheme == "http" or found[1].lower() == "https"
        return has_port and is_safe and (name == called[0] or name in self._rules.names)


class _Answer:
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

    async def refuse(self, refusal: _Refusal) -> None:
        """Send a refusal in the words of the REST API's errors."""
        body = json.dumps({"error": refusal.error, "message": refusal.message}).encode()
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
            *refusal.headers,
        ]
        await self.send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body})


async def _answer_nothing(scope: Scope, _receive: Receive, _send: Send) -> None:
    raise _Refusal(404, "Not found", f"There is nothing at {scope['path'][:200]}")


# Where no door is.
_NOWHERE = Door("", "", _answer_nothing, sys.maxsize)


async def _answer_preflight(answer: _Answer, asked: dict[bytes, bytes]) -> None:
    headers = [
        (b"access-control-allow-methods", _ALLOWED_METHODS),
        # Whatever it wants to send: arguments may stand in headers whose names only a tool's schema knows.
        (b"access-control-allow-headers", asked.get(b"access-control-request-headers", b"")),
        (b"access-control-max-age", _PREFLIGHT_SECONDS),
    ]
    await answer.send({"type": "http.response.start", "status": 204, "headers": headers})
    await answer.send({"type": "http.response.body"})


def _is_preflight(scope: Scope, headers: dict[bytes, bytes]) -> bool:
    return scope["method"] == "OPTIONS" and b"access-control-request-method" in headers


def _checked_headers(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers by name, the last of each; the scope gets them without blanks around the values."""
    # The parser leaves blanks behind a value in place, which are no part of it (RFC 9110, 5.5).
    headers: list[tuple[bytes, bytes]] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
    scope["headers"] = headers
    by_name = dict(headers)
    if len(by_name) != len(headers):
        for once in _ONCE:
            if sum(name == once for name, _ in headers) > 1:
                raise _Refusal(400, "Invalid request", f"There may be one {once.decode()} header, not several")
    size = len(scope["raw_path"]) + len(scope["query_string"])
    for name, value in headers:
        size += len(name) + len(value)
    if size > MAX_HEAD_BYTES or len(headers) > MAX_HEADERS:
        raise _Refusal(
            431,
            "Request headers too large",
            f"Path and headers may have {MAX_HEAD_BYTES} bytes and {MAX_HEADERS} lines together",
        )
    return by_name


def _has(headers: Sequence[tuple[bytes, bytes]], wanted: bytes) -> bool:
    for name, _ in headers:  # noqa: SIM110 - any() takes three times as long, on every answer
        if name == wanted:
            return True
    return False


def _secret(headers: dict[bytes, bytes]) -> str | None:
    """Return the key a request came with."""
    given = headers.get(b"authorization")
    if given is not None:
        scheme, _, credentials = given.partition(b" ")
        if scheme.lower() == b"bearer":
            return credentials.strip().decode("latin-1")
    key = headers.get(b"x-api-key")
    return None if key is None else key.decode("latin-1")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _counted(receive: Receive, headers: dict[bytes, bytes], limit: int) -> Receive:
    """Return ``receive``, which raises a refusal once the body is longer than ``limit``."""
    length = headers.get(b"content-length")
    if length is not None and b"transfer-encoding" not in headers:
        # The parser has made sure that it is a number, and hands over no more than that.
        if int(length) > limit:
            raise _too_large(limit)
        return receive
    received = 0

    async def counting() -> Any:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise _too_large(limit)
        return message

    return counting


def _too_large(limit: int) -> _Refusal:
    return _Refusal(413, "Request body too large", f"The body of a request may have at most {limit} bytes here")
