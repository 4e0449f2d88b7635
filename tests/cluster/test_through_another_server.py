"""What is begun at one of several servers goes on at another: calls, tasks, prompts, skills, batches."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.postgres import PostgresServer
from support.serving import Serving
from support.teams import (
    VAULTS,
    Client,
    Start,
    count,
    owners_for_many_tests,
    stateless,
    text_of,
    two_owners,
    two_vaults,
    uri,
    wait_for,
)
from vaultwire.cluster.database import Database
from vaultwire.protocol.revisions import TASKS

REPLICA = (sys.executable, str(Path(__file__).parents[1] / "conformance" / "replica.py"))
NOTES = """
=== Note.md
in NAME
=== Prompts/Plan NAME.md
Plan {{what}} in NAME.
=== Skills/LOWER-skill/SKILL.md
---
name: LOWER-skill
description: Works in NAME.
---
Do it in NAME.
"""
# What is in the vaults makes prompts and skills only with these.
OPTIONS = ("--prompts", "Prompts", "--skills-folder", "Skills")


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    """Starts a server of two vaults."""
    with two_vaults(tmp_path, url, NOTES) as begin:
        yield begin


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[tuple[Serving, Serving]]:
    """The owners of Home and Work, for all tests that leave them as they are."""
    with owners_for_many_tests(tmp_path_factory.mktemp("owners"), postgres, NOTES, *OPTIONS) as pair:
        yield pair


def tool_call(id_: int, vault: str, tool: str = "read_notes", **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": {**(arguments or {"paths": ["Note.md"]}), "vault": vault}}
    return {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


def append(id_: int, vault: str, line: str) -> dict[str, Any]:
    return tool_call(id_, vault, "write_note", path="Note.md", content=line, mode="append")


def texts(answer: Any) -> dict[int, str]:
    """Return the texts of a batch's answers by their ids."""
    return {each["id"]: each["result"]["content"][0]["text"] for each in answer}


# ---------------------------------------------------------------------- calls and tasks


@pytest.mark.parametrize("is_owner", [False, True])
def test_a_call_is_cancelled_through_another_server(servers: tuple[Serving, Serving], *, is_owner: bool) -> None:
    home, work = servers
    called, told = (work, home) if is_owner else (home, work)
    client = Client(home, elicitation={})
    arguments = {"path": "Note.md", "permanent": True, "vault": "Work"}
    events = client.stream(called, "tools/call", {"name": "delete_note", "arguments": arguments})
    assert next(events)["method"] == "elicitation/create"  # now it waits for the person
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": client.last_id}}
    assert client.send(told, {"jsonrpc": "2.0", **cancelled}).status == 202
    assert not any("result" in event for event in events)  # the stream ends without an answer
    assert "in Work" in text_of(home.call("read_notes", {"paths": ["Note.md"], "vault": "Work"}))


def test_a_task_goes_on_at_its_server_and_is_asked_for_at_any(start: Start, database: Database) -> None:
    home, work = two_owners(start, database, command=REPLICA)

    def begin(server: Serving, vault: str, seconds: int) -> str:
        params = {"name": "slow_compute", "arguments": {"seconds": seconds, "label": "all", "vault": vault}}
        task = stateless(server, "tools/call", params, extensions=[TASKS], mcp_name="slow_compute").json["result"]
        assert (task["resultType"], task["status"]) == ("task", "working")
        return str(task["taskId"])

    def ask(server: Serving, method: str, id_: str) -> Any:
        return stateless(server, method, {"taskId": id_}, extensions=[TASKS], mcp_name=id_).json["result"]

    def has_status(server: Serving, id_: str, status: str) -> bool:
        return bool(ask(server, "tasks/get", id_)["status"] == status)

    for vault, (one, other) in itertools.product(VAULTS, ((home, work), (work, home))):
        short, long = begin(one, vault, 1), begin(one, vault, 1000)
        assert ask(other, "tasks/get", long)["status"] == "working"
        assert ask(other, "tasks/cancel", long)["resultType"] == "complete"
        for server in (other, one):
            wait_for(partial(has_status, server, long, "cancelled"))
            wait_for(partial(has_status, server, short, "completed"))
            assert ask(server, "tasks/get", short)["result"]["content"][0]["text"] == "computed all"


# ---------------------------------------------------------------------- prompts and skills


def test_prompts_of_all_vaults_are_listed_and_fetched_at_every_server(servers: tuple[Serving, Serving]) -> None:
    client = Client(servers[0])
    lists = [client.post(server, "prompts/list", {}).json["result"]["prompts"] for server in servers]
    assert lists[0] == lists[1]
    assert [each["name"] for each in lists[0]][-2:] == ["home__plan_home", "work__plan_work"]
    assert len({each["name"] for each in lists[0]}) == len(lists[0])
    without = [stateless(server, "prompts/list", {}).json["result"]["prompts"] for server in servers]
    assert [[each["name"] for each in prompts] for prompts in without] == [[each["name"] for each in lists[0]]] * 2
    for server, vault in itertools.product(servers, VAULTS):
        name = f"{vault.lower()}__plan_{vault.lower()}"
        prompt = client.post(server, "prompts/get", {"name": name, "arguments": {"what": "lunch"}}).json["result"]
        assert prompt["messages"][0]["content"]["text"] == f"Plan lunch in {vault}."
    wrong = [client.post(server, "prompts/list", {"cursor": "x"}).json["error"] for server in servers]
    assert wrong[0] == wrong[1]


