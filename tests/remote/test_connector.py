"""Connector addresses: for clients whose sign-in fails, a long secret in the path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.serving import Serving
from support.sign_in import HELLO, URL, Connecting
from support.vaults import write_vault
from vaultwire.remote.store import Store

WRITING = {
    "jsonrpc": "2.0",
    "id": 3,
    "method": "tools/call",
    "params": {"name": "write_note", "arguments": {"path": "New", "content": "x"}},
}


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def store(state: Path) -> Iterator[Store]:
    opened = Store(str(state / "sign-in"))
    yield opened
    opened.close()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\nthe secret text\n")


def test_an_address_needs_no_sign_in_and_is_over_when_it_is_revoked(vault: Path, state: Path, store: Store) -> None:
    options = ("--public-url", URL, "--connector", "--log-json")
    with Serving(vault, *options, VAULTWIRE_STATE=str(state)) as server:
        client = Connecting(server)
        reading = f"/c/{store.new_connector('connector', writes=False)}/mcp"
        changing = f"/c/{store.new_connector('connector', writes=True)}/mcp"
        opened = client.tell(HELLO, reading)
        assert opened.status == 200
        assert b"/c/" not in opened.body
        assert "read only" in client.tell(WRITING, reading).json["result"]["content"][0]["text"]
        assert client.tell(WRITING, f"{changing}/").json["result"].get("isError") is not True
        # A key of somebody else beside it adds nothing, and takes nothing away.
        assert client.tell(HELLO, reading, authorization="Bearer made-up", x_api_key="made-up").status == 200
        for path in (f"{reading}x", reading.removesuffix("/mcp"), reading.replace("/mcp", "/bridge/v1/tools")):
            reply = client.tell(HELLO, path)
            assert (reply.status, "www-authenticate" in reply.headers) == (404, False)
            assert reading[3:-4].encode() not in reply.body
        pair = store.new_pair(store.grants()[0])
        assert pair is not None
        assert client.tell(HELLO, f"/c/{pair.access}/mcp").status == 404  # a token is for the header
        for grant in store.grants():
            store.revoke(grant.id)
        assert client.tell(HELLO, reading).status == 404
        assert client.tell(HELLO, changing, host="evil.example").status == 421
        assert client.send("GET", changing, origin="https://evil.example").status in (403, 404)
        _, output, errors = server.end(15)
    for secret in (reading[3:-4], changing[3:-4]):
        assert secret not in output + errors
    assert '"path": "/mcp"' in errors


def test_no_address_is_served_unless_it_was_asked_for(vault: Path, state: Path, store: Store) -> None:
    secret = store.new_connector("connector", writes=False)
    with Serving(vault, "--public-url", URL, "--log-json", VAULTWIRE_STATE=str(state)) as server:
        client = Connecting(server)
        assert client.tell(HELLO, f"/c/{secret}/mcp").status == 404
        assert client.tell(HELLO, authorization=f"Bearer {secret}").status == 401
        _, output, errors = server.end(15)
    assert secret not in output + errors
