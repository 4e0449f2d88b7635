"""Stand-ins for claude.ai and ChatGPT that do what those are known to do, and the official client by itself."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import TextContent

from clients.services import CLAUDE_ID, CLAUDE_REDIRECT, ChatGpt, ClaudeAi
from support.asgi import Loop
from support.certificates import make_certificate
from support.file_server import response, serving_files
from support.serving import Serving
from support.sign_in import URL, Connecting, InProcess, answer_of
from support.vaults import write_vault
from vaultwire.remote.clients import KNOWN_HOSTS, Clients
from vaultwire.remote.endpoint import Offered, SignIn
from vaultwire.remote.store import Store
from vaultwire.transports.attachment_download import Downloader


def test_claude_ai_connects_lists_tools_and_stays_connected(server: Serving) -> None:
    claude = ClaudeAi(server)
    claude.connect(access="write", days="365")
    assert claude.takes_documents
    assert len(set(claude.ids)) == 2
    for path in ("/mcp", "/mcp/"):
        assert len(claude.list_tools(path)) > 10
    claude.renew()
    assert claude.is_let_in(claude.tokens["access_token"])


def test_claude_ai_connects_with_its_document(tmp_path: Path, state: Path) -> None:
    document = {"client_id": CLAUDE_ID, "client_name": "Claude", "redirect_uris": [CLAUDE_REDIRECT]}
    certificate = make_certificate(tmp_path, name="claude.ai")
    with serving_files(
        certificate, lambda _: iter([response(json.dumps(document).encode(), "application/json")])
    ) as web:
        downloader = Downloader(
            KNOWN_HOSTS.__contains__,
            resolve=lambda _, port, **more: socket.getaddrinfo("127.0.0.1", port, **more),
            may_connect_to=lambda _: True,
            tls=ssl.create_default_context(cafile=certificate[0]),
            port=web.port,
            redirects=0,
        )
        store = Store(str(state / "sign-in"))
        offered = Offered(("The vault Notes",), {}, may_write=True)
        sign_in = SignIn(store, Clients(b"key", (), downloader), URL, offered, lambda _: None)
        with Loop() as loop:
            claude = ClaudeAi(InProcess(loop, sign_in), registers=False)
            claude.connect()
        sign_in.close()
    assert claude.client_id == CLAUDE_ID
    assert claude.ids == []
    assert web.asked == ["GET /oauth/mcp-oauth-client-metadata HTTP/1.1"]
    assert claude.tokens["scope"] == "read offline_access"


def test_chatgpt_connects_with_scopes_of_openid_and_gets_a_refresh_token(server: Serving) -> None:
    chatgpt = ChatGpt(server)
    chatgpt.connect(access="read")
    assert chatgpt.tokens["scope"] == "read offline_access"
    assert b"chatgpt.com" in chatgpt.sign_in(chatgpt.asked_for).body
    assert {"search", "fetch"} <= {tool["name"] for tool in chatgpt.list_tools(name="ChatGPT")}
    chatgpt.renew()
    note = chatgpt.call_tool("fetch", id="Note.md")
    assert note["text"] == "the secret text\n"
    [hit] = chatgpt.call_tool("search", query="secret")["results"]
    assert hit["url"] == note["url"]
    assert note["url"].startswith(f"{URL}/n/")
    assert b"Sign in" in chatgpt.send("GET", note["url"].removeprefix(URL)).body


def test_a_program_in_a_browser_reaches_all_that_it_needs(client: Connecting) -> None:
    page = {"origin": "http://localhost:6274"}
    asked = client.send(
        "OPTIONS",
        "/token",
        None,
        **page,
        access_control_request_method="POST",
        access_control_request_headers="content-type",
    )
    assert (asked.status, asked.headers["access-control-allow-origin"]) == (204, "*")
    for path in ("oauth-authorization-server", "oauth-protected-resource/mcp"):
        assert client.send("GET", f"/.well-known/{path}", None, **page).headers["access-control-allow-origin"] == "*"
    body = json.dumps({"redirect_uris": ["http://localhost:6274/oauth/callback"]}).encode()
    registered = client.send("POST", "/register", body, **page, content_type="application/json")
    assert (registered.status, registered.headers["access-control-allow-origin"]) == (201, "*")


# ---------------------------------------------------------------------- the official client


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory, state: Path) -> Iterator[Serving]:
    """A server whose public URL is where it listens."""
    vault = write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe secret text\n")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    options = ("--port", str(port), "--public-url", f"http://127.0.0.1:{port}")
    with Serving(vault, *options, VAULTWIRE_STATE=str(state)) as started:
        yield started


class Kept(TokenStorage):
    """What the official client remembers."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.parametrize("mode", ["auto", "legacy", "2026-07-28"])
def test_the_official_client_signs_in_by_itself(here: Serving, mode: str) -> None:
    person, answers, storage = Connecting(here, url=here.url), [], Kept()

    async def open_browser(address: str) -> None:
        path = address.removeprefix(here.url)
        answers.append(answer_of(person.allow(path, person.sign_in(path), access="write")))

    async def wait_for_answer() -> AuthorizationCodeResult:
        answer = answers.pop()
        return AuthorizationCodeResult(code=answer["code"], state=answer["state"], iss=answer["iss"])

    auth = OAuthClientProvider(
        f"{here.url}/mcp",
        OAuthClientMetadata.model_validate({"redirect_uris": ["http://127.0.0.1:4000/cb"], "client_name": "Tests"}),
        storage,
        open_browser,
        wait_for_answer,
    )

    async def converse() -> None:
        async with (
            httpx2.AsyncClient(auth=auth, timeout=30) as http_client,
            Client(
                streamable_http_client(f"{here.url}/mcp", http_client=http_client), mode=mode, read_timeout_seconds=30
            ) as client,
        ):
            result = await client.call_tool("read_note", {"path": "Note"})
            assert isinstance(result.content[0], TextContent)
            assert result.content[0].text == "the secret text\n"

    anyio.run(converse)
    assert storage.tokens is not None
    assert storage.tokens.scope == "read write offline_access"
    assert storage.tokens.refresh_token
