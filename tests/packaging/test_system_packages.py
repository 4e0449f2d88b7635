"""The Homebrew formula and the winget configuration that a release fills in."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from vaultwire import distribution

ROOT = Path(__file__).resolve().parents[2]
WHEEL = "vaultwire-1.2.3-py3-none-any.whl"
HASH = hashlib.sha256(b"a wheel").hexdigest()


def build(name: str, into: Path) -> list[Path]:
    """Run a builder as a release does."""
    spec = importlib.util.spec_from_file_location(f"builder_{name}", ROOT / "packaging" / name / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (into / WHEEL).write_bytes(b"a wheel")
    written: list[Path] = module.build("1.2.3", into)
    return written


def test_the_formula_names_the_files_of_the_release_with_their_hashes(tmp_path: Path) -> None:
    formula, requirements = build("homebrew", tmp_path)
    text = formula.read_text()
    assert not re.search(r"@[A-Z_0-9]+@", text)
    release = f"{distribution.REPOSITORY}/releases/download/v1.2.3"
    assert f'url "{release}/{WHEEL}", using: :nounzip\n  sha256 "{HASH}"' in text
    listed = hashlib.sha256(requirements.read_bytes()).hexdigest()
    assert f'url "{release}/{requirements.name}", using: :nounzip\n    sha256 "{listed}"' in text


@pytest.mark.skipif(shutil.which("ruby") is None, reason="this computer has no Ruby")
def test_the_formula_is_ruby(tmp_path: Path) -> None:
    formula = build("homebrew", tmp_path)[0]
    checked = subprocess.run(["ruby", "-wc", formula], capture_output=True, text=True, check=False)
    assert (checked.stdout, checked.stderr) == ("Syntax OK\n", "")


def test_the_blocks_of_the_formula_are_closed(tmp_path: Path) -> None:
    """Also where there is no Ruby: each line that opens a block has its end."""
    lines = build("homebrew", tmp_path)[0].read_text().splitlines()
    opened = [line for line in lines if re.match(r"\s*(class|def)\b", line) or line.endswith(" do")]
    assert len(opened) == sum(line.strip() == "end" for line in lines)


def test_the_list_of_hashes_has_the_pins_of_the_program() -> None:
    def pins(name: str) -> dict[str, str]:
        found = re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE)
        return {package.lower().replace("_", "-"): version for package, version in found}

    assert pins("run.hashed.txt") == pins("run.txt")
    lines = (ROOT / "requirements" / "run.hashed.txt").read_text().splitlines()
    assert all(line.startswith(("#", "    --hash=sha256:")) or line.endswith(" \\") for line in lines)


def test_the_winget_configuration_installs_the_wheel_of_the_release(tmp_path: Path) -> None:
    (path,) = build("winget", tmp_path)
    document: dict[str, Any] = yaml.safe_load(path.read_text())["properties"]
    assert document["configurationVersion"] == "0.2.0"
    tool, program = document["resources"]
    assert tool["settings"] == {"id": "astral-sh.uv", "source": "winget"}
    assert program["dependsOn"] == [tool["id"]]
    assert HASH.upper() in program["settings"]["SetScript"]
    assert f"{distribution.REPOSITORY}/releases/download/v1.2.3/{WHEEL}" in program["settings"]["SetScript"]
    assert not re.search(r"@[A-Z_0-9]+@", path.read_text())


@pytest.mark.parametrize("name", ["homebrew", "winget"])
def test_a_builder_writes_the_same_bytes_twice(name: str, tmp_path: Path) -> None:
    contents = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        folder.mkdir()
        contents.append([(path.name, path.read_bytes()) for path in build(name, folder)])
    assert contents[0] == contents[1]
