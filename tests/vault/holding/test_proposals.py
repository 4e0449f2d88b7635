"""Proposals and decisions on the disk."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import statements_of_journals
from support.vaults import open_vault, write_vault
from vaultwire.vault.changes.change import Author, Move, Write, edit_of
from vaultwire.vault.changes.journal import Retention
from vaultwire.vault.changes.record_store import SqliteRecords
from vaultwire.vault.disk import file_operations
from vaultwire.vault.errors import TOO_MANY_WAITING, VaultError
from vaultwire.vault.holding.proposals import Decision, DecisionLog, ProposalStore, Room
from vaultwire.vault.value_types import VaultPath

AUTHOR = Author("someone", "edit_note", "5e55")
STEPS = (
    Write(VaultPath("Plan.md"), b"old\n", b"new\n"),
    Write(VaultPath("New.md"), None, b"\xff\x00"),
    Move(VaultPath("A.md"), VaultPath("B.md")),
)


def damage(folder: Path, sql: str) -> None:
    """Change the rows of the journal below a folder, as no program of ours does."""
    (path,) = folder.rglob("journal.sqlite3")
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute(sql).rowcount > 0


def test_another_process_finds_a_proposal_with_every_byte(tmp_path: Path) -> None:
    made = ProposalStore(SqliteRecords(str(tmp_path))).add("write", AUTHOR, STEPS, label="a label")
    (found,) = ProposalStore(SqliteRecords(str(tmp_path))).all()
    assert (found.id, found.author, found.label, found.state) == (made.id, AUTHOR, "a label", "waiting")
    assert found.steps == STEPS
    assert [step.after for step in found.steps if isinstance(step, Write)] == [b"new\n", b"\xff\x00"]


def test_a_proposal_is_decided_once(tmp_path: Path) -> None:
    one, other = ProposalStore(SqliteRecords(str(tmp_path))), ProposalStore(SqliteRecords(str(tmp_path)))
    number = one.add("write", AUTHOR, STEPS).id
    before = one.stamp()
    assert other.decide(number, "refused", reason="not now")
    assert not one.decide(number, "accepted", change=3)
    assert one.stamp() != before
    found = one.get(number)
    assert found is not None
    assert (found.state, found.reason, found.change) == ("refused", "not now", None)


def test_decisions_come_in_their_order_and_a_damaged_one_hides_no_other(tmp_path: Path) -> None:
    log = DecisionLog(SqliteRecords(str(tmp_path)))
    log.add(Decision("kept", change=1), Decision("undone", "5e55", "someone", change=2, by=3, text="undone"))
    _, position = log.since(0)
    log.add(Decision("kept", change=9))
    damage(tmp_path, "UPDATE decisions SET fields = substr(fields, 1, 9) WHERE id = 3")
    log.add(Decision("refused", proposal=7))
    assert [each.kind for each in log.all()] == ["kept", "undone", "refused"]
    assert [each.proposal for each in log.since(position)[0]] == [7]


def test_an_edit_that_reads_its_note_is_wholly_in_the_proposal(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path / "vault", "=== Long.md\n" + "line\n" * 2000), state=tmp_path / "state")
    files = vault.holding._files
    assert files is not None
    path = VaultPath("Long.md")
    data = files.read(path).data
    made = vault.holding.hold("write", AUTHOR, [edit_of(files, path, data, data + b"more\n")])
    (tmp_path / "vault/Long.md").unlink()
    (step,) = made.steps
    assert isinstance(step, Write)
    assert (step.before, step.after) == (data, data + b"more\n")


def test_a_damaged_proposal_is_said_and_hides_no_other(tmp_path: Path) -> None:
    store = ProposalStore(SqliteRecords(str(tmp_path)))
    numbers = [store.add("write", AUTHOR, STEPS).id for _ in range(3)]
    damage(tmp_path, "UPDATE steps SET facts = replace(facts, 'Plan', 'Plot') WHERE owner = 'p2'")
    again = ProposalStore(SqliteRecords(str(tmp_path)))
    assert [each.id for each in again.all()] == [numbers[0], numbers[2]]
    assert again.unreadable() == [2]
    assert again.add("write", AUTHOR, STEPS).id == 4
    assert again.unreadable() == [2]


def test_a_damaged_decision_lets_nothing_be_written(tmp_path: Path) -> None:
    store = ProposalStore(SqliteRecords(str(tmp_path)))
    number = store.add("write", AUTHOR, STEPS).id
    store.decide(number, "refused")
    damage(tmp_path, "UPDATE proposals SET state = 'waitinh', decision = ''")
    (found,) = ProposalStore(SqliteRecords(str(tmp_path))).all()
    assert found.state == "refused"
    assert not ProposalStore(SqliteRecords(str(tmp_path))).decide(number, "accepted")


def test_a_file_system_without_hard_links_and_exchange_keeps_proposals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    monkeypatch.setattr(file_operations, "system_rename", lambda: None)
    one, other = ProposalStore(SqliteRecords(str(tmp_path))), ProposalStore(SqliteRecords(str(tmp_path)))
    assert [store.add("write", AUTHOR, STEPS).id for store in (one, other, one)] == [1, 2, 3]
    assert [store.decide(2, "refused") for store in (one, other)] == [True, False]


def test_old_decided_proposals_go_and_waiting_ones_never_do(tmp_path: Path) -> None:
    store = ProposalStore(SqliteRecords(str(tmp_path)), Retention(days=-1))
    for _ in range(4):
        store.add("write", AUTHOR, STEPS)
    for number in (1, 2, 4):
        store.decide(number, "refused")
    later = ProposalStore(SqliteRecords(str(tmp_path)), Retention(days=-1))
    assert later.add("write", AUTHOR, STEPS).id == 5
    assert [(each.id, each.state) for each in later.all()] == [(3, "waiting"), (5, "waiting")]
    assert [each.id for each in store.all()] == [3, 5]
    records = SqliteRecords(str(tmp_path))
    for table in ("steps", "contents"):
        assert records.rows(f"SELECT DISTINCT owner FROM {table} ORDER BY owner") == [("p3",), ("p5",)]
    later.decide(5, "refused")
    assert later.add("write", AUTHOR, STEPS).id == 6  # no number comes twice


def test_decided_proposals_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ProposalStore(SqliteRecords(str(tmp_path)))
    for _ in range(20):
        store.decide(store.add("write", AUTHOR, STEPS).id, "refused")
    statements: list[str] = []
    monkeypatch.setattr(sqlite3, "connect", statements_of_journals.connect)
    monkeypatch.setattr(statements_of_journals, "before", statements.append)
    again = ProposalStore(SqliteRecords(str(tmp_path)))
    assert len(again.all()) == 20
    assert sum("FROM steps" in each for each in statements) == 20
    assert len(again.all()) == 20
    assert sum("FROM steps" in each for each in statements) == 20


def test_a_proposal_that_was_executed_and_not_decided_is_found_as_accepted(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== Plan.md\nold\n")
    holding = open_vault(root, state=tmp_path / "state").holding
    number = holding.hold("write", AUTHOR, STEPS[:1]).id
    change = holding.accept(number)
    # As if the process had been killed before it was written.
    damage(tmp_path, "UPDATE proposals SET state = 'waiting', decided_ns = 0, decision = ''")
    later = open_vault(root, state=tmp_path / "state").holding
    assert [(each.state, each.change) for each in later.proposals.all()] == [("accepted", change.id)]
    assert later.waiting() == []
    with pytest.raises(VaultError, match="accepted already"):
        later.refuse(number)
    (decided,) = later.proposals.all()
    assert decided.decided_ns > 0


def test_what_the_person_decided_is_logged_for_the_agent(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== Plan.md\nold\n")
    holding = open_vault(root, state=tmp_path / "state").holding
    one, two = (holding.hold("write", AUTHOR, STEPS[:1]).id for _ in range(2))
    holding.refuse(one, "not\nnow")
    holding.accept(two, {0: b"newer\n"})
    assert (root / "Plan.md").read_bytes() == b"newer\n"
    refused, edited = holding.decisions.all()
    assert (refused.kind, refused.session, refused.client, refused.proposal) == ("refused", "5e55", "someone", one)
    assert "'not now'" in refused.text
    assert "Do not write it again" in refused.text
    assert edited.kind == "edited"
    assert "-new\n+newer\n" in edited.text
    assert holding.proposals.all()[1].is_edited


def test_a_stale_proposal_changes_nothing_and_goes_on_waiting(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== Plan.md\nold\n")
    holding = open_vault(root, state=tmp_path / "state").holding
    number = holding.hold("write", AUTHOR, STEPS[:1]).id
    (root / "Plan.md").write_text("other\n")
    with pytest.raises(VaultError) as error:
        holding.accept(number)
    assert error.value.code == "STALE_EDIT"
    assert (root / "Plan.md").read_text() == "other\n"
    assert [each.id for each in holding.waiting()] == [number]


_step = st.one_of(
    st.tuples(st.sampled_from("abc"), st.integers(0, 4_000)),  # a client, and the bytes that it would write
    st.integers(1, 12),  # the number of a proposal that is decided
)


@given(st.lists(_step, max_size=25))
def test_no_client_and_not_all_of_them_have_more_waiting_than_they_may(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int] | int]
) -> None:
    of_client, of_all = Room(4, 10_000), Room(9, 22_000)
    store = ProposalStore(SqliteRecords(str(tmp_path_factory.mktemp("proposals"))), of_client=of_client, of_all=of_all)
    sizes: dict[int, tuple[str, int]] = {}
    for step in steps:
        if isinstance(step, int):
            if store.decide(step, "refused"):
                sizes.pop(step)
            continue
        client, size = step
        own = [each for who, each in sizes.values() if who == client]
        together = [each for _, each in sizes.values()]
        writes = [Write(VaultPath("N.md"), None, Random(size).randbytes(size))]  # nothing that can be made smaller
        refusal = ""
        try:
            sizes[store.add("write", Author(client, "t"), writes).id] = (client, size)
        except VaultError as error:
            refusal = error.code
        both = ((own, of_client), (together, of_all))
        if any(len(used) >= room.number or sum(used) + size > room.size for used, room in both):
            assert refusal == TOO_MANY_WAITING
        # Beside the bytes, a proposal has its rows: less than 1 KB each.
        if all(len(used) < room.number and sum(used) + size <= room.size - 1000 * len(used) for used, room in both):
            assert refusal == ""
