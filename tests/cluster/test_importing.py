"""``database import``: what one computer has recorded is undone by servers that share the vault."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.command_line import run_command
from support.serving import Serving
from support.teams import role, text_of
from support.vaults import write_vault
from support.waiting import wait_for
from vaultwire.cluster.database import Database
from vaultwire.cluster.leases import Leases


@pytest.fixture
def state(tmp_path: Path) -> dict[str, str]:
    return {"VAULTWIRE_STATE": str(tmp_path / "state"), "VAULTWIRE_CACHE": str(tmp_path / "cache")}


def call(vault: Path, state: dict[str, str], tool: str, **arguments: object) -> None:
    given = [f"{name}={value}" for name, value in arguments.items()]
    done = run_command("call", tool, *given, "--vault", str(vault), "--yes", **state)
    assert done.returncode == 0, done


def test_earlier_changes_are_undone_by_a_server(
    tmp_path: Path, state: dict[str, str], url: str, database: Database
) -> None:
    vault = write_vault(tmp_path / "Notes", "=== Note.md\nold\x00text \x1a0\n")
    before = (vault / "Note.md").read_bytes()
    call(vault, state, "write_note", path="Note.md", content="new text\n", mode="overwrite")
    call(vault, state, "write_note", path="Large.md", content="a line\n" * 50_000)
    done = run_command("database", "import", "Notes", str(vault), url, **state)
    assert (done.returncode, done.stderr) == (0, "")
    assert "has 2 changes of Notes now" in done.stdout
    again = run_command("database", "import", "Notes", str(vault), url, **state)
    assert again.returncode == 1
    assert "has a journal of the vault 'Notes' already" in again.stderr
    other = {"VAULTWIRE_STATE": str(tmp_path / "other" / "state"), "VAULTWIRE_CACHE": str(tmp_path / "other" / "cache")}
    with Serving(vault, "--database", url, **other) as server:
        wait_for(lambda: role(server))
        assert "2 changes" in text_of(server.call("list_changes", {}))
        assert "Created: Third.md" in text_of(server.call("write_note", {"path": "Third.md", "content": "x"}))
        text_of(server.call("undo_changes", {"changes": [1, 2, 3]}))
        assert "4 changes" in text_of(server.call("list_changes", {}))
    assert (vault / "Note.md").read_bytes() == before
    assert [path.name for path in vault.glob("*.md")] == ["Note.md"]


def test_a_vault_that_a_server_owns_is_refused(
    tmp_path: Path, state: dict[str, str], url: str, database: Database
) -> None:
    vault = write_vault(tmp_path / "Notes", "=== Note.md\nold\n")
    assert Leases(database, "one", "", 60).take({"Notes": str(vault)}) is not None
    done = run_command("database", "import", "Notes", str(vault), url, **state)
    assert done.returncode == 1
    assert "a server owns the vault 'Notes'" in done.stderr


def test_a_computer_that_has_recorded_nothing(
    tmp_path: Path, state: dict[str, str], url: str, database: Database
) -> None:
    vault = write_vault(tmp_path / "Notes", "=== Note.md\nold\n")
    done = run_command("database", "import", "Notes", str(vault), url, **state)
    assert (done.returncode, done.stderr) == (0, "")
    assert "has 0 changes of Notes now" in done.stdout
    assert run_command("database", "import", "Notes", str(tmp_path / "nowhere"), url, **state).returncode == 2
