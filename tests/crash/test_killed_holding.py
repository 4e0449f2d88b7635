"""A program killed at any step of a held write: nothing of it reaches the disk before it is accepted, and it is made once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")


@pytest.mark.parametrize("action", ["hold", "accept", "refuse", "withdraw"])
def test_a_held_write_is_made_only_if_it_is_accepted(tmp_path: Path, action: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "support.killing_held", tmp_path / "w", action],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parent.parent,
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) >= 8, "too few steps were seen: does the child still count the right calls?"
