"""What a server says it can do, in the words of the revision that asks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from support.wire import REVISIONS, STATELESS_REVISION, envelope
from vaultwire.protocol.events import Identity, Send
from vaultwire.protocol.session import Session

CAPABILITIES = {
    "completions": {},
    "logging": {},
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}


def capabilities_in(revision: str, session: Session) -> Any:
    message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": revision}}
    if revision == STATELESS_REVISION:
        message |= {"method": "server/discover", "params": {"_meta": envelope()}}
    (event,) = session.receive(json.dumps(message).encode())
    assert isinstance(event, Send)
    return json.loads(event.frame)["result"]["capabilities"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_completions_are_declared_from_the_revision_on_that_has_a_word_for_them(revision: str) -> None:
    said = capabilities_in(revision, Session(Identity("test", "Test", "1", CAPABILITIES, ""), []))
    known = {name: value for name, value in CAPABILITIES.items() if name != "completions" or revision >= "2025-03-26"}
    assert said == known


@pytest.mark.parametrize("revision", REVISIONS)
def test_what_a_server_cannot_do_is_not_declared(revision: str) -> None:
    assert capabilities_in(revision, Session(Identity("test", "Test", "1", {"tools": {}}, ""), [])) == {"tools": {}}
