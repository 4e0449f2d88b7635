"""A program killed at any step of a write leaves the old note or the new one, whole, and never less than was there."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.vaults import open_vault

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")

# Runs one operation in a process that kills itself right before the n-th call into the system, for each n until the
# operation gets through: each time in a fresh copy of the vault, in a fresh child.
CHILD = r"""
import io, os, signal, sys
from pathlib import Path
from support.vaults import open_vault, write_vault
from vaultwire.vault.disk import file_operations

where, literal, operation, hard_links = sys.argv[1:]
STEPS = ["open", "fsync", "write", "replace", "link", "unlink", "chmod", "fchown", "mkdir", "rename", "close", "rmdir"]

def counted(name, steps):
    real = getattr(os, name)
    def call(*args, **kwargs):
        if next(steps) == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if name == "link" and hard_links == "no":
            raise PermissionError(1, "Operation not permitted")
        return real(*args, **kwargs)
    if real in os.supports_follow_symlinks:
        os.supports_follow_symlinks.add(call)
    setattr(os, name, call)

os.fsync = lambda descriptor: None  # what a kill leaves is in the system's memory; syncing is slow
for step in range(200):
    root = write_vault(Path(where) / str(step), literal)
    child = os.fork()
    if child == 0:
        vault = open_vault(root, state=root.parent / f"{step} state")
        steps = iter(range(step, -1000, -1))
        for name in STEPS:
            if hasattr(os, name):
                counted(name, steps)
        # The system's own renames, which Python has no name for, are steps too. Without hard links there are none of them
        # either: the plainest file system there is.
        own = file_operations.system_rename() if hard_links == "yes" else None
        def rename(*args):
            if next(steps) == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return own(*args)
        file_operations.system_rename = lambda: rename if own else None
        # Writing itself is a step too: half of the bytes, then the end.
        real_fdopen = os.fdopen
        def fdopen(*args, **kwargs):
            file = real_fdopen(*args, **kwargs)
            if "w" not in args[1]:
                return file
            class Halfway:
                def __enter__(self): return self
                def __exit__(self, *rest): file.close()
                def __getattr__(self, name): return getattr(file, name)
                def write(self, data):
                    half = len(data) // 2
                    file.write(data[:half]); file.flush()
                    if next(steps) == 0:
                        os.kill(os.getpid(), signal.SIGKILL)
                    return file.write(data[half:]) + half
            return Halfway()
        os.fdopen = fdopen
        eval(operation)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    print(step, status)
    if not os.WIFSIGNALED(status):
        break
"""

VAULT = "=== Note.md\n" + "old line\n" * 500 + "=== Other.md\nother\n"
OLD = "old line\n" * 500


def _kill_at_every_step(tmp_path: Path, operation: str, *, hard_links: bool = True) -> list[Path]:
    """Return the vaults that the killed programs left behind, in order of the step; the last one ran to its end."""
    run = subprocess.run(
        [sys.executable, "-c", CHILD, tmp_path, VAULT, operation, "yes" if hard_links else "no"],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert run.returncode == 0, run.stderr
    results = [tuple(map(int, line.split())) for line in run.stdout.splitlines()]
    assert results[-1][1] == 0, results
    assert {status for _, status in results[:-1]} == {signal.SIGKILL}, results
    assert len(results) >= 4, "too few steps were seen: does the child still count the right calls?"
    return [tmp_path / str(step) for step, _ in results]


def _check_that_all_goes_on(root: Path) -> None:
    """What a killed program leaves behind is in nobody's way, and is gone with the next change."""
    vault = open_vault(root, state=root.parent / f"{root.name} state")
    assert (root / "Other.md").read_text() == "other\n"
    assert {note.path for note in vault.overview.list_notes("").all()} <= {
        "Note.md",
        "Other.md",
        "New/Note.md",
    }
    assert vault.writing.write("Other", "more", "append").changed
    assert vault.writing.write("Note after", "x", "create").created
    assert not list(root.rglob(".vaultwire-*"))


@pytest.mark.parametrize(
    ("mode", "new"),
    [
        ("append", OLD + "new " * 2000 + "\n"),
        ("prepend", "new " * 2000 + "\n" + OLD),
        ("overwrite", "new " * 2000 + "\n"),
    ],
)
def test_an_edited_note_is_the_old_one_or_the_new_one(tmp_path: Path, mode: str, new: str) -> None:
    vaults = _kill_at_every_step(tmp_path, f"vault.writing.write('Note', 'new ' * 2000, {mode!r})")
    states = [(root / "Note.md").read_text() for root in vaults]
    assert set(states) == {OLD, new}
    assert states == sorted(states, key=lambda state: state == new)  # once it is new, it stays new
    for root in vaults:
        _check_that_all_goes_on(root)


def test_a_new_note_is_whole_or_not_there(tmp_path: Path) -> None:
    vaults = _kill_at_every_step(tmp_path, "vault.writing.write('New/Note', 'new ' * 2000, 'create')")
    states = {(root / "New/Note.md").read_text() if (root / "New/Note.md").exists() else None for root in vaults}
    assert states == {None, "new " * 2000}
    for root in vaults:
        _check_that_all_goes_on(root)


def test_without_hard_links_a_new_note_may_be_empty_but_never_half(tmp_path: Path) -> None:
    """There the name is held by an empty file for a moment: no other way refuses to overwrite."""
    vaults = _kill_at_every_step(tmp_path, "vault.writing.write('New/Note', 'new ' * 2000, 'create')", hard_links=False)
    states = {(root / "New/Note.md").read_text() if (root / "New/Note.md").exists() else None for root in vaults}
    assert states == {None, "", "new " * 2000}


@pytest.mark.parametrize("hard_links", [True, False])
def test_a_note_on_its_way_to_the_trash_is_always_somewhere(tmp_path: Path, hard_links: bool) -> None:
    vaults = _kill_at_every_step(tmp_path, "vault.writing.delete('Note', permanent=False)", hard_links=hard_links)
    for root in vaults:
        places = [path for path in (root / "Note.md", root / ".trash" / "Note.md") if path.exists()]
        assert OLD in [path.read_text() for path in places]
        _check_that_all_goes_on(root)
    assert not (vaults[-1] / "Note.md").exists()
