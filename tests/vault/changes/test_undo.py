"""Taking changes back among later ones, and bringing back what was deleted: never over anything, never a guess."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from support.killing import open_changes, tree
from support.refusals import refusal, refused
from support.vaults import open_vault, write_vault
from vaultwire.vault.changes.change import UNKNOWN, Change, Move, Step, Write, follow
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.undo import plan_restore, plan_undo_all
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOTE_EXISTS, PERMISSION_DENIED, UNDO_CONFLICT
from vaultwire.vault.value_types import VaultPath
from vaultwire.vault.vault import Vault

TEN_LINES = "".join(f"line {number}\n" for number in range(1, 11))
VAULT = f"""
=== A.md
{TEN_LINES}=== Folder/B.md
b
=== Folder/deep/C.md
c
"""


def path(text: str) -> VaultPath:
    return VaultPath(text)


class Desk:
    """A vault and its changes, at hand."""

    def __init__(self, place: Path, literal: str = VAULT) -> None:
        self.root = write_vault(place / "vault", literal)
        self.state = place / "state"
        self.files: Files
        self.changes: Changes
        self.files, self.changes = open_changes(self.root, self.state)

    @cached_property
    def vault(self) -> Vault:
        """The same vault as another program has it open."""
        return open_vault(self.root, state=self.state)

    def do(self, *steps: Step) -> Change:
        with self.changes.locked():
            return self.changes.execute(steps, UNKNOWN)

    def edit(self, name: str, old: bytes, new: bytes) -> Change:
        before = (self.root / name).read_bytes()
        assert old in before
        return self.do(Write(path(name), before, before.replace(old, new)))

    def undo(self, number: int) -> Change:
        with self.changes.locked():
            return self.changes.execute(
                plan_undo_all(self.changes, self.files, [number]).steps, UNKNOWN, undoes=(number,)
            )

    def restore(self, **what: Any) -> Change:
        with self.changes.locked():
            return self.changes.execute(plan_restore(self.changes, self.files, **what), UNKNOWN)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_each_kind_of_change_is_taken_back_and_that_too(desk: Desk) -> None:
    states = [tree(desk.root)]
    desk.do(Write(path("New/deep/N.md"), None, b"n"))
    desk.do(Write(path("A.md"), TEN_LINES.encode(), b"short"), Move(path("Folder"), path("Other")))
    desk.vault.writing.delete("A", permanent=False)
    desk.vault.writing.delete("Other/B.md", permanent=True)
    for number in (4, 3, 2, 1):
        states.append(tree(desk.root))
        desk.undo(number)
    assert tree(desk.root) == states[0]
    for number, state in zip((8, 7, 6, 5), reversed(states[1:]), strict=True):
        undone = desk.undo(number)
        assert undone.undoes == (number,)
        assert tree(desk.root) == state


def test_a_change_is_taken_back_once(desk: Desk) -> None:
    first = desk.do(Write(path("A.md"), TEN_LINES.encode(), b"x"))
    second = desk.undo(first.id)
    assert desk.changes.show(first.id).change.undone_by == second.id
    error = refusal(desk.undo, first.id)
    assert (error.code, error.details["changes"]) == (UNDO_CONFLICT, [second.id])
    desk.undo(second.id)  # now it holds again, so it can be undone again
    assert desk.changes.show(first.id).change.undone_by is None
    desk.undo(first.id)
    assert (desk.root / "A.md").read_text() == TEN_LINES


def test_what_is_not_on_record_cannot_be_taken_back(desk: Desk) -> None:
    assert refused(desk.undo, 1) == FILE_NOT_FOUND


def test_lines_changed_elsewhere_in_the_note_stay(desk: Desk) -> None:
    first = desk.edit("A.md", b"line 2\n", b"second\n")
    desk.edit("A.md", b"line 8\n", b"eighth\n")
    (desk.root / "A.md").write_text((desk.root / "A.md").read_text() + "the person's\n")
    desk.undo(first.id)
    assert (desk.root / "A.md").read_text() == TEN_LINES.replace("line 8", "eighth") + "the person's\n"


def test_lines_changed_again_are_not_taken_back_and_the_refusal_says_by_what(desk: Desk) -> None:
    first = desk.edit("A.md", b"line 2\n", b"second\n")
    later = desk.edit("A.md", b"second\n", b"2nd\n")
    before = tree(desk.root)
    error = refusal(desk.undo, first.id)
    assert error.code == UNDO_CONFLICT
    assert (error.details["path"], error.details["lines"], error.details["changes"]) == ("A.md", [[2, 2]], [later.id])
    assert "A.md" in error.message
    assert tree(desk.root) == before
    desk.undo(later.id)
    desk.undo(first.id)
    assert (desk.root / "A.md").read_text() == TEN_LINES


def test_an_edit_follows_its_note_to_where_it_is_now(desk: Desk) -> None:
    first = desk.edit("Folder/B.md", b"b\n", b"bb\n")
    desk.do(Move(path("Folder/B.md"), path("Folder/deep/B2.md")))
    desk.do(Move(path("Folder"), path("Other")))
    desk.undo(first.id)
    assert (desk.root / "Other/deep/B2.md").read_text() == "b\n"


CONFLICTS: list[tuple[str, list[Step], list[Step]]] = [
    ("the name is taken", [Move(path("A.md"), path("Z.md"))], [Write(path("A.md"), None, b"new")]),
    ("moved on", [Move(path("A.md"), path("Z.md"))], [Move(path("Z.md"), path("Y.md"))]),
    (
        "a removed note made anew",
        [Write(path("Folder/B.md"), b"b\n", None)],
        [Write(path("Folder/B.md"), None, b"new")],
    ),
    ("a new note edited", [Write(path("N.md"), None, b"n\n")], [Write(path("N.md"), b"n\n", b"m\n")]),
    ("a new note in the trash", [Write(path("N.md"), None, b"n\n")], [Move(path("N.md"), path(".trash/N.md"))]),
    ("an edited note removed", [Write(path("Folder/B.md"), b"b\n", b"x")], [Write(path("Folder/B.md"), b"x", None)]),
]


@pytest.mark.parametrize(("steps", "later"), [case[1:] for case in CONFLICTS], ids=[case[0] for case in CONFLICTS])
def test_what_later_changes_stand_in_the_way_of_is_refused_until_they_are_undone(
    desk: Desk, steps: list[Step], later: list[Step]
) -> None:
    start = tree(desk.root)
    first, second = desk.do(*steps), desk.do(*later)
    before = tree(desk.root)
    error = refusal(desk.undo, first.id)
    assert (error.code, error.details["changes"]) == (UNDO_CONFLICT, [second.id])
    assert tree(desk.root) == before
    desk.undo(second.id)
    desk.undo(first.id)
    assert tree(desk.root) == start


def test_nothing_is_left_to_take_back_where_somebody_has_done_so(desk: Desk) -> None:
    first = desk.do(Write(path("Folder/B.md"), b"b\n", b"x"), Write(path("N.md"), None, b"n"))
    (desk.root / "Folder/B.md").write_text("b\n")
    (desk.root / "N.md").unlink()
    error = refusal(desk.undo, first.id)
    assert error.code == UNDO_CONFLICT
    assert "Nothing is left" in error.message


def test_bytes_that_are_no_text_are_taken_back_whole_or_not_at_all(desk: Desk) -> None:
    first = desk.do(Write(path("P.png"), None, b"\x89one\n"))
    second = desk.do(Write(path("P.png"), b"\x89one\n", b"\x89two\n"))
    (desk.root / "P.png").write_bytes(b"\x89two\nmore\n")
    assert refused(desk.undo, second.id) == refused(desk.undo, first.id) == UNDO_CONFLICT
    (desk.root / "P.png").write_bytes(b"\x89two\n")
    desk.undo(second.id)
    assert (desk.root / "P.png").read_bytes() == b"\x89one\n"


def test_a_deleted_note_comes_back_though_the_trash_was_cleared_or_has_another_of_its_name(desk: Desk) -> None:
    for replace in (False, True):
        desk.vault.writing.delete("Folder/B.md", permanent=False)
        (desk.root / ".trash/B.md").unlink()
        if replace:
            (desk.root / ".trash/B.md").write_text("another\n")
        desk.undo(desk.changes.latest()[0].id)
        assert (desk.root / "Folder/B.md").read_text() == "b\n"


def test_folders_made_for_a_change_go_with_it_unless_something_is_in_them(desk: Desk) -> None:
    first = desk.do(Write(path("X/Y/N.md"), None, b"n"))
    (desk.root / "X/theirs.md").write_text("t")
    desk.undo(first.id)
    assert sorted(desk.root.glob("X/*")) == [desk.root / "X/theirs.md"]


# ---------------------------------------------------------------------- restoring


def test_a_note_comes_back_from_the_trash_by_any_of_its_names(desk: Desk) -> None:
    for what in ({"path": "Folder/B.md"}, {"path": "Folder/B"}, {"path": ".trash/B.md"}, {"number": 7}):
        desk.vault.writing.delete("Folder/B.md", permanent=False)
        restored = desk.restore(**what)
        assert restored.files[0].path == ".trash/B.md"
        assert (desk.root / "Folder/B.md").read_text() == "b\n"
        assert list((desk.root / ".trash").iterdir()) == []


@pytest.mark.parametrize("what", [{"path": "Folder/B.md"}, {"number": 1}])
def test_a_note_deleted_for_good_comes_back_from_the_journal(desk: Desk, what: dict[str, Any]) -> None:
    desk.vault.writing.delete("Folder/B.md", permanent=True)
    desk.restore(**what)
    assert (desk.root / "Folder/B.md").read_text() == "b\n"


def test_what_is_restored_is_what_was_deleted_last(desk: Desk) -> None:
    for text in ("one", "two"):
        desk.vault.writing.write("N", text, "create")
        desk.vault.writing.delete("N.md", permanent=True)
    desk.restore(path="N")
    assert (desk.root / "N.md").read_text() == "two"


def test_what_obsidian_put_into_the_trash_comes_back_too(desk: Desk) -> None:
    write_vault(desk.root, "=== .trash/Old.md\nold\n=== .trash/Older.md\nolder\n")
    desk.restore(path=".trash/Old.md")
    desk.restore(path="Folder/Older")
    assert (desk.root / "Old.md").read_text() + (desk.root / "Folder/Older.md").read_text() == "old\nolder\n"


def test_nothing_is_restored_over_anything(desk: Desk) -> None:
    assert refused(desk.restore, path="A") == NOTE_EXISTS
    desk.vault.writing.delete("Folder/B.md", permanent=False)
    (desk.root / "Folder/B.md").write_text("new\n")
    for what in ({"path": "Folder/B.md"}, {"path": ".trash/B.md"}, {"number": 1}):
        assert refused(desk.restore, **what) == NOTE_EXISTS
    assert refused(desk.restore, path=".trash/B.md", to="/A.md") == NOTE_EXISTS
    desk.restore(path=".trash/B.md", to="B older")
    assert (desk.root / "Folder/B older.md").read_text() == "b\n"
    desk.vault.writing.delete("Folder/B older.md", permanent=False)
    desk.restore(path=".trash/B older.md", to="Elsewhere/B old")
    assert (desk.root / "Elsewhere/B old.md").read_text() == "b\n"
    assert (desk.root / "Folder/B.md").read_text() == "new\n"


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ({"path": "Nowhere.md"}, FILE_NOT_FOUND),
        ({"path": ".trash/Nowhere.md"}, FILE_NOT_FOUND),
        ({"path": ".obsidian/app.json"}, PERMISSION_DENIED),
        ({"number": 9}, FILE_NOT_FOUND),
        ({"number": 1}, INVALID_ARGUMENTS),
        ({}, INVALID_ARGUMENTS),
    ],
)
def test_what_cannot_be_restored_is_refused(desk: Desk, what: dict[str, Any], code: str) -> None:
    desk.do(Write(path("A.md"), TEN_LINES.encode(), b"x"))
    assert refused(desk.restore, **what) == code


# ---------------------------------------------------------------------- anything

NAMES = ["A.md", "Folder/B.md", "Folder/deep/C.md", "N.md", "Folder/N.md", "Made/N.md", "Made/deep/M.md"]
BYTES = st.binary(max_size=30) | st.text("ab\n", max_size=30).map(str.encode)
EDITS = st.lists(
    st.tuples(
        st.sampled_from(["create", "write", "append", "trash", "remove", "move", "move folder"]),
        st.integers(0, 99),
        st.integers(0, 99),
        BYTES,
    ),
    max_size=8,
)


def steps_of(desk: Desk, edits: list[tuple[str, int, int, bytes]]) -> list[Step]:
    """Return the steps that these edits come to in the vault as it is: what fits is taken, what does not is left out."""
    there = {note.path: desk.files.read(note.path).data for note in desk.files.walk(attachments=True)}
    steps: list[Step] = []
    folders = {each.rpartition("/")[0] for each in there if "/" in each}
    for kind, one, other, data in edits:
        names = sorted(there)
        name = names[one % len(names)] if names else path("none")
        new = path(NAMES[other % len(NAMES)])
        is_free = not any(follow(each, new, "") != each for each in there) and new not in there
        if kind == "create" and is_free and not moved_away(steps, new):
            steps.append(Write(new, None, data))
            there[new] = data
        elif kind in ("write", "append") and names:
            after = there[name] + data if kind == "append" else data
            steps.append(Write(name, there[name], after))
            there[name] = after
        elif kind == "remove" and names:
            steps.append(Write(name, there.pop(name), None))
        elif kind == "trash" and names:
            target = path(f".trash/{len(steps)} {len(desk.changes.latest())}.md")
            steps.append(Move(name, target))
            del there[name]
        elif kind == "move" and names and is_free and not moved_away(steps, new):
            steps.append(Move(name, new))
            there[new] = there.pop(name)
        elif kind == "move folder" and folders and not steps:
            source, target = path(sorted(folders)[one % len(folders)]), path(f"Moved {other}")
            if not (desk.root / target).exists():
                steps.append(Move(source, target))
                there = {follow(each, source, target): held for each, held in there.items()}
    return steps


def moved_away(steps: list[Step], name: str) -> bool:
    """Tell whether a folder above a name was moved away in the same change, which then cannot make it anew."""
    return any(isinstance(step, Move) and name.startswith(f"{step.source}/") for step in steps)


@pytest.fixture(scope="module")
def unsynced() -> Iterator[None]:
    """Let nothing be synced: hundreds of changes are made here, and none of them is about power cuts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda descriptor: None)
        yield


