"""``serve --database`` with two vaults: each has an owner of its own, and every server takes every request."""

from __future__ import annotations

import itertools
import json
import queue
import signal
import sys
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from support.command_line import run_command
from support.postgres import PostgresServer
from support.serving import Reply, Serving
from support.teams import (
    STATELESS,
    VAULTS,
    Client,
    Start,
    count,
    issue,
    owners_for_many_tests,
    text_of,
    two_owners,
    two_vaults,
    uri,
    wait_for,
)
from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import Leases, owners
from vaultwire.cluster.members import Members
from vaultwire.cluster.replica import Replica


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    """Starts a server with a state folder of its own, as on another machine."""
    with two_vaults(tmp_path, url) as begin:
        yield begin


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, postgres: PostgresServer) -> Iterator[tuple[Serving, Serving]]:
    """The owners of Home and Work, for all tests that leave them as they are."""
    with owners_for_many_tests(tmp_path_factory.mktemp("owners"), postgres) as pair:
        yield pair


def read(server: Serving, vault: str) -> Reply:
    return server.call("read_notes", {"paths": ["Note.md"], "vault": vault})


def append(server: Serving, vault: str, text: str) -> Reply:
    return server.call("write_note", {"path": "Note.md", "content": text, "mode": "append", "vault": vault})


def changes(server: Serving, vault: str) -> int:
    return text_of(server.call("list_changes", {"vault": vault, "limit": 1000})).count("Note.md")


def test_each_vault_has_an_owner_and_every_server_answers_for_both(servers: tuple[Serving, Serving]) -> None:
    before = {vault: changes(servers[0], vault) for vault in VAULTS}
    for server, vault in itertools.product(servers, VAULTS):
        assert f"in {vault}" in text_of(read(server, vault))
        assert "Note.md" in text_of(append(server, vault, "more\n"))
    for server, vault in itertools.product(servers, VAULTS):
        assert changes(server, vault) == before[vault] + 2
        nested = {"tool": "list_changes", "arguments": {"vault_name": vault.lower()}}
        direct = text_of(server.call("list_changes", {"vault": vault}))
        assert text_of(server.call("more_tools", nested)) == direct
    for server in servers:  # a call that names none means the first
        assert "in Home" in text_of(server.call("read_notes", {"paths": ["Note.md"]}))
        assert "VAULT_NOT_FOUND" in text_of(read(server, "Nowhere"))
        assert server.call("no_such_tool", {}).status == 404


def test_one_session_uses_both_vaults_through_every_server(servers: tuple[Serving, Serving]) -> None:
    client = Client(servers[0])
    for server, vault in itertools.product(servers, VAULTS):
        arguments = {"path": "Note.md", "content": "line\n", "mode": "append", "vault": vault}
        done = client.post(server, "tools/call", {"name": "write_note", "arguments": arguments}).json
        assert not done["result"]["isError"], done
        assert (
            f"in {vault}"
            in client.post(server, "resources/read", {"uri": uri(vault)}).json["result"]["contents"][0]["text"]
        )
        assert client.post(server, "tools/list", {}).json["result"]["tools"]
        assert client.post(server, "ping", {}).json["result"] == {}
    for server in servers:
        page = client.post(server, "resources/list", {}).json["result"]
        following = client.post(server, "resources/list", {"cursor": page["nextCursor"]}).json["result"]
        assert [each["uri"] for each in (*page["resources"], *following["resources"])] == [*map(uri, VAULTS)]
        values = client.post(
            server,
            "completion/complete",
            {
                "ref": {"type": "ref/resource", "uri": "obsidian://vault/{vault}/{+path}"},
                "argument": {"name": "path", "value": "No"},
                "context": {"arguments": {"vault": "Work"}},
            },
        ).json["result"]["completion"]["values"]
        assert values == ["Note.md"]


