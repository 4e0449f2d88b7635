"""The desk over HTTP: an ASGI app for ``/desk`` and all paths below it. It checks who asks; ``api`` knows what is asked.

Before it, the guard has checked the name that the server was called by. The desk also checks that the request comes from its
own page, because pages of other servers on this computer are of the same site: a browser sends them our cookie.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import html
import json
import os
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, NamedTuple, TypeVar
from urllib.parse import parse_qs

from vaultwire.desk.access import COOKIE, COOKIE_SECONDS, Access
from vaultwire.desk.api import Call, DeskApi, DeskRefusal, DeskVaults, Picture, parse_object, refusal_of
from vaultwire.desk.running import CODE_HEADER
from vaultwire.transports import await_leaving, read_body, send_whole, set_cookie
from vaultwire.vault.changes.record_store import RecordsAwayError, busy
from vaultwire.vault.errors import VaultError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from vaultwire.desk.api import Grants
    from vaultwire.transports import Receive, Scope, Send


# ---------------------------------------------------------------------- answers
#
# The answers of the desk: the headers that each of them has, JSON, plain pages, and refusals. It knows no route.

# Scripts and styles only from this server, no inline code, nothing from another address, no frame around the page.
PAGE_POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    b"form-action 'self'; frame-ancestors 'none'"
)
# A picture can be opened in a tab of its own. There an SVG would be a document that may run scripts.
PICTURE_POLICY = b"sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_SECURITY = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
    (b"permissions-policy", b"camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()"),
)
NO_STORE = (b"cache-control", b"no-store")
# A browser asks each time whether it still has the latest; the answer is 304 if it has.
REVALIDATE = (b"cache-control", b"no-cache")
_BARE_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


def headers_for(
    kind: bytes, *headers: tuple[bytes, bytes], policy: bytes = PAGE_POLICY, referrer: bytes = b"no-referrer"
) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer of this media type."""
    own = ((b"content-type", kind), (b"content-security-policy", policy), (b"referrer-policy", referrer))
    return [*own, *_SECURITY, *headers]


async def send_json(send: Send, status: int, value: Any, *headers: tuple[bytes, bytes]) -> None:
    """Send JSON. Nobody may store it."""
    try:
        body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:  # a lone surrogate, which only an escape can spell
        body = json.dumps(value).encode("ascii")
    await send_whole(send, status, headers_for(b"application/json", NO_STORE, *headers), body)


async def send_refusal(send: Send, refusal: DeskRefusal) -> None:
    """Send a refusal to a script of the page."""
    error = {"code": refusal.code, "message": refusal.message, "details": refusal.details}
    retry = [(b"retry-after", b"%d" % refusal.details["retryAfter"])] if "retryAfter" in refusal.details else []
    await send_json(send, refusal.status, {"error": error}, *retry)


async def send_text_page(send: Send, status: int, title: str, *paragraphs: str, form: str = "") -> None:
    """Send a page for a person, with these texts; ``form`` is markup of ours."""
    body = "\n".join(f"<p>{html.escape(text)}</p>" for text in paragraphs)
    page = _BARE_PAGE.format(title=html.escape(title), body=f"{body}\n{form}")
    # With "no-referrer" browsers send a form with "Origin: null" (Fetch, "Append a request Origin header"), and it is refused.
    referrer = b"same-origin" if form else b"no-referrer"
    head = headers_for(b"text/html; charset=utf-8", NO_STORE, referrer=referrer)
    await send_whole(send, status, head, page.encode())


