"""The guard: ASGI middleware before every network door. It controls access and size, and counts and logs requests.

It checks, in this order and before the door is called: the form and size of the head, the name the server was called by
(DNS rebinding), the page a browser sends from, the key, the size of the body. Doors get the values of headers without the
spaces around them. What a door then does is not its matter; how bytes come off a socket, and how slowly they may, is
``http_server``'s.
"""

from __future__ import annotations

import contextvars
import io
import ipaddress
import json
import re
import sys
import threading
import time
import traceback
from collections.abc import Awaitable, Callable, Collection, Sequence
from itertools import chain
from typing import Any, NamedTuple
from urllib.parse import quote

from vaultwire import __version__
from vaultwire.protocol.events import name_of_principal
from vaultwire.transports import send_page, send_whole
from vaultwire.trust.tokens import INSUFFICIENT_SCOPE, IssuerUnreachable, TokenRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from vaultwire.transports import App, Message, Receive, Scope, Send


# ---------------------------------------------------------------------- observing
#
# Observability: the health page, a log line for each request, figures for Prometheus. Never a note's text or an argument.
#
# The lines go to stderr; the pages are doors behind the guard.

# Seconds. A call takes from under a millisecond to a minute.
_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
# Any other method counts as "other": each name that a client invents would become a time series.
_METHODS = ("GET", "HEAD", "POST", "DELETE", "OPTIONS")


# The id of the request that the current task works on.
_current: contextvars.ContextVar[bytes] = contextvars.ContextVar("request", default=b"")


