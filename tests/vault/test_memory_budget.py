"""The account of what clients have kept: who drops what and when, and that the figures are those of the memory itself."""

from __future__ import annotations

import gc
import json
import random
import sys
import tracemalloc

import pytest

from vaultwire.vault.caller import MEMORY_BUDGET, UNCOUNTED_BYTES, Caller, MemoryBudget, Reservation, estimated_bytes
from vaultwire.vault.value_types import VaultPath


class Box:
    """Keeps bytes; ``fixed`` of them it cannot drop."""

    def __init__(self, fixed: int = 0) -> None:
        self.size = self.fixed = fixed

    def evict(self) -> int:
        self.size = self.fixed
        return self.size


def test_who_was_used_longest_ago_drops_what_it_has_until_there_is_room() -> None:
    account = MemoryBudget(800, 0)
    first, second, third, fixed = Box(), Box(), Box(), Box(200)
    for box in (fixed, first, second, third):
        box.size = 200
        account.record(box, 200)
    account.record(first, 200)  # so the second was used longer ago
    third.size = 300
    account.record(third, 300)
    assert [box.size for box in (fixed, first, second, third)] == [200, 200, 0, 300]
    assert account.total == 700
    assert account.has_room(100)
    assert first.size == 200
    assert account.has_room(600)
    assert (first.size, third.size, account.total) == (0, 0, 200)
    assert not account.has_room(601)


def test_the_latest_is_not_dropped_however_much_it_is() -> None:
    account = MemoryBudget(100, 0)
    box = Box()
    box.size = 500
    account.record(box, 500)
    assert (box.size, account.total) == (500, 500)
    account.record(Box(), 1)
    assert box.size == 0


def test_what_nobody_has_any_more_counts_no_more() -> None:
    account = MemoryBudget(1000, 0)
    boxes = [Box() for _ in range(10)]
    for box in boxes:
        account.record(box, 50)
    del boxes, box
    assert account.total == 0


def test_the_total_is_the_sum_whatever_happens(request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("hypothesis_seed")
    chance = random.Random(f"{seed}")
    account = MemoryBudget(5000, 0)
    boxes = [Box() for _ in range(40)]
    for _ in range(5000):
        number = chance.randrange(len(boxes))
        if chance.random() < 0.1:
            boxes[number] = Box(chance.choice([0, 0, 0, 50]))
            account.record(boxes[number], boxes[number].size)
        box = boxes[number]
        box.size = max(box.fixed, chance.randrange(600))
        account.record(box, box.size)
        wanted = chance.randrange(3000)
        if account.total + wanted > account.max_bytes:
            account.has_room(wanted)
        assert account.total == sum(each.size for each in boxes if each.size), f"seed {seed}"
        assert account.total <= account.max_bytes, f"seed {seed}"


def test_a_message_counts_until_it_is_answered() -> None:
    account = MemoryBudget(100 * UNCOUNTED_BYTES)
    small, large = Reservation(UNCOUNTED_BYTES, account), Reservation(UNCOUNTED_BYTES + 1, account)
    assert account.total == UNCOUNTED_BYTES + 1
    assert not account.has_room(100 * UNCOUNTED_BYTES)
    large.end()
    large.end()
    small.end()
    assert account.total == 0


@pytest.mark.parametrize("text", ["a", "é", "€", "🔥", '"', "\\", "\n"])
@pytest.mark.parametrize("spelt", ["utf-8", "escaped"])
def test_a_text_weighs_no_less_than_it_takes(text: str, spelt: str) -> None:

    whole = "x" * 100_000 + text
    message = json.dumps(whole, ensure_ascii=spelt == "escaped").encode()
    assert estimated_bytes(message) + 100 > sys.getsizeof(json.loads(message))


def test_what_callers_have_read_costs_what_the_account_says(monkeypatch: pytest.MonkeyPatch) -> None:
    gc.collect()
    monkeypatch.setattr(MEMORY_BUDGET, "max_bytes", MEMORY_BUDGET.total + 64_000_000)
    before = MEMORY_BUDGET.total
    tracemalloc.start()
    try:
        callers = [Caller(f"caller {number}") for number in range(8)]
        for number, caller in enumerate(callers):
            for note in range(4000):
                path = VaultPath(f"Folder {note % 10}/Some note of {number}, the {note}th.md")
                caller.saw(path, f"etag-{note:020d}", b"%d" % note * (note % 300))
        gc.collect()
        taken, _ = tracemalloc.get_traced_memory()
        counted = MEMORY_BUDGET.total - before
        assert 0.5 * counted < taken < 1.1 * counted
        monkeypatch.setattr(MEMORY_BUDGET, "max_bytes", before + 1_000_000)
        assert MEMORY_BUDGET.has_room(0)
        gc.collect()
        left, _ = tracemalloc.get_traced_memory()
        assert left < 0.2 * taken
    finally:
        tracemalloc.stop()
    assert not callers[0].has_read(VaultPath("Folder 0/Some note of 0, the 0th.md"))


def test_a_caller_that_was_let_go_goes_on() -> None:
    caller, path = Caller(), VaultPath("Note.md")
    caller.saw(path, "one", b"text")
    assert caller.text_of(path, "one") == b"text"
    assert caller.evict() == 0
    assert (caller.has_read(path), caller.text_of(path, "one")) == (False, None)
    caller.saw(path, "two", b"more")
    caller.moved(path, VaultPath("Moved.md"))
    assert caller.has_read(VaultPath("Moved.md"))
    assert caller.text_of(path, "two") == b"more"


def test_what_the_server_records_by_itself_does_not_make_a_holder_look_used() -> None:
    account = MemoryBudget(1000, 0)
    left, at_work, new = Box(), Box(), Box()
    for box in (left, at_work):
        box.size = 300
        account.record(box, 300)
    left.size = 400
    account.record(left, 400, is_used=False)
    new.size = 500
    account.record(new, 500)
    assert (left.size, at_work.size, account.total) == (0, 300, 800)
