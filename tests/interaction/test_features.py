"""Resources, prompts and completions of a real server, in every revision."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import EVERY_DOOR, EVERY_REVISION
from support.http_wire import Client
from support.proofs import proves
from support.vaults import snapshot, write_vault
from support.wire import STATELESS_REVISION
from vaultwire.tools.prompts import OURS

ROOT = "obsidian://vault/vault/"
PICTURE = b"\x89PNG\r\n\x1a\n\xff\xfe"
PROMPTS = """
=== Prompts/Weekly review.md
---
description: Look back on a week
arguments:
  - "topic: What to look at"
  - "tag?: Only notes with it"
---
What did I write about {{topic}} this week? {{tag}}
=== Prompts/Odd.md
"""


def read(client: Client, uri: str) -> Any:
    return client.request("resources/read", {"uri": uri})


def listed(client: Client) -> list[dict[str, Any]]:
    """Return the resources of all pages."""
    resources: list[dict[str, Any]] = []
    params: dict[str, Any] = {}
    while True:
        result = client.request("resources/list", params)["result"]
        resources += result["resources"]
        if "nextCursor" not in result:
            return resources
        params = {"cursor": result["nextCursor"]}


@EVERY_REVISION
@proves("spec Lifecycle / Discovery: capabilities for what is served, in the revision's words")
def test_the_server_declares_what_it_offers(shared: Client, revision: str) -> None:
    capabilities = shared.opened["capabilities"]
    assert capabilities["resources"] == {"listChanged": True, "subscribe": True}
    assert capabilities["prompts"] == {"listChanged": False}
    assert ("completions" in capabilities) is (revision >= "2025-03-26")


@proves("spec Resources: every resource listed can be read under its URI")
def test_every_file_is_listed_and_read(shared: Client, shared_vault: Path) -> None:
    resources = listed(shared)
    files = sorted(path.relative_to(shared_vault).as_posix() for path in shared_vault.rglob("*.md"))
    assert sorted(resource["name"] for resource in resources) == files
    assert ROOT + "Unicode/Gr%C3%BC%C3%9Fe%20%E6%97%A5%E6%9C%AC.md" in [resource["uri"] for resource in resources]
    for resource in resources:
        text = (shared_vault / resource["name"]).read_text(encoding="utf-8")
        (contents,) = read(shared, resource["uri"])["result"]["contents"]
        assert contents == {"uri": resource["uri"], "mimeType": "text/markdown", "text": text}
        assert resource["size"] == len(text.encode())


@proves("spec Pagination: a list longer than a page, each resource once")
def test_a_large_vault_comes_in_pages(connect: Callable[..., Client], vault: Path) -> None:
    write_vault(vault, "".join(f"=== Many/{number:03}.md\nx\n" for number in range(250)))
    client = connect()
    first = client.request("resources/list")["result"]
    assert len(first["resources"]) == 100
    assert isinstance(first["nextCursor"], str)
    names = [resource["name"] for resource in listed(client)]
    assert len(names) == len(set(names)) == 255
    assert names == sorted(names)


@proves("spec Resources: binary content as base64, with its media type")
def test_an_attachment_is_read_as_base64(connect: Callable[..., Client], vault: Path) -> None:
    (vault / "My picture #1.png").write_bytes(PICTURE)
    client = connect()
    (resource,) = [resource for resource in listed(client) if resource["name"] == "My picture #1.png"]
    (contents,) = read(client, resource["uri"])["result"]["contents"]
    assert (contents["uri"], contents["mimeType"]) == (ROOT + "My%20picture%20%231.png", "image/png")
    assert base64.b64decode(contents["blob"]) == PICTURE
    assert "text" not in contents


@proves("ours: an attachment of more than 5 MiB is refused with its size")
def test_a_large_attachment_is_refused_with_its_size(connect: Callable[..., Client], vault: Path) -> None:
    most = 5 * 1024 * 1024
    (vault / "most.bin").write_bytes(b"\xff" * most)
    (vault / "more.bin").write_bytes(b"\xff" * (most + 1))
    client = connect()
    (contents,) = read(client, ROOT + "most.bin")["result"]["contents"]
    assert len(contents["blob"]) == (most + 2) // 3 * 4
    error = read(client, ROOT + "more.bin")["error"]
    assert error["data"]["errorCode"] == "TOO_LARGE"
    assert str(most + 1) in error["message"]
    assert error["data"]["size"] == most + 1


@EVERY_REVISION
@proves("spec Resources, Error Handling: -32002, and -32602 with data.uri in 2026-07-28")
@pytest.mark.parametrize("uri", [ROOT + "Nowhere.md", "obsidian://vault/other/Welcome.md", "file:///etc/passwd"])
def test_an_unknown_resource_is_not_found(shared: Client, revision: str, uri: str) -> None:
    error = read(shared, uri)["error"]
    assert error["code"] == (-32602 if revision == STATELESS_REVISION else -32002)
    assert error["data"]["uri"] == uri


@proves("ours: nothing hidden and nothing outside the vault, by any spelling")
@pytest.mark.parametrize(
    "path",
    [
        "../secret.md",
        "%2e%2e/secret.md",
        "..%2Fsecret.md",
        "Link/secret.md",
        ".obsidian/app.json",
        "%2Fetc/passwd",
        "Projects/../../secret.md",
    ],
)
def test_what_is_outside_or_hidden_is_refused(shared: Client, shared_vault: Path, path: str) -> None:
    answer = read(shared, ROOT + path)
    assert answer["error"]["data"]["errorCode"] in ("PATH_OUTSIDE_VAULT", "PERMISSION_DENIED")
    assert str(shared_vault.parent) not in str(answer)
    assert "a secret" not in str(answer)


@proves("spec Resources: a template whose argument completes to what it can be filled in with")
def test_a_template_is_completed_and_filled_in(shared: Client) -> None:
    template, _ = shared.request("resources/templates/list")["result"]["resourceTemplates"]
    reference = {"type": "ref/resource", "uri": template["uriTemplate"]}
    argument = {"name": "path", "value": "alph"}
    completion = shared.request("completion/complete", {"ref": reference, "argument": argument})["result"]["completion"]
    assert completion == {"values": ["Projects/Alpha.md"], "total": 1, "hasMore": False}
    uri = template["uriTemplate"].replace("{+path}", completion["values"][0])
    assert "fox again" in read(shared, uri)["result"]["contents"][0]["text"]


@proves("spec Prompts: a note is embedded as a resource")
def test_a_prompt_of_ours_holds_out_the_note(shared: Client) -> None:
    result = shared.request("prompts/get", {"name": "summarize_note", "arguments": {"path": "Alpha"}})["result"]
    said, held_out = result["messages"]
    assert said["role"] == held_out["role"] == "user"
    assert said["content"]["type"] == "text"
    assert held_out["content"]["type"] == "resource"
    assert held_out["content"]["resource"]["uri"] == ROOT + "Projects/Alpha.md"
    assert "fox again" in held_out["content"]["resource"]["text"]


@proves("ours: --prompts FOLDER makes each note of the folder a prompt")
def test_a_note_of_the_prompts_folder_is_a_prompt(connect: Callable[..., Client], vault: Path, revision: str) -> None:
    write_vault(vault, PROMPTS)
    client = connect("--prompts", "Prompts")
    prompts = {prompt["name"]: prompt for prompt in client.request("prompts/list")["result"]["prompts"]}
    assert list(prompts) == [*(prompt.name for prompt in OURS), "weekly_review"]
    mine = prompts["weekly_review"]
    assert mine.get("title") == ("Weekly review" if revision >= "2025-06-18" else None)
    assert mine["description"] == "Look back on a week"
    assert mine["arguments"] == [
        {"name": "topic", "description": "What to look at", "required": True},
        {"name": "tag", "description": "Only notes with it", "required": False},
    ]
    arguments = {"topic": "foxes", "tag": "#start"}
    result = client.request("prompts/get", {"name": "weekly_review", "arguments": arguments})["result"]
    text = "What did I write about foxes this week? #start"
    assert result["messages"] == [{"role": "user", "content": {"type": "text", "text": text}}]
    error = client.request("prompts/get", {"name": "weekly_review", "arguments": {"tag": "x"}})["error"]
    assert error["code"] == -32602
    assert "'topic' (What to look at)" in error["message"]
    reference = {"type": "ref/prompt", "name": "weekly_review"}
    params = {"ref": reference, "argument": {"name": "tag", "value": "pro"}}
    assert client.request("completion/complete", params)["result"]["completion"]["values"] == [
        "project",
        "project/alpha",
    ]


@proves("ours: a prompt is what its note says at the time")
def test_a_prompt_follows_its_note(connect: Callable[..., Client], vault: Path) -> None:
    client = connect("--prompts", "Prompts/")
    assert len(client.request("prompts/list")["result"]["prompts"]) == len(OURS)
    write_vault(vault, "=== Prompts/Mine.md\nfirst\n")
    assert len(client.request("prompts/list")["result"]["prompts"]) == len(OURS) + 1
    write_vault(vault, "=== Prompts/Mine.md\nsecond\n")
    (message,) = client.request("prompts/get", {"name": "mine"})["result"]["messages"]
    assert message["content"]["text"] == "second"


@proves("ours: all of this reads and changes nothing, so a read-only server offers it as well")
def test_a_read_only_server_offers_the_same_and_no_byte_changes(connect: Callable[..., Client], vault: Path) -> None:
    before = snapshot(vault)
    client = connect("--read-only")
    assert len(listed(client)) == 5
    assert "result" in client.request("prompts/get", {"name": "daily_review"})
    assert "result" in read(client, ROOT + "Welcome.md")
    assert snapshot(vault) == before


@EVERY_DOOR
@proves("spec Subscriptions: requests of their own up to 2025-11-25, a stream in 2026-07-28")
@pytest.mark.parametrize("method", ["resources/subscribe", "resources/unsubscribe"])
def test_one_subscribes_in_the_revisions_words(shared: Client, revision: str, method: str) -> None:
    answer = shared.request(method, {"uri": ROOT + "Welcome.md"})
    if revision == STATELESS_REVISION:
        assert answer["error"]["code"] == -32601
    else:
        assert answer["result"] == {}
