"""One answer made of those of several parts: as JSON, or as a stream if a part has one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytest

from vaultwire.protocol.http import KEEP_ALIVE, STREAM_HEADERS, to_event, to_first_event
from vaultwire.transports import send_whole
from vaultwire.transports.joined_answers import PartAnswer, send_as_one

if TYPE_CHECKING:
    from vaultwire.transports import Message, Send
    from vaultwire.transports.joined_answers import Part

QUESTION = {"jsonrpc": "2.0", "id": 7, "method": "roots/list"}


def whole(content: Any, status: int = 200) -> Part:
    async def part(send: Send) -> None:
        await send_whole(send, status, [(b"content-type", b"application/json")], json.dumps(content).encode())

    return part


def stream(*events: bytes, breaks: bool = False) -> Part:
    """Return a part whose stream comes in pieces of seven bytes."""

    async def part(send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS]})
        data = b"".join(events)
        for place in range(0, len(data), 7):
            await send({"type": "http.response.body", "body": data[place : place + 7], "more_body": True})
        if breaks:
            raise ConnectionAbortedError
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return part


def event(content: Any) -> bytes:
    return to_event(json.dumps(content).encode(), "3-1")


def joined(*parts: Part) -> tuple[list[Message], list[PartAnswer]]:
    """Return what is sent, and what the parts have answered; the answer is the list of their contents."""
    sent: list[Message] = []
    answers: list[PartAnswer] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    def join(given: Sequence[PartAnswer]) -> Any:
        answers.extend(given)
        refusals = [answer for answer in given if answer.status == 503]
        return refusals[0] if refusals else [answer.content for answer in given]

    asyncio.run(send_as_one(parts, join, receive, send))
    return sent, answers


def test_whole_answers_make_a_whole_answer() -> None:
    sent, _ = joined(whole([1]), whole({"a": 2}))
    assert (sent[0]["status"], dict(sent[0]["headers"])[b"content-type"]) == (200, b"application/json")
    assert json.loads(sent[1]["body"]) == [[1], {"a": 2}]


def test_what_else_is_in_a_stream_comes_to_the_client_and_the_answer_last() -> None:
    first = to_first_event("3-0", 1000)
    sent, _ = joined(whole([1]), stream(first, KEEP_ALIVE, event(QUESTION), event([2])), stream(event([3])))
    start, *bodies = sent
    assert (start["status"], dict(start["headers"])[b"content-type"]) == (200, b"text/event-stream")
    question = to_event(json.dumps(QUESTION).encode())
    assert [body["body"] for body in bodies] == [KEEP_ALIVE, question, to_event(b"[[1], [2], [3]]"), b""]
    assert [body["more_body"] for body in bodies] == [True, True, True, False]


def test_an_answer_that_breaks_off_is_known_as_such() -> None:
    _, answers = joined(whole([1]), stream(event(QUESTION), breaks=True))
    assert [(answer.status, answer.content) for answer in answers] == [(200, [1]), (0, None)]


def test_the_answer_of_a_part_is_sent_as_it_is_unless_it_is_too_late() -> None:
    sent, _ = joined(whole([1]), whole({"error": "SERVER_BUSY"}, 503))
    assert (sent[0]["status"], json.loads(sent[1]["body"])) == (503, {"error": "SERVER_BUSY"})
    with pytest.raises(ConnectionAbortedError):
        joined(stream(event(QUESTION), event([1])), whole({}, 503))


def test_all_parts_end_when_the_client_leaves() -> None:
    ended: list[str] = []

    async def forever(_: Send) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("ended")

    async def leave() -> Message:
        return {"type": "http.disconnect"}

    async def fail(message: Message) -> None:
        raise AssertionError(message)

    asyncio.run(send_as_one([forever, forever], list, leave, fail))
    assert ended == ["ended", "ended"]
