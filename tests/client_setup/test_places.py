"""Where each client's file is, on each system: the system is an argument, its folders are real."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vaultwire.client_setup.clients import CLIENTS, SetupError, System, find_file

ON_LINUX = {
    "claude-desktop": ".config/Claude/claude_desktop_config.json",
    "claude-code": ".claude.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".config/Code/User/mcp.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "antigravity": ".gemini/config/mcp_config.json",
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "zed": ".config/zed/settings.json",
    "lm-studio": ".lmstudio/mcp.json",
    "cline": ".config/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "cline-cli": ".cline/data/settings/cline_mcp_settings.json",
    "junie": ".junie/mcp/mcp.json",
    "opencode": ".config/opencode/opencode.json",
    "goose": ".config/goose/config.yaml",
    "copilot-cli": ".copilot/mcp-config.json",
}
MAC = "Library/Application Support"
ON_MAC = ON_LINUX | {
    "claude-desktop": f"{MAC}/Claude/claude_desktop_config.json",
    "vscode": f"{MAC}/Code/User/mcp.json",
    "cline": f"{MAC}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
}
ROAMING = "AppData/Roaming"
ON_WINDOWS = ON_LINUX | {
    "claude-desktop": f"{ROAMING}/Claude/claude_desktop_config.json",
    "vscode": f"{ROAMING}/Code/User/mcp.json",
    "zed": f"{ROAMING}/Zed/settings.json",
    "cline": f"{ROAMING}/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
    "goose": f"{ROAMING}/Block/goose/config/config.yaml",
}
IN_A_PROJECT = {
    "claude-code": ".mcp.json",
    "cursor": ".cursor/mcp.json",
    "vscode": ".vscode/mcp.json",
    "codex": ".codex/config.toml",
    "gemini-cli": ".gemini/settings.json",
    "junie": ".junie/mcp/mcp.json",
    "opencode": "opencode.json",
}


def system(platform: str, home: Path, **environment: str) -> System:
    return System(platform, environment, str(home), str(home / "project"))


@pytest.mark.parametrize(("platform", "paths"), [("linux", ON_LINUX), ("darwin", ON_MAC), ("win32", ON_WINDOWS)])
def test_each_client_has_its_file_on_each_system(platform: str, paths: dict[str, str], tmp_path: Path) -> None:
    found = {
        name: find_file(client, "user", system(platform, tmp_path)) for name, client in CLIENTS.items() if client.file
    }
    assert {name: Path(each.path) for name, each in found.items()} == {
        name: tmp_path / path for name, path in paths.items()
    }
    assert not any(each.is_installed for each in found.values())


def test_a_project_has_files_of_its_own(tmp_path: Path) -> None:
    here = system("linux", tmp_path)
    assert {name for name, client in CLIENTS.items() if client.project} == IN_A_PROJECT.keys()
    for name, path in IN_A_PROJECT.items():
        assert find_file(CLIENTS[name], "project", here) == (str(tmp_path / "project" / path), True)
    with pytest.raises(SetupError, match="Leave --scope out"):
        find_file(CLIENTS["claude-desktop"], "project", here)


def test_the_package_of_claude_desktop_wins_over_the_usual_folder(tmp_path: Path) -> None:
    client = CLIENTS["claude-desktop"]
    here = system("win32", tmp_path, LOCALAPPDATA=str(tmp_path / "Lo[c]al"), APPDATA=str(tmp_path / "Roaming"))
    usual = tmp_path / "Roaming" / "Claude" / "claude_desktop_config.json"
    usual.parent.mkdir(parents=True)
    assert find_file(client, "user", here) == (str(usual), True)
    usual.write_text("{}")
    package = tmp_path / "Lo[c]al" / "Packages" / "Claude_pzs8sxrjxfjjc"
    package.mkdir(parents=True)
    packaged = package / "LocalCache" / "Roaming" / "Claude" / "claude_desktop_config.json"
    assert find_file(client, "user", here) == (str(packaged), True)
    packaged.parent.mkdir(parents=True)
    packaged.write_text("{}")
    (tmp_path / "Lo[c]al" / "Packages" / "Claude_other").mkdir()
    assert find_file(client, "user", here).path == str(packaged)


def test_variables_of_the_environment_lead_to_other_folders(tmp_path: Path) -> None:
    given = {
        "codex": ("CODEX_HOME", "config.toml"),
        "claude-code": ("CLAUDE_CONFIG_DIR", ".claude.json"),
        "copilot-cli": ("COPILOT_HOME", "mcp-config.json"),
        "zed": ("XDG_CONFIG_HOME", "zed/settings.json"),
    }
    for name, (variable, path) in given.items():
        here = system("linux", tmp_path, **{variable: str(tmp_path / "else")})
        assert find_file(CLIENTS[name], "user", here).path == str(tmp_path / "else" / path)
        ignored = system("linux", tmp_path, **{variable: "not/absolute"})
        assert find_file(CLIENTS[name], "user", ignored).path == str(tmp_path / ON_LINUX[name])


def test_of_two_files_the_one_that_exists_counts(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "opencode"
    folder.mkdir(parents=True)
    (folder / "opencode.jsonc").write_text("{}")
    assert find_file(CLIENTS["opencode"], "user", system("linux", tmp_path)) == (str(folder / "opencode.jsonc"), True)


def test_a_client_is_installed_where_its_folder_is(tmp_path: Path) -> None:
    os.makedirs(tmp_path / ".gemini" / "antigravity")
    assert find_file(CLIENTS["antigravity"], "user", system("darwin", tmp_path)).is_installed
    assert not find_file(CLIENTS["windsurf"], "user", system("darwin", tmp_path)).is_installed
