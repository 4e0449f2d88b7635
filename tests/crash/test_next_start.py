"""The next program makes whole what a killed one left, at its start, before anybody asks for a change."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.killing import VAULT, open_changes
from support.vaults import write_vault
from support.wire import Server

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")

TESTS = Path(__file__).parent.parent
# Kills one plan at each of its calls, until a kill leaves the vault as the test needs it.
CHILD = """
import sys
from pathlib import Path
from support import killing

place, scenario, needed = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
case = killing.Case(killing.VAULT, killing.SCENARIOS[scenario], undoing=False)


def visible(root):
    return {name: data for name, data in killing.tree(root).items() if data is not None and name[0] != "."}


root, state = killing.prepared(case, place)
old = visible(root)
killing.execute(case, root, state)
whole = (old, visible(root))
for step in range(1000):
    root, state = killing.prepared(case, place)
    assert killing.dies_at(step, lambda: killing.execute(case, root, state)), "no kill leaves the vault so"
    left = visible(root)
    hidden = [data for name, data in killing.tree(root).items() if name.startswith(".") and data == b"old line\\n"]
    if (left not in whole) if needed == "half" else (left == whole[1] and hidden):
        break
"""


def visible(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in files
        if not str(path.relative_to(root)).startswith(".")
    }


def kill(place: Path, scenario: str, needed: str) -> tuple[Path, Path]:
    """Return a vault that a killed change left, and its state folder."""
    run = subprocess.run(
        [sys.executable, "-c", CHILD, place, scenario, needed], capture_output=True, text=True, check=False, cwd=TESTS
    )
    assert run.returncode == 0, run.stderr
    return place / "vault", place / "state"


def test_a_server_undoes_a_half_made_change_at_its_start(tmp_path: Path) -> None:
    root, state = kill(tmp_path / "killed", "rename_with_links", "half")
    old = visible(write_vault(tmp_path / "old", VAULT))
    assert visible(root) != old
    with Server(root, VAULTWIRE_STATE=str(state)) as server:
        server.open("2025-11-25")
        # Only reading: no call of a change would finish it. Without an end, the test runs into its time limit.
        while visible(root) != old:
            server.call("list_notes")


def test_what_another_program_wrote_after_the_kill_is_back_under_its_name(tmp_path: Path) -> None:
    root, state = kill(tmp_path / "killed", "edit", "displaced")
    (hidden,) = (path for path in root.glob(".*") if path.is_file())
    hidden.write_bytes(b"saved by them")  # through a descriptor that it has had since before the change
    _, changes = open_changes(root, state)
    with changes.locked():
        pass
    assert (root / "Note.md").read_bytes() == b"saved by them"
    assert not [path for path in root.glob(".*") if path.is_file()]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says who has a file open")
def test_a_note_that_a_program_still_writes_after_the_kill_is_back_under_its_name(tmp_path: Path) -> None:
    root, state = kill(tmp_path / "killed", "edit", "displaced")
    (hidden,) = (path for path in root.glob(".*") if path.is_file())
    descriptor = os.open(hidden, os.O_RDWR)
    _, changes = open_changes(root, state)
    with changes.locked():
        pass
    os.write(descriptor, b"saved by them")
    os.close(descriptor)
    assert (root / "Note.md").read_bytes() == b"saved by them"
