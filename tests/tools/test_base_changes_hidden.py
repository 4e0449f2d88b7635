"""What changes by a base never reaches a note that policy hides."""

from __future__ import annotations

import json
from pathlib import Path

from support.calls import attempt, call
from support.vaults import open_vault, write_vault
from vaultwire.toolkit.registry import Failure
from vaultwire.trust.policy_rules import PathRules, Rule

VAULT = """=== Books/Dune.md
---
status: read
---
=== Secret/Diary.md
---
status: read
---
=== All.base
filters: status == "read"
views: [{type: table, name: All}]
=== Hidden.base
filters: file.inFolder("Secret")
views: [{type: table, name: All}]
"""
RULES = PathRules(deny=(Rule("deny", "Secret/", 1),))


def test_a_hidden_note_keeps_its_properties_and_is_not_named(tmp_path: Path) -> None:
    write_vault(tmp_path, VAULT)
    diary = (tmp_path / "Secret" / "Diary.md").read_bytes()
    outcome = call(open_vault(tmp_path, rules=RULES), "set_properties_in_view", base="All", set={"seen": True})
    assert "seen: true" in (tmp_path / "Books" / "Dune.md").read_text()
    assert (tmp_path / "Secret" / "Diary.md").read_bytes() == diary
    assert "Diary" not in json.dumps([outcome.data, outcome.texts])


def test_no_note_is_made_in_a_hidden_folder(tmp_path: Path) -> None:
    write_vault(tmp_path, VAULT)
    before = sorted(tmp_path.rglob("*"))
    outcome = attempt(open_vault(tmp_path, rules=RULES), "create_note_in_view", base="Hidden", name="Diary")
    assert isinstance(outcome, Failure), outcome
    assert sorted(tmp_path.rglob("*")) == before
