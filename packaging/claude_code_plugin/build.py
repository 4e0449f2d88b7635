"""The plugin for Claude Code: an archive with a marketplace of one plugin, which asks for the vault when it is enabled."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import bundling

from vaultwire.distribution import NAME


def build(version: str, into: Path) -> list[Path]:
    """Write the archive."""
    plugin = {
        **bundling.program(version, into),
        **bundling.ours("packaging/claude_code_plugin/README.md"),
        ".claude-plugin/icon.png": (bundling.ROOT / "docs/pictures/icon.png").read_bytes(),
        ".claude-plugin/plugin.json": bundling.as_json(manifest(version)),
    }
    files = {f"{NAME}/{name}": content for name, content in plugin.items()}
    files[".claude-plugin/marketplace.json"] = bundling.as_json(marketplace())
    name = f"{NAME}-claude-code-plugin-{version}"
    return [bundling.write_archive(into / f"{name}.zip", files, f"{name}/")]


def manifest(version: str) -> dict[str, Any]:
    """Return the plugin's manifest."""
    return {
        **bundling.facts(version),
        "userConfig": {
            "vault": {
                "type": "directory",
                "title": bundling.VAULT_TITLE,
                "description": bundling.VAULT_HELP,
                "required": True,
            },
            "read_only": {
                "type": "boolean",
                "title": bundling.READ_ONLY_TITLE,
                "description": bundling.READ_ONLY_HELP,
                "default": False,
            },
        },
        "mcpServers": {
            NAME: {
                **bundling.start("--directory", "${CLAUDE_PLUGIN_ROOT}", "main.py", "${user_config.vault}"),
                "env": {"VAULTWIRE_READ_ONLY": "${user_config.read_only}"},
            }
        },
    }


def marketplace() -> dict[str, Any]:
    """Return the list of one plugin from which Claude Code installs."""
    return {
        "name": NAME,
        "owner": bundling.AUTHOR,
        "metadata": {"description": bundling.description()},
        "plugins": [{"name": NAME, "source": f"./{NAME}", "description": bundling.description()}],
    }
