"""The bundle for Claude Desktop and other hosts of ``.mcpb`` files, in two forms.

- ``NAME-VERSION.mcpb``, manifest 0.4, type ``uv``: the host brings uv and Python.
- ``NAME-VERSION-manifest-0.3.mcpb``, the same files for hosts that do not know this type: they start the person's uv. Bundling
  what we need, as type ``python`` wants, does not work: five of our dependencies are compiled, so a bundle would fit one
  system, processor and version of Python, and the host would start whatever Python it finds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import bundling

from vaultwire.distribution import NAME, REPOSITORY

FORMS = {"0.4": "uv", "0.3": "python"}
"""The type of the server, by the manifest's version."""


def build(version: str, into: Path) -> list[Path]:
    """Write the bundle in both forms."""
    shared = {**bundling.program(version, into), **bundling.ours("docs/pictures/icon.png")}
    return [
        bundling.write_archive(
            into / bundling.desktop_bundle(version, form),
            {**shared, "manifest.json": bundling.as_json(manifest(version, form))},
        )
        for form in FORMS
    ]


def manifest(version: str, form: str) -> dict[str, Any]:
    """Return the manifest in one of its forms."""
    return {
        "manifest_version": form,
        "name": NAME,
        "display_name": f"{bundling.TITLE} for Obsidian",
        "version": version,
        "description": bundling.description(),
        "long_description": (
            "Vaultwire lets the assistant work with the Markdown notes of your Obsidian vault. It searches, reads and edits "
            "them, keeps links right when notes move, and can undo every change. Obsidian need not run. The notes stay on "
            "your computer; the assistant sees what it reads.\n\nAt the first start your client installs what Vaultwire needs, "
            "which takes up to a minute and needs the internet."
        ),
        "author": bundling.AUTHOR,
        "repository": {"type": "git", "url": REPOSITORY},
        "homepage": REPOSITORY,
        "documentation": bundling.GUIDE,
        "support": f"{REPOSITORY}/issues",
        "icon": "icon.png",
        "server": {
            "type": FORMS[form],
            "entry_point": "main.py",
            "mcp_config": {
                **bundling.start("--directory", "${__dirname}", "main.py", "${user_config.vault}"),
                "env": {"VAULTWIRE_READ_ONLY": "${user_config.read_only}"},
            },
        },
        "tools": bundling.standard_tools(),
        "tools_generated": True,  # more_tools runs others
        "prompts_generated": True,
        "keywords": list(bundling.KEYWORDS),
        "license": bundling.LICENCE,
        "privacy_policies": [bundling.PRIVACY],
        "compatibility": {"platforms": ["darwin", "win32", "linux"]},  # no runtime: uv brings Python
        "user_config": {
            "vault": {
                "type": "directory",
                "title": bundling.VAULT_TITLE,
                "description": f"{bundling.VAULT_HELP} You may choose several vaults.",
                "required": True,
                "multiple": True,
            },
            "read_only": {
                "type": "boolean",
                "title": bundling.READ_ONLY_TITLE,
                "description": bundling.READ_ONLY_HELP,
                "required": False,
                "default": False,
            },
        },
    }
