"""The side pane of the companion plugin: in a run that is read-only, and while notes change under it."""

from __future__ import annotations

from pathlib import Path

from support.vaults import open_vault, write_vault
from vaultwire.desk.api import DeskVaults
from vaultwire.desk.plugin_endpoint import PluginReview
from vaultwire.vault.caller import Caller
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath


def test_a_read_only_pane_shows_and_keeps_and_changes_no_note(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== Plan.md\none\n")
    vault = open_vault(root, state=tmp_path / "state")
    vault.used_by(Caller("claude"), "write_note").writing.write("Plan.md", "two\n", "overwrite", None, NO_PROGRESS)
    pane = PluginReview(DeskVaults({"": lambda: vault}, read_only=True))
    assert len(pane.items()["items"]) == 1
    refused = pane.answer({"type": "decide", "id": "c1", "action": "undo"})
    assert refused is not None
    assert refused["error"]
    assert "read-only" in refused["message"]
    assert (root / "Plan.md").read_text() == "two\n"
    kept = pane.answer({"type": "decide", "id": "c1", "action": "keep"})
    assert kept is not None
    assert not kept["error"]


def test_a_part_is_accepted_of_what_was_shown_and_of_nothing_else(tmp_path: Path) -> None:
    lines = [f"line {number}\n" for number in range(20)]
    root = write_vault(tmp_path / "vault", f"=== Plan.md\n{''.join(lines)}")
    vault = open_vault(root, state=tmp_path / "state")
    proposed = "".join(lines).replace("line 3\n", "LINE 3\n").replace("line 16\n", "LINE 16\n").encode()
    step = Write(VaultPath("Plan.md"), (root / "Plan.md").read_bytes(), proposed)
    vault.holding.proposals.add("write", Author("claude", "edit_note", "s1"), [step], label="a wish")
    pane = PluginReview(DeskVaults({"": lambda: vault}))
    accept_first = {"type": "decide", "id": "p1", "action": "accept", "file": 0, "hunk": 0}

    pane.answer({"type": "show", "id": "p1"})
    # The first hunk that was shown is in the note already: now the other one would be the first.
    (root / "Plan.md").write_text("".join(lines).replace("line 3\n", "LINE 3\n"))
    refused = pane.answer(accept_first)
    assert refused is not None
    assert "was changed while you looked" in refused["message"]
    assert "line 16\n" in (root / "Plan.md").read_text()

    pane.answer({"type": "show", "id": "p1"})
    accepted = pane.answer(accept_first)
    assert accepted is not None
    assert not accepted["error"]
    assert (root / "Plan.md").read_bytes() == proposed
