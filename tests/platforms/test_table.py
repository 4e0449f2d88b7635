"""The table of the systems (``docs/windows-and-cloud.md``): what it names as code and as tests exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "windows-and-cloud.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and line.count(" | ") >= 5]


def test_every_row_says_by_what_it_is_shown() -> None:
    assert len(ROWS) > 40
    for row in ROWS:
        shown = row.removesuffix(" |").rpartition(" | ")[2]
        assert re.search(r"`[\w/]+(\.py|/)|\bno\b|^shown by$|^---$|the same test", shown), row


def test_every_test_and_module_of_the_table_exists() -> None:
    for name, test in re.findall(r"`((?:[\w]+/)+\w*(?:\.py)?)(?:::(\w+))?`", PAGE):
        places = [ROOT / "src" / "vaultwire" / name, ROOT / "tests" / name, ROOT / name]
        found = [place for place in places if place.exists()]
        assert found, name
        if test:
            assert any(f"def {test}(" in place.read_text(encoding="utf-8") for place in found), test
