"""What every room of tests shares: the seed of the random tests, and where things lie."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Iterator

import hypothesis
import pytest

SEED_VARIABLE = "VAULTWIRE_SEED"

hypothesis.settings.register_profile("ci", max_examples=200, deadline=None, print_blob=True)
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
    """Give hypothesis one seed for the whole run, new each time unless VAULTWIRE_SEED says which."""
    if config.getoption("hypothesis_seed", None) is None:
        config.option.hypothesis_seed = os.environ.get(SEED_VARIABLE) or str(random.SystemRandom().randrange(1 << 32))


@pytest.fixture(autouse=True, scope="session")
def cache() -> Iterator[None]:
    """Let no test touch the user's cache or journals: every server started gets some that end with the run."""
    with tempfile.TemporaryDirectory(prefix="vaultwire-tests-") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("VAULTWIRE_CACHE", os.path.join(folder, "cache"))
        patch.setenv("VAULTWIRE_STATE", os.path.join(folder, "state"))
        yield


def pytest_report_header(config: pytest.Config) -> str:
    """Print the seed, so that a failure can be had again."""
    return f"random tests: {SEED_VARIABLE}={config.getoption('hypothesis_seed')}"
