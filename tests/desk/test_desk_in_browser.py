"""The desk in a real browser that has its cookie: what the person sees, and what pages from elsewhere can do with it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.chromium import Tab, in_browser, open_tab
from support.desk import Desk
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.app.desk import new_link
from vaultwire.config import make_config

pytestmark = in_browser

MARKUP = '<img src=x onerror="document.title=1"><script>document.title=2</script> [a](javascript:alert(1))'
VIOLATIONS = """new Promise((done) => {
  const observer = new ReportingObserver(() => {}, {types: ["csp-violation"], buffered: true});
  observer.observe();
  requestAnimationFrame(() => done(observer.takeRecords().map((each) => JSON.stringify(each.body))));
})"""
TRY_FETCH = "fetch(%s, %s).then((answer) => answer.type + answer.status, () => 'refused')"
TRY_FORM = """new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.name = "target";
  frame.onload = () => done("sent");
  document.body.append(frame);
  const form = document.createElement("form");
  Object.assign(form, {action: %s, method: "post", enctype: "text/plain", target: "target"});
  const field = document.createElement("input");
  Object.assign(field, {name: '{"id": "c1", "action": "undo", "x": "', value: '"}'});
  form.append(field);
  document.body.append(form);
  form.submit();
})"""
FRAME = """new Promise((done) => {
  const frame = document.createElement("iframe");
  frame.onload = () => done("loaded");
  frame.src = %s;
  document.body.append(frame);
})"""


class Blank(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@pytest.fixture
def elsewhere() -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Blank) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "own state"))
    return write_vault(tmp_path / "vault", "=== Plan.md\none\n")


@pytest.fixture
def server(vault: Path) -> Iterator[Serving]:
    with Serving(vault) as opened:
        edits = [{"action": "replace", "text": "one", "content": MARKUP}]
        assert opened.call("edit_note", {"path": "Plan.md", "edits": edits}).json["success"]
        yield opened


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    with open_tab() as opened:
        yield opened


def open_desk(tab: Tab, vault: Path) -> None:
    link = new_link(make_config(str(vault)))
    assert link is not None
    tab.go(link)


def test_the_link_leads_to_the_desk_and_leaves_the_address(tab: Tab, server: Serving, vault: Path) -> None:
    open_desk(tab, vault)
    assert tab.evaluate("location.href").partition("#")[0] == f"{server.url}/desk/"
    assert tab.evaluate("document.cookie") == ""  # no script can read it
    assert tab.evaluate("fetch('api/start').then((answer) => answer.status)") == 200
    assert all(address.startswith(server.url) for address in tab.requested if address.startswith("http"))


def test_text_that_looks_like_markup_stays_text_and_the_policy_is_never_broken(
    tab: Tab, server: Serving, vault: Path
) -> None:
    open_desk(tab, vault)
    tab.wait_for("document.body.innerText.includes('Plan.md')")
    tab.go(f"{server.url}/desk/#/v/vault/c1")
    tab.wait_for("document.body.innerText.includes('Plan')")
    assert tab.evaluate("document.querySelectorAll('img[src=x], a[href^=\"javascript:\"]').length") == 0
    assert tab.evaluate("document.title") not in ("1", "2")
    assert tab.evaluate(VIOLATIONS) == []


def test_the_filter_for_folders_leaves_what_was_remembered(tab: Tab, server: Serving, vault: Path) -> None:
    fact = {"text": "Ana takes her tea without milk.", "subject": "Ana"}
    assert server.call("remember", fact).json["success"]
    open_desk(tab, vault)
    listed = "[...document.querySelectorAll('#list, main')].map((each) => each.innerText).join(' ')"
    tab.wait_for(f"{listed}.includes('Plan') && {listed}.includes('Ana')")
    tab.evaluate("""(() => {
  const field = document.querySelector("form.filters label.folder input");
  field.value = "Memory";
  field.dispatchEvent(new Event("input", {bubbles: true}));
})()""")
    tab.wait_for("document.querySelector('form.filters .found').innerText === '1 change found'")
    tab.wait_for(f"!{listed}.includes('Plan') && {listed}.includes('Ana')")


def test_names_show_what_is_hidden_in_them_and_who_is_the_person(tab: Tab, server: Serving, vault: Path) -> None:
    open_desk(tab, vault)
    words = "import('/desk/assets/words.js').then((words) => [%s])"
    shown = ["words.baseName('a/Plan\u202ednik.md')", "words.baseName('a/\u06cc\u200c\u06a9.md')"]
    assert tab.evaluate(words % ", ".join(shown)) == ["Plan[U+202E]dnik.md", "\u06cc\u200c\u06a9.md"]
    named = [f"words.clientOf({{client: 'you', tool: '{tool}'}})" for tool in ("desk", "edit_note")]
    assert tab.evaluate(words % ", ".join(named)) == ["You", "“you” (a client of this name)"]


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_a_page_from_elsewhere_neither_reads_nor_decides(
    tab: Tab, server: Serving, vault: Path, elsewhere: int, name: str
) -> None:
    open_desk(tab, vault)
    before = (vault / "Plan.md").read_bytes()
    csrf = tab.evaluate("fetch('api/start').then((answer) => answer.json()).then((start) => start.csrf)")
    tab.go(f"http://{name}:{elsewhere}/")  # of the same site if it has the same name, so the browser sends the cookie
    decide = json.dumps(f"{server.url}/desk/api/decide")
    start = json.dumps(f"{server.url}/desk/api/start")
    assert tab.evaluate(TRY_FETCH % (start, '{"credentials": "include"}')) == "refused"
    assert tab.evaluate(TRY_FETCH % (start, '{"credentials": "include", "mode": "no-cors"}')) in ("opaque0", "refused")
    body = json.dumps({"id": "c1", "action": "undo"})
    known = {"method": "POST", "body": body, "credentials": "include", "headers": {"X-Vaultwire-Desk": csrf}}
    assert tab.evaluate(TRY_FETCH % (decide, json.dumps(known))) == "refused"
    simple = {"method": "POST", "body": body, "credentials": "include", "mode": "no-cors"}
    assert tab.evaluate(TRY_FETCH % (decide, json.dumps(simple))) in ("opaque0", "refused")
    assert tab.evaluate(TRY_FORM % decide) == "sent"
    assert (vault / "Plan.md").read_bytes() == before
    assert Desk(server, vault).get("item", id="c1").json["state"] == "made"


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_desk_cannot_be_shown_in_a_frame(tab: Tab, server: Serving, vault: Path, elsewhere: int, name: str) -> None:
    open_desk(tab, vault)
    tab.go(f"http://{name}:{elsewhere}/")
    assert tab.evaluate(FRAME % json.dumps(f"{server.url}/desk/")) == "loaded"
    (frame,) = tab.frames()
    assert frame.startswith("chrome-error:"), frame


def test_many_pages_can_be_open_at_once(tab: Tab, server: Serving, vault: Path) -> None:
    """A browser keeps six connections to one server: with a stream for each page, the seventh page would hang."""
    open_desk(tab, vault)
    tab.wait_for("document.title.includes('vault')")
    context = tab.do("Target.getTargetInfo")["targetInfo"]["browserContextId"]
    pages = [
        tab.do("Target.createTarget", url=f"{server.url}/desk/", browserContextId=context)["targetId"] for _ in range(8)
    ]

    def titles() -> list[str]:
        found = tab.do("Target.getTargets")["targetInfos"]
        return [each["title"] for each in found if each["targetId"] in pages]

    while not all("vault" in title for title in titles()):
        tab.evaluate("new Promise((done) => setTimeout(done, 20))")
