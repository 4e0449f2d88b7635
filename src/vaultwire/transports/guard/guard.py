"""The guard itself: one request after the other is let through to its door, or turned away."""

from __future__ import annotations

import ipaddress
import re
import sys
import time

from vaultwire.transports import AT_ONCE, DONE, MEMO
from vaultwire.transports.guard.answers import ALWAYS, Answer, Refusal, answer_preflight
from vaultwire.transports.guard.heads import Passed, checked_headers, counted, too_large
from vaultwire.transports.guard.rules import KEY_NAME, Door
from vaultwire.trust.tokens import INSUFFICIENT_SCOPE, IssuerUnreachable, TokenRefused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from vaultwire.transports import AtOnce, Receive, Scope, Send
    from vaultwire.transports.guard.rules import Observer, Rules

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?", re.IGNORECASE)
_ORIGIN = re.compile(r"(https?)://(\[[0-9a-f:.]+\]|[^\s:/@\[\]]+)(?::(\d{1,5}))?", re.IGNORECASE)
_PORTS = {"http": "80", "https": "443"}

# Spellings of our own names, with ports that tunnels and proxies add.
_MOST_CALLED = 100
_MINE = "guard"  # among what is known of a head


class Guard:
    """The ASGI callable that stands before the doors."""

    def __init__(self, doors: Sequence[Door], rules: Rules, observer: Observer) -> None:
        self._doors = sorted(doors, key=lambda door: len(door.path), reverse=True)
        self._rules = rules
        self._observer = observer
        self._run = b"%08x" % (time.time_ns() & 0xFFFFFFFF)  # tells this run's request ids from another's
        self._count = 0
        self._called: dict[bytes, tuple[str, str]] = {}  # Host headers that have passed, taken apart

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        """Let one request through to its door, or refuse it."""
        if scope["type"] != "http":  # no door speaks anything else yet
            return DONE
        observer = self._observer
        started = time.perf_counter() if observer.listens else 0.0
        self._count += 1
        answer = Answer(send, b"%s-%x" % (self._run, self._count))
        observer.began(answer.id)
        try:
            left = self._pass(scope, receive, answer)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told as if it came later
            left = _raised(error)
        if left is not DONE:
            return self._see_through(left, scope, answer, started)
        if observer.listens:
            self._tell_end(scope, answer, started)
        return DONE

    async def _see_through(self, left: Awaitable[None], scope: Scope, answer: Answer, started: float) -> None:
        """Wait for what is left, and answer for what goes wrong."""
        try:
            await left
        except Refusal as refusal:
            if _status(scope, answer):
                raise
            await self._refuse(scope, answer, refusal)
        except Exception:
            self._observer.crashed(id=answer.id, what=f"{scope['method']} {scope['path'][:200]}")
            if _status(scope, answer):
                raise
            await self._refuse(scope, answer, Refusal(500, "Internal server error", "The server's log says more"))
        finally:
            if self._observer.listens:
                self._tell_end(scope, answer, started)

    async def _refuse(self, scope: Scope, answer: Answer, refusal: Refusal) -> None:
        """Turn a request away, so that the page it came from can read why if it can read anything behind this door."""
        if answer.origin is None:
            pages = [value.strip(b" \t") for name, value in scope["headers"] if name == b"origin"]
            if len(pages) == 1 and pages[0].decode("latin-1") in self._rules.origins:
                answer.origin = pages[0]
        await answer.refuse(refusal, self._door(scope["path"]).refusal_headers)

    def _tell_end(self, scope: Scope, answer: Answer, started: float) -> None:
        self._observer.ended(
            id=answer.id.decode(),
            door=self._door(scope["path"]).name,
            method=scope["method"],
            path=scope["path"][:200],
            status=_status(scope, answer) or 499,
            seconds=time.perf_counter() - started,
            key=scope.get(KEY_NAME, ""),
        )

    def _pass(self, scope: Scope, receive: Receive, answer: Answer) -> Awaitable[None]:
        """Let one request through to its door. Raises Refusal, now or later."""
        memo = scope.get(MEMO)
        passed: Passed | None = None if memo is None else memo.get(_MINE)
        if passed is None:
            passed = self._look_at(scope)
        scope["headers"] = passed.lines
        answer.origin = passed.origin
        owner = "" if passed.is_open else self._owner(passed.secret)
        if owner is None:
            return self._enter_by_token(passed, scope, receive, answer)
        scope[KEY_NAME] = owner
        return _enter(passed, scope, receive, answer)

    async def _enter_by_token(self, passed: Passed, scope: Scope, receive: Receive, answer: Answer) -> None:
        scope[KEY_NAME] = await self._owner_of_token(passed.secret)
        await _enter(passed, scope, receive, answer)

    def _look_at(self, scope: Scope) -> Passed:
        """Look at all of a request that is the same for each with this head. Raises Refusal."""
        door = self._door(scope["path"])
        # The parser leaves blanks behind a value in place, which are no part of it (RFC 9110, 5.5).
        lines: list[tuple[bytes, bytes]] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
        headers = checked_headers(lines, scope)
        origin = self._check_origin(scope, headers, door, self._check_host(headers))
        is_preflight = scope["method"] == "OPTIONS" and b"access-control-request-method" in headers
        key_required = self._rules.key_required
        passed = Passed(door, lines, headers, origin, is_preflight=is_preflight, key_required=key_required)
        if MEMO in scope:
            scope[MEMO][_MINE] = passed
        return passed

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
            raise Refusal(400, "Invalid request", "The request needs one Host header with a name or an address")
        name, port = found[1].lower(), found[2] or ""
        if name in self._rules.names or (self._rules.any_address and _is_address(name)):
            if len(self._called) < _MOST_CALLED:
                self._called[host] = name, port
            return name, port
        raise Refusal(
            421,
            "Misdirected request",
            f"This server does not answer to the name {name[:100]!r}; start it with --allow-host if it should",
        )

    def _check_origin(
        self, scope: Scope, headers: dict[bytes, bytes], door: Door, called: tuple[str, str]
    ) -> bytes | None:
        """Check the page a browser sends from; return it if it may read the answer."""
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

    def _owner(self, secret: str | None) -> str | None:
        """Check the key; return the name of its owner, None for what may be an access token."""
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

    async def _owner_of_token(self, secret: str | None) -> str:
        assert self._rules.token_owner is not None
        try:
            return await self._rules.token_owner(secret or "")
        except TokenRefused as refused:
            error = f'error="{refused.error}", error_description="{refused}"'
            raise self._unauthorized(str(refused), error, 403 if refused.error == INSUFFICIENT_SCOPE else 401) from None
        except IssuerUnreachable:
            message = "Whether this token is good cannot be told: its issuer's keys cannot be had. Try again later"
            raise Refusal(503, "Service unavailable", message, [(b"retry-after", b"10")]) from None

    def _unauthorized(self, message: str, error: str, status: int = 401) -> Refusal:
        parts = ['realm="vaultwire"', self._rules.challenge, error]
        challenge = "Bearer " + ", ".join(filter(None, parts))
        error_name = "Unauthorized" if status == 401 else "Forbidden"  # noqa: PLR2004 - RFC 6750, 3.1
        return Refusal(status, error_name, message, [(b"www-authenticate", challenge.encode("ascii"))])

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


