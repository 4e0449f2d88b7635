"""The tutorial docs/first-hour.md, from its first command to its last, with the assistant's calls where it says so."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from scripts.first_hour import CALLS

from support.vaults import write_vault
from vaultwire.cli.demo import StdioClient

PAGE = Path(__file__).resolve().parents[2] / "docs" / "first-hour.md"
CLIENT = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "claude-ai", "version": "1"}}
# What a person sees after each command that the page comments on.
SEEN = {
    "demo": "6 notes",
    "doctor": "6 notes",
    "search": "Projects/Garden",
    "changes": "claude-ai",
    "show": "-What I am up to: [[Garden plan]]",
    "undo 4": "Done: 1 change undone",
    "undo --since": "[[Garden plan]]",
    "policy check": "deny: /Journal/",
    "policy explain": "not allowed",
}


def test_the_first_hour_goes_as_it_is_told(tmp_path: Path) -> None:
    text = PAGE.read_text(encoding="utf-8")
    home = {name: str(tmp_path) for name in ("HOME", "USERPROFILE")}
    home |= {"VAULTWIRE_CACHE": str(tmp_path / "cache"), "VAULTWIRE_STATE": str(tmp_path / "state")}
    write_vault(tmp_path / "Notes", "=== Mine.md\nmine\n")
    practice = tmp_path / "Practice"
    for folder in (".config/Claude", "Library/Application Support/Claude"):  # the app was started once
        (tmp_path / folder).mkdir(parents=True)
    for part in re.split(r"^## ", text, flags=re.MULTILINE):
        for policy in re.findall(r"^```toml\n(.*?)^```", part, re.DOTALL | re.MULTILINE):
            (tmp_path / "policy.toml").write_text(policy, encoding="utf-8")
        if part.startswith("3. "):
            assert re.findall(r"\(`(\w+)`\)", part) == [tool for tool, _ in CALLS]
            play(str(practice), home)
            assert "[[Garden 2026]]" in (practice / "Home.md").read_text(encoding="utf-8")
            assert not (practice / "Projects" / "Kitchen shelf.md").exists()
        for command in re.findall(r"^\$ vaultwire (.*)$", part, re.MULTILINE):
            printed = run(command, home)
            assert all(words in printed for begin, words in SEEN.items() if command.startswith(begin)), printed
    assert (practice / "Projects" / "Kitchen shelf.md").exists()
    with StdioClient(
        [
            sys.executable,
            "-m",
            "vaultwire",
            "stdio",
            "--vault",
            str(practice),
            "--policy",
            str(tmp_path / "policy.toml"),
        ],
        home,
    ) as client:
        client.initialize()
        assert "Rain" not in str(client.call("search_notes", {"query": "rain"})[0])


def play(vault: str, home: dict[str, str]) -> None:
    with StdioClient([sys.executable, "-m", "vaultwire", "stdio", "--vault", vault], home) as client:
        client.request("initialize", CLIENT)
        for tool, arguments in CALLS:
            result: dict[str, Any] = client.call(tool, arguments)[0]
            assert not result.get("isError"), result


def run(command: str, home: dict[str, str]) -> str:
    finished = subprocess.run(
        [sys.executable, "-m", "vaultwire", *command.split()],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **home},
        check=False,
    )
    refused = command.startswith("policy explain")  # whose exit code says whether it is allowed
    assert finished.returncode == refused, (command, finished.stdout, finished.stderr)
    return finished.stdout
