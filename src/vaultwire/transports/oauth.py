"""The HTTP side of an OAuth 2.1 resource server: fetches the issuer's keys, and serves the page that names the issuer.

What makes a token good is ``trust.tokens``' matter; the form of a refusal is the guard's. Keys are fetched on a thread of
their own, one fetch at a time: the event loop goes on, and a request waits for keys only so long.
"""

from __future__ import annotations

import asyncio
import encodings.idna  # noqa: F401 - else the thread below would load it, and may be stopped in the middle of that
import http.client
import json
import threading
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import urlsplit

from vaultwire.transports import call_on_loop, send_page, send_whole
from vaultwire.trust.tokens import IssuerUnreachable, KeyUnknown, read_keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from vaultwire.transports import Receive, Scope, Send
    from vaultwire.trust.tokens import IssuerKey, Tokens

# Where clients look for the page (RFC 9728, 3.1), with the resource's own path behind it.
_WELL_KNOWN = "/.well-known/oauth-protected-resource"

# For the issuer to answer, at each step.
_ANSWER_SECONDS = 5.0
# For the whole fetch, and for a request that waits: a person is behind it.
_PATIENCE_SECONDS = 10.0
# Between two attempts: any caller can name keys that do not exist.
AGAIN_SECONDS = 10.0
# Keys older than the first are fetched again while requests go on; older than the second, they are not used any more.
_FRESH_SECONDS = 3600.0
_GOOD_SECONDS = 24 * 3600.0
# A set of a dozen keys with their certificates has 50 KB.
_MOST_BYTES = 512 * 1024


class ResourcePage:
    """The page that says who issues tokens for this server (RFC 9728), at ``path``."""

    path = _WELL_KNOWN

    def __init__(self, resource: str, issuer: str, scopes: Sequence[str]) -> None:
        """``resource`` is the server's URL, as clients use it; ``scopes`` are those that they are to ask for."""
        parts = urlsplit(resource)
        path = "" if parts.path == "/" else parts.path
        self._paths = (_WELL_KNOWN, f"{_WELL_KNOWN}/mcp", _WELL_KNOWN + path)
        page: dict[str, Any] = {
            "resource": resource,
            "resource_name": "Vaultwire",
            "authorization_servers": [issuer],
            "bearer_methods_supported": ["header"],
        }
        if scopes:
            page["scopes_supported"] = list(scopes)
        self._page = json.dumps(page).encode()
        self.challenge = f'resource_metadata="{parts.scheme}://{parts.netloc}{_WELL_KNOWN}{path}"'
        """For ``WWW-Authenticate``: where the page is, and the scopes a token needs."""
        if scopes:
            self.challenge += f', scope="{" ".join(scopes)}"'

    async def show(self, scope: Scope, _receive: Receive, send: Send) -> None:
        """Answer with the page (RFC 9728, 3.2)."""
        headers = [(b"access-control-allow-origin", b"*"), (b"content-type", b"application/json")]
        if scope["path"] in self._paths:
            await send_page(scope, send, self._page, *headers)
        else:
            body = b'{"error":"Not found","message":"No resource of this server has this path"}'
            await send_whole(send, 404, headers, body)


class Protected(ResourcePage):
    """This server as a resource that another issuer's tokens open."""

    def __init__(self, tokens: Tokens, resource: str, tell: Callable[[str], None]) -> None:
        """``resource``: as for the page; ``tell`` gets the reason when keys cannot be fetched."""
        super().__init__(resource, tokens.issuer, tokens.scopes)
        self._tokens = tokens
        self._tell = tell
        self._keys: Sequence[IssuerKey] = ()
        self._keys_at = -_GOOD_SECONDS
        self._tried_at = -_GOOD_SECONDS
        self._problem = ""
        self._fetching: asyncio.Future[None] | None = None

    async def owner(self, token: str) -> str:
        """Return the name of the token's owner. Raises TokenRefused and IssuerUnreachable."""
        now = time.monotonic()
        if now - self._keys_at > _GOOD_SECONDS:
            self._keys = ()
        elif now - self._keys_at > _FRESH_SECONDS and now - self._tried_at > AGAIN_SECONDS:
            self.fetch()
        try:
            return self._tokens.owner(token, self._keys)
        except KeyUnknown:
            if not await self._has_new_keys(now):
                raise
        return self._tokens.owner(token, self._keys)

    async def _has_new_keys(self, now: float) -> bool:
        if self._fetching is None and now - self._tried_at > AGAIN_SECONDS:
            self.fetch()
        fetching = self._fetching
        if fetching is not None:
            done, _ = await asyncio.wait((fetching,), timeout=_PATIENCE_SECONDS)
            if not done:
                raise IssuerUnreachable("no answer")
        if self._problem:
            raise IssuerUnreachable(self._problem)
        return fetching is not None

    def fetch(self) -> None:
        """Begin to fetch the issuer's keys, on a thread. Call it on the event loop."""
        if self._fetching is not None:
            return
        self._tried_at = time.monotonic()
        loop = asyncio.get_running_loop()
        self._fetching = loop.create_future()

        def resolve(keys: Sequence[IssuerKey], problem: str) -> None:
            if problem and problem != self._problem:
                self._tell(f"no keys of {self._tokens.issuer} to check tokens with: {problem}")
            self._problem, self._tried_at = problem, time.monotonic()
            if not problem:
                self._keys, self._keys_at = keys, time.monotonic()
            assert self._fetching is not None
            self._fetching.set_result(None)
            self._fetching = None

        def run() -> None:
            keys: Sequence[IssuerKey] = ()
            problem = ""
            try:
                keys = fetch_keys(self._tokens.issuer)
            except IssuerUnreachable as error:
                problem = str(error)
            except Exception as error:  # noqa: BLE001 - any error: those who wait must be told
                problem = repr(error)
            call_on_loop(loop, resolve, keys, problem)

        # A daemon: waiting for a name or a far computer must not hold up the end. All that it needs is imported.
        threading.Thread(target=run, daemon=True, name="vaultwire-issuer").start()


