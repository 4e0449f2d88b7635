"""Searching the web: the contract's texts, and not a word to any host that was not named. The library is the real one."""

from __future__ import annotations

import http.server
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from scripts.pages.schema import describe

from support.schemas import hold_to
from support.vaults import write_vault
from support.wire import Server
from vaultwire.cli import main
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.tools.web import _host, make_web_search
from vaultwire.vault.value_types import NO_PROGRESS

ENGINES = pytest.importorskip("ddgs.engines").ENGINES["text"]

RESULT = """<div class="result__body"><h2 class="result__title"><a href="{url}">{title}</a></h2>
<a class="result__snippet" href="{url}">{snippet}</a></div>"""


def page(*results: tuple[str, str, str]) -> bytes:
    shown = [RESULT.format(title=title, url=url, snippet=snippet) for title, url, snippet in results]
    return f"<html><body>{''.join(shown)}</body></html>".encode()


PAGES = page(
    ("Model Context Protocol", "https://mcp.example/spec", "An open   protocol &amp; more"),
    ("Second", "https://two.example/", "Two"),
    ("Third", "https://three.example/", "Three"),
)


class Engine:
    """A search engine on this computer that answers as it is told, and what it was asked."""

    def __init__(self) -> None:
        self.status = 200
        self.body = PAGES
        self.headers: dict[str, str] = {}
        self.before: Callable[[], object] = lambda: None
        self.asked: list[tuple[str, str, dict[str, list[str]]]] = []
        engine = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode()
                engine.asked.append((self.command, self.path, parse_qs(body)))
                engine.before()
                self.send_response(engine.status)
                for name, value in engine.headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(engine.body)))
                self.end_headers()
                self.wfile.write(engine.body)

            do_GET = do_POST  # noqa: N815 - as above

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.host = f"127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine in the place of DuckDuckGo: where the library asks it is changed, nothing else."""
    for variable in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    engine = Engine()
    monkeypatch.setattr(ENGINES["duckduckgo"], "search_url", f"http://{engine.host}/html/")
    yield engine
    engine.close()


def search(hosts: list[str], seconds: float = 10.0, **arguments: Any) -> Outcome[Any] | Failure:
    tool = make_web_search(hosts.__contains__, seconds)
    vault: Any = None  # which it has nothing to do with
    return invoke(tool, describe(tool), arguments, vault, NO_PROGRESS)


def test_results_are_told_in_the_contracts_words_and_as_data(engine: Engine) -> None:
    outcome = search([engine.host], query="MCP protocol", max_results=2)
    assert isinstance(outcome, Outcome)
    (text,) = outcome.texts
    assert text == (
        "Search results for: MCP protocol\n\n"
        "1. Model Context Protocol\n   URL: https://mcp.example/spec\n   An open protocol & more\n\n"
        "2. Second\n   URL: https://two.example/\n   Two"
    )
    assert outcome.data == {
        "query": "MCP protocol",
        "results": [
            {
                "title": "Model Context Protocol",
                "url": "https://mcp.example/spec",
                "snippet": "An open protocol & more",
            },
            {"title": "Second", "url": "https://two.example/", "snippet": "Two"},
        ],
    }
    hold_to(outcome.data, describe(make_web_search(bool))["outputSchema"])
    ((method, path, form),) = engine.asked
    assert (method, path, form["q"]) == ("POST", "/html/", ["MCP protocol"])


def test_without_a_number_there_are_five_at_most(engine: Engine) -> None:
    engine.body = page(*((f"Page {number}", f"https://{number}.example/", "x") for number in range(9)))
    outcome = search([engine.host], query="x")
    assert isinstance(outcome, Outcome)
    assert len(outcome.data["results"]) == 5


@pytest.mark.parametrize("body", [page(), b"<html></html>", page(("No address", "", "x"))])
def test_nothing_found_is_no_failure(engine: Engine, body: bytes) -> None:
    engine.body = body
    outcome = search([engine.host], query="qwertzuiop")
    assert outcome == Outcome(["No results found for: qwertzuiop"], {"query": "qwertzuiop", "results": []})


@pytest.mark.parametrize("status", [202, 301, 403, 429, 500, 503])
def test_a_status_that_is_no_success_is_told(engine: Engine, status: int) -> None:
    engine.status = status
    engine.headers = {"location": f"http://{engine.host}/elsewhere"}
    outcome = search([engine.host], query="x")
    assert outcome == Failure("WEB_FAILED", f"Search failed (HTTP {status})", {"status": status})
    assert len(engine.asked) == 1  # a redirect, too, is not followed


def test_an_engine_that_does_not_answer_is_given_up_on(engine: Engine) -> None:
    released = threading.Event()
    engine.before = lambda: released.wait(30)
    started = time.monotonic()
    outcome = search([engine.host], 0.5, query="x")
    took = time.monotonic() - started
    released.set()
    assert outcome == Failure("TIMEOUT", "Search timed out. Please try again.", {})
    assert took < 20  # not the thirty seconds for which the engine says nothing


