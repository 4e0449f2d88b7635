"""Every expression gives what the real Obsidian app gave, value or error."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from support.bases import DATA, recorded, recorded_row
from vaultwire.bases.base import read_expression
from vaultwire.bases.evaluation import evaluate
from vaultwire.bases.values import Date, Duration, ErrorValue, Html, Icon, Image, Link, Value, text_of

RECORDED = recorded()
CASES: list[dict[str, Any]] = RECORDED["cases"]
DIAGNOSTICS: list[dict[str, Any]] = json.loads((DATA / "diagnostics.json").read_text(encoding="utf-8"))["cases"]
NO_FORMULA = "Unable to parse formula. (position 0)"


def plain(value: Value) -> Any:
    """Return a value as the recording writes it."""
    if isinstance(value, ErrorValue):
        # The recording has null for what the app's parser refuses.
        return None if value.message == NO_FORMULA else {"error": value.message}
    if isinstance(value, Link):
        return value.linktext
    if isinstance(value, (Date, Duration, Html, Icon, Image)):
        return text_of(value)
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in value]
    return value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_an_expression_gives_the_apps_value(case: dict[str, Any]) -> None:
    value = evaluate(read_expression(case["expression"]), recorded_row(RECORDED["context"]))
    if case.get("assertion") == "range01":
        assert isinstance(value, float)
        assert 0 <= value < 1
        return
    assert plain(value) == case["expected"]


@pytest.mark.parametrize("case", DIAGNOSTICS, ids=lambda case: case["name"])
def test_an_error_has_the_apps_words(case: dict[str, Any]) -> None:
    native = case["native"]
    value = evaluate(read_expression(case["expression"]), recorded_row(RECORDED["context"]))
    if native["parse"]["parseError"]:
        assert value == ErrorValue(native["parse"]["parseError"])
    else:
        assert plain(value) == native["value"]
