"""A grant for some folders: what is outside of them is nowhere for its client, and for the others all is as before.

Two servers are asked the same by such a client: one whose vault has notes outside, one whose vault never had them. Whatever
comes out of one comes out of the other, with the same words.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from support.serving import Serving
from support.sign_in import HELLO, PASSWORD, TAKES_BOTH, URL, Connecting
from support.vaults import write_vault
from vaultwire.remote import people
from vaultwire.remote.store import Grant, Store

MARK = "QXZ"  # in nothing that may be seen
INSIDE = """=== Work/Plan.md
---
aliases: [The plan]
tags: [work]
---
# Plan
Water the leeks, see [[Diary]] and [[Log]].
- [ ] dig
=== Work/deep/Log.md
Leeks were watered. [[Plan]]
=== Work/Board.canvas
{"nodes":[{"id":"a","type":"text","text":"leeks","x":0,"y":0,"width":9,"height":9}],"edges":[]}
"""
OUTSIDE = f"""=== Diary.md
---
aliases: [{MARK}alias, The plans]
tags: [{MARK}tag, work]
{MARK}property: 1
---
# {MARK}heading
Leeks {MARK}words, see [[Plan]] and [[Work/Plan]]. ![[Log]]
- [ ] {MARK}task
=== {MARK}folder/Plan.md
Leeks {MARK}words [[Log]] #work
=== Workshop/Leeks.md
Leeks {MARK}words
=== AGENTS.md
{MARK}guide
=== {MARK}.canvas
{{"nodes":[{{"id":"a","type":"file","file":"Work/Plan.md","x":0,"y":0,"width":9,"height":9}}],"edges":[]}}
"""
LONG_AGO = 1_700_000_000
TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("search_notes", {"query": "leeks"}),
    ("search_notes", {"query": f"{MARK}words"}),
    ("search_notes", {"query": "tag:#work"}),
    ("find_notes", {"text": "plan"}),
    ("vault_overview", {}),
    ("list_folder", {}),
    ("read_note", {"path": "Plan"}),
    ("read_note", {"path": "Diary"}),
    ("read_note", {"path": f"{MARK}folder/Plan"}),
    ("read_note", {"path": "Workshop/Leeks.md"}),
    ("read_note", {"path": "Work/../Diary.md"}),
    ("read_note", {"path": "The plans"}),
    ("note_links", {"path": "Plan"}),
    ("check_notes", {}),
    ("list_changes", {}),
    ("list_tasks", {}),
    ("list_tags", {}),
    ("write_note", {"path": "Diary.md", "content": "x"}),
    ("write_note", {"path": "Workshop/New.md", "content": "x"}),
    ("move_notes", {"moves": [{"path": "Work/Plan.md", "to": "Plan.md"}]}),
    ("add_attachment", {"path": f"{MARK}folder/x.png", "data": "iVBORw0KGgo="}),
]
METHODS: list[tuple[str, dict[str, Any]]] = [
    ("resources/list", {}),
    ("resources/read", {"uri": "obsidian://open?vault=vault&file=Diary"}),
    ("resources/read", {"uri": "obsidian://open?vault=vault&file=Work%2FPlan"}),
    ("resources/templates/list", {}),
    ("prompts/list", {}),
    (
        "completion/complete",
        {"ref": {"type": "ref/prompt", "name": "summarize_note"}, "argument": {"name": "note", "value": ""}},
    ),
]
CHANGING = re.compile(r"(?<=\"executionTime\": )[\d.]+|\d{4}-\d\d-\d\dT[\d:.]+Z|\d{10,}|\b[0-9a-f]{8}(?=\.\d)")


def make_state(folder: Path) -> Path:
    with closing(Store(str(folder / "sign-in"))) as store:
        people.add(store, "Ana", PASSWORD)
    return folder


def make_vault(folder: Path, text: str) -> Path:
    write_vault(folder, text)
    for file in folder.rglob("*.*"):
        os.utime(file, (LONG_AGO, LONG_AGO))
    return folder


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Serving]]:
    """Yield a server whose vault has notes outside, and one whose vault has not."""
    with ExitStack() as stack:
        started = []
        for name, text in (("a", INSIDE + OUTSIDE), ("b", INSIDE)):
            folder = tmp_path_factory.mktemp(name)
            state = make_state(folder / "state")
            vault = make_vault(folder / "vault", text)
            server = Serving(vault, "--public-url", URL, VAULTWIRE_STATE=str(state))
            started.append(stack.enter_context(server))
        yield started


def connected(server: Serving, *folders: str, **choice: str) -> tuple[Connecting, dict[str, str]]:
    """Return a client for which a person ticked these folders, and the header with its token."""
    client = Connecting(server)
    client.register()
    address = client.request()
    page = client.sign_in(address)
    ticket = re.search(r'name="ticket" value="([^"]+)"', page.body.decode())
    assert ticket is not None
    offered = re.findall(r'name="folder" value="0/([^"]+)"', page.body.decode())
    assert set(folders) <= set(offered)
    fields = {"step": "allow", "ticket": ticket[1], "access": "write", "days": "30", **choice}
    code = client.submit_all(address, [*fields.items(), *(("folder", f"0/{folder}") for folder in folders)])
    token = client.exchange(code).json["access_token"]
    return client, {"authorization": f"Bearer {token}"}


def asked(client: Connecting, bearer: dict[str, str], method: str, params: dict[str, Any]) -> str:
    reply = client.tell({"jsonrpc": "2.0", "id": 2, "method": method, "params": params}, **bearer)
    assert reply.status == 200
    return CHANGING.sub("VARIES", json.dumps(reply.json, ensure_ascii=False))


def test_a_note_outside_is_nowhere(servers: list[Serving]) -> None:
    clients = [connected(server, "Work") for server in servers]
    questions = [("tools/call", {"name": name, "arguments": arguments}) for name, arguments in TOOLS] + METHODS
    for method, params in questions:
        ours, theirs = (asked(client, bearer, method, params) for client, bearer in clients)
        # In any order: while an index is still being built, equal hits may change places (ranks: trust/test_policy_random.py).
        assert sorted(re.findall(r"\w+", ours)) == sorted(re.findall(r"\w+", theirs))
        mentioned = json.dumps(params)
        assert MARK in mentioned or MARK not in ours, (params, ours)
    client, bearer = clients[0]
    reply = client.call(bearer["authorization"].removeprefix("Bearer "), "search_notes", query="leeks")
    assert reply.json["success"] is True
    assert MARK.encode() not in reply.body  # nor over REST


def test_instructions_and_guides_tell_nothing_of_what_is_outside(servers: list[Serving]) -> None:
    client, bearer = connected(servers[0], "Work")
    assert MARK.encode() not in client.tell(HELLO, **bearer).body
    everything, all_ = connected(servers[0])
    assert f"{MARK}guide".encode() in everything.tell(HELLO, **all_).body


def test_who_was_allowed_all_sees_all_beside_it(servers: list[Serving]) -> None:
    narrow, bearer = connected(servers[0], "Work")
    assert f"{MARK}words" not in asked(
        narrow, bearer, "tools/call", {"name": "search_notes", "arguments": {"query": "leeks"}}
    )
    everything, all_ = connected(servers[0])
    assert f"{MARK}words" in asked(
        everything, all_, "tools/call", {"name": "search_notes", "arguments": {"query": "leeks"}}
    )
    deep, of_deep = connected(servers[0], "Work/deep")
    assert "FILE_NOT_FOUND" in asked(
        deep, of_deep, "tools/call", {"name": "read_note", "arguments": {"path": "Work/Plan"}}
    )
    assert "watered" in asked(deep, of_deep, "tools/call", {"name": "read_note", "arguments": {"path": "Log"}})


def test_a_session_of_a_wider_grant_is_none_for_a_narrow_one(servers: list[Serving]) -> None:
    wide, all_ = connected(servers[0])
    narrow, bearer = connected(servers[0], "Work")
    session = wide.tell(HELLO, **all_).headers["mcp-session-id"]
    ping = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
    assert narrow.send("POST", "/mcp", ping, **TAKES_BOTH, mcp_session_id=session, **bearer).status == 404


def test_changes_of_both_are_seen_by_each_within_its_folders(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "vault", INSIDE + OUTSIDE)
    with Serving(vault, "--public-url", URL, VAULTWIRE_STATE=str(make_state(tmp_path / "state"))) as server:
        narrow, bearer = connected(server, "Work")
        wide, all_ = connected(server)

        def call(client: Connecting, headers: dict[str, str], tool: str, **arguments: Any) -> str:
            return asked(client, headers, "tools/call", {"name": tool, "arguments": arguments})

        assert "New" in call(narrow, bearer, "write_note", path="Work/New.md", content="turnips")
        assert "turnips" in call(wide, all_, "search_notes", query="turnips")
        call(wide, all_, "write_note", path="Other.md", content="radishes")
        call(wide, all_, "write_note", path="Work/Third.md", content="radishes")
        said = ""
        while "Work/Third.md" not in said:  # once the narrow engine has heard of the file
            said = call(narrow, bearer, "search_notes", query="radishes")
        assert "Other.md" not in said
        assert "Other.md" not in call(narrow, bearer, "list_changes")
        assert "Other.md" in call(wide, all_, "list_changes")


def test_boxes_that_were_not_offered_are_refused(servers: list[Serving]) -> None:
    client = Connecting(servers[0])
    client.register()
    for folder in ("1/Work", "0/../x", "Work", "0/Work\x00", "x/Work", "-1/Work", "²/Work"):
        address = client.request()
        page = client.sign_in(address)
        ticket = re.search(r'name="ticket" value="([^"]+)"', page.body.decode())
        assert ticket is not None
        fields = [("step", "allow"), ("ticket", ticket[1]), ("access", "read"), ("days", "30"), ("folder", folder)]
        with pytest.raises(KeyError, match="code"):
            client.submit_all(address, fields)


def test_the_page_shows_folders_as_text(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "vault", "=== A & <b>/Note.md\nx\n" if os.name != "nt" else "=== A & b/Note.md\nx\n")
    with Serving(vault, "--public-url", URL, VAULTWIRE_STATE=str(make_state(tmp_path / "state"))) as server:
        client = Connecting(server)
        client.register()
        page = client.sign_in(client.request()).body.decode()
        assert "<b>" not in page
        assert "A &amp; " in page


def test_of_several_vaults_only_those_that_were_ticked_are_there(tmp_path: Path) -> None:
    for name in ("One", "Two"):
        make_vault(tmp_path / name, f"=== {name}/Note.md\nleeks of {name}\n=== Top.md\nleeks on top of {name}\n")
    second = ("--vault", str(tmp_path / "Two"))
    with Serving(
        tmp_path / "One", *second, "--public-url", URL, VAULTWIRE_STATE=str(make_state(tmp_path / "s"))
    ) as server:
        client, bearer = connected(server, "One")
        said = asked(client, bearer, "tools/call", {"name": "search_notes", "arguments": {"query": "leeks"}})
        assert "leeks of One" in said
        assert "top" not in said
        refused = asked(
            client, bearer, "tools/call", {"name": "search_notes", "arguments": {"query": "leeks", "vault": "Two"}}
        )
        assert "leeks of Two" not in refused
        assert "Two" not in asked(client, bearer, "tools/list", {}) + json.dumps(client.tell(HELLO, **bearer).json)


def test_a_grant_for_a_vault_that_is_not_served_opens_nothing(tmp_path: Path) -> None:
    vault = make_vault(tmp_path / "vault", INSIDE)
    state = make_state(tmp_path / "state")
    with closing(Store(str(state / "sign-in"))) as store:
        asked_for = Grant("", "Ana", "claude.ai", "id", "", True, 0, 0, 0, (("Another", "Work"),))
        code = store.new_code(asked_for, 3600, "x", "y")
        assert code is not None
        (grant,) = store.grants()
        assert grant.folders == (("Another", "Work"),)
        pair = store.new_pair(grant)
        assert pair is not None
    with Serving(vault, "--public-url", URL, VAULTWIRE_STATE=str(state)) as server:
        assert Connecting(server).tell(HELLO, authorization=f"Bearer {pair.access}").status == 401


def test_an_older_file_gets_the_column_and_its_grants_keep_all_folders(tmp_path: Path) -> None:
    state = make_state(tmp_path / "state")
    with closing(sqlite3.connect(state / "sign-in" / "sign-in.sqlite3")) as database:
        database.execute("ALTER TABLE grants DROP COLUMN folders")
        database.execute("INSERT INTO grants VALUES ('id', 'Ana', 'claude.ai', 'c', '', 0, 0, ?, 0)", (1 << 40,))
        database.execute("INSERT INTO tokens VALUES (x'00', 'access', 'id', ?, 0, NULL, NULL, NULL)", (1 << 40,))
        database.commit()
    with closing(Store(str(state / "sign-in"))) as store:
        assert [grant.folders for grant in store.grants()] == [()]
