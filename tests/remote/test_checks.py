"""What is said about a public address: a real server behind a proxy with TLS that does what proxies do."""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.certificates import make_certificate
from support.command_line import run_command
from support.serving import PATIENCE, Serving
from support.vaults import write_vault
from vaultwire.remote import checks
from vaultwire.remote.checks import check_public_url

DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
HTML = (200, {"Content-Type": "text/html"}, b"<h1>Are you a robot?</h1>")

Answer = tuple[int, dict[str, str], bytes]
Change = Callable[[BaseHTTPRequestHandler, Answer], Answer]


def change_nothing(_: BaseHTTPRequestHandler, answer: Answer) -> Answer:
    return answer


class Front(ThreadingHTTPServer):
    """A proxy with TLS in front of a server at ``target``."""

    def __init__(self, certificate: tuple[str, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(*certificate)
        self.socket = tls.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        self.url = f"https://localhost:{self.server_port}"
        self.target = 0
        self.request_headers: dict[str, str | None] = {}  # what it puts in place of a client's
        self.change: Change = change_nothing
        self.asked: list[str] = []

    def handle_error(self, *_: object) -> None:
        """A client that does not trust the certificate hangs up."""


class _Handler(BaseHTTPRequestHandler):
    server: Front
    timeout = PATIENCE

    def answer(self) -> None:
        self.server.asked.append(f"{self.requestline}\n{self.headers}")
        changed = {**dict(self.headers.items()), **self.server.request_headers}
        headers = {name: value for name, value in changed.items() if value is not None}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.target, timeout=PATIENCE)
        body = self.rfile.read(int(headers.get("Content-Length", 0)))
        connection.request(self.command, self.path, body or None, headers)
        reply = connection.getresponse()
        status, named, data = self.server.change(self, (reply.status, dict(reply.getheaders()), reply.read()))
        connection.close()
        self.send_response_only(status)
        for name, value in {**named, "Connection": "close"}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_DELETE = do_OPTIONS = answer  # noqa: N815 - the names that http.server looks for


@pytest.fixture(scope="module")
def long_certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return make_certificate(tmp_path_factory.mktemp("certificate"), hours=24 * 60)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory, long_certificate: tuple[str, str]) -> Iterator[Front]:
    vault = write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\ntext\n")
    state = tmp_path_factory.mktemp("state")
    with Front(long_certificate) as front:
        thread = threading.Thread(target=front.serve_forever)
        thread.start()
        with Serving(vault, "--public-url", front.url, VAULTWIRE_STATE=str(state)) as server:
            front.target = server.port
            yield front
        front.shutdown()
        thread.join()