def test_a_session_hears_of_both_vaults_at_every_server(servers: tuple[Serving, Serving]) -> None:
    client = Client(servers[0])
    for vault in VAULTS:
        assert client.post(servers[1], "resources/subscribe", {"uri": uri(vault)}).json["result"] == {}
    for server in servers:
        stream = client.listen(server)
        assert next(stream).startswith("HTTP/1.1 200 ")
        for other, vault in itertools.product(servers, VAULTS):
            append(other, vault, "more\n")
            assert any(uri(vault) in line for line in stream)
        stream.close()
    assert client.post(servers[0], "resources/unsubscribe", {"uri": uri("Work")}).json["result"] == {}
    stream = client.listen(servers[0])
    assert next(stream).startswith("HTTP/1.1 200 ")
    append(servers[0], "Work", "unheard\n")
    append(servers[0], "Home", "heard\n")
    assert any(uri("Home") in line for line in itertools.takewhile(lambda line: uri("Work") not in line, stream))


def listening(server: Serving, uris: list[str]) -> Generator[str]:
    """Yield the lines of the stream of a request without a session that listens."""
    meta = {
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    params = {"notifications": {"resourceSubscriptions": uris}, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "subscriptions/listen", "params": params})
    head = f"MCP-Protocol-Version: {STATELESS}\r\nMcp-Method: subscriptions/listen\r\nContent-Length: {len(body)}\r\n"
    accept = "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n"
    with server.connect() as connection:
        connection.sendall(f"POST /mcp HTTP/1.1\r\nHost: localhost\r\n{accept}{head}\r\n{body}".encode())
        with connection.makefile("r", encoding="utf-8") as stream:
            yield from stream


def test_a_client_without_a_session_hears_of_both_vaults(servers: tuple[Serving, Serving]) -> None:
    for server in servers:
        stream = listening(server, [*map(uri, VAULTS)])
        assert next(stream).startswith("HTTP/1.1 200 ")
        acknowledged = 0
        for vault in VAULTS:
            append(servers[0], vault, "more\n")
            for line in stream:
                acknowledged += "notifications/subscriptions/acknowledged" in line
                if f'"uri":"{uri(vault)}"' in line:
                    break
        assert acknowledged == 1
        stream.close()


def test_a_question_to_the_client_and_its_answer_go_through_any_server(servers: tuple[Serving, Serving]) -> None:
    home, work = servers
    client = Client(home, elicitation={})
    arguments = {"path": "Note.md", "permanent": True, "vault": "Work"}
    events = client.stream(home, "tools/call", {"name": "delete_note", "arguments": arguments})
    question = next(event for event in events if event.get("method") == "elicitation/create")
    assert "Note.md" in question["params"]["message"]
    answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}
    assert client.send(home, answer).status == 202  # not the server that has asked
    done = next(event for event in events if "result" in event)
    assert "Nothing was changed" in done["result"]["content"][0]["text"]
    assert "in Work" in text_of(read(work, "Work"))


def test_a_session_ends_everywhere(servers: tuple[Serving, Serving]) -> None:
    client = Client(servers[0])
    for server in servers:
        assert client.post(server, "resources/list", {}).status == 200
    assert client.request(servers[1], "DELETE").status == 204
    assert [client.post(server, "resources/list", {}).status for server in servers] == [404, 404]


def test_a_newcomer_gets_its_share_once_it_has_been_there_for_the_time_of_a_lease(
    start: Start, database: Database
) -> None:
    first = start()
    wait_for(lambda: count(first) == len(VAULTS))
    second = start()
    wait_for(lambda: (count(first), count(second)) == (1, 1))
    wait_for(lambda: [read(server, vault).status for server in (first, second) for vault in VAULTS] == [200] * 4)


