"""A small OAuth issuer on loopback: real keys, metadata and tokens, and the faults that an issuer can have."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

RSA_KEY = rsa.generate_private_key(65537, 2048)
OTHER_RSA_KEY = rsa.generate_private_key(65537, 2048)
EC_KEY = ec.generate_private_key(ec.SECP256R1())
ED_KEY = ed25519.Ed25519PrivateKey.generate()


def described(key: Any, id_: str | None, **more: str) -> dict[str, Any]:
    """Return the public half of a key as a JSON Web Key."""
    algorithm: Any = {
        "RSAPrivateKey": jwt.algorithms.RSAAlgorithm,
        "ECPrivateKey": jwt.algorithms.ECAlgorithm,
        "Ed25519PrivateKey": jwt.algorithms.OKPAlgorithm,
    }[type(key).__name__.removeprefix("_")]
    shown: dict[str, Any] = algorithm.to_jwk(key.public_key(), as_dict=True)
    shown.pop("key_ops", None)
    return {**shown, **({} if id_ is None else {"kid": id_}), **more}


class Issuer:
    """The server. ``keys`` is what it shows; ``pages`` overrides what is at a path: a status, or an object."""

    def __init__(self, path: str = "") -> None:
        self.keys: list[dict[str, Any]] = [described(RSA_KEY, "rsa"), described(EC_KEY, "ec"), described(ED_KEY, "ed")]
        self.pages: dict[str, Any] = {}
        self.asked: list[str] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        issuer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                issuer.answer(self)

            def do_POST(self) -> None:
                issuer.grant(self)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self.url = self.origin + path
        self.metadata: dict[str, Any] = {
            "issuer": self.url,
            "jwks_uri": f"{self.origin}/keys",
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
        }
        self.metadata_path = f"/.well-known/oauth-authorization-server{path}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()

    def end(self) -> None:
        """Stop answering."""
        self.may_answer.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        self.may_answer.wait(30)
        page = self.pages.get(handler.path)
        if page is None:
            page = {self.metadata_path: self.metadata, "/keys": {"keys": self.keys}}.get(handler.path, 404)
        status = page if isinstance(page, int) else 200
        body = page if isinstance(page, bytes) else json.dumps(page).encode()
        handler.send_response(status)
        if 300 <= status < 400:
            handler.send_header("Location", f"{self.origin}/elsewhere")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        try:
            handler.wfile.write(body)
        except OSError:  # whoever asked has heard enough
            pass

    def grant(self, handler: BaseHTTPRequestHandler) -> None:
        """Give a program a token for anything it asks, without checking who it is."""
        form = parse_qs(handler.rfile.read(int(handler.headers["Content-Length"])).decode())
        token = self.token(form["resource"][0], scope=form["scope"][0], sub="program")
        body = json.dumps({"access_token": token, "token_type": "Bearer", "expires_in": 60}).encode()
        handler.send_response(200)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    def token(
        self,
        audience: Any,
        key: Any = RSA_KEY,
        algorithm: str = "RS256",
        head: dict[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """Return a token, good for a minute unless the claims say otherwise; a claim of None is left out."""
        now = int(time.time())
        said = {"iss": self.url, "aud": audience, "sub": "anna", "iat": now, "exp": now + 60, **claims}
        said = {name: value for name, value in said.items() if value is not None}
        head = {"kid": {"RS": "rsa", "PS": "rsa", "ES": "ec", "Ed": "ed"}.get(algorithm[:2]), **(head or {})}
        return jwt.encode(said, key, algorithm, {name: value for name, value in head.items() if value is not None})