@pytest.fixture
def front(running: Front, long_certificate: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> Front:
    monkeypatch.setenv("SSL_CERT_FILE", long_certificate[0])
    running.change, running.request_headers, running.asked = change_nothing, {}, []
    return running


def states(url: str) -> dict[str, tuple[str, str]]:
    return {finding.rule: finding[1:3] for finding in check_public_url(url)}


def wrong(url: str) -> dict[str, str]:
    """Return what is found of the rules that are not kept, but for the port: a test cannot have 443."""
    return {rule: found for rule, (state, found) in states(url).items() if state == checks.WRONG and rule != "port"}


def test_a_server_that_is_reached_as_it_must_be_keeps_all_rules_but_those_of_this_computer(front: Front) -> None:
    found = states(front.url)
    others = {rule: state for rule, (state, _) in found.items() if state != checks.RIGHT}
    assert others == {"address": checks.UNSURE, "port": checks.WRONG}
    assert "127.0.0.1" in found["address"][1]
    assert found["certificate"] == (checks.RIGHT, "trusted, ends in 59 days")
    tokens = {line for asked in front.asked for line in asked.splitlines() if line.startswith("Authorization")}
    assert tokens == {"Authorization: Bearer not-a-token"}


def test_each_rule_leads_to_a_part_of_the_page(front: Front) -> None:
    page = (Path(__file__).parents[2] / "docs" / "remote.md").read_text(encoding="utf-8")
    parts = {line.removeprefix("## ").lower().replace(" ", "-") for line in page.splitlines() if line.startswith("## ")}
    rows = {line.split("|")[1].strip().strip("`") for line in page.splitlines() if line.startswith("| ")}
    for finding in check_public_url(front.url):
        assert finding.help.removeprefix("docs/remote.md#") in parts
        assert finding.rule in rows


def test_a_redirect_is_found_and_not_followed(front: Front) -> None:
    def redirect(request: BaseHTTPRequestHandler, answer: Answer) -> Answer:
        return (301, {"Location": f"{front.url}/elsewhere"}, b"") if request.path == "/health" else answer

    front.change = redirect
    found = wrong(front.url)
    assert set(found) == {"server", "redirects"}
    assert f"301, a redirect to '{front.url}/elsewhere'" in found["redirects"]
    assert not any("elsewhere" in asked.partition("\n")[0] for asked in front.asked)


def test_mcp_with_a_slash_that_redirects_is_found(front: Front) -> None:
    def redirect(request: BaseHTTPRequestHandler, answer: Answer) -> Answer:
        return (307, {"Location": "/mcp"}, b"") if request.path == "/mcp/" else answer

    front.change = redirect
    assert wrong(front.url) == {"/mcp/": "307, a redirect to '/mcp'"}


def test_a_page_in_front_of_the_server_is_found(front: Front) -> None:
    front.change = lambda _, answer: (HTML[0], {**HTML[1], "Server": "cloudflare"}, HTML[2])
    found = wrong(front.url)
    assert set(found) == {"server", "resource", "issuer", "/mcp", "/mcp/", "token", "unknown", "methods"}
    assert found["server"] == "/health: 200, a page in HTML (Server: 'cloudflare')"


def test_another_server_that_is_healthy_is_not_taken_for_ours(front: Front) -> None:
    def name_another(request: BaseHTTPRequestHandler, answer: Answer) -> Answer:
        return answer[0], answer[1], answer[2].replace(b"Vaultwire", b"Anything")

    front.change = name_another
    assert set(wrong(front.url)) == {"server"}


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        ("/.well-known/oauth-protected-resource", "resource"),
        ("/.well-known/oauth-protected-resource/mcp", "resource"),
        ("/.well-known/oauth-authorization-server", "issuer"),
    ],
)
def test_html_where_json_is_due_is_found(front: Front, path: str, rule: str) -> None:
    front.change = lambda request, answer: HTML if request.path == path else answer
    assert "a page in HTML" in wrong(front.url)[rule]


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("issuer", "https://elsewhere.example", "issuer"),
        ("token_endpoint", "https://elsewhere.example/token", "issuer"),
        ("token_endpoint_auth_methods_supported", ["client_secret_basic"], "issuer"),
        ("client_id_metadata_document_supported", None, "issuer"),
        ("scopes_supported", ["read"], "issuer"),
        ("resource", "https://elsewhere.example/mcp", "resource"),
        ("authorization_servers", ["https://elsewhere.example"], "resource"),
    ],
)
def test_metadata_that_say_something_else_are_found(front: Front, name: str, value: object, rule: str) -> None:
    def rewrite(request: BaseHTTPRequestHandler, answer: Answer) -> Answer:
        if answer[0] != 200 or name.encode() not in answer[2]:
            return answer
        page = {**json.loads(answer[2]), name: value}
        return 200, {"Content-Type": "application/json"}, json.dumps(page).encode()

    front.change = rewrite
    found = wrong(front.url)
    assert set(found) - {"server"} == {rule}
    assert name in found[rule]


def test_a_challenge_that_does_not_come_through_is_found(front: Front) -> None:
    def strip(_: BaseHTTPRequestHandler, answer: Answer) -> Answer:
        return (
            answer[0],
            {name: text for name, text in answer[1].items() if name.lower() != "www-authenticate"},
            answer[2],
        )

    front.change = strip
    assert wrong(front.url)["/mcp"] == "401 with WWW-Authenticate: missing"


def test_an_authorization_header_that_does_not_come_through_is_found(front: Front) -> None:
    front.request_headers = {"Authorization": None}
    assert wrong(front.url) == {"token": "401, as if there was none"}


