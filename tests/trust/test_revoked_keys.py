"""A revoked key stays revoked when a new key gets its name: sessions, proposals, what was read, cookies, records, streams."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from support.serving import PATIENCE, Reply, Serving
from support.vaults import write_vault
from vaultwire.desk.access import desk_keys_folder
from vaultwire.protocol.events import Peer, name_of_principal
from vaultwire.trust.audit import records
from vaultwire.trust.keys import Keys

HELLO: dict[str, Any] = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a", "version": "1"},
}


class Stage:
    """A server whose clients need keys, and whose changes wait; ``key`` is the one named laptop."""

    def __init__(self, folder: Path) -> None:
        self.state, self.log = folder / "state", folder / "audit.jsonl"
        self.keys = Keys(str(self.state / "keys"))
        self.key = self.keys.issue("laptop")
        (folder / "policy.toml").write_text('[[review]]\nmode = "hold"\nfolders = ["Held"]\n')
        options = ["--require-key", "--policy", str(folder / "policy.toml"), "--audit", str(self.log)]
        vault = write_vault(folder / "notes", "=== A.md\nalpha\n=== B.md\nbeta\n")
        self.server = Serving(vault, *options, "--require-read-first", VAULTWIRE_STATE=str(self.state))

    def renew(self) -> str:
        """Revoke the key, and return a new one of the same name."""
        assert self.keys.revoke("laptop")
        return self.keys.issue("laptop")

    def post(self, key: str, method: str, session: str = "", **params: Any) -> Reply:
        headers = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        headers |= {"x_api_key": key, **({"mcp_session_id": session} if session else {})}
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.server.request("POST", "/mcp", json.dumps(message).encode(), **headers)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    with made.server:
        yield made


def test_a_new_key_of_the_name_gets_nothing_of_the_old_one(stage: Stage) -> None:
    server, old = stage.server, stage.key
    session = stage.post(old, "initialize", **HELLO).headers["mcp-session-id"]
    assert stage.post(old, "tools/list", session).status == 200
    assert server.call("read_note", {"path": "A.md"}, x_api_key=old).status == 200
    held = server.call("create_note", {"path": "Held/Secret plan.md", "content": "x"}, x_api_key=old)
    assert "waits for the person" in held.body.decode()
    assert "Secret plan" in server.call("pending_changes", {}, x_api_key=old).body.decode()

    new = stage.renew()
    assert server.call("read_note", {"path": "A.md"}, x_api_key=old).status == 401
    assert stage.post(old, "tools/list", session).status == 401
    assert stage.post(new, "tools/list", session).status == 404
    assert "Secret plan" not in server.call("pending_changes", {}, x_api_key=new).body.decode()
    edit = {"path": "A.md", "edits": [{"action": "append", "content": "y"}]}
    assert "NOT_READ" in server.call("edit_note", edit, x_api_key=new).body.decode()

    asked = [each for each in records(str(stage.log)) if "client" in each]
    assert {each["principal"] for each in asked} == {"laptop"}
    ids = [each["key_id"] for each in asked]
    assert len(set(ids)) == 2
    assert ids[0] != ids[-1]


def test_an_open_stream_ends_with_its_key(stage: Stage) -> None:
    server, old = stage.server, stage.key
    session = stage.post(old, "initialize", **HELLO).headers["mcp-session-id"]
    stage.post(old, "resources/subscribe", session, uri="vaultwire://note/A.md")
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    head = {"x-api-key": old, "mcp-session-id": session, "accept": "text/event-stream"}
    connection.request("GET", "/mcp", headers=head)
    stream = connection.getresponse()
    assert stream.status == 200
    new = stage.renew()
    assert server.call("create_note", {"path": "C.md", "content": "c"}, x_api_key=new).status == 200
    assert b"notifications/" not in stream.read()  # to its end
    connection.close()


def test_a_cookie_of_a_revoked_key_is_not_let_in_again(stage: Stage) -> None:
    server = stage.server
    desk_keys = Keys(desk_keys_folder(str(stage.state)))

    def enter(key: str) -> str:
        form = {"content_type": "application/x-www-form-urlencoded", "origin": server.url}
        reply = server.request("POST", "/desk/enter", urlencode({"key": key}).encode(), **form)
        return reply.headers["set-cookie"].split(";")[0]

    def read(cookie: str) -> int:
        return server.request("GET", "/desk/api/note?path=A.md", cookie=cookie).status

    old = enter(desk_keys.issue("mine"))
    assert read(old) == 200
    desk_keys.revoke("mine")
    assert read(old) == 401
    new = enter(desk_keys.issue("mine"))
    assert (read(new), read(old)) == (200, 401)


@pytest.mark.parametrize(
    ("principal", "authority", "key_id"),
    [
        ("phone#0f3a", "phone", "0f3a"),
        ("oauth:a#b", "oauth:a#b", ""),
        ("oauth:a", "oauth:a", ""),
        ("", "", ""),
    ],
)
def test_rules_know_the_name_of_a_key_and_all_else_its_id(principal: str, authority: str, key_id: str) -> None:
    peer = Peer(principal)
    assert (peer.authority, peer.key_id, name_of_principal(principal)) == (authority, key_id, authority or principal)
