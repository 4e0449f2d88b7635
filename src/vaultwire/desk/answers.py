"""The answers of the desk: the headers that each of them has, JSON, plain pages, and refusals. It knows no route."""

from __future__ import annotations

import html
import json

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
    (b"referrer-policy", b"no-referrer"),
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


def headers_for(kind: bytes, *headers: tuple[bytes, bytes], policy: bytes = PAGE_POLICY) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer of this media type."""
    return [(b"content-type", kind), (b"content-security-policy", policy), *_SECURITY, *headers]


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
    await send_whole(send, status, headers_for(b"text/html; charset=utf-8", NO_STORE), page.encode())


async def send_redirect(send: Send, to: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Have the browser open another address with GET."""
    await send_whole(send, 303, headers_for(b"text/plain", NO_STORE, (b"location", to), *headers))
