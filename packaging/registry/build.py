"""The entry for the MCP registry, ``server.json``: where clients get the server, and what they have to ask for.

The form is that of https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import bundling

from vaultwire.distribution import NAME, REGISTRY_NAME, REPOSITORY

AFTER = ("mcpb",)  # the entry holds the sum of the bundle
SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_STDIO = {"type": "stdio"}
_READ_ONLY = {
    "name": "VAULTWIRE_READ_ONLY",
    "description": f"true: {bundling.READ_ONLY_HELP}",
    "format": "boolean",
    "default": "false",
}


def build(version: str, into: Path) -> list[Path]:
    """Write the entry."""
    bundle = (into / bundling.desktop_bundle(version)).read_bytes()
    path = into / "server.json"
    path.write_bytes(bundling.as_json(entry(version, hashlib.sha256(bundle).hexdigest())))
    return [path]


def entry(version: str, sum_of_bundle: str) -> dict[str, Any]:
    """Return the entry."""
    return {
        "$schema": SCHEMA,
        "name": REGISTRY_NAME,
        "title": bundling.TITLE,
        "description": bundling.description(),
        "version": version,
        "repository": {"url": REPOSITORY, "source": "github"},
        "websiteUrl": REPOSITORY,
        "icons": [
            {
                "src": f"{REPOSITORY}/raw/v{version}/docs/pictures/icon.png",
                "mimeType": "image/png",
                "sizes": ["512x512"],
            }
        ],
        "packages": [_from_index(version), _as_bundle(version, sum_of_bundle), _as_container(version)],
    }


def _from_index(version: str) -> dict[str, Any]:
    vault = {
        "type": "named",
        "name": "--vault",
        "description": f"{bundling.VAULT_HELP} It may be given more than once, for several vaults.",
        "format": "filepath",
        "isRequired": True,
        "isRepeated": True,
    }
    return {
        "registryType": "pypi",
        "registryBaseUrl": "https://pypi.org",
        "identifier": NAME,
        "version": version,
        "runtimeHint": "uvx",
        "transport": _STDIO,
        "packageArguments": [{"type": "positional", "value": "stdio"}, vault],
        "environmentVariables": [
            _READ_ONLY,
            {
                "name": "VAULTWIRE_POLICY",
                "description": "A file that says which notes may be seen and changed.",
                "format": "filepath",
            },
        ],
    }


def _as_bundle(version: str, digest: str) -> dict[str, Any]:
    """Return the package that asks by itself: its manifest describes the vault and the other settings."""
    return {
        "registryType": "mcpb",
        "identifier": f"{REPOSITORY}/releases/download/v{version}/{bundling.desktop_bundle(version)}",
        "fileSha256": digest,
        "transport": _STDIO,
    }


def _as_container(version: str) -> dict[str, Any]:
    """Return the package of the container. Its name holds its version, so it has no field for it."""
    vault = {
        "type": "named",
        "name": "--mount",
        "value": "type=bind,source={vault},target=/vault",
        "variables": {"vault": {"description": bundling.VAULT_HELP, "format": "filepath", "isRequired": True}},
    }
    # Else the journal would end with the container, and nothing could be undone.
    state = {"type": "named", "name": "--mount", "value": f"type=volume,source={NAME}-state,target=/state"}
    owner = {
        "type": "named",
        "name": "--user",
        "description": "On Linux: who owns the vault's files, as UID:GID. Others cannot change them.",
        "placeholder": "1000:1000",
    }
    return {
        "registryType": "oci",
        "identifier": f"ghcr.io/{'/'.join(REPOSITORY.split('/')[-2:]).lower()}:{version}",
        "runtimeHint": "docker",
        "transport": _STDIO,
        "runtimeArguments": [vault, state, owner],
        "packageArguments": [
            {"type": "positional", "value": "stdio"},
            {"type": "named", "name": "--vault", "value": "/vault"},
        ],
        "environmentVariables": [_READ_ONLY],
    }
