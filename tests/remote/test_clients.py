"""What a client is: documents that its id leads to, fetched from a real server on this computer, and where answers may go."""

from __future__ import annotations

import asyncio
import json
import queue
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.asgi import Loop
from support.certificates import make_certificate
from support.file_server import FileServer, response, serving_files
from support.serving import PATIENCE
from support.sign_in import PASSWORD, URL, Connecting, InProcess
from vaultwire.remote import endpoint, people
from vaultwire.remote.clients import Client, ClientRefused, Clients, host_of
from vaultwire.remote.endpoint import Offered, SignIn
from vaultwire.remote.store import Store
from vaultwire.transports.attachment_download import Downloader

ID = "https://localhost/oauth/client.json"
REDIRECT = "https://app.example/callback"
JSON = "application/json"


def document(**changed: Any) -> bytes:
    return json.dumps({"client_id": ID, "client_name": "App", "redirect_uris": [REDIRECT], **changed}).encode()


class Documents:
    """Clients whose documents come from this computer."""

    def __init__(self, server: FileServer, certificate: tuple[str, str]) -> None:
        self.now = 1000.0
        tls = ssl.create_default_context(cafile=certificate[0])
        downloader = Downloader(
            ("localhost",).__contains__,
            may_connect_to=lambda _: True,
            tls=tls,
            port=server.port,
            redirects=0,
        )
        self.clients = Clients(b"key", ("localhost",), downloader, lambda: self.now)

    def find(self, id_: str = ID) -> Client:
        return asyncio.run(self.clients.find(id_))


class Place:
    """What the server at the document's address answers."""

    def __init__(self) -> None:
        self.answer = response(document(), JSON)

    def __call__(self, _: str) -> Iterator[bytes]:
        yield self.answer


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture
def place() -> Place:
    return Place()


@pytest.fixture
def server(certificate: tuple[str, str], place: Place) -> Iterator[FileServer]:
    with serving_files(certificate, place) as started:
        yield started


@pytest.fixture
def documents(server: FileServer, certificate: tuple[str, str]) -> Documents:
    return Documents(server, certificate)


def test_a_document_is_fetched_once_an_hour(documents: Documents, server: FileServer) -> None:
    for _ in range(3):
        assert documents.find() == Client(ID, "App", (REDIRECT,))
    assert server.asked == ["GET /oauth/client.json HTTP/1.1"]
    documents.now += 3601
    documents.find()
    assert len(server.asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        response(document(client_id=f"{ID}?"), JSON),
        response(document(client_id=None), JSON),
        response(document(redirect_uris=[]), JSON),
        response(document(redirect_uris=["http://evil.example/"]), JSON),
        response(b"not JSON", JSON),
        response(b"[" * 20_000, JSON),
        response(document(), "text/html"),
        response(document(client_name="x" * 40_000), JSON),
        response(document(), JSON, "404 Not Found"),
        response(b"", JSON, "302 Found", "Location: https://localhost/oauth/client.json"),
    ],
)
def test_a_wrong_document_is_no_client_and_is_not_asked_for_again_at_once(
    documents: Documents, server: FileServer, place: Place, answer: bytes
) -> None:
    place.answer = answer
    for _ in range(3):
        with pytest.raises(ClientRefused):
            documents.find()
    assert len(server.asked) == 1
    place.answer = response(document(), JSON)
    documents.now += 31
    assert documents.find().name == "App"


@pytest.mark.parametrize(
    "id_",
    [
        "https://other.example/client.json",
        "https://localhost.other.example/client.json",
        "http://localhost/client.json",
        "https://localhost:8443/client.json",
        "https://user@localhost/client.json",
        "https://localhost",
        "https://localhost/",
        "https://localhost/../client.json",
        "https://localhost/client.json#x",
        "https://localhost/" + "x" * 600,
        "file:///etc/passwd",
    ],
)
def test_only_addresses_at_known_hosts_are_asked(documents: Documents, server: FileServer, id_: str) -> None:
    with pytest.raises(ClientRefused):
        documents.find(id_)
    assert server.connections == 0


