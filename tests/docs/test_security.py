"""``docs/safety.md``: every threat names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8").partition("## Threats and tests")[2]
# A row of three cells that is no head: threat, what holds, test.
ROWS = [
    (threat, proof)
    for threat, _, proof in re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
    if threat != "threat"
]
_NAMED = re.compile(r"`((?:\w+/)*)(\w+\.py|)(?:::(\w+))?`")


def test_a_threat_names_tests_that_are_there() -> None:
    for threat, proof in ROWS:
        named = _NAMED.findall(proof)
        assert named or "](" in proof or "`make " in proof, threat
        folder = ""
        for its_folder, file, test in named:
            folder = its_folder or folder  # several of one folder: only the first has it
            path = ROOT / "tests" / folder / file
            assert path.exists(), f"{threat}: {folder}{file}"
            assert not test or f"def {test}(" in path.read_text(encoding="utf-8"), f"{threat}: {file} has no {test}"


def test_the_page_has_its_threats() -> None:
    assert len(ROWS) > 30
