"""An owner that is paused past its lease, and wakes, changes nothing: neither files nor the journal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vaultwire.cluster.database import Database

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP, and no fork")
# Several changes in one run: their leases end together, and so are waited for once.
CHANGES = (
    ("rename:checks", "swap:checks"),
    # The last one is paused after its last check: an edit's new bytes are in a temporary file then, which the next owner
    # removes. A move has none: docs/teams.md, "Bounds".
    ("merge:checks", "edit:checks", "edit:renames"),
)


@pytest.mark.parametrize("changes", CHANGES, ids=" ".join)
def test_a_paused_owner_changes_nothing_when_it_wakes(
    changes: tuple[str, ...], tmp_path: Path, url: str, database: Database
) -> None:
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-m", "support.pausing", str(tmp_path), url, *changes]
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for change, places in zip(changes, map(int, done.stdout.split()), strict=True):
        assert places >= (2 if change.endswith(":renames") else 11), change
