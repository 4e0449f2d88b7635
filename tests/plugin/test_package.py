"""What a person publishes of the plugin: the rules of Obsidian's directory, its build, and Obsidian's own ESLint rules.

The rules are in Obsidian's developer documentation: *Submission requirements for plugins*, *Submit your plugin*, *Manifest*.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import zipfile
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from vaultwire.__main__ import main
from vaultwire.distribution import REPOSITORY

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "packaging" / "obsidian-plugin"
SHIPPED = resources.files("vaultwire.obsidian").joinpath("plugin")
MODULES = os.environ.get("VAULTWIRE_PLUGIN_MODULES")
needs_npm = pytest.mark.npm  # ESLint: make plugin gets it
MANIFEST: dict[str, Any] = json.loads(SHIPPED.joinpath("manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_obsidian_plugin", SOURCE / "build.py")
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def repository(builder: ModuleType, tmp_path: Path) -> Path:
    """Return the folder of the plugin's own repository, with what npm would install."""
    builder.build("1.2.3", tmp_path)
    folder = tmp_path / "obsidian-plugin"
    if MODULES is not None:
        (folder / "node_modules").symlink_to(MODULES)
    return folder


# ---------------------------------------------------------------------- the directory's rules


def test_the_manifest_follows_the_rules_of_the_directory() -> None:
    text = {"id", "name", "version", "minAppVersion", "description", "author", "authorUrl"}
    assert set(MANIFEST) == {*text, "isDesktopOnly"}  # no fundingUrl: the project takes no money
    assert all(isinstance(MANIFEST[name], str) for name in text)
    assert MANIFEST["isDesktopOnly"] is True  # it uses Node's modules
    assert re.fullmatch(r"[a-z0-9-]+", MANIFEST["id"])
    assert not re.search("obsidian|plugin", MANIFEST["id"] + MANIFEST["name"] + MANIFEST["description"], re.IGNORECASE)
    for name in ("version", "minAppVersion"):
        assert re.fullmatch(r"\d+\.\d+\.\d+", MANIFEST[name])
    assert re.fullmatch(r"[A-Z][A-Za-z0-9 ,'-]{9,248}\.", MANIFEST["description"])
    assert MANIFEST["authorUrl"] == REPOSITORY.rpartition("/")[0]  # not the plugin's repository, nor Obsidian's site


@needs_npm
def test_the_scripts_of_the_views_are_made_from_the_modules_here(tmp_path: Path) -> None:
    assert MODULES is not None
    bundle = ["node", str(ROOT / "scripts" / "bundle_views.cjs"), str(tmp_path)]
    subprocess.run(bundle, env={**os.environ, "NODE_PATH": MODULES}, check=True)
    kept = ROOT / "src" / "vaultwire" / "server" / "apps" / "bundled"
    made = {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text(encoding="utf-8") for path in kept.iterdir()}, "run make views-js"


def test_the_version_is_in_the_list_of_versions_with_the_app_that_it_needs() -> None:
    versions = json.loads((SOURCE / "versions.json").read_text(encoding="utf-8"))
    assert versions[MANIFEST["version"]] == MANIFEST["minAppVersion"]
    newest = max(versions, key=lambda version: [int(number) for number in version.split(".")])
    assert newest == MANIFEST["version"]


def test_the_readme_discloses_the_network_and_the_file_outside_the_vault() -> None:
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    for told in (
        "127.0.0.1",
        "no\n  telemetry",
        "outside the vault",
        "~/.local/state/vaultwire/editor",
        "LOCALAPPDATA",
        "without a shell",
        "program.json",
    ):
        assert told in readme
    assert f"vaultwire-obsidian-plugin-{MANIFEST['version']}.zip" in readme
    assert REPOSITORY in readme
    assert f"Obsidian {MANIFEST['minAppVersion']}" in readme


def test_the_commands_of_the_readme_install_and_remove_the_plugin(tmp_path: Path) -> None:
    (tmp_path / ".obsidian").mkdir()
    readme = (SOURCE / "README.md").read_text(encoding="utf-8")
    given = re.findall(r"vaultwire plugin \w+ --vault ~/Notes", readme)
    assert len(given) == 2
    for command, is_there in zip(given, (True, False), strict=True):
        arguments = command.replace("~/Notes", str(tmp_path)).split()[1:]
        assert main(arguments) == 0
        assert (tmp_path / ".obsidian" / "plugins" / MANIFEST["id"] / "main.js").exists() == is_there


