"""``vaultwire proposals``, ``accept`` and ``refuse``: what waits is decided at a terminal, by the rules of the desk."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from support.at_terminal import at_terminal
from support.command_line import run_command
from support.vaults import open_vault, write_vault
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

VAULT = "=== A.md\nfirst\n=== B.md\nsecond\n"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    root = write_vault(tmp_path / "Notes", VAULT)
    return {"VAULTWIRE_VAULT": str(root), "VAULTWIRE_STATE": str(tmp_path / "state"), "PYTHONUTF8": "1"}


@pytest.fixture
def vault(environment: dict[str, str]) -> Vault:
    return open_vault(Path(environment["VAULTWIRE_VAULT"]), state=Path(environment["VAULTWIRE_STATE"]))


@pytest.fixture
def root(environment: dict[str, str]) -> Path:
    return Path(environment["VAULTWIRE_VAULT"])


def hold(vault: Vault, root: Path, path: str, text: str) -> int:
    """Let an agent propose a text for a note; return the proposal's number."""
    place = root / path
    old = place.read_bytes() if place.exists() else None
    author = Author("Claude", "edit_note", "s")
    return vault.holding.proposals.add("write", author, [Write(VaultPath(path), old, text.encode())]).id


Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(environment: dict[str, str]) -> Run:
    return lambda *arguments: run_command(*arguments, **environment)


def test_what_waits_is_listed_shown_accepted_and_refused(run: Run, vault: Vault, root: Path) -> None:
    assert (run("proposals").returncode, run("accept", "--all").returncode) == (1, 1)
    first, second, third = (hold(vault, root, path, "new\n") for path in ("A.md", "B.md", "C.md"))
    rows = [line.split("\t") for line in run("proposals").stdout.splitlines()]
    assert [(row[0], row[2]) for row in rows] == [(str(each), "Claude") for each in (third, second, first)]
    assert "A.md" in rows[-1][3]
    shown = run("proposals", str(first)).stdout.splitlines()
    assert shown[-2:] == ["-first", "+new"]
    assert len(json.loads(run("proposals", "--json").stdout)["proposals"]) == 3

    assert run("accept", str(first), "--dry-run").returncode == 0
    assert (root / "A.md").read_text() == "first\n"
    assert f"Accepted proposal {first}" in run("accept", str(first)).stdout
    assert (root / "A.md").read_text() == "new\n"
    assert run("refuse", str(second), "--reason", "not now").returncode == 0
    told = [each.text for each in vault.holding.decisions.all() if each.kind == "refused"]
    assert ["'not now'" in text for text in told] == [True]
    assert run("accept", "--all").returncode == 0
    assert ((root / "B.md").read_text(), (root / "C.md").read_text()) == ("second\n", "new\n")
    assert run("proposals").returncode == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["accept"], 2, "--all"),
        (["refuse", "1", "--all"], 2, "--all"),
        (["accept", "99"], 1, "99"),
        (["proposals", "99"], 1, "99"),
        (["accept", "x"], 2, "invalid int"),
    ],
)
def test_what_cannot_be_decided_is_said(run: Run, arguments: list[str], code: int, words: str) -> None:
    ended = run(*arguments)
    assert ended.returncode == code
    assert words in ended.stderr
    assert "Traceback" not in ended.stderr


def test_several_are_accepted_or_none(run: Run, vault: Vault, root: Path) -> None:
    first, second = hold(vault, root, "A.md", "mine\n"), hold(vault, root, "B.md", "new\n")
    (root / "A.md").write_text("yours\n")  # the person wrote the same line
    ended = run("accept", str(first), str(second))
    assert ended.returncode == 1
    assert "A.md" in ended.stderr or str(first) in ended.stderr
    assert ((root / "A.md").read_text(), (root / "B.md").read_text()) == ("yours\n", "second\n")


def test_a_read_only_run_accepts_nothing(run: Run, vault: Vault, root: Path, environment: dict[str, str]) -> None:
    number = hold(vault, root, "A.md", "new\n")
    environment["VAULTWIRE_READ_ONLY"] = "1"
    ended = run("accept", str(number))
    assert (ended.returncode, "read-only" in ended.stderr) == (2, True)
    assert (root / "A.md").read_text() == "first\n"


@pytest.mark.skipif(os.name == "nt", reason="there are no pseudo-terminals of this kind")
def test_changes_say_at_a_terminal_that_something_waits(vault: Vault, root: Path, environment: dict[str, str]) -> None:
    assert "proposals" not in at_terminal("changes", columns=80, **environment).plain
    hold(vault, root, "A.md", "new\n")
    assert "1 change waits for you: vaultwire proposals" in at_terminal("changes", columns=80, **environment).plain
