"""Several servers on one vault and one index: each answers right, and hears soon of what another writes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.vaults import write_vault
from support.wire import Server

NOTES = 300
# Far above what is measured (0.1 s), for a machine that does much else.
PATIENCE = 20.0


def total(server: Server, query: str) -> int:
    found = server.call("search_notes", query=query)["structuredContent"]["total"]
    assert isinstance(found, int)
    return found


def soon(holds: Callable[[], bool]) -> bool:
    """Tell whether it holds within the time there is."""
    until = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > until:
            return False
    return True


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTWIRE_CACHE", str(tmp_path / "cache"))
    notes = "".join(f"=== n{number % 7}/{number}.md\nred apple {number}\n" for number in range(NOTES))
    return write_vault(tmp_path / "vault", notes)


def test_servers_started_at_once_answer_right_and_hear_of_each_other(root: Path, tmp_path: Path) -> None:
    with (
        Server(root, "--structured") as one,
        Server(root, "--structured") as two,
        Server(root, "--structured") as three,
    ):
        servers = [one, two, three]
        for server in servers:
            server.open("2025-11-25")
        for server in servers:
            server.post("tools/call", {"name": "search_notes", "arguments": {"query": "apple"}})
        for server in servers:
            assert server.receive()["result"]["structuredContent"]["total"] == NOTES
        for number, writer in enumerate(servers):
            writer.call("write_note", path=f"new{number}.md", content=f"pear{number}", mode="create")
            assert total(writer, f"pear{number}") == 1
            for reader in servers:
                assert soon(lambda: total(reader, f"pear{number}") == 1)  # noqa: B023 - used at once
    assert len(list((tmp_path / "cache").rglob("catalog.sqlite3"))) == 1


def test_a_server_killed_while_it_indexes_takes_no_other_with_it(root: Path) -> None:
    with Server(root, "--structured") as one, Server(root, "--structured") as two:
        for server in (one, two):
            server.open("2025-11-25")
            server.post("tools/call", {"name": "search_notes", "arguments": {"query": "apple"}})
        one.process.kill()
        assert two.receive()["result"]["structuredContent"]["total"] == NOTES
        two.call("write_note", path="new.md", content="pear", mode="create")
        assert total(two, "pear") == 1
    with Server(root, "--structured") as three:
        three.open("2025-11-25")
        assert (total(three, "apple"), total(three, "pear")) == (NOTES, 1)
