"""What a client calls itself gives it nothing where its key says who it is: at every door, and in all that asks who it is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.serving import Serving
from support.vaults import write_vault
from vaultwire.cli import main
from vaultwire.trust.audit import records
from vaultwire.trust.keys import Keys
from vaultwire.trust.policy import Policy, ToolRules

POLICY = """
[clients."Claude Desktop"]
deny = ["vault_overview"]
[clients.known]
deny = ["list_links"]
[clients."*"]
allow = ["read_note", "vault_overview", "list_changes"]
"""
READS = {"readOnlyHint": True}
REVISIONS = ["2025-06-18", "2026-07-28"]


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", "=== A.md\nAlpha.\n")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "audit.jsonl"


@pytest.fixture
def keys(tmp_path: Path) -> dict[str, str]:
    kept = Keys(str(tmp_path / "state" / "keys"))
    return {name: kept.issue(name) for name in ("known", "guest")}


@pytest.fixture
def server(vault: Path, log: Path, keys: dict[str, str], tmp_path: Path) -> Iterator[Serving]:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)
    options = ["--require-key", "--policy", str(policy), "--audit", str(log), "--rate", "read_note=3", "--structured"]
    with Serving(vault, *options, VAULTWIRE_STATE=str(tmp_path / "state")) as running:
        yield running


class Client:
    """A client with a key and a name it gives itself, in a session or, in 2026-07-28, without."""

    def __init__(self, server: Serving, key: str, name: str, revision: str) -> None:
        self._server = server
        self._revision = revision
        self._info = {"name": name, "version": "1"}
        self._headers = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        self._headers["x_api_key"] = key
        if revision != "2026-07-28":
            params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": self._info}
            self._post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})

    def _post(self, message: dict[str, Any]) -> Any:
        headers = {**self._headers, "mcp_protocol_version": self._revision, "mcp_method": message["method"]}
        if "name" in message["params"]:
            headers["mcp_name"] = message["params"]["name"]
        reply = self._server.request("POST", "/mcp", json.dumps(message).encode(), **headers)
        assert reply.status == 200, reply
        if "mcp-session-id" in reply.headers:
            self._headers["mcp_session_id"] = reply.headers["mcp-session-id"]
        text = reply.body.decode()
        return json.loads(text if text.startswith("{") else text.rpartition("data: ")[2])["result"]

    def request(self, method: str, **params: Any) -> Any:
        if self._revision == "2026-07-28":
            meta = {"protocolVersion": self._revision, "clientInfo": self._info, "clientCapabilities": {}}
            params["_meta"] = {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}
        return self._post({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})

    def call(self, tool: str, **arguments: Any) -> Any:
        return self.request("tools/call", name=tool, arguments=arguments)

    def tools(self) -> set[str]:
        return {each["name"] for each in self.request("tools/list")["tools"]}


@pytest.mark.parametrize(
    ("client", "principal", "tool", "allowed"),
    [
        ("Claude Desktop", "", "list_links", True),  # without a key the name is all there is to go by
        ("Claude Desktop", "", "vault_overview", False),
        ("another", "", "list_links", False),
        ("Claude Desktop", "guest", "list_links", False),  # the key has no table: the one for everybody else holds
        ("Claude Desktop", "guest", "read_note", True),
        ("Claude Desktop", "guest", "vault_overview", False),  # and the name's own takes more away
        ("known", "guest", "search_notes", False),
        ("Claude Desktop", "known", "search_notes", True),
        ("Claude Desktop", "known", "vault_overview", False),
        ("another", "known", "list_links", False),
        ("another", "known", "vault_overview", True),
        ("*", "known", "search_notes", True),
    ],
)
def test_a_name_takes_away_and_gives_nothing_beside_a_key(
    client: str, principal: str, tool: str, *, allowed: bool
) -> None:
    clients = {
        "Claude Desktop": ToolRules(deny=("vault_overview",)),
        "known": ToolRules(deny=("list_links",)),
        "*": ToolRules(("read_note", "vault_overview")),
    }
    policy = Policy(clients=clients)
    assert policy.allows(READS, tool, client, principal) is allowed
    assert (policy.refusal(tool, READS, client, principal) is None) is allowed


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_key_is_held_by_its_rules_whatever_its_client_calls_itself(
    server: Serving, keys: dict[str, str], revision: str
) -> None:
    everybody = {"read_note", "read_notes", "vault_overview", "list_changes", "more_tools"}
    for name in ("Claude Desktop", "known", "guest", "rest", "*", ""):
        client = Client(server, keys["guest"], name, revision)
        assert client.tools() <= everybody, name
        result = client.call("write_note", path="B.md", content="x")
        assert result["_meta"]["errorCode"] == "POLICY_DENIED", name
        assert "write_note" not in str(client.call("list_changes"))
    own = Client(server, keys["known"], "*", revision)
    assert "list_links" not in own.tools()
    assert not own.call("write_note", path="B.md", content="x")["isError"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_notes_are_offered_by_the_rules_of_the_key(server: Serving, keys: dict[str, str], revision: str) -> None:
    for key, name, listed in (("guest", "known", []), ("known", "guest", ["A.md"])):
        # The own name "guest" has no table, so it takes nothing away.
        found = Client(server, keys[key], name, revision).request("resources/list")
        assert [file["name"] for file in found["resources"]] == listed


def test_rest_lists_to_each_key_the_tools_it_may_call(server: Serving, keys: dict[str, str]) -> None:
    for page in ("tools", "openapi.json"):
        said = {
            name: server.request("GET", f"/bridge/v1/{page}", x_api_key=key).body.decode() for name, key in keys.items()
        }
        assert "write_note" in said["known"]
        assert "write_note" not in said["guest"]
    hashes = {name: server.request("GET", "/bridge/v1/tools", x_api_key=key).json["hash"] for name, key in keys.items()}
    assert hashes["known"] != hashes["guest"]


def test_rest_says_when_a_key_may_ask_again_for_the_list(vault: Path, keys: dict[str, str], tmp_path: Path) -> None:
    with Serving(vault, "--rate", "total=1", VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        server.call("read_note", {"path": "A.md"}, x_api_key=keys["guest"])
        reply = server.request("GET", "/bridge/v1/tools", x_api_key=keys["guest"])
        assert (reply.status, int(reply.headers["retry-after"]) > 0) == (429, True)
        assert server.request("GET", "/bridge/v1/health", x_api_key=keys["guest"]).status == 200
        assert server.request("GET", "/bridge/v1/tools", x_api_key=keys["known"]).status == 200


@pytest.mark.parametrize("revision", REVISIONS)
def test_another_name_gives_no_more_calls_and_takes_none_from_others(
    server: Serving, keys: dict[str, str], revision: str
) -> None:
    codes = []
    for name in ("one", "two", "known", "three", "four"):
        result = Client(server, keys["guest"], name, revision).call("read_note", path="A.md")
        codes.append(result["_meta"].get("errorCode"))
    assert codes == [None, None, None, "RATE_LIMITED", "RATE_LIMITED"]
    known = Client(server, keys["known"], "guest", revision)
    assert [known.call("read_note", path="A.md")["isError"] for _ in range(3)] == [False, False, False]


def test_a_client_without_a_key_uses_up_nothing_of_a_key_of_its_name(vault: Path, tmp_path: Path) -> None:
    key = Keys(str(tmp_path / "state" / "keys")).issue("guest")
    with Serving(vault, "--rate", "read_note=1", VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        named = Client(server, "none", "guest", "2025-06-18")
        assert [named.call("read_note", path="A.md")["isError"] for _ in range(2)] == [False, True]
        assert not Client(server, key, "any", "2025-06-18").call("read_note", path="A.md")["isError"]


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_records_tell_the_key_from_the_name(
    server: Serving, keys: dict[str, str], log: Path, revision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    client = Client(server, keys["known"], 'guest "x', revision)
    client.call("write_note", path="B.md", content="x")
    listed = client.call("list_changes")["structuredContent"]["changes"]
    assert [change["client"] for change in listed] == ['known (guest "x)']
    asked = [each for each in records(str(log)) if each.get("tool_name") == "write_note" and "client" in each]
    assert [(each["client"], each["principal"]) for each in asked] == [('guest "x', "known")]
    assert main(["audit", "grep", "--tool", "write_note", ".", str(log)]) == 0
    assert ' known, which calls itself "guest \\"x": write_note ' in capsys.readouterr().out


def test_policy_explain_knows_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(POLICY)

    def explained(*who: str) -> str:
        main(["policy", "explain", "list_links", "A.md", "--policy", str(policy), *who])
        return capsys.readouterr().out.splitlines()[1]

    assert explained("--client", "Claude Desktop") == "- the tool: no rule is against it"
    held = '- the tool: [clients."*"] does not name it in allow'
    assert explained("--client", "Claude Desktop", "--key", "guest") == held
    assert explained("--client", "Claude Desktop", "--key", "known") == '- the tool: [clients."known"] denies it'
