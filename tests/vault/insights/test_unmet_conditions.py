"""Where conditions find nothing, it is said which one no note meets, and what there is instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.calls import call
from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import PathRules
from vaultwire.vault.visibility.visible_files import PrivacyRules

VAULT = """
=== A.md
---
status: active
rating: 5
tags: [work/plans]
---
=== B.md
---
Status: waiting
secret: yes
tags: [Garden, hush]
---
"""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"tags": ["gardn"]}, "No note has the tag #gardn. Similar: #Garden."),
        ({"tags": ["#wrok/plans"]}, "No note has the tag #wrok/plans. Similar: #work/plans."),
        ({"tags": ["xyz"]}, "No note has the tag #xyz."),
        ({"properties": ["stauts=active"]}, "No note has the property 'stauts'. Similar: status."),
        ({"properties": ["status=done"]}, "No note has this value. status has: active, waiting."),
        ({"properties": ["rating=4"]}, "No note has this value. rating has: 5."),
        ({"tags": ["work"], "properties": ["status=waiting"]}, ""),
        ({"properties": ["!status"]}, ""),
        ({"name": "nothing"}, ""),
    ],
)
def test_the_condition_that_no_note_meets_is_named(tmp_path: Path, arguments: dict[str, Any], said: str) -> None:
    result = call(open_vault(write_vault(tmp_path, VAULT)), "find_notes", **arguments)
    assert result.texts[0].split("\n", 1)[1:] == ([said] if said else [])


def test_what_is_private_is_not_suggested(tmp_path: Path) -> None:
    rules = PathRules(privacy=PrivacyRules(("hush",)))
    vault = open_vault(write_vault(tmp_path, VAULT), rules=rules)
    told = call(vault, "find_notes", tags=["gardn"], properties=["secrt", "status=done"]).texts[0]
    assert "Garden" not in told
    assert "secret" not in told
    assert "waiting" not in told
