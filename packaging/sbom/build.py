"""The SBOM: the program and all that is installed with it, with versions and licences (CycloneDX 1.6, JSON)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# Environments of their own, made by the Makefile: the tool, and what the program needs to run.
TOOL = ROOT / ".venv" / "release" / "bin" / "cyclonedx-py"
RUNTIME = ROOT / ".venv" / "runtime"


def build(version: str, into: Path) -> list[Path]:
    """Write the SBOM of what `requirements/run.txt` pins."""
    path = into / f"vaultwire-{version}.cdx.json"
    project = ROOT / "pyproject.toml"
    options: list[str | Path] = ["--pyproject", project, "--output-reproducible", "--short-PURLs", "-o", path]
    subprocess.run([TOOL, "environment", RUNTIME, *options], check=True)
    document = json.loads(path.read_text(encoding="utf-8"))
    # The tool reads pyproject.toml only, where the version is "dynamic".
    document["metadata"]["component"]["version"] = version
    path.write_text(json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n", encoding="utf-8")
    return [path]
