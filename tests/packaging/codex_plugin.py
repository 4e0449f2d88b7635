"""The plugin in Codex itself: installed from its marketplace, and started.

``make codex``; no test by itself. ``VAULTWIRE_CODEX`` names the folder npm has installed Codex in, ``VAULTWIRE_UV`` the one
with uv.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from support.bundles import VAULT, unpack
from support.codex import AppServer
from support.vaults import write_vault
from vaultwire import __version__
from vaultwire.distribution import NAME

CODEX = Path(os.environ["VAULTWIRE_CODEX"]).resolve() / ".bin" / "codex"
UV = Path(os.environ["VAULTWIRE_UV"]).resolve()


def environment(home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "HOME": str(home),
        "CODEX_HOME": str(home),
        "PATH": f"{UV}{os.pathsep}{os.environ['PATH']}",
        "UV_PYTHON_DOWNLOADS": "never",
    }


def codex(home: Path, *arguments: str) -> str:
    ended = subprocess.run(
        [CODEX, *arguments],
        cwd=home,
        env=environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_codex_installs_the_plugin_and_starts_it(release: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    vault = write_vault(tmp_path / "My notes", VAULT)
    marketplace = unpack(release / f"vaultwire-codex-plugin-{__version__}.zip", tmp_path / "plugin")
    codex(home, "plugin", "marketplace", "add", str(marketplace))
    codex(home, "plugin", "add", f"{NAME}@{NAME}")
    (listed,) = json.loads(codex(home, "mcp", "list", "--json"))
    assert (listed["name"], listed["enabled"]) == (NAME, True)
    variables = {"VAULTWIRE_VAULT": str(vault), "VAULTWIRE_READ_ONLY": "yes"}
    with AppServer(CODEX, home, environment(home) | variables) as server_of_codex:
        (server,) = server_of_codex.ask("mcpServerStatus/list", {})["data"]
    assert (server["name"], server["serverInfo"]["version"]) == (NAME, __version__)
    assert "search_notes" in server["tools"]
    assert "edit_note" not in server["tools"]
    codex(home, "plugin", "remove", f"{NAME}@{NAME}")
    assert json.loads(codex(home, "mcp", "list", "--json")) == []
