"""The list of hashes that the container installs from."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_list_of_hashes_has_the_pins_of_the_program() -> None:
    def pins(name: str) -> dict[str, str]:
        found = re.findall(r"^([\w-]+)==([\w.]+)", (ROOT / "requirements" / name).read_text(), re.MULTILINE)
        return {package.lower().replace("_", "-"): version for package, version in found}

    assert pins("run.hashed.txt") == pins("run.txt")
    lines = (ROOT / "requirements" / "run.hashed.txt").read_text().splitlines()
    assert all(line.startswith(("#", "    --hash=sha256:")) or line.endswith(" \\") for line in lines)
