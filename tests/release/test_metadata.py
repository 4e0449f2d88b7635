"""The package that people get: what its metadata says, what is in it, and that no second place says otherwise."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from scripts import release
from trove_classifiers import classifiers

from vaultwire import __version__
from vaultwire.distribution import NAME, REGISTRY_NAME, REPOSITORY

ROOT = Path(__file__).resolve().parents[2]
# Top-level entries that the sdist leaves out on purpose.
LEFT_OUT = {".gitattributes"}
MEASURED = "docs/comparison.md"  # names the version whose figures it has


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    release.build_package(ROOT, folder, "wheel", "sdist")
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    return Parser().parsestr(wheel.read(f"{NAME}-{__version__}.dist-info/METADATA").decode())


def git_files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("no clone")
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_the_summary_says_what_it_is_in_as_many_characters_as_registries_take(metadata: Message) -> None:
    assert metadata["Name"] == NAME
    assert metadata["Summary"].startswith("MCP server for Obsidian")
    assert len(metadata["Summary"]) <= 100


def test_every_address_is_in_the_repository_that_distribution_names(metadata: Message) -> None:
    addresses = dict(line.split(", ") for line in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= set(addresses)
    assert [address for address in addresses.values() if not f"{address}/".startswith(f"{REPOSITORY}/")] == []


def test_the_registry_finds_its_name_in_the_description(metadata: Message) -> None:
    assert re.findall(r"<!-- mcp-name: (\S+) -->", str(metadata.get_payload())) == [REGISTRY_NAME]
    assert metadata["Description-Content-Type"] == "text/markdown"


def test_the_index_shows_a_readme_whose_links_lead_somewhere(metadata: Message) -> None:
    shown = str(metadata.get_payload())
    targets = re.findall(r"\]\(([^)\s]+)|\b(?:src|srcset|href)=\"([^\"\s]+)", shown)
    assert targets
    relative = [
        target for pair in targets for target in pair if target and not target.startswith(("https://", "#", "mailto:"))
    ]
    assert relative == []
    ours = {target for pair in targets for target in pair if target.startswith(REPOSITORY)}
    paths = {re.sub(r"^/(blob|raw)/main/|#.*", "", target.removeprefix(REPOSITORY)) for target in ours}
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_form_of_links_and_pictures_is_known_to_the_substitutions() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    substitutions = project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    text = '[a](docs/a.md) ![b](docs/b.png) [![c](c.svg)](docs/c.md) <img src="d.png"> [e](#e) [f](https://f) <a href="g.md">'
    for each in substitutions:
        assert REPOSITORY in each["replacement"]
        text = re.sub(each["pattern"], each["replacement"], text)
    page, picture = f"{REPOSITORY}/blob/main", f"{REPOSITORY}/raw/main"
    assert text == (
        f"[a]({page}/docs/a.md) ![b]({picture}/docs/b.png) [![c]({picture}/c.svg)]({page}/docs/c.md) "
        f'<img src="{picture}/d.png"> [e](#e) [f](https://f) <a href="{page}/g.md">'
    )


def test_classifiers_are_known_and_name_systems_and_every_python(metadata: Message) -> None:
    given = metadata.get_all("Classifier", [])
    assert set(given) <= set(classifiers)
    pythons = {each.rpartition(" ")[2] for each in given if re.search(r":: 3\.\d+$", each)}
    assert pythons == {"3.11", "3.12", "3.13", "3.14"}
    assert metadata["Requires-Python"] == ">=3.11"
    for system in ("MacOS", "Microsoft :: Windows", "POSIX :: Linux"):
        assert f"Operating System :: {system}" in given
    # The index refuses a licence that is given in both forms.
    assert metadata["License-Expression"] == "MIT"
    assert not [each for each in given if each.startswith("License ::")]


def test_the_wheel_has_types_licence_and_the_desks_page_and_no_caches(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert f"{NAME}/py.typed" in names
    assert f"{NAME}-{__version__}.dist-info/licenses/LICENSE" in names
    page = ROOT / "src" / NAME / "desk" / "page"
    assert {str(path.relative_to(ROOT / "src").as_posix()) for path in page.rglob("*") if path.is_file()} <= set(names)
    assert [name for name in names if "__pycache__" in name or name.endswith(".pyc")] == []
    ours = {name.removeprefix("src/") for name in git_files() if name.startswith("src/")}
    assert {name for name in names if name.startswith(f"{NAME}/")} == ours


def test_the_sdist_has_every_file_of_the_project_and_no_other(built: Path) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        packed = {member.name.partition("/")[2] for member in archive.getmembers()} - {"PKG-INFO"}
    assert packed == {name for name in git_files() if name.partition("/")[0] not in LEFT_OUT}


def test_the_wheel_built_from_the_sdist_is_the_wheel(built: Path, tmp_path: Path) -> None:
    release.check_sdist_is_complete(built, tmp_path)


def test_the_version_has_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "version" not in project
    assert "version" in project["dynamic"]
    # A version stands beside the program's name, or is assigned: other versions (protocols, packages, the plugin) are not ours.
    ours = re.compile(rf"(__version__ = [\"']|{NAME}[ @=/-]+v?){re.escape(__version__)}(?![\d.]*\d)")
    texts = {}
    for name in git_files():
        if not name.startswith("CHANGELOG") and name != MEASURED:
            texts[name] = (ROOT / name).read_bytes().decode("utf-8", "replace")
    assert [name for name, text in texts.items() if ours.search(text)] == ["src/vaultwire/__init__.py"]


def test_the_program_says_that_version() -> None:
    said = subprocess.run([sys.executable, "-m", NAME, "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"{NAME} {__version__}\n"
