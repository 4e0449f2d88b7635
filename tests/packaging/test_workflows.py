"""The files for GitHub: ``make workflows`` checks their form, this their facts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from vaultwire import distribution

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_pins_its_actions_by_commit_and_names_its_rights(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)$", text, re.MULTILINE)
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)] == []
    jobs = yaml.safe_load(text)["jobs"].values()
    assert "permissions" in yaml.safe_load(text)
    assert all("runs-on" in job for job in jobs)


def test_an_action_has_one_version_everywhere() -> None:
    used = {each for path in WORKFLOWS for each in re.findall(r"uses: (\S+@\S+)", path.read_text(encoding="utf-8"))}
    assert len(used) == len({each.partition("@")[0] for each in used})


def test_the_makefile_has_what_the_workflows_run() -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    run = {each for path in WORKFLOWS for each in re.findall(r"run: make ([\w-]+)", path.read_text(encoding="utf-8"))}
    assert run - {"docs", "release"} <= targets


@pytest.mark.parametrize("script", ["run", "release"])
def test_the_makefile_has_what_a_script_of_ci_runs(script: str) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    run = re.findall(r"^make ([\w-]+)", (ROOT / ".ci" / script).read_text(encoding="utf-8"), re.MULTILINE)
    assert [each for each in run if not re.search(rf"^{each}:", makefile, re.MULTILINE)] == []


def test_what_release_checks_watch_exists() -> None:
    workflow = (ROOT / ".github" / "workflows" / "release-checks.yml").read_text(encoding="utf-8")
    watched = re.findall(r"^      - ([\w./-]+?)(?:/\*\*)?$", workflow, re.MULTILINE)
    assert len(watched) > 10
    assert [path for path in watched if not (ROOT / path).exists()] == []


def test_dependabot_looks_where_the_dependencies_are() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    listed = {folder for update in updates for folder in [*update.get("directories", []), update.get("directory")]}
    packages = {
        f"/{path.parent.relative_to(ROOT).as_posix()}"
        for folder in ("tests", "packaging", "scripts")
        for path in (ROOT / folder).rglob("package-lock.json")
        if "node_modules" not in path.parts
    }
    assert packages <= listed
    assert all((ROOT / folder.strip("/")).is_dir() for folder in listed if folder)


def test_reports_go_to_the_project() -> None:
    report = f"{distribution.REPOSITORY}/security/advisories/new"
    assert report in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert report in (ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml").read_text(encoding="utf-8")
