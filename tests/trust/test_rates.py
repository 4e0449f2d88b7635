"""How often a client may call: no minute has more than it may, whenever it begins, and the refusal says when to retry."""

from __future__ import annotations

import sys
from itertools import product
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultwire.trust.limits import CHANGES, EACH, TOTAL, WINDOW_SECONDS, Rates, TooOften, read_rate, read_seconds

if TYPE_CHECKING:
    from vaultwire.trust.limits import Calls


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def tried(rates: Rates, client: str = "a", tool: str = "read_note", *, changes: bool = False) -> int:
    """Count a call and return 0, or the seconds until it is worth trying again."""
    try:
        rates.count((client, ""), tool, changes=changes)
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
    rates.count(("a", ""), "web_search", changes=False)
    with pytest.raises(TooOften, match="at most 1 calls of web_search a minute; try again in 60 seconds"):
        rates.count(("a", ""), "web_search", changes=False)
    rates.count(("a", ""), "read_note", changes=False)
    with pytest.raises(TooOften, match="at most 2 calls a minute"):
        rates.count(("a", ""), "read_note", changes=False)


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


# ---------------------------------------------------------------------- several servers


class Handed:
    """What several servers hand over (``CallRows``), in memory, with the clock of the test."""

    def __init__(self, clock: Clock, board: list[tuple[int, float, Calls]], server: int) -> None:
        self._clock, self._board, self._server = clock, board, server
        self._read = 0
        self.is_away = False

    def exchange(self, calls: Calls, /) -> Calls:
        if self.is_away:
            raise ConnectionError("away")
        unread, self._read = self._board[self._read :], len(self._board) + 1
        self._board.append((self._server, self._clock.now, calls))
        others: Calls = {}
        for server, at, handed in unread:
            for key, ages in handed.items() if server != self._server else ():
                others.setdefault(key, []).extend(age + self._clock.now - at for age in ages)
        return others


class Servers:
    """Several servers with the same limits, and one clock."""

    def __init__(self, most: dict[str, int], count: int = 2, reach_all: frozenset[str] = frozenset()) -> None:
        self.clock = Clock()
        board: list[tuple[int, float, Calls]] = []
        self.rows = [Handed(self.clock, board, number) for number in range(count)]
        self.rates = [Rates(most, self.clock) for _ in self.rows]
        for rates in self.rates:
            rates.share(reach_all)

    def look(self) -> None:
        """Have each server look twice: what the last one handed over is known to all."""
        for rates, rows in (*zip(self.rates, self.rows, strict=True), *zip(self.rates, self.rows, strict=True)):
            rates.exchange(rows)


@pytest.mark.parametrize(
    ("most", "tool", "changes"),
    [
        ({"read_note": 4}, "read_note", False),
        ({EACH: 4}, "read_note", False),
        ({CHANGES: 4}, "write_note", True),
        ({TOTAL: 4}, "tools/list", False),
        ({EACH: 9, TOTAL: 4}, "read_note", False),
    ],
)
def test_calls_at_several_servers_count_together(most: dict[str, int], tool: str, changes: bool) -> None:
    servers = Servers(most, 3)
    for number in range(4):
        assert tried(servers.rates[number % 3], tool=tool, changes=changes) == 0
        servers.clock.now += 1
        servers.look()
    assert [tried(rates, tool=tool, changes=changes) for rates in servers.rates] == [56] * 3
    assert [tried(rates, "other", tool, changes=changes) for rates in servers.rates] == [0] * 3
    servers.clock.now += 56
    servers.look()
    assert tried(servers.rates[2], tool=tool, changes=changes) == 0


def test_the_work_of_other_tools_counts_at_the_other_server() -> None:
    servers = Servers({"read_note": 2})
    for _ in range(2):
        servers.rates[0].count(("a", ""), "more_tools", changes=False, also=["read_note"])
    servers.look()
    assert tried(servers.rates[1]) == 60


