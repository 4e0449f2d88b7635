"""The plugin for Codex: an archive with a marketplace of one plugin.

A plugin of Codex cannot ask for settings. So the server gets the vault's folder from the environment of Codex.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import bundling

from vaultwire.distribution import NAME, REPOSITORY

_CATEGORY = "Productivity"


def build(version: str, into: Path) -> list[Path]:
    """Write the archive."""
    plugin = {
        **bundling.program(version, into),
        **bundling.ours("packaging/codex_plugin/README.md"),
        "assets/icon.png": (bundling.ROOT / "docs/pictures/icon.png").read_bytes(),
        ".codex-plugin/plugin.json": bundling.as_json(manifest(version)),
        ".mcp.json": bundling.as_json({"mcpServers": {NAME: server()}}),
    }
    files = {f"{NAME}/{name}": content for name, content in plugin.items()}
    files[".agents/plugins/marketplace.json"] = bundling.as_json(marketplace())
    name = f"{NAME}-codex-plugin-{version}"
    return [bundling.write_archive(into / f"{name}.zip", files, f"{name}/")]


def manifest(version: str) -> dict[str, Any]:
    """Return the plugin's manifest."""
    return {
        **bundling.facts(version),
        "mcpServers": "./.mcp.json",
        "interface": {
            "displayName": bundling.TITLE,
            "shortDescription": "Work with the notes of your Obsidian vault",
            "longDescription": bundling.description(),
            "developerName": bundling.AUTHOR["name"],
            "category": _CATEGORY,
            "capabilities": ["Read", "Write"],
            "websiteURL": REPOSITORY,
            "privacyPolicyURL": bundling.PRIVACY,
            "defaultPrompt": list(bundling.REQUESTS),
            "composerIcon": "./assets/icon.png",
            "logo": "./assets/icon.png",
        },
    }


def server() -> dict[str, Any]:
    """Return how Codex starts the server: in the plugin's folder, which arguments cannot name."""
    return {
        **bundling.start("main.py"),
        "cwd": ".",
        "env_vars": ["VAULTWIRE_VAULT", "VAULTWIRE_READ_ONLY"],
        "startup_timeout_sec": 90,  # the first start installs what the server needs
    }


def marketplace() -> dict[str, Any]:
    """Return the list of one plugin from which Codex installs."""
    return {
        "name": NAME,
        "interface": {"displayName": bundling.TITLE},
        "plugins": [
            {
                "name": NAME,
                "source": {"source": "local", "path": f"./{NAME}"},
                "policy": {"installation": "AVAILABLE", "authentication": "ON_INSTALL"},
                "category": _CATEGORY,
            }
        ],
    }
