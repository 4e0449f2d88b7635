"""A server whose callers bring tokens of an OAuth issuer: a real issuer on loopback, in order and out of order."""

from __future__ import annotations

import json
import re
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import TokenStorage
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from mcp_types import TextContent

from support import forking
from support.asgi import Http, Loop
from support.forking import loaded
from support.issuer import EC_KEY, OTHER_RSA_KEY, Issuer, described
from support.serving import PATIENCE, Reply, Serving
from support.vaults import write_vault
from vaultwire.transports import oauth
from vaultwire.transports.oauth import Protected, fetch_keys, may_be_asked
from vaultwire.trust.keys import Keys
from vaultwire.trust.tokens import IssuerUnreachable, KeyUnknown, TokenRefused, Tokens

CALL = "/bridge/v1/tools/read_note/call"
BODY = b'{"arguments": {"path": "Note"}}'
PAGE = "/.well-known/oauth-protected-resource"
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}},
}
TAKES_BOTH = {"content_type": "application/json", "accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe secret text\n")


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    with Issuer("/tenant") as started:
        yield started


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def server(vault: Path, issuer: Issuer, state: Path) -> Iterator[Serving]:
    with Serving(vault, "--oauth-issuer", issuer.url, "--oauth-scope", "notes", VAULTWIRE_STATE=str(state)) as started:
        yield started


def resource(server: Serving) -> str:
    return f"http://127.0.0.1:{server.port}/mcp"


def challenge(reply: Reply) -> dict[str, str]:
    """Return what ``WWW-Authenticate`` says."""
    scheme, _, said = reply.headers["www-authenticate"].partition(" ")
    assert scheme == "Bearer"
    found = dict(re.findall(r'(\w+)="([^"]*)"', said))
    assert ", ".join(f'{name}="{value}"' for name, value in found.items()) == said
    return found


def test_a_client_finds_its_way_from_the_refusal_to_the_issuer_and_back(server: Serving, issuer: Issuer) -> None:
    refused = server.request("POST", "/mcp", json.dumps(HELLO).encode(), **TAKES_BOTH)
    assert refused.status == 401
    told = challenge(refused)
    assert told["scope"] == "notes"
    assert "error" not in told  # nothing was wrong with a token that was not there (RFC 6750, 3.1)
    origin = f"http://127.0.0.1:{server.port}"
    assert told["resource_metadata"] == f"{origin}{PAGE}/mcp"
    page = server.request("GET", told["resource_metadata"].removeprefix(origin))
    assert (page.status, page.headers["content-type"]) == (200, "application/json")
    assert page.json == {
        "resource": f"{origin}/mcp",
        "resource_name": "Vaultwire",
        "authorization_servers": [issuer.url],
        "bearer_methods_supported": ["header"],
        "scopes_supported": ["notes"],
    }
    token = issuer.token(page.json["resource"], scope="notes")
    opened = server.request("POST", "/mcp", json.dumps(HELLO).encode(), **TAKES_BOTH, authorization=f"Bearer {token}")
    assert opened.status == 200
    assert server.request("POST", CALL, BODY, authorization=f"Bearer {token}").json["success"] is True


