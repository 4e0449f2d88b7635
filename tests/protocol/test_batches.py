"""Limits of batches, too long for a transcript."""

from __future__ import annotations

import json

from support.transcripts import make_session
from vaultwire.protocol.events import Batch, Send
from vaultwire.protocol.session import MAX_BATCH, Session


def answer(session: Session, message: object) -> object:
    """Return the one frame the session sends for a message."""
    (event,) = session.receive(json.dumps(message).encode())
    assert isinstance(event, Send)
    return json.loads(event.frame)


def test_a_batch_of_more_messages_than_the_limit_is_refused_whole() -> None:
    session = make_session()
    hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {"name": "c", "version": "0"}}
    answer(session, {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello})
    pings = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(1, MAX_BATCH + 2)]
    assert isinstance(refused := answer(session, pings), dict)
    assert refused["id"] is None
    assert refused["error"]["code"] == -32600
    assert str(MAX_BATCH) in refused["error"]["message"]
    assert isinstance(answers := answer(session, pings[:MAX_BATCH]), list)
    assert [one["id"] for one in answers] == list(range(1, MAX_BATCH + 1))


def test_answers_to_one_batch_have_so_many_bytes_and_short_ones_are_always_there() -> None:
    batch = Batch()
    for number in range(5):
        batch.add(json.dumps({"id": number, "result": "x" * 12 * 1024 * 1024}).encode(), number)
    batch.add(b'{"id":5,"result":{}}\n', 5)
    batch.open = False
    frame = batch.frame_if_complete()
    assert frame is not None
    answers = json.loads(frame)
    assert [answer["id"] for answer in answers] == list(range(6))
    assert ["result" in answer for answer in answers] == [True, True, False, False, False, True]
    assert answers[2]["error"]["data"] == {"errorCode": "BATCH_TOO_LARGE"}
    assert len(frame) < 33 * 1024 * 1024