def test_skills_of_all_vaults_are_listed_and_fetched_at_every_server(servers: tuple[Serving, Serving]) -> None:
    uris = [f"skill://vault/{vault}/{vault.lower()}-skill/SKILL.md" for vault in VAULTS]
    lists = [stateless(server, "skills/list", {}).json["result"]["skills"] for server in servers]
    assert lists[0] == lists[1]
    listed = [skill["uri"] for skill in lists[0]]
    assert listed[-2:] == uris
    assert len(set(listed)) == len(listed) > len(uris)  # those that come with the program, once
    for server, (vault, skill) in itertools.product(servers, zip(VAULTS, uris, strict=True)):
        entry = stateless(server, "skills/get", {"uri": skill}).json["result"]["skill"]
        assert entry["frontmatter"]["description"] == f"Works in {vault}."
        contents = stateless(server, "resources/read", {"uri": skill}, mcp_name=skill).json["result"]["contents"]
        assert contents[0]["text"].endswith(f"Do it in {vault}.\n")


def test_many_skills_are_listed_page_by_page(start: Start, database: Database, tmp_path: Path) -> None:
    for vault, number in itertools.product(VAULTS, range(25)):
        folder = tmp_path / vault / "Skills" / f"more-{number}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: more-{number}\ndescription: More.\n---\nDo more.\n")
    servers = two_owners(start, database, *OPTIONS)
    chosen = itertools.cycle(servers)
    uris: list[str] = []
    params: dict[str, Any] = {}
    while True:  # each page from another server
        page = stateless(next(chosen), "skills/list", params).json["result"]
        uris += [skill["uri"] for skill in page["skills"]]
        if "nextCursor" not in page:
            break
        params = {"cursor": page["nextCursor"]}
    of_vaults = [uri for uri in uris if uri.startswith("skill://vault/")]
    assert len(uris) == len(set(uris))
    assert len(of_vaults) == 2 * (25 + 1)


def test_a_list_is_refused_while_a_vault_has_no_owner(start: Start, database: Database) -> None:
    home, work = two_owners(start, database, *OPTIONS)
    client = Client(work)
    names = [prompt["name"] for prompt in client.post(work, "prompts/list", {}).json["result"]["prompts"]]
    home.process.kill()
    refused = client.post(work, "prompts/list", {})
    assert (refused.status, refused.json["error"]) == (503, "SERVER_BUSY")
    wait_for(lambda: count(work) == len(VAULTS))
    wait_for(lambda: client.post(work, "prompts/list", {}).status == 200)
    again = client.post(work, "prompts/list", {}).json["result"]["prompts"]
    assert sorted(prompt["name"] for prompt in again) == sorted(names)


# ---------------------------------------------------------------------- batches


def test_each_request_of_a_batch_goes_to_the_owner_of_its_vault(servers: tuple[Serving, Serving]) -> None:
    client = Client(servers[0], revision="2025-03-26")
    for server in servers:
        batch = [
            tool_call(1, "Home"),
            tool_call(2, "Work"),
            {"jsonrpc": "2.0", "id": 3, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}},
            {"jsonrpc": "2.0", "id": 4, "method": "resources/read", "params": {"uri": uri("Work")}},
            {"jsonrpc": "2.0", "id": 5, "method": "no/such"},
            tool_call(6, "Nowhere"),
        ]
        reply = client.send(server, batch)
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")
        answers = {each["id"]: each for each in reply.json}
        assert len(reply.json) == len(answers) == 6
        said = texts(answers[number] for number in (1, 2, 6))
        assert ("in Home" in said[1], "in Work" in said[2], "VAULT_NOT_FOUND" in said[6]) == (True, True, True)
        assert answers[3]["result"] == {}
        assert "in Work" in answers[4]["result"]["contents"][0]["text"]
        assert answers[5]["error"]["code"] == -32601


def test_a_change_in_a_batch_with_a_notification_is_made_once(servers: tuple[Serving, Serving]) -> None:
    client = Client(servers[0], revision="2025-03-26")
    notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 99}}
    for server, vault in itertools.product(servers, VAULTS):
        assert client.send(server, [notification, append(1, vault, "once\n")]).status == 200
    for vault in VAULTS:
        text = text_of(servers[0].call("read_notes", {"paths": ["Note.md"], "vault": vault}))
        assert text.count("once") == len(servers)


def test_what_refuses_a_whole_batch_is_said_as_by_one_server(servers: tuple[Serving, Serving]) -> None:
    batch = [tool_call(1, "Home"), tool_call(2, "Work")]
    newer = Client(servers[0])
    replies = [newer.send(server, batch) for server in servers]
    assert all(
        "batches exist in protocol version 2025-03-26 only" in reply.json["error"]["message"] for reply in replies
    )
    client = Client(servers[0], revision="2025-03-26")
    assert client.request(servers[0], "DELETE").status == 204
    assert [client.send(server, batch).status for server in servers] == [404, 404]


def test_a_request_of_a_batch_whose_vault_has_no_owner_is_refused_alone(start: Start, database: Database) -> None:
    home, work = two_owners(start, database)
    client = Client(work, revision="2025-03-26")
    home.process.kill()
    reply = client.send(work, [append(1, "Home", "never\n"), append(2, "Work", "done\n")])
    assert isinstance(reply.json, list), reply
    answers = {each["id"]: each for each in reply.json}
    assert (reply.status, sorted(answers)) == (200, [1, 2])
    error = answers[1]["error"]
    assert (error["code"], error["data"]["errorCode"]) == (-32603, "SERVER_BUSY")
    assert error["message"].startswith("SERVER_BUSY: ")
    assert "Note.md" in answers[2]["result"]["content"][0]["text"]
    wait_for(lambda: count(work) == len(VAULTS))
    read = {vault: text_of(work.call("read_notes", {"paths": ["Note.md"], "vault": vault})) for vault in VAULTS}
    assert ("never" in read["Home"], "done" in read["Work"]) == (False, True)
