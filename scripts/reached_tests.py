"""A plugin of pytest for ``scripts/mutants.py``: it notes which tests reach a line and how each ends, or runs chosen tests.

A copy lies in a folder from which every process of the tests can import it. Its files lie beside it.
"""

from __future__ import annotations

import os
import sys
from collections import defaultdict

# Some tests replace these, to fill a disk for example.
from os import close, write
from os import open as open_file
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:  # child processes of tests have no need of pytest
    from types import FrameType

    import pytest

HERE = Path(__file__).resolve().parent
PACKAGE = str(HERE / "vaultwire") + os.sep
# A row for a place and a test that reaches it: the number of the place; the test, or a file of tests, or EVERY_TEST.
REACHED = HERE / "reached.tsv"
# A row for a test: its seconds, its outcome, its name.
OUTCOMES = HERE / "outcomes.tsv"
# The tests to run, one a line. Without this file all run.
CHOSEN = HERE / "chosen.txt"
# The place is reached while a module of the program is imported: once for all tests of a process.
EVERY_TEST = "*"

PROCESS = "MUTANTS_PROCESS"
FILE = "MUTANTS_FILE"
_noted: set[tuple[int, str]] = set()
_seconds: dict[str, float] = defaultdict(float)
_failed: set[str] = set()


def at(place: int) -> None:
    """Note that the running test reaches the place. The program calls it there, in child processes of a test too."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    if os.environ.get(PROCESS) != str(os.getpid()):
        test = test.partition("::")[0]  # one test may start a server for all tests of its file
    test = test or os.environ.get(FILE, "")
    if (place, test) in _noted:
        return
    _noted.add((place, test))
    if _is_import(sys._getframe(1)):  # noqa: SLF001 - the module ``inspect`` would be one more in every process
        test = EVERY_TEST
    if test:
        _append(REACHED, f"{place}\t{test}\n")


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(PACKAGE):
            return True
        frame = frame.f_back
    return False


def _append(path: Path, row: str) -> None:
    file = open_file(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    write(file, row.encode())
    close(file)


def pytest_configure() -> None:
    """Tell the process of the tests from the child processes that tests start."""
    os.environ[PROCESS] = str(os.getpid())


def pytest_collectstart(collector: pytest.Collector) -> None:
    """Say whose places are reached now: a file of tests may use the program for its list of cases."""
    os.environ[FILE] = collector.nodeid.partition("::")[0]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave only the chosen tests."""
    os.environ[FILE] = ""
    if CHOSEN.exists():
        chosen = set(CHOSEN.read_text(encoding="utf-8").split("\n"))
        others = [item for item in items if item.nodeid not in chosen]
        config.hook.pytest_deselected(items=others)
        items[:] = [item for item in items if item.nodeid in chosen]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Note a file of tests that cannot be read."""
    if report.failed and not CHOSEN.exists():
        _append(OUTCOMES, f"0\tfailed\t{report.nodeid}\n")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note how a test ended, and after how many seconds."""
    if "PYTEST_XDIST_WORKER" in os.environ or CHOSEN.exists():
        return  # with xdist, the process that started this one gets the same report
    _seconds[report.nodeid] += report.duration
    if report.failed:
        _failed.add(report.nodeid)
    if report.when == "teardown":
        outcome = "failed" if report.nodeid in _failed else "ended"
        _append(OUTCOMES, f"{_seconds[report.nodeid]:.3f}\t{outcome}\t{report.nodeid}\n")
