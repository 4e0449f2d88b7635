"""The Homebrew formula, and the list of hashes that it installs from. The formula goes to a tap (docs/releasing.md)."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from vaultwire.distribution import NAME, REPOSITORY

FOLDER = Path(__file__).resolve().parent
HASHED = FOLDER.parents[1] / "requirements" / "run.hashed.txt"


def build(version: str, into: Path) -> list[Path]:
    """Write the formula of the wheel that lies in ``into``, and the list beside it."""
    (wheel,) = into.glob("*.whl")
    requirements = into / f"{NAME}-{version}-requirements.txt"
    shutil.copyfile(HASHED, requirements)
    facts = {
        "REPOSITORY": REPOSITORY,
        "VERSION": version,
        "WHEEL": wheel.name,
        "WHEEL_SHA256": hashlib.sha256(wheel.read_bytes()).hexdigest(),
        "REQUIREMENTS": requirements.name,
        "REQUIREMENTS_SHA256": hashlib.sha256(requirements.read_bytes()).hexdigest(),
    }
    text = (FOLDER / f"{NAME}.rb.in").read_text(encoding="utf-8")
    for name, value in facts.items():
        text = text.replace(f"@{name}@", value)
    formula = into / f"{NAME}.rb"
    formula.write_text(text, encoding="utf-8", newline="\n")
    return [formula, requirements]
