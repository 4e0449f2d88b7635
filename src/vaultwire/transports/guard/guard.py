"""The guard itself. Each request is passed on to its door, or refused."""

from __future__ import annotations

import ipaddress
import re
import sys
import time
from urllib.parse import quote

from vaultwire.protocol.events import name_of_principal
from vaultwire.transports.guard.request_head import headers_of, key_of, limited
from vaultwire.transports.guard.responses import Refusal, Response
from vaultwire.transports.guard.rules import KEY_NAME, Door
from vaultwire.trust.tokens import INSUFFICIENT_SCOPE, IssuerUnreachable, TokenRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from vaultwire.transports import Message, Receive, Scope, Send
    from vaultwire.transports.guard.rules import Observer, Rules

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

        async def checked(message: Message) -> None:
            if message["type"] == "http.response.body" and message.get("more_body"):
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
        found = _HOST.fullmatch(headers.get(b"host", b"").decode("latin-1"))
        if found is None:
            raise Refusal(400, "Invalid request", "The request needs one Host header with a name or an address")
        name = found[1].lower()
        if name not in self._rules.names and not (self._rules.any_address and _is_address(name)):
            raise Refusal(
                421,
                "Misdirected request",
                f"This server does not answer to the name {name[:100]!r}; start it with --allow-host if it should",
            )
        return name, found[2] or ""

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
        found = _ORIGIN.fullmatch(origin)
        if found is None:  # "null" too: any page can make itself that
            return False
        name, port = found[2].lower(), found[3] or _PORTS[found[1].lower()]
        # All names of this server lead here, so a page at any of them, with the same port, is its own. Behind a proxy that
        # does TLS, a page has https where this server has http. The other way round, somebody in between has sent it.
        has_port = port == (called[1] or _PORTS[found[1].lower()])
        is_safe = scheme == "http" or found[1].lower() == "https"
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
