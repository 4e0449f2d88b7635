"""The daily note: found where Obsidian's settings say, never made, and what there is to know if it is not there."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support.calls import load_tools
from support.schemas import hold_to
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.toolkit.catalog import load_catalog
from vaultwire.toolkit.registry import Failure, Outcome, invoke
from vaultwire.vault.errors import VaultError
from vaultwire.vault.value_types import NO_PROGRESS

VAULT = """
=== .obsidian/daily-notes.json
{"folder": "Journal", "format": "YYYY/DD.MM.", "template": "Templates/Daily"}
=== Templates/Daily.md
# {{date}}
=== journal/2026/30.03..md
Monday.
=== journal/2026/31.03..md
Tuesday.
=== journal/2025/31.12..md
Old.
=== journal/2026/Plan.md
=== 2026/01.04..md
Not below the folder.
"""
TODAY = date(2026, 3, 31)
(READ_NOTES,) = [tool for tool in load_tools() if tool.name == "read_notes"]
(DESCRIPTION,) = [description for description in load_catalog() if description["name"] == "read_notes"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


def invoked(root: Path, day: str = "today", **arguments: Any) -> Outcome[Any] | Failure:
    asked = {"paths": [day], **arguments}
    return invoke(READ_NOTES, DESCRIPTION, asked, open_vault(root, today=lambda: TODAY), NO_PROGRESS)


def ask(root: Path, **arguments: Any) -> tuple[list[str], dict[str, Any]]:
    """Return the texts of an answer and the data of its one note; the data fits the tool's schema."""
    outcome = invoked(root, **arguments)
    assert isinstance(outcome, Outcome), outcome
    hold_to(outcome.data, DESCRIPTION["outputSchema"])
    (note,) = outcome.data["notes"]
    return outcome.texts, note


def test_todays_note_is_read_where_the_settings_say_with_its_neighbours(root: Path) -> None:
    texts, data = ask(root)
    etag = open_vault(root).read("journal/2026/31.03..md").etag
    assert data == {
        "name": "today",
        "path": "journal/2026/31.03..md",  # as the disk spells it
        "content": "Tuesday.\n",
        "last_line": 1,
        "total_lines": 1,
        "etag": etag,
        "previous": "journal/2026/30.03..md",
    }
    assert texts[0] == "Tuesday.\n"
    assert texts[1].splitlines() == [
        f"Daily note of 2026-03-31: (journal/2026/31.03..md, 9 bytes, etag {etag})",
        "Before it: journal/2026/30.03..md. After it: none.",
    ]


DAYS = [
    # day, path, note before, note after
    ("Yesterday", "journal/2026/30.03..md", "journal/2025/31.12..md", "journal/2026/31.03..md"),
    ("-1", "journal/2026/30.03..md", "journal/2025/31.12..md", "journal/2026/31.03..md"),
    ("2025-12-31", "journal/2025/31.12..md", None, "journal/2026/30.03..md"),
    ("2026-02-01", "journal/2026/01.02..md", "journal/2025/31.12..md", "journal/2026/30.03..md"),
    ("2027-01-01", "journal/2027/01.01..md", "journal/2026/31.03..md", None),
]


@pytest.mark.parametrize(("day", "path", "previous", "following"), DAYS)
def test_a_day_is_named_as_people_do_and_notes_are_in_the_order_of_days(
    root: Path, day: str, path: str, previous: str | None, following: str | None
) -> None:
    _, data = ask(root, day=day)
    assert (data["path"], data.get("previous"), data.get("next")) == (path, previous, following)
    assert ("content" in data) is (root / path).exists()


def test_a_note_that_is_not_there_is_not_made_and_the_way_to_make_it_is_said(root: Path) -> None:
    before = snapshot(root)
    (text,), data = ask(root, day="tomorrow")
    assert snapshot(root) == before
    assert text.splitlines()[0] == (
        "There is no daily note of 2026-04-01 yet. append_daily_note makes 'journal/2026/01.04..md' from Templates/Daily.md "
        "to add to it."
    )
    assert data["error"] == "FILE_NOT_FOUND"
    assert not {"content", "etag"} & set(data)


def test_what_it_says_makes_it(root: Path) -> None:
    vault = open_vault(root, today=lambda: TODAY)
    vault.writing.append_periodic("tomorrow", "April.", "", NO_PROGRESS, dry_run=False)
    assert ask(root, day="tomorrow")[1]["content"] == "# 2026-04-01\nApril.\n"


def test_without_settings_it_lies_in_the_vault_itself(tmp_path: Path) -> None:
    _, data = ask(write_vault(tmp_path, "=== 2026-03-31.md\n\n=== 2026-03-29.md\n=== deep/2026-03-30.md\n"))
    assert (data["path"], data["previous"], data["content"]) == ("2026-03-31.md", "2026-03-29.md", "\n")


