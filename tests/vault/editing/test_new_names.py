"""Where a new name puts a file: a name alone, a folder, a path, the vault's own folder; in moves and for new notes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOTE_EXISTS, PATH_OUTSIDE_VAULT
from vaultwire.vault.value_types import NO_PROGRESS

VAULT = """
=== Home.md
[[Budget 2026]] and [[Garden/Beds]]
=== Projects/Budget 2026.md
budget
=== Projects/fig.png
x
=== Garden/Beds.md
beds
=== Areas/Shed/Tools.md
tools
=== Archive/Old.md
old
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


MOVES = [
    # what, to, the path it has then
    ("Budget 2026", "Budget 2027", "Projects/Budget 2027.md"),
    ("Budget 2026", "Budget 2027.md", "Projects/Budget 2027.md"),
    ("Budget 2026", "[[Budget 2027]]", "Projects/Budget 2027.md"),
    ("Budget 2026", "./Budget 2027", "Projects/Budget 2027.md"),
    ("Budget 2026", "Archive/", "Archive/Budget 2026.md"),
    ("Budget 2026", "New/Deep/", "New/Deep/Budget 2026.md"),
    ("Budget 2026", "/Archive/", "Archive/Budget 2026.md"),
    ("Budget 2026", "Archive/Budget 2027", "Archive/Budget 2027.md"),
    ("Budget 2026", "/Budget 2027", "Budget 2027.md"),
    ("Budget 2026", "/", "Budget 2026.md"),
    ("Budget 2026", "Archive.md", "Projects/Archive.md"),
    ("[[Budget 2026#Part]]", "x", INVALID_ARGUMENTS),
    ("Projects/fig.png", "plan", "Projects/plan.png"),
    ("Projects/fig.png", "/plan.png", "plan.png"),
    # a folder
    ("Garden/", "Yard", "Yard"),
    ("Garden/", "Yard/", "Yard"),
    ("Garden/", "garden/", "garden"),
    ("Garden/", "Archive/", "Archive/Garden"),
    ("Garden/", "archive/", "Archive/Garden"),
    ("Garden", "Old/Garden", "Old/Garden"),
    ("Areas/Shed/", "Hut", "Areas/Hut"),
    ("Areas/Shed/", "Hut/", "Hut"),
    ("Areas/Shed/", "/Hut", "Hut"),
    ("Areas/Shed/", "/", "Shed"),
    # what may mean a folder is asked back
    ("Budget 2026", "Archive", INVALID_ARGUMENTS),
    ("Projects/fig.png", "Archive", INVALID_ARGUMENTS),
    ("Garden/", "Archive", INVALID_ARGUMENTS),
    ("Areas/Shed/", "Archive", INVALID_ARGUMENTS),
    ("Budget 2026", "/home/person/vault/Budget", PATH_OUTSIDE_VAULT),
    ("Garden/", "Garden/", INVALID_ARGUMENTS),
]


@pytest.mark.parametrize(("source", "to", "expected"), MOVES)
def test_a_move_means_what_people_mean(root: Path, source: str, to: str, expected: str) -> None:
    vault, before = open_vault(root), snapshot(root)
    if "/" not in expected and expected.isupper():
        assert refusal(vault, "move_notes", paths=[source], to=to)[0] == expected
        assert snapshot(root) == before
        return
    outcome = call(vault, "move_notes", paths=[source], to=to)
    assert outcome.data["path"] == expected
    assert expected in outcome.texts[0]
    after = set(snapshot(root))
    assert any(path == expected or path.startswith(f"{expected}/") for path in after)
    assert len(after) == len(before)
    # Every link leads where it led.
    _, links = vault.links("Home", NO_PROGRESS)
    moved = {"Projects/Budget 2026.md": "budget", "Garden/Beds.md": "beds"}
    assert [(root / str(link.target)).read_text().strip() for link in links] == [*moved.values()]


def test_a_name_that_a_folder_has_is_refused_with_both_ways_to_say_it(root: Path) -> None:
    message = refusal(open_vault(root), "move_notes", paths=["Budget 2026"], to="Archive")[1]
    assert ("'Archive/'" in message, "'Archive.md'" in message) == (True, True)


PLACES: list[tuple[dict[str, Any], str, str, str]] = [
    # Obsidian's settings, the name, what it is created beside, and the path it gets
    ({}, "New", "", "New.md"),
    ({"newFileLocation": "folder", "newFileFolderPath": "Inbox"}, "New", "", "Inbox/New.md"),
    ({"newFileLocation": "folder", "newFileFolderPath": "Inbox"}, "[[New#Part|shown]]", "", "Inbox/New.md"),
    ({"newFileLocation": "folder", "newFileFolderPath": "Inbox"}, "Areas/New", "", "Areas/New.md"),
    ({"newFileLocation": "folder", "newFileFolderPath": "Inbox"}, "/New", "", "New.md"),
    ({"newFileLocation": "folder", "newFileFolderPath": "Inbox"}, "./New", "", "New.md"),
    ({"newFileLocation": "current"}, "New", "", "New.md"),
    ({"newFileLocation": "current"}, "New", "Old", "Archive/New.md"),
    ({"newFileLocation": "current"}, "/New", "Old", "New.md"),
]


