"""People and grants in PostgreSQL: two real servers, each the owner of a vault. A person and a client may reach any of them."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from html import unescape
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from support.authenticator import Authenticator
from support.balancing import Balancer
from support.chromium import in_browser, open_tab
from support.command_line import run_command
from support.desk import Desk
from support.postgres import PostgresServer, running_postgres
from support.serving import Reply, Serving
from support.sign_in import HELLO, PASSWORD, TAKES_BOTH, URL, Connecting, answer_of
from support.teams import Start, count, spread, text_of
from support.vaults import write_vault
from support.waiting import wait_for
from vaultwire.cluster.database import Database

NOTES = """=== Note.md
leeks of the root
=== Garden/Plan.md
leeks of the garden
=== Garden/Deep/Log.md
leeks of the log
=== Diary/Day.md
leeks of the diary
"""
WORK = """=== Note.md
leeks of the office
=== Garden/Roof.md
leeks of the roof
"""
HOST = URL.removeprefix("https://")
Pair: TypeAlias = tuple[Serving, Serving]


@contextmanager
def two_vaults(folder: Path, url: str) -> Iterator[Start]:
    """Yield what starts a server of both vaults with a state folder of its own, as on another machine."""
    vaults = [write_vault(folder / "Notes", NOTES), write_vault(folder / "Work", WORK)]
    numbers = itertools.count(1)
    with ExitStack() as running:

        def begin(*options: str, address: str = url, public: str = URL) -> Serving:
            home = folder / f"machine{next(numbers)}"
            folders = {"VAULTWIRE_STATE": str(home / "state"), "VAULTWIRE_CACHE": str(home / "cache")}
            shared = ("--database", address, "--public-url", public, "--connector")
            seconds = () if "--lease-seconds" in options else ("--lease-seconds", "3")
            server = Serving(vaults[0], "--vault", str(vaults[1]), *shared, *seconds, *options, **folders)
            return running.enter_context(server)

        yield begin


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    with two_vaults(tmp_path, url) as begin:
        yield begin


def pair_of(start: Start, url: str, *options: str, public: str = URL) -> Pair:
    """Return two servers, each of which owns a vault. Ana can sign in at them."""
    add_person(url)
    first, second = (start(*options, address=url, public=public) for _ in range(2))
    with closing(Database(url)) as database:
        spread(database, first, second)
    wait_for(lambda: is_ready(first) and is_ready(second))
    return first, second


def is_ready(server: Serving) -> bool:
    return server.request("GET", "/ready").status == 200


def add_person(url: str, name: str = "Ana") -> None:
    done = run_command("people", "add", name, "--database", url, stdin=f"{PASSWORD}\n")
    assert (done.returncode, done.stdout) == (0, f"{name} can sign in.\n"), done.stderr


@pytest.fixture(scope="module")
def shared_url(postgres: PostgresServer) -> str:
    """The database of ``servers``."""
    return new_tables(postgres)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory, shared_url: str) -> Iterator[Pair]:
    """For all tests that leave the servers as they are, and Ana's grants but for those that they have made."""
    with two_vaults(tmp_path_factory.mktemp("servers"), shared_url) as begin:
        yield pair_of(begin, shared_url)


def ticket_in(page: Reply) -> str:
    match = re.search(r'name="ticket" value="([^"]+)"', page.body.decode())
    assert match is not None, page.body
    return unescape(match[1])


def connected(
    servers: Pair, *folders: str, name: str = "Ana", access: str = "write", is_used: bool = True
) -> tuple[Connecting, dict[str, Any]]:
    """Return a client, and the tokens for which each step went to another server. A person ticked these folders."""
    client = Connecting(servers[0])
    client.register()
    client.server = servers[1]
    address = client.request()
    assert client.send("GET", address).status == 200
    client.server = servers[0]
    page = client.sign_in(address, name)
    assert set(folders) <= set(re.findall(r'name="folder" value="([^"]+)"', page.body.decode()))
    client.server = servers[1]
    fields = {"step": "allow", "ticket": ticket_in(page), "access": access, "days": "30"}
    code = client.submit_all(address, [*fields.items(), *(("folder", folder) for folder in folders)])
    client.server = servers[0]
    reply = client.exchange(code)
    assert reply.status == 200, reply.body
    if is_used:  # A vault has just moved to the second server: wait until both have noted who owns what.
        token, calls = reply.json["access_token"], list(itertools.product(servers, ("Notes", "Work")))
        wait_for(
            lambda: 503 not in [at(client, each, token, "list_notes", vault=vault).status for each, vault in calls]
        )
        client.server = servers[0]
    return client, reply.json


