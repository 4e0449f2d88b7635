"""One event stream to a client, made of the streams of several servers: each tells of its own vaults.

Events have no ids here: a client could not say with one id where it is in each of the streams. What a server has not sent yet
it sends when the client comes back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from vaultwire.transports import Message, Send

    Part: TypeAlias = Callable[[Send], Awaitable[None]]

_OK = 200
# How often to look whether the parts are still the right ones, in seconds.
_LOOK_SECONDS = 1.0
# Each server acknowledges what is listened for (2026-07-28); the client is told once.
_ACKNOWLEDGED = b'"notifications/subscriptions/acknowledged"'


async def send_joined(parts: Sequence[Part], send: Send, is_current: Callable[[], bool]) -> None:
    """Send the streams that the parts answer with, as one. It ends with the first that ends, or when ``is_current`` is false.

    The first part is this server's own: if no part answers with a stream, its answer is sent. The client comes back.
    """
    joined = _Joined(send)
    own, *others = tasks = [
        asyncio.ensure_future(joined.add(part, is_own=not number)) for number, part in enumerate(parts)
    ]
    try:
        while not joined.is_over and is_current() and (joined.has_begun or not own.done()):
            running = [task for task in tasks if not task.done()]
            await asyncio.wait(running, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(
            *others, return_exceptions=True
        )  # one whose server fails ends the stream, and is no error here
    with suppress(asyncio.CancelledError):
        await own
    await joined.end()


async def send_first(parts: Sequence[Part], send: Send) -> None:
    """Send the answer of the first part that answers with a stream; if none does, that of the last."""
    for number, part in enumerate(parts):
        is_last = number + 1 == len(parts)
        has_answer = False

        async def pass_answer(message: Message, *, is_last: bool = is_last) -> None:
            nonlocal has_answer
            has_answer = has_answer or is_last or message.get("status") == _OK
            if has_answer:
                await send(message)

        await part(pass_answer)
        if has_answer:
            return


class _Joined:
    """The stream to the client."""

    def __init__(self, send: Send) -> None:
        self.has_begun = False
        self.is_over = False
        self._send = send
        self._lock = asyncio.Lock()
        self._refusal: list[Message] = []  # this server's own
        self._is_acknowledged = False

    async def add(self, part: Part, *, is_own: bool) -> None:
        """Take the answer of a part. All ends with a part that is a stream."""
        is_stream = False
        rest = b""

        async def take(message: Message) -> None:
            nonlocal is_stream, rest
            if message["type"] == "http.response.start":
                is_stream = message["status"] == _OK
                await self._begin(message, is_stream=is_stream)
            if not is_stream:
                self._refusal += [message] if is_own else []
            elif message["type"] == "http.response.body":
                *events, rest = (rest + message.get("body", b"")).split(b"\n\n")
                for event in events:
                    await self._pass(event)

        try:
            await part(take)
        finally:
            self.is_over = self.is_over or is_stream

    async def _begin(self, message: Message, *, is_stream: bool) -> None:
        async with self._lock:
            if is_stream and not self.has_begun:
                self.has_begun = True
                await self._send(message)

    async def _pass(self, event: bytes) -> None:
        lines = [line for line in event.split(b"\n") if not line.startswith(b"id:")]
        async with self._lock:
            is_again = _ACKNOWLEDGED in event and self._is_acknowledged
            self._is_acknowledged = self._is_acknowledged or _ACKNOWLEDGED in event
            if any(lines) and not is_again:
                await self._send({"type": "http.response.body", "body": b"\n".join(lines) + b"\n\n", "more_body": True})

    async def end(self) -> None:
        """End the answer: the stream, or the refusal."""
        if self.has_begun:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        for message in () if self.has_begun else self._refusal:
            await self._send(message)
