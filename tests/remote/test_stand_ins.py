"""Stand-ins for claude.ai and ChatGPT that do what those are known to do, and the official client by itself."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import TextContent

from support.serving import Serving
from support.sign_in import HELLO, URL, Connecting, answer_of
from support.vaults import write_vault

LISTING = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


def metadata_of(client: Connecting) -> dict[str, Any]:
    """Find the authorization server, as both services do: by the refusal, the path-inserted page, the issuer's root."""
    refused = client.tell(HELLO)
    assert (refused.status, refused.headers["content-type"]) == (401, "application/json")
    place = refused.headers["www-authenticate"].partition('resource_metadata="')[2].partition('"')[0]
    page = client.send("GET", place.removeprefix(URL))
    assert page.headers["content-type"] == "application/json"
    assert page.json["resource"] == f"{URL}/mcp"
    [issuer] = page.json["authorization_servers"]
    found: dict[str, Any] = client.send("GET", f"{urlsplit(issuer).path}/.well-known/oauth-authorization-server").json
    assert found["issuer"] == issuer
    return found


def test_claude_ai_connects_lists_tools_and_stays_connected(client: Connecting) -> None:
    for method in ("HEAD", "GET"):
        assert client.send(method, "/mcp", accept="text/event-stream").status == 401
    metadata = metadata_of(client)
    # With both, it takes its document; without, it registers. It has been seen to register in spite of them.
    assert metadata["client_id_metadata_document_supported"] is True
    assert "none" in metadata["token_endpoint_auth_methods_supported"]
    assert client.send("GET", "/.well-known/openid-configuration").status == 404
    client.register(token_endpoint_auth_method="client_secret_post", scope="read write offline_access")
    first = client.client_id
    client.register(client_name="Claude (2)")  # a second time in each attempt
    assert client.client_id != first
    # It asks for what is advertised, at the root of the host, whatever the metadata say.
    address = client.request(scope=" ".join(metadata["scopes_supported"]))
    answer = client.allow(address, client.sign_in(address), access="write", days="365")
    tokens = client.exchange(answer_of(answer)["code"]).json
    bearer = {"authorization": f"Bearer {tokens['access_token']}"}
    for path in ("/mcp", "/mcp/"):
        opened = client.tell(HELLO, path, **bearer)
        assert opened.status == 200
        listed = client.tell(LISTING, path, **bearer)  # without Mcp-Session-Id
        assert len(listed.json["result"]["tools"]) > 10
    renewed = client.refresh(tokens["refresh_token"], resource=f"{URL}/mcp").json
    assert renewed["refresh_token"] != tokens["refresh_token"]
    assert client.is_let_in(renewed["access_token"])


def test_chatgpt_connects_with_scopes_of_openid_and_gets_a_refresh_token(server: Serving) -> None:
    client = Connecting(server, "https://chatgpt.com/connector_platform_oauth_redirect")
    metadata_of(client)
    client.register(client_name="ChatGPT", token_endpoint_auth_method="none")
    address = client.request(scope="openid email offline_access profile")  # and no "prompt"
    page = client.sign_in(address)
    assert b"chatgpt.com" in page.body
    answer = answer_of(client.allow(address, page, access="read"))
    tokens = client.exchange(answer["code"]).json
    assert tokens["refresh_token"]
    assert tokens["scope"] == "read offline_access"
    bearer = {"authorization": f"Bearer {tokens['access_token']}"}
    assert client.tell(HELLO, **bearer).status == 200
    spoilt = {**bearer, "authorization": "Bearer over"}
    refused = client.tell(HELLO, **spoilt)
    assert 'error="invalid_token"' in refused.headers["www-authenticate"]


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
