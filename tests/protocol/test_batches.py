"""Limits of batches, too long for a transcript."""

from __future__ import annotations

import json

from support.transcripts import make_session
from vaultwire.protocol.events import Send
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