def test_a_host_header_that_does_not_come_through_is_found(front: Front) -> None:
    front.request_headers = {"Host": "elsewhere.example"}
    assert "a proxy changes the Host header" in wrong(front.url)["server"]


@pytest.mark.parametrize("method", ["HEAD", "DELETE", "OPTIONS"])
def test_a_method_that_is_blocked_is_found(front: Front, method: str) -> None:
    front.change = lambda request, answer: (405, {}, b"") if request.command == method else answer
    assert wrong(front.url)["methods"].startswith(f"{method} /")


def test_metadata_that_are_not_ours_are_found(front: Front) -> None:
    front.change = lambda request, answer: HTML if request.path.endswith("openid-configuration") else answer
    assert wrong(front.url) == {"unknown": "200, a page in HTML"}


def test_a_clock_that_is_wrong_is_found(front: Front) -> None:
    def date(_: BaseHTTPRequestHandler, answer: Answer) -> Answer:
        return answer[0], {**{name.title(): text for name, text in answer[1].items()}, "Date": DATE}, answer[2]

    front.change = date
    assert "seconds off" in wrong(front.url)["clock"]


def test_a_certificate_that_nobody_trusts_is_found_and_nothing_else_is_asked(
    front: Front, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", make_certificate(tmp_path)[0])
    found = states(front.url)
    assert found["certificate"][0] == checks.WRONG
    assert found["certificate"][1].startswith("not trusted")
    assert {found[rule] for rule in ("clock", "issuer", "/mcp")} == {(checks.UNCHECKED, "nothing answers")}
    assert front.asked == []


def test_a_certificate_that_ends_soon_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = make_certificate(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", certificate[0])
    vault = write_vault(tmp_path / "vault", "=== Note.md\ntext\n")
    with Serving(vault, "--tls-cert", certificate[0], "--tls-key", certificate[1]) as server:
        found = states(server.url.replace("127.0.0.1", "localhost"))
        assert found["certificate"] == (checks.UNSURE, "trusted, ends in 0 days")
        assert found["server"][0] == found["issuer"][0] == checks.WRONG  # a server without sign-in


def test_where_there_is_no_server_one_rule_says_so() -> None:
    found = states("https://localhost:1")
    assert found["server"][0] == checks.WRONG
    assert found["issuer"] == (checks.UNCHECKED, "nothing answers")
    found = states("https://nothing.invalid")
    assert found["address"][0] == checks.WRONG
    assert "nothing.invalid" in found["address"][1]
    assert found["server"] == (checks.UNCHECKED, "nothing answers")


# ---------------------------------------------------------------------- commands


def test_the_start_prints_the_table(front: Front, tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\ntext\n")
    with Serving(vault, "--public-url", front.url, VAULTWIRE_STATE=str(tmp_path / "state")) as started:
        assert started.process.stdout is not None
        lines: list[str] = []
        while not lines or "does not show from here" not in lines[-1]:
            lines.append(started.process.stdout.readline().decode())
            assert lines[-1], lines
    assert f"How {front.url} is reached, as far as it shows from here:\n" in lines
    assert any("wrong" in line and "port" in line for line in lines)
    assert any("docs/remote.md#a-public-address" in line for line in lines)


def test_doctor_prints_it_again(front: Front) -> None:
    finished = run_command("doctor", "--public-url", f"{front.url}/")
    assert finished.returncode == 1
    assert "https at port 443" in finished.stdout
    report = json.loads(run_command("doctor", "--json", "--public-url", front.url).stdout)
    assert report["healthy"] is False
    assert report["public_url"] == front.url
    assert [rule["rule"] for rule in report["rules"] if rule["state"] == "wrong"] == ["port"]


@pytest.mark.parametrize("url", ["notes.example.org", "http://notes.example.org", "https://localhost:99999"])
def test_doctor_refuses_what_is_no_public_url(url: str) -> None:
    finished = run_command("doctor", "--public-url", url)
    assert finished.returncode == 2
    assert "--public-url takes the URL" in finished.stderr
