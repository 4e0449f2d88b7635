"""How often a client may call: no minute has more than it may, whenever it begins, and the refusal says when to retry."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.trust.limits import CHANGES, EACH, TOTAL, Rates, TooOften, read_rate, read_seconds


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def tried(rates: Rates, client: str = "a", tool: str = "read_note", *, changes: bool = False) -> int:
    """Count a call and return 0, or the seconds until it is worth trying again."""
    try:
        rates.count(client, tool, changes=changes)
    except TooOften as refused:
        return refused.retry_after
    return 0


def test_so_many_calls_a_minute_and_no_more() -> None:
    clock = Clock()
    rates = Rates({EACH: 3}, clock)
    assert [tried(rates) for _ in range(5)] == [0, 0, 0, 60, 60]
    clock.now += 59.5
    assert tried(rates) == 1
    clock.now += 0.5
    assert [tried(rates) for _ in range(4)] == [0, 0, 0, 60]


def test_the_window_slides_so_that_two_halves_of_minutes_do_not_make_a_flood() -> None:
    clock = Clock()
    rates = Rates({EACH: 2}, clock)
    assert tried(rates) == 0
    clock.now += 50
    assert tried(rates) == 0
    clock.now += 9
    assert tried(rates) == 1
    clock.now += 1
    assert [tried(rates), tried(rates)] == [0, 50]


def test_the_refusal_says_what_the_limit_is_of_and_when_to_come_back() -> None:
    rates = Rates({"web_search": 1, TOTAL: 2}, Clock())
    rates.count("a", "web_search", changes=False)
    with pytest.raises(TooOften, match="at most 1 calls of web_search a minute; try again in 60 seconds"):
        rates.count("a", "web_search", changes=False)
    rates.count("a", "read_note", changes=False)
    with pytest.raises(TooOften, match="at most 2 calls a minute"):
        rates.count("a", "read_note", changes=False)


@pytest.mark.parametrize(
    ("most", "tool", "changes", "expected"),
    [
        ({EACH: 5, CHANGES: 3, "write_note": 1}, "write_note", True, 1),
        ({EACH: 5, CHANGES: 3, "write_note": 1}, "edit_note", True, 3),
        ({EACH: 5, CHANGES: 3, "write_note": 1}, "read_note", False, 5),
        ({EACH: 5, TOTAL: 2}, "read_note", False, 2),
        ({CHANGES: 3}, "read_note", False, 9),
        ({}, "read_note", False, 9),
        ({"read_note": 0}, "read_note", False, 0),
    ],
)
def test_the_nearest_number_holds(most: dict[str, int], tool: str, changes: bool, expected: int) -> None:
    rates = Rates(most, Clock())
    assert [tried(rates, tool=tool, changes=changes) for _ in range(9)].count(0) == expected


def test_one_client_does_not_use_up_what_another_may() -> None:
    rates = Rates({EACH: 2, TOTAL: 3}, Clock())
    assert [tried(rates, "flood") for _ in range(50)].count(0) == 2
    assert [tried(rates, "other"), tried(rates, "other")] == [0, 0]


def test_one_tool_does_not_use_up_what_another_may() -> None:
    rates = Rates({EACH: 1}, Clock())
    assert [tried(rates, tool="a"), tried(rates, tool="a"), tried(rates, tool="b")] == [0, 60, 0]


def test_a_call_refused_for_one_limit_does_not_count_for_the_other() -> None:
    rates = Rates({"read_note": 1, TOTAL: 3}, Clock())
    assert [tried(rates) for _ in range(10)].count(0) == 1
    assert [tried(rates, tool="list_notes") for _ in range(10)].count(0) == 2


@given(st.lists(st.tuples(st.floats(0, 40), st.booleans()), max_size=60), st.integers(1, 5))
def test_no_minute_ever_has_more_and_whoever_waits_as_told_gets_in(steps: list[tuple[float, bool]], most: int) -> None:
    clock = Clock()
    rates = Rates({EACH: most}, clock)
    made: list[float] = []
    for wait, obeys in steps:
        clock.now += wait
        after = tried(rates)
        if after and obeys:
            clock.now += after
            assert tried(rates) == 0
        if not after or obeys:
            made.append(clock.now)
        assert sum(1 for each in made if each > clock.now - 60 + 1e-5) <= most


def test_clients_that_make_up_names_do_not_fill_memory() -> None:
    rates = Rates({EACH: 10}, Clock())
    for number in range(20_000):
        tried(rates, f"client {number}")
    assert len(rates._windows) <= 10_000
    assert sys.getsizeof(rates._windows) < 1_000_000


@pytest.mark.parametrize("given", ["", "many", "=5", "read_note=", "read_note=-1", "read_note=1000000000"])
def test_what_is_no_rate_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(ValueError, match="Give calls a minute such as 600"):
        read_rate(given)


@pytest.mark.parametrize("given", ["", "file", "file=", "file=0", "file=-1", "file=nan", "nap=5", "file=1e9"])
def test_what_is_no_time_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(ValueError, match="such as search=20"):
        read_seconds(given)
