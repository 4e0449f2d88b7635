"""What took a call for each note, change or day, in one: the tools of the standard set that take several."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from support.calls import call, refusal
from support.killing import tree
from support.vaults import open_vault, write_vault
from vaultwire.vault.errors import INVALID_ARGUMENTS, UNDO_CONFLICT

VAULT = """
=== Work/Plan.md
---
status: open
due: 2026-03-12
tags: [project]
people: [Ann, Bob|by]
---
# The plan

First do this.
=== Work/Report.md
---
status: done
---
see [[Plan]]
=== Home.md
[[Report]]
=== pic.png
=== Days/2026-03-09.md
nine
=== Days/2026-03-11.md
eleven
=== .obsidian/daily-notes.json
{"folder": "Days"}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


def text_of(root: Path, tool: str, **arguments: object) -> list[str]:
    vault = open_vault(root, today=lambda: date(2026, 3, 11))
    return "\n".join(call(vault, tool, **arguments).texts).split("\n")


def test_notes_are_found_with_columns(root: Path) -> None:
    assert text_of(root, "find_notes", folder="Work", show=["status", "due", "people", "title", "description"]) == [
        "2 notes found:",
        "path | status | due | people | title | description",
        "Work/Plan.md | open | 2026-03-12 | Ann, Bob\\|by | The plan | First do this.",
        "Work/Report.md | done |  |  | Report | see [[Plan]]",
    ]
    outcome = call(open_vault(root), "find_notes", name="Plan", show=["Status", "tags", "size", "nothing"])
    assert outcome.data["notes"][0]["columns"] == [
        {"name": "Status", "values": ["open"]},
        {"name": "tags", "values": ["project"]},
        {"name": "size", "values": [str((root / "Work/Plan.md").stat().st_size)]},
    ]


def test_several_notes_move_at_once(root: Path) -> None:
    vault = open_vault(root)
    before = tree(root)
    outcome = call(vault, "move_notes", paths=["Home", "pic.png", "Work/"], to="Archive")
    assert outcome.texts[0].startswith("Done: moved 4 files to Archive, ")
    assert (outcome.data["path"], outcome.data["moved_files"]) == ("Archive", 4)
    assert sorted(path.name for path in (root / "Archive").iterdir()) == ["Home.md", "Work", "pic.png"]
    undone = call(vault, "undo_changes", since="1h")
    assert undone.texts[0].startswith('Done: 1 change undone. Undo: undo_changes {"changes":[2]}')
    assert tree(root) == before


def test_changes_are_listed_and_undone_since_a_time(root: Path) -> None:
    vault = open_vault(root)
    before = tree(root)
    for number in range(3):
        call(vault, "edit_note", path="Home", edits=[{"action": "append", "content": f"line {number}"}])
    assert len(call(vault, "list_changes", since="1h").data["changes"]) == 3
    assert call(vault, "list_changes", since="2200-01-01").data["changes"] == []
    dry = call(vault, "undo_changes", since="1h", dry_run=True)
    assert (dry.data["changed"], dry.data["undone_count"]) == (False, 3)
    undone = call(vault, "undo_changes", since="today")
    lines = undone.texts[0].split("\n")
    assert lines[0] == 'Done: 3 changes undone. Undo: undo_changes {"changes":[4]}'
    assert [line.split()[0] for line in lines[2:]] == ["3", "2", "1"]
    assert tree(root) == before
    assert call(vault, "undo_changes", since="1h").texts == ["Nothing to undo: no change made since 1h still holds."]
    assert call(vault, "list_changes").data["changes"][0]["undoes_also"] == [2, 1]
    assert refusal(vault, "undo_changes", changes=[1, 2])[0] == UNDO_CONFLICT


def test_folders_are_a_tree(root: Path) -> None:
    assert text_of(root, "vault_overview", what="folders") == [
        "(top)  5 notes, 1 directly in it, 1 attachment",
        "  Days/  2 notes",
        "  Work/  2 notes",
    ]
    assert text_of(root, "vault_overview", what="folders", limit=2)[-2:] == [
        "  Days/  2 notes",
        "To see more, pass folder or a larger limit.",
    ]