def test_settings_are_taken_as_they_are_now(root: Path) -> None:
    vault = open_vault(root, today=lambda: TODAY)
    assert vault.overview.periodic_note("today").exists
    (root / ".obsidian" / "daily-notes.json").write_text('{"folder": "Elsewhere", "template": "gone"}')
    found = vault.overview.periodic_note("today")
    assert (found.path, found.exists, found.template) == ("Elsewhere/2026-03-31.md", False, None)


def test_a_long_note_is_cut_and_its_etag_says_so(root: Path) -> None:
    (root / "journal/2026/31.03..md").write_text("line\n" * 1000)
    texts, data = ask(root, max_tokens=250)
    assert len(data["content"]) == 1000
    assert data["etag"].endswith("-part")
    assert "read on with lines '201-1000' of read_note" in texts[1]


@pytest.mark.parametrize("day", ["some day", "2026-02-30", "31.03.2026"])
def test_a_day_that_is_none_is_refused(root: Path, day: str) -> None:
    with pytest.raises(VaultError) as refused:
        open_vault(root, today=lambda: TODAY).overview.periodic_note(day)
    assert refused.value.code == "INVALID_ARGUMENTS"
    assert "'yesterday'" in refused.value.message


def test_settings_that_name_no_note_are_named(root: Path) -> None:
    (root / ".obsidian" / "daily-notes.json").write_text('{"folder": "../elsewhere"}')
    outcome = invoked(root)
    assert isinstance(outcome, Failure)
    assert outcome.code == "PATH_OUTSIDE_VAULT"
    assert "daily-notes.json" in outcome.message


PERIODIC = """
=== .obsidian/plugins/periodic-notes/data.json
{"daily": {"format": "", "folder": "", "template": ""},
 "weekly": {"enabled": true, "format": "GGGG-[W]WW", "folder": "Weeks", "template": "Templates/Week.md"},
 "monthly": {"enabled": false, "format": "[M]YYYY-MM", "folder": "Months", "template": ""},
 "yearly": {"enabled": true, "format": "", "folder": "", "template": "Templates/Year"}}
=== Templates/Week.md
# {{title}} {{date}} {{ Sunday : D.M.YYYY }} {{monday:DD}} {{date:DD}} {{date+1w:[W]W}} {{time}} {{yesterday}} {{other}}
=== Templates/Year.md
{{year}} {{year-1y}} {{date+1m:MMM}} {{month}}
=== Weeks/2026-W12.md
=== Weeks/2026-W15.md
=== Weeks/2026-W99.md
=== 2026-02.md
February.
"""


def test_a_weeks_note_is_looked_for_where_periodic_notes_says_and_its_neighbours_are_named(tmp_path: Path) -> None:
    outcome = invoked(write_vault(tmp_path, PERIODIC), day="this week")
    assert isinstance(outcome, Outcome)
    (text,) = outcome.texts
    assert text.startswith("No daily notes from 2026-03-30 to 2026-04-05, and no weekly note. ")
    assert text.endswith(" Before it: Weeks/2026-W12.md. After it: Weeks/2026-W15.md.")
    found = open_vault(tmp_path, today=lambda: TODAY).overview.periodic_note("this week")
    assert (found.path, found.exists, found.template) == ("Weeks/2026-W14.md", False, "Templates/Week.md")


def test_a_period_that_is_not_switched_on_has_the_usual_name(tmp_path: Path) -> None:
    texts, data = ask(write_vault(tmp_path, PERIODIC), day="last month")
    assert (data["path"], data["content"]) == ("2026-02.md", "February.\n")
    assert texts[-1].startswith("last month: the monthly note and no daily notes.")


@pytest.mark.parametrize("day", ["2026-W14", "week", "+0 weeks"])
def test_lines_go_to_a_weeks_note_made_from_its_template(tmp_path: Path, day: str) -> None:
    vault = open_vault(write_vault(tmp_path, PERIODIC), today=lambda: TODAY)
    made = vault.writing.append_periodic(day, "- done", "", NO_PROGRESS, dry_run=False)
    assert (made.path, made.is_new, made.done.notices) == ("Weeks/2026-W14.md", True, [])
    text = (tmp_path / made.path).read_text(encoding="utf-8")
    assert text == "# 2026-W14 2026-W14 5.4.2026 30 30 W15 12:00 {{yesterday}} {{other}}\n- done\n"


def test_a_years_template_has_its_year_and_steps_from_it(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, PERIODIC), today=lambda: TODAY)
    vault.writing.append_periodic("2026", "x", "", NO_PROGRESS, dry_run=False)
    assert (tmp_path / "2026.md").read_text(encoding="utf-8") == "2026 2025 Feb {{month}}\nx\n"


def test_where_nothing_is_set_for_a_period_the_answer_says_so(tmp_path: Path) -> None:
    vault = open_vault(write_vault(tmp_path, PERIODIC), today=lambda: TODAY)
    made = vault.writing.append_periodic("this quarter", "x", "", NO_PROGRESS, dry_run=False)
    assert made.path == "2026-Q1.md"
    assert made.done.notices == [
        "Obsidian has no settings for quarterly notes: the note has the default name and lies at the top of the vault."
    ]
