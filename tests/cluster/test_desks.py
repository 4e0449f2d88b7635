"""The desks of several servers: each shows the vaults of its server, and says which other servers have the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.at_the_desk import Desk
from support.chromium import in_browser, open_tab
from support.serving import Serving
from support.teams import VAULTS, Start, count, two_owners, two_vaults
from support.waiting import wait_for
from vaultwire.app.desk import new_link
from vaultwire.cluster.database import Database
from vaultwire.config import make_config


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    with two_vaults(tmp_path, url) as begin:
        yield begin


def link_to(server: Serving, folder: Path, patch: pytest.MonkeyPatch) -> str:
    """Return a link that opens the desk of a server: the state folder of its machine has it."""
    for home in folder.glob("machine*"):
        patch.setenv("VAULTWIRE_STATE", str(home / "state"))
        link = new_link(make_config([str(folder / name) for name in VAULTS]))
        if link is not None and link.startswith(server.url):
            return link
    raise AssertionError(server.url)


def test_each_desk_shows_its_vaults_and_names_the_desks_of_the_others(
    start: Start, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers = two_owners(start, database)
    for vault in VAULTS:  # through one server: the change is at the desk of the owner
        servers[0].call("write_note", {"path": "Note.md", "content": "more\n", "mode": "append", "vault": vault})
    desks = [Desk(link_to(server, tmp_path, monkeypatch)) for server in servers]
    pairs = [(0, 1), (1, 0)]
    for own, other in pairs:
        told = desks[own].get("start")
        assert told["vaults"] == [VAULTS[own]]
        assert told["elsewhere"] == {VAULTS[other]: f"{servers[other].url}/desk"}
        assert len(desks[own].get(f"items?vault={VAULTS[own]}")["items"]) == 1
        refused = desks[own].get(f"items?vault={VAULTS[other]}")
        assert f"{VAULTS[other]}: {servers[other].url}/desk" in refused["error"]["message"]
        assert "There is no vault 'Nowhere'" in desks[own].get("items?vault=Nowhere")["error"]["message"]
    third = start()  # two vaults, and two servers have them
    wait_for(lambda: third.request("GET", "/ready").status == 200)
    nothing = Desk(link_to(third, tmp_path, monkeypatch)).get("items")["error"]["message"]
    assert f"Home: {servers[0].url}/desk, Work: {servers[1].url}/desk" in nothing
    third.process.kill()
    servers[1].process.kill()
    wait_for(lambda: count(servers[0]) == len(VAULTS))
    wait_for(lambda: desks[0].get("start")["elsewhere"] == {})
    assert desks[0].get("start")["vaults"] == [*VAULTS]


@in_browser
def test_the_page_has_links_to_the_other_desks(
    start: Start, database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = two_owners(start, database)
    with open_tab() as tab:
        tab.go(link_to(home, tmp_path, monkeypatch))
        tab.wait_for("document.querySelector('.elsewhere a')?.innerText === 'Work'")
        assert tab.evaluate("document.querySelector('.elsewhere').innerText") == "Not here, at other servers: Work"
        assert tab.evaluate("document.querySelector('.elsewhere a').href") == f"{work.url}/desk"
        assert tab.evaluate("document.querySelector('.head .vault').innerText") == "Home"
