"""What a client is: its registration, or the document that its id leads to; and where answers to it may go.

A registration is not stored: its id holds it, signed by this server (RFC 7591, appendix A.5). So registrations, of which some
clients make two for each attempt and strangers make any number, fill nothing, and none has to be forgotten while a client
still knows it. All clients are public: none has a secret, and each proves with PKCE that it asked.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import json
import re
import threading
import time
from collections.abc import Callable, Collection
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from vaultwire.transports import call_on_loop
from vaultwire.transports.attachment_download import Downloader
from vaultwire.vault.value_types import NoProgress

KNOWN_HOSTS = ("claude.ai", "claude.com", "chatgpt.com", "vscode.dev", "opencode.ai")
"""Hosts of clients that people know. Documents are fetched from these, and from those that the person names."""

APP_SCHEMES = ("cursor", "vscode", "vscode-insiders", "windsurf")
"""Those of apps that take answers by a scheme of their own instead of a port of the computer (RFC 8252, 7.1)."""

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
HERE = "localhost"
"""The name of the host for all addresses of the person's own computer."""

_MOST_URIS, _MAX_URI, _MAX_NAME, _MAX_ID = 10, 500, 60, 4000
_URI = re.compile(
    r"[A-Za-z][A-Za-z0-9+.-]*://[!$-;=?-\[\]_a-z~]+"
)  # no space, quote, "<", ">", "#", "\", "^", "`", "|"
_HOST = re.compile(r"[a-z0-9._-]+")  # it also stands in a header of a page
_PREFIX = "vw1."
_SIGNATURE_BYTES = 16

# A document has 1 KB. claude.ai waits 10 seconds for each step.
_MAX_DOCUMENT_BYTES = 32 * 1024
_FETCH_SECONDS = 5.0
# Documents are fetched again after an hour; failures are not asked for again at once.
_FRESH_SECONDS, _FAILED_SECONDS = 3600.0, 30.0
# Anybody can name addresses at the allowed hosts.
_MAX_DOCUMENTS = 100
_MAX_FETCHES = 4


class ClientRefused(Exception):  # noqa: N818 - what was asked for was refused; nothing failed
    """A client that cannot be served. ``error`` is its code (RFC 7591, 3.2.2); the message says why."""

    def __init__(self, message: str, error: str = "invalid_client_metadata") -> None:
        super().__init__(message)
        self.error = error


class Client(NamedTuple):
    """A client. ``name`` is what it calls itself, which may be anything."""

    id: str
    name: str
    redirect_uris: tuple[str, ...]

    def redirect_uri(self, uri: str | None) -> str | None:
        """Return where an answer goes, None if it must not go there.

        It must be a registered URI to the letter; only the port of the person's own computer may be another one (RFC 8252,
        7.3).
        """
        if uri is None:
            return self.redirect_uris[0] if len(self.redirect_uris) == 1 else None
        if uri in self.redirect_uris:
            return uri
        plain = _without_port(uri)
        return uri if plain is not None and plain in map(_without_port, self.redirect_uris) else None


def host_of(redirect_uri: str) -> str:
    """Return the name of who gets the answers: a host, ``HERE``, or the scheme of an app."""
    parts = urlsplit(redirect_uri)
    if parts.scheme in APP_SCHEMES:
        return parts.scheme
    return HERE if _is_loopback(redirect_uri) else (parts.hostname or "")


