"""The diffs of editors' clients: kept on disk, decided by any process, written by the client, recorded in the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vaults import open_vault, write_vault
from vaultwire.editor import Decision, Diff, Proposals
from vaultwire.vault.changes.change import Author, Change
from vaultwire.vault.errors import STALE_EDIT, VaultError
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

CLIENT = Author("claude-code", "openDiff", "5e551011")
OLD, NEW = "# Plan\none\n", "# Plan\ntwo\n"


class Bridge:
    """One process: its view of the vault, its proposals, and what its client was answered."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root, self.state = root, state
        self.vault: Vault = open_vault(root, state=state)
        self.proposals = Proposals(lambda: self.vault.holding)
        self.proposals.begin()
        self.answers: list[str | None] = []

    def propose(self, path: str = "Plan.md", new: str = NEW, outside: str = "") -> int:
        place = self.root / path
        before = place.read_bytes() if place.exists() and not outside else None
        diff = Diff(path, f"tab of {path}", before, new, outside)
        return int(
            self.proposals.propose(diff, CLIENT, self, lambda decision: self.answers.append(decision.text)).lstrip("p")
        )

    @property
    def changes(self) -> list[Change]:
        return self.vault.history.latest("", 100, None)

    def undo(self, number: int) -> None:
        self.vault.history.undo([number], "", NO_PROGRESS, dry_run=False)

    @property
    def states(self) -> list[str]:
        return [stored.state for stored in self.vault.holding.proposals.all()]


@pytest.fixture
def bridge(tmp_path: Path) -> Bridge:
    return Bridge(write_vault(tmp_path / "vault", f"=== Plan.md\n{OLD}"), tmp_path / "state")


def test_a_diff_is_kept_with_its_author_and_decided_by_another_process(bridge: Bridge) -> None:
    number = bridge.propose()
    desk = open_vault(bridge.root, state=bridge.state)
    [stored] = desk.holding.waiting()
    assert (stored.id, stored.kind, stored.author, stored.label) == (number, "diff", CLIENT, "tab of Plan.md")
    assert [(step.path, step.before, step.after) for step in stored.steps] == [("Plan.md", OLD.encode(), NEW.encode())]  # type: ignore[union-attr]
    assert desk.holding.accept(number, {}).id == 0
    assert (bridge.root / "Plan.md").read_text() == OLD  # the client writes it
    bridge.proposals.look()
    assert bridge.answers == [NEW]
    bridge.proposals.look()
    assert bridge.answers == [NEW]


def test_what_another_process_edits_or_refuses_is_answered(bridge: Bridge) -> None:
    desk = open_vault(bridge.root, state=bridge.state)
    desk.holding.accept(bridge.propose(), {0: b"# Plan\nmine\n"})
    bridge.proposals.look()
    desk.holding.refuse(bridge.propose(), "not now")
    bridge.proposals.look()
    assert bridge.answers == ["# Plan\nmine\n", None]


def test_a_note_keeps_its_line_ends_and_its_bom_and_the_client_gets_the_text_in_its_own_form(bridge: Bridge) -> None:
    (bridge.root / "Plan.md").write_bytes(b"\xef\xbb\xbf# Plan\r\none\r\n")
    number = bridge.propose()
    [step] = bridge.vault.holding.waiting()[0].steps
    assert step.after == b"\xef\xbb\xbf# Plan\r\ntwo\r\n"  # type: ignore[union-attr]
    bridge.vault.holding.accept(number, {0: b"\xef\xbb\xbf# Plan\r\nmine\r\n"})
    bridge.proposals.look()
    bridge.propose()
    assert bridge.proposals.decide("p2", Decision(NEW))
    assert bridge.answers == ["# Plan\nmine\n", NEW]