def at(client: Connecting, server: Serving, token: str, tool: str, **arguments: Any) -> Reply:
    client.server = server
    return client.call(token, tool, **arguments)


def is_refused(reply: Reply) -> bool:
    return reply.status != 200 or bool(reply.json["isError"])


def are_let_in(client: Connecting, servers: Pair, token: str) -> list[bool]:
    return [at(client, server, token, "read_note", path="Note").status == 200 for server in servers]


def test_sign_in_goes_on_at_another_server_and_the_token_opens_both_until_it_is_revoked(
    servers: Pair, shared_url: str
) -> None:
    add_person(shared_url, "Ben")
    client, pair = connected(servers, name="Ben")
    for server, vault in itertools.product(servers, ("Notes", "Work")):
        said = text_of(at(client, server, pair["access_token"], "search_notes", query="leeks", vault=vault))
        assert ("leeks of the root" in said, "leeks of the office" in said) == (vault == "Notes", vault == "Work")
    client.server = servers[1]
    renewed = client.refresh(pair["refresh_token"]).json
    assert are_let_in(client, servers, renewed["access_token"]) == [True, True]
    listed = run_command("grants", "list", "--database", shared_url).stdout
    assert "\tBen through claude.ai\t" in listed
    revoked = run_command("grants", "revoke", "Ben", VAULTWIRE_DATABASE=shared_url)
    assert revoked.stdout == "Revoked: Ben through claude.ai\n"
    wait_for(lambda: are_let_in(client, servers, renewed["access_token"]) == [False, False])
    assert at(client, servers[0], renewed["access_token"], "list_changes").status == 401
    for server in servers:
        client.server = server
        assert client.refresh(renewed["refresh_token"]).json["error"] == "invalid_grant"


def test_who_uses_a_refresh_token_again_at_another_server_ends_the_grant(servers: Pair) -> None:
    client, pair = connected(servers)
    client.server = servers[0]
    renewed = client.refresh(pair["refresh_token"]).json
    assert are_let_in(client, servers, renewed["access_token"]) == [True, True]
    client.server = servers[1]
    assert client.refresh(pair["refresh_token"]).json["error"] == "invalid_grant"
    wait_for(lambda: are_let_in(client, servers, renewed["access_token"]) == [False, False])
    client.server = servers[0]
    assert client.refresh(renewed["refresh_token"]).json["error"] == "invalid_grant"


def test_a_client_that_ends_its_grant_at_one_server_is_refused_at_both(servers: Pair) -> None:
    client, pair = connected(servers)
    assert are_let_in(client, servers, pair["access_token"]) == [True, True]
    client.server = servers[1]
    assert client.post("/revoke", token=pair["refresh_token"], client_id=client.client_id).status == 200
    wait_for(lambda: are_let_in(client, servers, pair["access_token"]) == [False, False])


def test_an_answer_of_a_page_counts_once_at_both_servers_together(servers: Pair) -> None:
    client = Connecting(servers[0])
    client.register()
    address = client.request()
    page = client.sign_in(address)
    other = client.request(state="another")
    for server, place in ((servers[1], other), (servers[0], other)):
        client.server = server
        assert client.allow(place, page).status == 403  # it is for the first request only
    client.server = servers[1]
    code = answer_of(client.allow(address, page))["code"]
    client.server = servers[0]
    assert client.allow(address, page).status == 403
    assert client.exchange(code).status == 200
    client.server = servers[1]
    assert client.exchange(code).json["error"] == "invalid_grant"


