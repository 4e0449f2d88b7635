"""What README and docs say is so: their commands run, their links lead somewhere, their tables are complete."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from support.calls import load_tools
from support.command_line import run_command
from support.vaults import snapshot, write_vault
from vaultwire.client_setup.clients import CLIENTS
from vaultwire.distribution import REPOSITORY
from vaultwire.toolkit.catalog import standard_set

STANDARD = standard_set()

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])
VAULT = """
=== Garden.md
Tomatoes. #garden
=== Projects/Shelf.md
Oak.
=== Recipes/Soup.md
Leek.
"""


def commands(document: Path) -> list[str]:
    """Return the commands of a document's console blocks."""
    blocks = re.findall(r"^```console\n(.*?)^```", document.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ ")]


# Its commands build on each other: test_first_hour.py runs them in their order.
TUTORIAL = "first-hour.md"
ALL_COMMANDS = [
    (document.name, command) for document in DOCUMENTS if document.name != TUTORIAL for command in commands(document)
]


def test_the_readme_shows_commands() -> None:
    assert len(commands(ROOT / "README.md")) >= 6


def started(arguments: list[str], environment: dict[str, str]) -> str:
    """Return the line with which a program starts that runs until it is told to end, and end it."""
    with subprocess.Popen(
        [sys.executable, "-m", "vaultwire", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    ) as program:
        assert program.stdout is not None
        line = next(line for line in program.stdout if "until you" in line)
        program.terminate()
    assert program.returncode == 0
    return line


@pytest.mark.parametrize(("document", "command"), ALL_COMMANDS, ids=" ".join)
def test_a_command_that_is_printed_works(document: str, command: str, tmp_path: Path) -> None:
    notes = write_vault(tmp_path / "Notes", VAULT)
    before = snapshot(notes)
    (tmp_path / "policy.toml").write_bytes((ROOT / "docs" / "policy.example.toml").read_bytes())
    for client in (".config/Claude", ".claude", ".cursor", ".codex"):  # they were started once
        (tmp_path / client).mkdir(parents=True)
    environment = {"HOME": str(tmp_path), "VAULTWIRE_STATE": str(tmp_path / "state")}
    if command.startswith("make "):
        # The target itself runs in CI; from here it would run this test again.
        make = ["make", "--dry-run", "--directory", str(ROOT), *command.split()[1:]]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        return
    program, *arguments = command.replace("~/Notes", str(notes)).split()
    assert program in (".venv/bin/vaultwire", "vaultwire")
    if "desk" in arguments:
        assert "until you press Ctrl-C" in started(arguments, environment)
    else:
        done = run_command(*arguments, **environment)
        assert done.returncode == 0, done.stderr
    assert snapshot(notes) == before


def test_a_link_to_a_file_of_ours_leads_somewhere() -> None:
    for document in DOCUMENTS:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), (document.name, target)


# People of examples. Any other home is that of somebody who wrote here, and so is a folder of a computer that builds this.
OF_EXAMPLES = "A%20B|ada|ana|ann|J[^/]*rg|[Mm]e|person|you"
PATH_OF_A_MACHINE = re.compile(
    rf"(?<![\w.~$}}-])/(?:(?:home|Users)/(?!(?:{OF_EXAMPLES})\b)\w|(?:root|work|workspace|builds?)/\w)"
)


def test_no_file_holds_a_path_of_the_computer_it_was_written_on() -> None:
    assert PATH_OF_A_MACHINE.search("x = Path('/home/kim/vault')")
    assert PATH_OF_A_MACHINE.search('"/workspace/notes"')
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("this is no clone, so nobody says which files are the project's")
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8", errors="replace")
        for name in listed.stdout.split("\0")
        if name and (ROOT / name).is_file() and Path(name) != Path(__file__).relative_to(ROOT)
    }
    hits = {name: found[0] for name, text in texts.items() if (found := PATH_OF_A_MACHINE.search(text))}
    assert hits == {}


def test_the_readme_says_where_to_clone_from() -> None:
    assert f"The project is at <{REPOSITORY}>. In a clone" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_stays_short_and_counts_the_tools() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 120
    assert f"It sees {len(STANDARD)} tools" in text


def test_the_page_of_clients_tells_of_every_client() -> None:
    text = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    assert re.findall(r"^### (.*)$", text, re.MULTILINE) == [each.title for each in CLIENTS.values()]
    assert all(f"vaultwire install {name}" in text or f"client-config {name}" in text for name in CLIENTS)


def test_the_architecture_page_names_every_room() -> None:
    pages = ("architecture", "search-index")  # what the index is made of stands on a page of its own
    text = "".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8") for page in pages)
    package = ROOT / "src" / "vaultwire"
    rooms = {path.parent.name for path in package.rglob("*.py") if path.parent != package}
    assert [room for room in sorted(rooms) if f" {room}/ " not in text] == []


def test_the_architecture_page_stays_short_enough_to_read() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 200
    assert "\n## What vaultwire does not do\n" in text


def test_the_changelog_keeps_its_form() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.startswith("# Changelog\n")
    sections = re.findall(r"^### (.*)$", text, re.MULTILINE)
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert "## Unreleased" in text


def test_every_tool_is_documented_in_full() -> None:
    text = (ROOT / "docs" / "tools.md").read_text(encoding="utf-8")
    catalog = json.loads((ROOT / "src" / "vaultwire" / "toolkit" / "catalog.json").read_text(encoding="utf-8"))
    assert [tool["name"] for tool in catalog] == [tool.name for tool in load_tools()]
    for tool in catalog:
        section = text.split(f"## {tool['name']}\n")[1].split("\n## ")[0]
        assert tool["description"] in section
        for name, schema in tool["inputSchema"]["properties"].items():
            assert f"| `{name}` |" in section
            assert schema["description"] in section