def test_too_many_calls_at_once_are_waited_for_in_the_minutes_that_follow() -> None:
    servers = Servers({EACH: 2}, 3)
    for _ in range(2):
        assert [tried(rates) for rates in servers.rates] == [0, 0, 0]
    servers.look()
    assert [tried(rates) for rates in servers.rates] == [180] * 3
    servers.clock.now += 179
    assert [tried(rates) for rates in servers.rates] == [1] * 3
    servers.clock.now += 1
    assert [tried(servers.rates[0]), tried(servers.rates[0]), tried(servers.rates[0])] == [0, 0, 60]


def test_what_reaches_all_servers_counts_once() -> None:
    servers = Servers({TOTAL: 4}, reach_all=frozenset({"resources/subscribe"}))
    for rates in servers.rates * 3:
        assert tried(rates, tool="resources/subscribe") == 0
    servers.look()
    assert [tried(rates, tool="tools/list") for rates in servers.rates] == [0, 0]
    servers.look()
    assert [tried(rates, tool="tools/list") > 0 for rates in servers.rates] == [True, True]


def test_without_the_database_each_server_counts_its_own_and_later_hands_over_the_last_minute() -> None:
    servers = Servers({EACH: 3})
    first, second = servers.rates
    servers.rows[0].is_away = True
    assert [tried(first), tried(first)] == [0, 0]
    with pytest.raises(ConnectionError, match="away"):
        first.exchange(servers.rows[0])  # what it had so far counts here only
    servers.clock.now += 50
    assert [tried(first), tried(first)] == [0, 10]
    servers.clock.now += 30
    assert [tried(first), tried(second)] == [0, 0]
    servers.rows[0].is_away = False
    servers.look()
    assert [tried(second), tried(first)] == [30, 30]


def test_a_server_alone_counts_as_if_there_were_no_others() -> None:
    servers = Servers({EACH: 3}, 1)
    [rates], plain = servers.rates, Rates({EACH: 3}, servers.clock)
    for step in (0.0, 1.0, 20.0, 5.0, 38.5, 0.5, 0.0, 21.0):
        servers.clock.now += step
        servers.look()
        assert tried(rates) == tried(plain)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.floats(0, 40), st.booleans()), max_size=60),
    st.integers(1, 5),
    st.integers(2, 3),
)
@example(steps=[(0, 0.0, True), (0, 20.0, False), (0, 40.0, True)], most=1, count=3)
def test_no_minute_has_more_than_what_was_made_at_once_and_it_is_waited_for(
    steps: list[tuple[int, float, bool]], most: int, count: int
) -> None:
    """A client may have its limit, and once more for each other server that has not looked, over whatever time."""
    servers = Servers({EACH: most}, count)
    made = 0
    for number, wait, is_flood in steps:
        servers.clock.now += wait
        for rates, _ in product(servers.rates if is_flood else [servers.rates[number % count]], range(most)):
            made += tried(rates) == 0
        servers.look()
        minutes = (servers.clock.now - 1000.0) / WINDOW_SECONDS
        assert made <= most * (minutes + count) + 1e-3


def test_what_other_servers_hand_over_does_not_fill_memory() -> None:
    servers = Servers({EACH: 10, TOTAL: 20})
    for number in range(20_000):
        tried(servers.rates[0], f"client {number}")
    servers.look()
    assert len(servers.rates[1]._windows) <= 10_000
    for number in range(30):
        servers.clock.now += 30
        for _ in range(10):
            tried(servers.rates[0], "busy", f"tool {number}")
        servers.look()
    assert len(servers.rates[1]._windows[("busy", ""), "", 20]) <= 40
    for number in range(20_000):  # the database is away
        tried(servers.rates[0], f"client {number}")
    new = servers.rates[0]._new
    assert new is not None
    assert len(new) <= 10_000


@pytest.mark.parametrize("given", ["", "many", "=5", "read_note=", "read_note=-1", "read_note=1000000000"])
def test_what_is_no_rate_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(ValueError, match="Give calls a minute such as 600"):
        read_rate(given)


@pytest.mark.parametrize("given", ["", "file", "file=", "file=0", "file=-1", "file=nan", "nap=5", "file=1e9"])
def test_what_is_no_time_is_refused_with_an_example(given: str) -> None:
    with pytest.raises(ValueError, match="such as search=20"):
        read_seconds(given)