def test_list_links_says_which_argument_is_missing_or_too_many(root: Path) -> None:
    vault = open_vault(root)
    assert refusal(vault, "list_links", what="in")[1] == 'what "in" needs path.'
    assert refusal(vault, "list_links", path="Plan", to="Plan")[1] == 'what "out" needs path; leave out to.'


def test_related_notes_are_among_the_questions_on_links(root: Path) -> None:
    outcome = call(open_vault(root), "list_links", path="Plan", what="related")
    assert outcome.data["notes"][0]["path"] == "Work/Report.md"
    assert outcome.texts == call(open_vault(root), "list_links", path="Plan", what="related").texts


def test_the_daily_notes_of_a_range_are_read_at_once(root: Path) -> None:
    lines = text_of(root, "read_notes", paths=["last 3 days", "Home"])
    assert lines[-1] == "last 3 days: 2 daily notes of 3 days. None for 2026-03-10."
    vault = open_vault(root, today=lambda: date(2026, 3, 11))
    read = call(vault, "read_notes", paths=["2026-03-09..2026-03-11"])
    assert [note["path"] for note in read.data["notes"]] == ["Days/2026-03-09.md", "Days/2026-03-11.md"]
    assert refusal(vault, "read_notes", paths=["2024-01-01..2026-01-01"])[0] == INVALID_ARGUMENTS
    write_vault(root, "=== last 3 days.md\na note of this name\n")
    assert "a note of this name" in "\n".join(call(vault, "read_notes", paths=["last 3 days"]).texts)


def test_a_longer_time_is_its_own_note_and_then_its_daily_notes(root: Path) -> None:
    vault = open_vault(root, today=lambda: date(2026, 3, 11))
    daily = ["Days/2026-03-09.md", "Days/2026-03-11.md"]
    week = call(vault, "read_notes", paths=["this week"])
    assert [note["path"] for note in week.data["notes"]] == daily
    assert week.texts[-1].startswith("this week: 2 daily notes of 7 days. None for 2026-03-10, ")
    write_vault(root, "=== 2026-W11.md\nthe week's own note\n=== 2025.md\nlast year\n=== 2025-12.md\n")
    week = call(vault, "read_notes", paths=["this week"])
    assert [note["path"] for note in week.data["notes"]] == ["2026-W11.md", *daily]
    assert week.texts[-1].startswith("this week: the weekly note and 2 daily notes of 7 days. None for 2026-03-10, ")
    assert call(vault, "read_notes", paths=["last year"]).texts[-1] == "last year: the yearly note and no daily notes."
    write_vault(root, "".join(f"=== Days/2025-{month:02}-{day:02}.md\n" for month in (1, 2, 3) for day in range(1, 29)))
    year = call(vault, "read_notes", paths=["last year"])
    assert [note["path"] for note in year.data["notes"]] == ["2025.md"]
    assert year.texts[-1].startswith("last year: the yearly note and 84 daily notes, which are not shown.")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("2026-01-01..2026-01-31", "No daily notes from 2026-01-01 to 2026-01-31."),
        ("last month", "No daily notes from 2026-02-01 to 2026-02-28, and no monthly note."),
        ("2024-W01", "No daily notes from 2024-01-01 to 2024-01-07, and no weekly note."),
    ],
)
def test_days_without_any_note_are_told_without_a_way_to_make_them(root: Path, asked: str, said: str) -> None:
    outcome = call(open_vault(root, today=lambda: date(2026, 3, 11)), "read_notes", paths=[asked])
    assert (outcome.texts, outcome.data["notes"]) == ([said], [])


def test_eight_related_notes_are_shown_unless_more_are_asked_for(tmp_path: Path) -> None:
    vault = open_vault(
        write_vault(tmp_path, "=== Plan.md\nx\n" + "".join(f"=== {n}.md\n[[Plan]]\n" for n in range(12)))
    )
    assert len(call(vault, "list_links", path="Plan", what="related").data["notes"]) == 8
    assert len(call(vault, "list_links", path="Plan", what="related", limit=20).data["notes"]) == 12
