"""Two vaults behind every door in every revision: what a client is told of them, and how it says which one it means."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from interaction.conftest import EVERY_REVISION, VAULT, Door, reach
from support.http_wire import Client
from support.proofs import proves
from support.serving import Serving
from support.vaults import snapshot, write_vault
from support.wire import STATELESS_REVISION, Server
from vaultwire.toolkit.catalog import OUTSIDE
from vaultwire.tools.prompts import OURS

HOME = """
=== Welcome.md
At home.
=== Recipes/Soup.md
Leek and potato. [[Welcome]]
=== Prompts/Cook.md
Cook {{what}}.
"""
TEMPLATE = "obsidian://vault/{vault}/{+path}"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "other", HOME)


@pytest.fixture(scope="module")
def shared_client(door: Door, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """Return a client of such a server for all tests that change nothing."""
    root = tmp_path_factory.mktemp("two")
    vault, home = write_vault(root / "vault", VAULT), write_vault(root / "other", HOME)
    options = ("--vault", f"At home={home}", "--prompts", "Prompts")
    if door.name != "stdio":
        with Serving(vault, *options) as serving, reach(door, serving) as client:
            yield client
        return
    with Server(vault, *options) as server:
        server.open(door.revision)
        yield server


@pytest.fixture
def client(connect: Callable[..., Server], home: Path) -> Server:
    """Return a client of a server of two vaults, of which the first has its folder's name."""
    return connect("--vault", f"At home={home}", "--prompts", "Prompts")


def text_of(result: dict[str, Any]) -> str:
    text: str = result["content"][0]["text"]
    return text


@proves("ours: a single vault takes no vault's name, and a name given to it changes only what it is called")
def test_a_single_vault_is_served_as_ever(connect: Callable[..., Server]) -> None:
    client = connect()
    assert "everal vaults" not in client.opened["instructions"]
    for tool in client.request("tools/list")["result"]["tools"]:
        assert "vault" not in tool["inputSchema"]["properties"]
    answer = client.request("tools/call", {"name": "read_note", "arguments": {"path": "Welcome", "vault": "vault"}})
    assert "'vault' is not an argument" in str(answer)


@proves("ours: clients are told of the vaults at the handshake, and in every tool")
def test_a_client_is_told_of_the_vaults(shared_client: Client) -> None:
    assert "'vault', 'At home'" in shared_client.opened["instructions"]
    for tool in shared_client.request("tools/list")["result"]["tools"]:
        if tool["name"] in OUTSIDE:
            continue
        vault = tool["inputSchema"]["properties"]["vault"]
        assert (vault["type"], vault["enum"]) == ("string", ["vault", "At home"])
        assert "vault" not in tool["inputSchema"].get("required", ())
        jsonschema.Draft7Validator.check_schema(tool["inputSchema"])
    stats = text_of(shared_client.call("vault_overview", vault="At home"))
    assert stats.startswith("At home: 3 notes")
    assert "'vault'" in stats


@proves("ours: a tool works on the vault it is told, or else on the first")
def test_a_tool_works_on_the_vault_that_is_named(client: Server, vault: Path, home: Path) -> None:
    assert "brown fox" in text_of(client.call("read_note", path="Welcome"))
    assert "brown fox" in text_of(client.call("read_note", path="Welcome", vault="vault"))
    assert "At home." in text_of(client.call("read_note", path="Welcome", vault="At home"))
    assert "0 of 3 notes match" in text_of(client.call("search_notes", query="fox", vault="At home"))
    before = snapshot(vault)
    client.call("write_note", path="New", content="new\n", vault="At home")
    assert (home / "New.md").read_text() == "new\n"
    assert "1 of 4 notes match" in text_of(client.call("search_notes", query="new", vault="At home"))
    assert snapshot(vault) == before
    undone = client.request("tools/call", {"name": "undo_changes", "arguments": {"changes": [1]}})
    assert "Each vault counts its own changes" in str(undone)
    assert (home / "New.md").exists()
    assert client.call("undo_changes", changes=[1], vault="At home")["isError"] is False
    assert not (home / "New.md").exists()


@EVERY_REVISION
@proves("ours: an unknown vault is VAULT_NOT_FOUND, with those there are")
def test_an_unknown_vault_is_refused_with_those_there_are(shared_client: Client, revision: str) -> None:
    result = shared_client.call("read_note", path="Welcome", vault="Nowhere")
    assert (result["isError"], result["_meta"]["errorCode"]) == (True, "VAULT_NOT_FOUND")
    assert "'vault', 'At home'" in text_of(result)
    assert result["_meta"]["errorDetails"] == {"vaults": ["vault", "At home"]}
    error = shared_client.request("resources/read", {"uri": "obsidian://vault/Nowhere/Welcome.md"})["error"]
    assert error["code"] == (-32602 if revision == STATELESS_REVISION else -32002)
    assert (error["data"]["errorCode"], error["data"]["vaults"]) == ("VAULT_NOT_FOUND", ["vault", "At home"])
    arguments = {"path": "Welcome", "vault": "Nowhere"}
    error = shared_client.request("prompts/get", {"name": "summarize_note", "arguments": arguments})["error"]
    assert (error["code"], error["data"]["errorCode"]) == (-32602, "VAULT_NOT_FOUND")