def enrolment(url: str) -> str:
    """Return the secret part of the address at which Ana makes a passkey."""
    return run_command("people", "passkey", "Ana", "--database", url).stdout.strip().partition("#")[2]


def options_in(page: str) -> dict[str, Any]:
    """Return what a page of sign-in asks a browser's passkeys for."""
    asked = re.search(r'data-options="([^"]+)"', page)
    assert asked is not None, page
    options: dict[str, Any] = json.loads(unescape(asked[1]))
    return options


def test_a_passkey_that_is_begun_at_one_server_is_made_and_used_at_the_other(servers: Pair, shared_url: str) -> None:
    first, second = servers
    client = Connecting(first)
    client.register()
    address, code = client.request(), enrolment(shared_url)
    authenticator = Authenticator(URL, HOST)
    made = authenticator.make(client.submit("/passkey", step="begin", code=code).json)
    client.server = second
    assert client.submit("/passkey", step="add", code=code, answer=made).json == {"person": "Ana"}
    client.server = first
    assert client.submit("/passkey", step="add", code=code, answer=made).status == 403  # the address counts once
    for asking, answering in ((first, second), (second, first)):
        client.server = asking
        answer = authenticator.sign(options_in(client.send("GET", address).body.decode()))
        client.server = answering
        consent = client.submit(address, step="passkey", answer=answer)
        assert b"Ana, what may claude.ai do?" in consent.body
        client.server = asking
        assert client.submit(address, step="passkey", answer=answer).status == 403  # so does an answer
        assert client.allow(address, consent).status == 303
    page = client.send("GET", address).body.decode()
    authenticator.count -= 2
    client.server = first
    copied = client.submit(address, step="passkey", answer=authenticator.sign(options_in(page)))
    assert b"was copied" in copied.body
    assert run_command("people", "passkey", "Ana", "--remove", "--database", shared_url).returncode == 0
    for client.server in servers:
        assert b"data-options" not in client.send("GET", address).body


@in_browser
def test_in_a_browser_each_step_with_a_passkey_reaches_another_server(
    start: Start, url: str, database: Database
) -> None:
    with Balancer() as balancer, open_tab() as tab:
        balancer.servers = pair_of(start, url, public=balancer.url)
        client = Connecting(balancer, url=balancer.url)
        client.register()
        tab.add_authenticator()
        tab.go(f"{balancer.url}/passkey#{enrolment(url)}")
        tab.wait_for("!document.getElementById('passkey').hidden")
        tab.click("#passkey")
        tab.wait_for("document.getElementById('said').textContent.includes('Ana can sign in')")
        address = client.request()
        tab.go(balancer.url + address)
        tab.wait_for("!document.getElementById('passkey').hidden")
        tab.click("#passkey")
        tab.wait_for_title("Ana, what may claude.ai do?")
        assert balancer.answered["/passkey"] == [("GET", 0), ("POST", 1), ("POST", 0)]  # the page, begun, made
        assert balancer.answered["/authorize"] == [("GET", 0), ("POST", 1)]


def test_wrong_passwords_count_at_both_servers_together(servers: Pair, shared_url: str) -> None:
    add_person(shared_url, "Eve")
    client = Connecting(servers[0])
    client.register()
    statuses = []
    for number in range(11):
        client.server = servers[number % 2]
        statuses.append(client.sign_in(client.request(), "Eve", "wrong wrong wrong").status)
    assert statuses == [403] * 10 + [429]
    assert client.sign_in(client.request(), "Eve").status == 429


