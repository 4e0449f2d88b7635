"""A mailbox between threads: nothing is lost, the order is kept, and few wake-ups serve many items."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

from vaultwire.server.mailbox import Mailbox

THREADS, EACH = 8, 2000


def test_all_that_many_threads_put_is_taken_in_the_order_of_each() -> None:
    wakings: list[Callable[[], None]] = []
    woken = threading.Condition()
    taken: list[tuple[int, int]] = []

    def wake(run: Callable[[], None]) -> None:
        with woken:
            wakings.append(run)
            woken.notify()

    mailbox = Mailbox(wake)

    def put(thread: int) -> None:
        for number in range(EACH):
            mailbox.put(partial(taken.append, (thread, number)))

    threads = [threading.Thread(target=put, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    while len(taken) < THREADS * EACH:
        with woken:
            assert woken.wait_for(lambda: wakings, 30)
            run = wakings.pop()
        run()
    for thread in threads:
        thread.join()
    for number in range(THREADS):
        assert [each for thread, each in taken if thread == number] == list(range(EACH))


def test_all_that_is_put_in_before_the_reader_looks_wakes_it_once() -> None:
    wakings: list[Callable[[], None]] = []
    called: list[int] = []
    mailbox = Mailbox(wakings.append)
    for turn in range(3):
        for number in range(10):
            mailbox.put(partial(called.append, number))
        assert len(wakings) == turn + 1
        wakings[-1]()
        assert called == [*range(10)] * (turn + 1)


def test_what_is_put_in_while_the_reader_takes_is_taken_next() -> None:
    wakings: list[Callable[[], None]] = []
    called: list[str] = []
    mailbox = Mailbox(wakings.append)

    def first() -> None:
        called.append("first")
        mailbox.put(lambda: called.append("second"))

    mailbox.put(first)
    wakings.pop()()
    assert called == ["first"]
    wakings.pop()()
    assert called == ["first", "second"]


def test_a_reader_that_has_ended_is_no_error() -> None:
    def ended(_: Callable[[], None]) -> None:
        raise RuntimeError("Event loop is closed")

    mailbox = Mailbox(ended)
    mailbox.put(lambda: None)
    mailbox.put(lambda: None)
