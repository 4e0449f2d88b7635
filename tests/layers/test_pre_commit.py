"""The hook that ``make hooks`` turns on, in a repository of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = """
[tool.importlinter]
root_package = "house"
[[tool.importlinter.contracts]]
name = "Rooms import downwards only"
type = "layers"
layers = ["house.roof", "house.cellar"]
"""
FILES = {"pyproject.toml": PROJECT, "src/house/__init__.py": "", "src/house/roof.py": "", "src/house/cellar.py": ""}


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the hook, whose two rooms are in order."""
    for name, text in FILES.items():
        write(tmp_path / name, text)
    shutil.copytree(ROOT / "scripts" / "hooks", tmp_path / "scripts" / "hooks")
    write(tmp_path / ".gitignore", ".venv\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "bin").symlink_to(Path(sys.executable).parent)
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "config", "user.name", "Ada")
    git(tmp_path, "config", "user.email", "ada@example.org")
    made = ["make", "--silent", "--makefile", str(ROOT / "Makefile"), "--old-file", ".venv/.developing", "hooks"]
    subprocess.run(made, cwd=tmp_path, check=True)
    git(tmp_path, "add", ".")
    return tmp_path


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def git(folder: Path, *arguments: str) -> str:
    """Run Git there, untouched by a commit that these tests may be part of; return what it printed if it refused."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else ""


def commit(folder: Path, *arguments: str) -> str:
    return git(folder, "commit", "--quiet", "--message", "Change", *arguments)


def test_a_commit_that_is_in_order_passes(repository: Path) -> None:
    assert commit(repository) == ""
    write(repository / "README.md", "No Python.\n")
    git(repository, "add", ".")
    assert commit(repository) == ""


@pytest.mark.parametrize(
    ("module", "text", "reason"),
    [
        ("src/house/roof.py", "height  =  3\n", "File would be reformatted"),
        ("src/house/roof.py", "import os\n", "`os` imported but unused"),
        (
            "src/house/cellar.py",
            "from house import roof\n\nheight = roof\n",
            "house.cellar is not allowed to import house.roof",
        ),
    ],
    ids=["format", "lint", "layers"],
)
def test_what_is_staged_and_not_in_order_is_refused(repository: Path, module: str, text: str, reason: str) -> None:
    write(repository / module, text)
    git(repository, "add", ".")
    assert reason in commit(repository)


def test_what_is_not_staged_does_not_count(repository: Path) -> None:
    write(repository / "src/house/roof.py", "import os\n")
    assert commit(repository) == ""
    assert "`os` imported but unused" in commit(repository, "--all")


def test_what_is_staged_counts_though_the_file_has_been_corrected(repository: Path) -> None:
    write(repository / "src/house/roof.py", "import os\n")
    git(repository, "add", ".")
    write(repository / "src/house/roof.py", "")
    assert "`os` imported but unused" in commit(repository)
