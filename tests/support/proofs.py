"""A test names the demand that it checks: a section of the specification, a habit of clients, or a promise of ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])


def proves(demand: str) -> Callable[[Test], Test]:
    """Attach the demand to the test, where a failure shows it."""
    assert demand.partition(":")[2], "say whose demand it is, then what it asks"

    def attach(test: Test) -> Test:
        test.__doc__ = f"Proves {demand}."
        return test

    return attach
