"""The parts of a score from the text index's account of it. Whole searches are explained in ``tests/tools/test_explain.py``."""

from __future__ import annotations

import json
from typing import Any

import pytest

from vaultwire.vault.index.explaining import score_parts


def constant(value: float) -> dict[str, Any]:
    return {"value": value, "description": "Const"}


def group(*parts: dict[str, Any], value: float | None = None) -> dict[str, Any]:
    whole = sum(part["value"] for part in parts) if value is None else value
    return {"value": whole, "description": "BooleanClause. sum of ...", "details": [*parts]}


def scores(account: dict[str, Any]) -> list[float]:
    return [part.score for part in score_parts(json.dumps(account), 0.0, 1.0)]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_group_that_the_note_does_not_match_gives_nothing(place: int) -> None:
    """The account has the words of an alternative that the note fails, but not in its sum."""
    parts = [constant(0.2), constant(1.6)]
    parts.insert(place, group(constant(1.0), constant(1.1)))
    assert scores(group(group(*parts, value=1.8))) == [0.2, 1.6]


def test_a_group_that_it_matches_counts() -> None:
    assert scores(group(constant(0.2), group(constant(1.0), constant(1.1)))) == [0.2, 1.0, 1.1]


def test_of_several_groups_those_count_that_make_the_sum() -> None:
    parts = [group(constant(0.5)), group(constant(0.7)), group(constant(0.9)), constant(0.1)]
    assert scores(group(*parts, value=0.8)) == [0.7, 0.1]


def test_an_account_of_many_groups_is_read_in_time() -> None:
    assert len(scores(group(*[group(constant(1 + number / 7)) for number in range(200)], value=0.05))) == 200
