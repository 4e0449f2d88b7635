"""Bytes on wires, one module a wire. Network doors are plain ASGI 3 callables: here are the types, and what several do."""

from __future__ import annotations

from collections import deque
from functools import partial
from weakref import WeakKeyDictionary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from asyncio import AbstractEventLoop
    from collections.abc import Awaitable, Callable, Mapping
    from typing import Any, TypeAlias

    Scope: TypeAlias = dict[str, Any]
    Message: TypeAlias = dict[str, Any]
    Receive: TypeAlias = Callable[[], Awaitable[Message]]
    Send: TypeAlias = Callable[[Message], Awaitable[None]]
    App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]


PASSED_ON = b"vaultwire-passed-on"
"""A header of a request that another server has passed on: it is not passed on again."""


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


def cookie_in(headers: Mapping[bytes, bytes], name: str) -> str:
    """Return the first cookie of a name that a request brings, empty for none."""
    pairs = (pair.strip().partition("=") for pair in headers.get(b"cookie", b"").decode("latin-1").split(";"))
    return next((value for key, _, value in pairs if key == name), "")


def set_cookie(
    name: str, value: str, path: str, seconds: int, *, secure: bool, same_site: str = "Lax"
) -> tuple[bytes, bytes]:
    """Return the header that sets a cookie, which no script can read."""
    parts = [f"{name}={value}", f"Path={path}", f"Max-Age={seconds}", "HttpOnly", f"SameSite={same_site}"]
    return b"set-cookie", "; ".join([*parts, "Secure"] if secure else parts).encode("latin-1")


class _Calls:
    """The calls that other threads want an event loop to make."""

    def __init__(self) -> None:
        self.waiting: deque[Callable[[], object]] = deque()
        self.is_loop_told = False

    def make(self, loop: AbstractEventLoop) -> None:
        """Make those that wait now."""
        self.is_loop_told = False  # before looking: what comes later tells the loop again
        try:
            for _ in range(len(self.waiting)):
                self.waiting.popleft()()
        finally:
            if self.waiting:  # others came meanwhile, or one of them failed
                self.is_loop_told = True
                loop.call_soon(self.make, loop)


_calls: WeakKeyDictionary[AbstractEventLoop, _Calls] = WeakKeyDictionary()


def call_on_loop(loop: AbstractEventLoop, function: Callable[..., object], *arguments: object) -> None:
    """Have an event loop call a function. From any thread; nothing happens if the server, and with it the loop, has ended.

    The loop is told once for all calls that come before it looks: to wake it is a call of the system, in which a thread gives
    the interpreter to another, perhaps with a lock that the loop needs next.
    """
    calls = _calls.get(loop) or _calls.setdefault(loop, _Calls())
    calls.waiting.append(partial(function, *arguments))
    if calls.is_loop_told:
        return
    calls.is_loop_told = True
    try:
        loop.call_soon_threadsafe(calls.make, loop)
    except RuntimeError:
        calls.waiting.clear()
        calls.is_loop_told = False
