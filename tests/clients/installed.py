"""What ``vaultwire install`` wrote, read by the clients themselves: they start vaultwire, or ask its server with the key.

``make clients`` (Gemini CLI) and ``make claude-code``; no test by itself. ``VAULTWIRE_GEMINI_MODULES`` and
``VAULTWIRE_CLAUDE`` name the folders npm has installed them in. Each runs in a home of its own; nothing leaves this computer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from support.serving import Serving
from support.vaults import write_vault
from vaultwire.trust.keys import Keys

CLAUDE, GEMINI = "VAULTWIRE_CLAUDE", "VAULTWIRE_GEMINI_MODULES"
PATIENCE = 60
# Neither looks for updates; Gemini CLI starts no servers in a folder that nobody has trusted.
QUIET = {
    "DISABLE_AUTOUPDATER": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "GEMINI_CLI_TRUST_WORKSPACE": "true",
    "NO_PROXY": "127.0.0.1",
    "no_proxy": "127.0.0.1",
    **dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9"),
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    write_vault(home / "My notes", "=== Garden.md\nTomatoes.\n")
    return home


def run(command: Sequence[str], home: Path, **environment: str) -> str:
    kept = {name: value for name, value in os.environ.items() if name not in ("CLAUDE_CONFIG_DIR", "XDG_CONFIG_HOME")}
    finished = subprocess.run(
        command,
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
        env=kept | QUIET | {"HOME": str(home)} | environment,
    )
    return finished.stdout + finished.stderr


def install(home: Path, *arguments: str) -> str:
    return run([sys.executable, "-m", "vaultwire", "install", *arguments, "--force"], home)


def claude(home: Path, *arguments: str, **environment: str) -> str:
    (program,) = Path(os.environ[CLAUDE]).resolve().glob("@anthropic-ai/claude-code-*/claude*")
    return run([str(program), *arguments], home, **environment)


@pytest.mark.skipif(CLAUDE not in os.environ, reason="needs Claude Code (make claude-code)")
def test_claude_code_starts_what_was_installed(home: Path) -> None:
    install(home, "claude-code", "--vault", "My notes")
    listed = claude(home, "mcp", "list")
    assert "vaultwire" in listed
    assert "Connected" in listed
    # It has written its own things into the file by now.
    assert "mcpServers" in (home / ".claude.json").read_text()
    assert len(json.loads((home / ".claude.json").read_text())) > 1
    install(home, "claude-code", "--undo")
    left = json.loads((home / ".claude.json").read_text())
    assert "vaultwire" not in json.dumps(left.get("mcpServers", {}))
    assert "Connected" not in claude(home, "mcp", "list")


@pytest.mark.skipif(CLAUDE not in os.environ, reason="needs Claude Code (make claude-code)")
@pytest.mark.parametrize("is_right", [True, False])
def test_claude_code_sends_the_key_of_a_variable(home: Path, tmp_path: Path, *, is_right: bool) -> None:
    secret = Keys(str(tmp_path / "state" / "keys")).issue("claude")
    with Serving(home / "My notes", "--require-key", VAULTWIRE_STATE=str(tmp_path / "state")) as server:
        install(home, "claude-code", "--http", server.url, "--key-env", "NOTES_KEY")
        listed = claude(home, "mcp", "list", NOTES_KEY=secret if is_right else f"{secret}x")
    assert ("✔ Connected" in listed) == is_right, listed


@pytest.mark.skipif(GEMINI not in os.environ, reason="needs Gemini CLI (make clients)")
def test_gemini_cli_starts_what_was_installed(home: Path) -> None:
    install(home, "gemini-cli", "--vault", "My notes")
    node = Path(os.environ["VAULTWIRE_NODE_MODULES"]).resolve() / ".bin" / "node"
    bundle = Path(os.environ[GEMINI]).resolve() / "@google" / "gemini-cli" / "bundle" / "gemini.js"
    listed = run([str(node), str(bundle), "mcp", "list"], home)
    assert "vaultwire" in listed
    assert "Connected" in listed
