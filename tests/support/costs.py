"""The cost of work, counted: steps, and the most memory at once. Neither depends on the speed or the load of a machine."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple


class Costs(NamedTuple):
    """Lines of Python run, each turn of a loop counted, with calls of what is not Python; and the most memory that was
    held at once, in bytes.
    """

    steps: int
    peak: int


def steps_of(work: Callable[[], object]) -> int:
    """Return how many steps the work takes. What a single call of the standard library's C code takes is not seen."""
    steps = 0

    def on_line(_: FrameType, event: str, __: Any) -> Any:
        nonlocal steps
        steps += event == "line"
        return on_line

    def on_call(_: FrameType, event: str, __: Any) -> None:
        nonlocal steps
        steps += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(on_line)
    sys.setprofile(on_call)
    try:
        work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return steps


def costs_of(work: Callable[[], object]) -> Costs:
    """Return the cost of the work. It runs twice, because one count disturbs the other."""
    steps = steps_of(work)
    gc.collect(1)  # a whole collection takes long among the objects of all other tests
    tracemalloc.start()
    try:
        work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    return Costs(steps, peak)
