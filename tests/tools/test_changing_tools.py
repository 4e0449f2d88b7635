"""The tools that change a vault, called for real: what they do to the files, what they tell, and how it is undone."""

from __future__ import annotations

import base64
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from support.calls import DESCRIPTIONS, attempt, call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.toolkit.registry import Outcome
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.caller import Caller
from vaultwire.vault.errors import (
    AMBIGUOUS_TARGET,
    INVALID_ARGUMENTS,
    NOT_READ,
    NOTE_EXISTS,
    POLICY_DENIED,
    SECTION_NOT_FOUND,
    STALE_EDIT,
    TEXT_NOT_FOUND,
    UNDO_CONFLICT,
)
from vaultwire.vault.vault import Vault

TODAY = date(2026, 3, 31)
PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)

VAULT = """
=== Plan.md
---
status: draft   # still
tags: [work]
---
Intro, see [[Garden]].

## Steps

- water [[Garden#Beds|the beds]]

## Log

old entry ^a1
=== Garden.md
# Garden

## Beds

Tomatoes. #work/outside
=== Sub/Other.md
![[Garden]] and [the garden](../Garden.md#Beds)
=== Rated.base
filters: note.status == "draft"
=== Templates/Day.md
# {{title}}

## Done
=== Sub/Chores.md
- [ ] dig, see [[Nowhere]]
=== Sub/Chores.Conflict.md
- [ ] dig, see [[Nowhere]]
- [ ] rake
=== Memory/Ana.md
- 2026-03-01 Ana likes tea. ^m1
- 2026-03-02 Ana is away. ^m2
=== Board.canvas
{"nodes":[{"id":"a","type":"text","text":"One","x":0,"y":0,"width":1,"height":1}],"edges":[]}
=== .obsidian/daily-notes.json
{"folder": "Days", "template": "Templates/Day"}
=== .obsidian/templates.json
{"folder": "Templates"}
=== .obsidian/types.json
{"types": {"due": "date", "rating": "number"}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def vault(root: Path, tmp_path: Path) -> Vault:
    return open_vault(root, today=lambda: TODAY, state=tmp_path / "state")


def edit(**fields: Any) -> list[dict[str, Any]]:
    return [fields]


CHANGES: list[tuple[str, dict[str, Any]]] = [
    ("resolve_conflicts", {"path": "Sub/Chores.Conflict.md"}),
    ("edit_note", {"path": "Plan", "edits": edit(action="append", section="Log", content="new entry")}),
    ("edit_note", {"path": "Plan", "edits": edit(action="replace", property="status", content="done")}),
    ("edit_note", {"path": "Garden", "diff": "@@ -3,3 +3,3 @@\n ## Beds\n \n-Tomatoes. #work/outside\n+Peas.\n"}),
    ("set_properties", {"path": "Plan", "properties": [{"name": "rating", "value": "5"}]}),
    ("set_properties", {"paths": ["Plan"], "remove": ["STATUS"]}),
    ("create_note", {"path": "New/Idea", "content": "An idea."}),
    ("append_daily_note", {"content": "- called mum", "section": "Done"}),
    ("insert_template", {"path": "Garden", "template": "Day"}),
    ("add_attachment", {"name": "bed.png", "data": base64.b64encode(PNG).decode()}),
    ("move_notes", {"paths": ["Garden"], "to": "Sub/Yard"}),
    ("move_notes", {"paths": ["Templates/"], "to": "Forms"}),
    ("move_notes", {"paths": ["Garden"], "to": "Sub/Yard"}),
    ("rename", {"what": "tag", "old": "work", "new": "job"}),
    ("rename", {"what": "heading", "path": "Garden", "old": "Beds", "new": "Raised beds"}),
    ("rename", {"what": "tag", "old": "work", "new": "job"}),
    ("rename", {"what": "property", "old": "status", "new": "state"}),
    ("merge_notes", {"source": "Garden", "target": "Plan"}),
    ("extract_section", {"path": "Garden", "section": "Beds", "to": "./Beds"}),
    ("edit_canvas", {"path": "Board", "edits": edit(action="add", text="An idea, see [[Garden]]")}),
    ("remember", {"text": "Ana takes no milk.", "subject": "Ana"}),
    ("remember", {"text": "The gate squeaks.", "subject": "Gate"}),
    ("remember", {"text": "Ana is back.", "replaces": "Ana#^m2"}),
    ("forget", {"name": "Ana#^m1"}),
    ("forget", {"name": "Ana"}),
    ("set_task", {"tasks": [{"path": "Chores", "text": "dig", "status": "done"}]}),
    ("fix_links", {"fixes": [{"path": "Chores", "from": "Nowhere", "to": "Garden"}]}),
    ("set_properties_in_view", {"base": "Rated", "set": {"seen": True}}),
    ("create_note_in_view", {"base": "Rated", "name": "Fresh"}),
    ("edit_base", {"base": "Rated", "set": {"formulas": {"twice": "rating * 2"}}}),
    ("create_base", {"path": "Fresh", "search": "tag:#work"}),
    ("write_note", {"path": "Fresh", "content": "x"}),
    ("delete_note", {"path": "Garden"}),
    ("delete_note", {"path": "Garden.md", "permanent": True}),
]
# Calls that need an earlier change: Sub/Other.md was deleted.
OF_EARLIER: list[tuple[str, dict[str, Any]]] = [
    ("undo_changes", {"changes": [1]}),
    ("restore_note", {"path": "Sub/Other.md"}),
]


@pytest.mark.parametrize(("tool", "arguments"), CHANGES, ids=[tool for tool, _ in CHANGES])
def test_a_change_is_recorded_and_can_be_taken_back_and_had_again(
    root: Path, vault: Vault, tool: str, arguments: dict[str, Any]
) -> None:
    before = snapshot(root)
    call(vault.used_by(Caller("a client"), tool), tool, **arguments)
    after = snapshot(root)
    assert after != before
    (listed,) = call(vault, "list_changes").data["changes"]
    assert (listed["tool"], listed["client"]) == (tool, "a client")
    assert call(vault, "list_changes", change=listed["change"]).data["diff"]
    call(vault, "undo_changes", changes=[listed["change"]])
    assert snapshot(root) == before
    latest = call(vault, "list_changes", limit=1).data["changes"][0]
    assert latest["undoes"] == listed["change"]
    call(vault, "undo_changes", changes=[latest["change"]])
    assert snapshot(root) == after


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [*CHANGES, ("write_note", {"path": "Plan", "content": "y", "mode": "append"}), *OF_EARLIER],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_dry_run_shows_the_change_and_makes_none(
    root: Path, vault: Vault, tool: str, arguments: dict[str, Any]
) -> None:
    call(vault, "delete_note", path="Sub/Other")
    before, index = snapshot(root), indexed(vault)
    outcome = call(vault, tool, **arguments, dry_run=True)
    assert (outcome.data["changed"], "change" in outcome.data) == (False, False)
    assert outcome.data["diff"]
    assert outcome.data["diff"] in outcome.texts
    assert outcome.texts[0].startswith("Dry run, nothing was changed.")
    assert (snapshot(root), indexed(vault)) == (before, index)
    assert len(call(vault, "list_changes").data["changes"]) == 1
    done = call(vault, tool, **arguments)
    assert done.data["changed"]
    assert done.data.get("files") == outcome.data.get("files")
    assert {key: done.data.get(key) for key in ("path", "etag", "trash_path")} == {
        key: outcome.data.get(key) for key in ("path", "etag", "trash_path")
    }


def test_a_dry_run_of_several_undone_changes_makes_none(root: Path, vault: Vault) -> None:
    call(vault, "write_note", path="One", content="x")
    call(vault, "write_note", path="Two", content="x")
    before, index = snapshot(root), indexed(vault)
    outcome = call(vault, "undo_changes", changes=[1, 2], dry_run=True)
    assert not outcome.data["changed"]
    assert all(text.startswith("Dry run, nothing was changed.") for text in outcome.texts[::2])
    assert (snapshot(root), indexed(vault)) == (before, index)
    assert len(call(vault, "list_changes").data["changes"]) == 2


def test_every_tool_that_changes_something_has_a_dry_run() -> None:
    changing = {name for name, each in DESCRIPTIONS.items() if not each["annotations"]["readOnlyHint"]}
    # more_tools runs another tool, among whose arguments is dry_run; pending_changes writes no note; save_file is
    # add_attachment with a file from the web.
    changing -= {"more_tools", "pending_changes", "save_file"}
    assert changing == {tool for tool, _ in (*CHANGES, *OF_EARLIER)} | {"undo_changes"}
    assert {
        name for name in (*changing, "save_file") if "dry_run" not in DESCRIPTIONS[name]["inputSchema"]["properties"]
    } == set()


def indexed(vault: Vault) -> object:
    """Return what the index knows of the vault."""
    files, _ = vault.overview.list_files("", 1000)
    found = [vault.search(query, "", 0, 1000, exact_total=True).hits for query in ("garden", "e", "x")]
    return files, found, vault.overview.count_tags(""), vault.overview.properties("", ""), vault.listing_version()


def test_several_edits_are_made_together_and_name_places_in_the_note_as_read(root: Path, vault: Vault) -> None:
    call(
        vault,
        "edit_note",
        path="Plan",
        edits=[
            {"action": "delete", "section": "Steps"},
            {"action": "replace", "text": "Intro", "content": "Preface"},
            {"action": "append", "property": "tags", "content": "urgent"},
            {"action": "replace", "section": "^a1", "content": "new entry"},
        ],
    )
    assert (root / "Plan.md").read_text() == (
        "---\nstatus: draft   # still\ntags: [work, urgent]\n---\nPreface, see [[Garden]].\n\n## Log\n\nnew entry ^a1\n"
    )


def test_one_edit_without_a_place_leaves_all_of_them_undone(root: Path, vault: Vault) -> None:
    before = snapshot(root)
    code, message = refusal(
        vault,
        "edit_note",
        path="Plan",
        edits=[{"action": "append", "content": "x"}, {"action": "delete", "section": "Setps"}],
    )
    assert (code, message.partition(":")[0]) == (SECTION_NOT_FOUND, "Edit 2 of 2")
    assert "'Steps'" in message
    assert snapshot(root) == before


@pytest.mark.parametrize(
    ("edits", "code"),
    [
        (edit(action="replace", text="Graden", content="x"), TEXT_NOT_FOUND),
        (edit(action="replace", text="[[Garden", content="x"), AMBIGUOUS_TARGET),
        (edit(action="append", section="Log"), INVALID_ARGUMENTS),
        (edit(action="append", section="Log", lines="1", content="x"), INVALID_ARGUMENTS),
        ([], INVALID_ARGUMENTS),
        (None, INVALID_ARGUMENTS),
    ],
)
def test_an_edit_that_makes_no_sense_is_refused(root: Path, vault: Vault, edits: Any, code: str) -> None:
    before = snapshot(root)
    arguments = {} if edits is None else {"edits": edits}
    assert refusal(vault, "edit_note", path="Plan", **arguments)[0] == code
    assert snapshot(root) == before


def test_an_edit_that_changes_nothing_writes_nothing_and_says_so(root: Path, vault: Vault) -> None:
    before = (root / "Plan.md").stat()
    outcome = call(vault, "set_properties", path="Plan", properties=[{"name": "status", "value": "draft"}])
    assert (outcome.data["changed"], outcome.data["files"]) == (False, [])
    assert outcome.texts[0] == f"Nothing to change: Plan.md is so already (etag {outcome.data['etag']})."
    assert (root / "Plan.md").stat().st_mtime_ns == before.st_mtime_ns
    assert outcome.data["etag"] == call(vault, "read_note", path="Plan").data["etag"]


def test_adding_to_a_property_adds_to_the_one_spelt_so_beside_one_in_another_case(root: Path, vault: Vault) -> None:
    (root / "Twins.md").write_text("---\nStatus: [a, b]\nstatus: [c]\n---\n")
    for number, action in enumerate(["append", "prepend"]):
        edits = [{"action": action, "property": "status", "content": f"d{number}"}]
        call(vault, "edit_note", path="Twins", edits=edits)
    assert (root / "Twins.md").read_text() == "---\nStatus: [a, b]\nstatus: [d1, c, d0]\n---\n"


def test_a_value_is_held_to_the_type_the_vault_gives_its_property(root: Path, vault: Vault) -> None:
    code, message = refusal(vault, "set_properties", path="Plan", properties=[{"name": "due", "value": "soon"}])
    assert (code, "YYYY-MM-DD" in message) == (INVALID_ARGUMENTS, True)
    call(
        vault,
        "set_properties",
        path="Plan",
        properties=[
            {"name": "due", "value": "2026-04-01"},
            {"name": "code", "value": "12", "type": "text"},
            {"name": "done", "value": "true", "type": "checkbox"},
            {"name": "people", "values": ["[[Ann]]", "Bo"]},
            {"name": "status"},
        ],
    )
    head = (root / "Plan.md").read_text().split("---\n")[1]
    assert head == (
        'status:   # still\ntags: [work]\ndue: 2026-04-01\ncode: "12"\ndone: true\npeople:\n  - "[[Ann]]"\n  - Bo\n'
    )


@pytest.mark.parametrize(
    ("given", "day"), [("tomorrow", "2026-04-01"), ("+7", "2026-04-07"), ("2026-05-01", "2026-05-01")]
)
def test_a_date_may_be_given_in_words_where_the_vault_wants_one(root: Path, vault: Vault, given: str, day: str) -> None:
    call(vault, "set_properties", paths=["Plan"], set={"due": given, "note": given})
    text = (root / "Plan.md").read_text()
    assert f"due: {day}\n" in text
    assert refusal(vault, "set_properties", paths=["Plan"], set={"due": "next week"})[0] == INVALID_ARGUMENTS


def test_a_property_that_is_not_there_cannot_be_removed_unsaid(vault: Vault) -> None:
    outcome = call(vault, "set_properties", paths=["Plan"], remove=["nope", "STATUS"])
    assert outcome.data["notices"] == ["Plan.md has no property 'nope'."]
    again = call(vault, "set_properties", paths=["Plan"], remove=["nope"])
    assert (again.data["changed"], "Plan.md has no property 'nope'." in again.texts[0]) == (False, True)


def test_a_stale_edit_is_refused_with_what_changed_since_it_was_read(root: Path, vault: Vault) -> None:
    mine = vault.used_by(Caller("reader"), "read_note")
    etag = call(mine, "read_note", path="Garden").data["etag"]
    (root / "Garden.md").write_text("# Garden\n\n## Beds\n\nPeas.\n")
    code, message = refusal(mine, "edit_note", path="Garden", if_match=etag, edits=edit(action="append", content="x"))
    assert code == STALE_EDIT
    assert "-Tomatoes. #work/outside\n+Peas.\n" in message
    assert "x" not in (root / "Garden.md").read_text()


def test_who_has_read_a_part_may_edit_but_not_write_over_the_whole(root: Path, vault: Vault) -> None:
    etag = call(vault, "read_note", path="Plan", section="Log").data["etag"]
    code, message = refusal(vault, "write_note", path="Plan.md", content="x", mode="overwrite", if_match=etag)
    assert (code, "edit_note" in message) == (NOT_READ, True)
    call(vault, "edit_note", path="Plan", edits=edit(action="append", section="Log", content="x"), if_match=etag)
    stale = edit(action="append", section="Log", content="y")
    code, message = refusal(vault, "edit_note", path="Plan", edits=stale, if_match=etag)
    assert (code, message.partition(" (")[0]) == (STALE_EDIT, "'Plan.md' has changed since you read it")


@pytest.mark.parametrize("tool", ["read_note", "delete_note"])
@pytest.mark.parametrize("name", ["Sub", "sub/"])
def test_a_folder_where_a_note_is_wanted_is_told_to_be_one(vault: Vault, tool: str, name: str) -> None:
    assert refusal(vault, tool, path=name) == (
        "FILE_NOT_FOUND",
        '\'Sub\' is a folder; find_notes {"folder": "Sub"} lists its notes.',
    )


def test_a_hidden_folder_is_not_told_of(root: Path) -> None:
    hidden = open_vault(root, rules=PathRules(deny=(Rule("deny", "Sub/", 1),)))
    code, message = refusal(hidden, "read_note", path="Sub")
    assert (code, "is a folder" in message) == ("FILE_NOT_FOUND", False)


def test_missing_edits_are_shown_as_they_should_be(vault: Vault) -> None:
    message = refusal(vault, "edit_note", path="Plan")[1]
    assert message == 'edits is missing: {"edits": [{"action": "append", "content": "…"}]}.'
    both = refusal(vault, "edit_note", path="Plan", edits=edit(action="append", content="x"), diff="@@")[1]
    assert both == "Give edits or a diff, not both."
    assert "find_notes and search_notes show what there is." in refusal(vault, "edit_note", path="Zzz", diff="@@")[1]


def test_a_server_that_asks_for_it_edits_only_what_the_session_has_read(root: Path, tmp_path: Path) -> None:
    vault = open_vault(root, state=tmp_path / "state", read_first=True)
    mine = vault.used_by(Caller("reader"), "edit_note")
    edits = edit(action="append", content="x")
    assert refusal(mine, "edit_note", path="Garden", edits=edits)[0] == NOT_READ
    assert refusal(mine, "delete_note", path="Garden")[0] == NOT_READ
    assert refusal(mine, "write_note", path="Garden", content="x", mode="append")[0] == NOT_READ
    call(mine, "read_note", path="Garden", section="Beds")
    call(mine, "edit_note", path="Garden", edits=edits)
    assert refusal(mine, "move_notes", paths=["Garden"], to="Yard")[0] == NOT_READ  # links to it would be edited
    call(mine, "read_note", path="Plan")
    call(mine, "read_note", path="Sub/Other")
    call(mine, "move_notes", paths=["Garden"], to="Yard")
    call(mine, "edit_note", path="Yard", edits=edits)
    call(mine, "create_note", path="Mine")
    call(mine, "edit_note", path="Mine", edits=edits)
    other = vault.used_by(Caller("other"), "edit_note")
    assert refusal(other, "edit_note", path="Yard", edits=edits)[0] == NOT_READ


def test_undo_keeps_later_edits_of_other_lines_and_refuses_where_they_touch(root: Path, vault: Vault) -> None:
    first = call(vault, "edit_note", path="Plan", edits=edit(action="replace", text="Intro", content="Preface"))
    call(vault, "edit_note", path="Plan", edits=edit(action="append", section="Log", content="later"))
    call(vault, "undo_changes", changes=[first.data["change"]])
    text = (root / "Plan.md").read_text()
    assert ("Intro, see" in text, "later" in text) == (True, True)
    second = call(vault, "edit_note", path="Plan", edits=edit(action="replace", text="Intro", content="Start"))
    call(vault, "edit_note", path="Plan", edits=edit(action="replace", text="Start", content="Begin"))
    code, message = refusal(vault, "undo_changes", changes=[second.data["change"]])
    assert (code, "Plan.md" in message) == (UNDO_CONFLICT, True)


def test_a_move_rewrites_every_link_and_takes_them_back(root: Path, vault: Vault) -> None:
    outcome = call(vault, "move_notes", paths=["Garden"], to="./Yard")
    assert (outcome.data["path"], outcome.data["links"]) == ("Yard.md", 4)
    assert "[[Yard#Beds|the beds]]" in (root / "Plan.md").read_text()
    assert (root / "Sub/Other.md").read_text() == "![[Yard]] and [the garden](Yard.md#Beds)\n"


@pytest.mark.parametrize("tool", ["create_note", "write_note"])
def test_a_new_note_takes_no_link_from_another_of_its_name(root: Path, vault: Vault, tool: str) -> None:
    before = snapshot(root)
    (root / "Sub/Garden.md").write_text("Another.\n")
    (root / "Deep").mkdir()
    (root / "Deep/Here.md").write_text("[[Other]] and [[Other#H|that]]\n")
    outcome = call(vault, tool, path="Deep/Other", content="New.")
    assert (root / "Deep/Here.md").read_text() == "[[Sub/Other]] and [[Sub/Other#H|that]]\n"
    call(vault, "undo_changes", changes=[outcome.data["change"]])
    assert (root / "Deep/Here.md").read_text() == "[[Other]] and [[Other#H|that]]\n"
    assert set(snapshot(root)) - set(before) == {"Deep/Here.md", "Sub/Garden.md"}


def test_a_target_that_could_be_a_folder_or_a_note_is_asked_back(root: Path, vault: Vault) -> None:
    code, message = refusal(vault, "move_notes", paths=["Garden"], to="Sub")
    assert (code, "'Sub/'" in message, "'Sub.md'" in message) == (INVALID_ARGUMENTS, True, True)
    assert call(vault, "move_notes", paths=["Garden"], to="Sub/").data["path"] == "Sub/Garden.md"


def test_a_deleted_note_comes_back_from_the_trash_and_from_the_journal(root: Path, vault: Vault) -> None:
    before = snapshot(root)
    text = (root / "Garden.md").read_text()
    call(vault, "delete_note", path="Garden")
    call(vault, "restore_note", path="Garden")
    assert snapshot(root) == before
    call(vault, "delete_note", path="Garden")
    (root / ".trash/Garden.md").unlink()
    call(vault, "restore_note", path="Garden", to="Back")
    assert (root / "Back.md").read_text() == text
    call(vault, "delete_note", path="Back.md", permanent=True)
    call(vault, "restore_note", path="Back")
    assert (root / "Back.md").read_text() == text
    assert refusal(vault, "restore_note", path="Back")[0] == NOTE_EXISTS
    assert refusal(vault, "restore_note")[0] == INVALID_ARGUMENTS


def test_a_delete_tells_of_the_links_that_lead_nowhere_now(root: Path, vault: Vault, tmp_path: Path) -> None:
    told = "4 links in 2 notes {} nowhere: Plan.md:5, Plan.md:9, Sub/Other.md:1."
    dry = call(vault, "delete_note", path="Garden", dry_run=True).texts[0]
    assert dry.split("\n")[1:] == [told.format("would lead")]
    # What the caller may not see is not told of; a link that can mean another note leads there.
    rules = PathRules(deny=(Rule("deny", "Sub/", 1),))
    blind = open_vault(root, rules=rules, state=tmp_path / "other")
    assert (
        "2 links in 1 note would lead nowhere: Plan.md:5, Plan.md:9."
        in call(blind, "delete_note", path="Garden", dry_run=True).texts[0]
    )
    (root / "Sub/Garden.md").write_text("another")
    assert call(vault, "delete_note", path="Garden.md").texts[0].split("\n")[1:] == [
        "1 link in 1 note now leads nowhere: Sub/Other.md:1."
    ]
    assert "nowhere" not in call(vault, "delete_note", path="Chores").texts[0]


def test_a_daily_note_is_made_from_its_template_and_added_to(root: Path, vault: Vault) -> None:
    made = call(vault, "append_daily_note", content="- one", section="Done")
    assert (made.data["path"], made.data["created"]) == ("Days/2026-03-31.md", True)
    again = call(vault, "append_daily_note", content="- two", section="Done")
    assert again.data["created"] is False
    assert (root / "Days/2026-03-31.md").read_text() == "# 2026-03-31\n\n## Done\n- one\n- two\n"


def test_a_note_that_was_made_can_be_edited_with_the_etag_told(vault: Vault) -> None:
    for tool, arguments in (("create_note", {"path": "New", "content": "a"}), ("append_daily_note", {"content": "a"})):
        made = call(vault, tool, **arguments)
        path, etag = made.data["path"], made.data["etag"]
        assert f"{path} (etag {etag})" in made.texts[0]
        assert etag == call(vault, "read_note", path=path).data["etag"]
        call(vault, "edit_note", path=path, edits=edit(action="append", content="b"), if_match=etag)


def test_an_attachment_tells_the_link_that_shows_it(root: Path, vault: Vault) -> None:
    first = call(vault, "add_attachment", name="bed.png", data=base64.b64encode(PNG).decode(), beside="Garden")
    again = call(vault, "add_attachment", name="bed.png", data=base64.b64encode(PNG).decode(), beside="Garden")
    assert (first.data["link"], again.data["link"]) == ("![[bed.png]]", "![[bed 1.png]]")
    assert (root / "bed 1.png").read_bytes() == PNG
    assert "etag" not in first.data
    assert refusal(vault, "add_attachment", name="bed.png", data="no base64!")[0] == INVALID_ARGUMENTS


def test_changes_are_listed_by_file_and_in_pages(vault: Vault) -> None:
    for number in range(3):
        call(vault, "create_note", path=f"N{number}")
    call(vault, "move_notes", paths=["N0"], to="Sub/Zero")
    page = call(vault, "list_changes", limit=2).data
    rest = call(vault, "list_changes", limit=2, before=page["next_before"]).data
    numbers = [change["change"] for change in [*page["changes"], *rest["changes"]]]
    assert (numbers, "next_before" in rest) == (sorted(numbers, reverse=True), False)
    assert [change["tool"] for change in call(vault, "list_changes", path="N0.md").data["changes"]] == ["", ""]
    assert len(call(vault, "list_changes", path="Sub").data["changes"]) == 1


@pytest.mark.parametrize("name", ["Garden", "[[Garden]]", "garden.md", "Garden#Beds"])
def test_changes_are_listed_by_any_name_of_a_note_there_or_gone(root: Path, vault: Vault, name: str) -> None:
    call(vault, "write_note", path="Garden", content="more", mode="append")
    call(vault, "write_note", path="Plan", content="more", mode="append")
    assert [each["change"] for each in call(vault, "list_changes", path=name).data["changes"]] == [1]
    call(vault, "delete_note", path="Garden.md", permanent=True)
    assert not (root / "Garden.md").exists()
    assert [each["change"] for each in call(vault, "list_changes", path=name).data["changes"]] == [3, 1]
    assert call(vault, "list_changes", path="Nope").texts == ["No changes of 'Nope' on record."]
    assert call(vault, "list_changes", path="../x").texts == ["No changes of '../x' on record."]


def test_a_rename_that_merges_tags_says_so(vault: Vault) -> None:
    call(vault, "set_properties", path="Garden", properties=[{"name": "tags", "values": ["job"]}])
    outcome = call(vault, "rename", what="tag", old="work", new="job")
    assert "#job was in use already (1 note): both" in outcome.data["notices"][0]
    assert isinstance(attempt(vault, "search_by_tags", tags=["job/outside"]), Outcome)


NAMESAKES = """
=== Projects/X.md
the one
=== A.md
See [[X]]
=== B.md
See [x](X.md) and [[X#Part]]
=== Sub/C.md
See [[Projects/X]] and [[X|shown]]
"""


@pytest.fixture
def namesakes(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "namesakes", NAMESAKES)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_note", {"path": "X", "content": "new"}),
        ("write_note", {"path": "x.md", "content": "new"}),
        ("write_note", {"path": "[[X]]", "content": "new"}),
        ("create_note", {"path": "X", "content": "new"}),
        ("create_note", {"path": "X", "content": "new", "dry_run": True}),
    ],
)
def test_a_bare_name_that_links_use_for_another_note_makes_no_second_one(
    namesakes: Path, tool: str, arguments: dict[str, Any]
) -> None:
    before = snapshot(namesakes)
    code, message = refusal(open_vault(namesakes), tool, **arguments)
    assert code == NOTE_EXISTS
    assert "already: 'Projects/X.md';" in message  # the note that has the name
    assert "To change that note, edit 'Projects/X.md'." in message
    assert "3 files link" in message  # what would be edited
    assert "'/X.md'" in message.replace("x.md", "X.md")  # how to make another all the same
    assert snapshot(namesakes) == before


@pytest.mark.parametrize("tool", ["write_note", "create_note"])
def test_a_path_with_its_folder_makes_a_second_note_and_names_every_file_it_edits(namesakes: Path, tool: str) -> None:
    outcome = call(open_vault(namesakes), tool, path="./X", content="new")
    assert (namesakes / "X.md").read_text() == "new"
    assert (namesakes / "A.md").read_text() == "See [[Projects/X]]\n"
    edited = ["A.md", "B.md", "Sub/C.md"]
    if tool == "write_note":
        assert (outcome.data["also_edited"], outcome.data["also_edited_count"]) == (edited, 3)
        assert "3 other files edited" in outcome.texts[0]
    else:
        assert [file["path"] for file in outcome.data["files"]] == ["X.md", *edited]
        assert outcome.data["file_count"] == 4
    assert all(path in outcome.texts[0] for path in edited)


@pytest.mark.parametrize(("source", "to"), [("Old", "X"), ("Old", "x.md"), ("old.png", "pic"), ("old.png", "pic.png")])
def test_a_file_gets_no_name_that_another_has_unless_its_folder_is_given(namesakes: Path, source: str, to: str) -> None:
    write_vault(namesakes, "=== Deep/Old.md\n=== Deep/old.png\n=== Other/pic.png\n=== D.md\n![[pic.png]]\n")
    before = snapshot(namesakes)
    paths = ["Deep/old.png" if source == "old.png" else source]
    vault = open_vault(namesakes)
    code, message = refusal(vault, "move_notes", paths=paths, to=to)
    assert code == NOTE_EXISTS
    other, links = ("'Projects/X.md'", "3 files link") if source == "Old" else ("'Other/pic.png'", "1 file links")
    assert other in message
    assert links in message
    assert snapshot(namesakes) == before
    explicit = re.findall("'(Deep/[^']+)'", message)
    call(vault, "move_notes", paths=paths, to=explicit[0])
    linked = "A.md" if source == "Old" else "D.md"
    assert other.strip("'").removesuffix(".md") in (namesakes / linked).read_text()


def test_a_file_that_keeps_its_name_may_share_it(namesakes: Path) -> None:
    write_vault(namesakes, "=== Sub/X.md\n=== Sub/Y.md\n=== Other/Y.md\n")
    vault = open_vault(namesakes)
    call(vault, "move_notes", paths=["Sub/X"], to="x")
    call(vault, "move_notes", paths=["Sub/x", "Sub/Y"], to="New")
    call(vault, "move_notes", paths=["New"], to="X")
    assert (namesakes / "X/x.md").exists()


@pytest.mark.parametrize(
    ("count", "named"),
    [(1, "'0/L.md'"), (3, "'0/L.md', '1/L.md', '2/L.md'"), (5, "'0/L.md', '1/L.md', '2/L.md' and 2 more")],
)
def test_of_many_notes_that_have_a_name_some_are_named_and_the_others_counted(
    tmp_path: Path, count: int, named: str
) -> None:
    vault = open_vault(write_vault(tmp_path, "".join(f"=== {number}/L.md\n" for number in range(count)) + "=== N.md\n"))
    assert f"already: {named}. To change" in refusal(vault, "create_note", path="L", content="")[1]
    assert f"already: {named}. Nothing was moved." in refusal(vault, "move_notes", paths=["N"], to="L")[1]


def test_a_number_makes_a_note_that_no_link_means(namesakes: Path) -> None:
    outcome = call(open_vault(namesakes), "create_note", path="X", content="new", on_collision="number")
    assert (outcome.data["path"], outcome.data["file_count"]) == ("X 1.md", 1)


@pytest.mark.parametrize("tool", ["write_note", "create_note"])
def test_a_bare_name_that_a_note_elsewhere_has_is_taken_also_without_links(namesakes: Path, tool: str) -> None:
    (namesakes / "Sub/Lonely.md").write_text("x")
    code, message = refusal(open_vault(namesakes), tool, path="Lonely", content="y")
    assert code == NOTE_EXISTS
    assert "'Sub/Lonely.md'" in message
    assert "link" not in message
    outcome = call(open_vault(namesakes), tool, path="/Lonely", content="y")
    assert (outcome.data["path"], (namesakes / "Lonely.md").read_text()) == ("Lonely.md", "y")


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_note", {"path": "./X", "content": "new"}),
        ("create_note", {"path": "./X", "content": "new"}),
        ("move_notes", {"paths": ["Projects/X"], "to": "Y"}),
        ("rename", {"what": "property", "old": "p", "new": "q"}),
    ],
)
def test_notes_where_only_links_or_names_change_are_edited_by_the_same_rules(
    namesakes: Path, tool: str, arguments: dict[str, Any]
) -> None:
    (namesakes / "A.md").write_text("---\np: 1\n---\n[[X]]\n")
    before = snapshot(namesakes)
    writable = ("X.md", "Y.md", "B.md", "Sub/**", "Projects/**")  # not A.md
    rules = PathRules(write=tuple(Rule("write", pattern, line) for line, pattern in enumerate(writable, 1)))
    code, message = refusal(open_vault(namesakes, rules=rules), tool, **arguments)
    assert (code, "'A.md'" in message) == (POLICY_DENIED, True)
    assert snapshot(namesakes) == before
    vault = open_vault(namesakes, read_first=True).used_by(Caller("reader"), tool)
    for path in ("Projects/X", "B", "Sub/C"):
        call(vault, "read_note", path=path)
    code, message = refusal(vault, tool, **arguments)
    assert code == NOT_READ
    assert "'A.md'" in message
    assert snapshot(namesakes) == before
    call(vault, "read_note", path="A")
    call(vault, tool, **arguments)
    assert snapshot(namesakes) != before
