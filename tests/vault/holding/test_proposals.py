"""Proposals and decisions on the disk."""

from __future__ import annotations

from pathlib import Path

from vaultwire.vault.changes.change import Author, Move, Write
from vaultwire.vault.holding.decisions import Decision, DecisionLog
from vaultwire.vault.holding.proposals import ProposalStore
from vaultwire.vault.value_types import VaultPath

AUTHOR = Author("someone", "edit_note", "5e55")
STEPS = (
    Write(VaultPath("Plan.md"), b"old\n", b"new\n"),
    Write(VaultPath("New.md"), None, b"\xff\x00"),
    Move(VaultPath("A.md"), VaultPath("B.md")),
)


def test_another_process_finds_a_proposal_with_every_byte(tmp_path: Path) -> None:
    made = ProposalStore(str(tmp_path)).add("write", AUTHOR, STEPS, label="a label")
    (found,) = ProposalStore(str(tmp_path)).all()
    assert (found.id, found.author, found.label, found.state) == (made.id, AUTHOR, "a label", "waiting")
    assert found.steps == STEPS
    assert [step.after for step in found.steps if isinstance(step, Write)] == [b"new\n", b"\xff\x00"]


def test_a_proposal_is_decided_once(tmp_path: Path) -> None:
    one, other = ProposalStore(str(tmp_path)), ProposalStore(str(tmp_path))
    number = one.add("write", AUTHOR, STEPS).id
    before = one.stamp()
    assert other.decide(number, "refused", reason="not now")
    assert not one.decide(number, "accepted", change=3)
    assert one.stamp() != before
    found = one.get(number)
    assert found is not None
    assert (found.state, found.reason, found.change) == ("refused", "not now", None)


def test_decisions_come_in_their_order_and_a_torn_line_hides_no_other(tmp_path: Path) -> None:
    log = DecisionLog(str(tmp_path))
    log.add(Decision("kept", change=1), Decision("undone", "5e55", "someone", change=2, by=3, text="undone"))
    _, position = log.since(0)
    with open(tmp_path / "decisions.jsonl", "ab") as file:
        file.write(b'{"kind": "ke')
    log.add(Decision("refused", proposal=7))
    assert [each.kind for each in log.all()] == ["kept", "undone", "refused"]
    assert [each.proposal for each in log.since(position)[0]] == [7]
