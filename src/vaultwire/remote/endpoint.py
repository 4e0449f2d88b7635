"""The authorization server over HTTP (OAuth 2.1, RFC 8414, 7591, 7009, 9207, 9728), and whose a token is.

Its addresses are at the root of the host, because some clients look only there. A person's browser gets no session: each time
that a client is connected, the person gives the password, and a page from elsewhere finds nothing to misuse.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import secrets
import sys
import time
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from vaultwire import __version__
from vaultwire.remote.clients import Client, ClientRefused, Clients, host_of
from vaultwire.remote.note_pages import NotePages, Read
from vaultwire.remote.pages import (
    HOLD_DAYS,
    Asked,
    consent_page,
    headers_of_page,
    message_page,
    passkey_page,
    sign_in_page,
)
from vaultwire.remote.people import PasskeyRefused, Passkeys, Passwords, can_have_passkeys
from vaultwire.remote.store import (
    ACCESS,
    ACCESS_SECONDS,
    BROWSER_SECONDS,
    CONNECTOR,
    FOREVER,
    Folders,
    Grant,
    Pair,
    Replayed,
    Store,
    names_of,
)
from vaultwire.transports import cookie_in, guard, read_body, send_page, send_whole, set_cookie
from vaultwire.transports.guard import Refusal
from vaultwire.transports.oauth import ResourcePage
from vaultwire.trust.tokens import TokenRefused
from vaultwire.vault.disk.paths import parse_path
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.transports import Receive, Scope, Send

READ, WRITE, OFFLINE = "read", "write", "offline_access"
"""The scopes. ``OFFLINE`` is there for clients that ask for a refresh token by it; all get one."""

# After its first token a client asks for the tools at once.
UNUSED_SECONDS = 60.0

_CONNECTOR = re.compile(r"/c/([^/]{20,})(/.*)?\Z", re.DOTALL)
_CHALLENGE, _VERIFIER = re.compile(r"[A-Za-z0-9_-]{43}"), re.compile(r"[A-Za-z0-9._~-]{43,128}")
_MAX_BODY_BYTES = 32 * 1024
_MAX_FIELDS = 40
_MAX_STATE = 4096
_MAX_FOLDERS, _FOLDERS_SECONDS = 400, 5.0
_COOKIE = "vaultwire_browser"
# From signing in to the answer.
_TICKET_SECONDS = 600
_FOR_PAGES = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET, POST, OPTIONS"),
    (b"access-control-allow-headers", b"authorization, content-type, mcp-protocol-version"),
)

# Before it connects, a client can read there where to (SEP-2127); some look at the second place only.
_CARDS = (
    ("/mcp/server-card", b"application/mcp-server-card+json"),
    ("/.well-known/mcp/server-card.json", b"application/json"),
)


class _OAuthError(Exception):
    """A request that is refused; ``error`` is its code (RFC 6749, 5.2)."""

    def __init__(self, error: str, description: str, status: int = 400) -> None:
        super().__init__(description)
        self.error = error
        self.status = status


class _Request(NamedTuple):
    """An authorization request whose client and redirect URI are right: what is wrong with the rest goes there."""

    client: Client
    redirect_uri: str
    fields: dict[str, str]
    resources: list[str]
    digest: bytes  # of the whole request

    @property
    def host(self) -> str:
        return host_of(self.redirect_uri)


class Offered(NamedTuple):
    """What there is to allow: ``notes`` say in words which notes. ``folders`` returns those of each vault, by its name.

    ``has_connectors``: connector addresses are served, too.
    """

    notes: tuple[str, ...]
    folders: Mapping[str, Callable[[], list[str]]]
    may_write: bool
    has_connectors: bool = False


class SignIn:
    """The authorization server of one run."""

    def __init__(
        self,
        store: Store,
        clients: Clients,
        url: str,
        offered: Offered,
        tell: Callable[[str], None],
    ) -> None:
        """``url`` is this server's for everybody, without a path; ``tell`` writes the log."""
        self._offered = offered
        self._folders = offered.folders
        self._narrowed: dict[str, Folders] = {}
        self._store = store
        self._clients = clients
        self._url = url
        self._resources = frozenset((url, f"{url}/", f"{url}/mcp", f"{url}/mcp/"))
        self._tell = tell
        scopes = [READ, WRITE] if offered.may_write else [READ]
        self._page = ResourcePage(f"{url}/mcp", url, scopes)
        self.challenge = self._page.challenge
        """For ``WWW-Authenticate``."""
        self._metadata = json.dumps(
            {
                "issuer": url,
                "authorization_endpoint": f"{url}/authorize",
                "token_endpoint": f"{url}/token",
                "registration_endpoint": f"{url}/register",
                "revocation_endpoint": f"{url}/revoke",
                "scopes_supported": [*scopes, OFFLINE],
                "response_types_supported": ["code"],
                "response_modes_supported": ["query"],
                "grant_types_supported": ["authorization_code", "refresh_token"],
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "revocation_endpoint_auth_methods_supported": ["none"],
                "client_id_metadata_document_supported": True,
                "authorization_response_iss_parameter_supported": True,
            }
        ).encode()
        self._card = _to_json(_card_of(url))
        self._ticket_key = hmac.digest(store.key(), b"tickets", "sha256")
        self._passkeys = Passkeys(store, url) if can_have_passkeys(url) else None
        self._passwords = Passwords(store, tell)
        self._is_closed = False
        self._note_pages: NotePages | None = None

    def show_notes(self, read: Read) -> None:
        """Serve pages of notes, too, which ``read`` reads."""
        self._note_pages = NotePages(self._store, self._url, self._sign_in, read, self._tell)

    def close(self) -> None:
        """Close the store."""
        self._is_closed = True
        self._store.close()

    def doors(self) -> list[guard.Door]:
        """Return the doors of sign-in. None of them needs a key; ``/authorize`` is for pages of this server only."""
        forms = (("token", self._token), ("register", self._register), ("revoke", self._revoke))
        place = "/.well-known/oauth-authorization-server"
        return [
            guard.Door("oauth", self._page.path, self._page.show, 0, False, guard.READING),
            guard.Door("oauth", place, partial(self._show_metadata, place), 0, False, guard.READING),
            *(
                guard.Door("card", place, partial(self._show_card, place, kind), 0, False, guard.READING)
                for place, kind in _CARDS
            ),
            guard.Door("authorize", "/authorize", self._authorize, _MAX_BODY_BYTES, False, guard.READING),
            guard.Door("passkey", "/passkey", self._make_passkey, _MAX_BODY_BYTES, False, guard.READING),
            # Where a connector address has led nowhere: a 401 would have the client sign in instead.
            guard.Door("", "/c", guard.answer_nothing, sys.maxsize, needs_key=False),
            *(
                guard.Door(
                    name, f"/{name}", partial(self._answer_form, name, answer), _MAX_BODY_BYTES, False, guard.EVERYTHING
                )
                for name, answer in forms
            ),
            *([] if self._note_pages is None else [self._note_pages.door()]),
        ]

    # ------------------------------------------------------------------ tokens at the other doors

    async def owner(self, token: str) -> str:
        """Return the principal of an access token or connector. Raises TokenRefused."""
        owned = await self._owned(token, (ACCESS, CONNECTOR) if self._offered.has_connectors else (ACCESS,))
        if owned is None:
            raise TokenRefused("this is neither a key of this server nor an access token that is valid")
        grant, is_news = owned
        if grant.folders:
            if self._folders.keys().isdisjoint(vault for vault, _ in grant.folders):
                raise TokenRefused("this token is for a vault that this server does not serve")
            self._narrowed[grant.principal] = grant.folders
        if is_news:
            await asyncio.to_thread(self._store.note_use, token)
        return grant.principal

    async def _owned(self, secret: str, kinds: tuple[str, ...]) -> tuple[Grant, bool] | None:
        return self._store.known(secret, kinds) or await asyncio.to_thread(self._store.owner, secret, kinds)

    def folders_of(self, principal: str) -> Folders:
        """Return the folders that the owner of a token may see, none for all. ``owner`` has returned it before."""
        return self._narrowed.get(principal, ())

    async def unwrap(self, scope: Scope) -> Scope:
        """Return a request to a connector address as one to ``/mcp`` with a token: nothing behind this sees the secret."""
        address = _CONNECTOR.search(scope["path"])
        if address is None:
            return scope
        secret = address[1]
        is_mcp = self._offered.has_connectors and (address[2] or "").rstrip("/") == "/mcp"
        if not is_mcp or await self._owned(secret, (CONNECTOR,)) is None:
            return {**scope, "path": "/c", "raw_path": b"/c"}
        headers = [(name, value) for name, value in scope["headers"] if name not in (b"authorization", b"x-api-key")]
        headers.append((b"authorization", f"Bearer {secret}".encode()))
        return {**scope, "path": "/mcp", "raw_path": b"/mcp", "headers": headers}

    # ------------------------------------------------------------------ what the person at the desk sees and ends

    def grants(self) -> dict[str, Any]:
        """Return the grants for the desk, the oldest first, and whether connector addresses can be made. From any thread."""
        grants = [
            {
                "id": grant.id,
                "name": grant.name,
                "person": grant.person,
                "client": grant.client,
                "calls_itself": grant.client_name,
                "notes": names_of(grant.folders) or self._offered.notes,
                "writes": grant.writes,
                "since": grant.created,
                "used": grant.used,
                "until": grant.expires if grant.expires < FOREVER else None,
            }
            for grant in self._store.grants()
        ]
        return {"grants": grants, "has_connectors": self._offered.has_connectors, "may_write": self._offered.may_write}

    def revoke(self, id_: str) -> str | None:
        """End a grant, and return its name; None if there is none of this id. From any thread."""
        grant = next((grant for grant in self._store.grants() if grant.id == id_), None)
        if grant is not None:
            self._store.revoke(id_)
            self._tell(f"{grant.name}: it was revoked at the desk")
        return None if grant is None else grant.name

    def new_connector(self, *, writes: bool) -> str | None:
        """Return a new connector address; None if this run serves none, or none that writes. From any thread."""
        if not self._offered.has_connectors or (writes and not self._offered.may_write):
            return None
        secret = self._store.new_connector("connector", writes=writes)
        self._tell("a connector address was made at the desk")
        return f"{self._url}/c/{secret}/mcp"

    # ------------------------------------------------------------------ what programs ask

    async def _show_metadata(self, place: str, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != place:  # an issuer with a path would have them there
            await guard.answer_nothing(scope, receive, send)
        headers = [(b"access-control-allow-origin", b"*"), (b"content-type", b"application/json")]
        await send_page(scope, send, self._metadata, *headers)

    async def _show_card(self, place: str, kind: bytes, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != place:
            await guard.answer_nothing(scope, receive, send)
        tag = b'"%s"' % hashlib.sha256(self._card).hexdigest()[:32].encode()
        headers = [*_FOR_PAGES, (b"etag", tag), (b"cache-control", b"public, max-age=3600")]
        if dict(scope["headers"]).get(b"if-none-match") == tag:
            await send_whole(send, 304, headers)
        else:
            await send_page(scope, send, self._card, *headers, (b"content-type", kind))

    async def _answer_form(
        self,
        name: str,
        answer: Callable[[Mapping[bytes, bytes], bytes], Awaitable[tuple[int, dict[str, Any] | None]]],
        scope: Scope,
        receive: Receive,
        send: Send,
    ) -> None:
        """Answer a POST of a program; pages in browsers may send it, too, as it has no cookie."""
        if scope["path"] != f"/{name}":
            await guard.answer_nothing(scope, receive, send)
        if scope["method"] == "OPTIONS":
            await send_whole(send, 204, [*_FOR_PAGES])
            return
        headers = [*_FOR_PAGES, (b"content-type", b"application/json")]
        if scope["method"] != "POST":
            body = _to_json({"error": "invalid_request", "error_description": "use POST"})
            await send_whole(send, 405, [*headers, (b"allow", b"POST, OPTIONS")], body)
            return
        form = await read_body(receive)
        if form is None:
            return
        try:
            status, value = await answer(dict(scope["headers"]), form)
        except _OAuthError as error:
            status, value = error.status, {"error": error.error, "error_description": str(error)}
        await send_whole(send, status, headers, b"" if value is None else _to_json(value))

    async def _register(self, _headers: Mapping[bytes, bytes], body: bytes) -> tuple[int, dict[str, Any]]:
        try:
            client = self._clients.register(json.loads(body))
        except (ValueError, RecursionError):
            raise _OAuthError("invalid_client_metadata", "the body is not JSON") from None
        except ClientRefused as refused:
            raise _OAuthError(refused.error, str(refused)) from None
        self._tell(f"a client registered whose answers go to {host_of(client.redirect_uris[0])}")
        return 201, {
            "client_id": client.id,
            "client_id_issued_at": int(time.time()),
            "client_name": client.name,
            "redirect_uris": list(client.redirect_uris),
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": "none",
        }

    async def _token(self, headers: Mapping[bytes, bytes], body: bytes) -> tuple[int, dict[str, Any]]:
        fields, resources = _read_fields(body)
        if not self._resources.issuperset(resources):
            raise _OAuthError("invalid_target", f"tokens of this server are for {self._url}/mcp")
        client_id = _client_id(headers, fields)
        try:
            match fields.get("grant_type"):
                case "authorization_code":
                    pair = await self._pair_for_code(fields, client_id)
                case "refresh_token":
                    pair = await asyncio.to_thread(self._store.refresh, _field(fields, "refresh_token"), client_id)
                case _:
                    raise _OAuthError("unsupported_grant_type", "use authorization_code or refresh_token")
        except Replayed as replayed:
            self._tell(f"{replayed.grant.name}: a code or token was used twice, so the grant was revoked")
            pair = None
        if pair is None:
            # Clients ask the person again at this code, and at no other (RFC 6749, 5.2).
            raise _OAuthError(
                "invalid_grant", "this is over, was used, or belongs to another client; ask the person again"
            )
        self._tell(f"{pair.grant.name}: was given an access token")
        if fields["grant_type"] == "authorization_code":
            loop = asyncio.get_running_loop()
            loop.call_later(UNUSED_SECONDS, loop.run_in_executor, None, self._look_whether_used, pair.access)
        return 200, {
            "access_token": pair.access,
            "token_type": "Bearer",
            "expires_in": min(ACCESS_SECONDS, pair.grant.expires - int(time.time())),
            "refresh_token": pair.refresh,
            "scope": f"{READ} {WRITE} {OFFLINE}" if pair.grant.writes else f"{READ} {OFFLINE}",
        }

    def _look_whether_used(self, access: str) -> None:
        """Tell the log of a client that got a token and does nothing with it: some do, and say nothing."""
        owned = None if self._is_closed else self._store.owner(access, (ACCESS,))
        if owned is not None and owned[1]:
            why = 'If it shows no tools, see docs/remote.md, "When sign-in fails"'
            self._tell(f"{owned[0].name}: has not used its token for {UNUSED_SECONDS:.0f} seconds. {why}")

    async def _pair_for_code(self, fields: Mapping[str, str], client_id: str) -> Pair | None:
        code = await asyncio.to_thread(self._store.take_code, _field(fields, "code"), client_id)
        if code is None:
            return None
        verifier = _field(fields, "code_verifier")
        digest = urlsafe_b64encode(hashlib.sha256(verifier.encode("utf-8", "replace")).digest()).rstrip(b"=").decode()
        is_right = _VERIFIER.fullmatch(verifier) and hmac.compare_digest(digest, code.challenge)
        if not is_right or fields.get("redirect_uri", code.redirect_uri) != code.redirect_uri:
            return None
        return await asyncio.to_thread(self._store.new_pair, code.grant)

    async def _revoke(self, headers: Mapping[bytes, bytes], body: bytes) -> tuple[int, None]:
        fields, _ = _read_fields(body)
        client_id, token = _client_id(headers, fields), _field(fields, "token")
        grant = await asyncio.to_thread(self._store.revoke_token, token, client_id)
        if grant is not None:
            self._tell(f"{grant.name}: the client ended its grant")
        return 200, None  # also for a token that is none (RFC 7009, 2.2)

    # ------------------------------------------------------------------ what a person is asked

    async def _authorize(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != "/authorize":
            await guard.answer_nothing(scope, receive, send)
        if scope["method"] not in ("GET", "HEAD", "POST"):
            raise Refusal(405, "Method not allowed", "Use GET or POST", [(b"allow", b"GET, POST")])
        try:
            request = await self._read_request(scope["query_string"])
        except (ClientRefused, _OAuthError) as error:  # nobody knows where an answer might go
            page = message_page("This client cannot be connected", f"Reason: {error}.")
            await send_whole(send, 400, headers_of_page(), page)
            return
        try:
            asked = self._check_request(request)
            if scope["method"] == "POST":
                body = await read_body(receive)
                if body is None:
                    return
                fields, folders = _read_fields(body, "folder", _MAX_FOLDERS)
                await self._answer_person(request, asked, fields, folders, dict(scope["headers"]), send)
            else:
                await self._ask_to_sign_in(send, request, asked)
        except _OAuthError as error:
            answer = {"error": error.error, "error_description": str(error)}
            await self._send_back(send, request, answer)

    async def _read_request(self, query: bytes) -> _Request:
        """Return a request whose answer may go to its redirect URI. Raises ClientRefused and _OAuthError."""
        fields, resources = _read_fields(query)
        client = await self._clients.find(_field(fields, "client_id"))
        redirect_uri = client.redirect_uri(fields.get("redirect_uri"))
        if redirect_uri is None:
            raise ClientRefused("the redirect_uri is not one that the client registered")
        return _Request(client, redirect_uri, fields, resources, hashlib.sha256(query).digest())

    def _check_request(self, request: _Request) -> Asked:
        """Return what the person is asked. Raises _OAuthError."""
        fields = request.fields
        if fields.get("response_type") != "code":
            raise _OAuthError("unsupported_response_type", "response_type must be code")
        if fields.get("code_challenge_method") != "S256" or not _CHALLENGE.fullmatch(fields.get("code_challenge", "")):
            raise _OAuthError("invalid_request", "PKCE is needed: code_challenge, and S256 as code_challenge_method")
        if len(fields.get("state", "")) > _MAX_STATE:
            raise _OAuthError("invalid_request", f"state may have {_MAX_STATE} characters")
        if not self._resources.issuperset(request.resources):
            raise _OAuthError("invalid_target", f"this server gives tokens for {self._url}/mcp only")
        # Scopes of others, such as those of OpenID, are passed over: some clients ask for them everywhere.
        scopes = {READ, WRITE}.intersection(fields.get("scope", "").split(" "))
        return Asked(
            request.client,
            request.redirect_uri,
            self._clients.knows(request.host),
            urlsplit(self._url).netloc,
            self._offered.notes,
            self._offered.may_write and (not scopes or WRITE in scopes),
        )

    async def _answer_person(
        self,
        request: _Request,
        asked: Asked,
        fields: Mapping[str, str],
        folders: list[str],
        headers: Mapping[bytes, bytes],
        send: Send,
    ) -> None:
        match fields.get("step"):
            case "sign-in" | "passkey" as step:
                if step == "passkey":
                    person, problem, status = await self._sign_in_by_passkey(request, fields)
                else:
                    person, problem, status = await self._sign_in(fields, headers)
                if not person:
                    await self._ask_to_sign_in(send, request, asked, problem, fields.get("name", "")[:40], status)
                    return
                browser = await asyncio.to_thread(self._store.new_browser, person)
                page = consent_page(asked, person, self._new_ticket(person, request), await self._list_folders())
                head = headers_of_page(request.redirect_uri, leads_on=True)
                secure = self._url.startswith("https:")
                cookie = set_cookie(_COOKIE, browser, "/authorize", BROWSER_SECONDS, secure=secure)
                await send_whole(send, 200, [*head, cookie], page)
            case "allow":
                person = await self._take_ticket(fields.get("ticket", ""), request)
                code = await self._allow(request, asked, fields, folders, person) if person else None
                if code is None:
                    problem = "This page was open for too long, or its answer was sent before. Sign in again."
                    await self._ask_to_sign_in(send, request, asked, problem, status=403)
                    return
                await self._send_back(send, request, {"code": code})
            case _:
                self._tell(f"{request.host}: a person refused it")
                raise _OAuthError("access_denied", "the person refused")

    async def _ask_to_sign_in(
        self, send: Send, request: _Request, asked: Asked, problem: str = "", name: str = "", status: int = 200
    ) -> None:
        """Show the page of sign-in, with the button for passkeys where somebody has one."""
        options = None
        if self._passkeys is not None and await asyncio.to_thread(self._store.count_passkeys) > 0:
            options = self._passkeys.request(request.digest)
        head = headers_of_page(request.redirect_uri, has_script=options is not None)
        await send_whole(send, status, head, sign_in_page(asked, problem, name, options))

    async def _sign_in_by_passkey(self, request: _Request, fields: Mapping[str, str]) -> tuple[str, str, int]:
        """Return the same as ``_sign_in``."""
        if self._passkeys is None:
            return "", "This server has no passkeys.", 403
        try:
            return await asyncio.to_thread(self._passkeys.verify, request.digest, fields.get("answer", "")), "", 200
        except PasskeyRefused as refused:
            self._tell("a passkey that does not count was given on the sign-in page")
            return "", str(refused), 403

    async def _make_passkey(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Show the page on which a person makes a passkey, and answer its script."""
        if scope["path"] != "/passkey" or self._passkeys is None:
            await guard.answer_nothing(scope, receive, send)
        elif scope["method"] != "POST":
            await send_page(scope, send, passkey_page(), *headers_of_page(has_script=True))
        else:
            body = await read_body(receive)
            if body is None:
                return
            try:
                fields, _ = _read_fields(body)
                code, person = fields.get("code", ""), ""
                if fields.get("step") == "add":
                    person = await asyncio.to_thread(self._passkeys.add, code, fields.get("answer", ""))
                    self._tell(f"{person} has a new passkey")
                status = 200
                told = {"person": person} if person else await asyncio.to_thread(self._passkeys.creation, code)
            except PasskeyRefused as refused:
                status, told = 403, {"error": "access_denied", "error_description": str(refused)}
            except _OAuthError as error:
                status, told = error.status, {"error": error.error, "error_description": str(error)}
            await send_whole(send, status, [(b"content-type", b"application/json")], _to_json(told))

    async def _sign_in(self, fields: Mapping[str, str], headers: Mapping[bytes, bytes]) -> tuple[str, str, int]:
        """Return the name of the person, or an empty name, the problem in words and the status."""
        name, password = fields.get("name", "").strip()[:40], fields.get("password", "")
        return await self._passwords.check(name, password, cookie_in(headers, _COOKIE))

    async def _list_folders(self) -> dict[str, list[str] | None]:
        """Return the folders of each vault by its name; None for one whose index is not there yet."""
        folders: dict[str, list[str] | None] = {}
        for name, read in self._folders.items():
            try:
                folders[name] = await asyncio.wait_for(asyncio.to_thread(read), _FOLDERS_SECONDS)
            except (TimeoutError, VaultError, OSError):
                folders[name] = None
        return folders

    async def _allow(
        self, request: _Request, asked: Asked, fields: Mapping[str, str], folders: list[str], person: str
    ) -> str | None:
        """Return a code for a new grant, as the person chose; None if the person was removed meanwhile."""
        days = fields.get("days", "")
        if not (days.isascii() and days.isdecimal() and int(days) in HOLD_DAYS):
            raise _OAuthError("invalid_request", "the form names no time that it offers")
        writes = asked.may_write and fields.get("access") == "write"
        only = self._read_folders(folders)
        grant = Grant("", person, request.host, request.client.id, request.client.name, writes, 0, 0, 0, only)
        seconds = int(days) * 24 * 3600
        code = await asyncio.to_thread(
            self._store.new_code, grant, seconds, request.fields["code_challenge"], request.redirect_uri
        )
        if code is not None:
            where = f", only in {', '.join(names_of(only))}" if only else ""
            self._tell(f"{grant.name}: {person} allowed it for {HOLD_DAYS[int(days)]}{where}")
        return code

    def _read_folders(self, values: list[str]) -> Folders:
        """Return the folders that the person ticked, in one order: equal choices share an engine. Raises _OAuthError."""
        folders = set()
        for value in values:
            name, separator, path = value.partition("/")
            if not separator or not name.isdecimal() or not name.isascii() or int(name) >= len(self._folders):
                raise _OAuthError("invalid_request", "the form names a folder that it does not offer")
            try:
                folders.add(([*self._folders][int(name)], parse_path(path) if path else ""))
            except VaultError:
                raise _OAuthError("invalid_request", "the form names a folder that cannot be one") from None
        return tuple(sorted(folders))

    async def _send_back(self, send: Send, request: _Request, answer: dict[str, str]) -> None:
        """Have the browser take an answer to the client, with this issuer's name in it (RFC 9207)."""
        state = request.fields.get("state")
        answer |= {} if state is None else {"state": state}
        sign = "&" if urlsplit(request.redirect_uri).query else "?"
        location = f"{request.redirect_uri}{sign}{urlencode({**answer, 'iss': self._url})}"
        head = [*headers_of_page(request.redirect_uri), (b"location", location.encode("ascii"))]
        await send_whole(send, 303, head, message_page("Back to the client", "Your browser should open it now."))

    # ------------------------------------------------------------------ between two pages

    def _new_ticket(self, person: str, request: _Request) -> str:
        """Return what shows on the next page who signed in, for this request only. It is signed, so any server takes it."""
        facts = json.dumps([person, int(time.time() + _TICKET_SECONDS), secrets.token_hex(16)])
        return f"{urlsafe_b64encode(facts.encode()).decode()}.{self._signature(facts, request)}"

    def _signature(self, facts: str, request: _Request) -> str:
        return hmac.digest(self._ticket_key, request.digest + facts.encode(), "sha256").hex()

    async def _take_ticket(self, ticket: str, request: _Request) -> str:
        """Return who signed in, once; empty for nobody."""
        text, _, signature = ticket.partition(".")
        try:
            facts = urlsafe_b64decode(text.encode("ascii")).decode()
        except ValueError:  # UnicodeError, too
            return ""
        if not hmac.compare_digest(self._signature(facts, request).encode(), signature.encode("utf-8", "replace")):
            return ""
        person, end, _ = json.loads(facts)
        if end <= time.time() or not await asyncio.to_thread(self._store.spend, f"ticket {ticket}", _TICKET_SECONDS):
            return ""
        return str(person)


def _card_of(url: str) -> dict[str, Any]:
    """Return what everybody may know of this server: nothing of its vaults, its people or its tools."""
    host = urlsplit(url).hostname or ""
    return {
        "$schema": "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json",
        "name": f"{'.'.join(reversed(host.split('.')))}/vaultwire",
        "title": "Vaultwire",
        "description": "Notes of an Obsidian vault. A person signs in, and says what a client may do.",
        "version": __version__,
        "remotes": [{"type": "streamable-http", "url": f"{url}/mcp"}],
    }


def _read_fields(data: bytes, many: str = "resource", most: int = _MAX_FIELDS) -> tuple[dict[str, str], list[str]]:
    """Return the fields of a form or a query, and those of the name ``many``, of which there may be several.

    Raises _OAuthError.
    """
    try:
        pairs = parse_qsl(data.decode("ascii"), keep_blank_values=True, max_num_fields=most, errors="strict")
    except ValueError:  # UnicodeError, too
        raise _OAuthError("invalid_request", "this is not a form in UTF-8") from None
    fields = {name: value for name, value in pairs if name != many}
    repeated = [value for name, value in pairs if name == many]
    if len(fields) + len(repeated) != len(pairs):
        raise _OAuthError("invalid_request", "a parameter is there twice")  # another program could read the other one
    return fields, repeated


def _field(fields: Mapping[str, str], name: str) -> str:
    value = fields.get(name)
    if not value:
        raise _OAuthError("invalid_request", f"{name} is missing")
    return value


def _client_id(headers: Mapping[bytes, bytes], fields: Mapping[str, str]) -> str:
    """Return the id that a client names, in the form or, as some do without a secret, in a header."""
    scheme, _, credentials = headers.get(b"authorization", b"").partition(b" ")
    if "client_id" not in fields and scheme.lower() == b"basic":
        try:
            return unquote(b64decode(credentials, validate=True).decode().partition(":")[0])
        except ValueError:
            raise _OAuthError("invalid_client", "the Authorization header cannot be read", 401) from None
    return _field(fields, "client_id")


def _to_json(value: Any) -> bytes:
    return json.dumps(value).encode()
