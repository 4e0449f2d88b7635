"""The plugin in Codex itself: installed from its marketplace, and started.

``make codex``; no test by itself. ``VAULTWIRE_CODEX`` names the folder npm has installed Codex in, ``VAULTWIRE_UV`` the one
with uv.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.bundles import VAULT, unpack
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


@contextmanager
def app_server(home: Path, **variables: str) -> Iterator[subprocess.Popen[str]]:
    """Run the part of Codex that its windows talk to: it starts the servers of plugins."""
    process = subprocess.Popen(
        [CODEX, "app-server"],
        cwd=home,
        env={**environment(home), **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def ask(process: subprocess.Popen[str], id_: int, method: str, params: dict[str, Any]) -> Any:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps({"id": id_, "method": method, "params": params}) + "\n")
    process.stdin.flush()
    for line in process.stdout:
        answer = json.loads(line)
        if answer.get("id") == id_:
            return answer["result"]
    raise AssertionError(f"Codex ended before it answered {method}")


def test_codex_installs_the_plugin_and_starts_it(release: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    vault = write_vault(tmp_path / "My notes", VAULT)
    marketplace = unpack(release / f"vaultwire-codex-plugin-{__version__}.zip", tmp_path / "plugin")
    codex(home, "plugin", "marketplace", "add", str(marketplace))
    codex(home, "plugin", "add", f"{NAME}@{NAME}")
    (listed,) = json.loads(codex(home, "mcp", "list", "--json"))
    assert (listed["name"], listed["enabled"]) == (NAME, True)
    with app_server(home, VAULTWIRE_VAULT=str(vault), VAULTWIRE_READ_ONLY="yes") as process:
        ask(process, 1, "initialize", {"clientInfo": {"name": "test", "version": "1"}})
        (server,) = ask(process, 2, "mcpServerStatus/list", {})["data"]
    assert (server["name"], server["serverInfo"]["version"]) == (NAME, __version__)
    assert "search_notes" in server["tools"]
    assert "edit_note" not in server["tools"]
    codex(home, "plugin", "remove", f"{NAME}@{NAME}")
    assert json.loads(codex(home, "mcp", "list", "--json")) == []
