"""What clients need of a public address, rule by rule, asked over the network as a client asks it.

Many servers that are right by the specification do not connect, because of what is in front of them. No redirect is followed,
and no secret is sent. What only the services could see, such as a rule against bots, cannot be checked from here.
"""

from __future__ import annotations

import encodings.idna  # noqa: F401 - else the thread that asks would load it, and may be stopped in the middle of that
import http.client
import json
import math
import socket
import ssl
import time
from collections.abc import Callable
from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from vaultwire.transports.attachment_download import is_public

RIGHT, UNSURE, WRONG, UNCHECKED = "right", "unsure", "wrong", "not checked"

_ANSWER_SECONDS = 5.0  # for each step of an answer
_ALL_SECONDS = 40.0
_MAX_BYTES = 64 * 1024
_SECONDS_OFF = 60
_DAYS_LEFT = 14
_RESOURCE, _ISSUER = "/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server"
_HELP = "docs/remote.md#"
_ADDRESS, _FRONT = f"{_HELP}a-public-address", f"{_HELP}when-it-does-not-connect"


class Finding(NamedTuple):
    """What one rule comes to. ``right`` says what would be right, ``help`` where more is said."""

    rule: str
    state: str
    found: str
    right: str
    help: str


class _Answer(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes

    def __str__(self) -> str:
        """Return it in words, for a person."""
        words = str(self.status)
        if self.is_redirect:
            words += f", a redirect to {self.headers.get('location', 'nowhere')[:200]!r}"
        elif self.status == HTTPStatus.MISDIRECTED_REQUEST:
            words += ": the server has another --public-url, or a proxy changes the Host header"
        elif "html" in self.headers.get("content-type", ""):
            words += ", a page in HTML"
        server = self.headers.get("server")
        return words if server is None else f"{words} (Server: {server[:60]!r})"

    @property
    def is_redirect(self) -> bool:
        return HTTPStatus.MULTIPLE_CHOICES <= self.status < HTTPStatus.BAD_REQUEST

    def json(self) -> dict[str, Any] | None:
        """Return the object in it, None if it is not one in JSON."""
        try:
            value = json.loads(self.body) if "json" in self.headers.get("content-type", "") else None
        except (ValueError, RecursionError):
            return None
        return value if isinstance(value, dict) else None


class _NoAnswer(Exception):  # noqa: N818 - says what happened
    """There is no answer, in words for a person."""


class _Asking:
    """Asks one address, each question once. After a failure to connect it asks no more: ``unreachable`` says why."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.url = url
        self.host = parts.hostname or ""
        self.port = parts.port or (443 if parts.scheme == "https" else 80)
        self.tls = ssl.create_default_context() if parts.scheme == "https" else None
        self.unreachable = ""
        self.is_untrusted = False
        self.certificate: Any = None
        self._until = time.monotonic() + _ALL_SECONDS
        self._answers: dict[tuple[str, str, str], _Answer] = {}

    def addresses(self) -> list[str]:
        """Return what the name leads to from here. Raises _NoAnswer."""
        try:
            places = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError) as error:
            self.unreachable = f"there is no address for {self.host}: {_reason(error)}"
            raise _NoAnswer(self.unreachable) from None
        return list(dict.fromkeys(str(place[4][0]) for place in places))

    def ask(self, method: str, path: str, authorization: str = "") -> _Answer:
        """Return the answer to a request. Raises _NoAnswer."""
        question = (method, path, authorization)
        if question not in self._answers:
            if self.unreachable:
                raise _NoAnswer(self.unreachable)
            self._answers[question] = self._ask(*question)
        return self._answers[question]

    def _ask(self, method: str, path: str, authorization: str) -> _Answer:
        seconds = min(_ANSWER_SECONDS, self._until - time.monotonic())
        if seconds <= 0:
            raise _NoAnswer(f"not asked: the other answers took {_ALL_SECONDS:.0f} seconds")
        connection = self._connect(seconds)
        headers = {"User-Agent": "vaultwire", "Accept": "application/json, text/event-stream"}
        if authorization:
            headers["Authorization"] = authorization
        body = b""
        if method == "POST":
            headers["Content-Type"], body = "application/json", b"{}"
        try:
            connection.request(method, path, body or None, headers)
            response = connection.getresponse()
            data = b""
            while len(data) < _MAX_BYTES and time.monotonic() < self._until and (piece := response.read1(_MAX_BYTES)):
                data += piece
            return _Answer(response.status, response.headers, data)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise _NoAnswer(f"{method} {path}: {_reason(error)}") from None
        finally:
            connection.close()

    def _connect(self, seconds: float) -> http.client.HTTPConnection:
        connection = (
            http.client.HTTPConnection(self.host, self.port, timeout=seconds)
            if self.tls is None
            else http.client.HTTPSConnection(self.host, self.port, timeout=seconds, context=self.tls)
        )
        try:
            connection.connect()
        except (OSError, UnicodeError) as error:
            connection.close()
            self.is_untrusted = isinstance(error, ssl.SSLCertVerificationError)
            self.unreachable = _reason(error)
            raise _NoAnswer(self.unreachable) from None
        if isinstance(connection.sock, ssl.SSLSocket):
            self.certificate = connection.sock.getpeercert()
        return connection


def _reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    text = getattr(error, "verify_message", "") or getattr(error, "strerror", "") or str(error)
    return text or type(error).__name__


_Found = tuple[str, str]  # a state, and what was found


def _check_address(asking: _Asking) -> _Found:
    addresses = asking.addresses()
    if all(map(is_public, addresses)):
        return RIGHT, ", ".join(addresses)
    return UNSURE, f"from here it leads to {', '.join(addresses)}: others cannot use that, so their way may differ"


def _check_port(asking: _Asking) -> _Found:
    is_right = asking.tls is not None and asking.port == http.client.HTTPS_PORT
    return (RIGHT if is_right else WRONG), f"{'http' if asking.tls is None else 'https'}, {asking.port}"


def _check_certificate(asking: _Asking) -> _Found:
    if asking.tls is None:
        return WRONG, "there is no TLS"
    if asking.is_untrusted:
        return WRONG, f"not trusted: {asking.unreachable}"
    if asking.certificate is None:
        raise _NoAnswer(asking.unreachable)
    days = math.floor((ssl.cert_time_to_seconds(asking.certificate["notAfter"]) - time.time()) / 86400)
    return (UNSURE if days < _DAYS_LEFT else RIGHT), f"trusted, ends in {days} days"


def _check_server(asking: _Asking) -> _Found:
    health = asking.ask("GET", "/health")
    if health.status != HTTPStatus.OK or health.json() != {"status": "ok"}:
        return WRONG, f"/health: {health}"
    page = asking.ask("GET", f"{_RESOURCE}/mcp")
    if (page.json() or {}).get("resource_name") != "Vaultwire":
        return WRONG, f"{_RESOURCE}/mcp: {page}, without the name Vaultwire"
    return RIGHT, "vaultwire"


def _check_redirects(asking: _Asking) -> _Found:
    for method, path in (("GET", "/health"), ("GET", _ISSUER), ("GET", f"{_RESOURCE}/mcp"), ("POST", "/mcp")):
        answer = asking.ask(method, path)
        if answer.is_redirect:
            return WRONG, f"{path}: {answer}"
    return RIGHT, "none"


def _check_clock(asking: _Asking) -> _Found:
    try:
        date = parsedate_to_datetime(asking.ask("GET", "/health").headers.get("date", ""))
    except ValueError:
        return UNCHECKED, "the answer has no Date header that can be read"
    off = round(abs(time.time() - (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()))
    return (WRONG if off > _SECONDS_OFF else RIGHT), f"{off} seconds off"


def _difference(asking: _Asking, path: str, rights: dict[str, Any]) -> str:
    """Return how the metadata at a path differ from what they must be; empty if they do not."""
    answer = asking.ask("GET", path)
    page = answer.json()
    if answer.status != HTTPStatus.OK or page is None:
        return f"{path}: {answer}" + (", not JSON" if answer.status == HTTPStatus.OK else "")
    return next(
        (f"{path}: {name} is {_short(page.get(name))}" for name in rights if page.get(name) != rights[name]), ""
    )


def _check_resource(asking: _Asking) -> _Found:
    rights = {"resource": f"{asking.url}/mcp", "authorization_servers": [asking.url]}
    difference = _difference(asking, f"{_RESOURCE}/mcp", rights) or _difference(asking, _RESOURCE, rights)
    return (WRONG, difference) if difference else (RIGHT, "as it must be")


def _check_issuer(asking: _Asking) -> _Found:
    rights = {
        "issuer": asking.url,
        "authorization_endpoint": f"{asking.url}/authorize",
        "token_endpoint": f"{asking.url}/token",
        "registration_endpoint": f"{asking.url}/register",
        "token_endpoint_auth_methods_supported": ["none"],
        "client_id_metadata_document_supported": True,
    }
    difference = _difference(asking, _ISSUER, rights)
    scopes = (asking.ask("GET", _ISSUER).json() or {}).get("scopes_supported")
    if not difference and not (isinstance(scopes, list) and "offline_access" in scopes):
        difference = "scopes_supported does not have offline_access"
    return (WRONG, difference) if difference else (RIGHT, "as it must be")


def _check_mcp(path: str) -> Callable[[_Asking], _Found]:
    def check(asking: _Asking) -> _Found:
        answer = asking.ask("POST", path)
        challenge = answer.headers.get("www-authenticate", "")
        if answer.status != HTTPStatus.UNAUTHORIZED:
            return WRONG, str(answer)
        if f'resource_metadata="{asking.url}{_RESOURCE}/mcp"' not in challenge:
            return WRONG, f"401 with WWW-Authenticate: {_short(challenge or None)}"
        return RIGHT, "401 with the address of the metadata"

    return check


def _check_token(asking: _Asking) -> _Found:
    # The server says of a token that it is none, and of no token that one is missing.
    answer = asking.ask("POST", "/mcp", "Bearer not-a-token")
    if 'error="invalid_token"' in answer.headers.get("www-authenticate", ""):
        return RIGHT, "it comes through"
    return WRONG, f"{answer}, as if there was none"


def _check_unknown(asking: _Asking) -> _Found:
    answer = asking.ask("GET", "/.well-known/openid-configuration")
    return (RIGHT if answer.status == HTTPStatus.NOT_FOUND else WRONG), str(answer)


def _check_methods(asking: _Asking) -> _Found:
    for method, path in (("GET", "/mcp"), ("HEAD", "/mcp"), ("DELETE", "/mcp"), ("OPTIONS", "/token")):
        answer = asking.ask(method, path)
        if answer.status != (HTTPStatus.NO_CONTENT if method == "OPTIONS" else HTTPStatus.UNAUTHORIZED):
            return WRONG, f"{method} {path}: {answer}"
    return RIGHT, "GET, HEAD, POST, DELETE and OPTIONS come through"


_RULES: tuple[tuple[str, Callable[[_Asking], _Found], str, str], ...] = (
    ("address", _check_address, "the name leads to a public address", _ADDRESS),
    ("port", _check_port, "https at port 443: claude.ai calls no other", _ADDRESS),
    ("server", _check_server, "vaultwire itself answers, no page of something in front of it", _FRONT),
    ("certificate", _check_certificate, f"trusted by every computer, for {_DAYS_LEFT} more days at least", _FRONT),
    ("redirects", _check_redirects, "no address redirects: clients do not follow", _FRONT),
    ("clock", _check_clock, f"at most {_SECONDS_OFF} seconds off the Date of an answer", _FRONT),
    ("resource", _check_resource, "the metadata of /mcp, in JSON, with exactly this URL", _FRONT),
    ("issuer", _check_issuer, "the metadata of sign-in, in JSON, with exactly this URL", _FRONT),
    ("/mcp", _check_mcp("/mcp"), "401 whose WWW-Authenticate header says where the metadata are", _FRONT),
    ("/mcp/", _check_mcp("/mcp/"), "the same as /mcp, without a redirect", _FRONT),
    ("token", _check_token, "the Authorization header reaches vaultwire", _FRONT),
    ("unknown", _check_unknown, "404 where there are no metadata", _FRONT),
    ("methods", _check_methods, "all methods of HTTP reach vaultwire", _FRONT),
)


def check_public_url(url: str) -> list[Finding]:
    """Return what each rule comes to for a server at ``url``, which has no path. It takes a minute at most."""
    asking = _Asking(url)
    findings = []
    for name, check, right, help_ in _RULES:
        was_reached = not asking.unreachable
        try:
            state, found = check(asking)
        except _NoAnswer as error:
            state, found = (WRONG, str(error)) if was_reached else (UNCHECKED, "nothing answers")
        findings.append(Finding(name, state, found, right, help_))
    return findings


def _short(value: Any) -> str:
    return "missing" if value is None else json.dumps(value)[:200]
