"""The answers of the desk: the headers that each of them has, JSON, plain pages, and refusals. It knows no route."""

from __future__ import annotations

import hashlib
import html
import json
import os
from typing import NamedTuple

from vaultwire.transports import send_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from vaultwire.transports import Send


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
_PAGE = """<!DOCTYPE html>
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


class DeskRefusal(Exception):  # noqa: N818 - an answer, not a failure of ours
    """The request is refused; ``code`` is for programs, the message for a person."""

    def __init__(self, status: int, code: str, message: str, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details


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
    await send_json(send, refusal.status, {"error": error})


async def send_text_page(send: Send, status: int, title: str, *paragraphs: str, form: str = "") -> None:
    """Send a page for a person, with these texts; ``form`` is markup of ours."""
    body = "\n".join(f"<p>{html.escape(text)}</p>" for text in paragraphs)
    page = _PAGE.format(title=html.escape(title), body=f"{body}\n{form}")
    # With "no-referrer" browsers send a form with "Origin: null" (Fetch, "Append a request Origin header"), and it is refused.
    referrer = b"same-origin" if form else b"no-referrer"
    head = headers_for(b"text/html; charset=utf-8", NO_STORE, referrer=referrer)
    await send_whole(send, status, head, page.encode())


async def send_redirect(send: Send, to: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Have the browser open another address with GET."""
    await send_whole(send, 303, headers_for(b"text/plain", NO_STORE, (b"location", to), *headers))


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


class Assets:
    """The files of the page by their paths, with ``/`` between the parts."""

    def __init__(self, folder: str = _FOLDER) -> None:
        """Read the files. Raises OSError."""
        self._files: dict[str, Asset] = {}
        for where, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(where, name)
                kind = _TYPES.get(os.path.splitext(name)[1])
                if kind is not None:
                    self._files[os.path.relpath(path, folder).replace(os.sep, "/")] = _read(path, kind)

    @property
    def index(self) -> Asset:
        """The page itself."""
        return self._files[_INDEX]

    def get(self, path: str) -> Asset | None:
        """Return a file of the page, None for what is not there. The page itself is not one of its files."""
        return None if path == _INDEX else self._files.get(path)


def _read(path: str, kind: bytes) -> Asset:
    with open(path, "rb") as file:
        body = file.read()
    return Asset(body, kind, b'"%s"' % hashlib.sha256(body).hexdigest()[:32].encode())


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
