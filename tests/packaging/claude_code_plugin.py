"""The plugin in Claude Code itself: checked, installed with an answer to its question, and started.

``make claude-code``; no test by itself. ``VAULTWIRE_CLAUDE`` names the folder npm has installed Claude Code in,
``VAULTWIRE_UV`` the one with uv.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from support.bundles import VAULT, unpack
from support.vaults import write_vault
from vaultwire import __version__
from vaultwire.distribution import NAME

MODULES = Path(os.environ["VAULTWIRE_CLAUDE"]).resolve()
UV = Path(os.environ["VAULTWIRE_UV"]).resolve()
PLUGIN = f"{NAME}@{NAME}"


class Claude:
    """The command, in a home of its own."""

    def __init__(self, folder: Path) -> None:
        (self._program,) = MODULES.glob("@anthropic-ai/claude-code-*/claude*")
        self._folder = folder
        self._environment = {**os.environ, "HOME": str(folder), "PATH": f"{UV}{os.pathsep}{os.environ['PATH']}"}
        # Not those of a session that this test may run in.
        for name in [name for name in self._environment if name.startswith(("CLAUDE", "ANTHROPIC"))]:
            del self._environment[name]
        self._environment |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "UV_PYTHON_DOWNLOADS": "never"}

    def __call__(self, *arguments: str | Path) -> str:
        ended = subprocess.run(
            [str(self._program), *map(str, arguments)],
            cwd=self._folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stdout + ended.stderr
        return ended.stdout


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    home = tmp_path / "home"
    home.mkdir()
    return Claude(home)


@pytest.fixture
def marketplace(release: Path, tmp_path: Path) -> Path:
    return unpack(release / f"vaultwire-claude-code-plugin-{__version__}.zip", tmp_path / "plugin")


def test_claude_code_and_its_directory_find_nothing_wrong(claude: Claude, marketplace: Path) -> None:
    for arguments in ((marketplace,), ("--profile", "directory", marketplace / NAME)):
        said = claude("plugin", "validate", "--strict", *arguments)
        assert "Validation passed" in said
        assert "warning" not in said.lower()


def test_claude_code_installs_the_plugin_and_starts_it(claude: Claude, marketplace: Path, tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "My notes", VAULT)
    claude("plugin", "marketplace", "add", marketplace)
    claude("plugin", "install", PLUGIN, "--config", f"vault={vault}")
    shown = claude("mcp", "list")
    assert f"plugin:{NAME}:{NAME}" in shown
    assert "Connected" in shown
    claude("plugin", "uninstall", PLUGIN)
    assert NAME not in claude("plugin", "list")
    assert json.loads((tmp_path / "home/.claude/settings.json").read_text(encoding="utf-8")).get("enabledPlugins") in (
        {},
        None,
    )
