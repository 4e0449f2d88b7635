"""Ranges of days, and the daily notes in them."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from support.refusals import refused
from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_paths import PathRules, Rule
from vaultwire.vault.errors import INVALID_ARGUMENTS
from vaultwire.vault.settings.day_ranges import parse_day_range

TODAY = date(2026, 3, 11)  # a Wednesday


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("last 7 days", "2026-03-05", "2026-03-11"),
        ("7d", "2026-03-05", "2026-03-11"),
        (" Past 1 day", "2026-03-11", "2026-03-11"),
        ("this week", "2026-03-09", "2026-03-15"),
        ("last week", "2026-03-02", "2026-03-08"),
        ("this month", "2026-03-01", "2026-03-31"),
        ("last month", "2026-02-01", "2026-02-28"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2025-12", "2025-12-01", "2025-12-31"),
        ("2026-03-01..2026-03-03", "2026-03-01", "2026-03-03"),
        ("2026-03-03 to 2026-03-01", "2026-03-01", "2026-03-03"),
        ("-7..today", "2026-03-04", "2026-03-11"),
        ("yesterday", "2026-03-10", "2026-03-10"),
        ("2026-03-01", "2026-03-01", "2026-03-01"),
        ("366 days", "2025-03-11", "2026-03-11"),
    ],
)
def test_a_range_is_read(text: str, first: str, last: str) -> None:
    assert parse_day_range(text, TODAY) == (date.fromisoformat(first), date.fromisoformat(last))


@pytest.mark.parametrize(
    "text",
    ["", "sometime", "367 days", "0 days", "2026-13", "2026-01-01..2027-01-02", "..", "a..b", "9999-12", "0000-01"],
)
def test_what_is_no_range_is_refused(text: str) -> None:
    assert refused(parse_day_range, text, TODAY) == INVALID_ARGUMENTS


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
