"""What all tests share: the seed of the random tests, and folders for cache and journals."""

from __future__ import annotations

import gc
import os
import random
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator

import hypothesis
import pytest

# The tests' files lie in memory where it has room for them: waiting for the disk would take half of a run.
# ``tests/vault/disk`` is about the disk and has its files there.
MEMORY = "/dev/shm"
ROOM = 4 << 30

SEED_VARIABLE = "VAULTWIRE_SEED"
_SEED_LINE = f"random tests: {SEED_VARIABLE}={{}}"

hypothesis.settings.register_profile("ci", max_examples=100, deadline=None, print_blob=True)
hypothesis.settings.register_profile("soak", max_examples=20_000, deadline=None, print_blob=True)
# A run that only asks whether a test fails need not look for the smallest example (scripts/mutants.py).
hypothesis.settings.register_profile(
    "mutants",
    hypothesis.settings.get_profile("ci"),
    phases=[hypothesis.Phase.explicit, hypothesis.Phase.generate],
)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give all random tests one seed, in every process: a new one for each run unless VAULTWIRE_SEED names one.

    Say where the tests' files lie, too.
    """
    # A program ends on these unless they are ignored at its start, as below nohup and behind a shell's "&": a run of the
    # tests may be there.
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    chosen = config.getoption("hypothesis_seed", None) or os.environ.get(SEED_VARIABLE)
    os.environ[SEED_VARIABLE] = str(chosen or random.SystemRandom().randrange(1 << 32))
    config.option.hypothesis_seed = os.environ[SEED_VARIABLE]
    if sys.platform == "linux" and "TMPDIR" not in os.environ and os.path.isdir(MEMORY):
        disk = os.statvfs(MEMORY)
        if disk.f_bavail * disk.f_frsize >= ROOM and not disk.f_flag & os.ST_NOEXEC:  # some tests start what they write
            os.environ["TMPDIR"] = MEMORY
            tempfile.tempdir = None  # else it is asked for once only


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what a run keeps to its end, half a million objects, out of all garbage collections: each would take 0.3 s."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Run one process more than there are cores: some tests wait, for a disk, a timer or another process."""
    return len(os.sched_getaffinity(0)) + 1 if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1) + 1


@pytest.fixture(autouse=True, scope="session")
def cache() -> Iterator[None]:
    """Keep every test away from the user's cache and journals: each server gets folders that end with the run."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-tests-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTWIRE_CACHE", os.path.join(folder, "cache"))
        patch.setenv("VAULTWIRE_STATE", os.path.join(folder, "state"))
        yield


def pytest_report_header() -> str:
    """Print the seed, so that a failure can be repeated."""
    return _SEED_LINE.format(os.environ[SEED_VARIABLE])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the seed again below a failure: with -q there is no header."""
    if terminalreporter.stats.keys() & {"failed", "error"}:
        terminalreporter.write_line(_SEED_LINE.format(os.environ[SEED_VARIABLE]))