def test_the_plugin_sets_no_hotkey_and_leaves_panes_in_place() -> None:
    source = "".join(file.read_text(encoding="utf-8") for file in (SOURCE / "src").glob("*.ts"))
    assert "hotkeys" not in source
    assert "detachLeavesOfType" not in source


# ---------------------------------------------------------------------- what is built


def test_the_folder_is_a_whole_repository_and_the_zip_installs_by_hand(builder: ModuleType, tmp_path: Path) -> None:
    made = builder.build("1.2.3", tmp_path)
    folder = tmp_path / "obsidian-plugin"
    names = {path.relative_to(folder).as_posix() for path in made if path.is_relative_to(folder)}
    assert {"README.md", "LICENSE", "manifest.json", "versions.json", "src/main.ts", "main.js", "styles.css"} <= names
    assert names == {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    archive = tmp_path / f"vaultwire-obsidian-plugin-{MANIFEST['version']}.zip"
    assert archive in made
    with zipfile.ZipFile(archive) as file:
        file.extractall(tmp_path / "plugins")
    installed = tmp_path / "plugins" / MANIFEST["id"]
    for name in ("main.js", "manifest.json", "styles.css"):
        assert (installed / name).read_bytes() == SHIPPED.joinpath(name).read_bytes() == (folder / name).read_bytes()


def test_the_same_files_give_the_same_bytes(
    builder: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    first, second = (builder.build("1.2.3", tmp_path / name) for name in ("first", "second"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    third = builder.build("1.2.3", tmp_path / "third")
    assert third[-1].read_bytes() != first[-1].read_bytes()


def test_the_repository_needs_the_packages_that_are_tested() -> None:
    needed = json.loads((SOURCE / "package.json").read_text(encoding="utf-8"))["devDependencies"]
    tested = json.loads((ROOT / "tests" / "plugin" / "package.json").read_text(encoding="utf-8"))["dependencies"]
    assert needed.items() <= tested.items()


# ---------------------------------------------------------------------- its build and checks, as its package.json has them


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script of the package, as npm does."""
    command = json.loads((folder / "package.json").read_text(encoding="utf-8"))["scripts"][script]
    program, *arguments = command.split()
    place = folder / "node_modules" / ".bin" / program
    return subprocess.run([place, *arguments], cwd=folder, capture_output=True, text=True, check=False)


@needs_npm
def test_main_js_is_what_the_build_makes_of_the_source(repository: Path) -> None:
    (repository / "main.js").unlink()
    done = run(repository, "build")
    assert (done.stdout, done.returncode) == ("", 0)
    made = (repository / "main.js").read_text(encoding="utf-8")
    assert made == SHIPPED.joinpath("main.js").read_text(encoding="utf-8"), "run make plugin-js"


@needs_npm
def test_the_compiler_finds_a_call_that_obsidians_typings_do_not_have(repository: Path) -> None:
    change(repository / "src" / "seen.ts", "workspace.getMostRecentLeaf()", "workspace.getRecentLeaf()")
    done = run(repository, "check")
    assert "'getRecentLeaf' does not exist" in done.stdout


@needs_npm
def test_obsidians_own_eslint_rules_find_nothing(repository: Path) -> None:
    done = run(repository, "lint")
    assert (done.stdout, done.returncode) == ("", 0), done.stderr


@needs_npm
def test_obsidians_own_eslint_rules_would_find_what_the_review_refuses(repository: Path) -> None:
    mistakes = (
        ("src/main.ts", 'id: "show-changes",', 'id: "show-changes", hotkeys: [],', "no-default-hotkeys"),
        ("src/main.ts", "this.push.cancel();", "this.app.workspace.detachLeavesOfType(CHANGES);", "detach-leaves"),
        ("src/main.ts", "this.status.setText(", "this.status.innerHTML = String(", "no-inner-html"),
        ("src/seen.ts", "workspace.getActiveFile()", "workspace.activeLeaf", "no-deprecated"),
        ("manifest.json", '"minAppVersion": "1.8.7"', '"minAppVersion": "1.8.6"', "no-unsupported-api"),
        ("manifest.json", '"author": ', '"writer": ', "validate-manifest"),
    )
    for name, of_text, to_text, _ in mistakes:
        change(repository / name, of_text, to_text)
    done = run(repository, "lint")
    assert done.returncode == 1
    assert [rule for *_, rule in mistakes if rule not in done.stdout] == []


def change(file: Path, of_text: str, to_text: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert of_text in text
    file.write_text(text.replace(of_text, to_text), encoding="utf-8")
