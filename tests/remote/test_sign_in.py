"""Sign-in over a socket, from the first request without a token to revocation."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.serving import Serving
from support.sign_in import HELLO, TAKES_BOTH, URL, Connecting, answer_of
from support.vaults import write_vault
from vaultwire.app import asgi
from vaultwire.config import ConfigError
from vaultwire.trust.policy import READS_ONLY, Policy, ToolRules


def test_a_client_goes_from_the_refusal_to_the_notes_and_ends_its_grant(client: Connecting) -> None:
    refused = client.tell(HELLO)
    assert refused.status == 401
    page = f"{URL}/.well-known/oauth-protected-resource/mcp"
    assert f'resource_metadata="{page}"' in refused.headers["www-authenticate"]
    resource = client.send("GET", page.removeprefix(URL)).json
    assert (resource["resource"], resource["authorization_servers"]) == (f"{URL}/mcp", [URL])
    metadata = client.send("GET", "/.well-known/oauth-authorization-server").json
    assert metadata["issuer"] == URL
    assert client.register().status == 201
    address = client.request()
    assert b"claude.ai" in client.send("GET", address).body
    consent = client.sign_in(address)
    assert consent.status == 200, consent.body
    answer = client.allow(address, consent, access="write", days="30")
    assert answer.headers["location"].startswith(client.redirect_uri + "?")
    given = answer_of(answer)
    assert (given["state"], given["iss"]) == ("as it was", URL)
    tokens = client.exchange(given["code"]).json
    assert (tokens["token_type"], tokens["scope"]) == ("Bearer", "read write offline_access")
    bearer = {"authorization": f"Bearer {tokens['access_token']}"}
    opened = client.tell(HELLO, **bearer)
    assert opened.status == 200
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    listed = client.tell(listing, **bearer)  # drops its session
    assert "edit_note" in [tool["name"] for tool in listed.json["result"]["tools"]]
    assert b"the secret text" in client.call(tokens["access_token"], "read_note", path="Note").body
    renewed = client.refresh(tokens["refresh_token"]).json
    assert client.is_let_in(renewed["access_token"])
    assert client.post("/revoke", token=renewed["refresh_token"], client_id=client.client_id).status == 200
    assert not client.is_let_in(renewed["access_token"])
    assert not client.is_let_in(tokens["access_token"])
    assert client.refresh(renewed["refresh_token"]).json["error"] == "invalid_grant"


def test_who_may_only_read_changes_nothing(client: Connecting) -> None:
    token = client.connect(access="read")["access_token"]
    refused = client.call(token, "write_note", path="New", content="x")
    assert b"read only" in refused.body
    assert refused.json["success"] is False
    bearer = {"authorization": f"Bearer {token}"}
    listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
    listed = client.tell(listing, **bearer).json["result"]["tools"]
    assert all(tool["annotations"]["readOnlyHint"] for tool in listed)


def test_a_change_is_on_record_under_the_person_and_the_client(client: Connecting) -> None:
    token = client.connect(access="write")["access_token"]
    assert client.call(token, "write_note", path="Called", content="x").json["success"] is True
    assert b"Ana through claude.ai" in client.call(token, "list_changes").body


def test_a_session_belongs_to_its_grant(server: Serving, client: Connecting) -> None:
    one, other = client.connect(), Connecting(server).connect()
    bearers = [{"authorization": f"Bearer {each['access_token']}"} for each in (one, other)]
    opened = client.tell(HELLO, **bearers[0])
    session = {**TAKES_BOTH, "mcp_session_id": opened.headers["mcp-session-id"]}
    ping = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
    assert client.send("POST", "/mcp", ping, **session, **bearers[0]).status == 200
    assert client.send("POST", "/mcp", ping, **session, **bearers[1]).status == 404


def test_rules_of_a_policy_for_a_grant_hold_for_one_that_may_only_read_too() -> None:
    policy = Policy(clients={"Ana through claude.ai": ToolRules(deny=("read_note",)), "*": ToolRules()})
    reads, changes = {"readOnlyHint": True}, {"readOnlyHint": False}
    for name in ("Ana through claude.ai", f"Ana through claude.ai{READS_ONLY}"):
        assert not policy.allows(reads, "read_note", "Claude", name)
        assert policy.allows(reads, "search_notes", "Claude", name)
    assert policy.allows(changes, "write_note", "Claude", "Ana through claude.ai")
    assert not policy.allows(changes, "write_note", "Claude", f"Ana through claude.ai{READS_ONLY}")
    assert "read only" in (policy.refusal("write_note", changes, "Claude", f"Ben through x{READS_ONLY}") or "")


def test_the_app_for_another_server_takes_the_options_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))
    write_vault(tmp_path / "vault", "=== Note.md\nx\n")
    app = asgi(str(tmp_path / "vault"), public_url=URL, client_host="app.example", connector=True)
    app.close()
    with pytest.raises(ConfigError, match="need --public-url"):
        asgi(str(tmp_path / "vault"), connector=True)


@pytest.mark.parametrize(
    ("place", "kind"),
    [
        ("/mcp/server-card", "application/mcp-server-card+json"),
        ("/.well-known/mcp/server-card.json", "application/json"),
    ],
)
def test_the_card_says_where_to_connect_and_nothing_of_the_vault(client: Connecting, place: str, kind: str) -> None:
    card = client.send("GET", place, origin="https://directory.example")
    assert (card.status, card.headers["content-type"]) == (200, kind)
    assert card.headers["access-control-allow-origin"] == "*"
    assert card.headers["cache-control"] == "public, max-age=3600"
    assert card.json["name"] == "org.example.notes/vaultwire"
    assert card.json["remotes"] == [{"type": "streamable-http", "url": f"{URL}/mcp"}]
    assert set(card.json) == {"$schema", "name", "title", "description", "version", "remotes"}
    assert client.send("GET", place, if_none_match=card.headers["etag"]).status == 304
    assert client.send("HEAD", place).body == b""
    assert client.send("POST", place, b"").status == 405
    assert client.send("GET", f"{place}/more").status in (401, 404)


def test_without_a_public_address_there_is_no_card(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\ntext\n")
    with Serving(vault, VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        assert server.request("GET", "/.well-known/mcp/server-card.json").status == 404
        assert b"streamable-http" not in server.request("GET", "/mcp/server-card").body
