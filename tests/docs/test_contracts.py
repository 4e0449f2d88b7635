"""``docs/contracts.md``: every line of every contract has a test that is there, or says why it has none."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    (number, *(cell.strip() for cell in line.strip("|").split("|")))
    for number, line in enumerate((ROOT / "docs/contracts.md").read_text(encoding="utf-8").split("\n"), 1)
    if line.startswith("| ") and not line.startswith("| Line ")
]
_TEST = re.compile(r"`([\w/]+\.py)::(\w+)`")


@pytest.mark.parametrize(("number", "line", "proof"), ROWS, ids=[f"line {row[0]}" for row in ROWS])
def test_a_line_has_its_tests_or_a_reason(number: int, line: str, proof: str) -> None:
    assert line, number
    for file, name in _TEST.findall(proof):
        tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{file} has no {name}"
    reason = _TEST.sub("", proof).strip(" ,.")
    assert _TEST.search(proof) or len(reason.split()) > 5, "neither a test nor a reason"


def test_the_page_has_all_five_contracts() -> None:
    assert len(re.findall(r"^## ", (ROOT / "docs/contracts.md").read_text(encoding="utf-8"), re.MULTILINE)) == 5
    assert len(ROWS) > 60