class Clients:
    """The clients of one server."""

    def __init__(
        self,
        key: bytes,
        hosts: Collection[str] = (),
        downloader: Downloader | None = None,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """``key`` signs registrations; ``hosts``: further ones from which documents are fetched, by ``downloader``."""
        self._key = key
        self._hosts = frozenset((*KNOWN_HOSTS, *hosts))
        self._downloader = downloader or Downloader(self.knows, redirects=0)
        self._now = now
        self._documents: dict[str, tuple[float, Client | str]] = {}  # until when, and the client or what is wrong
        self._fetches = asyncio.Semaphore(_MAX_FETCHES)

    def knows(self, host: str) -> bool:
        """Tell whether a host is one of a client that people know or the person named."""
        return host in self._hosts

    # ------------------------------------------------------------------ registrations

    def register(self, metadata: Any) -> Client:
        """Return a new client. Raises ClientRefused."""
        if not isinstance(metadata, dict):
            raise ClientRefused("a registration is a JSON object")
        client = _read(metadata, "")
        facts = json.dumps([client.name, *client.redirect_uris], ensure_ascii=False, separators=(",", ":")).encode()
        id_ = _PREFIX + _to_text(facts) + "." + _to_text(self._sign(facts))
        if len(id_) > _MAX_ID:
            raise ClientRefused("the redirect_uris are too long together", "invalid_redirect_uri")
        return client._replace(id=id_)

    def _registered(self, id_: str) -> Client:
        facts, _, signature = id_.removeprefix(_PREFIX).partition(".")
        try:
            data, signed = _to_bytes(facts), _to_bytes(signature)
        except ValueError:
            data = signed = b""
        if not hmac.compare_digest(self._sign(data), signed):
            raise ClientRefused("this client is not registered here; remove the connection in it and add it again")
        name, *uris = json.loads(data)
        return Client(id_, name, tuple(uris))

    def _sign(self, facts: bytes) -> bytes:
        return hmac.new(self._key, b"client " + facts, hashlib.sha256).digest()[:_SIGNATURE_BYTES]

    # ------------------------------------------------------------------ documents

    async def find(self, id_: str) -> Client:
        """Return the client of an id. Raises ClientRefused."""
        if len(id_) > _MAX_ID:
            raise ClientRefused("the client_id is too long")
        if id_.startswith(_PREFIX):
            return self._registered(id_)
        host = _document_host(id_)
        if not self.knows(host):
            raise ClientRefused(
                f"this server does not know {host}. The person who runs it can allow that: vaultwire serve --client-host {host}"
            )
        until, client = self._documents.get(id_, (0.0, ""))
        if self._now() >= until:
            async with self._fetches:
                client = await self._fetch(id_)
            self._documents.pop(id_, None)
            self._documents[id_] = (
                self._now() + (_FRESH_SECONDS if isinstance(client, Client) else _FAILED_SECONDS),
                client,
            )
            while len(self._documents) > _MAX_DOCUMENTS:
                del self._documents[next(iter(self._documents))]
        if isinstance(client, str):
            raise ClientRefused(client)
        return client

    async def _fetch(self, id_: str) -> Client | str:
        """Return the client that a document describes, or what is wrong with it."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[Client | str] = loop.create_future()

        def resolve(client: Client | str) -> None:
            if not done.done():
                done.set_result(client)

        def run() -> None:
            try:
                data = self._downloader.fetch(id_, "client.json", _MAX_DOCUMENT_BYTES, NoProgress(), _FETCH_SECONDS)
                client: Client | str = _read_document(id_, data)
            except Exception as error:  # noqa: BLE001 - any error: who waits must be told
                client = f"{id_} cannot be used: {error}"
            call_on_loop(loop, resolve, client)

        # A daemon: waiting for a name or a far computer must not hold up the end.
        threading.Thread(target=run, daemon=True, name="vaultwire-client").start()
        return await done


def _read_document(id_: str, data: bytes) -> Client:
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        raise ClientRefused("it is not JSON") from None
    if not isinstance(document, dict) or document.get("client_id") != id_:
        raise ClientRefused("its client_id is not its own address")
    return _read(document, id_)


def _read(metadata: dict[str, Any], id_: str) -> Client:
    """Return the client that metadata describe. Raises ClientRefused."""
    uris, name = metadata.get("redirect_uris"), metadata.get("client_name", "")
    if not isinstance(uris, list) or not 0 < len(uris) <= _MOST_URIS:
        raise ClientRefused(f"redirect_uris must be a list of 1 to {_MOST_URIS} URIs", "invalid_redirect_uri")
    for uri in uris:
        if not isinstance(uri, str) or not _may_redirect_to(uri):
            raise ClientRefused(
                f"a redirect URI begins with https://, or leads to the person's own computer: {str(uri)[:200]!r} does not",
                "invalid_redirect_uri",
            )
    if not isinstance(name, str):
        raise ClientRefused("client_name must be a text")
    plain = "".join(character if character.isprintable() else " " for character in name)
    return Client(id_, " ".join(plain.split())[:_MAX_NAME], tuple(dict.fromkeys(uris)))


def _may_redirect_to(uri: str) -> bool:
    try:
        parts = urlsplit(uri)
        _ = parts.port  # raises ValueError
    except ValueError:
        return False
    if len(uri) > _MAX_URI or not _URI.fullmatch(uri) or "@" in parts.netloc:
        return False
    if not _HOST.fullmatch(parts.hostname or "") and not _is_loopback(uri):
        return False
    if parts.scheme == "https":
        return True
    return parts.scheme in APP_SCHEMES or (parts.scheme == "http" and _is_loopback(uri))


def _is_loopback(uri: str) -> bool:
    parts = urlsplit(uri)
    return parts.scheme in ("http", "https") and _host_text(parts.netloc) in _LOOPBACK


def _without_port(uri: str) -> str | None:
    """Return a URI of the person's own computer without its port, None for another one."""
    if len(uri) > _MAX_URI or not _may_redirect_to(uri) or not _is_loopback(uri):
        return None
    parts = urlsplit(uri)
    return parts._replace(netloc=_host_text(parts.netloc)).geturl()


def _host_text(netloc: str) -> str:
    return re.sub(r":\d*\Z", "", netloc).lower()


def _document_host(id_: str) -> str:
    """Return the host of a document's address. Raises ClientRefused for a text that is not one."""
    try:
        parts = urlsplit(id_)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    path = parts.path.split("/")
    if (
        parts.scheme != "https"
        or not parts.hostname
        or "@" in parts.netloc
        or port is not None
        or not _URI.fullmatch(id_)
        or len(id_) > _MAX_URI
        or parts.path in ("", "/")
        or "." in path
        or ".." in path
    ):
        raise ClientRefused(
            "the client_id is neither of a client that is registered here nor the address of its document"
        )
    return parts.hostname


def _to_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _to_bytes(text: str) -> bytes:
    """Return the bytes of a text. Raises ValueError."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
