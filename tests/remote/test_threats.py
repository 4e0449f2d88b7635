"""What somebody may try against sign-in, one threat after the other, over a socket."""

from __future__ import annotations

import json
import re
import shutil
import socket
from typing import Any
from urllib.parse import urlsplit

import pytest

from support.serving import Serving
from support.sign_in import PASSWORD, URL, Connecting, answer_of, new_proof
from support.vaults import write_vault


@pytest.fixture
def registered(client: Connecting) -> Connecting:
    client.register()
    return client


# ---------------------------------------------------------------------- mix-up, code injection and replay


def test_every_answer_names_its_issuer(registered: Connecting) -> None:
    address = registered.request()
    refused = registered.submit(address, step="refuse")
    assert answer_of(refused) == {
        "error": "access_denied",
        "error_description": "the person refused",
        "state": "as it was",
        "iss": URL,
    }
    wrong = registered.send("GET", registered.request(response_type="token"))
    assert (answer_of(wrong)["error"], answer_of(wrong)["iss"]) == ("unsupported_response_type", URL)
    allowed = registered.allow(address, registered.sign_in(address))
    assert answer_of(allowed)["iss"] == URL


def test_a_code_is_for_the_client_and_the_proof_that_asked_for_it(server: Serving, registered: Connecting) -> None:
    thief = Connecting(server)
    thief.register(client_name="Thief")
    thief.proof = registered.proof
    assert thief.exchange(registered.code()).json["error"] == "invalid_grant"
    for spoilt in (
        {"code_verifier": new_proof().verifier},
        {"code_verifier": registered.proof.challenge[:42]},
        {"redirect_uri": "https://evil.example/"},
        {"code": "vwo_made-up"},
    ):
        assert registered.exchange(**{"code": registered.code(), **spoilt}).json["error"] == "invalid_grant"
    assert registered.exchange(registered.code()).status == 200


def test_a_code_that_comes_twice_ends_what_it_was_given_for(registered: Connecting) -> None:
    code = registered.code()
    token = registered.exchange(code).json["access_token"]
    assert registered.is_let_in(token)
    again = registered.exchange(code)
    assert (again.status, again.json["error"]) == (400, "invalid_grant")
    assert not registered.is_let_in(token)


def test_pkce_is_needed_and_not_plain(registered: Connecting) -> None:
    for changed in (
        {"code_challenge": None},
        {"code_challenge_method": "plain"},
        {"code_challenge_method": None},
        {"code_challenge": "short"},
    ):
        reply = registered.send("GET", registered.request(**changed))
        assert (reply.status, answer_of(reply)["error"]) == (303, "invalid_request")


# ---------------------------------------------------------------------- redirect tricks


@pytest.mark.parametrize(
    "uri",
    [
        "https://claude.ai/api/mcp/auth_callback/",
        "https://claude.ai/api/mcp/auth_callback?x=1",
        "https://claude.ai.evil.example/api/mcp/auth_callback",
        "https://claude.ai@evil.example/api/mcp/auth_callback",
        "https://claude.ai:8443/api/mcp/auth_callback",
        "http://claude.ai/api/mcp/auth_callback",
        "https://CLAUDE.ai/api/mcp/auth_callback",
        "//evil.example",
        "",
    ],
)
def test_an_answer_goes_only_where_the_client_registered(registered: Connecting, uri: str) -> None:
    reply = registered.send("GET", registered.request(redirect_uri=uri))
    assert reply.status == 400
    assert "location" not in reply.headers
    assert registered.submit(registered.request(redirect_uri=uri), step="refuse").status == 400


@pytest.mark.parametrize(
    "uri",
    [
        "http://evil.example/",
        "javascript:alert(1)",
        "javascript://claude.ai/%0aalert(1)",
        "data:text/html,x",
        "file:///etc/passwd",
        "https://a@evil.example/",
        "https://claude.ai/#fragment",
        "https://claude.ai/ x",
        'https://claude.ai/"><script>',
        "https://claude.ai/\r\nSet-Cookie: a=b",
        "https://cl\u0430ude.ai/",
        "https://claude.ai:port/",
        "http://localhost.evil.example/",
        "http://127.0.0.1.evil.example/",
        "https://claude.ai\\@evil.example/",
        "https:///nowhere",
        "https://evil.example;frame-ancestors/",
        "https://evil.example,x/",
        "",
        7,
        None,
    ],
)
def test_no_client_registers_a_place_that_an_answer_must_not_go_to(client: Connecting, uri: Any) -> None:
    reply = client.register(redirect_uris=[uri])
    assert (reply.status, reply.json["error"]) == (400, "invalid_redirect_uri")


