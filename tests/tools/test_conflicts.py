"""Conflict copies joined with their originals: what is proposed, with which base, and that undo brings both back."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.calls import call, refusal
from support.command_line import run_command
from support.killing import tree
from support.vaults import new_state, open_vault
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, STALE_EDIT
from vaultwire.vault.vault import Vault

COPY = "Plan.sync-conflict-20260312-112900-C5H6PTH.md"
BASE = "---\ntags: [a]\nstatus: open\n---\n# Plan\none\ntwo\nthree\nfour\n"
MINE = BASE.replace("[a]", "[a, b]").replace("one\n", "mine\none\n").replace("two\n", "")
THEIRS = BASE.replace("[a]", "[a, c]").replace("four\n", "four\ntheirs\n")
BOTH = (
    BASE.replace("[a]", "[a, b, c]")
    .replace("one\n", "mine\none\n")
    .replace("two\n", "")
    .replace("four\n", "four\ntheirs\n")
)


def with_copy(root: Path, mine: str = MINE, theirs: str = THEIRS, name: str = COPY) -> Path:
    (root / "Plan.md").write_text(mine)
    (root / name).write_text(theirs)
    return root


def resolve(vault: Vault, **arguments: Any) -> dict[str, Any]:
    data: dict[str, Any] = call(vault, "resolve_conflicts", **arguments).data
    return data


def git(root: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *who, *arguments], check=True, capture_output=True)


def test_copies_are_listed_with_program_date_and_device(tmp_path: Path) -> None:
    with_copy(tmp_path)
    (tmp_path / "Gone (Ann's conflicted copy 2026-01-02).md").write_text("x")
    data = resolve(open_vault(tmp_path))
    assert data["total"] == 2
    assert data["copies"][1] == {
        "path": COPY,
        "original": "Plan.md",
        "has_original": True,
        "program": "Syncthing",
        "date": "2026-03-12 11:29:00",
        "device": "C5H6PTH",
    }
    assert not data["copies"][0]["has_original"]
    assert resolve(open_vault(tmp_path), folder="/")["total"] == 2


def test_nothing_is_written_until_join_and_one_undo_brings_both_back(tmp_path: Path) -> None:
    vault = open_vault(with_copy(tmp_path))
    before = tree(tmp_path)
    shown = resolve(vault, path=COPY, dry_run=True)
    assert tree(tmp_path) == before
    assert shown["clashes"] == []
    assert not shown["changed"]
    assert "+theirs" in shown["diff"]
    made = resolve(vault, path="Plan")  # by its original
    assert made["changed"]
    assert not (tmp_path / COPY).exists()
    assert (tmp_path / ".trash" / COPY).read_text() == THEIRS
    text = (tmp_path / "Plan.md").read_text()
    assert "two\n" in text  # without an earlier version nothing counts as removed
    assert made["compared_with"] == ""
    call(vault, "undo_changes", changes=[made["change"]])
    assert tree(tmp_path) == before


def test_the_journal_has_the_base(tmp_path: Path) -> None:
    (tmp_path / "Plan.md").write_text(BASE)
    vault = open_vault(tmp_path)
    call(vault, "write_note", path="Plan.md", content=MINE, mode="overwrite")
    (tmp_path / COPY).write_text(THEIRS)
    made = resolve(vault, path=COPY)
    assert made["compared_with"] == "'Plan.md' as it was before change 1"
    assert (tmp_path / "Plan.md").read_text() == BOTH


def test_no_addition_is_lost_where_the_other_device_had_an_older_version(tmp_path: Path) -> None:
    (tmp_path / "Plan.md").write_text(BASE)
    vault = open_vault(tmp_path)
    for text in ("first", "second", "third"):
        call(vault, "write_note", path="Plan.md", content=text, mode="append")
    (tmp_path / "Plan.md").write_text((tmp_path / "Plan.md").read_text() + "by hand\n")
    (tmp_path / COPY).write_text(THEIRS)  # made of the version before all three
    made = resolve(vault, path=COPY)
    assert made["compared_with"] == "'Plan.md' as it was before change 1"
    lines = (tmp_path / "Plan.md").read_text().split("\n")
    assert {"first", "second", "third", "by hand", "theirs", "tags: [a, c]"} <= {*lines}


@pytest.mark.skipif(shutil.which("git") is None, reason="Git is not here")
@pytest.mark.parametrize("below", ["", "Notes"])
def test_git_has_the_base_where_the_journal_has_none(tmp_path: Path, below: str) -> None:
    git(tmp_path, "init", "-q")
    root = tmp_path / below
    root.mkdir(exist_ok=True)
    (root / "Plan.md").write_text("another text\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "1")
    (root / "Plan.md").write_text(BASE)
    git(tmp_path, "commit", "-qam", "2")
    with_copy(root)
    git(tmp_path, "commit", "-qam", "3")  # so it is on record that a line was removed
    vault = open_vault(root)
    made = resolve(vault, path=COPY)
    assert made["compared_with"].startswith("'Plan.md' in Git's commit ")
    assert (root / "Plan.md").read_text() == BOTH


@pytest.mark.skipif(shutil.which("git") is None, reason="Git is not here")
def test_settings_of_a_repository_run_no_program(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "Plan.md").write_text(BASE)
    (tmp_path / ".gitattributes").write_text("*.md diff=run filter=run\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "1")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    trap.chmod(0o755)
    for setting in (
        "core.fsmonitor",
        "diff.run.textconv",
        "filter.run.smudge",
        "core.pager",
        "diff.external",
        "core.sshCommand",
    ):
        git(tmp_path, "config", setting, str(trap))
    (tmp_path / "ran").unlink(missing_ok=True)
    resolve(open_vault(with_copy(tmp_path)), path=COPY)
    assert not (tmp_path / "ran").exists()


def test_clashes_are_shown_side_by_side_and_chosen(tmp_path: Path) -> None:
    (tmp_path / "Plan.md").write_text(BASE)
    vault = open_vault(tmp_path)
    mine = BASE.replace("open", "closed").replace("one\n", "ONE\n")
    theirs = BASE.replace("open", "waiting").replace("one\n", "eins\n")
    call(vault, "write_note", path="Plan.md", content=mine, mode="overwrite")
    (tmp_path / COPY).write_text(theirs)
    before = tree(tmp_path)
    shown = resolve(vault, path=COPY, dry_run=True)
    assert tree(tmp_path) == before
    assert "change" not in shown
    assert [
        (clash["what"], clash["name"], clash["base"], clash["mine"], clash["theirs"]) for clash in shown["clashes"]
    ] == [
        ("property", "status", "open", "closed", "waiting"),
        ("lines", "", "one\n", "ONE\n", "eins\n"),
    ]
    assert shown["clashes"][1]["line"] == 6
    code, message = refusal(vault, "resolve_conflicts", path=COPY, choose=["mine", "mine", "both"])
    assert code == INVALID_ARGUMENTS
    assert "2 clashes and 3 choices" in message
    made = resolve(vault, path=COPY, choose=["theirs", "both"], if_match=shown["etag"])
    assert made["changed"]
    assert (tmp_path / "Plan.md").read_text() == BASE.replace("open", "waiting").replace("one\n", "ONE\neins\n")


def test_what_was_shown_must_still_be_there(tmp_path: Path) -> None:
    vault = open_vault(with_copy(tmp_path))
    etag = resolve(vault, path=COPY, dry_run=True)["etag"]
    (tmp_path / COPY).write_text(THEIRS + "later\n")
    assert refusal(vault, "resolve_conflicts", path=COPY, if_match=etag)[0] == STALE_EDIT
    assert (tmp_path / COPY).exists()


@pytest.mark.parametrize("style", ["", "||||||| 1a2b\nold\n"])
def test_marks_that_git_left_are_joined(tmp_path: Path, style: str) -> None:
    (tmp_path / "Plan.md").write_text(f"a\n<<<<<<< HEAD\nold\nmine\n{style}=======\nold\ntheirs\n>>>>>>> main\nb\n")
    vault = open_vault(tmp_path)
    made = resolve(vault, path="Plan")
    if style:
        assert (tmp_path / "Plan.md").read_text() == "a\nold\nmine\ntheirs\nb\n"
    else:  # nobody knows whether one line was changed or two were added
        assert [clash["mine"] for clash in made["clashes"]] == ["mine\n"]
        resolve(vault, path="Plan", choose=["both"])
        assert (tmp_path / "Plan.md").read_text() == "a\nold\nmine\ntheirs\nb\n"


def test_marks_are_listed_and_joined_in_notes_canvases_and_bases(tmp_path: Path) -> None:
    marks = "<<<<<<< HEAD\n{}\n||||||| 1\n{}\n=======\n{}\n>>>>>>> main\n"
    node = '{{"nodes":[\n\t{{"id":"a","type":"text","text":"{}","x":{},"y":0,"width":1,"height":1}}\n],"edges":[]}}'
    (tmp_path / "In").mkdir()
    (tmp_path / "In" / "Plan.md").write_bytes(("one\n" + marks.format("a", "b", "c")).replace("\n", "\r\n").encode())
    (tmp_path / "Board.canvas").write_text(marks.format(node.format("A", 0), node.format("a", 0), node.format("a", 5)))
    (tmp_path / "Books.base").write_text(marks.format("filters: a", "{}", "formulas: {x: 1}"))
    (tmp_path / "Shown.md").write_text("```\n" + marks.format("a", "b", "c") + "```\n")
    (tmp_path / "Clean.md").write_text("[[Nowhere]]\n")
    vault = open_vault(tmp_path)
    answer = call(vault, "resolve_conflicts")
    marked = {each["path"]: each["lines"] for each in answer.data["marked"]}
    assert marked == {"Board.canvas": [1], "Books.base": [1], "In/Plan.md": [2]}
    assert "Git's conflict marks are in 3 files:\nBoard.canvas: line 1\n" in answer.texts[0]
    assert [each["path"] for each in resolve(vault, folder="In")["marked"]] == ["In/Plan.md"]
    assert resolve(vault, path="Board.canvas")["changed"]
    (board,) = json.loads((tmp_path / "Board.canvas").read_text())["nodes"]
    assert (board["text"], board["x"]) == ("A", 5)
    assert resolve(vault, path="Books.base")["changed"]
    assert (tmp_path / "Books.base").read_text().splitlines() == ["filters: a", "formulas:", "  x: 1"]
    assert not resolve(vault, path="In/Plan.md")["changed"]
    assert resolve(vault, path="In/Plan.md", choose=["both"])["changed"]
    assert (tmp_path / "In" / "Plan.md").read_bytes() == b"one\r\na\r\nc\r\n"
    assert resolve(vault)["marked"] == []


def test_files_that_are_no_text_are_chosen_as_a_whole(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89\x00one")
    (tmp_path / "a.Conflict.png").write_bytes(b"\x89\x00two")
    (tmp_path / "b.png").write_bytes(b"\x89\x00same")
    (tmp_path / "b.Conflict.png").write_bytes(b"\x89\x00same")
    vault = open_vault(tmp_path)
    assert [clash["name"] for clash in resolve(vault, path="a.Conflict.png")["clashes"]] == ["the whole file"]
    assert refusal(vault, "resolve_conflicts", path="a.Conflict.png", choose=["both"])[0] == INVALID_ARGUMENTS
    resolve(vault, path="a.Conflict.png", choose=["theirs"])
    assert (tmp_path / "a.png").read_bytes() == b"\x89\x00two"
    resolve(vault, path="b.Conflict.png")
    assert (tmp_path / "b.png").read_bytes() == b"\x89\x00same"
    assert not (tmp_path / "b.Conflict.png").exists()


def test_gits_backup_is_no_third_version(tmp_path: Path) -> None:
    with_copy(tmp_path, theirs="<<<<<<< HEAD\na\n=======\nb\n>>>>>>> main\n", name="Plan.md.orig")
    vault = open_vault(tmp_path)
    assert [clash["name"] for clash in resolve(vault, path="Plan.md.orig")["clashes"]] == ["the whole file"]
    resolve(vault, path="Plan.md.orig", choose=["mine"])
    assert (tmp_path / "Plan.md").read_text() == MINE
    assert not (tmp_path / "Plan.md.orig").exists()


def test_what_is_no_conflict_gets_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "Plan.md").write_text(MINE)
    (tmp_path / "Gone.sync-conflict-20260312-112900-C5H6PTH.md").write_text("x")
    vault = open_vault(tmp_path)
    code, message = refusal(vault, "resolve_conflicts", path="Plan")
    assert code == FILE_NOT_FOUND
    assert "is no conflict copy, has none, and holds no conflict" in message
    _, gone = refusal(vault, "resolve_conflicts", path="Gone.sync-conflict-20260312-112900-C5H6PTH")
    assert "'Gone.md', which is not there any more" in gone
    assert refusal(vault, "resolve_conflicts", choose=["mine"])[0] == INVALID_ARGUMENTS
    with_copy(tmp_path)
    with_copy(tmp_path, name="Plan.Conflict.md")
    assert "has 2 copies" in refusal(vault, "resolve_conflicts", path="Plan")[1]


def test_several_copies_are_joined_one_after_another(tmp_path: Path) -> None:
    with_copy(tmp_path)
    with_copy(tmp_path, theirs=THEIRS + "more\n", name="Plan.Conflict.md")
    vault = open_vault(tmp_path)
    resolve(vault, path=COPY)
    resolve(vault, path="Plan.Conflict.md")
    text = (tmp_path / "Plan.md").read_text()
    assert "tags: [a, b, c]" in text
    assert text.count("theirs\n") == text.count("more\n") == text.count("mine\n") == 1


def test_only_a_removal_on_record_removes_a_line(tmp_path: Path) -> None:
    """With another device nobody knows whether it removed a line, or never had it."""
    (tmp_path / "Plan.md").write_text(BASE)
    vault = open_vault(tmp_path)
    call(vault, "edit_note", path="Plan.md", edits=[{"action": "delete", "lines": "7"}])
    (tmp_path / "Plan.md").write_text((tmp_path / "Plan.md").read_text() + "by hand\n")
    (tmp_path / COPY).write_text(BASE.replace("three\n", "").replace("[a]", "[a, c]"))
    resolve(vault, path=COPY)
    assert (tmp_path / "Plan.md").read_text() == BASE.replace("two\n", "").replace("[a]", "[a, c]") + "by hand\n"


def test_a_line_that_is_like_several_is_the_other_form_of_none(tmp_path: Path) -> None:
    """Lists are full of lines that begin alike: one that a side has added does not say that it removed the others."""
    (tmp_path / "Plan.md").write_text(BASE)
    vault = open_vault(tmp_path)
    mine = ["added 2 of 328", "added 3 of 737", "added 10 of 976"]
    for line in mine:
        call(vault, "write_note", path="Plan.md", content=line, mode="append")
    (tmp_path / "Plan.md").write_text((tmp_path / "Plan.md").read_text() + "by hand\n")
    (tmp_path / COPY).write_text(BASE + "added 1 of 652\n")
    resolve(vault, path=COPY, choose=["both"])
    assert {*mine, "by hand", "added 1 of 652"} <= {*(tmp_path / "Plan.md").read_text().splitlines()}


def test_of_devices_that_went_apart_at_any_time_no_addition_is_lost(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for number in range(12):
        root = tmp_path / str(number)
        root.mkdir()
        (root / "Plan.md").write_text(BASE)
        vault = open_vault(root)
        versions = [BASE]
        added: set[str] = set()
        for step in range(chance.randrange(1, 6)):
            line = f"added {step} {chance.randrange(10**6)}"
            added.add(line)
            if chance.random() < 0.6:  # an agent
                call(vault, "write_note", path="Plan.md", content=line, mode=chance.choice(["append", "prepend"]))
            else:  # the person
                (root / "Plan.md").write_text((root / "Plan.md").read_text() + line + "\n")
            versions.append((root / "Plan.md").read_text())
        other = chance.choice(versions[:-1]) + f"other {number}\n"  # made of any earlier version
        sides = [versions[-1], other]
        chance.shuffle(sides)  # the newest keeps the name: it may be the other device's
        with_copy(root, *sides)
        made = resolve(vault, path=COPY, choose=["both"])
        assert made["changed"], seed
        lines = (root / "Plan.md").read_text().split("\n")
        assert {*added, f"other {number}"} <= {*lines}, seed
        assert all(lines.count(line) == 1 for line in added), seed


WORDS = ["buy", "milk", "today", "call", "mum", "bread", "water", "the", "garden", "again"]


def random_line(chance: random.Random) -> str:
    """Return a short line of a form that many lines have: half of its words stand in another, too."""
    text = " ".join(chance.choices(WORDS, k=chance.randrange(2, 5)))
    return chance.choice(
        ["{}", "- {}", "- [ ] {}", "- [ ] {} today", "| {} | today | ok |", "walked with {} in the park"]
    ).format(text)


def test_of_lines_that_are_alike_no_addition_is_lost(tmp_path: Path) -> None:
    """The other device had any earlier version, also one that nobody has on record, and changed lines of its own."""
    seed = random.randrange(2**32)
    chance = random.Random(seed)
    for number in range(40):
        root = tmp_path / str(number)
        root.mkdir()
        base = [random_line(chance) for _ in range(chance.randrange(3, 8))]
        (root / "Plan.md").write_text("".join(f"{line}\n" for line in base))
        vault = open_vault(root)
        removed: set[str] = set()
        for _ in range(chance.randrange(1, 5)):
            lines = (root / "Plan.md").read_text().splitlines()
            place, what = chance.randrange(len(lines)), chance.random()
            if what < 0.7:
                lines.insert(place, random_line(chance))
            else:
                removed.add(lines.pop(place))
            text = "".join(f"{line}\n" for line in lines or ["last"])
            if chance.random() < 0.6:
                call(vault, "write_note", path="Plan.md", content=text, mode="overwrite")
            else:  # the person
                (root / "Plan.md").write_text(text)
        theirs = list(base)
        for _ in range(chance.randrange(1, 4)):
            place, what = chance.randrange(len(theirs)), chance.random()
            if what < 0.6:
                theirs.insert(place, random_line(chance))
            else:
                removed.add(theirs[place])
                theirs[place : place + 1] = [random_line(chance)] * (what < 0.8)
            theirs = theirs or ["last"]
        mine = (root / "Plan.md").read_text()
        sides = [mine, "".join(f"{line}\n" for line in theirs)]
        chance.shuffle(sides)
        with_copy(root, *sides)
        added = ({*mine.splitlines()} | {*theirs}) - {*base} - removed
        assert resolve(vault, path=COPY, choose=["both"])["changed"], f"seed {seed}"
        assert added <= {*(root / "Plan.md").read_text().splitlines()}, f"seed {seed}, number {number}"


@pytest.mark.parametrize(
    ("line", "now", "is_clear"),
    [
        ("- [ ] buy milk today", "- [ ] buy bread today", False),
        ("- [ ] call mum", "- [x] call mum", True),
        ("- [ ] call mum", "- [x] call mum \u2705 2026-03-12", True),
        ("walked in the park", "walked in the wood", False),
        ("| 12 March | 5 km | fine |", "| 13 March | 5 km | fine |", False),
        (
            "The plan of the garden has four beds, and each of them gets water in the morning.",
            "The plan of the garden has five beds, and each of them gets water in the evening.",
            True,
        ),
    ],
)
def test_a_like_line_is_another_unless_that_is_clear(tmp_path: Path, line: str, now: str, *, is_clear: bool) -> None:
    """The other device may have had a version without the line, and added its own."""
    (tmp_path / "Plan.md").write_text("# Plan\none\ntwo\nthree\n")
    vault = open_vault(tmp_path)
    call(vault, "edit_note", path="Plan.md", edits=[{"action": "append", "content": line}])
    call(vault, "edit_note", path="Plan.md", edits=[{"action": "prepend", "content": "four"}])
    (tmp_path / COPY).write_text(f"# Plan\none\ntwo\nthree\n{now}\n")
    shown = resolve(vault, path=COPY, dry_run=True)
    if is_clear:
        assert shown["clashes"] == []
        assert f"-{line}\n+{now}\n" in shown["diff"]
    else:
        resolve(vault, path=COPY, choose=["both"])
        assert {line, now} <= {*(tmp_path / "Plan.md").read_text().splitlines()}


# ---------------------------------------------------------------------- the command


@pytest.mark.parametrize(
    ("earlier", "recorded", "mine", "theirs", "becomes"),
    [
        pytest.param("open", ["done"], "done", "waiting", None, id="both may have changed what was before"),
        pytest.param("open", ["done", "open"], "open", "waiting", None, id="and the first is back"),
        pytest.param("open", ["done"], "late", "done", None, id="the other device knows what is on record"),
        pytest.param("open", ["done", "late"], "late", "done", "late", id="replaced on record"),
        pytest.param("open", [], "open", "waiting", "waiting", id="never another value on record"),
        pytest.param("open", ["done"], "done", "done", "done", id="the same"),
        pytest.param(None, ["done"], "done", "waiting", None, id="there was none"),
    ],
)
def test_a_value_that_both_may_have_set_is_a_clash(
    tmp_path: Path, earlier: str | None, recorded: list[str], mine: str, theirs: str, becomes: str | None
) -> None:
    def plan(status: str | None, line: str = "") -> str:
        return BASE.replace("status: open\n", "" if status is None else f"status: {status}\n") + line

    (tmp_path / "Plan.md").write_text(plan(earlier))
    vault = open_vault(tmp_path)
    for status in recorded or [earlier or ""]:
        call(vault, "write_note", path="Plan.md", content=plan(status, "recorded\n"), mode="overwrite")
    (tmp_path / "Plan.md").write_text(plan(mine, "recorded\nmine\n"))
    (tmp_path / COPY).write_text(plan(theirs, "recorded\ntheirs\n"))
    shown = resolve(vault, path=COPY, dry_run=True)
    assert [clash["name"] for clash in shown["clashes"] if clash["name"] == "status"] == ["status"] * (becomes is None)
    if becomes is not None:
        resolve(vault, path=COPY)
        assert f"status: {becomes}\n" in (tmp_path / "Plan.md").read_text()


def test_the_command_lists_shows_and_joins(tmp_path: Path) -> None:
    with_copy(tmp_path)
    (tmp_path / "Other.md").write_text("a\nb\nc\n")
    (tmp_path / "Other.Conflict.md").write_text("a\nB\nc\n")
    state = {"XDG_STATE_HOME": new_state(), "XDG_CACHE_HOME": new_state()}
    vault = ("--vault", str(tmp_path))
    listed = run_command("conflicts", *vault, **state)
    assert listed.returncode == 0
    assert f"{COPY}: a copy that Syncthing made on 2026-03-12 11:29:00" in listed.stdout
    shown = run_command("conflicts", COPY, *vault, **state)
    assert shown.returncode == 0
    assert "+theirs" in shown.stdout
    before = tree(tmp_path)
    clashing = run_command("conflicts", "Other", "--json", *vault, **state)
    assert clashing.returncode == 1
    assert len(json.loads(clashing.stdout)["clashes"]) == 1
    assert tree(tmp_path) == before
    joined = run_command("conflicts", "--join", *vault, **state)
    assert joined.returncode == 1  # one clashes
    assert "vaultwire undo" in joined.stdout
    assert not (tmp_path / COPY).exists()
    assert (tmp_path / "Other.Conflict.md").exists()
    last = run_command("conflicts", "Other", "--join", "--choose", "both", *vault, **state)
    assert last.returncode == 0
    assert (tmp_path / "Other.md").read_text() == "a\nb\nB\nc\n"
    assert run_command("conflicts", "--choose", "mine", *vault, **state).returncode == 2
