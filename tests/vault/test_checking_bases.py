"""``Vault.check`` and ``Vault.check_all`` find what is wrong in bases."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.vault.links.faults import Finding

NOTES = """=== Plan.md
---
status: open
---
=== Done.md
---
status: done
---
"""


def findings(root: Path, base: str) -> list[Finding]:
    write_vault(root, NOTES)
    (root / "Work.base").write_text(base, encoding="utf-8")
    found: list[Finding] = open_vault(root).check("Work.base")[1]
    return found


@pytest.mark.parametrize(
    ("base", "kind", "line", "message"),
    [
        ("views: [a: b: c]", "broken-base", 1, "The base is not YAML: line 1"),
        ("views:\n  - type: table\n    limit: x", "base-problem", 1, "view 1: limit is a whole number, not 'x'"),
        ("filters:\n  and:\n    - status ==", "base-problem", 3, "the formula ends (character 10)"),
        ("formulas:\n  a: 1 +\n  b: 2", "base-problem", 2, "'1 +' cannot be read."),
        ("formulas:\n  b: 2\n  a: nope(1)", "base-problem", 3, "There is no function nope()."),
        ("formulas:\n  a: status.shout()", "base-problem", 2, "No value has a function shout()."),
        ("formulas:\n  a: file.nope", "base-problem", 2, "A file has no 'nope'. It has: name, "),
        ("formulas:\n  a: formula.c", "base-problem", 2, "There is no formula 'c'. There are: a."),
        ("formulas:\n  a: formula.b\n  b: formula.a", "base-problem", 2, "The formula 'a' needs itself"),
        ("filters: stauts == 1\nviews: []", "base-problem", 1, "No note has the property 'stauts'."),
        ("views:\n  - name: V\n    order:\n      - note.nope", "base-problem", 4, "names note.nope: No note has"),
        (
            "views:\n  - name: V\n    summaries:\n      status: Sumup",
            "base-problem",
            4,
            "the summary 'Sumup' of note.status",
        ),
        ("views:\n  - name: V\n    type: kanban", "base-problem", 2, "a kanban board without groupBy"),
        ("views:\n  - name: All\n  - name: V\n    filters: status == 'x'", "empty-view", 3, "'V' shows nothing"),
    ],
)
def test_what_is_wrong_in_a_base_is_named_with_its_line(
    tmp_path: Path, base: str, kind: str, line: int, message: str
) -> None:
    found = findings(tmp_path, base)
    assert [(each.kind, each.line) for each in found if message in each.message] == [(kind, line)], found


def test_a_base_without_mistakes_has_no_findings(tmp_path: Path) -> None:
    base = """filters: {or: [status == "open", 'note["status"].contains("d")']}
formulas: {a: 'list(status).map(value + index).join("-")', b: formula.a}
summaries: {longest: values.map(value.length).max()}
views:
  - {type: table, name: V, order: [file.name, status, tags, formula.b], summaries: {status: longest, formula.b: filled}}
"""
    assert findings(tmp_path, base) == []


def test_bases_are_checked_with_all_files_page_by_page(tmp_path: Path) -> None:
    write_vault(tmp_path, NOTES)
    (tmp_path / "A.base").write_text("filters: nope()")
    (tmp_path / "B.base").write_text("formulas: {a: nope()}")
    (tmp_path / "Broken.md").write_text("[[Nowhere]]\n\n```base\nfilters: nope()\n```\n")
    vault = open_vault(tmp_path)
    suspects = vault.files_to_check("")
    pages, offset = [], 0
    while True:
        found, offset, total = vault.check_all(suspects, offset, 1)
        pages.append([path for path, _ in found])
        if offset == total:
            break
    assert [path for page in pages for path in page] == ["Broken.md", "A.base", "B.base"]
    assert [(each.kind, each.line) for each in vault.check("Broken")[1]] == [
        ("unresolved-link", 1),
        ("base-problem", 4),
    ]