def test_only_the_port_of_the_persons_own_computer_may_be_another_one(server: Serving) -> None:
    client = Connecting(server, "http://127.0.0.1:3334/callback")
    client.register()
    assert client.send("GET", client.request(redirect_uri="http://127.0.0.1:50123/callback")).status == 200
    for uri in (
        "http://127.0.0.1:50123/other",
        "http://localhost:50123/callback",
        "https://127.0.0.1:50123/callback",
        "http://127.0.0.1:50123@evil.example/callback",
    ):
        assert client.send("GET", client.request(redirect_uri=uri)).status == 400


# ---------------------------------------------------------------------- tokens


def test_a_refresh_whose_answer_was_lost_can_be_made_again(client: Connecting) -> None:
    first = client.connect()
    lost = client.refresh(first["refresh_token"]).json
    renewed = client.refresh(first["refresh_token"])
    assert renewed.status == 200
    assert not client.is_let_in(lost["access_token"])
    assert client.is_let_in(renewed.json["access_token"])


def test_an_old_refresh_token_that_comes_after_its_successor_was_used_ends_the_grant(client: Connecting) -> None:
    first = client.connect()
    second = client.refresh(first["refresh_token"]).json
    assert client.is_let_in(second["access_token"])
    assert client.refresh(first["refresh_token"]).json["error"] == "invalid_grant"
    assert not client.is_let_in(second["access_token"])
    assert client.refresh(second["refresh_token"]).json["error"] == "invalid_grant"


def test_a_thief_who_is_quicker_is_found_out_by_the_next_refresh(client: Connecting) -> None:
    first = client.connect()
    own = client.refresh(first["refresh_token"]).json
    stolen = client.refresh(first["refresh_token"]).json
    assert client.is_let_in(stolen["access_token"])
    assert client.refresh(own["refresh_token"]).json["error"] == "invalid_grant"
    assert not client.is_let_in(stolen["access_token"])


def test_a_token_is_for_its_client_only(server: Serving, client: Connecting) -> None:
    tokens = client.connect()
    thief = Connecting(server)
    thief.register(client_name="Thief")
    assert thief.refresh(tokens["refresh_token"]).json["error"] == "invalid_grant"
    assert thief.post("/revoke", token=tokens["access_token"], client_id=thief.client_id).status == 200
    assert client.is_let_in(tokens["access_token"])
    for wrong in (tokens["refresh_token"], tokens["access_token"] + "x", ""):
        assert not client.is_let_in(wrong)


def test_a_token_counts_in_its_header_only(client: Connecting) -> None:
    token = client.connect()["access_token"]
    call = f"/bridge/v1/tools/read_note/call?access_token={token}"
    assert client.send("POST", call, b'{"arguments": {"path": "Note"}}', cookie=f"token={token}").status == 401


def test_a_token_for_another_server_is_not_given(registered: Connecting) -> None:
    reply = registered.send("GET", registered.request(resource="https://other.example/mcp"))
    assert answer_of(reply)["error"] == "invalid_target"
    wrong = registered.exchange(registered.code(), resource="https://other.example/mcp")
    assert (wrong.status, wrong.json["error"]) == (400, "invalid_target")
    for name in (URL, f"{URL}/", f"{URL}/mcp/"):  # as people write this one
        assert registered.send("GET", registered.request(resource=name)).status == 200


# ---------------------------------------------------------------------- consent


def test_what_a_client_calls_itself_is_shown_as_text_beside_its_host(server: Serving) -> None:
    client = Connecting(server, "https://claude.ai.evil.example/callback")
    client.register(client_name='<script>alert(1)</script>" onload="x')
    page = client.send("GET", client.request()).body.decode()
    consent = client.sign_in(client.request()).body.decode()
    for text in (page, consent):
        assert "<script" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot; onload=&quot;x" in text
        assert "claude.ai.evil.example" in text
        assert "is not among the services that vaultwire knows" in text


@pytest.mark.parametrize(
    "host",
    [
        "xn--clude-6nc.ai",  # with a Cyrillic letter, as browsers write it to the server
        "claude.ai.evil.example",
        "claude-ai.example",
        "chatgpt.com-sign-in.example",
        "evil-claude.ai",
        "www.claude.ai",
        "claude.ai.",
        "cl\u0430ude.ai".encode("idna").decode(),
    ],
)
def test_a_host_that_looks_like_a_known_one_has_a_warning(server: Serving, host: str) -> None:
    client = Connecting(server, f"https://{host}/api/mcp/auth_callback")
    client.register(client_name="Claude")
    page = client.send("GET", client.request()).body.decode()
    assert f"<strong>{host}</strong>" in page
    assert "is not among the services that vaultwire knows" in page


