"""What the builders of bundles share: facts about the program, how a bundle starts it, and archives with the same bytes.

Each bundle holds the wheel, a project file and ``main.py``, and its client starts ``main.py`` by ``uv run``. At the first start
uv installs what the program needs, in the versions that were tested, into a folder of the bundle. So a bundle

- works whether or not the package index has the program, and starts the very bytes that were released with it;
- starts without the network from the second time on, in a seventh of the time of ``uvx`` (0.12 s, 0.9 s), which asks the index
  for newer versions of everything at each start.
"""

from __future__ import annotations

import json
import os
import re
import time
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vaultwire.distribution import NAME, REPOSITORY
from vaultwire.toolkit import catalog

ROOT = Path(__file__).resolve().parent.parent
TITLE = "Vaultwire"
AUTHOR = {"name": "The vaultwire authors", "url": REPOSITORY}
GUIDE = f"{REPOSITORY}/blob/main/docs/install.md"
PRIVACY = f"{GUIDE}#privacy"
LICENCE = "MIT"
KEYWORDS = ("obsidian", "notes", "markdown", "vault", "second-brain")
PYTHON = ">=3.11,<3.15"
"""The versions of Python that the tests run with. Without the upper end, uv might take one without wheels of what we need."""

VAULT_TITLE = "Vault folder"
VAULT_HELP = "The folder of your Obsidian vault: the one that holds the hidden folder .obsidian."
READ_ONLY_TITLE = "Read-only"
READ_ONLY_HELP = "The assistant can search and read your notes, but not change them."
REQUESTS = (
    "What did I write about this topic in my notes?",
    "Add what we just decided to today's daily note.",
    "Which tasks in my notes are due this week?",
)

# What a person could hardly add to a bundle: it reads PDFs, and makes pictures smaller.
_EXTRAS = {"images": "pillow", "pdf": "pypdf"}
_OLDEST = 315532800  # 1980-01-01: no archive can hold an earlier time


def description() -> str:
    """Return the one sentence that says what the program is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["description"]).rstrip(".")


def facts(version: str) -> dict[str, Any]:
    """Return what the manifests of plugins say of the program, in the form that Claude Code and Codex share."""
    return {
        "name": NAME,
        "version": version,
        "description": description(),
        "author": AUTHOR,
        "homepage": GUIDE,
        "repository": REPOSITORY,
        "license": LICENCE,
        "keywords": list(KEYWORDS),
    }


def standard_tools() -> list[dict[str, str]]:
    """Return name and description of each tool that clients get to see."""
    described = {tool["name"]: tool["description"] for tool in catalog.load_catalog()}
    return [{"name": name, "description": _first_sentence(described[name])} for name in catalog.standard_set()]


def program(version: str, into: Path) -> dict[str, bytes]:
    """Return the files that a bundle starts the program with. ``into`` holds the wheel before any builder runs."""
    wheel = into / f"{NAME}-{version}-py3-none-any.whl"
    return {
        **ours("LICENSE", "packaging/main.py"),
        wheel.name: wheel.read_bytes(),
        "pyproject.toml": _project(version, wheel.name).encode(),
    }


def start(*arguments: str) -> dict[str, Any]:
    """Return how a client starts the program in the folder of its bundle: ``command`` and ``args``."""
    return {"command": "uv", "args": ["run", *arguments]}


def desktop_bundle(version: str, form: str = "0.4") -> str:
    """Return the name of the bundle for Claude Desktop, by its manifest's version."""
    return f"{NAME}-{version}.mcpb" if form == "0.4" else f"{NAME}-{version}-manifest-{form}.mcpb"


def as_json(value: Any) -> bytes:
    """Return JSON as a person would write it."""
    return (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode()


def ours(*names: str) -> dict[str, bytes]:
    """Return files of this project by their last names."""
    return {Path(name).name: (ROOT / name).read_bytes() for name in names}


def write_archive(path: Path, files: Mapping[str, bytes], folder: str = "") -> Path:
    """Write a ZIP archive, with the same bytes for the same files. ``folder`` holds them all."""
    seconds = max(int(os.environ.get("SOURCE_DATE_EPOCH") or _OLDEST), _OLDEST)
    with zipfile.ZipFile(path, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(folder + name, time.gmtime(seconds)[:6])
            entry.create_system = 3  # Unix, on every system
            entry.external_attr = 0o100644 << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name], compresslevel=9)
    return path


def _first_sentence(text: str) -> str:
    line = text.partition("\n")[0]
    head, dot, _ = line.partition(". ")
    return head + dot.strip() if dot else line


def _project(version: str, wheel: str) -> str:
    """Return the file from which uv learns what to install: the wheel, and what it needs in the versions that we test."""
    # A literal string of TOML: requirements hold " but no '.
    tested = "".join(f"    '{line}',\n" for line in _pins())
    return f"""\
[project]
name = "{NAME}-bundle"
version = "{version}"
requires-python = "{PYTHON}"
dependencies = ["{NAME}[{",".join(_EXTRAS)}]"]

[tool.uv]
package = false
constraint-dependencies = [
{tested}]

[tool.uv.sources]
{NAME} = {{ path = "{wheel}" }}
"""


def _pins() -> list[str]:
    """Return the tested versions, as the requirements name them."""
    folder = ROOT / "requirements"
    lines = (folder / "run.txt").read_text(encoding="utf-8").splitlines()
    of_extras = re.compile(rf"({'|'.join(_EXTRAS.values())})==", re.IGNORECASE)
    lines += filter(of_extras.match, (folder / "dev.txt").read_text(encoding="utf-8").splitlines())
    return sorted(line for line in lines if line and not line.startswith("#"))
