"""The extension for Gemini CLI: an archive with one folder, which Gemini CLI installs and then asks for the vault."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import bundling

from vaultwire.distribution import NAME


def build(version: str, into: Path) -> list[Path]:
    """Write the archive."""
    files = {
        **bundling.program(version, into),
        **bundling.ours("packaging/gemini_extension/GEMINI.md"),
        "gemini-extension.json": bundling.as_json(manifest(version)),
    }
    name = f"{NAME}-gemini-extension-{version}"
    return [bundling.write_archive(into / f"{name}.zip", files, f"{name}/")]


def manifest(version: str) -> dict[str, Any]:
    """Return the extension's manifest. Gemini CLI gives the settings to the server in its environment."""
    return {
        "name": NAME,
        "version": version,
        "description": bundling.description(),
        "contextFileName": "GEMINI.md",
        "mcpServers": {NAME: bundling.start("--directory", "${extensionPath}", "main.py")},
        "settings": [
            {"name": bundling.VAULT_TITLE, "description": bundling.VAULT_HELP, "envVar": "VAULTWIRE_VAULT"},
            {
                "name": bundling.READ_ONLY_TITLE,
                "description": f"yes or no. With yes: {bundling.READ_ONLY_HELP}",
                "envVar": "VAULTWIRE_READ_ONLY",
            },
        ],
    }
