"""Turns: whoever sends very much waits behind itself, and others do not wait behind it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from vaultwire.server.workers import WorkQueue

PATIENCE = 30.0


class Piece:
    """A task of some client that waits until it is let go, or not."""

    def __init__(self, client: str, name: str, *, waits: bool = False) -> None:
        self.client = client
        self.name = name
        self.is_abandoned = False
        self.queue: Any = None
        self.begun = threading.Event()
        self.released = threading.Event()
        if not waits:
            self.released.set()


class Row:
    """A queue, what began in it in which order, and how much of it at once."""

    def __init__(self, most: int, most_each: int | None = None) -> None:
        self.order: list[str] = []
        self.most_at_once: dict[str, int] = {}
        self._at_once: dict[str, int] = {}
        self._lock = threading.Condition()
        self.done = 0
        self.queue: Any = WorkQueue(self._run, most, most_each, lambda piece: piece.client)  # type: ignore[attr-defined]
        self.pieces: list[Piece] = []

    def put(self, client: str, name: str, *, waits: bool = False) -> Piece:
        piece = Piece(client, name, waits=waits)
        self.pieces.append(piece)
        self.queue.put(piece)
        return piece

    def _run(self, piece: Any) -> None:
        with self._lock:
            self.order.append(piece.name)
            now = self._at_once[piece.client] = self._at_once.get(piece.client, 0) + 1
            self.most_at_once[piece.client] = max(now, self.most_at_once.get(piece.client, 0))
        piece.begun.set()
        assert piece.released.wait(PATIENCE)
        with self._lock:
            self._at_once[piece.client] -= 1
            self.done += 1
            self._lock.notify_all()

    def wait_until_done(self, count: int) -> None:
        with self._lock:
            assert self._lock.wait_for(lambda: self.done >= count, PATIENCE)


def test_a_client_that_floods_does_not_make_another_wait_behind_it() -> None:
    row = Row(1)
    first = row.put("flood", "flood 0", waits=True)
    assert first.begun.wait(PATIENCE)
    for number in range(1, 100):
        row.put("flood", f"flood {number}")
    for number in range(3):
        row.put("other", f"other {number}")
    first.released.set()
    row.wait_until_done(103)
    # It was the flooding client's turn when the other came.
    assert row.order[:8] == [
        *("flood 0", "flood 1", "other 0", "flood 2", "other 1", "flood 3", "other 2", "flood 4"),
    ]
    assert row.order[8:] == [f"flood {number}" for number in range(5, 100)]


def test_each_clients_tasks_begin_in_the_order_in_which_they_came() -> None:
    row = Row(1)
    first = row.put("a", "a", waits=True)
    assert first.begun.wait(PATIENCE)
    for number in range(30):
        row.put("abc"[number % 3], f"{'abc'[number % 3]}{number:02}")
    first.released.set()
    row.wait_until_done(31)
    for client in "abc":
        mine = [name for name in row.order if name.startswith(client)]
        assert mine == sorted(mine)


def test_no_client_takes_every_thread() -> None:
    row = Row(3, 2)
    slow = [row.put("flood", f"flood {number}", waits=True) for number in range(50)]
    assert all(piece.begun.wait(PATIENCE) for piece in slow[:2])
    assert row.put("other", "other").begun.wait(PATIENCE)  # while the flood stands still
    assert not slow[2].begun.is_set()
    for piece in slow:
        piece.released.set()
    row.wait_until_done(51)
    assert row.most_at_once == {"flood": 2, "other": 1}


def test_a_client_alone_uses_all_that_it_may() -> None:
    row = Row(5, 4)
    pieces = [row.put("a", str(number), waits=True) for number in range(4)]
    assert all(piece.begun.wait(PATIENCE) for piece in pieces)
    for piece in pieces:
        piece.released.set()


@pytest.mark.parametrize("also_lent", [False, True])
def test_an_abandoned_task_takes_nothing_from_its_client(also_lent: bool) -> None:
    row = Row(3, 2)
    stuck = [row.put("a", f"stuck {number}", waits=True) for number in range(2)]
    assert all(piece.begun.wait(PATIENCE) for piece in stuck)
    waiting = [row.put("a", f"late {number}", waits=True) for number in range(2)]
    for piece in stuck:
        if also_lent:  # it was waiting for a person when its time was up
            row.queue.replace_thread(piece)
        piece.is_abandoned = True
        row.queue.replace_thread(piece)
        if also_lent:
            row.queue.take_back_thread(piece)
    assert all(piece.begun.wait(PATIENCE) for piece in waiting)
    for piece in [*stuck, *waiting]:
        piece.released.set()
    row.wait_until_done(4)
    again = [row.put("a", f"again {number}") for number in range(10)]
    assert all(piece.begun.wait(PATIENCE) for piece in again)


def test_a_task_that_waits_for_a_person_holds_up_nobody() -> None:
    row = Row(2, 1)
    asking = row.put("a", "asking", waits=True)
    assert asking.begun.wait(PATIENCE)
    behind = row.put("a", "behind")
    assert not behind.begun.is_set()
    row.queue.replace_thread(asking)
    assert behind.begun.wait(PATIENCE)
    row.queue.take_back_thread(asking)
    asking.released.set()
    row.wait_until_done(2)


def test_threads_that_stood_in_for_lent_ones_end() -> None:
    row = Row(1)
    for number in range(20):
        asking = row.put("a", f"asking {number}", waits=True)
        assert asking.begun.wait(PATIENCE)
        behind = row.put("a", f"behind {number}", waits=True)
        row.queue.replace_thread(asking)
        assert behind.begun.wait(PATIENCE)
        row.queue.take_back_thread(asking)
        asking.released.set()
        behind.released.set()
        row.wait_until_done(2 * number + 2)
    assert row.put("a", "last").begun.wait(PATIENCE)  # by then each of the others has ended
    assert row.queue._threads == 1


def test_very_many_clients_and_tasks_all_get_their_turn() -> None:
    row = Row(4, 2)
    for number in range(2000):
        row.put(f"client {number % 97}", str(number))
    row.wait_until_done(2000)
    assert sorted(map(int, row.order)) == list(range(2000))
