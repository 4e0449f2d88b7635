"""What the builders of bundles share: facts about the program, how a bundle starts it, and archives with the same bytes."""

from __future__ import annotations

import json
import os
import time
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from vaultwire.distribution import IS_PUBLISHED, NAME, REPOSITORY
from vaultwire.toolkit import catalog, tool_sets

ROOT = Path(__file__).resolve().parent.parent
TITLE = "Vaultwire"
AUTHOR = {"name": "The vaultwire authors", "url": REPOSITORY}
GUIDE = f"{REPOSITORY}/blob/main/docs/bundles.md"
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

_OLDEST = 315532800  # 1980-01-01: no archive can hold an earlier time


class Launch(NamedTuple):
    """How a bundle starts the program."""

    command: list[str]
    files: dict[str, bytes]
    """What the bundle has to contain for it, by name."""


def description() -> str:
    """Return the one sentence that says what the program is."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["description"]).rstrip(".")


def standard_tools() -> list[dict[str, str]]:
    """Return name and description of each tool that clients get to see."""
    described = {tool["name"]: tool["description"] for tool in catalog.load_catalog()}
    return [{"name": name, "description": _first_sentence(described[name])} for name in tool_sets.STANDARD]


def launch(version: str, into: Path, root: str, *, is_published: bool = IS_PUBLISHED) -> Launch:
    """Return how a bundle starts the program; ``root`` is how its manifest names its own folder, with a slash at the end.

    From the package index, once it is there. Until then the bundle carries the wheel: it needs nothing that is not published,
    and starts the very bytes that were released with it.
    """
    if is_published:
        return Launch(["uvx", f"{NAME}@{version}"], {})
    wheel = wheel_in(into, version)
    return Launch(["uvx", "--from", f"{root}{wheel.name}", NAME], {wheel.name: wheel.read_bytes()})


def wheel_in(into: Path, version: str) -> Path:
    """Return the wheel among the files of a release. It is there before any builder runs."""
    return into / f"{NAME}-{version}-py3-none-any.whl"


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
