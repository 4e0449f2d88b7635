"""What models ask for at the first try, and small things that they read: each is taken, found or said as they expect."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.calls import call, refusal
from support.vaults import open_vault, write_vault
from vaultwire.vault.days import parse_day
from vaultwire.vault.vault import Vault

VAULT = """
=== .obsidian/templates.json
{"folder": "Templates"}
=== Templates/Meeting.md
- [ ] prepare
- [x] invite
=== Plan.md
- [ ] write [[Nowhere]]
- [x] read ![[lost.png]]
=== Books/Reading list.md
---
status: open
rating: 4
---
=== Books/Reading.base
views:
  - {type: table, name: All}
=== Reading board.canvas
{"nodes":[],"edges":[]}
=== 2026-03-30.md
=== Chapter 3.md
"""
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")


@pytest.fixture
def vault(tmp_path: Path) -> Vault:
    return open_vault(write_vault(tmp_path, VAULT))


@pytest.mark.parametrize(("status", "texts"), [("open", ["write [[Nowhere]]"]), ("completed", ["read ![[lost.png]]"])])
def test_tasks_have_the_words_that_people_have(vault: Vault, status: str, texts: list[str]) -> None:
    assert [task["text"] for task in call(vault, "list_tasks", status=status).data["tasks"]] == texts


def test_tasks_of_templates_are_not_counted_unless_they_are_asked_for(vault: Vault) -> None:
    assert call(vault, "list_tasks", status="any").data["total"] == 2
    assert call(vault, "list_tasks", status="any", text="e", sort="due").data["total"] == 2
    stats = call(vault, "vault_overview").data["stats"]
    assert (stats["tasks_open"], stats["tasks_done"]) == (1, 1)
    assert call(vault, "list_tasks", folder="Templates").data["total"] == 1
    assert call(vault, "list_tasks", path="Templates/Meeting").data["total"] == 1


def test_a_name_finds_bases_and_canvases_too(vault: Vault) -> None:
    found = call(vault, "find_notes", name="reading")
    assert found.data["files"] == ["Books/Reading.base", "Reading board.canvas"]
    assert found.texts[0].splitlines()[1].startswith("Books/Reading list.md  ")
    assert found.texts[0].splitlines()[2:] == found.data["files"]
    assert call(vault, "find_notes", name="reading", folder="Books").data["files"] == ["Books/Reading.base"]
    assert "files" not in call(vault, "find_notes", name="reading", properties=["rating"]).data


@pytest.mark.parametrize(
    "properties", [{"status": "open"}, {"rating": ">=4", "status": None}, {"rating": 4, "status": "!=done"}]
)
def test_conditions_may_be_an_object(vault: Vault, properties: dict[str, object]) -> None:
    expected = 0 if None in properties.values() else 1
    assert call(vault, "find_notes", properties=properties).data["total"] == expected


@pytest.mark.parametrize("name", ["2026-03-31", "Chapter 4", "2025-03-30"])
def test_another_day_or_number_is_no_typing_error(vault: Vault, name: str) -> None:
    assert "Did you mean" not in refusal(vault, "read_note", path=name)[1]
    assert "Did you mean" not in call(vault, "read_notes", paths=[name, "Plan"]).texts[1]
    assert "Did you mean: Chapter 3.md" in refusal(vault, "read_note", path="Chaptr 3")[1]


def test_the_files_with_faults_are_counted(vault: Vault) -> None:
    found = call(vault, "check_notes")
    assert found.texts[0].splitlines()[0] == f"2 faults in 1 of {found.data['files_total']} files:"


@pytest.mark.parametrize(
    ("moves", "old"),
    [
        ([("Plan", "Project")], "Plan"),
        ([("Plan", "Project"), ("Project", "Deep/Final")], "plan.md"),
        ([("Plan", "Project"), ("Project", "Deep/Final"), ("Deep/", "Deeper")], "[[Plan]]"),
        ([("Books/", "Library"), ("Library/Reading list", "./To read")], "Reading list"),
    ],
)
def test_an_old_name_leads_to_the_new_one(vault: Vault, moves: list[tuple[str, str]], old: str) -> None:
    for path, to in moves:
        new = call(vault, "move_notes", paths=[path], to=to).data["path"]
    if moves[-1][0] == "Deep/":
        new = "Deeper/Final.md"
    assert f"It was renamed: it is {new!r} now." in refusal(vault, "read_note", path=old)[1]
    assert repr(new) in call(vault, "read_notes", paths=[old, "2026-03-30"]).texts[1]
    assert repr(new) in refusal(vault, "edit_note", path=old, edits=[{"action": "append", "content": "x"}])[1]
    call(vault, "delete_note", path=new)
    assert "renamed" not in refusal(vault, "read_note", path=old)[1]


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.sampled_from(DAYS))
def test_a_day_of_the_week_is_the_next_or_the_last_one(today: date, name: str) -> None:
    after, before, this = (parse_day(f"{which} {name}", today) for which in ("next", "last", "this"))
    assert {DAYS[day.weekday()] for day in (after, before, this)} == {name}
    assert timedelta(1) <= after - today <= timedelta(7)
    assert timedelta(1) <= today - before <= timedelta(7)
    assert this.isocalendar()[:2] == today.isocalendar()[:2]
