"""Calls that other threads have an event loop make: none is lost, none is made twice, and each thread's stay in order."""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from typing import Any

from vaultwire.transports import call_on_loop

THREADS, CALLS = 8, 2_000


def test_every_call_of_many_threads_is_made_once_and_in_order() -> None:
    asyncio.run(_many_threads())


async def _many_threads() -> None:
    loop = asyncio.get_running_loop()
    made: defaultdict[int, list[int]] = defaultdict(list)
    all_made = asyncio.Event()

    def note(thread: int, number: int) -> None:
        made[thread].append(number)
        if sum(map(len, made.values())) == THREADS * CALLS:
            all_made.set()

    def call(thread: int) -> None:
        for number in range(CALLS):
            call_on_loop(loop, note, thread, number)

    threads = [threading.Thread(target=call, args=(thread,)) for thread in range(THREADS)]
    for thread in threads:
        thread.start()
    await asyncio.wait_for(all_made.wait(), 60)
    for thread in threads:
        thread.join()
    assert made == {thread: list(range(CALLS)) for thread in range(THREADS)}


def test_a_call_that_fails_holds_up_no_other() -> None:
    asyncio.run(_one_fails())


async def _one_fails() -> None:
    loop = asyncio.get_running_loop()
    reported: list[dict[str, Any]] = []
    loop.set_exception_handler(lambda _, context: reported.append(context))
    made: list[int] = []
    last = asyncio.Event()
    call_on_loop(loop, made.append, 1)
    call_on_loop(loop, int, "no number")
    call_on_loop(loop, made.append, 2)
    call_on_loop(loop, last.set)
    await asyncio.wait_for(last.wait(), 60)
    assert made == [1, 2]
    assert [type(context["exception"]) for context in reported] == [ValueError]


def test_a_call_after_the_end_of_the_loop_is_dropped() -> None:
    loop = asyncio.new_event_loop()
    loop.close()
    made: list[int] = []
    for number in range(3):
        call_on_loop(loop, made.append, number)
    assert made == []
