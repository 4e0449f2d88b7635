"""An owner that is paused past its lease, and wakes, changes nothing: neither files nor the journal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vaultwire.cluster.database import Database

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGSTOP, and no fork")


def pause_at_each(tmp_path: Path, url: str, plan: str, points: str) -> int:
    """Return at how many points of a change the owner was paused."""
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-m", "support.pausing", str(tmp_path), url, plan, points]
    done = subprocess.run(command, cwd=tests, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("plan", ["rename", "swap", "merge", "edit"])
def test_a_paused_owner_changes_nothing_when_it_wakes(plan: str, tmp_path: Path, url: str, database: Database) -> None:
    assert pause_at_each(tmp_path, url, plan, "checks") > 10


def test_an_edit_that_is_paused_after_its_last_check_changes_nothing(
    tmp_path: Path, url: str, database: Database
) -> None:
    # Its new bytes are in a temporary file, which the next owner removes. A move has none: docs/teams.md, "Bounds".
    assert pause_at_each(tmp_path, url, "edit", "renames") >= 2
