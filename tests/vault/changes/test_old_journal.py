"""Records of earlier versions are taken over once, whatever happens meanwhile, and their files are removed after that.

``old_state.zip`` has a vault and its journal as an earlier version left them: five changes in three files, one of them in
several records and one undone, a change that a kill left half-made, three proposals and what was decided about them.
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

import pytest

from support.killing import NoIndex, calls_to_die_at, dies_at, path
from vaultwire.vault.changes.change import Author, Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.journal import Retention
from vaultwire.vault.changes.undo import plan_undo_all
from vaultwire.vault.disk.files import Files
from vaultwire.vault.holding.holding import Holding

OLD = b"old line\n" * 20
AUTHOR = Author("agent", "edit_note", "5e55")


class Place(NamedTuple):
    """A vault as an earlier version left it."""

    root: Path
    state: Path

    def open(self, *, recovers: bool = True) -> Changes:
        index = NoIndex()
        retention = Retention(days=36_500)
        files = Files(str(self.root), 1_000_000)
        return Changes(files, index, str(self.state), retention, recovers=recovers)  # type: ignore[arg-type]

    def names(self) -> set[str]:
        """Return the names of the journal's files that are left of the earlier version, or of damage."""
        files = (each.name for each in self.state.rglob("*") if each.is_file())
        return {
            name for name in files if name not in ("lock", "journal.lock") and not name.startswith("journal.sqlite3")
        }

    def put_old_files(self) -> None:
        (folder,) = self.state.iterdir()
        with zipfile.ZipFile(Path(__file__).parent / "old_state.zip") as old:
            for name in old.namelist():
                if name.startswith("journal/"):
                    target = folder / name.removeprefix("journal/")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(old.read(name))


def placed(folder: Path) -> Place:
    with zipfile.ZipFile(Path(__file__).parent / "old_state.zip") as old:
        old.extractall(folder)
    place = Place(folder / "vault", folder / "state")
    (folder / "state").mkdir()
    (folder / "journal").rename(place.open()._folder)
    return place


@pytest.fixture
def old(tmp_path: Path) -> Place:
    return placed(tmp_path / "old")


def check(place: Place) -> None:
    """Check that all is there, and that nothing is left of the earlier version."""
    changes = place.open()
    listed = changes.latest()
    assert [change.id for change in listed] == [5, 4, 3, 2, 1]
    assert [change.undone_by for change in listed] == [None, None, None, None, 3]
    assert [len(change.files) for change in listed] == [1, 5, 1, 2, 1]
    assert {change.author for change in listed} == {AUTHOR}
    (edit,) = changes.show(1).steps
    assert isinstance(edit, Write)
    assert (edit.before, edit.after) == (OLD, OLD + b"more\n")
    assert [step.after for step in changes.show(4).steps if isinstance(step, Write)] == [b"%d\n" % n for n in range(5)]
    holding = Holding(changes, changes.files)
    assert [(each.id, each.state, each.change, each.reason) for each in holding.proposals.all()] == [
        (1, "waiting", None, ""), (2, "accepted", 5, ""), (3, "refused", None, "no")
    ]  # fmt: skip
    assert [each.steps for each in holding.waiting()] == [(Write(path("Note.md"), OLD, OLD + b"proposed\n"),)]
    decisions = holding.decisions.all()
    assert [each.kind for each in decisions] == ["accepted", "refused", "told", "kept"]
    assert decisions[2].text == "2"  # how far the agent was told
    assert place.names() == set()


def test_all_that_was_recorded_is_there_and_can_be_undone(old: Place) -> None:
    assert old.open().latest()  # a look is enough, also of a run that changes nothing
    check(old)
    assert (old.root / "Note.md").read_bytes() == b"killed\n"
    changes = old.open()
    with changes.locked():  # recovers what was half-made
        assert (old.root / "Note.md").read_bytes() == OLD
        assert not list(old.root.glob(".vaultwire-*"))
        assert changes.execute(plan_undo_all(changes, changes.files, [4]).steps, AUTHOR, undoes=(4,)).id == 7
    assert not (old.root / "n0.md").exists()
    assert Holding(changes).accept(1).id == 8
    assert (old.root / "Note.md").read_bytes() == OLD + b"proposed\n"


def test_a_report_counts_what_was_recorded_and_takes_nothing_over(old: Place) -> None:
    before = old.names()
    assert old.open(recovers=False).report().changes == 6
    assert old.names() == before


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")
def test_a_take_over_that_is_killed_starts_again(tmp_path: Path) -> None:
    for step in calls_to_die_at():
        place = placed(tmp_path / str(step))
        killed = dies_at(step, lambda: place.open().latest())  # noqa: B023 - run at once
        check(place)
        if not killed:
            break
    assert step > 50, "too few calls were seen: does the child still count the right ones?"


def test_an_earlier_version_that_runs_meanwhile_loses_nothing(old: Place) -> None:
    with old.open().locked():
        pass
    old.put_old_files()  # as if it had made the same changes again, with the same numbers
    changes = old.open()
    assert [change.id for change in changes.latest()] == [11, 10, 9, 8, 7, 5, 4, 3, 2, 1]
    assert changes.show(9).change.undoes == (7,)
    assert changes.show(7).change.undone_by == 9
    holding = Holding(changes)
    assert [(each.id, each.state, each.change) for each in holding.proposals.all()][3:] == [
        (4, "waiting", None), (5, "accepted", 11), (6, "refused", None)
    ]  # fmt: skip
    assert holding.decisions.all()[6].text == "6"
    assert old.names() == set()


def test_a_damaged_file_hides_one_change_and_is_kept(old: Place) -> None:
    (segment,) = old.state.rglob("changes.v2.00000001")
    data = bytearray(segment.read_bytes())
    data[data.index(b"Made.md") + 2] ^= 1
    segment.write_bytes(data)
    (proposal,) = old.state.rglob("proposal-00000003")
    os.truncate(proposal, 300)
    changes = old.open()
    assert [change.id for change in changes.latest()] == [5, 4, 3, 1]
    assert [each.id for each in Holding(changes).proposals.all()] == [1, 2]
    assert old.names() == {"damaged-changes.v2.00000001", "damaged-proposal-00000003"}
    with changes.locked():
        assert changes.execute([Write(path("On.md"), None, b"x")], AUTHOR).id == 7
