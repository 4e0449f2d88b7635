"""Stand-ins for claude.ai and ChatGPT, which cannot reach a computer without a public address.

Each does what its service is known to do, in the same order, over real sockets, and fails where the service would give up.
What the services do is known from reports of people whose servers they did not connect to.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from support.serving import Reply
from support.sign_in import HELLO, URL, Connecting, Reachable, answer_of

CLAUDE_ID = "https://claude.ai/oauth/mcp-oauth-client-metadata"
CLAUDE_REDIRECT = "https://claude.ai/api/mcp/auth_callback"
CHATGPT_ID = "https://chatgpt.com/oauth/client.json"
CHATGPT_REDIRECT = "https://chatgpt.com/connector_platform_oauth_redirect"
_LISTING = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


class Service(Connecting):
    """What both do."""

    def __init__(self, server: Reachable, redirect_uri: str) -> None:
        super().__init__(server, redirect_uri)
        self.metadata: dict[str, Any] = {}
        self.tokens: dict[str, Any] = {}

    def discover(self) -> None:
        """Find the authorization server: by the refusal, the page that it names, the root of the issuer."""
        refused = self.tell(HELLO)
        assert (refused.status, refused.headers["content-type"]) == (401, "application/json")
        place = refused.headers["www-authenticate"].partition('resource_metadata="')[2].partition('"')[0]
        page = self._json(place)
        assert page["resource"] == f"{URL}/mcp"  # the address that the person gave, to the letter
        [issuer] = page["authorization_servers"]
        assert urlsplit(issuer).path == ""  # with a path, the TypeScript SDK wants all that OpenID has
        self.metadata = self._json(f"{issuer}/.well-known/oauth-authorization-server")
        assert self.metadata["issuer"] == issuer

    def _json(self, address: str) -> Any:
        reply = self.send("GET", address.removeprefix(URL))
        assert (reply.status, reply.headers["content-type"]) == (200, "application/json")  # no redirect, no page
        return reply.json

    @property
    def takes_documents(self) -> bool:
        """Whether both flags are there without which the document of a client is not tried."""
        has_flag = self.metadata.get("client_id_metadata_document_supported") is True
        return has_flag and "none" in self.metadata.get("token_endpoint_auth_methods_supported", ())

    def sign_in_and_exchange(self, address: str, **choice: str) -> None:
        """Have the person allow it, and exchange the code of the answer, which has to name the issuer."""
        answer = answer_of(self.allow(address, self.sign_in(address), **choice))
        assert (answer["state"], answer["iss"]) == ("as it was", URL)
        reply = self.exchange(answer["code"])
        assert reply.status == 200, reply.body
        self.tokens = reply.json
        assert self.tokens["token_type"].lower() == "bearer"

    def _bearer(self) -> dict[str, str]:
        token = f"Bearer {self.tokens['access_token']}"
        return {"authorization": token, "mcp_protocol_version": HELLO["params"]["protocolVersion"]}

    def list_tools(self, path: str = "/mcp", name: str = "tests") -> list[dict[str, Any]]:
        """Initialize, forget the session's id, and list the tools as a request of its own."""
        bearer = self._bearer()
        hello = {**HELLO, "params": {**HELLO["params"], "clientInfo": {"name": name, "version": "1"}}}
        assert self.tell(hello, path, **bearer).status == 200
        tools: list[dict[str, Any]] = self.tell(_LISTING, path, **bearer).json["result"]["tools"]
        return tools

    def renew(self) -> Reply:
        """Take new tokens for the refresh token, without which a person would have to sign in every hour."""
        reply = self.refresh(self.tokens["refresh_token"], resource=f"{URL}/mcp")
        assert reply.status == 200, reply.body
        assert reply.json["refresh_token"] != self.tokens["refresh_token"]
        self.tokens = reply.json
        return reply


class ClaudeAi(Service):
    """claude.ai, the desktop app's connectors and the phone's: one client on Anthropic's servers."""

    def __init__(self, server: Reachable, *, registers: bool = True) -> None:
        """``registers``: although both flags are there, as it has been seen to do."""
        super().__init__(server, CLAUDE_REDIRECT)
        self._registers = registers
        self.ids: list[str] = []

    def connect(self, **choice: str) -> Any:
        for method in ("HEAD", "GET"):
            assert self.send(method, "/mcp", accept="text/event-stream").status == 401
        self.discover()
        assert self.send("GET", "/.well-known/openid-configuration").status == 404
        if self.takes_documents and not self._registers:
            self.client_id = CLAUDE_ID
        else:
            for name in ("Claude", "Claude (2)"):  # two in each attempt; the second one counts
                scope = " ".join(self.metadata["scopes_supported"])
                assert self.register(client_name=name, scope=scope, token_endpoint_auth_method="none").status == 201
                self.ids.append(self.client_id)
        # It asks for what is advertised, and calls the root of the host, wherever the metadata lead.
        self.sign_in_and_exchange(self.request(scope=" ".join(self.metadata["scopes_supported"])), **choice)
        return self.tokens


class ChatGpt(Service):
    """ChatGPT's connectors."""

    def __init__(self, server: Reachable) -> None:
        super().__init__(server, CHATGPT_REDIRECT)
        self.asked_for = ""

    def connect(self, **choice: str) -> Any:
        self.discover()
        assert "S256" in self.metadata["code_challenge_methods_supported"]
        assert self.register(client_name="ChatGPT", token_endpoint_auth_method="none").status == 201
        # Scopes of OpenID, and no "prompt": a refresh token must not depend on it.
        self.asked_for = self.request(scope="openid email offline_access profile")
        self.sign_in_and_exchange(self.asked_for, **choice)
        assert self.tokens["refresh_token"]
        spoilt = self.tell(HELLO, authorization="Bearer over")
        assert spoilt.status == 401
        assert 'error="invalid_token"' in spoilt.headers["www-authenticate"]
        return self.tokens

    def call_tool(self, tool: str, **arguments: Any) -> Any:
        """Return the data of a tool, after checking that the one text is the same data."""
        body = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        result = self.tell(body, **self._bearer()).json["result"]
        [block] = result["content"]
        assert json.loads(block["text"]) == result["structuredContent"]
        return result["structuredContent"]
