"""Edits with an old etag that are joined with what has changed since: only what does not touch, and never silently."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from support.calls import DESCRIPTIONS, attempt, call, refusal
from support.killing import tree
from support.vaults import new_state, open_vault
from vaultwire.toolkit.registry import Failure
from vaultwire.vault.caller import Caller
from vaultwire.vault.disk.contents import etag_of, part_etag
from vaultwire.vault.errors import INVALID_ARGUMENTS, NOT_READ, STALE_EDIT
from vaultwire.vault.vault import Vault

TEXT = "---\nstatus: open\ntags: [a]\n---\n# Plan\none\ntwo\nthree\n- [ ] call mum\n"
LATER = TEXT.replace("one\n", "new\none\n").replace("[a]", "[a, b]")


def opened(root: Path, text: str = TEXT, **options: Any) -> tuple[Vault, str]:
    """Return a vault with one note, and its etag as a client has read it."""
    (root / "Plan.md").write_bytes(text.encode())
    vault = open_vault(root, **options)
    return vault, call(vault, "read_notes", paths=["Plan"]).data["notes"][0]["etag"]


def edit(action: str, **rest: str) -> dict[str, Any]:
    return {"edits": [{"action": action, **rest}]}


TOUCHING_NOTHING: list[tuple[str, dict[str, Any], str]] = [
    ("edit_note", edit("replace", lines="8", content="3"), LATER.replace("three", "3")),  # the line as it was read
    ("edit_note", edit("replace", text="two", content="2"), LATER.replace("two", "2")),
    ("edit_note", edit("append", property="tags", content="c"), LATER.replace("[a, b]", "[a, b, c]")),
    ("edit_note", {"diff": "@@ -7,2 +7,2 @@\n two\n-three\n+3\n"}, LATER.replace("three", "3")),
    ("set_properties", {"set": {"status": "done"}}, LATER.replace("open", "done")),
    ("write_note", {"mode": "overwrite", "content": TEXT.replace("two\n", "")}, LATER.replace("two\n", "")),
    ("write_note", {"mode": "append", "content": "end"}, LATER + "end\n"),
    ("set_task", {"tasks": [{"path": "Plan", "line": 9, "status": "done"}]}, LATER.replace("[ ]", "[x]")),
]


def named(tool: str, arguments: dict[str, Any], **rest: Any) -> dict[str, Any]:
    names: dict[str, dict[str, Any]] = {"set_properties": {"paths": ["Plan"]}, "set_task": {}}
    return {**names.get(tool, {"path": "Plan.md"}), **arguments, **rest}


@pytest.mark.parametrize(("tool", "arguments", "after"), TOUCHING_NOTHING)
def test_an_edit_is_joined_with_what_it_does_not_touch(
    tmp_path: Path, tool: str, arguments: dict[str, Any], after: str
) -> None:
    vault, etag = opened(tmp_path)
    (tmp_path / "Plan.md").write_text(LATER)
    assert refusal(vault, tool, **named(tool, arguments, if_match=etag))[0] == STALE_EDIT
    shown = call(vault, tool, **named(tool, arguments, if_match=etag, merge=True, dry_run=True))
    assert (tmp_path / "Plan.md").read_text() == LATER
    assert "Your edit was merged" in shown.texts[0]
    made = call(vault, tool, **named(tool, arguments, if_match=etag, merge=True))
    assert (tmp_path / "Plan.md").read_text() == after
    assert tool == "set_task" or made.data["etag"] == etag_of(after.encode())  # of several notes
    assert "Your edit was merged" in made.texts[0]
    assert "+new" in made.texts[0]
    call(vault, "undo_changes", changes=[made.data["change"]])
    assert (tmp_path / "Plan.md").read_text() == LATER


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_byte_order_mark_and_line_ends_stay(tmp_path: Path, mark: str, ending: str) -> None:
    def written(text: str) -> bytes:
        return (mark + text.replace("\n", ending)).encode()

    vault, etag = opened(tmp_path, written(TEXT).decode())
    (tmp_path / "Plan.md").write_bytes(written(LATER))
    call(vault, "edit_note", path="Plan", **edit("replace", text="two", content="2"), if_match=etag, merge=True)
    assert (tmp_path / "Plan.md").read_bytes() == written(LATER.replace("two", "2"))


@pytest.mark.parametrize(
    ("tool", "arguments", "later"),
    [
        ("edit_note", edit("replace", text="two", content="2"), TEXT.replace("two", "zwei")),
        ("edit_note", edit("delete", lines="7"), TEXT.replace("two", "two and more")),
        ("set_properties", {"set": {"status": "done"}}, TEXT.replace("open", "late")),
        ("write_note", {"mode": "overwrite", "content": "else\n"}, LATER),
    ],
)
def test_what_both_changed_is_refused_and_nothing_is_written(
    tmp_path: Path, tool: str, arguments: dict[str, Any], later: str
) -> None:
    vault, etag = opened(tmp_path)
    (tmp_path / "Plan.md").write_text(later)
    before = tree(tmp_path)
    code, message = refusal(vault, tool, **named(tool, arguments, if_match=etag, merge=True))
    assert code == STALE_EDIT
    assert re.match(
        r"Not merged: your edit and the later one differ in (1 place|2 places)\. 'Plan.md' has changed", message
    )
    assert "Since it was read" in message
    assert tree(tmp_path) == before


def test_what_both_changed_alike_stands_once(tmp_path: Path) -> None:
    vault, etag = opened(tmp_path)
    (tmp_path / "Plan.md").write_text(TEXT.replace("two", "2"))
    call(vault, "edit_note", path="Plan", **edit("replace", text="two", content="2"), if_match=etag, merge=True)
    assert (tmp_path / "Plan.md").read_text() == TEXT.replace("two", "2")


def test_without_the_text_of_the_etag_it_is_refused(tmp_path: Path) -> None:
    """Neither read in this session, nor in the journal: nobody knows what the edit was made for."""
    (tmp_path / "Plan.md").write_text(LATER)
    arguments = named("edit_note", edit("append", content="x"), if_match=etag_of(TEXT.encode()), merge=True)
    code, message = refusal(open_vault(tmp_path), "edit_note", **arguments)
    assert code == STALE_EDIT
    assert message.startswith("Not merged: its text with your etag is not on record.")
    assert (tmp_path / "Plan.md").read_text() == LATER


@pytest.mark.parametrize("version", [0, 1])
def test_the_journal_knows_the_text_in_a_later_session(tmp_path: Path, version: int) -> None:
    state = Path(new_state())
    first, etag = opened(tmp_path, state=state)
    etags = [etag, call(first, "edit_note", path="Plan", **edit("append", content="agent")).data["etag"]]
    first.close()
    vault = open_vault(tmp_path, state=state)
    (tmp_path / "Plan.md").write_text(TEXT.replace("one\n", "new\none\n") + "agent\n")
    made = call(vault, "edit_note", path="Plan", **edit("delete", text="two\n"), if_match=etags[version], merge=True)
    assert (tmp_path / "Plan.md").read_text() == TEXT.replace("one\ntwo\n", "new\none\n") + "agent\n"
    assert ("+agent" in made.texts[0]) is (version == 0)


def test_of_a_part_only_a_part_is_edited(tmp_path: Path) -> None:
    vault, etag = opened(tmp_path)
    (tmp_path / "Plan.md").write_text(LATER)
    part = part_etag(etag)
    assert (
        refusal(vault, "write_note", path="Plan", content="x", mode="overwrite", if_match=part, merge=True)[0]
        == NOT_READ
    )
    call(vault, "edit_note", path="Plan", **edit("replace", text="two", content="2"), if_match=part, merge=True)
    assert (tmp_path / "Plan.md").read_text() == LATER.replace("two", "2")


def test_more_than_an_answer_shows_is_not_joined(tmp_path: Path) -> None:
    """Else the caller would have the etag of a text that it has not seen, and could write over it."""
    vault, etag = opened(tmp_path)
    later = TEXT + "".join(f"line {number}\n" for number in range(3_000))
    (tmp_path / "Plan.md").write_text(later)
    arguments = named("edit_note", edit("replace", text="two", content="2"), if_match=etag, merge=True)
    assert refusal(vault, "edit_note", **arguments)[1].startswith("Not merged: too much of it has changed.")
    assert (tmp_path / "Plan.md").read_text() == later


def test_bytes_that_are_no_text_are_not_joined(tmp_path: Path) -> None:
    vault, etag = opened(tmp_path)
    (tmp_path / "Plan.md").write_bytes(TEXT.encode() + b"\xff\n")
    arguments = named("edit_note", edit("replace", text="two", content="2"), if_match=etag, merge=True)
    assert refusal(vault, "edit_note", **arguments)[1].startswith("Not merged: it is no UTF-8 text.")


@pytest.mark.parametrize("is_clashing", [False, True])
def test_edits_of_canvases_and_bases_are_joined_by_element(tmp_path: Path, *, is_clashing: bool) -> None:
    nodes = [{"id": each, "type": "text", "text": each, "x": 0, "y": 0, "width": 1, "height": 1} for each in "ab"]
    canvas, base = tmp_path / "Board.canvas", tmp_path / "Books.base"
    canvas.write_text(json.dumps({"nodes": nodes, "edges": []}))
    base.write_text("filters: a\nformulas:\n  x: 1 + 1\nviews:\n  - type: table\n    name: All\n")
    vault = open_vault(tmp_path)
    etags = {file: vault.read_file(file.name, 10_000)[1] for file in (canvas, base)}
    for name in ("Board.canvas", "Books.base"):
        call(
            vault,
            "read_canvas" if name.endswith("s") else "read_notes",
            **({"path": name} if name.endswith("s") else {"paths": [name]}),
        )
    which = "a" if is_clashing else "b"
    call(vault, "edit_canvas", path="Board", edits=[{"action": "set", "id": "a", "text": "later"}])
    call(vault, "edit_base", base="Books", set={"formulas": {"x": "later"}})
    calls: list[tuple[str, dict[str, Any], Path]] = [
        ("edit_canvas", {"path": "Board", "edits": [{"action": "set", "id": which, "text": "mine"}]}, canvas),
        ("edit_base", {"base": "Books", "set": {"formulas": {"x" if is_clashing else "y": "mine"}}}, base),
    ]
    for tool, arguments, file in calls:
        etag = etag_of(etags[file].data)
        assert refusal(vault, tool, **arguments, if_match=etag)[0] == STALE_EDIT
        before = file.read_bytes()
        if is_clashing:
            assert "differ in 1 place" in refusal(vault, tool, **arguments, if_match=etag, merge=True)[1]
            assert file.read_bytes() == before
        else:
            assert "Your edit was merged" in call(vault, tool, **arguments, if_match=etag, merge=True).texts[0]
            assert file.read_text().count("later") == file.read_text().count("mine") == 1


@pytest.mark.parametrize("tool", ["edit_note", "set_properties", "write_note", "set_task"])
def test_merge_needs_an_etag(tmp_path: Path, tool: str) -> None:
    vault, _ = opened(tmp_path)
    arguments = next(arguments for name, arguments, _ in TOUCHING_NOTHING if name == tool)
    assert refusal(vault, tool, **named(tool, arguments, merge=True)) == (
        INVALID_ARGUMENTS,
        "merge: it needs if_match, the etag of the note as you read it. Nothing was changed.",
    )
    assert DESCRIPTIONS[tool]["inputSchema"]["properties"]["merge"]["default"] is False


def test_who_may_not_read_notes_is_told_no_text_of_them(tmp_path: Path) -> None:
    opened_vault, etag = opened(tmp_path)
    call(opened_vault, "edit_note", path="Plan", **edit("append", content="agent"))
    caller = Caller("agent")
    caller.may_read_notes = False
    vault = opened_vault.used_by(caller, "edit_note")
    (tmp_path / "Plan.md").write_text(LATER + "agent\n")
    arguments = named("edit_note", edit("replace", text="two", content="2"), if_match=etag, merge=True)
    assert "new" not in " ".join(call(vault, "edit_note", **arguments, dry_run=True).data["notices"])
    (tmp_path / "Plan.md").write_text(LATER.replace("two", "secret"))
    assert "secret" not in refusal(vault, "edit_note", **arguments)[1]


def test_of_random_edits_each_addition_is_there_or_the_edit_was_refused(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    joined = 0
    for number in range(40):
        root = tmp_path / str(number)
        root.mkdir()
        lines = [f"line {place} of {chance.randrange(100)}" for place in range(chance.randrange(1, 9))]
        vault, etag = opened(root, "\n".join(lines) + "\n")
        later = list(lines)
        later[chance.randrange(len(lines))] = "person"
        later.insert(chance.randrange(len(later) + 1), "added by the person")
        (root / "Plan.md").write_text("\n".join(later) + "\n")
        line = str(chance.randrange(len(lines)) + 1)
        action = chance.choice(["append", "prepend", "replace"])
        arguments = named("edit_note", edit(action, lines=line, content="agent"), if_match=etag, merge=True)
        answer = attempt(vault, "edit_note", **arguments)
        if isinstance(answer, Failure):
            assert answer.code == STALE_EDIT, seed
            assert (root / "Plan.md").read_text().splitlines() == later, seed
            continue
        joined += 1
        after = (root / "Plan.md").read_text().splitlines()
        assert after.count("agent") == after.count("person") == after.count("added by the person") == 1, seed
        assert len(after) == len(lines) + 1 + (action != "replace"), seed
    assert joined, seed


def test_where_notes_must_be_read_first_the_etag_says_that_it_was(tmp_path: Path) -> None:
    state = Path(new_state())
    first, etag = opened(tmp_path, state=state, read_first=True)
    call(first, "edit_note", path="Plan", **edit("append", content="agent"))
    first.close()
    vault = open_vault(tmp_path, state=state, read_first=True)
    arguments = named("edit_note", edit("replace", text="two", content="2"))
    assert refusal(vault, "edit_note", **arguments)[0] == NOT_READ
    call(vault, "edit_note", **arguments, if_match=etag, merge=True)
    assert (tmp_path / "Plan.md").read_text() == TEXT.replace("two", "2") + "agent\n"
