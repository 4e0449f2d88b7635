"""Bytes on wires, one module a wire. Network doors are plain ASGI 3 callables: here are the types, and what several do."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Callable
    from typing import Any, TypeAlias

    Scope: TypeAlias = dict[str, Any]
    Message: TypeAlias = dict[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


async def read_body(receive: Receive) -> bytes | None:
    """Return the whole body of a request, None if the client left before its end."""
    pieces: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body: bytes = message.get("body", b"")
        if not message.get("more_body"):
            return b"".join((*pieces, body)) if pieces else body
        pieces.append(body)


async def await_leaving(receive: Receive) -> None:
    """Wait until the client leaves."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def send_whole(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b"") -> None:
    """Send a response that is one piece, with its length."""
    if status != 204:  # noqa: PLR2004 - it has no length (RFC 9110, 8.6)
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def send_page(scope: Scope, send: Send, body: bytes, *headers: tuple[bytes, bytes]) -> None:
    """Send a page that can only be read. ``headers`` have its content type."""
    if scope["method"] in ("GET", "HEAD"):
        await send_whole(send, 200, [*headers], body)
    else:
        own = [(b"content-type", b"application/json"), (b"allow", b"GET, HEAD")]
        await send_whole(send, 405, own, b'{"error":"Method not allowed","message":"Use GET"}')


def call_on_loop(loop: AbstractEventLoop, function: Callable[..., object], *arguments: object) -> None:
    """Have an event loop call a function. From any thread; nothing happens if the server, and with it the loop, has ended."""
    try:
        loop.call_soon_threadsafe(function, *arguments)
    except RuntimeError:
        pass