@pytest.mark.parametrize(("settings", "name", "beside", "expected"), PLACES)
def test_every_tool_puts_a_new_note_in_the_same_place(
    tmp_path: Path, settings: dict[str, Any], name: str, beside: str, expected: str
) -> None:
    paths: set[str] = set()
    for tool in ("create_note", "write_note", "overwrite", "extract_section"):
        root = write_vault(tmp_path / tool, VAULT)
        (root / ".obsidian").mkdir()
        (root / ".obsidian/app.json").write_text(json.dumps(settings))
        vault = open_vault(root)
        if tool == "create_note":
            paths.add(call(vault, tool, path=name, content="x", beside=beside).data["path"])
        elif tool == "extract_section" and not name.startswith("./"):  # which is the folder of the note
            call(vault, tool, path=beside or "Home", lines="1", to=name)
        elif not beside:
            mode = "overwrite" if tool == "overwrite" else "create"
            call(vault, "write_note", path=name, content="x", mode=mode)
        else:
            continue
        paths |= set(snapshot(root)) - set(snapshot(write_vault(tmp_path / "plain", VAULT))) - {".obsidian/app.json"}
    assert paths == {expected}


def test_a_write_over_a_bare_name_means_the_one_note_of_that_name_in_its_place(tmp_path: Path) -> None:
    root = write_vault(tmp_path, "=== Inbox/A.md\na\n=== B.md\nb\n=== Inbox/B.md\nc\n=== Inbox/C.md\n=== Else/C.md\n")
    (root / ".obsidian").mkdir()
    (root / ".obsidian/app.json").write_text('{"newFileLocation": "folder", "newFileFolderPath": "Inbox"}')
    vault = open_vault(root)
    for name, path in (("A", "Inbox/A.md"), ("B", "B.md")):
        assert call(vault, "write_note", path=name, content="x", mode="overwrite").data["path"] == path
    assert refusal(vault, "write_note", path="C", content="x", mode="overwrite")[0] == "AMBIGUOUS_NAME"
    for name in ("A", "B", "C"):
        for tool in ("write_note", "create_note"):
            assert refusal(vault, tool, path=name, content="x")[0] == NOTE_EXISTS


def test_an_extracted_note_takes_no_name_of_another_unless_its_folder_is_given(root: Path) -> None:
    code, message = refusal(open_vault(root), "extract_section", path="Home", lines="1", to="Old")
    assert (code, "'Archive/Old.md'" in message, "'/Old.md'" in message) == (NOTE_EXISTS, True, True)
    assert call(open_vault(root), "extract_section", path="Home", lines="1", to="/Old").data["path"] == "Old.md"


def test_a_tool_that_changes_a_note_takes_no_part_for_the_whole(root: Path) -> None:
    vault, before = open_vault(root), snapshot(root)
    for tool, arguments in (
        ("delete_note", {"path": "[[Home#Part]]"}),
        ("delete_note", {"path": "Home#^block"}),
        ("write_note", {"path": "Home#Part", "content": "x", "mode": "append"}),
        ("move_notes", {"paths": ["Home#Part"], "to": "x"}),
        ("merge_notes", {"source": "Home#Part", "target": "Old"}),
        ("edit_note", {"path": "[[Home#Part]]", "edits": [{"action": "append", "content": "x"}]}),
    ):
        code, message = refusal(vault, tool, **arguments)
        assert (code, "'Home.md'" in message, snapshot(root) == before) == (INVALID_ARGUMENTS, True, True), tool
    (root / "C# notes.md").write_text("x")
    assert call(vault, "delete_note", path="C# notes").data["path"] == "C# notes.md"


def test_the_standard_tools_have_the_same_rules(root: Path) -> None:
    vault = open_vault(root)
    for to, path in (("Budget 2027", "Projects/Budget 2027.md"), ("Archive/", "Archive/Budget 2027.md")):
        name = "Budget 2026" if to == "Budget 2027" else "Budget 2027"
        assert call(vault, "move_notes", paths=[name], to=to).data["path"] == path
    assert call(vault, "move_notes", paths=["Garden/"], to="Yard/").data["path"] == "Yard"
    code, message = refusal(vault, "create_note", path="Old", content="x", if_exists="overwrite")
    assert (code, "'/Old.md'" in message) == (NOTE_EXISTS, True)
    assert call(vault, "create_note", path="Old", content="x", if_exists="number").data["path"] == "Old 1.md"
    (root / "Long.md").write_text("# A\none\n# B\ntwo ^id\n")
    for paths, expected in (
        (["[[Long#B]]"], ["# B\ntwo ^id\n"]),
        (["Long#^id", "Long#A"], ["two ^id\n", "# A\none\n"]),
    ):
        read = call(vault, "read_notes", paths=paths).data["notes"]
        assert [note["content"] for note in read] == expected
    failed = call(vault, "read_notes", paths=["Long#C", "Long"]).data["notes"][0]
    assert (failed["error"], "'A', 'B'" in failed["message"]) == ("SECTION_NOT_FOUND", True)
    assert (
        call(vault, "read_notes", paths=["Long#B", "Long#A"], part="outline")
        .data["notes"][1]["content"]
        .startswith("# A")
    )