def fetch_keys(issuer: str) -> Sequence[IssuerKey]:
    """Return the keys that an issuer's metadata name (RFC 8414, OpenID Connect Discovery). Raises IssuerUnreachable."""
    until = time.monotonic() + _PATIENCE_SECONDS
    metadata = _fetch_metadata(issuer, until)
    url = metadata.get("jwks_uri")
    if not isinstance(url, str) or not may_be_asked(url, plain=issuer.startswith("http:")):
        raise IssuerUnreachable("its metadata name no jwks_uri that begins with https://")
    try:
        keys = read_keys(_get(url, until))
    except urllib.error.HTTPError as error:
        raise IssuerUnreachable(f"{url} answers {error.code}") from None
    if not keys:
        raise IssuerUnreachable(f"{url} holds no key that can check signatures")
    return keys


def may_be_asked(url: str, *, plain: bool) -> bool:
    """Tell whether a URL may be fetched: over TLS, or, with ``plain``, from this computer."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    is_here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    return bool(parts.hostname) and (parts.scheme == "https" or (plain and is_here and parts.scheme == "http"))


def _fetch_metadata(issuer: str, until: float) -> dict[str, Any]:
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    # In the order in which MCP has clients try them (2025-11-25, "Authorization Server Metadata Discovery").
    places = [
        f"{origin}/.well-known/oauth-authorization-server{path}",
        f"{origin}/.well-known/openid-configuration{path}",
    ]
    if path:
        places.append(f"{origin}{path}/.well-known/openid-configuration")
    for place in places:
        try:
            metadata = _get(place, until)
        except urllib.error.HTTPError:
            continue
        said = metadata.get("issuer") if isinstance(metadata, dict) else None
        if said != issuer:  # RFC 8414, 3.3: not to be used, and to be the same to the letter
            raise IssuerUnreachable(f"{place} is about {str(said)[:200]!r}")
        assert isinstance(metadata, dict)
        return metadata
    raise IssuerUnreachable(f"there are no metadata at {places[0]}, nor where OpenID Connect has them")


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: it could lead anywhere."""

    def redirect_request(self, *_: Any) -> None:
        """Do not follow it: it counts as an error."""


def _get(url: str, until: float) -> Any:
    """Return the JSON at a URL. Raises HTTPError and IssuerUnreachable."""
    opener = urllib.request.build_opener(_NoRedirects)
    request = urllib.request.Request(url, headers={"Accept": "application/json", "User-Agent": "vaultwire"})  # noqa: S310 - https, see may_be_asked
    body = b""
    try:
        with opener.open(request, timeout=_ANSWER_SECONDS) as answer:
            while piece := answer.read1(_MOST_BYTES):
                body += piece
                if len(body) > _MOST_BYTES:
                    raise IssuerUnreachable(f"{url} has more than {_MOST_BYTES} bytes")
                if time.monotonic() > until:
                    raise TimeoutError("no end of it")
        return json.loads(body)
    except urllib.error.HTTPError:
        raise
    except (OSError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        raise IssuerUnreachable(f"cannot get {url}: {reason}") from None
    except (ValueError, RecursionError):
        raise IssuerUnreachable(f"{url} is not JSON") from None
