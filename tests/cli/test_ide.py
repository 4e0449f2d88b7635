"""``vaultwire ide`` and ``serve --ide`` as processes: what is printed, what clients find, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from websockets.sync.client import connect

from support.vaults import write_vault
from vaultwire.transports.editor_socket import TOKEN_HEADER


@pytest.fixture
def vaults(tmp_path: Path) -> tuple[Path, Path]:
    return write_vault(tmp_path / "one", "=== A.md\n[[Nowhere]]\n"), write_vault(tmp_path / "two", "=== B.md\ntext\n")


@contextmanager
def running(tmp_path: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    environment = {
        **os.environ,
        "CLAUDE_CONFIG_DIR": str(tmp_path / "claude"),
        "VAULTWIRE_STATE": str(tmp_path / "state"),
        "VAULTWIRE_CACHE": str(tmp_path / "cache"),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "vaultwire", *arguments], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def locks(tmp_path: Path) -> dict[str, Path]:
    """Return the lock files there are, by the vault each is for."""
    found = (tmp_path / "claude" / "ide").glob("*.lock")
    return {json.loads(lock.read_text())["workspaceFolders"][0]: lock for lock in found}


def read_until(process: subprocess.Popen[str], words: str) -> str:
    assert process.stdout is not None
    return next(line for line in process.stdout if words in line)


def test_every_vault_is_an_editor_of_its_own_and_all_end_with_a_signal(
    tmp_path: Path, vaults: tuple[Path, Path]
) -> None:
    one, two = vaults
    with running(tmp_path, "ide", "--no-browser", "--vault", f"One={one}", "--vault", f"Two={two}") as process:
        for vault in (one, two):
            assert str(vault) in read_until(process, "/ide list")
            assert "http://127.0.0.1:" in read_until(process, "Changes to look at")
        assert set(locks(tmp_path)) == {str(one), str(two)}
        ports = {lock.stem for lock in locks(tmp_path).values()}
        for lock in locks(tmp_path).values():
            headers = {TOKEN_HEADER: json.loads(lock.read_text())["authToken"]}
            with connect(f"ws://127.0.0.1:{lock.stem}/", additional_headers=headers, proxy=None) as client:
                client.send('{"jsonrpc":"2.0","id":0,"method":"ping"}')
                assert json.loads(client.recv(timeout=20))["result"] == {}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
    assert locks(tmp_path) == {}
    # Who starts again soon after is the same to clients.
    with running(tmp_path, "ide", "--no-browser", "--vault", f"One={one}", "--vault", f"Two={two}") as process:
        read_until(process, str(two))
        read_until(process, "Changes to look at")
        assert {lock.stem for lock in locks(tmp_path).values()} == ports
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0


def test_serve_is_an_editor_too_when_asked(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    with running(tmp_path, "serve", "--ide", "--port", "0", "--vault", str(vaults[0])) as process:
        read_until(process, "vaultwire serves")
        read_until(process, "Changes to look at")
        assert set(locks(tmp_path)) == {str(vaults[0])}
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0
    assert locks(tmp_path) == {}


def test_check_prints_a_line_for_each_fault(tmp_path: Path, vaults: tuple[Path, Path]) -> None:
    with running(tmp_path, "check", "--vault", str(vaults[0])) as process:
        assert process.stdout is not None
        assert process.stdout.read().splitlines() == [
            "A.md:1:1: unresolved-link: [[Nowhere]] leads nowhere: there is no file 'Nowhere'",
            "1 fault in 1 file",
        ]
        assert process.wait(timeout=30) == 1
    with running(tmp_path, "check", "--json", "B", "--vault", str(vaults[1])) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.read()) == []
        assert process.wait(timeout=30) == 0
