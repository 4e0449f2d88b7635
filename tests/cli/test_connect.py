"""``vaultwire connect`` as a person sees it: what it takes, and one clear line for what it cannot."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support import forking
from support.behind import Relay
from support.forking import loaded
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.cli.servers import make_target
from vaultwire.config import ConfigError


@pytest.mark.parametrize(
    ("url", "transport", "expected"),
    [
        ("http://127.0.0.1:3000", "auto", ("127.0.0.1", 3000, False, "/mcp", "/bridge/v1")),
        ("http://127.0.0.1:3000/", "auto", ("127.0.0.1", 3000, False, "/mcp", "/bridge/v1")),
        ("http://[::1]:3000/mcp", "auto", ("::1", 3000, False, "/mcp", "/bridge/v1")),
        ("http://localhost/bridge/v1", "v1", ("localhost", 80, False, None, "/bridge/v1")),
        ("http://localhost/bridge/v1/", "auto", ("localhost", 80, False, "/mcp", "/bridge/v1")),
        ("https://notes.example.org", "mcp", ("notes.example.org", 443, True, "/mcp", None)),
        ("https://example.org/notes/mcp", "auto", ("example.org", 443, True, "/notes/mcp", "/notes/bridge/v1")),
        ("https://example.org/api/server?team=1", "auto", ("example.org", 443, True, "/api/server?team=1", None)),
        ("https://example.org/sse/", "auto", ("example.org", 443, True, "/sse/", None)),
    ],
)
def test_a_url_says_where_to_look(url: str, transport: str, expected: tuple[object, ...]) -> None:
    made = make_target(url, transport=transport)
    assert (made.host, made.port, made.tls, made.mcp, made.rest) == expected


@pytest.mark.parametrize(
    ("host", "key", "is_unencrypted"),
    [
        ("http://127.0.0.1", "k", False),
        ("http://nas", "k", True),
        ("http://nas", None, False),
        ("https://nas", "k", False),
    ],
)
def test_a_key_to_another_computer_without_tls_is_noticed(host: str, key: str | None, is_unencrypted: bool) -> None:
    assert make_target(host, key=key).is_unencrypted is is_unencrypted


def test_what_the_original_relay_is_told_in_the_environment_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"HOST": "nas", "PORT": "3001", "API_KEY": "obsi_k", "TRANSPORT": "v1"}.items():
        monkeypatch.setenv(f"OBSIDIAN_MCP_{name}", value)
    made = make_target(None)
    assert (made.host, made.port, made.key, made.mcp, made.rest) == ("nas", 3001, "obsi_k", None, "/bridge/v1")
    monkeypatch.setenv("VAULTWIRE_KEY", "vw_k")
    assert make_target("http://127.0.0.1:4000", transport="mcp").key == "vw_k"


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("127.0.0.1:3000", "not a URL of a server"),
        ("ftp://127.0.0.1", "not a URL of a server"),
        ("http://", "not a URL of a server"),
        ("http://localhost:99999", "not a URL of a server"),
        ("http://user:secret@localhost", "not a URL of a server"),
    ],
)
def test_what_is_no_url_is_said(url: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_target(url)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], "not a URL of a server: 'nonsense'"),
        (["http://localhost", "--key", "a", "--key-file", "b"], "not both"),
        (["http://localhost", "--key-file", "/nonexistent"], "cannot read the key in /nonexistent"),
        (["http://localhost", "--key", "a\r\nb: c"], "spaces, line breaks"),
        (["http://localhost/some/server", "--transport", "v1"], "not a URL of a REST API"),
        (["https://localhost", "--ca-file", "/nonexistent"], "no certificates in PEM form in /nonexistent"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_code_2(arguments: list[str], words: str) -> None:
    finished = forking.run(loaded("vaultwire", "connect", *arguments))
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("vaultwire: ")
    assert words in finished.stderr
    assert finished.stderr.count("\n") == 1


def test_over_tls_the_server_is_known_by_a_file_of_certificates(
    tmp_path: Path, make_certificate: Callable[..., tuple[str, str]]
) -> None:
    certificate, key = make_certificate()
    vault = write_vault(tmp_path / "vault", "=== Note.md\nhello\n")
    with Serving(vault, "--tls-cert", certificate, "--tls-key", key) as server:
        url = server.url.replace("127.0.0.1", "localhost")
        with Relay(url, "--ca-file", certificate) as relay:
            relay.open("2025-11-25")
            read = relay.request("tools/call", {"name": "read_note", "arguments": {"path": "Note"}})
            assert read["result"]["content"][0]["text"] == "hello\n"
            assert relay.close() == (0, b"", b"")
        with Relay(url, VAULTWIRE_KEY="vw_k") as relay:  # nobody vouches for it: no second try, and no key to it
            relay.post("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}})
            assert "certificate cannot be trusted" in relay.receive()["error"]["message"]
            code, rest, said = relay.close()
            assert (code, rest, b"no server was reached" in said) == (1, b"", True)


def test_connecting_to_nobody_ends_with_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as once:
        port = once.getsockname()[1]
    command = [sys.executable, "-m", "vaultwire", "connect", f"http://127.0.0.1:{port}"]
    finished = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr == f"vaultwire: no server was reached at http://127.0.0.1:{port}\n"