def test_nobody_uses_the_session_of_another_key(start: Start, database: Database, url: str) -> None:
    keys = {name: issue(name, url) for name in ("anna", "ben")}
    one, other = start("--require-key"), start("--require-key")
    wait_for(lambda: count(one) + count(other) == len(VAULTS))
    client = Client(one, key=keys["anna"])
    wait_for(lambda: client.post(other, "resources/list", {}).status == 200)
    client.use_key(keys["ben"])
    third = start("--require-key")
    wait_for(lambda: third.request("GET", "/ready").status == 200)
    for server in (one, other, third):
        assert client.post(server, "resources/list", {}).status == 404


def test_a_killed_server_takes_no_session_with_it(start: Start, database: Database) -> None:
    home, work = two_owners(start, database)
    client = Client(home)
    client.post(work, "resources/subscribe", {"uri": uri("Home")})
    client.post(work, "logging/setLevel", {"level": "debug"})
    home.process.kill()
    assert "in Work" in text_of(read(work, "Work"))  # its own vault, meanwhile
    wait_for(lambda: count(work) == len(VAULTS))
    third = start()
    wait_for(lambda: third.request("GET", "/ready").status == 200)
    stream = client.listen(third)  # a server that has never seen the session
    assert next(stream).startswith("HTTP/1.1 200 ")
    wait_for(lambda: append(third, "Home", "more\n").status == 200)
    assert any(uri("Home") in line for line in stream)


