"""Tasks by their due dates, and set: what the tools tell and do to the files, and how it is undone."""

from __future__ import annotations

from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.app.engine import open_index
from vaultwire.markdown.parse import parse_note
from vaultwire.markdown.task_fields import first_fields
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, POLICY_DENIED, STALE_EDIT, TEXT_NOT_FOUND
from vaultwire.vault.search.filters import TaskFilter
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

TODAY = date(2026, 3, 31)  # a Tuesday

VAULT = """
=== Home.md
# Beds
- [ ] water 📅 2026-03-30 ⏫
- [ ] dig
- [ ] plant [due:: 2026-04-02] 🔁 every year
- [x] rake 📅 2026-03-01 ✅ 2026-03-02
=== Sub/Work.md
- [ ] report 📅 2026-03-31
- [ ] invoice 📅 2026-01-15 🛫 2026-01-01 ⏳ 2026-01-10
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def vault(root: Path, tmp_path: Path) -> Vault:
    return open_vault(root, today=lambda: TODAY, state=tmp_path / "state")


def listed(vault: Vault, **arguments: Any) -> list[str]:
    return [task["text"].split()[0] for task in call(vault, "list_tasks", **arguments).data["tasks"]]


def test_a_task_is_listed_with_its_dates_its_priority_and_how_it_repeats(vault: Vault) -> None:
    tasks = call(vault, "list_tasks", status="any").data["tasks"]
    facts = [
        {key: task[key] for key in task if key not in ("path", "line", "mark", "text", "heading")} for task in tasks
    ]
    assert facts == [
        {"due": "2026-03-30", "priority": "high"},
        {},
        {"due": "2026-04-02", "recurrence": "every year"},
        {"due": "2026-03-01", "done": "2026-03-02"},
        {"due": "2026-03-31"},
        {"due": "2026-01-15", "start": "2026-01-01", "scheduled": "2026-01-10"},
    ]


@pytest.mark.parametrize(
    ("due", "expected"),
    [
        ("overdue", ["water", "invoice"]),
        ("OVERDUE ", ["water", "invoice"]),
        ("any", ["water", "plant", "report", "invoice"]),
        ("none", ["dig"]),
        ("today", ["report"]),
        ("this week", ["water", "plant", "report"]),
        ("2026-W14", ["water", "plant", "report"]),
        ("2026-01", ["invoice"]),
        ("<today", ["water", "invoice"]),
        ("<=today", ["water", "report", "invoice"]),
        ("> today", ["plant"]),
        (">=+2", ["plant"]),
        (">=2026-03-30 <2026-04-01", ["water", "report"]),
        (">=2026-03-30, <= 2026-03", ["water", "report"]),
        (">2026-03", ["plant"]),
    ],
)
def test_tasks_are_found_by_their_due_dates(vault: Vault, due: str, expected: list[str]) -> None:
    assert listed(vault, due=due) == expected


def test_a_week_is_the_one_that_the_weekly_notes_have(vault: Vault, root: Path) -> None:
    sunday, monday = (open_vault(root, today=partial(date, 2026, 3, day)) for day in (29, 30))
    assert listed(sunday, due="next week") == listed(monday, due="this week") == ["water", "plant", "report"]
    weekly = '{"weekly": {"enabled": true, "format": "gggg-[W]ww", "folder": "", "template": ""}}'
    write_vault(root, f"=== .obsidian/plugins/periodic-notes/data.json\n{weekly}\n")
    write_vault(root, '=== .obsidian/community-plugins.json\n["periodic-notes"]\n')
    assert listed(open_vault(root, today=lambda: date(2026, 3, 29)), due="this week") == ["water", "plant", "report"]


@pytest.mark.parametrize("due", ["soon", "<", "<soon", "today <today", "0001-01-01 or so", "<0001-01-01"])
def test_a_due_date_that_is_none_is_refused_with_what_would_be_one(vault: Vault, due: str) -> None:
    code, message = refusal(vault, "list_tasks", due=due)
    assert code == INVALID_ARGUMENTS
    assert message.startswith("due: ")
    assert "'<today'" in message


def test_the_soonest_tasks_come_first_and_those_without_a_date_last(vault: Vault) -> None:
    assert listed(vault, sort="due") == ["invoice", "water", "report", "plant", "dig"]
    assert listed(vault, sort="due", due="any", limit=2) == ["invoice", "water"]
    lines = call(vault, "list_tasks", sort="due", due="<=today").texts[0].splitlines()
    assert lines[1:] == [
        "Sub/Work.md",
        "  2: [ ] invoice 📅 2026-01-15 🛫 2026-01-01 ⏳ 2026-01-10",
        "Home.md",
        "  2: [ ] water 📅 2026-03-30 ⏫  (# Beds)",
        "Sub/Work.md",
        "  1: [ ] report 📅 2026-03-31",
    ]


_PIECES = "a|#t|📅 2026-03-01|📆2026-03-02|[due:: 2026-03-03]|(Due::2026-03-04)|`📅 2026-03-01`"
_MORE_PIECES = "🗓\ufe0f 2026-03-05|✅ 2026-03-06|::|📅"
TEXTS = st.lists(st.sampled_from([*_PIECES.split("|"), *_MORE_PIECES.split("|")]), max_size=3).map(" ".join)
BOUNDS = st.sampled_from(["", "2026-03-02", "2026-03-03", "2026-03-04"])


@given(
    notes=st.lists(st.lists(st.tuples(st.sampled_from(" x"), TEXTS), max_size=4), min_size=1, max_size=4),
    wanted=st.builds(
        TaskFilter,
        mark=st.none(),
        text=st.just(""),
        due_from=st.just(""),
        due_until=st.just(""),
        is_done=st.sampled_from([None, False]),
        tag=st.sampled_from(["", "t"]),
        has_due=st.sampled_from([None, True, False]),
        by_due=st.booleans(),
    ),
    bounds=st.tuples(BOUNDS, BOUNDS),
)
def test_lists_by_due_date_are_those_of_reading_all_notes(
    tmp_path_factory: pytest.TempPathFactory,
    notes: list[list[tuple[str, str]]],
    wanted: TaskFilter,
    bounds: tuple[str, str],
) -> None:
    root = tmp_path_factory.mktemp("vault")
    if wanted.has_due:
        wanted = wanted._replace(due_from=bounds[0], due_until=bounds[1])
    expected: list[tuple[str, str, int]] = []
    for number, tasks in enumerate(notes):
        text = "".join(f"- [{mark}] {task}\n" for mark, task in tasks)
        (root / f"{number}.md").write_text(text, encoding="utf-8")
        for task in parse_note(text).tasks:
            due = first_fields(task.text).get("due", "")
            has_tag = "#t" in task.text.split()
            if (wanted.is_done is None or task.mark == " ") and (has_tag or not wanted.tag) and wanted.accepts_due(due):
                expected.append((due, f"{number}.md", task.line))
    if wanted.by_due:
        expected.sort(key=lambda each: (each[0] or "9", *each[1:]))
    found = open_index(Files(str(root), 10_000), None).tasks(wanted, None, None, NO_PROGRESS).all()
    assert [(task.path, task.line) for task in found] == [each[1:] for each in expected]


def test_tasks_of_several_notes_are_set_in_one_change_and_taken_back_in_one(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    done = call(
        vault,
        "set_task",
        tasks=[
            {"path": "Home", "text": "water", "status": "done"},
            {"path": "Home", "text": "dig", "due": "+7"},
            {"path": "Sub/Work.md", "text": "invoice", "line": 2, "status": "done", "due": "none"},
        ],
    )
    assert (root / "Home.md").read_text(encoding="utf-8").splitlines()[1:3] == [
        "- [x] water 📅 2026-03-30 ⏫ ✅ 2026-03-31",
        "- [ ] dig 📅 2026-04-07",
    ]
    lines = done.texts[0].splitlines()
    assert lines[0] == f'Done: 3 tasks set. Undo: undo_changes {{"changes":[{done.data["change"]}]}}'
    assert lines[-1] == "Sub/Work.md:2: [x] invoice 🛫 2026-01-01 ⏳ 2026-01-10 ✅ 2026-03-31"
    assert done.data["file_count"] == 2
    call(vault, "undo_changes", changes=[done.data["change"]])
    assert snapshot(root) == before


def test_a_dry_run_shows_the_lines_and_changes_nothing(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    shown = call(vault, "set_task", tasks=[{"path": "Home", "text": "dig", "status": "done"}], dry_run=True)
    assert "+- [x] dig" in shown.texts[1]
    assert snapshot(root) == before


def test_a_task_that_repeats_is_told_of(vault: Vault) -> None:
    done = call(vault, "set_task", tasks=[{"path": "Home", "text": "plant", "status": "done"}])
    assert done.texts[0].splitlines()[1:] == [
        (
            "Home.md: 'plant [due:: 2026-04-02] 🔁 every year  [completion:: 2026-03-31]' repeats (every year). "
            "The next one is on the line above it: 'plant [due:: 2027-04-02] 🔁 every year'."
        ),
        "Home.md:5: [x] plant [due:: 2026-04-02] 🔁 every year  [completion:: 2026-03-31]",
    ]


def test_a_line_as_listed_is_enough_if_it_holds_a_task(vault: Vault, root: Path) -> None:
    before = snapshot(root)
    assert refusal(vault, "set_task", tasks=[{"path": "Home", "line": 1, "status": "done"}])[0] == TEXT_NOT_FOUND
    assert refusal(vault, "set_task", tasks=[{"path": "Home", "status": "done"}])[0] == INVALID_ARGUMENTS
    assert refusal(vault, "set_task", tasks=[{"path": "Home", "line": 3, "text": "fly", "status": "done"}])[0] == (
        TEXT_NOT_FOUND
    )
    assert snapshot(root) == before
    done = call(vault, "set_task", tasks=[{"path": "Home", "line": 3, "status": "done"}])
    assert "Home.md:3: [x] dig" in done.texts[0]
    assert "- [x] dig\n" in (root / "Home.md").read_text(encoding="utf-8")


def test_tasks_by_their_lines_are_set_in_the_state_that_was_read(vault: Vault, root: Path) -> None:
    by_line = [{"path": "Home", "line": 3, "status": "done"}]
    etag = call(vault, "read_note", path="Home").data["etag"]
    assert refusal(vault, "set_task", tasks=by_line, if_match="0" * 16)[0] == STALE_EDIT
    assert refusal(
        vault, "set_task", tasks=[*by_line, {"path": "Work", "text": "report", "due": "none"}], if_match=etag
    )[0] == (INVALID_ARGUMENTS)
    call(vault, "set_task", tasks=by_line, if_match=etag)
    assert "- [x] dig\n" in (root / "Home.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("task", "code"),
    [
        ({"path": "Home", "text": "fly", "status": "done"}, TEXT_NOT_FOUND),
        ({"path": "Home", "text": "dig"}, INVALID_ARGUMENTS),
        ({"path": "Home", "text": "dig", "status": "finished"}, INVALID_ARGUMENTS),
        ({"path": "Home", "text": "dig", "due": "this week"}, INVALID_ARGUMENTS),
        ({"path": "Nobody", "text": "dig", "due": "today"}, FILE_NOT_FOUND),
    ],
)
def test_what_cannot_be_done_changes_nothing(vault: Vault, root: Path, task: dict[str, str], code: str) -> None:
    before = snapshot(root)
    good = {"path": "Sub/Work.md", "text": "report", "status": "done"}
    assert refusal(vault, "set_task", tasks=[good, task])[0] == code
    assert snapshot(root) == before


def test_the_policy_holds_for_tasks(root: Path, tmp_path: Path) -> None:
    rules = PathRules(write=(Rule("write", "/Other.md", 1),), deny=(Rule("deny", "Sub/", 2),))
    restrained = open_vault(root, today=lambda: TODAY, state=tmp_path / "state", rules=rules)
    assert listed(restrained, due="any") == ["water", "plant"]
    code, _ = refusal(restrained, "set_task", tasks=[{"path": "Sub/Work.md", "text": "report", "status": "done"}])
    assert code == FILE_NOT_FOUND
    assert (
        refusal(restrained, "set_task", tasks=[{"path": "Home", "text": "dig", "status": "done"}])[0] == POLICY_DENIED
    )
