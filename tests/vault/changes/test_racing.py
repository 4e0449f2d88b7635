"""Another program saves a note at the worst moment, right before or after any of our calls: what it saved is never lost.

Its bytes are in the vault afterwards, under any name, or in the journal. Each moment is tried by itself.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.refusals import refusal
from support.renaming import around_calls, nothing, without_exchange
from support.vaults import open_vault, write_vault
from vaultwire.vault.changes.change import Write
from vaultwire.vault.disk import file_operations
from vaultwire.vault.disk.files import TEMPORARY_PREFIX
from vaultwire.vault.errors import FILE_NOT_FOUND, NOTE_EXISTS, STALE_EDIT, VaultError
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an open file cannot be renamed there")

VAULT = """
=== Note.md
old line
=== Other.md
see [[Note]]
"""
OLD, THEIRS = b"old line\n", b"saved by them"
# What a change asks the system for; moments between two calls that only look are moments before the next of these.
CALLS = ["open", "link", "unlink", "replace", "rename", "rmdir", "mkdir"]


CHANGES: dict[str, Callable[[Vault], object]] = {
    "edit": lambda vault: vault.writing.write("Note", "ours", "append"),
    "delete permanently": lambda vault: vault.writing.delete("Note.md", permanent=True),
    "trash": lambda vault: vault.writing.delete("Note.md", permanent=False),
    "move": lambda vault: vault.arranging.move("Note", "Sub/Moved", NO_PROGRESS, dry_run=False),
    "merge": lambda vault: vault.arranging.merge("Other", "Note", "end", NO_PROGRESS, dry_run=False),
}


class Program:
    """Another program, with the system's calls as they were before any test touched them."""

    def __init__(self, root: Path, how: str) -> None:
        self._note = str(root / "Note.md")
        self._how = how
        self._open, self._replace, self._utime = os.open, os.replace, os.utime
        self._held = os.open(self._note, os.O_RDWR) if how == "held open" else None
        if how == "cut short":  # the first half of a save in place
            self._held = os.open(self._note, os.O_WRONLY | os.O_TRUNC)

    def save(self) -> None:
        """Save the note."""
        if self._how == "renamed over":
            aside = f"{self._note}.aside"
            self._write(self._open(aside, os.O_WRONLY | os.O_CREAT, 0o644))
            self._replace(aside, self._note)
        elif self._held is not None:
            self._write(self._held)
        else:
            self._write(self._open(self._note, os.O_WRONLY | os.O_CREAT, 0o644))

    def _write(self, descriptor: int) -> None:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, THEIRS, 0)
        os.close(descriptor)


def raced(root: Path, state: Path, change: str, how: str, moment: int, names: list[str], *, after: bool) -> bool | None:
    """Make a change, with a save at one moment of it. Return whether it was made, None if there is no such moment."""
    vault = open_vault(write_vault(root, VAULT), state=state)
    vault.overview.paths()
    program = Program(root, how)
    left = [moment]

    def meddle() -> None:
        left[0] -= 1
        if left[0] == -1:
            program.save()

    with pytest.MonkeyPatch.context() as patch:
        around_calls(patch, names, *((nothing, meddle) if after else (meddle, nothing)))
        code = ""
        try:
            CHANGES[change](vault)
        except VaultError as error:
            code = error.code
    assert code in ("", STALE_EDIT, FILE_NOT_FOUND, NOTE_EXISTS)
    return not code if left[0] < 0 else None


def kept(root: Path, state: Path) -> list[str]:
    """Return where the other program's bytes are."""
    found = [str(each.relative_to(root)) for each in root.rglob("*") if each.is_file() and each.read_bytes() == THEIRS]
    assert not [each for each in os.listdir(root) if each.startswith(TEMPORARY_PREFIX)]
    history = open_vault(root, state=state).history
    for change in history.latest("", 9, None):
        detailed = history.show(change.id)
        writes = [each for step in detailed.steps if isinstance(step, Write) for each in (step.before, step.after)]
        found += [f"change {change.id}" for each in [*writes, *detailed.contents] if each == THEIRS]
    return found


@pytest.mark.parametrize(
    ("how", "has_exchange"),
    [("in place", True), ("renamed over", True), ("held open", True), ("renamed over", False)],
)
@pytest.mark.parametrize("change", CHANGES)
def test_what_another_program_saves_in_the_middle_of_a_change_is_never_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str, how: str, has_exchange: bool
) -> None:
    if not has_exchange:
        without_exchange(monkeypatch)
    elif file_operations.system_rename() is None:
        pytest.skip("this system has no rename of its own")
    # Where nothing tells that a program has the note open, what it writes once that has no name any more is lost.
    names = ["replace"] if how == "held open" and sys.platform != "linux" else CALLS
    moments = lost = 0
    for after in (False, True):
        for moment in range(200):
            root, state = tmp_path / f"{after}{moment}", tmp_path / f"{after}{moment} state"
            is_made = raced(root, state, change, how, moment, names, after=after)
            if is_made is None:
                break
            moments += 1
            places = kept(root, state)
            lost += not places
            assert places or not has_exchange, (moment, after, is_made)
            if not is_made:
                assert "Note.md" in places, (moment, after, places)
    assert moments >= 2
    assert lost <= 2, "only between the last look, which opens the file, and the rename"


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EPERM])
def test_a_file_system_that_refuses_these_renames_is_written_the_plain_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setattr(file_operations, "system_rename", lambda: lambda *_: number)
    for name, change in CHANGES.items():
        root = tmp_path / name
        change(open_vault(write_vault(root, VAULT)))
        assert (root / "Note.md").exists() is (name in ("edit", "merge"))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who has a file open")
@pytest.mark.parametrize("change", ["edit", "delete permanently"])
@pytest.mark.parametrize("how", ["held open", "cut short"])
def test_a_note_that_a_program_has_open_for_writing_stays_its_own(tmp_path: Path, change: str, how: str) -> None:
    root = tmp_path / "vault"
    vault = open_vault(write_vault(root, VAULT))
    program = Program(root, how)
    error = refusal(CHANGES[change], vault)
    assert (error.code, "open for writing" in error.message) == (STALE_EDIT, True)
    program.save()  # long after the change
    assert (root / "Note.md").read_bytes() == THEIRS
    assert sorted(os.listdir(root)) == ["Note.md", "Other.md"]
    CHANGES[change](vault)