def test_an_engine_that_is_not_there_is_a_failure_without_inner_words(engine: Engine) -> None:
    engine.close()
    assert search([engine.host], query="x") == Failure("WEB_FAILED", "Search failed. Please try again later.", {})


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00", b"{}", b"<" * 5000])
def test_an_answer_that_is_no_page_does_not_crash(engine: Engine, body: bytes) -> None:
    engine.body = body
    outcome = search([engine.host], query="x")
    assert isinstance(outcome, Outcome) or outcome.code == "WEB_FAILED"


def test_nothing_is_asked_of_a_host_that_was_not_named(engine: Engine) -> None:
    for hosts in ([], ["example.org"], ["127.0.0.1"], ["127.0.0.1:1"]):
        outcome = search(hosts, query="x")
        assert isinstance(outcome, Failure)
        assert outcome.code == "NETWORK_BLOCKED"
    assert engine.asked == []


def test_an_engine_cannot_speak_to_another_host_on_the_way(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    # This one asks for its front page first, at an address of its own.
    monkeypatch.setattr(ENGINES["startpage"], "search_url", f"http://{engine.host}/sp/search")
    monkeypatch.setattr(ENGINES["duckduckgo"], "search_url", "https://html.duckduckgo.com/html/")
    outcome = search([engine.host], query="x")
    assert isinstance(outcome, Failure)
    assert outcome.code == "NETWORK_BLOCKED"
    assert engine.asked == []


def test_an_engine_that_fails_is_followed_by_the_next(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.status = 503
    other = Engine()
    monkeypatch.setattr(ENGINES["mojeek"], "search_url", f"http://{other.host}/search")
    outcome = search([other.host, engine.host], query="x")
    other.close()
    assert isinstance(outcome, Outcome)
    assert len(engine.asked) == len(other.asked) == 1


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://html.duckduckgo.com/html/", "html.duckduckgo.com"),
        ("https://HTML.DuckDuckGo.com?q=x", "html.duckduckgo.com"),
        ("http://html.duckduckgo.com/html/", ""),
        ("http://127.0.0.1.evil.example/", ""),
        ("http://localhost@evil.example/", ""),
        ("https://html.duckduckgo.com@evil.example/", ""),
        ("https://html.duckduckgo.com:443@evil.example/", ""),
        ("https://html.duckduckgo.com\\@evil.example/", ""),
        ("https://html.duckduckgo.com#@evil.example/", ""),
        ("file:///etc/passwd", ""),
        ("https://[::1]/", ""),
    ],
)
def test_a_url_leads_where_it_seems_to_lead_or_nowhere(url: str, host: str) -> None:
    assert _host(url) == host


def test_the_contracts_engine_is_one_the_library_knows() -> None:
    assert _host(ENGINES["duckduckgo"].search_url) == "html.duckduckgo.com"


def test_arguments_are_checked_before_anything_leaves(engine: Engine) -> None:
    for arguments in ({"query": "x" * 501}, {"query": ""}, {"query": "x", "max_results": 21}, {}):
        outcome = search([engine.host], **arguments)
        assert isinstance(outcome, Failure)
        assert outcome.code == "INVALID_ARGUMENTS"
    assert engine.asked == []


# ---------------------------------------------------------------------- over the wire


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "notes", "=== A.md\nOne.\n")


def test_it_is_there_only_where_a_host_was_named(notes: Path, tmp_path: Path) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text('[network]\nhosts = ["search.example"]\n')
    for options, expected in (
        ([], False),
        (["--allow-web", "search.example"], True),
        (["--policy", str(policy)], True),
        (["--policy", str(policy), "--no-tool", "web_search"], False),
        (["--tools", "core", "--allow-web", "search.example"], False),
        (["--tools", "core", "--tool", "web_search", "--allow-web", "search.example"], True),
    ):
        with Server(notes, *options) as server:
            server.open("2025-11-25")
            names = [tool["name"] for tool in server.request("tools/list")["result"]["tools"]]
            assert ("web_search" in names) is expected, options


def test_hosts_that_are_no_search_engines_are_told_apart(notes: Path) -> None:
    with Server(notes, "--allow-web", "search.example") as server:
        server.open("2025-11-25")
        result = server.call("web_search", query="x")
        assert result["_meta"]["errorCode"] == "NETWORK_BLOCKED"
        assert "html.duckduckgo.com" in result["content"][0]["text"]


def test_twenty_searches_a_minute_are_enough(notes: Path) -> None:
    with Server(notes, "--allow-web", "search.example") as server:
        server.open("2025-11-25")
        codes = [server.call("web_search", query="x")["_meta"]["errorCode"] for _ in range(21)]
        assert codes == [*["NETWORK_BLOCKED"] * 20, "RATE_LIMITED"]


def test_without_the_package_the_start_says_what_to_install(
    notes: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for name in ("ddgs", "ddgs.engines"):
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    assert main(["stdio", "--vault", str(notes), "--allow-web", "search.example"]) == 2
    assert f"To add them: {sys.executable} -m pip install 'ddgs<10,>=9.16'" in capfd.readouterr().err
    outcome = search(["search.example"], query="x")
    assert isinstance(outcome, Failure)
    assert outcome.code == "WEB_NOT_INSTALLED"
