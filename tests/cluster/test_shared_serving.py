"""``serve --database``: two real servers, one vault. Any of them answers; when the owner goes, the other goes on."""

from __future__ import annotations

import itertools
import json
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support.command_line import run_command
from support.postgres import PostgresServer, running_postgres
from support.serving import Serving
from support.teams import OWNER, STAND_BY, Client, Start, issue, role, text_of, write
from support.vaults import write_vault
from support.waiting import wait_for
from vaultwire.cluster.database import Database


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "Notes", "=== Note.md\nhello\n")


@pytest.fixture
def start(vault: Path, tmp_path: Path, url: str, database: Database) -> Iterator[Start]:
    """Starts a server with a state folder of its own, as on another machine."""
    numbers = itertools.count(1)
    with ExitStack() as running:

        def begin(*options: str, address: str = url) -> Serving:
            home = tmp_path / f"machine{next(numbers)}"
            folders = {"VAULTWIRE_STATE": str(home / "state"), "VAULTWIRE_CACHE": str(home / "cache")}
            seconds = () if "--lease-seconds" in options else ("--lease-seconds", "3")
            return running.enter_context(Serving(vault, "--database", address, *seconds, *options, **folders))

        yield begin


def owner_and_other(start: Start, *options: str) -> tuple[Serving, Serving]:
    owner = start(*options)
    wait_for(lambda: role(owner) == OWNER)
    other = start(*options)
    wait_for(lambda: role(other) == STAND_BY)
    return owner, other


def test_any_server_answers(start: Start) -> None:
    owner, other = owner_and_other(start)
    assert "Created: A.md" in text_of(write(owner, "A"))
    assert "Created: B.md" in text_of(write(other, "B"))
    for server in (owner, other):
        assert "2 changes" in text_of(server.call("list_changes", {}))
        health = server.request("GET", "/health").json
        assert (health["status"], health["staleSeconds"]) == ("ok", 300)
        assert server.request("HEAD", "/bridge/v1/health").status == 200
        assert server.request("GET", "/nowhere").status == 404
        assert server.call("no_such_tool", {}).status == 404
        assert server.request("GET", "/bridge/v1/health").headers["content-type"] == "application/json"


def test_a_session_and_its_stream_go_through_every_server(start: Start) -> None:
    owner, other = owner_and_other(start)
    client = Client(other)
    stream = client.listen(other)
    assert next(stream).startswith("HTTP/1.1 200 ")
    for number, server in enumerate((owner, other)):
        uri = client.post(server, "resources/list", {}).json["result"]["resources"][0]["uri"]
        assert client.post(server, "resources/subscribe", {"uri": uri}).json["result"] == {}
        arguments = {"path": "Note.md", "content": f"text {number}", "mode": "append"}
        done = client.post(server, "tools/call", {"name": "write_note", "arguments": arguments}).json
        assert not done["result"]["isError"], done
        assert any("notifications/resources/updated" in line for line in stream)


