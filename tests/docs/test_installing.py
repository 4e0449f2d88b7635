"""No page, error or help names an installation that does not work: until it is published, no index has this program.

Another person could take the name there, and would run code on the computers of our readers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultwire import distribution

ROOT = Path(__file__).resolve().parents[2]
AGENTS = ("claude", "gemini", "codex", "/plugin")
INSTALLERS = (
    "pip",
    "pip3",
    "pipx",
    "uv",
    "uvx",
    "brew",
    "winget",
    "scoop",
    "npx",
    "npm",
    "docker",
    "podman",
    "git",
    *AGENTS,
)
# An installer and what follows on its line, up to the end of a code span or a quoted command.
COMMAND = re.compile(rf"(?<![\w./-])(?:{'|'.join(INSTALLERS)})(?: +[^\s`|]+)+")
# What fetches a package. Other commands (uninstall, inject, upgrade) need one that is installed.
FETCHES = {"install", "run", "add", "pull", "clone", "uvx", "npx"}
NAMED = re.compile(
    r"""['"(]*(?![./~])(?:(?:git\+)?https?://)?(?:[\w.-]+/)*vaultwire(?:\.git)?(?:\[[\w,]*\])?(?:[@:=<>~!][^/\s]*)?['").,;:]*"""
)
# These tell how it will be; in install.md only below the heading that says so.
FUTURE = {"docs/releasing.md": "", "docs/install.md": "## When it is on the package index"}


def unpublished(text: str) -> list[str]:
    """Return the commands in a text that install the program by its name."""
    return [found for found in COMMAND.findall(text) if is_by_name(found.split())]


def is_by_name(words: list[str]) -> bool:
    """Return whether a command fetches the program by its name: not from a file, and not what is installed already."""
    program, *rest = words
    if not {program, *rest} & FETCHES or {"uninstall", "inject"} & set(rest):
        return False
    if program in AGENTS:
        # In `mcp add NAME` it is the name of an entry; in `plugin install NAME@PLACE` the place is one that was added before.
        rest = [word for word in rest if "/" in word] if {"marketplace", "extensions"} & set(rest) else []
    for option in ("--from", "--spec"):
        if option in rest[:-1]:
            return NAMED.fullmatch(rest[rest.index(option) + 1]) is not None
    arguments = [word for word in rest if word not in FETCHES and not word.startswith("-")]
    if program in {"uvx", "npx", "docker", "podman"}:  # what follows the first is its own command line
        arguments = arguments[:1]
    return any(map(NAMED.fullmatch, arguments))


def strings(module: Path) -> Iterator[str]:
    """Yield the texts of a module, with its comments and docstrings: people read those, too."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)


@pytest.mark.skipif(distribution.IS_PUBLISHED, reason="it is published: these commands work")
def test_nothing_tells_people_to_install_a_name_that_another_could_take() -> None:
    found: dict[str, list[str]] = {}
    for page in sorted([*ROOT.glob("*.md"), *ROOT.glob("*.txt"), *(ROOT / "docs").rglob("*.md")]):
        name = page.relative_to(ROOT).as_posix()
        text = page.read_text(encoding="utf-8")
        if name in FUTURE:
            text = text.partition(FUTURE[name])[0] if FUTURE[name] else ""
        found[name] = unpublished(text)
    for module in sorted((ROOT / "src").rglob("*.py")):
        found[module.relative_to(ROOT).as_posix()] = [each for text in strings(module) for each in unpublished(text)]
    assert {name: commands for name, commands in found.items() if commands} == {}


@pytest.mark.parametrize(
    "text",
    [
        "pip install vaultwire",
        "Run `python -m pip install 'vaultwire[pdf]'`:",
        "pip install -U vaultwire==1.0",
        "uvx vaultwire stdio",
        "`uvx vaultwire@latest`",
        "uv tool install vaultwire.",
        "uv add vaultwire",
        "pipx run vaultwire --version",
        "brew install somebody/tap/vaultwire",
        "winget install --id vaultwire",
        "uvx --from git+https://github.com/vaultwire/vaultwire vaultwire",
        "git clone https://github.com/vaultwire/vaultwire.git",
        "claude plugin marketplace add vaultwire/vaultwire",
        "gemini extensions install https://github.com/vaultwire/vaultwire",
        "/plugin marketplace add vaultwire/vaultwire",
        "docker run -i ghcr.io/vaultwire/vaultwire:latest",
    ],
)
def test_such_a_command_is_seen(text: str) -> None:
    assert unpublished(text)


@pytest.mark.parametrize(
    "text",
    [
        "uv tool install WHEEL",
        "uvx --from WHEEL vaultwire demo",
        "pipx run --spec WHEEL vaultwire",
        "pip install ./vaultwire-1.0-py3-none-any.whl",
        "uv tool uninstall vaultwire",
        "pipx inject vaultwire 'pypdf>=7.1,<8'",
        "uvx something vaultwire",
        "vaultwire is run by uv, and vaultwire says so",
        "claude mcp add --scope user vaultwire -- /usr/bin/true",
        "claude plugin marketplace add ~/Downloads/vaultwire",
        "claude plugin install vaultwire@vaultwire",
        "pip install ./vaultwire",
        "docker run -i image vaultwire",
    ],
)
def test_a_command_that_works_is_not_complained_of(text: str) -> None:
    assert unpublished(text) == []
