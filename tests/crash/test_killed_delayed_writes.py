"""A server that keeps edits back, killed or ended: after the next start, each edit that it has answered is in the note once."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest

from support.vaults import write_vault
from vaultwire.cli.demo import StdioClient


class Server(StdioClient):
    """A server of a vault whose policy keeps edits back for a minute."""

    def __init__(self, place: Path) -> None:
        policy = place / "policy.toml"
        policy.write_text("write_quiet_seconds = 60\n")
        command = [sys.executable, "-m", "vaultwire", "stdio", "--vault", str(place / "vault"), "--policy", str(policy)]
        super().__init__(command, {"VAULTWIRE_STATE": str(place / "state"), "VAULTWIRE_CACHE": str(place / "cache")})
        self.initialize()

    def ask(self, tool: str, **arguments: Any) -> str:
        """Call a tool; return the text of its answer."""
        return "\n".join(block["text"] for block in self.call(tool, arguments)[0]["content"])

    def append(self, line: str, note: str = "Plan") -> str:
        """Add a line to a note; return the answer."""
        return self.ask("write_note", path=note, content=line, mode="append")

    def send_append(self, line: str) -> None:
        """Add a line, and wait for no answer."""
        arguments = {"path": "Plan", "content": line, "mode": "append"}
        params = {"name": "write_note", "arguments": arguments}
        self._send({"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params})

    def kill(self) -> None:
        """Kill it, where the system can: nothing of it goes on."""
        self._process.kill()
        self._process.communicate()

    def until_kept_back(self) -> list[str]:
        """Add lines until the first is kept back, as the server has begun to do that; return them."""
        lines: list[str] = []
        while True:
            lines.append(f"at the start {len(lines)}")
            if "It is kept in the journal" in self.append(lines[-1]):
                return lines


@pytest.fixture
def note(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Plan.md\none\n=== Other.md\nother\n") / "Plan.md"


@pytest.mark.parametrize("run", range(4))
def test_a_killed_server_loses_no_answered_edit(tmp_path: Path, note: Path, run: int) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    killed = Server(tmp_path)
    lines = killed.until_kept_back()
    kept = [f"line {number} of {run}" for number in range(chance.randrange(1, 30))]
    for line in kept:
        killed.append(line)
    assert kept[-1] not in note.read_text(), f"seed {seed}"
    if chance.random() < 0.5:
        killed.send_append("nobody was told")
    killed.kill()
    with Server(tmp_path) as after:
        after.append("so that the start is over", "Other")
        text = note.read_text().splitlines()
    for line in [*lines, *kept]:
        assert text.count(line) == 1, f"seed {seed}"
    assert text.count("nobody was told") <= 1, f"seed {seed}"


def test_a_server_that_ends_writes_what_it_keeps_back_as_one_change(tmp_path: Path, note: Path) -> None:
    with Server(tmp_path) as server:
        lines = [*server.until_kept_back(), "first", "second"]
        for line in lines[-2:]:
            server.append(line)
        assert "second" not in note.read_text()
    assert note.read_text().splitlines() == ["one", *lines]
    with Server(tmp_path) as after:
        count = len(lines) - 2  # one for each before it began to keep edits back, and one for all others
        assert f"There is no change {count + 1}" in after.ask("list_changes", change=count + 1)
        after.ask("undo_changes", changes=[count])
    assert note.read_text().splitlines() == ["one", *lines[:-3]]


def test_a_client_finds_its_edits_at_once_with_every_way_to_read(tmp_path: Path, note: Path) -> None:
    with Server(tmp_path) as server:
        lines = server.until_kept_back()
        assert lines[-1] not in note.read_text()
        assert lines[-1] in server.ask("read_notes", paths=["Plan"])
        server.append("unlikelyword")
        assert "Plan.md" in server.ask("search_notes", query="unlikelyword")
        server.append("another line")
        read = server.request("resources/read", {"uri": "obsidian://vault/vault/Plan.md"})
        assert "another line" in json.dumps(read)