def test_the_message_says_how_to_know_a_further_host(documents: Documents) -> None:
    with pytest.raises(ClientRefused, match=r"vaultwire serve --client-host other\.example"):
        documents.find("https://other.example/client.json")


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "fd00::1", "::ffff:127.0.0.1"])
def test_a_known_host_that_leads_into_a_private_network_is_not_asked(server: FileServer, address: str) -> None:
    def resolve(_: str, port: int, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    clients = Clients(
        b"key", ("localhost",), Downloader(lambda _: True, resolve=resolve, port=server.port, redirects=0)
    )
    with pytest.raises(ClientRefused, match="not an address in the public internet"):
        asyncio.run(clients.find(ID))
    assert server.connections == 0


def test_a_registration_is_kept_in_its_id_and_is_of_one_server(tmp_path: Path) -> None:
    one, other = Clients(b"key"), Clients(b"other key")
    made = one.register({"redirect_uris": [REDIRECT], "client_name": "App", "client_secret": "not kept"})
    assert asyncio.run(one.find(made.id)) == made
    with pytest.raises(ClientRefused):
        asyncio.run(other.find(made.id))
    usual = one.register({"redirect_uris": ["https://claude.ai/api/mcp/auth_callback"], "client_name": "Claude"})
    assert len(usual.id) < 130  # some clients keep it in a column of 255 characters


@pytest.mark.parametrize(
    ("uri", "host"),
    [
        ("https://claude.ai/api/mcp/auth_callback", "claude.ai"),
        ("https://CLAUDE.AI:8443/x", "claude.ai"),
        ("http://127.0.0.1:4000/x", "localhost"),
        ("http://[::1]:4000/x", "localhost"),
        ("https://localhost/x", "localhost"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor"),
        ("https://xn--clude-9za.ai/", "xn--clude-9za.ai"),
    ],
)
def test_a_client_is_named_by_where_its_answers_go(uri: str, host: str) -> None:
    assert host_of(uri) == host
    assert Clients(b"key").register({"redirect_uris": [uri]}).redirect_uris == (uri,)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(str(tmp_path / "sign-in"))
    people.add(opened, "Ana", PASSWORD)
    yield opened
    opened.close()


def test_a_client_that_does_nothing_with_its_token_is_in_the_log(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint, "UNUSED_SECONDS", 0.0)
    told: queue.Queue[str] = queue.Queue()
    sign_in = SignIn(store, Clients(b"key"), URL, Offered((), {}, may_write=True), told.put)
    with Loop() as loop:
        Connecting(InProcess(loop, sign_in)).connect()
        steps = [told.get(timeout=PATIENCE) for _ in range(4)]
    assert [step.partition(":")[2].strip()[:19].strip() for step in steps[1:]] == [
        "Ana allowed it for",
        "was given an access",
        "has not used its to",
    ]


def test_a_client_with_a_document_connects_and_stays_connected(documents: Documents, store: Store) -> None:
    told: list[str] = []
    sign_in = SignIn(store, documents.clients, URL, Offered(("the vault Notes",), {}, may_write=True), told.append)
    with Loop() as loop:
        client = Connecting(InProcess(loop, sign_in), REDIRECT)
        client.client_id = ID
        page = client.send("GET", client.request()).body
        assert b"<q>App</q>" in page
        assert b"app.example is not among the services" in page  # the answer goes there, no matter who described it
        tokens = client.connect(access="write")
        assert client.refresh(tokens["refresh_token"]).status == 200
        unknown = client.send("GET", client.request(client_id="https://other.example/client.json"))
        assert (unknown.status, b"vaultwire serve --client-host other.example" in unknown.body) == (400, True)
    assert [grant.name for grant in store.grants()] == ["Ana through app.example"]
    assert told[0] == "Ana through app.example: Ana allowed it for 30 days"