class Kept(TokenStorage):
    """Where the official client keeps its tokens: nowhere."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_finds_its_way_by_itself(server: Serving, issuer: Issuer, mode: str) -> None:
    url = resource(server)

    async def converse() -> None:
        auth = ClientCredentialsOAuthProvider(url, Kept(), "program", "its secret", issuer=issuer.url)
        async with (
            httpx2.AsyncClient(auth=auth, timeout=30) as http_client,
            Client(streamable_http_client(url, http_client=http_client), mode=mode, read_timeout_seconds=30) as client,
        ):
            result = await client.call_tool("read_note", {"path": "Note"})
            assert isinstance(result.content[0], TextContent)
            assert result.content[0].text == "the secret text\n"

    anyio.run(converse)


def test_the_page_is_where_clients_of_every_age_look_and_any_page_may_read_it(server: Serving) -> None:
    for path in (PAGE, f"{PAGE}/mcp"):
        page = server.request("GET", path, origin="https://client.example")
        assert (page.status, page.headers["access-control-allow-origin"]) == (200, "*")
    assert server.request("GET", f"{PAGE}/other").status == 404
    assert server.request("POST", PAGE).status == 405
    assert server.request("GET", PAGE, host="evil.example").status == 421


@pytest.mark.parametrize("name", ["oauth-authorization-server", "openid-configuration/mcp", "mcp/server-card.json"])
def test_what_is_not_there_is_not_found_where_clients_look_without_a_token(server: Serving, name: str) -> None:
    reply = server.request("GET", f"/.well-known/{name}", origin="https://client.example")
    assert (reply.status, reply.headers["content-type"]) == (404, "application/json")
    assert (
        reply.headers["access-control-allow-origin"] == "*"
    )  # else a page in a browser takes it for a lost connection
    assert "www-authenticate" not in reply.headers


def test_a_token_counts_in_its_header_only(server: Serving, issuer: Issuer) -> None:
    token = issuer.token(resource(server), scope="notes")
    assert server.request("POST", f"{CALL}?access_token={token}", BODY).status == 401
    assert server.request("POST", CALL, BODY, cookie=f"token={token}").status == 401
    assert server.request("POST", CALL, BODY, authorization=f"Basic {token}").status == 401


@pytest.mark.parametrize(
    ("spoilt", "status", "error"),
    [
        ({"exp": 1}, 401, "invalid_token"),
        ({"audience": "https://other.example"}, 401, "invalid_token"),
        ({"key": OTHER_RSA_KEY}, 401, "invalid_token"),
        ({"head": {"kid": "unheard-of"}}, 401, "invalid_token"),
        ({"scope": "other"}, 403, "insufficient_scope"),
    ],
)
def test_a_token_that_opens_nothing_is_told_why(
    server: Serving, issuer: Issuer, spoilt: dict[str, Any], status: int, error: str
) -> None:
    token = issuer.token(**{"audience": resource(server), "scope": "notes", **spoilt})
    for method, path, body in (("POST", CALL, BODY), ("POST", "/mcp", b"{}"), ("GET", "/mcp", None)):
        reply = server.request(method, path, body, authorization=f"Bearer {token}")
        told = challenge(reply)
        assert (reply.status, told["error"], told["scope"]) == (status, error, "notes")
        assert told["resource_metadata"].endswith(f"{PAGE}/mcp")
        assert told["error_description"]
        assert b"secret" not in reply.body


def test_keys_go_on_opening_beside_tokens(server: Serving, state: Path) -> None:
    key = Keys(str(state / "keys")).issue("phone")
    for right in ({"authorization": f"Bearer {key}"}, {"x_api_key": key}):
        assert server.request("POST", CALL, BODY, **right).json["success"] is True
    wrong = server.request("POST", CALL, BODY, authorization=f"Bearer {key}x")
    assert (wrong.status, challenge(wrong)["error"]) == (401, "invalid_token")


def test_a_session_belongs_to_the_person_and_not_to_the_token(server: Serving, issuer: Issuer, state: Path) -> None:
    def bearer(name: str, **claims: Any) -> str:
        return f"Bearer {issuer.token(resource(server), scope='notes', sub=name, **claims)}"

    opened = server.request("POST", "/mcp", json.dumps(HELLO).encode(), **TAKES_BOTH, authorization=bearer("anna"))
    session = {**TAKES_BOTH, "mcp_session_id": opened.headers["mcp-session-id"]}
    ping = b'{"jsonrpc": "2.0", "id": 2, "method": "ping"}'
    later = bearer("anna", exp=int(time.time()) + 600)
    assert server.request("POST", "/mcp", ping, **session, authorization=later).status == 200
    assert server.request("POST", "/mcp", ping, **session, authorization=bearer("ben")).status == 404
    key = Keys(str(state / "keys")).issue("anna")  # somebody else of this name
    assert server.request("POST", "/mcp", ping, **session, authorization=f"Bearer {key}").status == 404


def test_a_change_is_on_record_under_the_name_in_the_token(server: Serving, issuer: Issuer) -> None:
    token = f"Bearer {issuer.token(resource(server), scope='notes', sub='auth0|5')}"
    server.call("write_note", {"path": "Called", "content": "x"}, authorization=token)
    listed = server.call("list_changes", {}, authorization=token).json["content"][0]["text"]
    assert "oauth:auth0|5 (rest)" in listed


def test_a_browser_may_ask_whether_it_may_send_a_token(vault: Path, issuer: Issuer) -> None:
    with Serving(vault, "--oauth-issuer", issuer.url, "--allow-origin", "https://app.example") as server:
        asked = server.request(
            "OPTIONS",
            "/mcp",
            origin="https://app.example",
            access_control_request_method="POST",
            access_control_request_headers="authorization",
        )
        assert (asked.status, asked.headers["access-control-allow-headers"]) == (204, "authorization")
        refused = server.request("POST", "/mcp", b"{}", origin="https://app.example")
        assert refused.status == 401
        assert "WWW-Authenticate" in refused.headers["access-control-expose-headers"]


def test_a_server_behind_a_proxy_goes_by_the_name_it_was_given(vault: Path, issuer: Issuer) -> None:
    public = "https://notes.example.org/vault/mcp"
    options = ("--oauth-issuer", issuer.url, "--oauth-resource", public, "--oauth-audience", "vaultwire-api")
    with Serving(vault, *options, "--allow-host", "notes.example.org") as server:
        refused = server.request("POST", CALL, BODY, host="notes.example.org")
        assert challenge(refused)["resource_metadata"] == f"https://notes.example.org{PAGE}/vault/mcp"
        assert server.request("GET", f"{PAGE}/vault/mcp").json["resource"] == public
        right, wrong = (issuer.token(audience) for audience in ("vaultwire-api", public))
        assert server.request("POST", CALL, BODY, authorization=f"Bearer {right}").status == 200
        assert server.request("POST", CALL, BODY, authorization=f"Bearer {wrong}").status == 401


# ---------------------------------------------------------------------- the issuer's keys


class Fetching:
    """The keys of one issuer on an event loop, and who a token is let in as."""

    def __init__(self, loop: Loop, issuer: Issuer) -> None:
        self.told: list[str] = []
        self.protected = Protected(Tokens(issuer.url, "here"), "https://here.example/mcp", self.told.append)
        self.loop = loop

    def owner(self, token: str) -> str:
        found: list[str] = []

        async def ask() -> None:
            found.append(await self.protected.owner(token))

        self.loop.run(ask())
        return found[0]


@pytest.fixture
def loop() -> Iterator[Loop]:
    with Loop() as started:
        yield started


def test_keys_are_fetched_once_for_many_tokens(loop: Loop) -> None:
    with Issuer() as issuer:
        kept = Fetching(loop, issuer)
        issuer.may_answer.clear()
        with ThreadPoolExecutor(20) as pool:
            owners = [pool.submit(kept.owner, issuer.token("here", sub=f"caller{number}")) for number in range(20)]
            while not issuer.asked:
                pass
            issuer.may_answer.set()
            assert [each.result() for each in owners] == [f"oauth:caller{number}" for number in range(20)]
        assert issuer.asked == [issuer.metadata_path, "/keys"]


def test_a_new_key_is_found_and_made_up_ones_are_not_asked_for_again_and_again(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Issuer() as issuer:
        kept = Fetching(loop, issuer)
        assert kept.owner(issuer.token("here")) == "oauth:anna"
        issuer.keys = [described(OTHER_RSA_KEY, "next")]
        new = issuer.token("here", OTHER_RSA_KEY, head={"kid": "next"})
        with pytest.raises(KeyUnknown):  # too soon
            kept.owner(new)
        assert len(issuer.asked) == 2
        monkeypatch.setattr(oauth, "AGAIN_SECONDS", -1.0)
        assert kept.owner(new) == "oauth:anna"
        assert len(issuer.asked) == 4
        monkeypatch.undo()
        for number in range(50):
            with pytest.raises(KeyUnknown):
                kept.owner(issuer.token("here", head={"kid": f"made-up-{number}"}))
        with pytest.raises(KeyUnknown):  # the old key was taken back
            kept.owner(issuer.token("here"))
        assert len(issuer.asked) == 4


def test_keys_that_are_kept_for_long_are_fetched_anew_and_do_not_outlive_their_issuer(
    loop: Loop, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Issuer() as issuer:
        kept = Fetching(loop, issuer)
        token = issuer.token("here")
        kept.owner(token)
        monkeypatch.setattr(oauth, "AGAIN_SECONDS", -1.0)
        monkeypatch.setattr(oauth, "_FRESH_SECONDS", -1.0)
        issuer.may_answer.clear()
        assert kept.owner(token) == "oauth:anna"  # at once, while the fetching goes on beside
        while len(issuer.asked) < 3:
            pass
        issuer.may_answer.set()
        monkeypatch.setattr(oauth, "_GOOD_SECONDS", -1.0)
        issuer.end()
        with pytest.raises(IssuerUnreachable):
            kept.owner(token)


def test_an_issuer_that_says_nothing_makes_nobody_wait_for_long(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oauth, "_PATIENCE_SECONDS", 0.2)
    with Issuer() as issuer:
        kept = Fetching(loop, issuer)
        issuer.may_answer.clear()
        started = time.monotonic()
        with pytest.raises(IssuerUnreachable):
            kept.owner(issuer.token("here"))
        assert time.monotonic() - started < 4  # the fetching itself takes 5 to give up


def test_the_loop_goes_on_while_keys_are_fetched(loop: Loop) -> None:
    with Issuer() as issuer:
        kept = Fetching(loop, issuer)
        issuer.may_answer.clear()
        waiting = threading.Thread(target=kept.owner, args=(issuer.token("here"),))
        waiting.start()
        while not issuer.asked:
            pass
        page = Http(loop, kept.protected.show).send("GET", path=PAGE)
        assert page.status == 200
        issuer.may_answer.set()
        waiting.join(PATIENCE)


def test_an_unreachable_issuer_is_503_at_once_and_one_line_in_the_log(vault: Path) -> None:
    with Issuer() as issuer:
        token = issuer.token("http://127.0.0.1/mcp")
        url = issuer.url
    with Serving(vault, "--oauth-issuer", url) as server:
        for _ in range(5):
            reply = server.request("POST", CALL, BODY, authorization=f"Bearer {token}")
            assert (reply.status, reply.headers["retry-after"]) == (503, "10")
            assert server.request("POST", CALL, BODY).status == 401
        _, _, errors = server.end(signal.SIGTERM)
    assert errors.startswith(f"vaultwire: no keys of {url} to check tokens with: cannot get ")
    assert errors.count("\n") == 1


def test_a_server_whose_issuer_says_nothing_ends_when_told(vault: Path) -> None:
    with Issuer() as issuer:
        issuer.may_answer.clear()
        with Serving(vault, "--oauth-issuer", issuer.url) as server:
            while not issuer.asked:
                pass
            started = time.monotonic()
            assert server.end(signal.SIGTERM)[0] == 0
            assert time.monotonic() - started < 4


# ---------------------------------------------------------------------- where the keys are looked for


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("", "/.well-known/oauth-authorization-server"),
        ("", "/.well-known/openid-configuration"),
        ("/", "/.well-known/openid-configuration"),
        ("/a/b", "/.well-known/oauth-authorization-server/a/b"),
        ("/a/b", "/.well-known/openid-configuration/a/b"),
        ("/a/b", "/a/b/.well-known/openid-configuration"),
    ],
)
def test_metadata_are_found_wherever_issuers_have_them(path: str, place: str) -> None:
    with Issuer(path) as issuer:
        issuer.metadata_path = place
        assert [key.id for key in fetch_keys(issuer.url)] == ["rsa", "ec", "ed"]


def out_of_order(issuer: Issuer, what: str) -> None:
    spoil: dict[str, tuple[str, Any]] = {
        "other issuer": (issuer.metadata_path, {**issuer.metadata, "issuer": issuer.url + "/"}),
        "no metadata": (issuer.metadata_path, 404),
        "no object": (issuer.metadata_path, []),
        "no json": (issuer.metadata_path, b"<html>"),
        "deep": (issuer.metadata_path, b"[" * 100_000),
        "too long": (issuer.metadata_path, b" " * 600_000 + b"{}"),
        "moved": (issuer.metadata_path, 302),
        "no keys": ("/keys", {"keys": []}),
        "keys are moved": ("/keys", 301),
        "keys crash": ("/keys", 500),
        "no place for keys": (issuer.metadata_path, {"issuer": issuer.url}),
        "keys in a file": (issuer.metadata_path, {**issuer.metadata, "jwks_uri": "file:///etc/passwd"}),
        "keys without TLS": (issuer.metadata_path, {**issuer.metadata, "jwks_uri": "http://192.0.2.1/keys"}),
    }
    path, page = spoil[what]
    issuer.pages[path] = page
    issuer.pages["/elsewhere"] = {**issuer.metadata, "keys": issuer.keys}


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("other issuer", "is about"),
        ("no metadata", "no metadata"),
        ("no object", "is about"),
        ("no json", "not JSON"),
        ("deep", "not JSON"),
        ("too long", "more than"),
        ("moved", "no metadata"),
        ("no keys", "holds no key"),
        ("keys are moved", "answers 301"),
        ("keys crash", "answers 500"),
        ("no place for keys", "jwks_uri"),
        ("keys in a file", "jwks_uri"),
        ("keys without TLS", "jwks_uri"),
    ],
)
def test_an_issuer_out_of_order_is_said_to_be_so(what: str, words: str) -> None:
    with Issuer() as issuer:
        out_of_order(issuer, what)
        with pytest.raises(IssuerUnreachable, match=words):
            fetch_keys(issuer.url)
        assert "/elsewhere" not in issuer.asked


@pytest.mark.parametrize(
    ("url", "plain", "may"),
    [
        ("https://id.example/keys", False, True),
        ("http://localhost:8080/keys", True, True),
        ("http://[::1]:8080/keys", True, True),
        ("http://localhost:8080/keys", False, False),
        ("http://id.example/keys", True, False),
        ("http://127.0.0.1.evil.example/keys", True, False),
        ("http://localhost@evil.example/keys", True, False),
        ("file:///etc/passwd", True, False),
        ("ftp://localhost/x", True, False),
        ("https://", True, False),
        ("http://[", True, False),
        ("", True, False),
    ],
)
def test_only_what_tls_or_this_computer_vouches_for_is_asked(url: str, plain: bool, may: bool) -> None:
    assert may_be_asked(url, plain=plain) is may


def test_a_key_that_comes_back_is_one_of_the_kind_that_signs(loop: Loop) -> None:
    with Issuer() as issuer:
        issuer.keys = [described(EC_KEY, "ec", use="enc"), described(OTHER_RSA_KEY, "rsa")]
        kept = Fetching(loop, issuer)
        with pytest.raises(TokenRefused):
            kept.owner(issuer.token("here", EC_KEY, "ES256"))


# ---------------------------------------------------------------------- how it is set up


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--oauth-scope", "notes"], "--oauth-issuer"),
        (["--oauth-resource", "https://x.example"], "--oauth-issuer"),
        (["--oauth-issuer", "id.example"], "https://"),
        (["--oauth-issuer", "http://id.example"], "https://"),
        (["--oauth-issuer", "http://localhost.evil.example"], "https://"),
        (["--oauth-issuer", "https://id.example?x=1"], "https://"),
        (["--oauth-issuer", "https://anna:x@id.example"], "https://"),
        (["--oauth-issuer", 'https://id.example/"'], "https://"),
        (["--oauth-issuer", "https://id.example", "--oauth-resource", "notes"], "--oauth-resource"),
        (["--oauth-issuer", "https://id.example", "--oauth-resource", 'https://x.example/"'], "--oauth-resource"),
        (["--oauth-issuer", "https://id.example", "--oauth-scope", 'a"b'], "--oauth-scope"),
        (["--oauth-issuer", "https://id.example", "--oauth-scope", ""], "--oauth-scope"),
        (["--oauth-issuer", "https://id.example", "--host", "0.0.0.0"], "--oauth-resource"),
    ],
)
def test_settings_that_cannot_work_are_one_clear_line(vault: Path, options: list[str], words: str) -> None:
    assert_cannot_start(vault, options, words)


def test_packages_that_are_not_here_are_one_clear_line(vault: Path, tmp_path: Path) -> None:
    (tmp_path / "jwt.py").write_text("raise ImportError\n")
    options = ["--oauth-issuer", "https://id.example"]
    assert_cannot_start(vault, options, "-m pip install 'pyjwt[crypto]>=2.10.1'", PYTHONPATH=str(tmp_path))


def assert_cannot_start(vault: Path, options: list[str], words: str, **environment: str) -> None:
    finished = forking.run(loaded("vaultwire", "serve", "--vault", str(vault), "--port", "0", *options), environment)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert words in finished.stderr
    assert finished.stderr.count("\n") == 1, finished.stderr


def test_a_server_in_the_open_needs_no_key_where_tokens_open_it(vault: Path, issuer: Issuer, tmp_path: Path) -> None:
    options = ("--host", "0.0.0.0", "--oauth-issuer", issuer.url, "--oauth-resource", "https://notes.example.org/mcp")
    with Serving(vault, *options, VAULTWIRE_STATE=str(tmp_path)) as server:
        assert server.request("POST", CALL, BODY).status == 401
        token = issuer.token("https://notes.example.org/mcp")
        assert server.request("POST", CALL, BODY, authorization=f"Bearer {token}").status == 200
