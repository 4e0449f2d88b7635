"""What work costs, counted: calls made and memory held at most. Neither depends on how fast or how busy a machine is."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any, NamedTuple


class Costs(NamedTuple):
    """Calls of functions, Python's own included; and the most memory that was held at once, in bytes."""

    calls: int
    peak: int


def costs_of(work: Callable[[], object]) -> Costs:
    """Return what the work costs, done twice: once for each count, for counting one disturbs the other."""
    calls = 0

    def count(_: object, event: str, __: Any) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    gc.collect()
    tracemalloc.start()
    try:
        work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return Costs(calls, peak)
