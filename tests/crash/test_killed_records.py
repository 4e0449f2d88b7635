"""A process is killed at each of its calls while it records what another program has written: the write stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.killing import AUTHOR, dies_at, open_changes, path
from support.vaults import write_vault
from vaultwire.vault.changes.change import Write
from vaultwire.vault.changes.undo import plan_undo_all
from vaultwire.vault.errors import STALE_EDIT, VaultError

OLD, NEW = b"old line\n", b"new line\n" * 3000


@pytest.mark.parametrize("before", [OLD, None])
@pytest.mark.parametrize("later", [NEW, b"a later save\n"])
def test_a_record_that_was_killed_never_rolls_the_write_back(
    tmp_path: Path, before: bytes | None, later: bytes
) -> None:
    step, kills = 0, 0
    while True:
        root, state = write_vault(tmp_path / f"{step}" / "vault", "=== Note.md\nold line\n"), tmp_path / f"{step}/state"
        note = root / "Note.md"
        note.write_bytes(NEW)

        def record() -> None:
            _, changes = open_changes(root, state)  # noqa: B023 - run at once
            with changes.locked():
                changes.record([Write(path("Note.md"), before, NEW)], AUTHOR, proposal=7)

        killed = dies_at(step, record)
        note.write_bytes(later)
        files, changes = open_changes(root, state)
        with changes.locked():
            assert note.read_bytes() == later
        found = changes.latest()
        assert len(found) <= 1
        assert killed or found
        if found:
            assert (found[0].author, found[0].proposal, found[0].unrestored) == (AUTHOR, 7, ())
        if found and later == NEW:
            with changes.locked():
                changes.execute(plan_undo_all(changes, files, [found[0].id]).steps, AUTHOR, undoes=(found[0].id,))
            assert (note.read_bytes() if note.exists() else None) == before
        with changes.locked():
            assert changes.execute([Write(path("On.md"), None, b"x")]).id
        if not killed:
            break
        step, kills = step + 1, kills + 1
    assert kills >= 3


def test_what_a_file_does_not_hold_is_not_recorded(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", "=== Note.md\nold line\n")
    _, changes = open_changes(root, tmp_path / "state")
    with changes.locked(), pytest.raises(VaultError) as refused:
        changes.record([Write(path("Note.md"), OLD, NEW)], AUTHOR)
    assert refused.value.code == STALE_EDIT
    assert changes.latest() == []