def test_of_folders_nothing_outside_them_is_seen_through_any_server(servers: Pair) -> None:
    """One folder is of a vault that the server of the page does not own."""
    client, pair = connected(servers, "0/Garden", "1/Garden")
    token = pair["access_token"]
    for server in servers:
        for vault, inside, outside in (
            ("Notes", ["the garden", "the log"], ["the root", "the diary"]),
            ("Work", ["the roof"], ["the office"]),
        ):
            said = text_of(at(client, server, token, "search_notes", query="leeks", vault=vault))
            assert all(f"leeks of {place}" in said for place in inside), said
            assert not [place for place in outside if place in said]
            assert is_refused(at(client, server, token, "read_note", path="Note.md", vault=vault))
        made = at(
            client, server, token, "write_note", path=f"Garden/{server.port}.md", content="radishes", vault="Work"
        )
        assert "Created" in text_of(made)
        hidden = at(client, server, token, "write_note", path=f"Diary/{server.port}.md", content="x", vault="Notes")
        assert is_refused(hidden)
    client, pair = connected(servers, "1/Garden", access="read")
    for server in servers:  # the vault that a call means without its name is the only one that it sees
        said = text_of(at(client, server, pair["access_token"], "search_notes", query="leeks"))
        assert "leeks of the roof" in said
        assert "root" not in said
        assert is_refused(at(client, server, pair["access_token"], "write_note", path="Garden/X.md", content="x"))
        missing = at(client, server, pair["access_token"], "search_notes", query="leeks", vault="Notes")
        assert b"leeks of" not in missing.body


def test_a_session_of_a_client_that_sees_some_folders_goes_on_at_the_other_server(servers: Pair) -> None:
    client, pair = connected(servers, "1/Garden")
    bearer = {"authorization": f"Bearer {pair['access_token']}"}
    client.server = servers[0]
    session = client.tell(HELLO, **bearer).headers["mcp-session-id"]
    call = {"name": "search_notes", "arguments": {"query": "leeks"}}
    for server in servers:
        client.server = server
        message = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call}
        answer = client.tell(message, mcp_session_id=session, **bearer)
        assert "leeks of the roof" in json.dumps(answer.json), answer
        assert "office" not in json.dumps(answer.json)
    strange, other = connected(servers)
    ping = b'{"jsonrpc": "2.0", "id": 3, "method": "ping"}'
    bearer = {"authorization": f"Bearer {other['access_token']}"}
    for server in servers:
        strange.server = server
        assert strange.send("POST", "/mcp", ping, **TAKES_BOTH, mcp_session_id=session, **bearer).status == 404


def test_who_sees_some_folders_finds_them_at_the_next_owner(start: Start, database: Database, url: str) -> None:
    servers = pair_of(start, url)
    client, pair = connected(servers, "0/Garden", "1/Garden")
    first, second = servers
    for vault in ("Notes", "Work"):
        assert "leeks" in text_of(at(client, first, pair["access_token"], "search_notes", query="leeks", vault=vault))
    second.end(15)
    wait_for(lambda: count(first) == 2)

    def said(vault: str) -> str:
        reply = at(client, first, pair["access_token"], "search_notes", query="leeks", vault=vault)
        return text_of(reply) if reply.status == 200 else ""

    wait_for(lambda: "leeks of the roof" in said("Work") and "leeks of the garden" in said("Notes"))
    assert "diary" not in said("Notes")
    written = at(client, first, pair["access_token"], "write_note", path="Garden/New.md", content="x", vault="Work")
    assert "Created" in text_of(written)


def test_a_connector_address_opens_both_servers_until_it_is_revoked(servers: Pair, shared_url: str) -> None:
    made = run_command("grants", "connector", "--database", shared_url)
    path = made.stdout.strip().removeprefix(URL)
    client = Connecting(servers[0])

    def statuses(path: str) -> list[int]:
        codes = []
        for client.server in servers:
            codes.append(client.tell(HELLO, path).status)
        return codes

    assert statuses(path) == [200, 200]
    assert statuses(f"{path[:-8]}aaaa/mcp") == [404, 404]
    assert run_command("grants", "revoke", "connector", "--database", shared_url).returncode == 0
    wait_for(lambda: statuses(path) == [404, 404])


