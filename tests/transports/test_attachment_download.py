"""Files from the web: only over https, from allowed hosts, at public addresses, within size and time, of the right type."""

from __future__ import annotations

import itertools
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import pytest

from support.certificates import make_certificate
from support.file_server import FileServer, response, serving_files
from support.refusals import refusal, refused
from vaultwire.transports.attachment_download import Downloader, is_public
from vaultwire.vault.errors import (
    INVALID_ARGUMENTS,
    NETWORK_BLOCKED,
    TIMEOUT,
    TOO_LARGE,
    WEB_FAILED,
    Stopped,
)
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress

PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
URL = "https://localhost/a.png"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


def answers(target: str) -> Iterator[bytes]:
    """Answer as the path says."""
    path = target.partition("?")[0]
    if path.startswith("/to/"):
        yield response(b"", "text/html", "302 Found", f"Location: {target.removeprefix('/to/')}")
    elif path == "/round":
        yield response(b"", "text/html", "301 Moved", "Location: /round")
    elif path == "/missing.png":
        yield response(b"no", "text/html", "404 Not Found")
    elif path == "/page.png":
        yield response(b"<html>", "text/html; charset=utf-8")
    elif path == "/packed.png":
        yield response(PNG, "image/png", "200 OK", "Content-Encoding: gzip")
    elif path == "/cut.png":
        yield response(PNG)[:-50]
    elif path == "/endless.png":
        yield b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n"
        yield from itertools.repeat(bytes(10_000))
    elif path == "/nothing.png":
        yield b"not HTTP at all\r\n\r\n"
    else:
        yield response(PNG, "image/jpg" if path.endswith("jpg") else "image/png")


@pytest.fixture
def server(certificate: tuple[str, str]) -> Iterator[FileServer]:
    with serving_files(certificate, answers) as server:
        yield server


def downloader(server: FileServer, certificate: tuple[str, str], hosts: tuple[str, ...] = ("localhost",)) -> Downloader:
    """Return a downloader for which this computer is in the public internet."""
    return Downloader(
        hosts.__contains__,
        may_connect_to=lambda _: True,
        tls=ssl.create_default_context(cafile=certificate[0]),
        port=server.port,
    )


@pytest.fixture
def fetching(server: FileServer, certificate: tuple[str, str]) -> Downloader:
    return downloader(server, certificate)


def test_a_file_is_fetched(server: FileServer, fetching: Downloader) -> None:
    assert fetching.fetch("https://localhost/my%20pictures/über.png?a=b c#x", "x.png", 1000, NO_PROGRESS) == PNG
    assert server.asked == ["GET /my%20pictures/%C3%BCber.png?a=b%20c HTTP/1.1"]
    assert fetching.fetch("https://LOCALHOST:443/x.jpg", "x.jpg", 1000, NO_PROGRESS) == PNG


def test_a_redirect_is_followed_to_an_allowed_host_only(server: FileServer, fetching: Downloader) -> None:
    assert fetching.fetch("https://localhost/to//a.png", "a.png", 1000, NO_PROGRESS) == PNG
    before = server.connections
    for target, code in (
        ("https://elsewhere.example/a.png", NETWORK_BLOCKED),
        ("http://localhost/a.png", INVALID_ARGUMENTS),
        ("file:///etc/passwd", INVALID_ARGUMENTS),
        ("https://localhost:8443/a.png", INVALID_ARGUMENTS),
    ):
        assert refused(fetching.fetch, f"https://localhost/to/{target}", "a.png", 1000, NO_PROGRESS) == code
    assert server.connections == before + 4
    assert refused(fetching.fetch, "https://localhost/round", "a.png", 1000, NO_PROGRESS) == WEB_FAILED


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("missing.png", WEB_FAILED),
        ("page.png", INVALID_ARGUMENTS),
        ("packed.png", WEB_FAILED),
        ("cut.png", WEB_FAILED),
        ("endless.png", TOO_LARGE),
        ("nothing.png", WEB_FAILED),
    ],
)
def test_what_is_not_the_file_is_an_error(fetching: Downloader, path: str, code: str) -> None:
    assert refused(fetching.fetch, f"https://localhost/{path}", "a.png", 1000, NO_PROGRESS) == code


def test_a_file_that_says_it_is_too_large_is_not_read(fetching: Downloader) -> None:
    assert refused(fetching.fetch, URL, "a.png", len(PNG) - 1, NO_PROGRESS) == TOO_LARGE
    assert fetching.fetch(URL, "a.png", len(PNG), NO_PROGRESS) == PNG


def test_the_type_must_be_that_of_the_name(fetching: Downloader) -> None:
    error = refusal(fetching.fetch, URL, "a.pdf", 1000, NO_PROGRESS)
    assert (error.code, "application/pdf" in error.message, "image/png" in error.message) == (
        INVALID_ARGUMENTS,
        True,
        True,
    )


def test_the_time_ends_however_slowly_the_server_sends(certificate: tuple[str, str]) -> None:
    import threading  # noqa: PLC0415 - the server's silence ends with the test

    done = threading.Event()

    def silent(_: str) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n"
        done.wait(30)

    with serving_files(certificate, silent) as server:
        fetching = downloader(server, certificate)
        assert refused(fetching.fetch, URL, "a.png", 1000, NO_PROGRESS, 0.2) == TIMEOUT
        assert refused(fetching.fetch, URL, "a.png", 1000, NO_PROGRESS, 0) == TIMEOUT
        done.set()


