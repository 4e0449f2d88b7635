"""The lists of hashes that the container installs from."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", ["run", "remote", "postgres"])
def test_a_list_of_hashes_has_the_pins(name: str) -> None:
    def pins(name: str) -> dict[str, str]:
        found = re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE)
        return {package.lower().replace("_", "-"): version for package, version in found}

    assert pins(f"{name}.hashed.txt") == pins(f"{name}.txt")
    lines = (ROOT / "requirements" / f"{name}.hashed.txt").read_text().splitlines()
    assert all(line.startswith(("#", "    --hash=sha256:")) or line.endswith(" \\") for line in lines)
