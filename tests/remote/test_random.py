"""Random requests to every address of sign-in: none makes it fail, and none gets a token or a redirect to elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.asgi import Loop
from support.sign_in import PASSWORD, URL, Connecting, InProcess
from vaultwire.remote import people
from vaultwire.remote.clients import Clients
from vaultwire.remote.endpoint import Offered, SignIn
from vaultwire.remote.store import Store

NAMES = [
    *("response_type", "client_id", "redirect_uri", "scope", "state", "code_challenge", "code_challenge_method"),
    *("resource", "grant_type", "code", "code_verifier", "refresh_token", "token", "step", "ticket", "access", "days"),
]
TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        ["code", "S256", "authorization_code", "refresh_token", "allow", "refuse", "write", "30", "x" * 43]
    ),
    st.sampled_from(
        [f"{URL}/mcp", "https://evil.example/", "http://127.0.0.1:1/", "vw1.e30.e30", "https://claude.ai/x"]
    ),
)
FIELDS = st.lists(st.tuples(st.sampled_from(NAMES), TEXTS), max_size=12)


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connecting]:
    folder: Path = tmp_path_factory.mktemp("state")
    store = Store(str(folder / "sign-in"))
    people.add(store, "Ana", PASSWORD)
    clients = Clients(b"key")
    clients._hosts = frozenset()  # no address is asked, whatever the name
    sign_in = SignIn(store, clients, URL, Offered(("the vault Notes",), {}, may_write=True), lambda _: None)
    with Loop() as loop:
        connecting = Connecting(InProcess(loop, sign_in))
        connecting.register()
        yield connecting
    sign_in.close()


@given(path=st.sampled_from(["/token", "/register", "/revoke"]), body=st.one_of(st.binary(max_size=200), FIELDS))
def test_no_form_of_a_program_makes_it_fail(client: Connecting, path: str, body: bytes | list[tuple[str, str]]) -> None:
    data = body if isinstance(body, bytes) else urlencode(body, errors="surrogatepass").encode()
    reply = client.send("POST", path, data, content_type="application/x-www-form-urlencoded")
    assert reply.status in (200, 400, 401)
    assert reply.headers["content-type"] == "application/json"
    assert b"access_token" not in reply.body


@given(query=st.one_of(st.binary(max_size=100), FIELDS), known=st.booleans(), form=FIELDS)
def test_no_request_for_a_person_makes_it_fail_or_leads_elsewhere(
    client: Connecting, query: bytes | list[tuple[str, str]], form: list[tuple[str, str]], *, known: bool
) -> None:
    text = query.decode("latin-1") if isinstance(query, bytes) else urlencode(query, errors="surrogatepass")
    address = f"{client.request()}&{text}" if known else f"/authorize?{text}"
    for reply in (client.send("GET", address), client.submit(address, **dict(form))):
        assert reply.status in (200, 303, 400, 403)
        assert reply.headers["content-security-policy"].startswith("default-src 'none'")
        if reply.status == 303:
            assert urlsplit(reply.headers["location"]).netloc == "claude.ai"
            assert "code=" not in reply.headers["location"]
