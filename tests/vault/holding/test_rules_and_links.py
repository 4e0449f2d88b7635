"""A rule for a folder that is a link also holds what is written at the place where it leads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import ReviewRule, ReviewRules
from vaultwire.vault.caller import Caller
from vaultwire.vault.holding.review_mode import Held
from vaultwire.vault.value_types import NO_PROGRESS


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize(
    ("path", "is_held"),
    [("Real/B.md", True), ("Linked/B.md", True), ("Real/New.md", True), ("real/b.md", True), ("Other/C.md", False)],
)
def test_a_rule_for_a_link_holds_at_both_paths(tmp_path: Path, path: str, is_held: bool) -> None:
    root = write_vault(tmp_path / "vault", "=== Real/B.md\nb\n=== Other/C.md\nc\n")
    (root / "Linked").symlink_to("Real")
    vault = open_vault(root, state=tmp_path / "state")
    vault._bench.review = ReviewRules([ReviewRule("hold", folders=("Linked",))])
    writing = vault.used_by(Caller("agent"), "write_note").writing
    if not is_held:
        assert writing.write(path, "x", "overwrite", None, NO_PROGRESS).changed
        return
    with pytest.raises(Held):
        writing.write(path, "x", "overwrite", None, NO_PROGRESS)
    assert (root / "Real" / "B.md").read_text() == "b\n"
    assert not (root / "Real" / "New.md").exists()


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege on Windows")
@pytest.mark.parametrize(
    ("path", "is_held"),
    [("Inbox/A.md", False), ("Inbox/Out/D.md", True), ("Free/B.md", False), ("Real/B.md", False), ("Diary/D.md", True)],
)
def test_a_link_in_a_free_folder_frees_nothing_that_lies_elsewhere(tmp_path: Path, path: str, is_held: bool) -> None:
    root = write_vault(tmp_path / "vault", "=== Inbox/A.md\na\n=== Diary/D.md\nd\n=== Real/B.md\nb\n")
    (root / "Inbox" / "Out").symlink_to("../Diary")
    (root / "Free").symlink_to("Real")
    vault = open_vault(root, state=tmp_path / "state")
    vault._bench.review = ReviewRules([ReviewRule("record", folders=("Inbox", "Free")), ReviewRule("hold")])
    writing = vault.used_by(Caller("agent"), "write_note").writing
    if is_held:
        with pytest.raises(Held):
            writing.write(path, "x", "overwrite", None, NO_PROGRESS)
    else:
        assert writing.write(path, "x", "overwrite", None, NO_PROGRESS).changed


def test_a_folder_of_attachments_is_as_large_as_one_of_notes(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== A.md\na\n")
    (root / "Pictures").mkdir()
    for number in range(4):
        (root / "Pictures" / f"{number}.png").write_bytes(b"x")
    vault = open_vault(root, state=tmp_path / "state")
    vault._bench.review = ReviewRules([ReviewRule("hold", above_notes=3)])
    with pytest.raises(Held):
        vault.used_by(Caller("agent"), "move_notes").arranging.move("Pictures", "Photos", NO_PROGRESS, dry_run=False)