def test_an_accepted_diff_is_on_record_once_its_client_has_written_it_and_can_be_undone(bridge: Bridge) -> None:
    number = bridge.propose()
    bridge.proposals.decide("p1", Decision(NEW))
    bridge.proposals.record()
    assert bridge.changes == []
    (bridge.root / "Plan.md").write_text(NEW)
    bridge.proposals.record()
    [change] = bridge.changes
    assert (change.author, change.proposal, [file.kind for file in change.files]) == (CLIENT, number, ["edit"])
    bridge.proposals.record()
    assert len(bridge.changes) == 1
    bridge.undo(change.id)
    assert (bridge.root / "Plan.md").read_text() == OLD


def test_a_new_note_that_a_client_has_written_is_removed_by_undo(bridge: Bridge) -> None:
    bridge.propose("New.md")
    bridge.proposals.decide("p1", Decision(NEW))
    (bridge.root / "New.md").write_text(NEW)
    bridge.proposals.record()
    [change] = bridge.changes
    bridge.undo(change.id)
    assert not (bridge.root / "New.md").exists()


def test_a_diff_that_was_answered_in_the_terminal_is_withdrawn_and_on_record_if_it_was_written(bridge: Bridge) -> None:
    for written, count in (("something else\n", 0), (NEW, 1)):
        (bridge.root / "Plan.md").write_text(OLD)
        bridge.propose()
        assert bridge.proposals.withdraw(bridge, "tab of Plan.md") == 1
        (bridge.root / "Plan.md").write_text(written)
        bridge.proposals.record()
        assert len(bridge.changes) == count
    assert bridge.states == ["withdrawn", "withdrawn"]
    assert bridge.answers == [None, None]


def test_a_diff_of_a_note_that_was_changed_meanwhile_is_not_accepted(bridge: Bridge) -> None:
    bridge.propose()
    (bridge.root / "Plan.md").write_text("# Plan\nby hand\n")
    with pytest.raises(VaultError) as refused:
        bridge.proposals.decide("p1", Decision(NEW))
    assert refused.value.code == STALE_EDIT
    assert bridge.states == ["waiting"]
    assert bridge.answers == []
    assert bridge.proposals.decide("p1", Decision(None))
    assert bridge.answers == [None]


def test_two_diffs_of_one_note_stand_together(bridge: Bridge) -> None:
    bridge.propose(new="one's\n")
    bridge.propose(new="other's\n")
    assert bridge.states == ["waiting", "waiting"]
    bridge.proposals.decide("p2", Decision("other's\n"))
    assert bridge.states == ["waiting", "accepted"]
    (bridge.root / "Plan.md").write_text("other's\n")
    with pytest.raises(VaultError):  # it was made from the note as it was
        bridge.proposals.decide("p1", Decision("one's\n"))
    assert bridge.answers == ["other's\n"]


def test_what_a_killed_process_left_is_withdrawn_and_its_accepted_write_is_recorded(bridge: Bridge) -> None:
    bridge.propose("Plan.md")
    bridge.proposals.decide("p1", Decision(NEW))
    bridge.propose("Left.md")
    (bridge.root / "Plan.md").write_text(NEW)
    again = Bridge(bridge.root, bridge.state)
    assert again.states == ["accepted", "withdrawn"]
    again.proposals.record()
    assert [change.proposal for change in again.changes] == [1]


def test_a_file_that_must_not_be_read_is_proposed_without_its_content_and_never_recorded(
    bridge: Bridge, tmp_path: Path
) -> None:
    place = tmp_path / "outside.md"
    place.write_text("theirs\n")
    bridge.propose("outside.md", outside=str(place))
    [stored] = bridge.vault.holding.waiting()
    assert (stored.outside, stored.steps[0].before) == (str(place), None)  # type: ignore[union-attr]
    assert bridge.proposals.waiting[0].old is None
    bridge.proposals.decide("p1", Decision(NEW))
    (bridge.root / "outside.md").write_text(NEW)  # another file of that name, which is in the vault
    bridge.proposals.record()
    assert (bridge.answers, bridge.changes) == ([NEW], [])
