"""Limits of calls at two real servers, each the owner of a vault: a client has them once, wherever its calls go."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from support.postgres import running_postgres
from support.serving import Reply, Serving
from support.teams import VAULTS, Client, Start, count, issue, stateless, two_owners, two_vaults, wait_for
from vaultwire.cluster.database import Database

# Far more than are made in the two seconds until a server knows what the other has counted, with a pause between two.
MOST = 120


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    with two_vaults(tmp_path, url) as begin:
        yield begin


def read(server: Serving, vault: str, **headers: str) -> Reply:
    return server.call("read_notes", {"paths": ["Note.md"], "vault": vault}, **headers)


def let_in_until_refused(call: Callable[[], Reply]) -> int:
    """Call until it is refused for its rate, and return how many calls were not."""
    replies: list[Reply] = []

    def is_refused() -> bool:
        replies.append(call())
        assert replies[-1].status in (200, 429), replies[-1]
        return replies[-1].status == 429 or b"RATE_LIMITED" in replies[-1].body

    wait_for(is_refused)
    assert retry_after(replies[-1]) >= 1
    return len(replies) - 1


def retry_after(reply: Reply) -> int:
    if reply.status == 429:
        return int(reply.headers["retry-after"])
    return int(reply.json["error"]["data"]["retryAfter"])


def test_calls_that_are_spread_over_both_are_bounded_together(start: Start, database: Database, url: str) -> None:
    flood, other = issue("flood", url), issue("other", url)
    servers = two_owners(start, database, "--rate", f"read_notes={MOST}")
    for key, first, second in ((flood, 0, 1), (other, 1, 0)):
        # The vault says who answers, whichever server is asked.
        made = [read(servers[1], VAULTS[first], x_api_key=key).status for _ in range(MOST)]
        assert made == [200] * MOST
        assert let_in_until_refused(partial(read, servers[0], VAULTS[second], x_api_key=key)) < MOST
        for server, vault in zip(servers, VAULTS, strict=True):
            assert read(server, vault, x_api_key=key).status == 429
            assert server.call("list_notes", {"vault": vault}, x_api_key=key).status == 200
    third = start("--rate", f"read_notes={MOST}")
    wait_for(lambda: third.request("GET", "/ready").status == 200)
    for server in servers:
        server.process.kill()
    wait_for(lambda: count(third) == len(VAULTS))
    wait_for(lambda: read(third, "Home", x_api_key=flood).status != 503)
    assert read(third, "Home", x_api_key=flood).status == 429  # it counted what was there before it came


def test_requests_about_no_vault_and_clients_without_a_key_are_bounded_too(start: Start, database: Database) -> None:
    first, second = two_owners(start, database, "--rate", f"total={MOST}")
    for _ in range(MOST):
        assert "result" in stateless(first, "tools/list", {}).json
    assert let_in_until_refused(lambda: stateless(second, "tools/list", {})) < MOST
    assert "error" in stateless(first, "tools/list", {}).json


def test_what_is_sent_to_all_servers_counts_once(start: Start, database: Database, url: str) -> None:
    key, marker = issue("ana", url), issue("marker", url)
    servers = two_owners(start, database, "--rate", f"each={MOST}")
    client = Client(servers[0], key)
    about = {"uri": "obsidian://vault/Home/Note.md"}
    for number in range(MOST - 1):
        assert "result" in client.post(servers[number % 2], "resources/subscribe", about).json
    # What the marker made was handed over afterwards.
    for _ in range(MOST):
        read(servers[0], "Home", x_api_key=marker)
    assert let_in_until_refused(lambda: read(servers[1], "Work", x_api_key=marker)) < MOST
    assert "result" in client.post(servers[1], "resources/subscribe", about).json
    for server in servers:
        assert client.post(server, "resources/subscribe", about).json["error"]["data"]["errorCode"] == "RATE_LIMITED"


def test_without_the_database_each_server_counts_its_own(tmp_path: Path) -> None:
    with running_postgres() as postgres, ExitStack() as opened:
        address = postgres.new_database()
        database = Database(address)
        opened.callback(database.close)
        database.upgrade()
        start = opened.enter_context(two_vaults(tmp_path, address))
        ana, ben = issue("ana", address), issue("ben", address)
        first, second = (start("--lease-seconds", "300", "--rate", f"total={MOST}") for _ in range(2))
        wait_for(lambda: all(server.request("GET", "/ready").status == 200 for server in (first, second)))

        def ask(server: Serving, key: str) -> Reply:
            return stateless(server, "tools/list", {}, x_api_key=key)

        postgres.stop()
        for server in (first, second):
            assert all("result" in ask(server, ana).json for _ in range(MOST))
            assert ask(server, ana).json["error"]["data"]["errorCode"] == "RATE_LIMITED"
        postgres.start()
        wait_for(lambda: {each.request("GET", "/health").json["database"] for each in (first, second)} == {"ok"})
        for _ in range(MOST):
            assert "result" in ask(first, ben).json
        assert let_in_until_refused(lambda: ask(second, ben)) < MOST
