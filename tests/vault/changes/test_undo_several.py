"""Undoing several changes as one: all of them or none, one undo for all, and a refusal that says what to leave out."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from support.killing import tree
from support.refusals import refusal, refused
from support.vaults import open_vault, write_vault
from vaultwire.vault.changes.change import Change
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.editing.history import Undone
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOT_READ, UNDO_CONFLICT, Stopped, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, Confirmation, NoProgress
from vaultwire.vault.vault import Vault

VAULT = """
=== A.md
one
two
three
four
five
=== B.md
b
=== Folder/C.md
see [[A]]
"""


class Desk:
    """A vault, and short words for what is done to it."""

    def __init__(self, place: Path) -> None:
        self.root = write_vault(place / "vault", VAULT)
        self.vault: Vault = open_vault(self.root, state=place / "state")

    def undo(self, *numbers: int, since: str = "", dry_run: bool = False) -> Undone:
        return self.vault.history.undo(numbers, since, NO_PROGRESS, dry_run=dry_run)

    def replace(self, name: str, old: str, new: str) -> int:
        text = (self.root / name).read_text()
        assert old in text
        return number_of(self.vault.writing.write(name, text.replace(old, new), "overwrite").done.change)

    def move(self, name: str, to: str) -> int:
        return number_of(self.vault.arranging.move(name, to, NO_PROGRESS, dry_run=False)[1].change)

    def create(self, name: str, text: str) -> int:
        return number_of(self.vault.writing.write(name, text, "create").done.change)

    def delete(self, name: str) -> int:
        return number_of(self.vault.writing.delete(name, permanent=False).done.change)


def number_of(change: Change | None) -> int:
    assert change is not None
    return change.id


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_changes_are_undone_as_one_and_that_one_too(desk: Desk) -> None:
    start = tree(desk.root)
    numbers = [
        desk.replace("A.md", "two", "2"),
        desk.move("A", "Folder/A2"),
        desk.replace("Folder/A2.md", "2", "second"),
        desk.create("New/deep/N", "n"),
        desk.delete("B"),
    ]
    after = tree(desk.root)
    dry = desk.undo(*numbers, dry_run=True)
    assert (tree(desk.root), dry.done.change) == (after, None)
    undone = desk.undo(*numbers)
    assert tree(desk.root) == start
    assert [change.id for change in undone.changes] == numbers[::-1]
    one = number_of(undone.done.change)
    assert one == numbers[-1] + 1
    listed = desk.vault.history.latest("", 100, None)
    assert listed[0].undoes == tuple(numbers[::-1])
    assert {change.undone_by for change in listed[1:]} == {one}
    assert refused(desk.undo, numbers[0]) == UNDO_CONFLICT
    desk.undo(one)
    assert tree(desk.root) == after
    desk.undo(numbers[-1], numbers[-2])  # now they hold again
    assert (desk.root / "B.md").exists()
    assert not (desk.root / "New").exists()


def test_a_conflict_keeps_all_and_says_what_to_leave_out(desk: Desk) -> None:
    first = desk.replace("A.md", "one", "1")
    second = desk.replace("B.md", "b", "bb")
    third = desk.replace("A.md", "five", "5")
    text = (desk.root / "A.md").read_text()
    (desk.root / "A.md").write_text(text.replace("5", "the person's"))
    before = tree(desk.root)
    error = refusal(desk.undo, first, second, third)
    assert (error.code, error.details["conflicts"], error.details["possible"]) == (
        UNDO_CONFLICT,
        [third],
        [second, first],
    )
    assert f"change {third}" in error.message
    assert str([second, first]) in error.message
    assert tree(desk.root) == before
    desk.undo(*error.details["possible"])
    assert (desk.root / "A.md").read_text() == "one\ntwo\nthree\nfour\nthe person's\n"
    assert (desk.root / "B.md").read_text() == "b\n"


def test_what_lies_on_a_change_that_stays_stays_too(desk: Desk) -> None:
    first = desk.replace("A.md", "two", "2")
    second = desk.replace("A.md", "2", "second")
    other = desk.replace("B.md", "b", "bb")
    error = refusal(desk.undo, first, other)
    assert (error.details["conflicts"], error.details["possible"], error.details["changes"]) == (
        [first],
        [other],
        [second],
    )
    desk.undo(first, second)
    assert "two" in (desk.root / "A.md").read_text()


def test_since_a_time_undoes_what_holds_and_nothing_before(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    old = desk.replace("B.md", "b", "old")
    before = tree(desk.root)
    kept = desk.vault.history.latest("", 1, None)[0]
    monkeypatch.setattr("time.time_ns", lambda: kept.time_ns + 3 * 3600 * 10**9)
    since = (datetime.fromtimestamp(kept.time_ns / 1e9, UTC) + timedelta(hours=2)).isoformat(timespec="seconds")
    gone = desk.replace("A.md", "two", "2")
    undo = number_of(desk.undo(gone).done.change)
    held = desk.replace("A.md", "three", "3")
    listed = desk.vault.history.latest("", 100, None, since)
    assert [change.id for change in listed] == [held, undo, gone]
    undone = desk.undo(since=since)
    assert [change.id for change in undone.changes] == [held]
    assert tree(desk.root) == before
    assert desk.undo(since=since).changes == []
    assert old not in [change.id for change in listed]


def test_an_undo_since_a_time_of_an_older_change_is_undone_as_well(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    old = desk.replace("B.md", "b", "old")
    made = desk.vault.history.latest("", 1, None)[0].time_ns
    after_old = tree(desk.root)
    monkeypatch.setattr("time.time_ns", lambda: made + 3 * 3600 * 10**9)
    since = (datetime.fromtimestamp(made / 1e9, UTC) + timedelta(hours=2)).isoformat(timespec="seconds")
    new = desk.replace("A.md", "two", "2")
    both = number_of(desk.undo(old, new).done.change)
    undone = desk.undo(since=since)
    assert [change.id for change in undone.changes] == [both, new]
    assert tree(desk.root) == after_old


@pytest.mark.parametrize(
    ("numbers", "since", "code"),
    [
        ([], "", INVALID_ARGUMENTS),
        ([1], "1h", INVALID_ARGUMENTS),
        ([], "an hour ago", INVALID_ARGUMENTS),
        ([1, 9], "", FILE_NOT_FOUND),
    ],
)
def test_what_is_no_selection_is_refused(desk: Desk, numbers: list[int], since: str, code: str) -> None:
    desk.replace("A.md", "two", "2")
    assert refused(desk.undo, *numbers, since=since) == code


def test_a_change_of_which_nothing_is_left_is_told_and_not_counted(desk: Desk) -> None:
    first = desk.replace("B.md", "b", "bb")
    second = desk.replace("A.md", "two", "2")
    (desk.root / "B.md").write_text("b\n")
    undone = desk.undo(first, second)
    assert [change.id for change in undone.changes] == [second]
    assert [notice for notice in undone.done.notices if f"change {first} " in notice]


def test_the_journal_is_read_once_for_all_changes(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [desk.replace("A.md", "two", f"two {step}") for step in range(30)]
    read: list[str] = []
    whole = Changes._all

    def counted(self: Changes) -> Any:
        read.append("all")
        return whole(self)

    monkeypatch.setattr(Changes, "_all", counted)
    desk.undo(*numbers)
    assert (desk.root / "A.md").read_text() == "one\ntwo\nthree\nfour\nfive\n"
    assert len(read) == 1


# ---------------------------------------------------------------------- anything

NAMES = ["A", "B", "Folder/C", "N", "Folder/N", "Made/N", "Made/deep/M"]
ACTS = st.lists(
    st.tuples(
        st.sampled_from(["create", "append", "replace", "delete", "move"]), st.integers(0, 99), st.integers(0, 99)
    ),
    max_size=9,
)


@hypothesis.settings(max_examples=40 if hypothesis.settings().max_examples < 1000 else 3000, deadline=None)
@hypothesis.given(acts=ACTS, picked=st.integers(0, 511))
def test_undoing_any_changes_at_once_is_undoing_them_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, int, int]], picked: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        at_once, one_by_one = (Desk(tmp_path_factory.mktemp("several")) for _ in range(2))
        numbers = [number for act in acts if (number := done(at_once, *act))]
        same = [number for act in acts if (number := done(one_by_one, *act))]
        assert numbers == same
        wanted = [number for place, number in enumerate(numbers) if picked >> place & 1]
        hypothesis.assume(wanted)
        before = tree(at_once.root)
        undone = 0
        try:
            for number in sorted(wanted, reverse=True):
                try:
                    one_by_one.undo(number)
                    undone += 1
                except VaultError as error:
                    if "Nothing is left" not in error.message:
                        raise
        except VaultError:
            undone = 0
        if not undone:
            assert refused(at_once.undo, *wanted) == UNDO_CONFLICT
            assert tree(at_once.root) == before
            return
        at_once.undo(*wanted)
        left, left_one_by_one = tree(at_once.root), tree(one_by_one.root)
        assert files_of(left) == files_of(left_one_by_one)
        # One by one, a folder may become empty by another undo than that of the change which made it, and stays.
        assert left.keys() <= left_one_by_one.keys()
        if left != before:  # else they cancelled each other out, and nothing was changed
            at_once.undo(max(numbers) + 1)
        # A folder that an undo left empty is gone, and the undo of that does not bring an empty one back.
        assert files_of(tree(at_once.root)) == files_of(before)


def files_of(whole: dict[str, bytes | None]) -> dict[str, bytes]:
    return {path: data for path, data in whole.items() if data is not None}


def done(desk: Desk, kind: str, one: int, other: int) -> int:
    """Do something in the vault as it is; 0 if there is nothing to do it to."""
    there = sorted(
        path.relative_to(desk.root).as_posix() for path in desk.root.rglob("*.md") if ".trash" not in path.parts
    )
    new = NAMES[other % len(NAMES)]
    if kind == "create":
        return (
            0
            if f"{new}.md" in there
            else number_of(desk.vault.writing.write(f"./{new}.md", f"{one}\nx\ny\n", "create").done.change)
        )
    if not there:
        return 0
    name = there[one % len(there)]
    if kind == "append":
        return number_of(desk.vault.writing.write(name, f"more {other}\n", "append").done.change)
    if kind == "replace":
        return number_of(desk.vault.writing.write(name, f"{other}\n", "overwrite").done.change)
    if kind == "delete":
        return desk.delete(name)
    new = new if "/" in new else f"Other/{new}"
    return 0 if f"{new}.md" in there else desk.move(name, f"{new}.md")


def test_a_caller_that_goes_away_leaves_all_as_it_was(desk: Desk) -> None:
    numbers = [desk.replace("A.md", "two", f"two {step}") for step in range(5)]
    before = tree(desk.root)

    class Gone(NoProgress):
        asked = 0

        def check(self) -> None:
            self.asked += 1
            if self.asked > 3:
                raise Stopped

    with pytest.raises(Stopped):
        desk.vault.history.undo(numbers, "", Gone(), dry_run=False)
    assert tree(desk.root) == before


def test_all_edited_notes_must_be_read_and_a_person_is_asked_once_for_many(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.replace("A.md", "two", "2")
    desk.replace("B.md", "b", "bb")
    careful = open_vault(desk.root, state=tmp_path / "state", read_first=True)
    careful.read("A")
    assert refused(careful.history.undo, [1, 2], "", NO_PROGRESS, dry_run=False) == NOT_READ
    numbers = [desk.create(f"New/{number}.md", "n") for number in range(30)]
    asked: list[str] = []

    class Asking(NoProgress):
        def confirm(self, question: Confirmation) -> None:
            asked.append(question.message)

    desk.vault.history.undo(numbers, "", Asking(), dry_run=False)
    assert ["30 notes" in question for question in asked] == [True]
    assert not (desk.root / "New").exists()
