"""The script that makes random faults, on a small project of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from support.vaults import write_vault

SIZES = "src/vaultwire/trust/sizes.py"
TESTS = "tests/trust/test_sizes.py"
SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
PROJECT = """
=== pyproject.toml
[tool.pytest.ini_options]
pythonpath = ["."]
=== .gitignore
/beside/ignored.py
=== src/vaultwire/__init__.py
=== src/vaultwire/trust/__init__.py
=== src/vaultwire/trust/sizes.py
from functools import cache

MOST = 10


def is_large(size: int) -> bool:
    return size > MOST


def is_small(size: int) -> bool:
    return not size > 3


def is_even(size: int) -> bool:
    return size % 2 == 0


@cache
def half(size: int) -> int:
    return size // 2


TABLE = [is_even(size) for size in (0, 1)]
=== tests/trust/test_sizes.py
import subprocess
import sys

import pytest

from beside.numbers import TEN
from vaultwire.trust.sizes import TABLE, half, is_large, is_small


def test_large():
    assert is_large(TEN + 1)
    assert not is_large(TEN)


def test_small():
    is_small(1)


def test_small_in_a_child_process():
    subprocess.run([sys.executable, "-c", "from vaultwire.trust.sizes import is_small; is_small(1)"], check=True)


def test_a_table():
    assert TABLE == [True, False]


def test_a_kept_result():
    half(8)


def test_a_result_that_was_kept():
    assert half(8) == 4


def test_wrong():
    assert not is_small(1)
=== tests/trust/test_unreadable.py
from beside.nothing import NOTHING
=== beside/numbers.py
TEN = 10
"""


def test_faults_are_caught_by_tests_that_pass_without_them(tmp_path: Path) -> None:
    write_vault(tmp_path, PROJECT)
    (tmp_path / "scripts").mkdir()
    for script in ("mutants.py", "reached_tests.py"):
        shutil.copy(SCRIPTS / script, tmp_path / "scripts")
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    command = [sys.executable, "scripts/mutants.py", "--room", "trust", "--count", "50", "--seed", "1", "--jobs", "1"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}  # of this run
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert run.returncode == 1, run.stderr
    lines = {re.sub(r", \d+ s\)$", ")", line) for line in run.stdout.splitlines()}
    assert lines == {
        "seed 1",
        "fails without a fault, left out: tests/trust/test_sizes.py::test_wrong",
        "fails without a fault, left out: tests/trust/test_unreadable.py",
        f"caught: {SIZES}:3: 10 becomes 11 ({TESTS}::test_large)",
        f"caught: {SIZES}:7: Gt becomes GtE ({TESTS}::test_large)",
        f"survivor: {SIZES}:11: Gt becomes GtE (6 tests reach it)",  # the child process might serve them all
        f"caught: {SIZES}:15: Eq becomes NotEq ({TESTS}::test_a_table)",
        f"caught: {SIZES}:20: FloorDiv becomes Mult ({TESTS}::test_a_result_that_was_kept)",
        f"caught: {SIZES}:23: 0 becomes 1 ({TESTS}::test_a_table)",
        "trust: 5 of 6 caught",
        "all: 5 of 6 caught",
    }
