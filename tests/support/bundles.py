"""The bundles of a release, built for a test, and what a host makes of their manifests."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

from vaultwire import __version__

ROOT = Path(__file__).resolve().parents[2]
BUILDERS = ("mcpb", "registry", "claude_code_plugin", "gemini_extension", "codex_plugin")
WHEEL = f"vaultwire-{__version__}-py3-none-any.whl"
DESKTOP = {"0.4": f"vaultwire-{__version__}.mcpb", "0.3": f"vaultwire-{__version__}-manifest-0.3.mcpb"}
VAULT = """
=== Garden.md
Tomatoes need water.
"""


def builder(name: str) -> ModuleType:
    """Return a builder, as a release loads it."""
    spec = importlib.util.spec_from_file_location(f"tested_{name}", ROOT / "packaging" / name / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def build(into: Path) -> Path:
    """Build the wheel and every bundle into a folder, and return it."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(into)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    for name in BUILDERS:
        builder(name).build(__version__, into)
    return into


def unpack(archive: Path, into: Path) -> Path:
    """Unpack an archive, and return the folder that holds all of it if there is one."""
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(into)
    inside = list(into.iterdir())
    return inside[0] if len(inside) == 1 else into


def read(path: Path) -> Any:
    """Return what a JSON file holds."""
    return json.loads(path.read_text(encoding="utf-8"))


def filled(value: Any, variables: dict[str, str]) -> Any:
    """Return a part of a manifest with its variables filled in, as hosts do it."""
    if isinstance(value, str):
        for name, content in variables.items():
            value = value.replace(f"${{{name}}}", content)
        return value
    if isinstance(value, list):
        return [filled(each, variables) for each in value]
    return {key: filled(each, variables) for key, each in value.items()}