def test_the_page_of_a_note_is_shown_by_both_servers(servers: Pair) -> None:
    client = Connecting(servers[0])
    paths = [
        "/n/Notes/Garden/Plan.md",
        "/n/Work/Garden/Roof.md",
        "/n/Work/Nowhere.md",
        "/n/Other/Plan.md",
        "/n/Notes",
        "/n",
    ]

    def pages() -> list[Reply]:
        cookie = {"cookie": client.cookie} if client.cookie else {}
        return [client.send("GET", path, None, **cookie) for client.server in servers for path in paths]

    strangers = pages()
    assert {(page.status, page.body) for page in strangers} == {(401, strangers[0].body)}
    client.server = servers[1]
    assert client.submit(paths[0], step="sign-in", name="Ana", password=PASSWORD).status == 303
    statuses = [200, 200, 404, 404, 404, 404] * 2
    wait_for(lambda: [page.status for page in pages()] == statuses)  # both servers have noted who owns what
    seen = pages()
    assert [page.status for page in seen] == statuses
    assert b"leeks of the garden" in seen[0].body
    assert seen[0].body == seen[6].body
    assert b"leeks of the roof" in seen[1].body
    client.server = servers[0]
    assert client.submit(paths[0], step="sign-out").status == 303
    client.cookie = "vaultwire_notes=" + client.cookie.partition("=")[2]
    assert {page.status for page in pages()} == {401}


def test_without_the_database_known_tokens_count_and_sign_in_says_when_to_try_again(start: Start) -> None:
    with running_postgres() as postgres:
        address = new_tables(postgres)
        servers = pair_of(start, address, "--lease-seconds", "300")
        client, pair = connected(servers)
        token = pair["access_token"]
        assert are_let_in(client, servers, token) == [True, True]
        _, unused = connected(servers, is_used=False)
        question, metadata = client.request(), client.send("GET", "/.well-known/oauth-authorization-server").json
        postgres.stop()
        assert are_let_in(client, servers, token) == [True, True]
        assert client.send("GET", "/.well-known/oauth-authorization-server").json == metadata
        html = {"accept": "text/html"}
        busy = [
            at(client, servers[0], unused["access_token"], "list_changes"),
            client.refresh(pair["refresh_token"]),
            client.send("GET", question, None, **html),
            client.sign_in(question),
            client.post("/revoke", token=token, client_id=client.client_id),
            client.send("GET", "/n/Notes/Note.md", None, cookie="vaultwire_notes=x", **html),
        ]
        assert [(reply.status, reply.headers["retry-after"]) for reply in busy] == [(503, "5")] * len(busy)
        assert busy[1].json["error"] == "temporarily_unavailable"
        assert "Try again in 5 seconds" in busy[2].body.decode()
        assert busy[2].headers["content-type"].startswith("text/html")
        postgres.start()
        wait_for(lambda: client.refresh(pair["refresh_token"]).status == 200)
        assert are_let_in(client, servers, unused["access_token"]) == [True, True]


