"""The skills that come with the program: their form, and every command and call in them, run in a real vault.

Form: https://agentskills.io/specification. In a skill, a line of a ``sh`` block is a command, and a line of a ``text`` block is
a tool's name and its arguments as JSON.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
from scripts.pages.examples import write_sample_vault

from support.command_line import run_command
from vaultwire import skills as skill_module
from vaultwire.cli.demo import StdioClient
from vaultwire.markdown.properties import parse_frontmatter
from vaultwire.skills import bundled_skills
from vaultwire.toolkit.catalog import MORE, load_catalog

FOLDER = Path(skill_module.__file__).parent / "bundled"
NAMES = [each.name for each in bundled_skills()]
# These find nothing: by then the skill has ticked off the one task that is due. The command's help promises 1 for that.
NOTHING_FOUND = ("vaultwire tasks --due overdue", "vaultwire tasks --due '<=+7'")


def blocks(name: str, language: str) -> list[str]:
    """Return the lines of the blocks of a language in a skill's Markdown files."""
    found: list[str] = []
    for path in sorted((FOLDER / name).rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for block in re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
            found += block.splitlines()
    return found


def test_there_are_the_seven() -> None:
    assert NAMES == [
        "vaultwire-ingest",
        "vaultwire-markdown",
        "vaultwire-memory",
        "vaultwire-notes",
        "vaultwire-research",
        "vaultwire-tidy",
        "vaultwire-weekly-review",
    ]


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_has_the_form_of_the_specification(name: str) -> None:
    text = (FOLDER / name / "SKILL.md").read_text(encoding="utf-8")
    frontmatter = parse_frontmatter(text)
    assert list(frontmatter.values) == ["name", "description"]
    assert frontmatter.values["name"] == name
    description = frontmatter.values["description"]
    assert isinstance(description, str)
    assert len(description) <= 1024
    assert "Use when" in description  # says what, and when
    body = text[frontmatter.end :]
    assert len(body.splitlines()) < 500
    assert len(body) < 5000 * 4  # the tokens that the specification recommends
    files = {path.relative_to(FOLDER / name).as_posix() for path in (FOLDER / name).rglob("*") if path.is_file()}
    linked = {"SKILL.md"}
    for path in sorted(files):
        without_blocks = re.sub(
            r"^```.*?^```$", "", (FOLDER / name / path).read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        linked |= set(re.findall(r"(?<!`)\[[^\]`]+\]\((?!https?:)([^)]+)\)", without_blocks))
    assert linked == files  # every link leads to a file, and every file has a link
    assert set(next(each for each in bundled_skills() if each.name == name).files) == files


@pytest.mark.parametrize("name", NAMES)
def test_a_skill_names_only_tools_that_there_are(name: str) -> None:
    tools = {each["name"] for each in load_catalog()}
    called = calls_of(name)
    assert called
    assert {tool for tool, _ in called} <= tools
    wrapped = {arguments["tool"] for tool, arguments in called if tool == MORE}
    assert wrapped <= tools
    text = "".join(path.read_text(encoding="utf-8") for path in (FOLDER / name).rglob("*.md"))
    named = {word for word in re.findall(r"`([a-z]+(?:_[a-z]+)+)`", text) if word != "dry_run"}
    assert named <= tools


def calls_of(name: str) -> list[tuple[str, dict[str, Any]]]:
    """Return the calls of a skill, in its order."""
    parts = [line.partition(" ") for line in blocks(name, "text")]
    return [(tool, json.loads(arguments)) for tool, _, arguments in parts]


@pytest.mark.parametrize("name", NAMES)
def test_each_call_and_command_of_a_skill_works(name: str, tmp_path: Path) -> None:
    """In the skill's order, in one vault, as an agent would go through it."""
    vault = tmp_path / "Notes"
    write_sample_vault(vault)
    places = {"VAULTWIRE_CACHE": str(tmp_path / "cache"), "VAULTWIRE_STATE": str(tmp_path / "state")}
    with StdioClient([sys.executable, "-m", "vaultwire", "stdio", "--vault", str(vault)], places) as client:
        client.initialize()
        for tool, arguments in calls_of(name):
            result = client.call(tool, arguments)[0]
            assert not result.get("isError"), (tool, arguments, result)
    for line in blocks(name, "sh"):
        program, *words = shlex.split(line)
        assert program == "vaultwire"
        finished = run_command(*words, VAULTWIRE_VAULT=str(vault), **places)
        assert finished.returncode == (1 if line in NOTHING_FOUND else 0), (line, finished.stdout, finished.stderr)


def test_the_reference_of_bases_is_one_that_works(tmp_path: Path) -> None:
    vault = tmp_path / "Notes"
    write_sample_vault(vault)
    (vault / "Reference.base").write_text("\n".join(blocks("vaultwire-markdown", "base")), encoding="utf-8")
    places = {"VAULTWIRE_CACHE": str(tmp_path / "cache"), "VAULTWIRE_STATE": str(tmp_path / "state")}
    for view, first in (("By due", "Garden plan"), ("Growing", "Garden plan")):
        finished = run_command("base", "Reference.base", view, VAULTWIRE_VAULT=str(vault), **places)
        assert finished.returncode == 0, finished.stderr
        assert first in finished.stdout
