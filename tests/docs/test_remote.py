"""The ways of serving to other computers that docs/team.md shows, each as it is printed."""

from __future__ import annotations

import json
import os
import re
import shlex
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.certificates import make_certificate
from support.issuer import Issuer
from support.serving import Serving
from support.vaults import write_vault
from vaultwire.server import call_runner, mcp_endpoint, subscriptions
from vaultwire.transports import guard, oauth, rest
from vaultwire.transports.http_server import Limits
from vaultwire.trust import limits
from vaultwire.trust.keys import Keys

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "team.md").read_text(encoding="utf-8")
COMMANDS = [
    block.replace("\\\n", " ").split()[2:]
    for block in re.findall(r"^```sh\n(vaultwire serve .*?)^```", TEXT, re.DOTALL | re.MULTILINE)
]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "tests", "version": "0"}},
}


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as started:
        yield started


def test_the_page_shows_every_way() -> None:
    assert len(COMMANDS) == 3


@pytest.mark.parametrize("options", COMMANDS, ids=shlex.join)
def test_a_way_that_is_shown_lets_in_who_should_come_in(options: list[str], issuer: Issuer, tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\nhello\n")
    certificate, key_file = make_certificate(tmp_path)
    key = Keys(str(tmp_path / "state" / "keys")).issue("phone")
    ours = {"cert.pem": certificate, "key.pem": key_file, "https://id.example.org": issuer.url}
    given = [ours.get(option, option) for option in options]
    for name in ("--vault", "--port"):  # those of the test instead
        at = given.index(name)
        del given[at : at + 2]
    with Serving(vault, *given, VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        if "--tls-cert" in given:
            server.trusting = ssl.create_default_context(cafile=certificate)
        named = {"host": "notes.example.org"} if "--allow-host" in given else {}
        named |= {"content_type": "application/json", "accept": "application/json, text/event-stream"}
        body = json.dumps(HELLO).encode()
        assert server.request("POST", "/mcp", body, **named).status == 401
        assert server.request("POST", "/mcp", body, **named, authorization=f"Bearer {key}").status == 200
        if "--oauth-issuer" in given:
            token = issuer.token("https://notes.example.org/mcp", scope="notes")
            assert server.request("POST", "/mcp", body, **named, authorization=f"Bearer {token}").status == 200


def test_the_command_for_another_asgi_server_works(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\nhello\n")
    key = Keys(str(tmp_path / "state" / "keys")).issue("phone")
    found = re.search(r"^```sh\nVAULTWIRE_VAULT=~/Notes uvicorn (.*?)\n```", TEXT, re.MULTILINE)
    assert found is not None
    options = found[1].replace("--port 3000", "--port 0").split()
    process = subprocess.Popen(
        [sys.executable, "-m", "uvicorn", *options],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "VAULTWIRE_VAULT": str(vault), "VAULTWIRE_STATE": str(tmp_path / "state")},
    )
    with process:
        try:
            assert process.stderr is not None
            said = ""
            while not (running := re.search(r"running on (http://127\.0\.0\.1:\d+)", said)):
                line = process.stderr.readline()
                assert line, said
                said += line
            url = f"{running[1]}/bridge/v1/tools"
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(url)
            asked = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
            with urllib.request.urlopen(asked) as answer:
                assert answer.status == 200
        finally:
            process.terminate()


def test_the_mounted_app_is_as_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = write_vault(tmp_path / "vault", "=== Note.md\nhello\n")
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))
    Keys(str(tmp_path / "state" / "keys")).issue("phone")
    found = re.search(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)
    assert found is not None
    made: dict[str, Any] = {}
    exec(found[1].replace("~/Notes", str(vault)), made)
    assert [route.path for route in made["app"].routes] == ["/notes"]


def test_the_bounds_are_those_of_the_code() -> None:
    mib = 1 << 20
    said: list[tuple[str, Any]] = [
        ("| connections | {}, or", Limits().connections),
        ("16 KiB, 64 lines, 10 seconds", (guard.MAX_HEAD_BYTES, guard.MAX_HEADERS, Limits().head) == (16384, 64, 10)),
        ("{} MiB for the REST API", rest.MAX_BODY_BYTES // mib),
        ("{} MiB for MCP", limits.MAX_MESSAGE_BYTES // mib),
        ("MCP, {:.0f} seconds", Limits().body),
        ("{} for all clients together", limits.MAX_CALLS),
        ("| MCP sessions | {};", mcp_endpoint.MAX_SESSIONS),
        ("an hour without a message", mcp_endpoint.SESSION_SECONDS == 3600),
        ("{} streams that ended, 16 MiB", mcp_endpoint._MOST_KEPT_STREAMS),
        ("that ended, {} MiB", mcp_endpoint._MOST_KEPT_BYTES // mib),
        ("{} frames of each stream", mcp_endpoint._MOST_FRAMES),
        ("{} for each client", subscriptions.MAX_WATCHED),
        ("15 minutes, 10,000 in all", (call_runner._STATE_SECONDS, call_runner._MOST_OPEN) == (900, 10_000)),
        ("| {:.0f} seconds |", Limits().stalled),
        ("every ten seconds", oauth.AGAIN_SECONDS == 10),
    ]
    for text, value in said:
        assert value
        assert text.format(value) in TEXT, text
