"""``vaultwire desk`` as a person and a shell see it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.serving import PATIENCE, Reply
from support.vaults import write_vault

needs_signals = pytest.mark.skipif(os.name == "nt", reason="there, a signal ends the process at once")


@pytest.fixture(autouse=True)
def own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "own state"))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Plan.md\none\n")


@contextmanager
def running(*vaults: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    options = [option for vault in vaults for option in ("--vault", str(vault))]
    command = [sys.executable, "-m", "vaultwire", "desk", "--no-browser", "--json", *options]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            assert told["served_by_this_command"] is True
            yield process, told["url"]
        finally:
            process.kill()


def fetch(url: str, path: str = "", cookie: str = "") -> Reply:
    where = urlsplit(url)
    with closing(http.client.HTTPConnection("127.0.0.1", where.port or 0, timeout=PATIENCE)) as connection:
        connection.request("GET", path or f"{where.path}?{where.query}", headers={"Cookie": cookie})
        answer = connection.getresponse()
        return Reply(answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read())


@needs_signals
def test_it_serves_until_it_is_told_to_end_and_the_next_one_has_the_same_address_and_cookie(vault: Path) -> None:
    with running(vault) as (process, url):
        cookie = fetch(url).headers["set-cookie"].split(";")[0]
        assert fetch(url, "/desk/api/start", cookie).status == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0
    with running(vault) as (_, again):
        assert urlsplit(again).port == urlsplit(url).port
        assert fetch(again, "/desk/api/start", cookie).status == 200


def test_a_second_one_gets_a_link_of_the_first_and_ends(vault: Path) -> None:
    with running(vault) as (_, url):
        command = [sys.executable, "-m", "vaultwire", "desk", "--no-browser", "--vault", str(vault)]
        finished = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
        link = finished.stdout.split()[-1]
        assert urlsplit(link).port == urlsplit(url).port
        assert fetch(link).status == 303


def test_a_server_that_was_killed_is_not_taken_for_a_running_one(vault: Path) -> None:
    with running(vault) as (process, _):
        process.kill()
        process.wait()
    with running(vault) as (_, url):  # and it says that it serves by itself
        assert fetch(url).status == 303


def test_it_serves_several_vaults(tmp_path: Path, vault: Path) -> None:
    other = write_vault(tmp_path / "other", "=== Note.md\ntwo\n")
    with running(vault, other) as (_, url):
        cookie = fetch(url).headers["set-cookie"].split(";")[0]
        assert fetch(url, "/desk/api/start", cookie).json["vaults"] == ["vault", "other"]


def test_signing_out_without_a_desk_is_no_error() -> None:
    command = [sys.executable, "-m", "vaultwire", "desk", "--sign-out"]
    finished = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    assert finished.stdout.startswith("Signed out 0 browsers.")
