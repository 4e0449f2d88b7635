"""Ranges of days, and the daily notes in them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from support.refusals import refused
from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.days import Days, days_between, parse_days
from vaultwire.vault.errors import INVALID_ARGUMENTS

TODAY = date(2026, 3, 11)  # a Wednesday


def the_days(text: str) -> Days | None:
    return days_between(text, lambda each: parse_days(each, TODAY))


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("last 7 days", "2026-03-05", "2026-03-11"),
        ("7d", "2026-03-05", "2026-03-11"),
        (" Past 1 day", "2026-03-11", "2026-03-11"),
        ("2026-01 to 2026-02", "2026-01-01", "2026-02-28"),
        ("last week .. this week", "2026-03-02", "2026-03-15"),
        ("2026-03-01..2026-03-03", "2026-03-01", "2026-03-03"),
        ("2026-03-03 to 2026-03-01", "2026-03-01", "2026-03-03"),
        ("-7..today", "2026-03-04", "2026-03-11"),
        ("366 days", "2025-03-11", "2026-03-11"),
    ],
)
def test_a_range_is_read(text: str, first: str, last: str) -> None:
    assert the_days(text) == Days("days", date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "text", ["", "sometime", "0 days", "2026-13", "yesterday", "this week", "2026-03", "1000 days"]
)
def test_what_is_one_time_or_none_is_no_range(text: str) -> None:
    assert the_days(text) is None


@pytest.mark.parametrize("text", ["..", "a..b", "today to nowhere", "How to bake"])
def test_a_range_of_what_are_no_days_is_refused(text: str) -> None:
    assert refused(the_days, text) == INVALID_ARGUMENTS


def test_more_than_a_year_is_refused(tmp_path: Path) -> None:
    vault = open_vault(tmp_path, today=lambda: TODAY)
    assert refused(vault.overview.daily_notes, "2026-01-01..2027-01-02") == INVALID_ARGUMENTS


def test_the_daily_notes_of_a_range_are_those_that_may_be_seen(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Days/2026-03-09.md\n=== Days/2026-03-10.md\n=== Days/2026-03-11.md\n=== 2026-03-08.md\n")
    write_vault(tmp_path, '=== .obsidian/daily-notes.json\n{"folder": "Days"}\n')
    rules = PathRules(deny=(Rule("deny", "/Days/2026-03-10.md", 1),))
    vault = open_vault(tmp_path, today=lambda: TODAY, rules=rules)
    assert vault.overview.daily_notes("last 4 days") == [
        (date(2026, 3, 8), None),
        (date(2026, 3, 9), "Days/2026-03-09.md"),
        (date(2026, 3, 10), None),
        (date(2026, 3, 11), "Days/2026-03-11.md"),
    ]
