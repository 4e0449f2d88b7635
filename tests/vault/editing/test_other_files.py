"""Files that a change edits beside those the caller named: what policy and ``--require-read-first`` say of them."""

from __future__ import annotations

import base64
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import NOT_READ, NOTE_EXISTS, POLICY_DENIED
from vaultwire.vault.vault import Vault

TODAY = date(2026, 3, 31)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
# Sixty notes link to one that has a namesake to be, a tag, a property and a heading with links.
VAULT = """
=== Projects/Website.md
---
due: 1
---
# Plan
#web
""" + "".join(
    f"=== Daily/{number:02}.md\n---\ndue: 2\n---\n[[Website]] and [[Projects/Website#Plan]] #web\n"
    for number in range(20)
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


def careful(root: Path) -> Vault:
    """Return the vault for a caller that must read before it edits."""
    return open_vault(root, state=root.parent / "state", read_first=True).used_by(Caller("reader"), "tool")


CHANGES: list[tuple[str, dict[str, Any], str]] = [
    # a tool, its arguments, and how its errors begin
    (
        "move_notes",
        {"paths": ["Website"], "to": "Site"},
        "Moving 'Projects/Website.md' to 'Projects/Site.md' also edits",
    ),
    ("move_notes", {"paths": ["Projects/"], "to": "Old/"}, "Moving 'Projects' to 'Old' also edits"),
    ("create_note", {"path": "Inbox/Website"}, "Making 'Inbox/Website.md' also edits"),
    ("rename", {"what": "tag", "old": "web", "new": "net"}, "Renaming #web to #net also edits"),
    ("rename", {"what": "property", "old": "due", "new": "until"}, "Renaming the property 'due' to 'until' also edits"),
    (
        "rename",
        {"what": "heading", "path": "Website", "old": "Plan", "new": "Goal"},
        "Renaming 'Plan' of 'Projects/Website.md'",
    ),
]


@pytest.mark.parametrize(("tool", "arguments", "told"), CHANGES)
def test_a_dry_run_shows_what_is_edited_and_then_the_same_change_may_be_made(
    root: Path, tool: str, arguments: dict[str, Any], told: str
) -> None:
    before = snapshot(root)
    vault = careful(root)
    if arguments.get("what") == "heading":  # the note that is named must be read, whatever a dry run shows
        assert refusal(vault, tool, **arguments, dry_run=True)[0] == NOT_READ
        call(vault, "read_note", path="Website")
    code, message = refusal(vault, tool, **arguments)
    assert (code, message.startswith(told), "dry_run" in message) == (NOT_READ, True, True)
    assert "'Daily/00.md'" in message
    shown = call(vault, tool, **arguments, dry_run=True)
    assert "Daily/00.md" in shown.texts[1]
    assert snapshot(root) == before
    # It counts for this change only, and for this caller only.
    assert refusal(vault, "move_notes", paths=["Website"], to="Another")[0] == NOT_READ
    assert refusal(careful(root), tool, **arguments)[0] == NOT_READ
    done = call(vault, tool, **arguments)
    assert done.data["file_count"] >= 20
    assert "Daily/00.md" in done.texts[0]
    count = done.texts[0].count("edit ")  # a few of them, and how many in all
    assert 10 <= count < done.data["file_count"]
    assert f"{done.data['file_count']} files changed:" in done.texts[0]
    # Their text was not seen by that: an edit of one needs a look at it.
    if tool.startswith("rename_"):
        return
    append = [{"action": "append", "content": "x"}]
    fresh = careful(root)
    call(fresh, "undo_changes", changes=[done.data["change"]], dry_run=True)
    call(fresh, "undo_changes", changes=[done.data["change"]])
    assert snapshot(root) == before
    assert refusal(careful(root), "edit_note", path="Daily/00", edits=append)[0] == NOT_READ


def test_a_dry_run_of_an_edit_is_no_look_at_the_note(root: Path) -> None:
    vault = careful(root)
    append = [{"action": "append", "content": "x"}]
    for dry_run in (True, False):
        assert refusal(vault, "edit_note", path="Website", edits=append, dry_run=dry_run)[0] == NOT_READ


@pytest.mark.parametrize(("tool", "arguments", "told"), CHANGES)
def test_the_policy_names_what_was_asked_for_and_why_another_file_matters(
    root: Path, tool: str, arguments: dict[str, Any], told: str
) -> None:
    before = snapshot(root)
    rules = PathRules(write=tuple(Rule("write", folder, 1) for folder in ("/Inbox/", "/Projects/", "/Old/")))
    for dry_run in (False, True):
        code, message = refusal(open_vault(root, rules=rules), tool, **arguments, dry_run=dry_run)
        assert code == POLICY_DENIED
        assert message.startswith(told)
        assert "also edits 'Daily/00.md', because " in message
        assert "does not allow to change 'Daily/00.md'. Nothing was changed." in message
    assert snapshot(root) == before


def test_the_policy_says_of_the_named_file_no_more_than_before(root: Path) -> None:
    rules = PathRules(write=(Rule("write", "/Inbox/", 1),))
    for path in ("Projects/Website", "Projects/New"):
        message = refusal(open_vault(root, rules=rules), "create_note", path=path)[1]
        assert "also edits" not in message
    said = "The policy of this server does not allow to change 'Projects/Website.md'."
    assert refusal(open_vault(root, rules=rules), "move_notes", paths=["Website"], to="Site")[1] == said


def test_the_daily_note_takes_no_links_of_another_note_without_a_word(root: Path) -> None:
    (root / "Meetings").mkdir()
    (root / "Meetings/2026-03-31.md").write_text("meeting\n")
    (root / "Log.md").write_text("[[2026-03-31]]\n")
    before = snapshot(root)
    vault = open_vault(root, today=lambda: TODAY)
    code, message = refusal(vault, "append_daily_note", content="x")
    assert (code, "'Meetings/2026-03-31.md'" in message, "1 file links" in message) == (NOTE_EXISTS, True, True)
    assert snapshot(root) == before
    call(vault, "create_note", path="/2026-03-31")  # on purpose
    assert (root / "Log.md").read_text() == "[[Meetings/2026-03-31]]\n"
    call(vault, "append_daily_note", content="x")
    assert (root / "2026-03-31.md").read_text() == "x"


def test_an_attachment_takes_no_links_of_another_file(root: Path) -> None:
    (root / "Pictures").mkdir()
    (root / "Pictures/bed.png").write_bytes(PNG)
    (root / "Log.md").write_text("![[bed.png]]\n")
    for name, path in (("bed.png", "bed 1.png"), ("Pictures/bed.png", "Pictures/bed 1.png")):
        made = call(open_vault(root), "add_attachment", name=name, data=base64.b64encode(PNG).decode())
        assert (made.data["path"], made.data["file_count"]) == (path, 1)
    assert (root / "Log.md").read_text() == "![[bed.png]]\n"


def test_the_tools_that_do_as_the_app_make_the_note_and_keep_links_right(root: Path) -> None:
    (root / "Meetings").mkdir()
    (root / "Meetings/2026-03-31.md").write_text("meeting\n")
    (root / "Log.md").write_text("[[2026-03-31]]\n")
    made = call(open_vault(root, today=lambda: TODAY), "obsidian_append_daily", content="x")
    assert made.data["also_edited"] == ["Log.md"]
    assert (root / "Log.md").read_text() == "[[Meetings/2026-03-31]]\n"
