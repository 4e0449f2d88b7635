"""A program killed at any of its calls while it changes a vault leaves the old vault or the new one to whoever comes next.

``support.killing`` says how, and what is checked behind each kill: the vault is wholly old or wholly new once the next
change begins, nothing is left lying about, the journal has what was done and nothing else, and that can be undone.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest
from hypothesis import strategies as st

from support.killing import SCENARIOS

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is POSIX")

TESTS = Path(__file__).parent.parent
# Random plans are forked some forty times each: few here, and killed at every third call; a thousand in a soak.
IS_SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"
PLANS = 1000 if IS_SOAK else 4


def kills(where: Path, *options: str) -> int:
    """Return how many times a scenario was killed, every time with an outcome as it should be."""
    run = subprocess.run(
        [sys.executable, "-m", "support.killing", where, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=TESTS,
    )
    assert run.returncode == 0, run.stderr
    return int(run.stdout)


LARGER = ["create", "exchange", "merge", "rename_with_links"]
OPTIONS = ("--undo", "--no-links", "--no-exchange")
CASES = [
    *[(scenario, ()) for scenario in SCENARIOS],
    *[(scenario, (option,)) for option in OPTIONS for scenario in (SCENARIOS if IS_SOAK else LARGER)],
]


@pytest.mark.parametrize(("scenario", "options"), CASES)
def test_a_killed_change_is_done_or_was_never_begun(tmp_path: Path, scenario: str, options: tuple[str, ...]) -> None:
    # Without options at each call; with them at every third one, from which on is up to the run's seed.
    third = (
        () if IS_SOAK or not options else (f"--every-third={random.Random(os.environ['VAULTWIRE_SEED']).randrange(3)}",)
    )
    assert kills(tmp_path, scenario, *options, *third) >= (4 if third else 12), (
        "too few calls were seen: does the child still count the right ones?"
    )


@pytest.mark.parametrize("scenario", SCENARIOS if IS_SOAK else LARGER)
@pytest.mark.parametrize("options", [("--undo", "--no-links"), ()] if IS_SOAK else [()])
def test_a_killed_recovery_is_taken_up_by_the_next(tmp_path: Path, scenario: str, options: tuple[str, ...]) -> None:
    third = () if IS_SOAK else ("--every-third=0",)
    assert kills(tmp_path, scenario, "--kill-recovery", *options, *third) >= 20


@hypothesis.settings(max_examples=PLANS)
@hypothesis.given(seed=st.integers(0, 2**32), recovery=st.booleans() if IS_SOAK else st.just(False))
def test_a_killed_random_change_is_done_or_was_never_begun(
    tmp_path_factory: pytest.TempPathFactory, seed: int, recovery: bool
) -> None:
    options = [*(["--kill-recovery"] if recovery else []), *([] if IS_SOAK else [f"--every-third={seed % 3}"])]
    kills(tmp_path_factory.mktemp("killed"), str(seed), *options)


@pytest.mark.parametrize("seed", ["2", "33"])
def test_a_killed_change_of_files_in_folders_that_move_is_done_or_was_never_begun(tmp_path: Path, seed: str) -> None:
    """Random plans in which a file is written behind two moves of its folder, and one in which it goes to the trash."""
    assert kills(tmp_path, seed) >= 12
