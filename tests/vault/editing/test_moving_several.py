"""Several files and folders moved as one change: all or none, one undo, and the person asked once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.killing import tree
from support.refusals import refusal, refused
from support.vaults import open_vault, write_vault
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOT_READ, NOTE_EXISTS, POLICY_DENIED
from vaultwire.vault.value_types import NO_PROGRESS, Confirmation, NoProgress
from vaultwire.vault.vault import Vault

VAULT = """
=== Plan.md
see [[Task]] and [[Sub/Note]]
=== Task.md
back to [[Plan]], [x](./Sub/Note.md), [[/Plan]]
=== Sub/Note.md
[[Task]] ![[Picture.png]]
=== Picture.png
p
=== Work/Done.md
[[Plan]]
=== Other/Task.md
another
"""


def move(vault: Vault, *names: str, to: str, dry_run: bool = False) -> Any:
    return vault.arranging.move_all(names, to, NO_PROGRESS, dry_run=dry_run)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path, VAULT)


@pytest.mark.parametrize("to", ["Work", "Work/"])
def test_notes_folders_and_attachments_move_as_one_change(root: Path, to: str) -> None:
    vault = open_vault(root)
    start = tree(root)
    move(vault, "Plan", "Sub/", "Picture.png", to=to, dry_run=True)
    assert tree(root) == start
    plan, done = move(vault, "Plan", "Sub/", "Picture.png", to=to)
    assert (plan.files, done.change.id) == (3, 1)
    assert {path for path in tree(root) if path.endswith((".md", ".png"))} == {
        "Task.md",
        "Other/Task.md",
        "Work/Done.md",
        "Work/Plan.md",
        "Work/Sub/Note.md",
        "Work/Picture.png",
    }
    assert (root / "Task.md").read_text() == "back to [[Plan]], [x](Note.md), [[Plan]]\n"
    assert len(vault.history.latest("", 10, None)) == 1
    vault.history.undo([1], "", NO_PROGRESS, dry_run=False)
    assert tree(root) == start


def test_what_is_there_already_stays_and_is_told(root: Path) -> None:
    _, done = move(open_vault(root), "Plan", "Work/Done", "Plan.md", to="Work")
    assert done.notices == ["Work/Done.md: already in that folder."]
    assert (root / "Work/Done.md").exists()
    assert (root / "Work/Plan.md").exists()


@pytest.mark.parametrize(
    ("names", "to", "code"),
    [
        (["Plan", "Task.md", "Other/Task"], "Work", NOTE_EXISTS),
        (["Plan", "Other/Task"], "./", INVALID_ARGUMENTS),
        (["Plan", "Other/Task"], "./New", INVALID_ARGUMENTS),
        (["Plan", "Nowhere"], "Work", FILE_NOT_FOUND),
        (["Sub", "Sub/Note"], "Work", INVALID_ARGUMENTS),
        (["Plan", "Work"], "Work/Deep", INVALID_ARGUMENTS),
        (["Plan", "Task.md"], "Work/New.md", INVALID_ARGUMENTS),
        (["Work/Done"], "Work", INVALID_ARGUMENTS),
        (["Plan", "Task.md"], "a?b", INVALID_ARGUMENTS),
    ],
)
def test_one_that_cannot_move_keeps_all_where_they_are(root: Path, names: list[str], to: str, code: str) -> None:
    before = tree(root)
    assert refused(move, open_vault(root), *names, to=to) == code
    assert tree(root) == before


def test_two_of_one_name_are_both_named(root: Path) -> None:
    error = refusal(move, open_vault(root), "Task.md", "Other/Task", to="New")
    assert error.details["candidates"] == ["Task.md", "Other/Task.md"]


def test_a_base_follows_two_folders_at_once(root: Path) -> None:
    write_vault(root, "=== b.base\na: file.inFolder(\"Sub\")\nb: file.inFolder('Other')\n")
    move(open_vault(root), "Sub", "Other", to="New")
    assert (root / "b.base").read_text() == "a: file.inFolder(\"New/Sub\")\nb: file.inFolder('New/Other')\n"


class Asked(NoProgress):
    """Keeps what a person is asked, and refuses."""

    def __init__(self) -> None:
        self.questions: list[str] = []

    def confirm(self, question: Confirmation) -> None:
        self.questions.append(question.message)
        raise KeyboardInterrupt


def test_many_notes_are_asked_about_once(root: Path) -> None:
    for number in range(30):
        (root / f"n{number}.md").write_text("x")
    before, asked = tree(root), Asked()
    with pytest.raises(KeyboardInterrupt):
        open_vault(root).arranging.move_all([f"n{number}" for number in range(30)], "New", asked, dry_run=False)
    assert len(asked.questions) == 1
    assert "30 notes" in asked.questions[0]
    assert tree(root) == before


def test_policy_and_reading_first_hold_for_each_of_them(root: Path) -> None:
    before = tree(root)
    rules = PathRules(
        deny=(Rule("deny", "/Sub/", 1),), write=(Rule("write", "/Work/", 1), Rule("write", "/Task.md", 1))
    )
    guarded = open_vault(root, rules=rules)
    assert refused(move, guarded, "Task.md", "Sub/Note", to="Work") == FILE_NOT_FOUND
    assert refused(move, guarded, "Task.md", "Plan", to="Work") == POLICY_DENIED
    assert refused(move, open_vault(root, read_first=True), "Task.md", "Sub", to="Work") == NOT_READ
    assert tree(root) == before