def test_a_caller_that_goes_ends_it(fetching: Downloader) -> None:
    class _Gone(NoProgress):
        def check(self) -> None:
            raise Stopped

    with pytest.raises(Stopped):
        fetching.fetch("https://localhost/endless.png", "a.png", 10_000_000, _Gone())


@pytest.mark.parametrize(
    "url",
    [
        "http://localhost/a.png",
        "ftp://localhost/a.png",
        "https://user@localhost/a.png",
        "https://localhost:22/a.png",
        "https:///a.png",
        "https://[::1/a.png",
        "localhost/a.png",
        "https://localhost:x/a.png",
    ],
)
def test_only_plain_https_urls_are_fetched(server: FileServer, fetching: Downloader, url: str) -> None:
    assert refused(fetching.fetch, url, "a.png", 1000, NO_PROGRESS) == INVALID_ARGUMENTS
    assert server.connections == 0


def test_a_host_that_is_not_allowed_is_not_looked_up() -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:
        raise AssertionError

    fetching = Downloader(lambda _: False, resolve=resolve)
    assert refused(fetching.fetch, "https://example.org/a.png", "a.png", 1000, NO_PROGRESS) == NETWORK_BLOCKED


def test_a_certificate_of_another_name_or_of_nobody_is_refused(
    server: FileServer, certificate: tuple[str, str]
) -> None:
    def resolve(_: str, port: int, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    trusting = ssl.create_default_context(cafile=certificate[0])
    for tls in (trusting, None):
        fetching = Downloader(lambda _: True, resolve=resolve, may_connect_to=lambda _: True, tls=tls, port=server.port)
        assert refused(fetching.fetch, "https://example.org/a.png", "a.png", 1000, NO_PROGRESS) == WEB_FAILED
    assert server.asked == []


def resolving_to(*addresses: str) -> Any:
    def resolve(_: str, port: int, **__: Any) -> list[Any]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    return resolve


@pytest.mark.parametrize(
    "addresses",
    [
        ("127.0.0.1",),
        ("10.0.0.1",),
        ("192.168.1.1",),
        ("169.254.169.254",),
        ("100.64.0.1",),
        ("0.0.0.0",),
        ("::1",),
        ("fe80::1%eth0",),
        ("fd00::1",),
        ("::ffff:127.0.0.1",),
        ("64:ff9b::7f00:1",),
        ("2002:7f00:1::",),
        ("2001:0:1::1",),
        ("224.0.0.1",),
        ("93.184.216.34", "10.0.0.1"),
        (),
    ],
)
def test_an_address_that_is_not_public_is_never_connected_to(server: FileServer, addresses: tuple[str, ...]) -> None:
    fetching = Downloader(lambda _: True, resolve=resolving_to(*addresses), port=server.port)
    assert refused(fetching.fetch, "https://example.org/a.png", "a.png", 1000, NO_PROGRESS) == NETWORK_BLOCKED
    assert server.connections == 0


def test_public_addresses_are_public() -> None:
    assert all(map(is_public, ("93.184.216.34", "8.8.8.8", "2606:2800:220:1:248:1893:25c8:1946")))


def test_a_redirect_to_a_private_address_is_refused(server: FileServer, certificate: tuple[str, str]) -> None:
    places = iter(["93.184.216.34", "127.0.0.1"])
    checked: list[str] = []

    def resolve(host: str, port: int, **options: Any) -> list[Any]:
        checked.append(next(places))
        return socket.getaddrinfo("127.0.0.1", port, **options)

    fetching = Downloader(
        lambda _: True,
        resolve=resolve,
        may_connect_to=lambda _: is_public(checked[-1]),
        tls=ssl.create_default_context(cafile=certificate[0]),
        port=server.port,
    )
    url = "https://localhost/to/https://localhost/a.png"
    assert refused(fetching.fetch, url, "a.png", 1000, NO_PROGRESS) == NETWORK_BLOCKED
    assert (len(checked), server.connections) == (2, 1)


def test_the_connection_goes_to_the_address_that_was_checked(server: FileServer, certificate: tuple[str, str]) -> None:
    seen: list[str] = []

    def is_fine(address: str) -> bool:
        seen.append(address)
        return True

    fetching = Downloader(
        lambda _: True,
        resolve=resolving_to("127.0.0.1"),
        may_connect_to=is_fine,
        tls=ssl.create_default_context(cafile=certificate[0]),
        port=server.port,
    )
    assert fetching.fetch(URL, "a.png", 1000, NO_PROGRESS) == PNG
    assert seen == ["127.0.0.1"]


def test_a_name_without_address_is_said_to_have_none() -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror(-2, "Name or service not known")

    error = refusal(Downloader(lambda _: True, resolve=resolve).fetch, URL, "a.png", 1, NO_PROGRESS)
    assert (error.code, "There is no address for localhost" in error.message) == (WEB_FAILED, True)
