"""Pages from elsewhere in a real browser, which try to reach a real server in every way a page has. ``make browser``.

No test by itself, since it needs Chromium: ``VAULTWIRE_CHROMIUM`` names it, if it is not on the path. Each thing that must
not work is shown to work once the person allows the page or the name: the page knows how to do harm.
"""

from __future__ import annotations

import http.client
import json
import os
import queue
import signal
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from support.chromium import CHROMIUM, WHY_NOT
from support.serving import Serving
from support.vaults import snapshot, write_vault

PAGE = (Path(__file__).parent / "attack.html").read_bytes()
SECRET = "nobody else's business"
VAULT = f"=== Diary.md\n# Diary\n{SECRET}\n"
ELSEWHERE = "elsewhere.example"
REBOUND = "rebound.example"
PATIENCE = 30


class Site(ThreadingHTTPServer):
    """The attacker's own server, by whatever name it is called: the page, its reports, redirects.

    Under the name ``REBOUND`` everything but the page is passed on to our server as it came. That is what rebinding comes
    to: the name led to the attacker, the page came from there, and then the name leads to this computer.
    """

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Visit)
        self.reports: queue.Queue[dict[str, str]] = queue.Queue()
        self.port: int = self.server_address[1]
        self.passes_on_to = 0


class Visit(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        if urlsplit(self.path).path == "/page":
            self._answer(200, PAGE, ("Content-Type", "text/html; charset=utf-8"))
        elif self.headers["Host"].startswith(REBOUND):
            self._pass_on()
        else:
            self._answer(404)

    def do_OPTIONS(self) -> None:
        self._pass_on()

    def do_POST(self) -> None:
        path = urlsplit(self.path)
        if path.path == "/report":
            self.server.reports.put(json.loads(self._body()))
            self._answer(204)
        elif path.path == "/elsewhere":
            self._body()
            self._answer(307, b"", ("Location", parse_qs(path.query)["to"][0]))
        else:
            self._pass_on()

    def _body(self) -> bytes:
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def _pass_on(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.server.passes_on_to, timeout=PATIENCE)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            connection.putheader(name, value)
        connection.endheaders(self._body())
        answer = connection.getresponse()
        body = answer.read()
        kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in ("content-length", "date")]
        self._answer(answer.status, body, *kept)
        connection.close()

    def _answer(self, status: int, body: bytes = b"", *headers: tuple[str, str]) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


def visit(site: Site, name: str, server: Serving, target: str, profile: Path) -> dict[str, str]:
    """Have a browser open the page by this name of the site's; return what came of what the page tried."""
    assert CHROMIUM, WHY_NOT
    site.passes_on_to = server.port
    address = f"http://{name}:{site.port}/page?target={quote(target)}"
    options = (
        "--headless",
        "--no-sandbox",  # it refuses to run as root otherwise, and sees no page but ours
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--remote-debugging-port=0",  # without it some builds end at once
        # Ours to forbid, not the browser's, which asks the person about it in some versions and not in others.
        "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests",
        f"--host-resolver-rules=MAP {ELSEWHERE} 127.0.0.1, MAP {REBOUND} 127.0.0.1",
        f"--user-data-dir={profile}",
    )
    with subprocess.Popen(
        [CHROMIUM, *options, address],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as browser:
        try:
            outcomes = site.reports.get(timeout=PATIENCE)
        finally:
            os.killpg(browser.pid, signal.SIGKILL)  # it is a script that starts others, which outlive it
    server.end(signal.SIGTERM)  # not before it has done what a page does not wait for
    return outcomes


def assert_nothing_came_of_it(outcomes: dict[str, str], vault: Path, before: dict[str, str]) -> None:
    assert len(outcomes) == 25
    told = {name: outcome for name, outcome in outcomes.items() if SECRET in outcome or "Diary" in outcome}
    assert told == {}
    assert str(vault) not in str(outcomes)
    assert snapshot(vault) == before


@pytest.mark.parametrize("called", ["127.0.0.1", "localhost"])
def test_a_page_from_elsewhere_reads_and_changes_nothing(site: Site, vault: Path, tmp_path: Path, called: str) -> None:
    before = snapshot(vault)
    with Serving(vault) as server:
        outcomes = visit(site, ELSEWHERE, server, f"http://{called}:{server.port}", tmp_path / "profile")
    assert_nothing_came_of_it(outcomes, vault, before)
    # What the contract shows to every page: that there is a server, and its tools.
    seen = {name for name, outcome in outcomes.items() if outcome.startswith("200 ")}
    assert seen == {"v1 health", "v1 tools"}
    for name in ("mcp events", "mcp socket", "v1 socket"):
        assert outcomes[name] == "refused"


def test_a_name_that_suddenly_leads_here_reads_and_changes_nothing(site: Site, vault: Path, tmp_path: Path) -> None:
    before = snapshot(vault)
    with Serving(vault) as server:
        outcomes = visit(site, REBOUND, server, "", tmp_path / "profile")
    assert_nothing_came_of_it(outcomes, vault, before)
    # The page is on the same origin and sees every answer.
    for name in ("health", "v1 health", "v1 tools", "v1 read", "v1 read simply", "v1 write", "mcp read", "mcp write"):
        assert outcomes[name].startswith("421 "), name


WRITTEN = {"v1 write", "v1 write simply", "v1 write by form", "v1 write by beacon", "mcp write"}


@pytest.mark.parametrize(("name", "written"), [(ELSEWHERE, WRITTEN), (REBOUND, WRITTEN | {"v1 write by redirect"})])
def test_the_same_page_does_it_all_once_it_is_allowed_to(
    site: Site, vault: Path, tmp_path: Path, name: str, written: set[str]
) -> None:
    allowed = ("--allow-origin", f"http://{ELSEWHERE}:{site.port}") if name == ELSEWHERE else ("--allow-host", REBOUND)
    with Serving(vault, *allowed) as server:
        target = f"http://127.0.0.1:{server.port}" if name == ELSEWHERE else ""
        outcomes = visit(site, name, server, target, tmp_path / "profile")
    for attempt in ("v1 read", "v1 read simply", "mcp read"):
        assert SECRET in outcomes[attempt], attempt
    assert "serverInfo" in outcomes["mcp opening a session"]
    # The others are held up by more than the guard: media types, and browsers that hide where a redirect comes from.
    assert {path.stem for path in (vault / "Planted").iterdir()} == written
