"""The bundles in the hands of the programs that read them: each is checked by its own tool, and started as its manifest says.

``make artefacts``; no test by itself. ``VAULTWIRE_UV`` names the folder with uv, the other variables those in which npm has
installed the tools of bundles, Gemini CLI and a Node.js to run them. uv fetches what the program needs over the network.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.bundles import DESKTOP, VAULT, filled, read, unpack
from support.vaults import write_vault
from vaultwire import __version__
from vaultwire.cli.demo import StdioClient
from vaultwire.distribution import NAME

UV = Path(os.environ["VAULTWIRE_UV"]).resolve()
TOOLS = Path(os.environ["VAULTWIRE_BUNDLE_MODULES"]).resolve()
NODE = Path(os.environ["VAULTWIRE_NODE_MODULES"]).resolve() / ".bin" / "node"
GEMINI = Path(os.environ["VAULTWIRE_GEMINI_MODULES"]).resolve() / "@google" / "gemini-cli" / "bundle" / "gemini.js"
HOST = Path(__file__).parent / "tools" / "host.mjs"


@pytest.fixture(autouse=True)
def _uv(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", f"{UV}{os.pathsep}{os.environ['PATH']}")
    # A Python of its own is not fetched; a person's uv may do that.
    monkeypatch.setenv("UV_PYTHON_DOWNLOADS", "never")


@pytest.fixture(scope="session", autouse=True)
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give all tests a home of their own, with one cache for uv: what is fetched once is there for all."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.setenv("USERPROFILE", str(home))
        patch.delenv("UV_CACHE_DIR", raising=False)
        yield home


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "My notes", VAULT)


def run(*command: str | Path, **options: Any) -> str:
    ended: subprocess.CompletedProcess[str] = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout + ended.stderr


def names_of_tools(command: list[str], environment: dict[str, str], **arguments: str) -> list[str]:
    """Start a server as a host does, ask it for a note, and return the names of its tools."""
    with StdioClient(command, environment) as client:
        server = client.initialize()[0]["serverInfo"]
        names = [tool["name"] for tool in client.request("tools/list", {})[0]["tools"]]
        found = client.call("search_notes", {"query": "tomatoes", **arguments})[0]["content"][0]["text"]
    assert (server["name"], server["version"]) == (NAME, __version__)
    assert "Garden.md" in found
    return names


@pytest.mark.parametrize("form", DESKTOP)
def test_a_desktop_bundle_is_valid_and_can_be_packed(release: Path, tmp_path: Path, form: str) -> None:
    mcpb, bundle = (NODE, TOOLS / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"), release / DESKTOP[form]
    run(*mcpb, "unpack", bundle, tmp_path / "bundle")
    assert "validation passes" in run(*mcpb, "validate", tmp_path / "bundle" / "manifest.json")
    assert bundle.name in run(*mcpb, "info", bundle)
    run(*mcpb, "pack", tmp_path / "bundle", tmp_path / "packed.mcpb")
    assert unpacked(tmp_path / "packed.mcpb", tmp_path / "again") == unpacked(bundle, tmp_path / "ours")


@pytest.mark.parametrize("form", DESKTOP)
def test_a_desktop_bundle_starts_as_its_host_starts_it(release: Path, tmp_path: Path, vault: Path, form: str) -> None:
    folder = unpack(release / DESKTOP[form], tmp_path / "bundle")
    other = write_vault(tmp_path / "Work", VAULT)
    server = as_host(folder, {"vault": [str(vault)]})
    assert server["env"] == {"VAULTWIRE_READ_ONLY": "false"}
    assert "edit_note" in names_of_tools([server["command"], *server["args"]], server["env"])
    assert names_of_tools([server["command"], *server["args"]], {"UV_OFFLINE": "1"})  # needs the network only once
    server = as_host(folder, {"vault": [str(vault), str(other)], "read_only": True})
    assert "edit_note" not in names_of_tools([server["command"], *server["args"]], server["env"], vault="Work")


def test_a_desktop_bundle_does_not_start_without_a_vault(release: Path, tmp_path: Path) -> None:
    assert as_host(unpack(release / DESKTOP["0.4"], tmp_path), {}) is None


def test_the_plugin_for_claude_code_starts_as_its_manifest_says(release: Path, tmp_path: Path, vault: Path) -> None:
    folder = unpack(release / f"vaultwire-claude-code-plugin-{__version__}.zip", tmp_path / "plugin") / NAME
    server = read(folder / ".claude-plugin/plugin.json")["mcpServers"][NAME]
    answers = {"user_config.vault": str(vault), "user_config.read_only": "true", "CLAUDE_PLUGIN_ROOT": str(folder)}
    server = filled(server, answers)
    assert "edit_note" not in names_of_tools([server["command"], *server["args"]], server["env"])


def test_the_plugin_for_codex_starts_as_its_manifest_says(
    release: Path, tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = unpack(release / f"vaultwire-codex-plugin-{__version__}.zip", tmp_path / "plugin") / NAME
    server = read(folder / ".mcp.json")["mcpServers"][NAME]
    monkeypatch.chdir(folder / server["cwd"])
    variables = dict(zip(server["env_vars"], (str(vault), "no"), strict=True))
    assert "edit_note" in names_of_tools([server["command"], *server["args"]], variables)


def test_gemini_cli_takes_the_extension_and_starts_it(release: Path, tmp_path: Path, vault: Path, home: Path) -> None:
    folder = unpack(release / f"vaultwire-gemini-extension-{__version__}.zip", tmp_path / "extension")
    gemini = (NODE, GEMINI)
    assert "successfully validated" in run(*gemini, "extensions", "validate", folder)
    settings = home / ".gemini"
    settings.mkdir(exist_ok=True)
    trusted = dict.fromkeys((str(folder), str(vault)), "TRUST_FOLDER")
    (settings / "trustedFolders.json").write_text(json.dumps(trusted), encoding="utf-8")
    run(*gemini, "extensions", "install", folder, "--consent", "--skip-settings", cwd=vault)
    installed = settings / "extensions" / NAME
    # Where Gemini CLI keeps the answers to its questions, which it asks at a terminal only.
    (installed / ".env").write_text(f'VAULTWIRE_VAULT="{vault}"\nVAULTWIRE_READ_ONLY=no\n', encoding="utf-8")
    server = filled(read(installed / "gemini-extension.json")["mcpServers"][NAME], {"extensionPath": str(installed)})
    # The first start installs what the program needs: when asked for its servers' state, Gemini CLI waits for five seconds.
    names_of_tools([server["command"], *server["args"]], {"VAULTWIRE_VAULT": str(vault)})
    assert "Connected" in run(*gemini, "mcp", "list", cwd=vault)


def as_host(folder: Path, answers: dict[str, Any]) -> Any:
    """Return what a host starts for an unpacked bundle and a person's answers; None if an answer is missing."""
    return json.loads(run(NODE, HOST, TOOLS, folder, json.dumps(answers)).splitlines()[-1])


def unpacked(archive: Path, into: Path) -> dict[str, bytes]:
    folder = unpack(archive, into)
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