def _enter(passed: Passed, scope: Scope, receive: Receive, answer: Answer) -> Awaitable[None]:
    """Have the door answer a request whose sender may come in."""
    if passed.is_usual:
        at_once: AtOnce | None = scope.get(AT_ONCE)
        if at_once is not None:
            at_once.besides = ALWAYS % answer.id
        return passed.app(scope, receive, answer.send)
    scope.pop(AT_ONCE, None)
    door = passed.door
    if passed.is_preflight and passed.origin:
        return answer_preflight(answer, passed.headers)
    if passed.length is None:
        receive = counted(receive, door.max_body_bytes)
    elif passed.length > door.max_body_bytes:
        raise too_large(door.max_body_bytes)
    return door.app(scope, receive, answer.send)


def _status(scope: Scope, answer: Answer) -> int:
    """Return the status a request was answered with, 0 if it was not."""
    at_once: AtOnce | None = scope.get(AT_ONCE)
    return answer.status if at_once is None else answer.status or at_once.status


async def _raised(error: Exception) -> None:
    raise error


async def _answer_nothing(scope: Scope, _receive: Receive, _send: Send) -> None:
    raise Refusal(404, "Not found", f"There is nothing at {scope['path'][:200]}")


# Where no door is.
_NOWHERE = Door("", "", _answer_nothing, sys.maxsize)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
