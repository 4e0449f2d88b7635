"""``vaultwire people`` and ``vaultwire grants``, beside a running server, and the options of ``serve``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.command_line import run_command
from support.serving import Serving
from support.sign_in import HELLO, PASSWORD, URL, Connecting, answer_of
from support.vaults import write_vault


class Owner:
    """Who runs the server."""

    def __init__(self, state: Path) -> None:
        self.state = state

    def run(self, *arguments: str, text: str = "") -> subprocess.CompletedProcess[str]:
        return run_command(*arguments, stdin=text, VAULTWIRE_STATE=str(self.state))


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Owner:
    return Owner(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_vault(tmp_path_factory.mktemp("vault"), "=== Note.md\nthe secret text\n")


@pytest.fixture(scope="module")
def server(vault: Path, owner: Owner) -> Iterator[Serving]:
    with Serving(vault, "--public-url", f"{URL}/", "--connector", VAULTWIRE_STATE=str(owner.state)) as started:
        yield started


def test_the_start_says_where_people_reach_it_and_what_is_missing(vault: Path, tmp_path: Path) -> None:
    with Serving(vault, "--public-url", URL, "--connector", VAULTWIRE_STATE=str(tmp_path)) as started:
        assert started.process.stdout is not None
        assert f"People who sign in reach it at {URL}/mcp" in started.process.stdout.readline().decode()
        _, _, errors = started.end(15)
    assert "vaultwire people add NAME" in errors
    assert "vaultwire grants connector" in errors


def test_people_come_and_go_while_the_server_runs(server: Serving, owner: Owner) -> None:
    client = Connecting(server)
    client.register()
    assert client.sign_in(client.request(), "Ana").status == 403
    assert owner.run("people", "add", "Ana", text=f"{PASSWORD}\n").stdout == "Ana can sign in.\n"
    assert owner.run("people", "list").stdout.startswith("Ana\tsince 20")
    token = client.connect()["access_token"]
    changed = owner.run("people", "add", "ana", text="another four words\n")
    assert "another password" in changed.stdout
    assert client.sign_in(client.request(), "Ana").status == 403
    assert client.is_let_in(token)
    assert owner.run("people", "remove", "Ana").returncode == 0
    assert not client.is_let_in(token)
    assert owner.run("people", "remove", "Ana").returncode == 1


@pytest.mark.parametrize(
    ("name", "password"), [("Ana", "short"), ("Ana#1", PASSWORD), ("a:b", PASSWORD), ("", PASSWORD)]
)
def test_who_cannot_be_added_is_told_why(owner: Owner, name: str, password: str) -> None:
    refused = owner.run("people", "add", name, text=f"{password}\n")
    assert (refused.returncode, refused.stdout) == (1, "")
    assert len(refused.stderr.splitlines()) == 1


def test_grants_are_listed_and_revoked(server: Serving, owner: Owner) -> None:
    owner.run("people", "add", "Ben", text=f"{PASSWORD}\n")
    here, there = Connecting(server), Connecting(server, "http://localhost:4000/callback")
    tokens = []
    for client in (here, there):
        client.register(client_name="Claude\x1b[2J")
        address = client.request()
        answer = answer_of(client.allow(address, client.sign_in(address, "Ben")))
        tokens.append(client.exchange(answer["code"]).json["access_token"])
    listed = owner.run("grants", "list").stdout
    assert "Ben through claude.ai (read only)\t" in listed
    assert "Ben through localhost (read only)\t" in listed
    assert "\x1b" not in listed
    assert owner.run("grants", "revoke", "claude.ai").stdout == "Revoked: Ben through claude.ai (read only)\n"
    assert (here.is_let_in(tokens[0]), there.is_let_in(tokens[1])) == (False, True)
    assert owner.run("grants", "revoke", "claude.ai").returncode == 1
    assert owner.run("grants", "revoke", "all").returncode == 0
    assert not there.is_let_in(tokens[1])


def test_a_connector_address_is_shown_once(server: Serving, owner: Owner) -> None:
    made = owner.run("grants", "connector")
    address = made.stdout.strip()
    assert address.startswith(f"{URL}/c/vwc_")
    assert len(made.stderr.splitlines()) == 1
    assert Connecting(server).tell(HELLO, address.removeprefix(URL)).status == 200
    assert "connector (read only)\t" in owner.run("grants", "list").stdout
    assert address not in owner.run("grants", "list").stdout
    assert owner.run("grants", "revoke", "connector").returncode == 0
    assert Connecting(server).tell(HELLO, address.removeprefix(URL)).status == 404


def test_an_address_is_made_only_where_the_server_has_a_url(tmp_path: Path) -> None:
    made = Owner(tmp_path).run("grants", "connector")
    assert (made.returncode, made.stdout) == (1, "")
    assert "--public-url" in made.stderr


@pytest.mark.parametrize(
    "options",
    [
        ["--public-url", "notes.example.org"],
        ["--public-url", "http://notes.example.org"],
        ["--public-url", "https://notes.example.org/vault"],
        ["--public-url", "https://user@notes.example.org"],
        ["--public-url", "https://Notes.example.org"],
        ["--public-url", URL, "--oauth-issuer", "https://id.example.org"],
        ["--public-url", URL, "--client-host", "https://app.example"],
        ["--connector"],
        ["--client-host", "app.example"],
    ],
)
def test_options_that_cannot_work_are_refused(owner: Owner, vault: Path, options: list[str]) -> None:
    refused = owner.run("serve", "--vault", str(vault), *options)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert len(refused.stderr.splitlines()) == 1


def test_without_the_packages_the_error_says_how_to_add_them(owner: Owner, vault: Path) -> None:
    code = "import sys; sys.modules['argon2'] = None; from vaultwire.__main__ import main; sys.exit(main({!r}))"
    for arguments in (["serve", "--vault", str(vault), "--public-url", URL], ["people", "add", "Ana"]):
        refused = subprocess.run(
            [sys.executable, "-c", code.format(arguments)],
            input="",
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "VAULTWIRE_STATE": str(owner.state)},
        )
        assert "need packages that are not installed. To add them: " in refused.stderr.replace("needs", "need")


def test_nothing_of_it_is_loaded_without_the_option() -> None:
    code = "import sys, vaultwire.app.serving, vaultwire.cli.commands\nprint([each for each in sys.modules if {}])"
    loaded = "'argon2' in each or each.startswith('vaultwire.remote')"
    told = subprocess.run([sys.executable, "-c", code.format(loaded)], capture_output=True, text=True, check=True)
    assert told.stdout == "[]\n"
