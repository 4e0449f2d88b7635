"""The fields of a task in its text: read as people write them, and changed without another character."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultwire.markdown.task_fields import TaskField, first_fields, task_fields, with_date, without_date

READ = [
    ("water", {}),
    ("water 📅 2026-01-31", {"due": "2026-01-31"}),
    ("water 📆2026-01-31 ⌛  2026-01-30", {"due": "2026-01-31", "scheduled": "2026-01-30"}),
    ("water 🗓\ufe0f 2026-01-31", {"due": "2026-01-31"}),
    ("a 🛫 2026-01-01 \N{HEAVY PLUS SIGN} 2025-12-31 ✅ 2026-01-02 ❌ 2026-01-03", {
        "start": "2026-01-01", "created": "2025-12-31", "done": "2026-01-02", "cancelled": "2026-01-03",
    }),
    ("a ⏫ 🔁 every week on Monday, Friday #tag", {"priority": "high", "recurrence": "every week on Monday, Friday"}),
    ("a 🔁 every day 📅 2026-01-31 ^id", {"recurrence": "every day", "due": "2026-01-31"}),
    ("a [due:: 2026-01-31] (priority:: Highest)", {"due": "2026-01-31", "priority": "highest"}),
    ("a [Due::2026-01-31T10:00] [repeat:: every month]", {"due": "2026-01-31", "recurrence": "every month"}),
    ("a [due:: [[2026-01-31]]] [completion:: 2026-02-01]", {"due": "2026-01-31", "done": "2026-02-01"}),
    ("two 📅 2026-01-31 📅 2026-02-01", {"due": "2026-01-31"}),
    ("`📅 2026-01-31` in code", {}),
    ("no date 📅 2026-13-31 [due:: soon] 📅 2026-01-311 due:: 2026-01-31", {}),
    ("[overdue:: 2026-01-31] [due: 2026-01-31]", {}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "fields"), READ)
def test_fields_are_read_in_both_forms(text: str, fields: dict[str, str]) -> None:
    assert first_fields(text) == fields


SET = [
    ("water", "water 📅 2026-05-01"),
    ("water ^id", "water 📅 2026-05-01 ^id"),
    ("water  ", "water 📅 2026-05-01  "),
    ("", "📅 2026-05-01"),
    ("water 📆\ufe0f  2026-01-31 #x", "water 📆\ufe0f  2026-05-01 #x"),
    ("water ⏫", "water ⏫ 📅 2026-05-01"),
    ("water (due:: 2026-01-31) more", "water (due:: 2026-05-01) more"),
    ("water [due:: [[2026-01-31]]]", "water [due:: [[2026-05-01]]]"),
    ("water [start:: 2026-01-31] ^id", "water [start:: 2026-01-31]  [due:: 2026-05-01] ^id"),
]


@pytest.mark.parametrize(("text", "expected"), SET)
def test_a_date_is_set_where_it_is_or_added_as_the_others_are_written(text: str, expected: str) -> None:
    assert with_date(text, "due", "2026-05-01") == expected
    assert first_fields(expected)["due"] == "2026-05-01"


def test_a_task_without_fields_gets_the_form_that_is_asked_for() -> None:
    assert with_date("water", "due", "2026-05-01", inline=True) == "water  [due:: 2026-05-01]"


def test_a_date_is_removed_with_the_space_before_it() -> None:
    assert without_date("water 📅 2026-01-31 ⏫ ^id", "due") == "water ⏫ ^id"
    assert without_date("📅 2026-01-31 water", "due") == "water"
    assert without_date("a [due:: 2026-01-31] 📅 2026-01-30", "due") == "a"
    assert without_date("a 📅 2026-01-31b", "due") == "a b"
    assert without_date("a📅 2026-01-31b", "due") == "a b"
    assert without_date("a ✅ 2026-01-31 📅 2026-01-30 ❌ 2026-01-01", "done", "cancelled") == "a 📅 2026-01-30"


_WORDS = (
    "water| |  |\t|#tag|^id|`|[|]|(|)|[[Note]]|📅|2026-01-31|due::|⏫|🔁 every day|é|\u00a0|❌|::|,|]]|[priority:: low]"
)
_FIELDS = (
    "📅 2026-01-31|[due:: 2026-01-31]|(due:: 2026-02-30)|✅ 2026-01-01|[completion:: 2026-01-01]|🗓\ufe0f2026-03-04"
)
PIECES = st.sampled_from([*_WORDS.split("|"), *_FIELDS.split("|")])


@given(st.lists(PIECES, max_size=8).map("".join))
def test_setting_and_removing_a_date_keeps_all_other_characters(text: str) -> None:
    had = first_fields(text)
    after = with_date(text, "due", "2031-07-09")
    if "due" in had:
        assert after.replace("2031-07-09", had["due"], 1) == text
    else:
        # The addition is one piece: without it the text is as before.
        added = re.search(r"(?:^| {1,2})(?:📅 2031-07-09|\[due:: 2031-07-09\])", after)
        assert added is not None
        assert after[: added.start()] + after[added.end() :] == text
    without = without_date(text, "due")
    spans = [field for field in task_fields(text) if field.name == "due"]
    kept = "".join(text[start:end] for start, end in _between(spans, len(text)))
    assert re.sub(r"[ \t]", "", without) == re.sub(r"[ \t]", "", kept)


def _between(spans: list[TaskField], length: int) -> list[tuple[int, int]]:
    places = [0, *(place for span in spans for place in (span.start, span.end)), length]
    return list(zip(places[::2], places[1::2], strict=True))