def test_without_the_database_each_door_answers_or_says_when_to_try_again(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_postgres() as postgres:
        address = new_tables(postgres)
        add_person(address)
        server = start("--lease-seconds", "300", address=address)
        wait_for(lambda: server.request("GET", "/health").json["vaults"] == 2)
        client = Connecting(server)
        client.register()
        tokens = client.connect()
        question = client.request()
        consent = client.sign_in(question)
        code = client.code()
        notes = Connecting(server)
        assert notes.submit("/n/Notes/Note.md", step="sign-in", name="Ana", password=PASSWORD).status == 303
        path = run_command("grants", "connector", "--database", address).stdout.strip().removeprefix(URL)
        assert client.is_let_in(tokens["access_token"])
        monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "machine1" / "state"))
        desk = Desk(server, tmp_path / "Notes", tmp_path / "Work")
        grant = desk.get("grants").json["grants"][0]["id"]
        enrolling = enrolment(address)
        made = Authenticator(URL, HOST).make(client.submit("/passkey", step="begin", code=enrolling).json)
        postgres.stop()
        unknown = {"authorization": "Bearer unknown"}
        form = {"content_type": "application/x-www-form-urlencoded"}
        busy = {
            "question": client.send("GET", question),
            "password": client.sign_in(question),
            "passkey": client.submit(question, step="passkey", answer="{}"),
            "consent": client.allow(question, consent),
            "code": client.exchange(code),
            "refresh": client.refresh(tokens["refresh_token"]),
            "revoke": client.post("/revoke", token=tokens["access_token"], client_id=client.client_id),
            "new passkey": client.submit("/passkey", step="begin", code="code"),
            "made passkey": client.submit("/passkey", step="add", code=enrolling, answer=made),
            "unknown token": client.tell(HELLO, **unknown),
            "unknown token over REST": client.call("unknown", "list_notes"),
            "unknown connector": client.tell(HELLO, path),
            "page of a note": notes.send("GET", "/n/Notes/Note.md", cookie=notes.cookie),
            "sign-in at a note": notes.submit("/n/Notes/Note.md", step="sign-in", name="Ana", password=PASSWORD),
            "sign-out at a note": notes.submit("/n/Notes/Note.md", step="sign-out"),
            "desk, start": desk.get("start"),
            "desk, items": desk.get("items", vault="Notes"),
            "desk, item": desk.get("item", vault="Notes", id="c1"),
            "desk, grants": desk.get("grants"),
            "desk, revoke": desk.post("revoke", id=grant),
            "desk, connector": desk.post("connector"),
        }
        assert {
            name: (reply.status, reply.headers.get("retry-after")) for name, reply in busy.items()
        } == dict.fromkeys(busy, (503, "5"))
        for name, reply in busy.items():
            assert b"does not answer" in reply.body, (name, reply.body)
            if name.startswith("desk"):
                assert reply.json["error"]["code"] == "SERVER_BUSY"
                assert "Try this again in 5 seconds" in reply.json["error"]["message"]
        answered = [
            (client.send("GET", "/passkey"), 200),
            (client.send("POST", "/token", b"", **form), 400),
            (client.register(), 201),
            (client.call(tokens["access_token"], "list_notes"), 200),
            (server.request("GET", "/desk/", cookie=desk.cookie), 200),
            (desk.get("search", vault="Notes", q="leeks"), 200),
            (desk.get("note", vault="Notes", path="Note.md"), 200),
            (desk.get("problems", vault="Notes"), 200),
        ]
        assert [reply.status for reply, _ in answered] == [status for _, status in answered]
        postgres.start()
        wait_for(lambda: desk.get("grants").status == 200)
        assert desk.get("grants").json["grants"][0]["id"] == grant
        assert desk.post("revoke", id=grant).status == 200


def new_tables(postgres: PostgresServer) -> str:
    address = postgres.new_database()
    database = Database(address)
    database.upgrade()
    database.close()
    return address


def test_people_are_in_the_database_and_in_no_folder(
    start: Start, url: str, database: Database, tmp_path: Path
) -> None:
    for name in ("Ana", "Ben"):
        add_person(url, name)
    server = start()
    assert server.process.poll() is None
    listed = run_command("people", "list", VAULTWIRE_DATABASE=url).stdout
    assert [line.split("\t")[0] for line in listed.splitlines()] == ["Ana", "Ben"]
    made = run_command("people", "passkey", "ana", "--database", url)
    assert made.stdout.startswith(f"{URL}/passkey#")
    assert run_command("people", "remove", "Ana", "--database", url).returncode == 0
    assert run_command("people", "remove", "Ana", "--database", url).returncode == 1
    assert not [*tmp_path.rglob("sign-in*")]
    refused = run_command("people", "list", "--database", "postgresql://127.0.0.1:9/x")
    assert refused.returncode == 1
    assert "cannot be reached" in refused.stderr


def test_people_of_a_database_sign_in_at_one_url(start: Start, url: str, database: Database, tmp_path: Path) -> None:
    start()
    other = ("--public-url", "https://other.example.org")
    words = ("serve", "--vault", str(tmp_path / "Work"), "--port", "0", "--database", url, *other)
    refused = run_command(*words)
    assert refused.returncode == 2
    assert f"sign in at {URL}" in refused.stderr
    assert "vaultwire people url URL" in refused.stderr
    assert run_command("people", "url", "http://other.example.org", "--database", url).returncode == 2
    assert run_command("people", "url", other[1], "--database", url).returncode == 0
    add_person(url)
    assert run_command("people", "passkey", "Ana", "--database", url).stdout.startswith(f"{other[1]}/passkey#")
