"""The configuration for ``winget configure``, which installs uv, and with it the wheel of the release."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from vaultwire.distribution import NAME, REPOSITORY

FOLDER = Path(__file__).resolve().parent


def build(version: str, into: Path) -> list[Path]:
    """Write the configuration for the wheel that lies in ``into``."""
    (wheel,) = into.glob("*.whl")
    path = into / f"{NAME}-{version}.winget"
    facts = {
        "FILE": path.name,
        "REPOSITORY": REPOSITORY,
        "VERSION": version,
        "VERSION_PATTERN": re.escape(version),
        "WHEEL": wheel.name,
        "WHEEL_SHA256": hashlib.sha256(wheel.read_bytes()).hexdigest().upper(),
    }
    text = (FOLDER / f"{NAME}.winget.in").read_text(encoding="utf-8")
    for name, value in facts.items():
        text = text.replace(f"@{name}@", value)
    path.write_text(text, encoding="utf-8", newline="\n")
    return [path]
