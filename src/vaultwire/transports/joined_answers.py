"""One answer to a client, made of the answers of several servers, as to a batch or to a list of what all vaults have.

What else comes in the streams of the parts, such as a question to the client or how far a call is, goes to the client as it
comes. Such events have no ids, as in ``joined_streams``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from vaultwire.protocol.http import JSON_TYPE, STREAM_HEADERS, STREAM_TYPE, to_event
from vaultwire.transports import await_leaving, send_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    from vaultwire.transports import Message, Receive, Send

    Part: TypeAlias = Callable[[Send], Awaitable[None]]

_OK = 200


class PartAnswer(NamedTuple):
    """What one part has answered. ``status`` is 0 if its answer broke off; ``content`` is its JSON, None if there is none."""

    status: int
    content: Any
    messages: Sequence[Message]


async def send_as_one(
    parts: Sequence[Part], join: Callable[[Sequence[PartAnswer]], Any], receive: Receive, send: Send
) -> None:
    """Send one answer, made by ``join`` of those of all parts. All parts end if the client leaves.

    ``join`` returns the JSON of the answer, or one of the answers, which is then sent as it is.
    """
    answer = _JoinedAnswer(send)
    leaving = asyncio.ensure_future(await_leaving(receive))
    taking = asyncio.gather(*map(answer.take, parts))
    try:
        await asyncio.wait((leaving, taking), return_when=asyncio.FIRST_COMPLETED)
        if taking.done():
            await answer.end(join(taking.result()))
    finally:
        leaving.cancel()
        taking.cancel()
        with suppress(asyncio.CancelledError):
            await taking


class _JoinedAnswer:
    """The answer on its way to the client. It becomes a stream if that of a part is one."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = asyncio.Lock()
        self._is_stream = False
        self._has_begun = False

    async def take(self, part: Part) -> PartAnswer:
        """Return what a part answers, and pass on the other events of its stream."""
        messages: list[Message] = []
        is_stream, rest, content = False, b"", None

        async def take_message(message: Message) -> None:
            nonlocal is_stream, rest, content
            messages.append(message)
            if message["type"] == "http.response.start":
                is_stream = (b"content-type", STREAM_TYPE) in message["headers"]
                self._is_stream = self._is_stream or is_stream
            elif is_stream:
                *events, rest = (rest + message.get("body", b"")).split(b"\n\n")
                messages.pop()
                for event in events:
                    data = _data_of(event)
                    is_answer = data is not None and not (isinstance(data, dict) and "method" in data)
                    content = data if is_answer else content
                    if not is_answer:
                        await self._pass(event)

        try:
            await part(take_message)
        except OSError:  # in the middle of a stream
            return PartAnswer(0, None, ())
        status = messages[0]["status"] if messages else 0
        body = b"".join(message.get("body", b"") for message in messages[1:])
        if body:
            with suppress(ValueError):
                content = json.loads(body)
        return PartAnswer(status, content, () if is_stream else messages)

    async def _pass(self, event: bytes) -> None:
        """Send an event that is no answer. One without data and comment only gives an id."""
        lines = [line for line in event.split(b"\n") if not line.startswith((b"id:", b"retry:")) and line != b"data:"]
        if lines:
            await self._send_event(b"\n".join(lines) + b"\n\n")

    async def _send_event(self, event: bytes) -> None:
        async with self._lock:
            if not self._has_begun:
                self._has_begun = True
                await self._send({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS]})
            await self._send({"type": "http.response.body", "body": event, "more_body": True})

    async def end(self, answer: Any) -> None:
        """Send the answer itself: JSON, or that of a part as it is. Raises ConnectionAbortedError if that is too late."""
        if isinstance(answer, PartAnswer) and not self._has_begun and answer.messages:
            for message in answer.messages:
                await self._send(message)
            return
        content = answer.content if isinstance(answer, PartAnswer) and answer.status == _OK else answer
        if content is None or isinstance(content, PartAnswer):
            raise ConnectionAbortedError
        frame = json.dumps(content).encode()
        if self._is_stream:
            await self._send_event(to_event(frame))
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await send_whole(self._send, _OK, [(b"content-type", JSON_TYPE)], frame)


def _data_of(event: bytes) -> Any:
    """Return the JSON in an event, None if there is none."""
    data = b"\n".join(line[5:] for line in event.split(b"\n") if line.startswith(b"data:"))
    return json.loads(data) if data.strip() else None
