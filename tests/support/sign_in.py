"""A client of our sign-in, and the person in front of it: requests over a real socket, and forms as a browser sends them."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from html import unescape
from typing import Any, NamedTuple, Protocol
from urllib.parse import parse_qs, urlencode, urlsplit

from support.asgi import Http, Loop
from support.serving import Reply
from vaultwire.remote.endpoint import SignIn
from vaultwire.transports import guard
from vaultwire.transports.guard import Observer

URL = "https://notes.example.org"
PASSWORD = "correct horse battery staple"  # of every person of the tests
TAKES_BOTH = {"content_type": "application/json", "accept": "application/json, text/event-stream"}
HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}},
}


class Reachable(Protocol):
    """A server that can be asked."""

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply: ...


class Proof(NamedTuple):
    """What PKCE asks for."""

    verifier: str
    challenge: str


def new_proof() -> Proof:
    verifier = secrets.token_urlsafe(48)
    digest = hashlib.sha256(verifier.encode()).digest()
    return Proof(verifier, base64.urlsafe_b64encode(digest).rstrip(b"=").decode())


class Connecting:
    """One client that connects to one server, and a person's browser."""

    def __init__(
        self, server: Reachable, redirect_uri: str = "https://claude.ai/api/mcp/auth_callback", url: str = URL
    ) -> None:
        self.server = server
        self.url = url
        self.redirect_uri = redirect_uri
        self.client_id = ""
        self.proof = new_proof()
        self.cookie = ""

    # ------------------------------------------------------------------ the client

    def send(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        return self.server.request(method, path, body, **{"host": urlsplit(self.url).netloc, **headers})

    def tell(self, message: dict[str, Any], path: str = "/mcp", **headers: str) -> Reply:
        """Send a message of MCP."""
        return self.send("POST", path, json.dumps(message).encode(), **TAKES_BOTH, **headers)

    def post(self, path: str, **fields: str) -> Reply:
        body = urlencode(fields).encode()
        return self.send("POST", path, body, content_type="application/x-www-form-urlencoded")

    def register(self, **metadata: Any) -> Reply:
        metadata = {"redirect_uris": [self.redirect_uri], "client_name": "Claude", **metadata}
        reply = self.send("POST", "/register", json.dumps(metadata).encode(), content_type="application/json")
        if reply.status == 201:
            self.client_id = reply.json["client_id"]
        return reply

    def request(self, **changed: str | None) -> str:
        """Return the address that the client opens in the person's browser."""
        fields: dict[str, str | None] = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": "read write offline_access",
            "state": "as it was",
            "code_challenge": self.proof.challenge,
            "code_challenge_method": "S256",
            "resource": f"{self.url}/mcp",
            **changed,
        }
        return "/authorize?" + urlencode({name: value for name, value in fields.items() if value is not None})

    def exchange(self, code: str, **changed: str) -> Reply:
        fields = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "client_id": self.client_id,
            "code_verifier": self.proof.verifier,
            "resource": f"{self.url}/mcp",
        }
        return self.post("/token", **{**fields, **changed})

    def refresh(self, token: str, **changed: str) -> Reply:
        fields = {"grant_type": "refresh_token", "refresh_token": token, "client_id": self.client_id}
        return self.post("/token", **{**fields, **changed})

    def connect(self, **choice: str) -> Any:
        """Go all the way, and return what ``/token`` answers."""
        if not self.client_id:
            assert self.register().status == 201
        reply = self.exchange(self.code(**choice))
        assert reply.status == 200, reply.body
        return reply.json

    def call(self, token: str, tool: str, **arguments: Any) -> Reply:
        body = json.dumps({"arguments": arguments}).encode()
        return self.send("POST", f"/bridge/v1/tools/{tool}/call", body, authorization=f"Bearer {token}")

    def is_let_in(self, token: str) -> bool:
        return self.call(token, "read_note", path="Note").status == 200

    # ------------------------------------------------------------------ the person

    def submit(self, address: str, **fields: str) -> Reply:
        """Send a form of the page at an address, as a browser does."""
        headers = {"content_type": "application/x-www-form-urlencoded", "origin": self.url}
        if self.cookie:
            headers["cookie"] = self.cookie
        reply = self.send("POST", address, urlencode(fields).encode(), **headers)
        if "set-cookie" in reply.headers:
            self.cookie = reply.headers["set-cookie"].partition(";")[0]
        return reply

    def submit_all(self, address: str, fields: list[tuple[str, str]]) -> str:
        """Send the form of consent with fields of which several have the same name; return the code that comes back."""
        headers = {"content_type": "application/x-www-form-urlencoded", "origin": self.url, "cookie": self.cookie}
        return answer_of(self.send("POST", address, urlencode(fields).encode(), **headers))["code"]

    def sign_in(self, address: str, name: str = "Ana", password: str = PASSWORD) -> Reply:
        return self.submit(address, step="sign-in", name=name, password=password)

    def allow(self, address: str, page: Reply, **choice: str) -> Reply:
        ticket = re.search(r'name="ticket" value="([^"]+)"', page.body.decode())
        assert ticket is not None, page.body
        return self.submit(
            address, step="allow", ticket=unescape(ticket[1]), **{"access": "read", "days": "30", **choice}
        )

    def code(self, **choice: str) -> str:
        """Return the code of an answer after a person has signed in and allowed it."""
        address = self.request()
        answer = self.allow(address, self.sign_in(address), **choice)
        assert answer.status == 303, answer.body
        return answer_of(answer)["code"]


def answer_of(reply: Reply) -> dict[str, str]:
    """Return what a redirect takes to the client."""
    query = urlsplit(reply.headers["location"]).query
    return {name: values[0] for name, values in parse_qs(query, keep_blank_values=True).items()}


class InProcess:
    """Sign-in behind its guard, without a process of its own."""

    def __init__(self, loop: Loop, sign_in: SignIn) -> None:
        rules = guard.Rules(
            names={"notes.example.org"},
            any_address=False,
            origins=(URL,),
            key_required=True,
            owner=lambda _: None,
            token_owner=sign_in.owner,
            challenge=sign_in.challenge,
        )
        # What is behind it is not here; what is in front of it is.
        behind = (
            guard.Door("mcp", "/mcp", guard.answer_nothing, 1 << 20),
            guard.Door("", "/.well-known", guard.answer_nothing, 0, needs_key=False),
        )
        doors = [*sign_in.doors(), *behind]
        self._http = Http(loop, guard.Guard(doors, rules, Observer(log_json=False, metrics=False)))

    def request(self, method: str, path: str, body: bytes | None = None, **headers: str) -> Reply:
        where, _, query = path.partition("?")
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        reply = self._http.send(
            method, named, body, path=where, raw_path=where.encode(), query_string=query.encode(), scheme="http"
        )
        return Reply(reply.status, reply.headers, reply.body())
