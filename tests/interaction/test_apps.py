"""Views inside clients (MCP Apps): who declares them gets them, at every door; nobody else gets more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from interaction.conftest import EVERY_DOOR, EVERY_REVISION, Door, at, reach
from support.http_wire import Client
from support.proofs import proves
from support.serving import Serving
from support.vaults import write_vault
from support.wire import STATELESS_REVISION

UI = "io.modelcontextprotocol/ui"
TYPE = "text/html;profile=mcp-app"
APPS: dict[str, Any] = {"extensions": {UI: {"mimeTypes": [TYPE]}}}
VIEWS = ("search", "change", "graph")
OTHERS: list[dict[str, Any]] = [
    {},
    {"extensions": {"io.example/other": {}}},
    {"extensions": {UI: {}}},
    {"extensions": {UI: {"mimeTypes": ["text/html"]}}},
    {"extensions": {UI: {"mimeTypes": TYPE}}},
    {"extensions": [UI]},
]


def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result: dict[str, Any] = client.request("tools/call", {"name": name, "arguments": arguments})["result"]
    return result


def view_of(result: dict[str, Any]) -> Any:
    return result.get("_meta", {}).get("vaultwire/view")


@pytest.fixture
def has_views(door: Door, revision: str) -> bool:
    """Tell whether a client can declare extensions: older revisions have none, and without a session none is remembered."""
    return revision >= "2025-06-18" and (door.name != "no session" or revision == STATELESS_REVISION)


@EVERY_DOOR
@proves("SEP-1865: a tool names its view in _meta.ui.resourceUri")
def test_tools_have_views_for_a_client_that_shows_them(reach_shared: Callable[..., Client], has_views: bool) -> None:
    tools = reach_shared(APPS).request("tools/list")["result"]["tools"]
    views = {tool["name"]: tool["_meta"]["ui"]["resourceUri"] for tool in tools if "_meta" in tool}
    if not has_views:
        assert views == {}
        return
    assert views["search_notes"] == "ui://vaultwire/search"
    assert {views[name] for name in ("edit_note", "undo_changes", "list_changes")} == {"ui://vaultwire/change"}
    assert "read_note" not in views


@proves("ours: a client without views gets the list and the results as ever")
@at(Door("session", "2025-11-25"), Door("no session", STATELESS_REVISION))
@pytest.mark.parametrize("capabilities", OTHERS, ids=json.dumps)
def test_other_clients_get_nothing_more(door: Door, shared_serving: Serving, capabilities: dict[str, Any]) -> None:
    with reach(door, shared_serving, capabilities) as client:
        assert not any("_meta" in tool for tool in client.request("tools/list")["result"]["tools"])
        assert view_of(call(client, "search_notes", query="fox")) is None
        assert "error" in client.request("resources/read", {"uri": "ui://vaultwire/search"})


@proves("SEP-1865: the page of a view is one HTML without any address; who may not read notes gets none")
def test_a_page_is_a_resource(connect: Callable[..., Client], has_views: bool, tmp_path: Path) -> None:
    client = connect(capabilities=APPS)
    for view in VIEWS:
        uri = f"ui://vaultwire/{view}"
        answer = client.request("resources/read", {"uri": uri})
        if not has_views:
            assert "error" in answer
            continue
        (content,) = answer["result"]["contents"]
        assert (content["uri"], content["mimeType"]) == (uri, TYPE)
        assert content["_meta"]["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}
        assert content["text"].startswith("<!doctype html>")
    assert "error" in client.request("resources/read", {"uri": "ui://vaultwire/other"})
    policy = tmp_path / "policy.toml"
    policy.write_text('[tools]\ndeny = ["read_note"]\n')
    assert "error" in connect("--policy", str(policy), capabilities=APPS).request(
        "resources/read", {"uri": "ui://vaultwire/search"}
    )


@proves("ours: what a view shows is in _meta, so the model's text is as ever")
def test_results_carry_what_the_view_shows(connect: Callable[..., Client], has_views: bool) -> None:
    client, plain = connect(capabilities=APPS), connect()
    found = call(client, "search_notes", query="fox")
    assert found["content"] == call(plain, "search_notes", query="fox")["content"]
    if not has_views:
        assert view_of(found) is None
        return
    search = view_of(found)["search"]
    assert {note["path"] for note in search["notes"]} == {"Welcome.md", "Projects/Alpha.md"}
    assert {"t": "fox", "mark": True} in search["notes"][0]["lines"][0]["parts"]
    graph = view_of(call(client, "list_links", what="hubs"))["graph"]
    assert [node[0] for node in graph["nodes"] if node[4] and "Projects" in node[0]] == ["Projects/Alpha.md"]
    assert len(graph["edges"]) == 2


@proves("ours: a change is shown with its differences, and Undo in the view is a call of undo_changes")
def test_a_change_is_shown_and_undone(connect: Callable[..., Client], has_views: bool, vault: Path) -> None:
    client = connect(capabilities=APPS)
    before = (vault / "Projects/Plan.md").read_bytes()
    made = call(client, "edit_note", path="Projects/Plan.md", old="A plan", new="A good plan")
    if not has_views:
        assert view_of(made) is None
        return
    item = view_of(made)["item"]
    assert (item["state"], item["can_undo"], item["id"]) == ("made", True, "c1")
    assert {"t": "good ", "op": "+"} in item["files"][0]["hunks"][0]["rows"][0]["new_parts"]
    undone = call(client, "undo_changes", changes=[1])
    assert view_of(undone)["item"]["id"] == "c2"
    assert (vault / "Projects/Plan.md").read_bytes() == before
    shown = call(client, "list_changes", change=1)
    assert view_of(shown)["item"]["state"] == "undone"
    listed = call(client, "list_changes")
    assert [each["change"] for each in view_of(listed)["changes"]] == [2, 1]


@proves("ours: a client that may write and not read is shown no lines of a note")
def test_a_view_shows_nothing_that_the_client_may_not_read(
    connect: Callable[..., Client], has_views: bool, tmp_path: Path
) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[tools]\ndeny = ["read_note"]\n')
    for options in (("--policy", str(policy)), ("--no-tool", "read_note")):
        made = call(connect(*options, capabilities=APPS), "create_note", path=f"{options[0]}.md", content="x")
        assert made["isError"] is False
        assert view_of(made) is None


@EVERY_REVISION
@proves(
    "SEP-1865: the server declares the extension; before 2026-07-28 to a client that did, for its schema has no such field"
)
def test_the_extension_is_declared(reach_shared: Callable[..., Client], revision: str) -> None:
    told = [reach_shared(each).opened["capabilities"].get("extensions", {}) for each in (APPS, *OTHERS[:2])]
    if revision == STATELESS_REVISION:
        assert [each[UI] for each in told] == [{}, {}, {}]
    else:
        assert told == [{UI: {}} if revision >= "2025-06-18" else {}, {}, {}]


@proves("ours: with several vaults a view knows its vault, and asks about that one")
def test_a_view_names_its_vault(connect: Callable[..., Client], has_views: bool, tmp_path: Path) -> None:
    other = write_vault(tmp_path / "Second", "=== B.md\nA zebra.\n")
    client = connect("--vault", str(other), capabilities=APPS)
    shown = view_of(call(client, "search_notes", query="zebra", vault="Second"))
    assert (shown or {}).get("vault") == ("Second" if has_views else None)
    made = view_of(call(client, "edit_note", path="B.md", old="A zebra", new="Two zebras", vault="Second"))
    assert ((made or {}).get("vault"), (made or {}).get("item", {}).get("id")) == (
        ("Second", "c1") if has_views else (None, None)
    )