@proves("ours: a vault's name that is no text is a wrong argument")
def test_a_vault_that_is_no_text_is_a_wrong_argument(shared_client: Client) -> None:
    answer = shared_client.request("tools/call", {"name": "read_note", "arguments": {"path": "Welcome", "vault": 5}})
    assert "'vault' must be one of 'vault', 'At home', got 5" in str(answer)


@proves("ours: the resources of all vaults are one list, and each URI leads to its own vault's file")
def test_every_resource_of_every_vault_is_listed_once_and_read_back(shared_client: Client) -> None:
    uris: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = shared_client.request("resources/list", cursor)["result"]
        uris += [resource["uri"] for resource in page["resources"]]
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}
    root = "obsidian://vault/At%20home/"
    assert [uri for uri in uris if uri.startswith(root)] == [
        root + path for path in ("Prompts/Cook.md", "Recipes/Soup.md", "Welcome.md")
    ]
    assert len(set(uris)) == len(uris) == 8
    assert (
        shared_client.request("resources/read", {"uri": root + "Welcome.md"})["result"]["contents"][0]["text"]
        == "At home.\n"
    )
    assert (
        "fox"
        in shared_client.request("resources/read", {"uri": "obsidian://vault/vault/Welcome.md"})["result"]["contents"][
            0
        ]["text"]
    )
    assert "error" in shared_client.request("resources/read", {"uri": root + "Projects/Alpha.md"})
    assert "error" in shared_client.request("resources/read", {"uri": root + "../vault/Projects/Alpha.md"})
    assert "error" in shared_client.request("resources/list", {"cursor": "obsidian://vault/Nowhere/"})


@proves("ours: one template for all vaults, whose variables are completed from names and from that vault's files")
def test_the_template_is_completed_with_names_and_with_the_files_of_that_vault(shared_client: Client) -> None:
    template, view = shared_client.request("resources/templates/list")["result"]["resourceTemplates"]
    assert (template["uriTemplate"], view["uriTemplate"]) == (TEMPLATE, "obsidian://vault/{vault}/{+base}{#view}")
    reference = {"type": "ref/resource", "uri": TEMPLATE}

    def completed(reference: dict[str, str], name: str, value: str, **filled_in: str) -> list[str]:
        params: dict[str, Any] = {"ref": reference, "argument": {"name": name, "value": value}}
        if filled_in:
            params["context"] = {"arguments": filled_in}
        values: list[str] = shared_client.request("completion/complete", params)["result"]["completion"]["values"]
        return values

    assert completed(reference, "vault", "") == ["vault", "At home"]
    assert completed(reference, "vault", "HO") == ["At home"]
    assert completed(reference, "path", "so", vault="At home") == ["Recipes/Soup.md"]
    assert completed(reference, "path", "soup") == []
    prompt = {"type": "ref/prompt", "name": "summarize_note"}
    assert completed(prompt, "vault", "v") == ["vault"]
    assert completed(prompt, "path", "soup", vault="At home") == ["Recipes/Soup.md"]
    assert completed({"type": "ref/prompt", "name": "at_home__cook"}, "what", "") == []


@proves("ours: prompts say which vault they are about, to the person and to the model")
def test_prompts_are_about_one_vault(shared_client: Client) -> None:
    prompts = shared_client.request("prompts/list")["result"]["prompts"]
    names = [prompt["name"] for prompt in prompts]
    assert names == [*(prompt.name for prompt in OURS), "at_home__cook"]
    assert all(prompt["arguments"][-1]["name"] == "vault" for prompt in prompts[:3])
    arguments = {"path": "Welcome", "vault": "At home"}
    messages = shared_client.request("prompts/get", {"name": "summarize_note", "arguments": arguments})["result"][
        "messages"
    ]
    assert messages[1]["content"]["resource"]["uri"] == "obsidian://vault/At%20home/Welcome.md"
    assert "'At home'" in messages[-1]["content"]["text"]
    arguments = {"what": "soup"}
    messages = shared_client.request("prompts/get", {"name": "at_home__cook", "arguments": arguments})["result"][
        "messages"
    ]
    assert messages[0]["content"]["text"] == "Cook soup."
    assert "'At home'" in messages[-1]["content"]["text"]
    error = shared_client.request("prompts/get", {"name": "vault__cook"})["error"]
    assert "at_home__cook" in error["message"]


@proves("ours: the end waits for every vault that was opened")
def test_a_server_of_two_vaults_ends_cleanly(client: Server) -> None:
    client.call("read_note", path="Welcome", vault="At home")
    assert client.close() == (0, b"", b"")
