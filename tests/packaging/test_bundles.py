"""What the bundles of a release hold: nothing that is not there, and the same bytes each time.

``make artefacts`` checks them by the tools of those who read them, and starts them.
"""

from __future__ import annotations

import re
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest

from support.bundles import DESKTOP, ROOT, VAULT, WHEEL, build, filled, read, unpack
from support.vaults import write_vault
from vaultwire import __version__, config
from vaultwire.cli.demo import StdioClient
from vaultwire.distribution import NAME

ARCHIVES = {
    **{f"mcpb-{form}": name for form, name in DESKTOP.items()},
    "claude-code": f"vaultwire-claude-code-plugin-{__version__}.zip",
    "gemini": f"vaultwire-gemini-extension-{__version__}.zip",
    "codex": f"vaultwire-codex-plugin-{__version__}.zip",
}


def test_they_have_the_same_bytes_each_time(release: Path, tmp_path: Path) -> None:
    again = build(tmp_path)
    assert {path.name: path.read_bytes() for path in release.iterdir()} == {
        path.name: path.read_bytes() for path in again.iterdir()
    }


@pytest.mark.parametrize("name", ARCHIVES.values())
def test_they_hold_the_wheel_and_the_licence(release: Path, name: str) -> None:
    with zipfile.ZipFile(release / name) as archive:
        held = {path.rpartition("/")[2]: archive.read(path) for path in archive.namelist()}
    assert held["LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert held[WHEEL] == (release / WHEEL).read_bytes()


def test_the_icon_is_as_large_as_stores_want_it() -> None:
    picture = (ROOT / "docs/pictures/icon.png").read_bytes()
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    assert [int.from_bytes(picture[at : at + 4]) for at in (16, 20)] == [512, 512]


@pytest.mark.parametrize("form", DESKTOP)
def test_the_desktop_bundle_names_only_what_it_holds_and_asks_for(release: Path, tmp_path: Path, form: str) -> None:
    folder = unpack(release / DESKTOP[form], tmp_path)
    manifest = read(folder / "manifest.json")
    assert (manifest["manifest_version"], manifest["version"]) == (form, __version__)
    assert (folder / manifest["icon"]).is_file()
    assert (folder / manifest["server"]["entry_point"]).is_file()
    assert asked_for(manifest["server"]) == set(manifest["user_config"])
    assert set(manifest["server"]["mcp_config"]["env"]) == {config.READ_ONLY_VARIABLE}


def test_the_desktop_bundle_starts_the_server_for_each_vault_and_lists_its_tools(release: Path, tmp_path: Path) -> None:
    folder = unpack(release / DESKTOP["0.4"], tmp_path / "bundle")
    vaults = [write_vault(tmp_path / name, VAULT) for name in ("Home", "Work")]
    with StdioClient([sys.executable, str(folder / "main.py"), *map(str, vaults)]) as client:
        client.initialize()
        tools = client.request("tools/list", {})[0]["tools"]
        found = client.call("search_notes", {"query": "tomatoes", "vault": "Work"})[0]["content"][0]["text"]
    assert [tool["name"] for tool in tools] == [tool["name"] for tool in read(folder / "manifest.json")["tools"]]
    assert "Garden.md" in found
    with StdioClient(
        [sys.executable, str(folder / "main.py"), str(vaults[0])], {config.READ_ONLY_VARIABLE: "true"}
    ) as client:
        client.initialize()
        names = [tool["name"] for tool in client.request("tools/list", {})[0]["tools"]]
    assert "search_notes" in names
    assert "edit_note" not in names


@pytest.mark.parametrize("name", ARCHIVES.values())
def test_they_install_what_was_tested(release: Path, tmp_path: Path, name: str) -> None:
    (path,) = unpack(release / name, tmp_path).rglob("pyproject.toml")
    project = tomllib.loads(path.read_text(encoding="utf-8"))
    assert project["tool"]["uv"]["sources"][NAME]["path"] == WHEEL
    pins = project["tool"]["uv"]["constraint-dependencies"]
    run = (ROOT / "requirements/run.txt").read_text(encoding="utf-8")
    assert {line for line in run.splitlines() if "==" in line} <= set(pins)
    (needed,) = project["project"]["dependencies"]
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for extra in re.findall(r"\[(.*)\]", needed)[0].split(","):
        for each in optional[extra]:
            package = re.split(r"[^a-z]", each)[0]
            assert any(pin.startswith(f"{package}==") for pin in pins), package


def test_the_plugin_for_claude_code_uses_what_it_asks_for(release: Path, tmp_path: Path) -> None:
    folder = unpack(release / ARCHIVES["claude-code"], tmp_path)
    (listed,) = read(folder / ".claude-plugin/marketplace.json")["plugins"]
    plugin = folder / listed["source"]
    manifest = read(plugin / ".claude-plugin/plugin.json")
    assert manifest["version"] == __version__
    assert asked_for(manifest["mcpServers"]) == set(manifest["userConfig"])
    assert all({"type", "title", "description"} <= asked.keys() for asked in manifest["userConfig"].values())
    check_command(manifest["mcpServers"][NAME], {"CLAUDE_PLUGIN_ROOT": str(plugin)})


def test_the_extension_for_gemini_asks_for_variables_that_the_program_reads(release: Path, tmp_path: Path) -> None:
    folder = unpack(release / ARCHIVES["gemini"], tmp_path)
    manifest = read(folder / "gemini-extension.json")
    assert (folder / manifest["contextFileName"]).is_file()
    asked = [setting["envVar"] for setting in manifest["settings"]]
    assert asked == [config.VAULT_VARIABLE, config.READ_ONLY_VARIABLE]
    check_command(manifest["mcpServers"][NAME], {"extensionPath": str(folder)})


def test_the_plugin_for_codex_names_only_what_it_holds(release: Path, tmp_path: Path) -> None:
    folder = unpack(release / ARCHIVES["codex"], tmp_path)
    (listed,) = read(folder / ".agents/plugins/marketplace.json")["plugins"]
    plugin = folder / listed["source"]["path"]
    manifest = read(plugin / ".codex-plugin/plugin.json")
    shown = manifest["interface"]
    for path in (manifest["mcpServers"], shown["logo"], shown["composerIcon"]):
        assert path.startswith("./")  # Codex ignores any other form
        assert (plugin / path).is_file()
    assert len(shown["defaultPrompt"]) <= 3
    assert max(map(len, shown["defaultPrompt"])) <= 128
    server = read(plugin / manifest["mcpServers"])["mcpServers"][NAME]
    assert server["env_vars"] == [config.VAULT_VARIABLE, config.READ_ONLY_VARIABLE]
    assert server["cwd"] == "."
    assert (server["command"], server["args"]) == ("uv", ["run", "main.py"])
    assert (plugin / "main.py").is_file()


def asked_for(part: Any) -> set[str]:
    """Return the names of the settings that a part of a manifest uses."""
    return set(re.findall(r"\$\{user_config\.(\w+)\}", str(part)))


def check_command(server: dict[str, Any], variables: dict[str, str]) -> None:
    """Check that uv is to start the program in the bundle's folder."""
    run, option, folder, started, *_ = filled(server["args"], variables)
    assert (server["command"], run, option) == ("uv", "run", "--directory")
    assert (Path(folder) / started).is_file()