def test_no_field_of_a_form_or_a_registration_is_an_address_that_is_asked(state: Any, tmp_path: Any) -> None:
    shutil.copytree(state, tmp_path / "state")
    vault = write_vault(tmp_path / "vault", "=== Note.md\nx\n")
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    names = (
        "logo_uri",
        "client_uri",
        "tos_uri",
        "policy_uri",
        "jwks_uri",
        "sector_identifier_uri",
        "software_statement",
    )
    with listener, Serving(vault, "--public-url", URL, VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        client = Connecting(server)
        assert client.register(**dict.fromkeys(names, address)).status == 201
        page = client.request(request_uri=address, resource_metadata=address, logo_uri=address)
        consent = client.sign_in(page)
        assert address.encode() not in consent.body
        fields = dict.fromkeys((*names, "url", "resource", "redirect_uri", "client_id", "vault_url"), address)
        assert client.allow(page, consent, **fields).headers["location"].startswith(client.redirect_uri)
        assert client.send("GET", client.request(client_id=address)).status == 400
        server.end(15)  # what it had begun beside its answers is over
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()


def test_a_name_has_no_characters_that_turn_a_line_around_or_hide(client: Connecting) -> None:
    reply = client.register(client_name="Claude\u202eevil\u200b\x00\n  by   Anthropic" + "x" * 500)
    assert reply.json["client_name"] == ("Claude evil by Anthropic" + "x" * 500)[:60]


def test_a_known_service_has_no_warning_and_a_program_here_has_one(server: Serving, registered: Connecting) -> None:
    assert b'class="warning"' not in registered.send("GET", registered.request()).body
    program = Connecting(server, "http://localhost:4000/callback")
    program.register(client_name="Claude")
    page = program.send("GET", program.request()).body
    assert b"a program on your computer" in page
    assert b"Any program on your computer can ask like this" in page


def test_a_page_says_which_notes_for_how_long_and_where_the_answer_goes(registered: Connecting) -> None:
    page = registered.sign_in(registered.request()).body.decode()
    assert "the vault vault" in page
    assert registered.redirect_uri in page
    assert re.findall(r'name="access" value="(\w+)"( checked)?', page) == [("read", " checked"), ("write", "")]
    assert re.findall(r'option value="(\d+)"', page) == ["1", "30", "90", "365"]


def test_a_client_that_asks_to_read_is_not_offered_more(registered: Connecting) -> None:
    address = registered.request(scope="read offline_access")
    page = registered.sign_in(address)
    assert b'value="write"' not in page.body
    code = answer_of(registered.allow(address, page, access="write"))["code"]
    assert registered.exchange(code).json["scope"] == "read offline_access"


def test_pages_run_nothing_and_stand_in_no_frame(registered: Connecting) -> None:
    address = registered.request()
    for reply in (registered.send("GET", address), registered.sign_in(address), registered.send("GET", "/authorize")):
        policy = reply.headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; style-src 'sha256-")
        assert "frame-ancestors 'none'" in policy
        assert reply.headers["x-frame-options"] == "DENY"
        assert reply.headers["cache-control"] == "no-store"
        assert b"<script" not in reply.body
    # Browsers hold the redirects after the form to this, too: the client's, and those that its server adds.
    assert "form-action 'self' https://claude.ai;" in registered.send("GET", address).headers["content-security-policy"]
    policy = registered.sign_in(address).headers["content-security-policy"]
    assert "form-action 'self' https: http: cursor: vscode: vscode-insiders: windsurf:;" in policy


# ---------------------------------------------------------------------- other pages


def test_nobody_allows_anything_without_having_signed_in_for_this_request(registered: Connecting) -> None:
    address, other = registered.request(), registered.request(state="other")
    page = registered.sign_in(address)
    assert registered.submit(address, step="allow", access="write", days="30", ticket="made up").status == 403
    assert registered.submit(address, step="allow", access="write", days="30").status == 403
    assert registered.allow(address, page).status == 303
    assert registered.allow(address, page).status == 403  # a second time
    assert registered.allow(other, registered.sign_in(address)).status == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://notes.example.org.evil.example"])
def test_a_form_of_another_page_is_refused(registered: Connecting, origin: str) -> None:
    body = b"step=sign-in&name=Ana"
    form = {"content_type": "application/x-www-form-urlencoded", "origin": origin}
    assert registered.send("POST", registered.request(), body, **form).status == 403


def test_no_address_answers_to_another_name(registered: Connecting) -> None:
    for method, path in (
        ("GET", registered.request()),
        ("POST", registered.request()),
        ("POST", "/token"),
        ("POST", "/register"),
        ("POST", "/revoke"),
        ("GET", "/.well-known/oauth-authorization-server"),
    ):
        assert registered.send(method, path, b"" if method == "POST" else None, host="evil.example").status == 421


def test_a_parameter_that_is_there_twice_is_refused(registered: Connecting) -> None:
    address = registered.request() + "&state=other"
    assert registered.send("GET", address).status == 400
    form = b"grant_type=refresh_token&client_id=a&client_id=b&refresh_token=c"
    assert registered.send("POST", "/token", form).json["error"] == "invalid_request"


# ---------------------------------------------------------------------- brute force and floods


def test_wrong_passwords_lock_out_no_browser_that_the_person_uses_and_nobody_else(server: Serving) -> None:
    known, stranger = Connecting(server), Connecting(server)
    known.register()
    stranger.register()
    address = known.request()
    assert known.sign_in(address, "Ben").status == 200
    for _ in range(10):
        wrong = stranger.sign_in(stranger.request(), "ben", "wrong password here")
        assert (wrong.status, b"wrong password here" in wrong.body) == (403, False)
    assert stranger.sign_in(stranger.request(), "Ben").status == 429  # also with the right one
    assert known.sign_in(address, "Ben").status == 200
    assert Connecting(server).sign_in(address, "Ana").status == 200


def test_an_unknown_name_is_answered_as_a_wrong_password(registered: Connecting) -> None:
    address = registered.request()
    pages = [registered.sign_in(address, name, "a wrong password").body for name in ("Nobody", "Ana")]
    assert pages[0].replace(b"Nobody", b"Ana") == pages[1]


def test_any_number_of_registrations_fills_nothing(server: Serving, registered: Connecting, state: Any) -> None:
    before = sum(file.stat().st_size for file in (state / "sign-in").iterdir())
    other = Connecting(server)
    ids = {other.register(client_name=f"Client {number}").json["client_id"] for number in range(300)}
    assert len(ids) == 300
    assert sum(file.stat().st_size for file in (state / "sign-in").iterdir()) == before
    assert registered.send("GET", registered.request()).status == 200


def test_a_registration_that_this_server_did_not_sign_is_none(registered: Connecting) -> None:
    prefix, facts, signature = re.split(r"(?<=^vw1)\.|\.", registered.client_id)
    for spoilt in (
        f"{prefix}.{facts}.{'A' * len(signature)}",
        f"{prefix}.{facts[:-1]}.{signature}",
        f"{prefix}.{facts}",
        f"{prefix}.",
        "vw1.\u00e9.x",
        "made up",
        "",
    ):
        assert registered.send("GET", registered.request(client_id=spoilt)).status == 400


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"redirect_uris": []}', b"[" * 20_000, b"\xff"])
def test_what_is_no_registration_is_refused(client: Connecting, body: bytes) -> None:
    reply = client.send("POST", "/register", body, content_type="application/json")
    assert (reply.status, reply.json["error"][:7]) == (400, "invalid")


