"""Has schemathesis send requests of all kinds to the endpoints of sign-in of a real server. ``make openapi``.

The document of these endpoints is here, not in the program: clients find them by the metadata of OAuth. It says of each answer
what a client of that specification relies on; ``run.py`` runs it.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from support.serving import Serving
from support.sign_in import PASSWORD, Connecting
from vaultwire.remote import people
from vaultwire.remote.store import Store

# As clients of RFC 6749, 5.2, and RFC 7591, 3.2.2, read it.
_ERROR = {
    "type": "object",
    "required": ["error", "error_description"],
    "properties": {"error": {"type": "string", "pattern": "^[a-z_]+$"}, "error_description": {"type": "string"}},
}
_TEXT = {"type": "string"}


def _json(description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _page(description: str) -> dict[str, Any]:
    return {"description": description, "content": {"text/html": {}}}


def _form(fields: dict[str, Any], answer: dict[str, Any], *more: int) -> dict[str, Any]:
    form = {"type": "object", "properties": fields}
    refusals = {str(status): _json("refused", _ERROR) for status in (400, *more)}
    return {
        "post": {
            "requestBody": {"content": {"application/x-www-form-urlencoded": {"schema": form}}},
            "responses": {"200": answer, **refusals},
        }
    }


def _query(client_id: str, redirect_uri: str) -> list[dict[str, Any]]:
    known = {
        "client_id": [client_id],
        "redirect_uri": [redirect_uri],
        "response_type": ["code"],
        "code_challenge_method": ["S256"],
        "code_challenge": ["a" * 43],
    }
    texts = [*known, "scope", "state", "resource"]
    return [
        {
            "name": name,
            "in": "query",
            "required": name in known,
            "schema": {"anyOf": [{"enum": known[name]}, _TEXT]} if name in known else _TEXT,
        }
        for name in texts
    ]


def document_of(client_id: str, redirect_uri: str) -> dict[str, Any]:
    """Return the OpenAPI document; the client is one that has registered, so that some requests get far."""
    ids = {"anyOf": [{"enum": [client_id]}, _TEXT]}
    token = {"type": "object", "required": ["access_token", "token_type", "expires_in", "refresh_token", "scope"]}
    grants = {"enum": ["authorization_code", "refresh_token", "password"]}
    code_form = {"grant_type": grants, "client_id": ids, "redirect_uri": _TEXT, "resource": _TEXT}
    code_form |= dict.fromkeys(("code", "code_verifier", "refresh_token"), _TEXT)
    person: dict[str, Any] = {
        "step": {"enum": ["sign-in", "passkey", "allow", "refuse"]},
        "access": {"enum": ["read", "write"]},
    }
    person |= dict.fromkeys(("name", "password", "answer", "ticket", "days", "folder"), _TEXT)
    metadata = {
        "type": "object",
        "properties": {"redirect_uris": {"type": "array", "items": {"anyOf": [{"enum": [redirect_uri]}, _TEXT]}}},
    }
    asked: dict[str, Any] = {
        "get": {"responses": {"200": _page("sign in"), "303": _page("back"), "400": _page("no client")}},
        "post": {
            "requestBody": {
                "content": {"application/x-www-form-urlencoded": {"schema": {"type": "object", "properties": person}}}
            },
            "responses": {str(status): _page("a page") for status in (200, 303, 400, 403, 429, 503)},
        },
    }
    for each in asked.values():
        each["parameters"] = _query(client_id, redirect_uri)
    making = {"step": {"enum": ["begin", "add"]}, "code": _TEXT, "answer": _TEXT}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sign-in", "version": "1"},
        "paths": {
            "/authorize": asked,
            "/token": _form(code_form, _json("tokens", token), 401),
            "/revoke": _form({"token": _TEXT, "client_id": ids}, {"description": "over"}, 401),
            "/register": {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": metadata}}},
                    "responses": {
                        "201": _json("registered", {"type": "object", "required": ["client_id", "redirect_uris"]}),
                        "400": _json("refused", _ERROR),
                    },
                }
            },
            "/passkey": _form(making, _json("what the browser is asked for", {"type": "object"}), 403),
            "/.well-known/oauth-authorization-server": {
                "get": {"responses": {"200": _json("metadata", {"type": "object", "required": ["issuer"]})}}
            },
            "/.well-known/oauth-protected-resource/mcp": {
                "get": {"responses": {"200": _json("metadata", {"type": "object", "required": ["resource"]})}}
            },
        },
    }


def add_people(state: Path) -> None:
    """Let somebody sign in; the requests know neither the name nor the password."""
    store = Store(str(state / "sign-in"))
    people.add(store, "Ana", PASSWORD)
    store.close()


def write_document(folder: Path, server: Serving, url: str) -> Path:
    """Write the document for a client that has registered, and return its path."""
    # Schemathesis follows redirects: this one leads to a page of the server itself.
    client = Connecting(server, f"{url}/passkey", url)
    assert client.register().status == 201
    place = folder / "sign-in.json"
    place.write_text(json.dumps(document_of(client.client_id, client.redirect_uri)))
    return place


def wrong_in_log(log: str) -> str | None:
    """Return what must not be in the log of a server after any requests."""
    found = re.search(r"Traceback|vw[acore]_[\w-]{43}", log)
    return None if found is None else found[0]