@pytest.mark.usefixtures("unsynced")
@hypothesis.settings(max_examples=60 if hypothesis.settings().max_examples < 1000 else 5000)
@hypothesis.given(rounds=st.lists(EDITS, max_size=5), again=st.booleans())
def test_undoing_everything_in_reverse_gives_the_original_bytes(
    tmp_path_factory: pytest.TempPathFactory, rounds: list[list[tuple[str, int, int, bytes]]], again: bool
) -> None:
    desk = Desk(tmp_path_factory.mktemp("undo"))
    states = [tree(desk.root)]
    for edits in rounds:
        change = desk.do(*steps_of(desk, edits))
        states += [tree(desk.root)] if change.id else []
    done = [change.id for change in desk.changes.latest()]
    undone = []
    for number, state in zip(done, reversed(states[:-1]), strict=True):
        undone.append(desk.undo(number).id)
        assert tree(desk.root) == state
    if again:  # undoing the undoings brings everything back
        for number, state in zip(reversed(undone), states[1:], strict=True):
            desk.undo(number)
            assert tree(desk.root) == state


def test_a_note_is_restored_from_the_journal_if_the_trash_has_another_of_its_name(desk: Desk) -> None:
    desk.vault.writing.delete("Folder/B.md", permanent=False)
    (desk.root / ".trash/B.md").write_text("another\n")
    desk.restore(path="Folder/B.md")
    assert (desk.root / "Folder/B.md").read_text() == "b\n"
    assert (desk.root / ".trash/B.md").read_text() == "another\n"