class Observer:
    """Logs and counts the requests and crashes that the guard tells of."""

    def __init__(self, *, log_json: bool, metrics: bool) -> None:
        """``log_json``: a JSON object on one line of stderr for each request. ``metrics``: count for ``page``."""
        self._log_json = log_json
        self._out: TextIO | None = sys.stderr
        self.listens = log_json or metrics
        self.began: Callable[[bytes], object] = _current.set
        """Note the id of the request that the current task works on."""
        self.current_id: Callable[[], bytes] = _current.get
        """Return that id, empty for none."""
        self._count: Callable[[str, str, int, float], None] | None = None
        self._page: Callable[[], bytes] | None = None
        if metrics:
            self._count, self._page = _make_metrics()

    def take_stderr(self) -> None:
        """With ``log_json``, turn everything written to stderr from now on into JSON lines."""
        if self._log_json and sys.stderr is not None:
            sys.stderr = _JsonLines(self, sys.stderr)

    def ended(self, *, id: str, door: str, method: str, path: str, status: int, seconds: float, key: str) -> None:  # noqa: A002
        """Note that a request is over."""
        if self._count is not None:
            self._count(door, method, status, seconds)
        if self._log_json:
            milliseconds = round(seconds * 1000, 3)
            self._write("request", id=id, door=door, method=method, path=path, status=status, ms=milliseconds, key=key)

    def crashed(self, *, id: bytes, what: str) -> None:  # noqa: A002
        """Log the current exception."""
        if self._log_json:
            self._write("crash", id=id.decode(), what=what, traceback=traceback.format_exc())
        elif self._out is not None:
            self._out.write(f"vaultwire: {what} crashed (request {id.decode()})\n{traceback.format_exc()}")
            self._out.flush()

    def tell(self, message: str) -> None:
        """Write one line for a person to stderr."""
        if self._log_json:
            self._write("message", text=message)
        elif self._out is not None:
            self._out.write(f"vaultwire: {message}\n")
            self._out.flush()

    def _write(self, event: str, **facts: Any) -> None:
        now = time.time()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(now))}.{int(now % 1 * 1000):03}Z"
        if self._out is not None:
            self._out.write(json.dumps({"time": stamp, "event": event, **facts}) + "\n")
            self._out.flush()

    async def page(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer with the figures, in Prometheus' text format."""
        assert self._page is not None  # this door is there with metrics only
        await send_page(scope, send, self._page(), (b"content-type", b"text/plain; version=0.0.4; charset=utf-8"))


class _JsonLines(io.TextIOBase):
    """Replaces stderr: libraries and crashing threads that write there write JSON lines, too."""

    def __init__(self, observer: Observer, replaced: TextIO) -> None:
        super().__init__()
        self._observer = observer
        self._replaced = replaced
        self._lock = threading.Lock()
        self._line = ""

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._replaced.fileno()

    def write(self, text: str) -> int:
        """Pass on the lines that are whole."""
        with self._lock:
            *lines, self._line = (self._line + text).split("\n")
        self._pass_on(lines)
        return len(text)

    def flush(self) -> None:
        """Pass on what there is of the last line."""
        with self._lock:
            line, self._line = self._line, ""
        self._pass_on([line])

    def _pass_on(self, lines: list[str]) -> None:
        for line in lines:
            if line.strip():
                self._observer.tell(line.removeprefix("vaultwire: "))


async def answer_health(scope: Scope, _receive: Receive, send: Send) -> None:
    """Say that the server is alive, and nothing more: no key is needed for this."""
    await send_page(scope, send, b'{"status":"ok"}', (b"content-type", b"application/json"))


def _make_metrics() -> tuple[Callable[[str, str, int, float], None], Callable[[], bytes]]:
    """Return the function that counts a request and the function that shows the counts."""
    import prometheus_client  # noqa: PLC0415 - only where it is asked for: 40 ms

    registry = prometheus_client.CollectorRegistry()
    prometheus_client.ProcessCollector(registry=registry)
    prometheus_client.Info("vaultwire", "The program that serves.", registry=registry).info({"version": __version__})
    requests = prometheus_client.Counter(
        "vaultwire_http_requests", "Requests that are over.", ["door", "method", "status"], registry=registry
    )
    seconds = prometheus_client.Histogram(
        "vaultwire_http_request_seconds", "How long they took.", ["door"], buckets=_BUCKETS, registry=registry
    )

    def count(door: str, method: str, status: int, took: float) -> None:
        requests.labels(door or "none", method if method in _METHODS else "other", str(status)).inc()
        seconds.labels(door or "none").observe(took)

    return count, lambda: prometheus_client.generate_latest(registry)


# ---------------------------------------------------------------------- what the guard is told
#
# What the guard is told: the doors, who has access to them, and the observer of requests. Not the checks themselves.

READING = frozenset(("GET", "HEAD", "OPTIONS"))
EVERYTHING = READING | {"POST"}
"""Methods, for ``Door.for_any_page``."""

KEY_NAME = "vaultwire.key"
"""Where the scope holds the principal of the key a request came with, its name and id; empty for none."""


class Door(NamedTuple):
    """One door: its path, with all paths below it, and what the guard passes on to it."""

    name: str
    path: str
    app: App
    max_body_bytes: int
    needs_key: bool = True
    # Methods that every page in a browser may use: it sees what everybody sees, and changes nothing.
    for_any_page: Collection[str] = ()
    # Headers of the guard's refusals before this door, so that a page which may not come in can read why.
    refusal_headers: Sequence[tuple[bytes, bytes]] = ()


class Rules(NamedTuple):
    """Who has access. ``owner`` returns a key's principal, None if it is not a key of this server."""

    names: Collection[str]  # of the server, without port, in small letters
    any_address: bool  # it also answers to every address
    origins: Collection[str]  # pages from elsewhere that may call, such as https://example.org
    key_required: bool
    owner: Callable[[str], str | None]
    # Returns the name of the owner of an access token. Raises TokenRefused, IssuerUnreachable.
    token_owner: Callable[[str], Awaitable[str]] | None = None
    challenge: str = ""  # for WWW-Authenticate, so that clients find who issues tokens


# ---------------------------------------------------------------------- heads
#
# The head of a request: its headers by name, with bounds on their number and size; the key in it; the length of the body.

# Clients send a few hundred bytes; a token or a cookie of 4 KiB still fits (nginx and Apache allow 8 KiB a line).
MAX_HEAD_BYTES = 16 * 1024
# Twice what a browser sends.
MAX_HEADERS = 64

# Headers that decide something. If there are two of one, another program could read the other one.
_ONCE = frozenset((b"host", b"origin", b"authorization", b"x-api-key", b"content-length"))


def headers_of(scope: Scope) -> dict[bytes, bytes]:
    """Return the headers by name, the last of each. Raises Refusal if they are too many or too long, or twice there."""
    lines: list[tuple[bytes, bytes]] = scope["headers"]
    size = len(scope["raw_path"]) + len(scope["query_string"])
    if size + sum(map(len, chain.from_iterable(lines))) > MAX_HEAD_BYTES or len(lines) > MAX_HEADERS:
        raise Refusal(
            431,
            "Request headers too large",
            f"Path and headers may have {MAX_HEAD_BYTES} bytes and {MAX_HEADERS} lines together",
        )
    by_name = dict(lines)
    if len(by_name) != len(lines):
        names = [name for name, _ in lines]
        for name in _ONCE:
            if names.count(name) > 1:
                raise Refusal(400, "Invalid request", f"There may be one {name.decode()} header, not several")
    return by_name


def key_of(headers: Mapping[bytes, bytes]) -> str | None:
    """Return the key or token that the request came with, None for none."""
    given = headers.get(b"authorization")
    if given is not None:
        scheme, _, credentials = given.partition(b" ")
        if scheme.lower() == b"bearer":
            return credentials.strip().decode("latin-1")
    key = headers.get(b"x-api-key")
    return None if key is None else key.decode("latin-1")


def limited(receive: Receive, headers: Mapping[bytes, bytes], limit: int) -> Receive:
    """Return ``receive`` for a body of at most ``limit`` bytes. Raises Refusal, also later while the body is read."""
    length = headers.get(b"content-length")
    if length is not None and b"transfer-encoding" not in headers:  # the server passes on no more than it says
        if int(length) > limit:
            raise _too_large(limit)
        return receive
    received = 0

    async def count() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise _too_large(limit)
        return message

    return count


def _too_large(limit: int) -> Refusal:
    return Refusal(413, "Request body too large", f"The body of a request may have at most {limit} bytes here")


# ---------------------------------------------------------------------- responses
#
# What the guard does with responses: the headers that it adds to every one, refusals, and answers to CORS preflights.

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


_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?", re.IGNORECASE)
_PORTS = {"http": "80", "https": "443"}


class Guard:
    """ASGI middleware before the doors."""

    def __init__(self, doors: Sequence[Door], rules: Rules, observer: Observer) -> None:
        self._doors = sorted(doors, key=lambda door: len(door.path), reverse=True)
        self._rules = rules
        self._observer = observer
        self._run = b"%08x" % (time.time_ns() & 0xFFFFFFFF)  # tells this run's request ids from another's
        self._count = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass one request on to its door, or refuse it."""
        if scope["type"] != "http":  # no door takes anything else
            return
        started = time.perf_counter()
        self._count += 1
        response = Response(send, b"%s-%x" % (self._run, self._count))
        self._observer.began(response.id)
        # Parsers leave the spaces around a value in place. They are not part of it (RFC 9110, 5.5).
        scope = {**scope, "headers": [(name, value.strip(b" \t")) for name, value in scope["headers"]]}
        if scope.get("root_path") or not scope.get("raw_path"):
            scope = _below_root(scope)
        door = self._door(scope["path"])
        try:
            await self._pass_on(door, scope, receive, response)
        except _KeyGone:
            await response.send({"type": "http.response.body", "body": b"", "more_body": False})
        except Refusal as refusal:
            if response.status:
                raise
            await self._refuse(refusal, door, scope, response)
        except Exception:
            self._observer.crashed(id=response.id, what=f"{scope['method']} {scope['path'][:200]}")
            if response.status:
                raise
            crash = Refusal(500, "Internal server error", "The server's log says more")
            await self._refuse(crash, door, scope, response)
        finally:
            if self._observer.listens:
                self._observer.ended(
                    id=response.id.decode(),
                    door=door.name,
                    method=scope["method"],
                    path=scope["path"][:200],
                    status=response.status or 499,
                    seconds=time.perf_counter() - started,
                    key=name_of_principal(scope.get(KEY_NAME, "")),
                )

    async def _refuse(self, refusal: Refusal, door: Door, scope: Scope, response: Response) -> None:
        """Send a refusal. A page that may call this server can read it."""
        if response.origin is None:
            pages = [value for name, value in scope["headers"] if name == b"origin"]
            if len(pages) == 1 and pages[0].decode("latin-1") in self._rules.origins:
                response.origin = pages[0]
        await response.refuse(refusal, door.refusal_headers)

    async def _pass_on(self, door: Door, scope: Scope, receive: Receive, response: Response) -> None:
        """Check a request and call its door. Raises Refusal."""
        headers = headers_of(scope)
        called = self._check_host(headers)
        response.origin = self._check_origin(scope, headers, door, called)
        is_preflight = scope["method"] == "OPTIONS" and b"access-control-request-method" in headers
        send: Send = response.send
        if door.needs_key and not is_preflight:  # a browser asks whether it may send a key before it sends one
            key = key_of(headers)
            scope[KEY_NAME] = await self._owner(key)
            send = send if key is None else self._sending_while_valid(key, scope[KEY_NAME], send)
        if is_preflight and response.origin:
            await response.allow_preflight(headers)
        else:
            await door.app(scope, limited(receive, headers, door.max_body_bytes), send)

    def _sending_while_valid(self, key: str, owner: str, send: Send) -> Send:
        """Return a ``send`` that ends a stream once its key is revoked, or its token is over."""
        is_stream = True

        async def checked(message: Message) -> None:
            nonlocal is_stream
            if message["type"] == "http.response.start":  # an answer that another server gave comes in pieces, too
                is_stream = all(name != b"content-length" for name, _ in message.get("headers", ()))
            elif is_stream and message.get("more_body"):
                try:
                    is_valid = await self._owner(key) == owner
                except Refusal:
                    is_valid = False
                if not is_valid:
                    raise _KeyGone
            await send(message)

        return checked

    def _door(self, path: str) -> Door:
        for door in self._doors:
            if path.startswith(door.path) and (len(path) == len(door.path) or path[len(door.path)] == "/"):
                return door
        return _NOWHERE

    def _check_host(self, headers: dict[bytes, bytes]) -> tuple[str, str]:
        """Return the name and port the server was called by. Raises Refusal if it does not answer to this name.

        A page whose own name suddenly leads to this computer has, for its browser, the same origin as this server. Only
        the name tells them apart (DNS rebinding). An address cannot be made to lead elsewhere.
        """
        match = _HOST.fullmatch(headers.get(b"host", b"").decode("latin-1"))
        if match is None:
            raise Refusal(400, "Invalid request", "The request needs one Host header with a name or an address")
        name = match[1].lower()
        if name not in self._rules.names and not (self._rules.any_address and _is_address(name)):
            raise Refusal(
                421,
                "Misdirected request",
                f"This server does not answer to the name {name[:100]!r}; start it with --allow-host if it should",
            )
        return name, match[2] or ""

    def _check_origin(
        self, scope: Scope, headers: dict[bytes, bytes], door: Door, called: tuple[str, str]
    ) -> bytes | None:
        """Check the page a browser sends from; return its origin if it may read the answer. Raises Refusal."""
        origin = headers.get(b"origin")
        if origin is None:
            return None
        text = origin.decode("latin-1")
        if self._is_known(text, called, scope["scheme"]):
            return origin
        if scope["method"] not in door.for_any_page:
            raise Refusal(
                403,
                "Forbidden",
                f"Pages from {text[:100]!r} may not call this server; start it with --allow-origin if they should",
            )
        return None

    async def _owner(self, key: str | None) -> str:
        """Return the principal of a key or token; empty for nobody's where none is needed. Raises Refusal."""
        owner = None if key is None else self._rules.owner(key)
        if owner is None and self._rules.key_required:
            if key is None:
                raise self._unauthorized("This server needs a key; send one as Authorization: Bearer KEY", "")
            if self._rules.token_owner is not None:
                return await self._owner_of_token(key)
            message = "This key is not, or no longer, a key of this server; send one as Authorization: Bearer KEY"
            raise self._unauthorized(message, 'error="invalid_token"')
        return owner or ""

    async def _owner_of_token(self, token: str) -> str:
        assert self._rules.token_owner is not None
        try:
            return await self._rules.token_owner(token)
        except TokenRefused as refused:
            error = f'error="{refused.error}", error_description="{refused}"'
            raise self._unauthorized(str(refused), error, 403 if refused.error == INSUFFICIENT_SCOPE else 401) from None
        except IssuerUnreachable:
            message = "This token cannot be checked: its issuer's keys cannot be had. Try again later"
            raise Refusal(503, "Service unavailable", message, [(b"retry-after", b"10")]) from None

    def _unauthorized(self, message: str, error: str, status: int = 401) -> Refusal:
        parts = ['realm="vaultwire"', self._rules.challenge, error]
        challenge = "Bearer " + ", ".join(filter(None, parts))
        error_name = "Unauthorized" if status == 401 else "Forbidden"  # noqa: PLR2004 - RFC 6750, 3.1
        return Refusal(status, error_name, message, [(b"www-authenticate", challenge.encode("ascii"))])

    def _is_known(self, origin: str, called: tuple[str, str], scheme: str) -> bool:
        """Tell whether a page comes from this server itself, or has an origin that the owner allowed."""
        if origin in self._rules.origins:
            return True
        match = _ORIGIN.fullmatch(origin)
        if match is None:  # "null" too: any page can make itself that
            return False
        name, port = match[2].lower(), match[3] or _PORTS[match[1].lower()]
        # All names of this server lead here, so a page at any of them, with the same port, is its own. Behind a proxy that
        # does TLS, a page has https where this server has http. The other way round, somebody in between has sent it.
        has_port = port == (called[1] or _PORTS[match[1].lower()])
        is_safe = scheme == "http" or match[1].lower() == "https"
        return has_port and is_safe and (name == called[0] or name in self._rules.names)


class _KeyGone(Exception):  # noqa: N818 - the end of a stream, not a failure
    """The key of a request was revoked while its answer was being sent."""


def _below_root(scope: Scope) -> Scope:
    """Return the scope with paths that do not begin with ``root_path``, as if the app were not mounted below one.

    Starlette and uvicorn put ``root_path`` before ``path``, some servers do not. A server need not tell ``raw_path`` at all.
    """
    root, path = scope.get("root_path", ""), scope["path"]
    if path == root or path.startswith(root + "/"):
        path = path[len(root) :] or "/"
    raw: bytes = scope.get("raw_path") or b""
    raw_root = quote(root).encode()
    raw = raw[len(raw_root) :] if raw.startswith(raw_root + b"/") else quote(path).encode()
    return {**scope, "path": path, "raw_path": raw}


async def answer_nothing(scope: Scope, _receive: Receive, _send: Send) -> None:
    """Say that there is nothing at this path. Raises Refusal."""
    raise Refusal(404, "Not found", f"There is nothing at {scope['path'][:200]}")


# Where there is no door.
_NOWHERE = Door("", "", answer_nothing, sys.maxsize)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
