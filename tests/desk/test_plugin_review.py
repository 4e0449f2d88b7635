"""The side pane of the companion plugin in a run that is read-only."""

from __future__ import annotations

from pathlib import Path

from support.vaults import open_vault, write_vault
from vaultwire.desk.plugin_endpoint import PluginReview
from vaultwire.review.reviewer import Reviewer
from vaultwire.vault.caller import Caller
from vaultwire.vault.value_types import NO_PROGRESS


def test_a_read_only_pane_shows_and_keeps_and_changes_no_note(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== Plan.md\none\n")
    vault = open_vault(root, state=tmp_path / "state")
    vault.used_by(Caller("claude"), "write_note").writing.write("Plan.md", "two\n", "overwrite", None, NO_PROGRESS)
    person = Caller("you")
    person.is_person = True
    reviewer = Reviewer(vault.used_by(person, "desk"))
    pane = PluginReview(lambda: reviewer, read_only=True)
    assert len(pane.items()["items"]) == 1
    refused = pane.answer({"type": "decide", "id": "c1", "action": "undo"})
    assert refused is not None
    assert refused["error"]
    assert "read-only" in refused["message"]
    assert (root / "Plan.md").read_text() == "two\n"
    kept = pane.answer({"type": "decide", "id": "c1", "action": "keep"})
    assert kept is not None
    assert not kept["error"]