def test_a_person_moves_one_vault_and_it_stays_there(start: Start, database: Database, url: str) -> None:
    home, work = two_owners(start, database)
    client = Client(home)
    numbers = {owner.vault: owner.number for owner in owners(database)}
    done = run_command("database", "release", "Home", url)
    assert (done.returncode, done.stderr) == (0, "")
    wait_for(lambda: count(work) == len(VAULTS))
    wait_for(lambda: "in Home" in str(client.post(home, "resources/read", {"uri": uri("Home")}).json))
    assert (count(home), count(work)) == (0, 2)
    now = {owner.vault: owner.number for owner in owners(database)}
    assert (now["Home"] > numbers["Home"], now["Work"]) == (True, numbers["Work"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP")
def test_an_owner_that_is_paused_wakes_without_its_vault_and_holds_up_no_other(
    start: Start, database: Database
) -> None:
    home, work = two_owners(start, database)
    home.process.send_signal(signal.SIGSTOP)
    assert "Note.md" in text_of(append(work, "Work", "meanwhile\n"))
    wait_for(lambda: count(work) == len(VAULTS))
    assert "Note.md" in text_of(append(work, "Home", "by the other\n"))
    home.process.send_signal(signal.SIGCONT)
    wait_for(lambda: home.request("GET", "/ready").json["role"] == "stand-by" or count(work) == 1)
    wait_for(lambda: append(home, "Home", "later\n").status == 200)
    assert text_of(read(home, "Home")).count("by the other") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP")
def test_a_call_that_is_passed_on_to_a_paused_owner_is_answered_once_another_owns_the_vault(
    start: Start, database: Database
) -> None:
    home, work = two_owners(start, database)
    client = Client(work)
    edit = {"path": "Note.md", "content": "perhaps\n", "mode": "append", "vault": "Home"}
    calls: list[Callable[[], Reply]] = [
        lambda: read(work, "Home"),
        lambda: client.post(work, "resources/read", {"uri": uri("Home")}),
        lambda: client.post(work, "prompts/get", {"name": "summarize", "arguments": {"vault": "Home"}}),
        lambda: append(work, "Home", "perhaps\n"),
        lambda: client.post(work, "tools/call", {"name": "write_note", "arguments": edit}),
        lambda: work.call("more_tools", {"tool": "write_note", "arguments": edit}),
    ]
    with ThreadPoolExecutor(len(calls)) as pool:
        home.process.send_signal(signal.SIGSTOP)
        *reads, a, b, c = [future.result() for future in [pool.submit(call) for call in calls]]
    assert home.process.poll() is None  # still paused: nobody but the other server can have answered
    for reply in reads:
        assert (reply.status, reply.headers["retry-after"], reply.json["error"]) == (503, "2", "SERVER_BUSY"), reply
        assert "has not answered. Nothing was changed." in reply.json["message"]
    for reply in (a, b, c):
        assert (reply.status, reply.json["error"]) == (503, "SERVER_BUSY"), reply
        assert "perhaps has done it: look first" in reply.json["message"]
    wait_for(lambda: count(work) == len(VAULTS))
    assert "in Home" in text_of(read(work, "Home"))
    home.process.send_signal(signal.SIGCONT)
    wait_for(lambda: read(home, "Home").status == 200)
    assert text_of(read(home, "Home")).count("perhaps") == 0  # it woke after its lease, and did nothing


def test_shares(database: Database) -> None:
    """Newcomers want their share once they have been there for the time of a lease; then nothing moves by itself."""
    vaults = [f"V{number}" for number in range(7)]

    def member(name: str) -> Members:
        return Members(database, name, f"http://{name}", 60, vaults)

    one, two = member("one"), member("two")
    assert one.meet(0) == ((), 7, 0)
    assert two.meet(0) == (("http://one",), 4, 0)
    assert one.meet(7)[:2] == (("http://two",), 4)
    with database.transaction() as transaction:
        transaction.execute("UPDATE members SET since = since - interval '2 minutes'")
    two.meet(0)
    assert one.meet(7) == (("http://two",), 4, 3)
    two.meet(3)
    two.meet(3)
    assert one.meet(4) == (("http://two",), 4, 0)
    two.meet(0)  # a person has moved its vaults
    assert one.meet(7) == (("http://two",), 4, 0)
    two.come_back()
    two.meet(0)
    two.meet(0)
    assert one.meet(7) == (("http://two",), 4, 3)
    two.leave()
    assert one.meet(7) == ((), 7, 0)
    assert Members(database, "other", "http://other", 60, ["V1"]).meet(0) == ((), 1, 0)  # another group


def test_more_servers_than_vaults(database: Database) -> None:
    servers = [Members(database, name, f"http://{name}", 60, VAULTS) for name in ("one", "two", "three")]
    for server in servers:
        server.meet(0)
    with database.transaction() as transaction:
        transaction.execute("UPDATE members SET since = since - interval '2 minutes'")
    servers[1].meet(0)
    servers[2].meet(0)
    assert servers[0].meet(2)[1:] == (1, 2)  # one of two vaults goes to one of them
    servers[1].meet(1)
    servers[1].meet(1)
    assert servers[0].meet(1)[1:] == (1, 1)  # the third gets none: nobody has more than a share


@contextmanager
def looking_once(url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[queue.Queue[str]]:
    """Run a server's part that looks at once, and then only for a reason; yield the vaults that it takes."""
    monkeypatch.setattr("vaultwire.cluster.replica._LOOK_SECONDS", 1000.0)
    database = Database(url)
    taken: queue.Queue[str] = queue.Queue()
    leases = Leases(database, "one", "http://one", 3000)
    paths = {name: f"/{name}" for name in VAULTS}
    replica = Replica(database, leases, paths, taken.put, on_loss=lambda _: None, tell=lambda _: None)
    replica.start()
    try:
        yield taken
    finally:
        replica.stop()


def test_a_server_looks_again_as_soon_as_a_lease_is_over(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Leases(database, "gone", "http://gone", 1).take({"Work": "/Work"}) is not None
    with looking_once(url, monkeypatch) as taken:
        assert [taken.get(timeout=60) for _ in VAULTS] == [*VAULTS]


def test_a_server_looks_often_while_a_vault_has_no_owner(
    url: str, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    Members(database, "other", "http://other", 60, VAULTS).meet(0)  # it has a share, and does not take it
    with looking_once(url, monkeypatch) as taken:
        assert [taken.get(timeout=60) for _ in VAULTS] == [*VAULTS]
