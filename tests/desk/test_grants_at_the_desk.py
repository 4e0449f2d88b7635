"""What people allowed to clients from elsewhere, at the desk of a real server: seen, ended, and connector addresses made."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.desk import Desk
from support.serving import Serving
from support.sign_in import HELLO, PASSWORD, URL, Connecting
from support.vaults import write_vault
from vaultwire.app.desk import new_link as desk_link
from vaultwire.config import make_config
from vaultwire.remote import people
from vaultwire.remote.store import Store

ODD = "<b onclick=alert(1)>Claude</b>"


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("VAULTWIRE_STATE", str(folder))
    with closing(Store(str(folder / "sign-in"))) as store:
        people.add(store, "Ana", PASSWORD)
    return folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\nthe secret text\n")


@pytest.fixture
def server(vault: Path) -> Iterator[Serving]:
    with Serving(vault, "--public-url", URL, "--connector", "--log-json") as opened:
        yield opened


@pytest.fixture
def tab() -> Iterator[Tab]:
    with open_tab() as opened:
        opened.resize(1280, 900)
        yield opened


def show(tab: Tab, vault: Path, server: Serving) -> None:
    tab.go(new_link(server, vault))
    tab.wait_for("document.querySelector('nav a')")
    tab.click("nav a", "Access")
    tab.wait_for("document.querySelector('.glance h3, .glance p:not([role=status])')")


def new_link(server: Serving, vault: Path) -> str:
    link = desk_link(make_config([str(vault)]))
    assert link is not None
    return server.url + "/desk" + link.partition("/desk")[2]


def path_of(address: str) -> str:
    assert address.startswith(f"{URL}/c/")
    return urlsplit(address).path


def test_a_grant_is_listed_with_all_that_matters_and_ends_at_once(server: Serving, vault: Path) -> None:
    client = Connecting(server)
    client.register(client_name="Claude")
    before = int(time.time())
    token = client.connect(access="write", days="30")["access_token"]
    desk = Desk(server, vault)
    assert desk.get("start").json["has_grants"] is True
    told = desk.get("grants").json
    (grant,) = told.pop("grants")
    assert told == {"has_connectors": True, "may_write": True}
    assert before <= grant["since"] <= grant["used"] <= time.time()
    assert grant["until"] - grant["since"] == 30 * 24 * 3600
    assert {name: grant[name] for name in ("name", "person", "client", "calls_itself", "writes", "notes")} == {
        "name": "Ana through claude.ai",
        "person": "Ana",
        "client": "claude.ai",
        "calls_itself": "Claude",
        "writes": True,
        "notes": ["the vault vault"],
    }
    assert token not in json.dumps(grant)
    assert desk.post("revoke", id=grant["id"]).json == {"revoked": "Ana through claude.ai"}
    assert not client.is_let_in(token)
    assert desk.get("grants").json["grants"] == []
    again = desk.post("revoke", id=grant["id"])
    assert (again.status, again.json["error"]["code"]) == (404, "NO_GRANT")


def test_a_connector_address_reads_only_unless_asked_and_is_in_no_log(server: Serving, vault: Path) -> None:
    client, desk = Connecting(server), Desk(server, vault)
    replies = [desk.post("connector"), desk.post("connector", write=False), desk.post("connector", write=True)]
    paths = [path_of(reply.json["address"]) for reply in replies]
    assert [reply.headers["cache-control"] for reply in replies] == ["no-store"] * 3
    assert [client.tell(HELLO, path).status for path in paths] == [200] * 3
    listed = desk.get("grants")
    assert [(each["person"], each["writes"], each["until"]) for each in listed.json["grants"]] == [
        ("", False, None),
        ("", False, None),
        ("", True, None),
    ]
    assert desk.post("revoke", id=listed.json["grants"][0]["id"]).status == 200
    assert client.tell(HELLO, paths[0]).status == 404
    assert client.tell(HELLO, paths[1]).status == 200
    _, output, errors = server.end(15)
    assert "a connector address was made at the desk" in errors
    for path in paths:
        assert path.split("/")[2].encode() not in listed.body + output.encode() + errors.encode()


def test_nobody_makes_or_ends_anything_without_the_page(server: Serving, vault: Path) -> None:
    desk = Desk(server, vault)
    for route, body in (("connector", b"{}"), ("revoke", b'{"id": "x"}')):
        path = f"/desk/api/{route}"
        own = {"cookie": desk.cookie, "origin": server.url}
        assert server.request("POST", path, body, origin=server.url, x_vaultwire_desk=desk.csrf).status == 401
        assert server.request("POST", path, body, **own).status == 403
        assert server.request("POST", path, body, **own, x_vaultwire_desk="made up").status == 403
        other = {**own, "origin": "https://evil.example", "x_vaultwire_desk": desk.csrf}
        assert server.request("POST", path, body, **other).status == 403
        assert server.request("GET", path, cookie=desk.cookie).status == 405
    assert server.request("GET", "/desk/api/grants").status == 401
    wrong = desk.post("connector", write="yes")
    assert (wrong.status, wrong.json["error"]["details"]) == (400, {"argument": "write"})
    assert desk.post("revoke").status == 400
    assert desk.get("grants").json["grants"] == []


@pytest.mark.parametrize(
    ("options", "has_grants", "makes"),
    [
        ((), False, {False: "NO_SIGN_IN", True: "NO_SIGN_IN"}),
        (("--public-url", URL), True, {False: "POLICY_DENIED", True: "POLICY_DENIED"}),
        (("--public-url", URL, "--connector", "--read-only"), True, {False: "", True: "POLICY_DENIED"}),
    ],
)
def test_only_what_the_server_was_started_with_is_there(
    vault: Path, options: tuple[str, ...], has_grants: bool, makes: dict[bool, str]
) -> None:
    with Serving(vault, *options) as server:
        desk = Desk(server, vault)
        assert desk.get("start").json["has_grants"] is has_grants
        assert desk.get("grants").status == (200 if has_grants else 404)
        for write, code in makes.items():
            made = desk.post("connector", write=write).json
            assert made.get("error", {}).get("code", "") == code
            assert ("address" in made) is (code == "")


@in_browser
def test_the_person_sees_grants_and_ends_one(server: Serving, vault: Path, tab: Tab) -> None:
    client = Connecting(server, "https://claude.ai.evil.example/callback")
    client.register(client_name=ODD)
    token = client.connect(access="write")["access_token"]
    show(tab, vault, server)
    (item,) = tab.texts(".g-grants li")
    assert "Ana through claude.ai.evil.example" in item
    assert f"It calls itself “{ODD}”" in item
    assert "Reads and changes notes: the vault vault" in item
    assert tab.evaluate("document.querySelector('.g-grants b')") is None
    tab.click(".g-grants button", "Revoke…")
    tab.click(".g-grants button", "Leave it")
    assert client.is_let_in(token)
    tab.click(".g-grants button", "Revoke…")
    tab.press("Enter")  # the focus is on what ends it
    tab.wait_for("document.body.innerText.includes('Revoked: Ana through claude.ai.evil.example')")
    tab.wait_for("document.body.innerText.includes('Nobody has access')")
    assert not client.is_let_in(token)


@in_browser
def test_an_address_is_shown_once_and_left_nowhere_in_the_page(server: Serving, vault: Path, tab: Tab) -> None:
    show(tab, vault, server)
    tab.click(".glance button", "Make a connector address")
    tab.wait_for("document.getElementById('g-connector')?.value")
    address = tab.evaluate("document.getElementById('g-connector').value")
    client = Connecting(server)
    assert client.tell(HELLO, path_of(address)).status == 200
    assert "Reads notes" in tab.texts(".g-grants li")[0]
    secret = path_of(address).split("/")[2]
    tab.click("nav a", "Problems")
    tab.wait_for("document.getElementById('g-problems-title')")
    tab.click("nav a", "Access")
    tab.wait_for("document.querySelector('.g-grants li')")
    left = "JSON.stringify([document.documentElement.outerHTML, {...localStorage}, {...sessionStorage}, location.href])"
    assert secret not in tab.evaluate(left)
    assert not any(secret in url for url in tab.requested)
    tab.click(".glance input[type=checkbox]")
    tab.click(".glance button", "Make a connector address")
    tab.wait_for("document.querySelectorAll('.g-grants li').length === 2")
    assert "Reads and changes notes" in tab.texts(".g-grants li")[1]


@in_browser
def test_the_view_fits_a_phone(server: Serving, vault: Path, tab: Tab) -> None:
    client = Connecting(
        server, "https://claude.ai.a-very-long-name-of-a-host-that-nobody-would-type.evil.example/callback"
    )
    client.register(client_name=ODD * 2)
    client.connect()
    for width in (360, 1280):
        tab.resize(width, 800)
        show(tab, vault, server)
        tab.click(".glance button", "Make a connector address")
        tab.wait_for("document.getElementById('g-connector')?.value")
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
        tab.shoot(f"grants-{width}")
