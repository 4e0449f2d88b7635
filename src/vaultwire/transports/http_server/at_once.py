"""Beginning a coroutine without a turn of the event loop, which most of them do not need: they never wait."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine, Generator
from typing import Any


def begin_at_once(coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None] | None:
    """Run a coroutine up to where it waits, and return the task that does the rest; None if nothing is left."""
    if sys.version_info >= (3, 12):
        task = asyncio.Task(coroutine, loop=loop, eager_start=True)
        return None if task.done() else task
    try:
        wanted = coroutine.send(None)
    except StopIteration:
        return None
    return loop.create_task(_Rest(coroutine, wanted))


class _Rest(Coroutine[Any, Any, None]):
    """A coroutine that has begun, as a task takes it: what it waits for first comes out once more.

    Until then there was no task, which only ``asyncio.timeout`` and its like would notice.
    """

    def __init__(self, coroutine: Coroutine[Any, Any, None], wanted: Any) -> None:
        self._coroutine = coroutine
        self._wanted = [wanted]

    def send(self, value: Any) -> Any:
        return self._wanted.pop() if self._wanted else self._coroutine.send(value)

    def throw(self, *error: Any) -> Any:
        return self._coroutine.throw(*error)

    def close(self) -> None:
        self._coroutine.close()

    def __await__(self) -> Generator[Any, Any, None]:
        raise NotImplementedError
