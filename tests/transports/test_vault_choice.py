"""Which vault is served, and that a vault nobody can read is one line on stderr and exit code 2, with stdout untouched."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.vaults import write_vault

COMMAND = [sys.executable, "-m", "vaultwire", "stdio"]
READ = (
    b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_note","arguments":{"path":"Note"},"_meta":'
    b'{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}\n'
)
# Root may read everything, so it becomes nobody first. What the command imports, nobody may not be able to read.
AS_NOBODY = """
import os, sys
from vaultwire import app, cli
from vaultwire.cli import terminal
from vaultwire.obsidian import known_vaults
if os.geteuid() == 0:
    os.setuid(65534)
sys.exit(cli.main(sys.argv[1:]))
"""


def start(
    *arguments: str, variable: str | None = None, command: Sequence[str] = COMMAND, cwd: Path | None = None
) -> subprocess.CompletedProcess[bytes]:
    environment = {key: value for key, value in os.environ.items() if key != "VAULTWIRE_VAULT"}
    if variable is not None:
        environment["VAULTWIRE_VAULT"] = variable
    return subprocess.run(
        [*command, *arguments], input=READ, env=environment, cwd=cwd, capture_output=True, timeout=60, check=False
    )


def assert_refused(ended: subprocess.CompletedProcess[bytes], *words: str) -> None:
    errors = ended.stderr.decode()
    assert (ended.returncode, ended.stdout) == (2, b""), errors
    assert errors.count("\n") == 1
    assert errors.startswith("vaultwire: ")
    for word in words:
        assert word in errors


def test_no_vault_at_all_is_told_how_to_name_one() -> None:
    assert_refused(start(), "--vault", "VAULTWIRE_VAULT")
    assert_refused(start(variable=""), "--vault", "VAULTWIRE_VAULT")
    assert_refused(start("--vault", ""), "--vault", "VAULTWIRE_VAULT")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert_refused(start("--vault", missing), missing, "does not exist")
    assert_refused(start(variable=missing), missing, "does not exist")


def test_a_file_is_not_a_vault(tmp_path: Path) -> None:
    (tmp_path / "Note.md").write_text("hello")
    assert_refused(start("--vault", str(tmp_path / "Note.md")), "is a file")


def test_a_path_below_a_file_is_not_a_vault(tmp_path: Path) -> None:
    (tmp_path / "Note.md").write_text("hello")
    assert_refused(start("--vault", str(tmp_path / "Note.md" / "x")))


def test_a_folder_that_may_not_be_read_is_not_a_vault(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir(mode=0)
    try:
        ended = start("--vault", str(vault), command=[sys.executable, "-c", AS_NOBODY, "stdio"])
        assert_refused(ended, "cannot read the vault", "Permission denied")
    finally:
        vault.chmod(0o755)


def test_the_environment_names_the_vault(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\nfrom the environment\n")
    ended = start(variable=str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"from the environment" in ended.stdout


def test_the_command_line_goes_before_the_environment(tmp_path: Path) -> None:
    chosen = write_vault(tmp_path / "chosen", "=== Note.md\nfrom the command line\n")
    other = write_vault(tmp_path / "other", "=== Note.md\nfrom the environment\n")
    ended = start("--vault", str(chosen), variable=str(other))
    assert b"from the command line" in ended.stdout


def test_a_relative_path_and_the_home_folder_are_understood(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_vault(tmp_path / "My Notes", "=== Note.md\nfound\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    for spelt in ("My Notes", "./My Notes/", "~/My Notes"):
        ended = start("--vault", spelt, cwd=tmp_path)
        assert b"found" in ended.stdout, ended.stderr


def test_a_folder_without_obsidian_settings_or_notes_is_a_vault(tmp_path: Path) -> None:
    ended = start("--vault", str(tmp_path))
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert b"FILE_NOT_FOUND" in ended.stdout