def test_a_large_body_is_passed_on_in_pieces_and_its_bounds_hold(start: Start, vault: Path) -> None:
    _, other = owner_and_other(start)
    text = "long line\n" * 80_000
    body = json.dumps({"arguments": {"path": "Large.md", "content": text}}).encode()
    pieces = (body[place : place + 50_000] for place in range(0, len(body), 50_000))
    reply = other.request("POST", "/bridge/v1/tools/write_note/call", pieces)
    assert "Created: Large.md" in text_of(reply)
    assert (vault / "Large.md").read_text() == text
    assert "long line" in text_of(other.call("read_notes", {"paths": ["Large.md"]}))
    head = "POST /bridge/v1/tools/write_note/call HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n"
    with other.connect() as connection:
        connection.sendall(head.encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_an_owner_that_is_told_to_end_hands_over(start: Start, vault: Path) -> None:
    owner, other = owner_and_other(start, "--lease-seconds", "60")
    write(owner, "A")
    code, _, errors = owner.end(signal.SIGTERM)
    assert (code, errors) == (0, "vaultwire: this server owns Notes now\n")
    wait_for(lambda: role(other) == OWNER)  # far sooner than the lease would end
    assert "create A.md" in text_of(other.call("list_changes", {}))
    other.call("undo_changes", {"changes": [1]})
    assert not (vault / "A.md").exists()


def test_a_killed_owner_is_replaced_and_nothing_is_lost(start: Start, vault: Path) -> None:
    owner, other = owner_and_other(start)
    written = [f"N{number}" for number in range(8) if write((owner, other)[number % 2], f"N{number}").status == 200]
    owner.process.kill()
    wait_for(lambda: role(other) == OWNER)
    assert len(written) == 8
    assert all((vault / f"{name}.md").read_text() == f"by {name}" for name in written)
    changes = text_of(other.call("list_changes", {}))
    assert all(f"create {name}.md" in changes for name in written)
    third = start()
    wait_for(lambda: role(third) == STAND_BY)
    assert "Created: After.md" in text_of(write(third, "After"))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP")
def test_a_paused_owner_wakes_as_a_stand_by(start: Start, vault: Path) -> None:
    owner, other = owner_and_other(start)
    owner.process.send_signal(signal.SIGSTOP)
    wait_for(lambda: role(other) == OWNER)
    assert "Created: Meanwhile.md" in text_of(write(other, "Meanwhile"))
    owner.process.send_signal(signal.SIGCONT)
    wait_for(lambda: role(owner) == STAND_BY)
    assert "Created: Later.md" in text_of(write(owner, "Later"))
    assert "2 changes" in text_of(other.call("list_changes", {}))
    assert sorted(path.name for path in vault.iterdir()) == ["Later.md", "Meanwhile.md", "Note.md"]


def test_a_vault_is_released_to_another_server(start: Start, url: str) -> None:
    owner, other = owner_and_other(start)
    client = Client(owner)
    done = run_command("database", "release", "Notes", url)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith((" owns Notes now\n", "Notes is free now\n"))
    wait_for(lambda: role(other) == OWNER)
    wait_for(lambda: role(owner) == STAND_BY)
    listed = run_command("database", "owners", url).stdout
    assert listed.startswith("Notes\t")
    assert f"at {other.url}, " in listed
    assert "resources" in client.post(owner, "resources/list", {}).json["result"]  # its session goes on


def test_without_the_database_notes_are_read_and_nothing_is_changed(start: Start, vault: Path) -> None:
    with running_postgres() as server:
        address = server.new_database()
        database = Database(address)
        database.upgrade()
        database.close()
        owner = start("--lease-seconds", "300", address=address)
        wait_for(lambda: role(owner) == OWNER)
        assert write(owner, "Before").status == 200
        server.stop()
        assert "hello" in text_of(owner.call("read_notes", {"paths": ["Note.md"]}))
        refused = write(owner, "Refused")
        assert refused.headers["retry-after"] == "5"
        assert "SERVER_BUSY" in refused.body.decode()
        assert "Nothing was changed" in refused.body.decode()
        assert not (vault / "Refused.md").exists()
        server.start()
        wait_for(lambda: b"Created: After.md" in write(owner, "After").body)
        assert "2 changes" in text_of(owner.call("list_changes", {}))


def test_when_the_lease_is_over_nothing_is_answered_until_the_database_is_back(start: Start) -> None:
    with running_postgres() as server:
        address = server.new_database()
        database = Database(address)
        database.upgrade()
        database.close()
        owner = start(address=address)
        wait_for(lambda: role(owner) == OWNER)
        client = Client(owner)
        server.stop()
        wait_for(lambda: owner.request("GET", "/ready").status == 503)
        assert owner.request("GET", "/health").json["database"] in ("away", "ok")
        refused = owner.call("read_notes", {"paths": ["Note.md"]})
        assert (refused.status, refused.headers["retry-after"]) == (503, "2")
        server.start()
        wait_for(lambda: role(owner) == OWNER)
        assert client.post(owner, "tools/list", {}).status == 200  # nobody took the vault: the session is still there


def test_a_request_is_passed_on_once(start: Start) -> None:
    _, other = owner_and_other(start)
    refused = other.call("list_changes", {}, vaultwire_passed_on="1")
    assert (refused.status, refused.headers["retry-after"]) == (503, "2")


def test_an_owner_that_cannot_be_reached_is_told(start: Start) -> None:
    owner = start("--replica-url", "http://127.0.0.1:9")
    wait_for(lambda: role(owner) == OWNER)
    other = start()
    wait_for(lambda: role(other) == STAND_BY)
    refused = write(other, "A")
    assert refused.status == 503
    assert "cannot be reached. Nothing was done" in refused.json["message"]


def statuses(key: str, *servers: Serving) -> list[int]:
    return [server.call("list_changes", {}, x_api_key=key).status for server in servers]


def test_a_key_opens_every_server_until_it_is_revoked(start: Start, url: str, tmp_path: Path) -> None:
    anna = issue("anna", url)
    owner, other = owner_and_other(start, "--require-key")
    assert write(other, "A").status == 401
    assert statuses(anna, owner, other) == [200, 200]
    ben = run_command("keys", "issue", "ben", VAULTWIRE_DATABASE=url).stdout.split()[-1]
    wait_for(lambda: statuses(ben, owner, other) == [200, 200])
    listed = run_command("keys", "list", "--database", url).stdout
    assert [line.split()[0] for line in listed.splitlines()] == ["anna", "ben"]
    refused = run_command("keys", "issue", "anna", "--database", url)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "there is a key named anna already" in refused.stderr
    assert run_command("keys", "revoke", "anna", "--database", url).returncode == 0
    assert run_command("keys", "revoke", "anna", "--database", url).returncode == 1
    wait_for(lambda: statuses(anna, owner, other) == [401, 401])
    assert statuses(ben, owner, other) == [200, 200]
    assert not [*tmp_path.rglob("key-*.json")]


def test_a_key_of_one_computer_is_none_of_several_servers(start: Start, url: str, tmp_path: Path) -> None:
    state = str(tmp_path / "machine1" / "state")
    key = run_command("keys", "issue", "anna", VAULTWIRE_STATE=state).stdout.split()[-1]
    issue("ben", url)
    server = start("--require-key")
    assert server.call("list_changes", {}, x_api_key=key).status == 401


def test_nobody_comes_from_outside_to_an_owner_that_asks_for_no_key(start: Start, url: str) -> None:
    owner = start()
    wait_for(lambda: role(owner) == OWNER)
    key = issue("anna", url)
    open_to_all = start("--host", "0.0.0.0", "--replica-url", "http://10.0.0.7:3000")
    wait_for(lambda: role(open_to_all) == STAND_BY)
    refused = open_to_all.call("list_changes", {}, x_api_key=key)
    assert refused.status == 503
    assert "from its own computer only" in refused.json["message"]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--lease-seconds", "2"], "--lease-seconds must be from 3 to 300"),
        (["--replica-url", "10.0.0.7"], "--replica-url takes the address"),
        (["--ide"], "Leave --ide out: assistants in editors use this server by its address"),
        (["--host", "0.0.0.0"], "--replica-url is needed"),
        (["--require-key"], "issue one with vaultwire keys issue NAME --database URL"),
    ],
)
def test_what_cannot_work_is_told_at_once(
    options: list[str], reason: str, vault: Path, url: str, database: Database
) -> None:
    done = run_command("serve", "--vault", str(vault), "--port", "0", "--database", url, *options)
    assert done.returncode == 2
    assert reason in done.stderr


def test_a_database_without_tables_is_told_at_once(vault: Path, url: str, postgres: PostgresServer) -> None:
    done = run_command("serve", "--vault", str(vault), "--port", "0", VAULTWIRE_DATABASE=url)
    assert done.returncode == 2
    assert "vaultwire database init URL" in done.stderr
    done = run_command("serve", "--vault", str(vault), "--port", "0", "--replica-url", "http://10.0.0.7:3000")
    assert done.returncode == 2
    assert "--replica-url needs --database" in done.stderr