async def send_redirect(send: Send, to: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Have the browser open another address with GET."""
    await send_whole(send, 303, headers_for(b"text/plain", NO_STORE, (b"location", to), *headers))


# ---------------------------------------------------------------------- files
#
# The files of the page. They are read once and listed by their paths, so no path of a request is ever opened.

_FOLDER = os.path.join(os.path.dirname(__file__), "page")
_INDEX = "index.html"
# The types of the page's files; any other file of the folder, such as a licence, is not served.
_TYPES = {
    ".css": b"text/css; charset=utf-8",
    ".html": b"text/html; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".json": b"application/json",
    ".png": b"image/png",
    ".svg": b"image/svg+xml",
    ".woff2": b"font/woff2",
}


class Asset(NamedTuple):
    """One file: its bytes, its media type, and a tag that differs for other bytes."""

    body: bytes
    kind: bytes
    etag: bytes


def load_assets(folder: str = _FOLDER) -> tuple[Asset, dict[str, Asset]]:
    """Return the page itself, and its other files by their paths, with ``/`` between the parts. Raises OSError."""
    files: dict[str, Asset] = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            kind = _TYPES.get(os.path.splitext(name)[1])
            if kind is not None:
                with open(path, "rb") as file:
                    body = file.read()
                tag = b'"%s"' % hashlib.sha256(body).hexdigest()[:32].encode()
                files[os.path.relpath(path, folder).replace(os.sep, "/")] = Asset(body, kind, tag)
    return files.pop(_INDEX), files


# Which bytes are a picture that a browser may show, by the bytes themselves. Not what a picture shows.

_HEADS = (
    (b"\x89PNG\r\n\x1a\n", b"image/png"),
    (b"\xff\xd8\xff", b"image/jpeg"),
    (b"GIF87a", b"image/gif"),
    (b"GIF89a", b"image/gif"),
    (b"BM", b"image/bmp"),
)
_AVIF = (b"avif", b"avis")
# Of an SVG before its first element: a declaration, comments, a document type.
_SVG_HEAD_BYTES = 4096


def picture_type(data: bytes, path: str) -> bytes | None:
    """Return the media type of a picture, None for anything else. An SVG also needs its name to say so: it is text."""
    for head, kind in _HEADS:
        if data.startswith(head):
            return kind
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return b"image/webp"
    if data[4:8] == b"ftyp" and data[8:12] in _AVIF:
        return b"image/avif"
    if path.lower().endswith(".svg") and b"<svg" in data[:_SVG_HEAD_BYTES]:
        return b"image/svg+xml"
    return None


# ---------------------------------------------------------------------- news
#
# News for open pages: looks, while a page is open, whether any process has changed what the desk shows.
#
# A page is told that something changed and how much waits, never what: it asks. So nothing is stored for a page that reads
# slowly but the names of the vaults that it has not been told of.

# A person would notice a second. A look is a few questions to the disk for each vault.
_LOOK_SECONDS = 0.5
# Proxies and browsers close a connection that is silent for a minute.
_COMMENT_SECONDS = 15.0
# Open pages: tabs of one person.
_MAX_PAGES = 30
# A page that takes nothing for so long is closed; it connects again.
_SLOW_SECONDS = 20.0


class TooManyPages(Exception):  # noqa: N818 - an answer, not a failure
    """There are as many open pages as there may be."""


class Events:
    """The open pages of one desk, and the task that looks for news for them. On the event loop."""

    def __init__(
        self, look: Callable[[], Awaitable[dict[str, Hashable]]], counts: Callable[[str], Awaitable[dict[str, Any]]]
    ) -> None:
        """``look`` returns a value for each vault that differs once something changed; ``counts`` what waits in a vault."""
        self._look = look
        self._counts = counts
        self._pages: set[_Page] = set()
        self._watch: asyncio.Task[None] | None = None
        self._has_looked = asyncio.Event()
        self._is_closed = False

    @property
    def pages(self) -> int:
        """The number of open pages."""
        return len(self._pages)

    async def serve(self, send: Callable[[bytes], Awaitable[None]]) -> None:
        """Send news to one page until it is cancelled, the page reads too slowly, or the server ends.

        Raises TooManyPages.
        """
        if len(self._pages) >= _MAX_PAGES:
            raise TooManyPages
        page = _Page()
        self._pages.add(page)
        if self._watch is None or self._watch.done():
            self._has_looked.clear()
            self._watch = asyncio.get_running_loop().create_task(self._run())
        try:
            await self._has_looked.wait()  # from here on every change is told: the page asks once it is open
            await _send(send, b": open\n\n")
            while not self._is_closed:
                await _send(send, await self._next(page))
        except TimeoutError:
            return
        finally:
            self._pages.discard(page)

    def close(self) -> None:
        """End all streams."""
        self._is_closed = True
        if self._watch is not None:
            self._watch.cancel()
        self._has_looked.set()
        for page in self._pages:
            page.wake.set()

    async def _next(self, page: _Page) -> bytes:
        """Return what a page is told next: what changed, or a comment if nothing has for some time."""
        try:
            async with asyncio.timeout(_COMMENT_SECONDS):
                await page.wake.wait()
        except TimeoutError:
            return b": nothing new\n\n"
        page.wake.clear()
        changed, page.changed = page.changed, {}
        return b"".join(_event(name, counts) for name, counts in changed.items())

    async def _run(self) -> None:
        """Look for changes as long as a page is open."""
        seen: dict[str, Hashable] = {}
        with contextlib.suppress(OSError, VaultError):
            seen = await self._look()
        self._has_looked.set()
        while self._pages:
            await asyncio.sleep(_LOOK_SECONDS)
            with contextlib.suppress(OSError, VaultError):  # such as a disk that is away: the next look tries again
                await self._tell(seen, await self._look())

    async def _tell(self, seen: dict[str, Hashable], now: dict[str, Hashable]) -> None:
        """Note for each page which vaults have changed, and in ``seen`` what the pages know."""
        for name, stamp in now.items():
            if name not in seen or seen[name] != stamp:
                counts = await self._counts(name)
                for page in self._pages:
                    page.changed[name] = counts
                    page.wake.set()
                seen[name] = stamp


class _Page:
    """One open page: what it is to be told."""

    def __init__(self) -> None:
        self.changed: dict[str, dict[str, Any]] = {}
        self.wake = asyncio.Event()


async def _send(send: Callable[[bytes], Awaitable[None]], data: bytes) -> None:
    """Send to a page. Raises TimeoutError if it does not read."""
    if data:
        async with asyncio.timeout(_SLOW_SECONDS):
            await send(data)


def _event(name: str, counts: dict[str, Any]) -> bytes:
    data = json.dumps({"vault": name, "waiting": counts["waiting"], "unreviewed": counts["unreviewed"]})
    return f"event: changed\ndata: {data}\n\n".encode()


PATH, COMMAND = "/desk", "/command"
# A form with a key; a note with its JSON escapes is larger, and has the limit of the guard.
_MAX_FORM_BYTES = 4096
_API, _ASSETS = "/api/", "/assets/"
_CSRF = b"x-vaultwire-desk"
# Requests that are worked on at once. The worker threads belong to the event loop; other doors have their own.
_MAX_CALLS = 8
_OWN = (b"same-origin", b"none")
_KEY_FORM = (
    '<form method="post" action="enter"><p><label>Key of the desk: <input name="key" type="password" required '
    'autocomplete="current-password"></label> <button>Open the desk</button></p></form>'
)
_HOW = (
    "This page shows what assistants changed in your notes. It opens only for you.",
    "On this computer, run: vaultwire desk",
    "From another computer, give a key that was made for the desk: vaultwire keys issue NAME --desk",
)

_T = TypeVar("_T")


class DeskEndpoint:
    """The desk of one server."""

    def __init__(self, vaults: DeskVaults, access: Access) -> None:
        self.access = access
        self._vaults = vaults
        self._api = DeskApi(vaults)
        self.answer_command: Callable[[bytes], object] | None = None
        """Answers a command of this computer's command line, None if it is not for this server; None: there are none."""
        self._assets: tuple[Asset, dict[str, Asset]] | None = None
        self._slots = asyncio.Semaphore(_MAX_CALLS)
        self._deciding = {name: asyncio.Lock() for name in vaults.all_names}
        self._events = Events(self._look, self._counts)

    def show_grants(self, grants: Grants) -> None:
        """Let the person see and end what people allowed to clients from elsewhere."""
        self._api.grants = grants

    @property
    def is_open(self) -> bool:
        """Whether a page is open somewhere. From any thread."""
        return self._events.pages > 0

    def close(self) -> None:
        """End what would never end by itself: the news of open pages. On the event loop."""
        self._events.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        path = scope["path"][len(PATH) :]
        headers = dict(scope["headers"])
        is_for_script = path.startswith(_API)
        try:
            _check_page(scope, headers)
            await self._answer(path, scope, headers, receive, send)
        except VaultError as error:
            await send_refusal(send, refusal_of(error))
        except RecordsAwayError as error:  # the database of several servers, in whatever was asked for
            await send_refusal(send, refusal_of(busy(error)))
        except DeskRefusal as refusal:
            if is_for_script:
                await send_refusal(send, refusal)
            else:
                await send_text_page(send, refusal.status, "The desk", refusal.message)

    async def _answer(self, path: str, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        if path == "":
            await send_redirect(send, b"desk/")
        elif path == "/enter" and scope["method"] == "POST":
            await self._enter_by_key(scope, headers, receive, send)
        elif path == "/enter":
            await self._enter_by_code(scope, headers, send)
        elif path == COMMAND and scope["method"] == "POST":
            await self._run_command(headers, receive, send)
        elif path.startswith(_API):
            await self._answer_script(path.removeprefix(_API), scope, headers, receive, send)
        elif scope["method"] not in ("GET", "HEAD"):
            raise DeskRefusal(405, "METHOD_NOT_ALLOWED", "Use GET here")
        elif path == "/":
            await self._show_page(headers, send)
        else:
            await self._show_asset(path, headers, send)

    # ------------------------------------------------------------------ the page

    async def _show_page(self, headers: dict[bytes, bytes], send: Send) -> None:
        if await self._cookie(headers) is None:
            await send_text_page(send, 401, "The desk is closed", *_HOW, form=_KEY_FORM)
        else:
            await _send_asset(send, headers, (await self._load_assets())[0])

    async def _show_asset(self, path: str, headers: dict[bytes, bytes], send: Send) -> None:
        """Send a file of the page. It is part of the program, so it needs no cookie."""
        _, files = await self._load_assets()
        asset = files.get(path.removeprefix(_ASSETS)) if path.startswith(_ASSETS) else None
        if asset is None:
            raise DeskRefusal(404, "NOT_FOUND", "There is nothing at this address")
        await _send_asset(send, headers, asset)

    async def _load_assets(self) -> tuple[Asset, dict[str, Asset]]:
        if self._assets is None:
            self._assets = await asyncio.to_thread(load_assets)
        return self._assets

    # ------------------------------------------------------------------ access

    async def _cookie(self, headers: dict[bytes, bytes]) -> str | None:
        given = headers.get(b"cookie")
        return None if given is None else await asyncio.to_thread(self.access.cookie_in, given)

    async def _enter_by_code(self, scope: Scope, headers: dict[bytes, bytes], send: Send) -> None:
        if scope["method"] != "GET":
            raise DeskRefusal(405, "METHOD_NOT_ALLOWED", "Use GET or POST here")
        code = parse_qs(scope["query_string"].decode("latin-1")).get("code", [""])[0]
        cookie = await asyncio.to_thread(self.access.enter_by_code, code)
        if cookie is not None:
            await send_redirect(send, b"./", _set_cookie(scope, headers, cookie))
        elif await self._cookie(headers) is not None:  # a link that is opened a second time, in the same browser
            await send_redirect(send, b"./")
        else:
            message = "This link was used already, or is older than ten minutes. For a new one, run: vaultwire desk"
            raise DeskRefusal(403, "WRONG_CODE", message)

    async def _enter_by_key(self, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        body = await _read_up_to(receive, _MAX_FORM_BYTES)
        if body is None:
            return
        key = parse_qs(body.decode("latin-1")).get("key", [""])[0].strip()
        cookie = await asyncio.to_thread(self.access.enter_by_key, key)
        if cookie is None:
            raise DeskRefusal(
                403, "WRONG_KEY", "This is no key of the desk. Make one with: vaultwire keys issue NAME --desk"
            )
        await send_redirect(send, b"./", _set_cookie(scope, headers, cookie))

    async def _run_command(self, headers: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        """Run a command for a program of this person, which shows so by a code: it could as well run it by itself."""
        code = headers.get(CODE_HEADER.encode(), b"").decode("latin-1")
        if self.answer_command is None or not await asyncio.to_thread(self.access.use_code, code):
            raise DeskRefusal(403, "WRONG_CODE", "This is no code of this server")
        body = await read_body(receive)
        answer = self.answer_command
        result = None if body is None else await self._run(lambda: answer(body))
        if result is None:
            raise DeskRefusal(
                409, "OTHER_SETTINGS", "The command must run by itself: its settings are not this server's"
            )
        await send_json(send, 200, result)

    # ------------------------------------------------------------------ the page's scripts

    async def _answer_script(
        self, route: str, scope: Scope, headers: dict[bytes, bytes], receive: Receive, send: Send
    ) -> None:
        cookie = await self._cookie(headers)
        if cookie is None:
            raise _no_cookie()
        method = "GET" if route == "events" else self._api.method_of(route)
        if method is None:
            raise DeskRefusal(404, "NOT_FOUND", "There is nothing at this address")
        if scope["method"] != method:
            raise DeskRefusal(405, "METHOD_NOT_ALLOWED", f"Use {method} here")
        if method == "POST" and not self.access.is_csrf(cookie, headers.get(_CSRF, b"")):
            raise DeskRefusal(403, "WRONG_TOKEN", "The header X-Vaultwire-Desk must have the token of this page")
        if route == "events":
            await self._send_events(cookie, receive, send)
            return
        body = await read_body(receive)
        if body is None:
            return  # the page is gone
        result = await self._run_call(route, scope["query_string"], body)
        if route == "start":
            result = {"csrf": self.access.csrf(cookie), **result}
        if isinstance(result, Picture):
            await _send_picture(send, result)
        else:
            await send_json(send, 200, result)

    async def _run_call(self, route: str, query: bytes, body: bytes) -> Any:
        def begin() -> Call:
            if self._api.method_of(route) == "POST":
                return self._api.call(route, parse_object(body))
            given = parse_qs(query.decode("latin-1"), keep_blank_values=True)
            return self._api.call(route, {name: values[0] for name, values in given.items()})

        call = await self._run(begin)
        if call.decides_in is None:
            return await self._run(call.run)
        async with self._deciding[call.decides_in]:
            return await self._run(call.run)

    async def _run(self, function: Callable[[], _T]) -> _T:
        """Run a function that may wait on a worker thread."""
        async with self._slots:
            return await asyncio.to_thread(function)

    # ------------------------------------------------------------------ news

    async def _send_events(self, cookie: str, receive: Receive, send: Send) -> None:
        started = False

        async def pass_on(data: bytes) -> None:
            nonlocal started
            if not await asyncio.to_thread(self.access.is_cookie, cookie):
                raise TimeoutError  # it was signed out, or its time is over: the stream ends
            if not started:
                started = True
                head = headers_for(b"text/event-stream", NO_STORE)
                await send({"type": "http.response.start", "status": 200, "headers": head})
            await send({"type": "http.response.body", "body": data, "more_body": True})

        leaving = asyncio.ensure_future(await_leaving(receive))
        telling = asyncio.ensure_future(self._events.serve(pass_on))
        try:
            await asyncio.wait((leaving, telling), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (leaving, telling):
                task.cancel()
            await asyncio.gather(leaving, telling, return_exceptions=True)
        if telling.cancelled():
            return
        if isinstance(telling.exception(), TooManyPages):
            raise DeskRefusal(503, "TOO_MANY_PAGES", "Too many pages of the desk are open; close some")
        if not started:
            raise _no_cookie()
        await send({"type": "http.response.body", "body": b""})

    async def _look(self) -> dict[str, Hashable]:
        return await self._run(lambda: {name: self._vaults.reviewer(name).stamp() for name in self._vaults.names})

    async def _counts(self, name: str) -> dict[str, int]:
        return await self._run(lambda: self._vaults.reviewer(name).counts())


def _no_cookie() -> DeskRefusal:
    message = "This page may not read the vault any more. To open it again, run: vaultwire desk"
    return DeskRefusal(401, "NO_COOKIE", message)


def _check_page(scope: Scope, headers: dict[bytes, bytes]) -> None:
    """Check that a request comes from our page, or from the person's address bar. Raises DeskRefusal."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    is_own = origin is None or _is_own(origin, headers.get(b"host", b""))
    if (site is not None and site not in _OWN) or not is_own or (origin is None and scope["method"] == "POST"):
        message = "This was opened from another page. Type the address of the desk yourself, or run: vaultwire desk"
        raise DeskRefusal(403, "OTHER_PAGE", message)


def _is_own(origin: bytes, host: bytes) -> bool:
    """Tell whether an origin is the page's own. Behind a proxy that does TLS, the page has https where we have http."""
    return origin.lower() in (b"http://" + host.lower(), b"https://" + host.lower())


def _set_cookie(scope: Scope, headers: dict[bytes, bytes], cookie: str) -> tuple[bytes, bytes]:
    path = scope.get("root_path", "") + PATH
    is_safe = scope["scheme"] == "https" or headers.get(b"origin", b"").startswith(b"https:")
    return set_cookie(COOKIE, cookie, path, COOKIE_SECONDS, secure=is_safe, same_site="Strict")


async def _send_asset(send: Send, headers: dict[bytes, bytes], asset: Asset) -> None:
    head = headers_for(asset.kind, REVALIDATE, (b"etag", asset.etag), policy=PAGE_POLICY)
    if headers.get(b"if-none-match") == asset.etag:
        await send({"type": "http.response.start", "status": 304, "headers": head})
        await send({"type": "http.response.body", "body": b""})
    else:
        await send_whole(send, 200, head, asset.body)


async def _send_picture(send: Send, picture: Picture) -> None:
    kind = picture_type(picture.data, picture.path)
    if kind is None:
        raise DeskRefusal(404, "NO_PICTURE", "This file is no picture that a browser shows")
    await send_whole(send, 200, headers_for(kind, NO_STORE, policy=PICTURE_POLICY), picture.data)


async def _read_up_to(receive: Receive, limit: int) -> bytes | None:
    """Return a body of at most so many bytes, None if the client left. Raises DeskRefusal."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        piece: bytes = message.get("body", b"")
        body += piece
        if len(body) > limit:
            raise DeskRefusal(413, "TOO_LARGE", "A key is shorter than this")
        if not message.get("more_body"):
            return body