def test_a_body_that_is_too_large_is_refused(client: Connecting) -> None:
    for path in ("/register", "/token", "/revoke", "/authorize"):
        assert client.send("POST", path, b"x" * 40_000).status == 413


# ---------------------------------------------------------------------- secrets


def test_no_secret_is_in_a_log_or_on_the_disk(tmp_path: Any, state: Any) -> None:
    shutil.copytree(state, tmp_path / "state")
    vault = write_vault(tmp_path / "vault", "=== Note.md\nx\n")
    audit = tmp_path / "audit.jsonl"
    options = ("--public-url", URL, "--log-json", "--audit", str(audit))
    with Serving(vault, *options, VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        client = Connecting(server)
        client.register()
        code = client.code(access="write")
        tokens = client.exchange(code).json
        renewed = client.refresh(tokens["refresh_token"]).json
        assert client.is_let_in(renewed["access_token"])
        client.exchange(code)
        client.sign_in(client.request(), PASSWORD, "typed into the wrong field")
        _, output, errors = server.end(15)
    secrets = [code, client.cookie.partition("=")[2], client.proof.verifier, PASSWORD, "wrong field"]
    secrets += [each[name] for each in (tokens, renewed) for name in ("access_token", "refresh_token")]
    logs = output + errors + audit.read_text()
    assert "Ana through claude.ai: was given an access token" in logs
    files = [file.read_bytes() for file in (tmp_path / "state").rglob("*") if file.is_file()]
    for secret in secrets:
        assert secret not in logs
        assert not any(secret.encode() in file for file in files)
    assert all(json.loads(line) for line in errors.splitlines())


def test_urls_of_this_server_are_what_they_say(client: Connecting) -> None:
    metadata = client.send("GET", "/.well-known/oauth-authorization-server").json
    for name in ("authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"):
        assert client.send("OPTIONS", urlsplit(metadata[name]).path).status in (204, 405)
