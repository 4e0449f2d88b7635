"""Results that a caller reads page by page: kept under a key, for one question, for a while."""

from __future__ import annotations

import pytest

from vaultwire.vault.caller import MEMORY_BUDGET, PagedResults
from vaultwire.vault.errors import CURSOR_EXPIRED, INVALID_ARGUMENTS, VaultError


def test_results_are_found_by_their_key() -> None:
    paged = PagedResults()
    first, second = paged.keep("a", [1], 10), paged.keep("b", [2], 10)
    assert (paged.get(first, "a"), paged.get(second, "b")) == ([1], [2])


def test_a_cursor_of_another_question_is_refused() -> None:
    paged = PagedResults()
    key = paged.keep(("search", "cat"), [], 10)
    with pytest.raises(VaultError) as refused:
        paged.get(key, ("search", "dog"))
    assert refused.value.code == INVALID_ARGUMENTS


def test_an_unknown_key_has_expired() -> None:
    with pytest.raises(VaultError) as refused:
        PagedResults().get("00000000", "a")
    assert refused.value.code == CURSOR_EXPIRED
    assert "without a cursor" in refused.value.message


def test_the_oldest_results_expire_first_and_those_in_use_stay() -> None:
    paged = PagedResults()
    used = paged.keep("used", [0], 1)
    keys = []
    for number in range(40):
        keys.append(paged.keep(number, [number], 1))
        assert paged.get(used, "used") == [0]
    assert paged.get(keys[-1], 39) == [39]
    with pytest.raises(VaultError):
        paged.get(keys[0], 0)


def test_results_count_for_the_memory_budget() -> None:
    paged, before = PagedResults(), MEMORY_BUDGET.total
    key = paged.keep("a", ["x"], 1_000_000)
    assert MEMORY_BUDGET.total == before + 1_000_000
    with MEMORY_BUDGET.lock:
        MEMORY_BUDGET.record(paged, paged.evict())
    assert MEMORY_BUDGET.total == before
    with pytest.raises(VaultError):
        paged.get(key, "a")
