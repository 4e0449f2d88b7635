"""What a run may not see does not exist for it, whichever way it asks; and what it may not change it cannot."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from support.calls import attempt, call, refusal
from support.vaults import open_vault, snapshot, write_in_place, write_vault
from vaultwire.app.engine import open_index
from vaultwire.toolkit.registry import Failure, Outcome
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import CURSOR_EXPIRED, FILE_NOT_FOUND, NOTE_EXISTS, POLICY_DENIED, VaultError
from vaultwire.vault.search.query import parse_query
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath
from vaultwire.vault.vault import Vault
from vaultwire.vault.visibility.visible_files import PrivacyRules, VisibleFiles

VAULT = """
=== Open.md
---
tags: [work]
---
See [[Plan]] and [[Diary]]. Apples.
=== Work/Task.md
- [ ] Apples
=== Secret/Plan.md
---
tags: [hush]
status: zebra
---
# Coup
Apples and [[Open]]
=== Diary.md
---
private: true
---
Apples, mine.
=== Work/picture.png
not really
"""


def rules(kind: str, *patterns: str) -> tuple[Rule, ...]:
    return tuple(Rule(kind, pattern, number) for number, pattern in enumerate(patterns, 1))


posix_only = pytest.mark.skipif(os.name == "nt", reason="Windows does not tell when a file was changed but by its time")
DENY: dict[str, Any] = {"deny": rules("deny", "Secret/")}
PRIVATE: dict[str, Any] = {"privacy": PrivacyRules((), {"private": None})}


def open_with(root: Path, **given: Any) -> Vault:
    return open_vault(root, rules=PathRules(**given))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


def everything(vault: Vault, *links_of: str) -> str:
    """Return what the reading tools say that take no name, and of the links of these notes."""
    asked: list[tuple[str, dict[str, Any]]] = [
        ("list_notes", {}),
        ("search_notes", {"query": "apples"}),
        ("find_notes", {}),
        ("vault_overview", {"what": "tags"}),
        ("find_notes", {"sort": "modified"}),
        ("vault_overview", {"what": "properties"}),
        ("list_tasks", {}),
        ("vault_overview", {}),
        ("check_notes", {}),
        ("list_links", {"what": "orphans"}),
        ("list_links", {"what": "unresolved"}),
        ("list_links", {"what": "hubs"}),
        ("list_changes", {}),
    ]
    asked += [("list_links", {"path": name}) for name in links_of]
    asked += [("list_links", {"path": name, "what": "in"}) for name in links_of]
    return json.dumps([repr(attempt(vault, tool, **arguments)) for tool, arguments in asked])


@pytest.mark.parametrize(
    ("given", "hidden", "shown"),
    [
        (DENY, ["Secret/", "Coup", "hush", "zebra"], ["Open.md", "Work/Task.md", "Diary.md"]),
        (PRIVATE, ["Diary.md", "mine"], ["Open.md", "Secret/Plan.md"]),
        ({"read": rules("read", "/Work/")}, ["Open.md", "Secret", "Diary"], ["Work/Task.md"]),
        ({"types": ("png",)}, ["Open.md", "Task.md"], []),
        ({"privacy": PrivacyRules(["HUSH"])}, ["Secret/Plan.md", "Coup", "zebra"], ["Diary.md"]),
        ({"privacy": PrivacyRules([], {"STATUS": "Zebra"})}, ["Secret/Plan.md", "Coup"], ["Diary.md"]),
    ],
)
def test_what_is_hidden_is_in_no_list(root: Path, given: dict[str, Any], hidden: list[str], shown: list[str]) -> None:
    said = everything(open_with(root, **given), *(["Open.md"] if "Open.md" in shown else []))
    for text in hidden:
        assert text not in said, text
    for text in shown:
        assert text in said, text


NAMED: list[tuple[str, dict[str, Any]]] = [
    ("read_note", {"path": "NAME.md"}),
    ("read_note", {"path": "NAME"}),
    ("read_notes", {"paths": ["NAME.md"], "part": "outline"}),
    ("list_links", {"path": "NAME.md"}),
    ("list_links", {"path": "NAME.md", "what": "in"}),
    ("search_notes", {"query": "x", "folder": "NAME"}),
    ("list_notes", {"folder": "NAME"}),
    ("write_note", {"path": "NAME.md", "content": "x", "mode": "append"}),
    ("edit_note", {"path": "NAME.md", "edits": [{"action": "append", "content": "x"}]}),
    ("delete_note", {"path": "NAME.md"}),
    ("delete_note", {"path": "NAME.md", "permanent": True}),
    ("move_notes", {"paths": ["NAME.md"], "to": "Other.md"}),
    ("set_properties", {"path": "NAME.md", "properties": [{"name": "a"}]}),
    ("restore_note", {"path": "NAME.md"}),
    ("restore_note", {"path": ".trash/NAME.md"}),
    ("insert_template", {"path": "Open.md", "template": "NAME.md"}),
]


@pytest.mark.parametrize(("tool", "arguments"), NAMED)
@pytest.mark.parametrize(("name", "given"), [("Secret/Plan", DENY), ("Diary", PRIVATE), ("SECRET/plan", DENY)])
def test_a_hidden_name_is_answered_as_one_that_is_not_there(
    root: Path, tmp_path: Path, tool: str, arguments: dict[str, Any], name: str, given: dict[str, Any]
) -> None:
    empty = write_vault(tmp_path / "other", VAULT)
    for path in ("Secret/Plan.md", "Diary.md"):
        (empty / path).unlink()
    (empty / "Secret").rmdir()

    def named(value: Any) -> Any:
        return value.replace("NAME", name) if isinstance(value, str) else value

    asked = {key: named(value) for key, value in arguments.items()}
    before = snapshot(root)
    hidden, missing = attempt(open_with(root, **given), tool, **asked), attempt(open_vault(empty), tool, **asked)
    if name == "Diary" and tool in ("list_notes", "search_notes"):
        return  # there is no such folder to hide
    assert isinstance(hidden, Failure)
    assert isinstance(missing, Failure)
    # Of what is near, each vault has its own: here those besides the one name.
    expected = missing.message
    assert (hidden.code, hidden.message) == (missing.code, expected)
    assert snapshot(root) == before


BOARD = '{"nodes":[{"type":"text","text":"zucchini plans"}]}'


def test_a_hidden_canvas_is_neither_found_nor_read(root: Path) -> None:
    write_vault(root, f"=== Secret/Board.canvas\n{BOARD}\n=== Work/Board.canvas\n{BOARD}\n")
    vault = open_with(root, **DENY)
    found = call(vault, "search_notes", query="zucchini").data
    assert ([note["path"] for note in found["notes"]], found["total"]) == (["Work/Board.canvas"], 1)
    assert (
        found["notes_searched"] == call(open_vault(root), "search_notes", query="zucchini").data["notes_searched"] - 2
    )
    for name in ("Secret/Board.canvas", "secret/board.CANVAS"):
        there, missing = (refusal(vault, "read_note", path=path) for path in (name, name.replace("oard", "eard")))
        assert there == (missing[0], missing[1].replace("eard", "oard"))
    read = attempt(vault, "read_note", path="Board.canvas")
    assert isinstance(read, Outcome)
    assert read.data["path"] == "Work/Board.canvas"


@pytest.mark.parametrize(
    ("text", "is_private"),
    [
        ("zucchini #hush", True),
        ("zucchini\\n\\u0023HUSH/deep", True),
        ("#hushed zucchini", False),
        ("zucchini `#hush`", False),
        ('``` `"},{"text":"#hush zucchini"},{"text":"` ```', True),
        ('```\\n"},{"text":"zucchini\\n#hush"},{"text":"$$', True),
    ],
)
def test_a_canvas_with_a_private_tag_in_a_card_is_not_there(root: Path, text: str, is_private: bool) -> None:
    board = f'{{"nodes":[{{"text":"other"}},{{"type":"text","text":"{text}"}}]}}'
    write_vault(root, f"=== Board.canvas\n{board}\n")
    vault = open_with(root, privacy=PrivacyRules(["hush"]))
    assert call(vault, "search_notes", query="zucchini").data["total"] == (not is_private)
    assert isinstance(attempt(vault, "read_note", path="Board.canvas"), Failure) is is_private
    assert vault.has_file("Board.canvas") is not is_private


@pytest.mark.parametrize("name", ["Secret/Map.png", "Map.png", "[[map.png]]", "SECRET/map.PNG"])
def test_a_hidden_attachment_has_backlinks_as_one_that_is_not_there(root: Path, tmp_path: Path, name: str) -> None:
    write_vault(root, "=== Secret/Map.png\n=== Links.md\n![[Map.png]] ![[Secret/Map.png]]\n")
    twin = write_vault(tmp_path / "other", VAULT + "=== Links.md\n![[Map.png]] ![[Secret/Map.png]]\n")
    (twin / "Secret" / "Plan.md").unlink()
    (twin / "Secret").rmdir()
    assert refusal(open_with(root, **DENY), "list_links", path=name, what="in") == refusal(
        open_vault(twin), "list_links", path=name, what="in"
    )
    assert call(open_vault(root), "list_links", path=name, what="in").data["total"] == 2


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("write_note", {"path": "Secret/NAME.md", "content": "x"}),
        ("write_note", {"path": "Secret/NAME.md", "content": "x", "mode": "overwrite"}),
        ("create_note", {"path": "Secret/NAME.md", "content": "x"}),
        ("create_note", {"path": "Secret/NAME.md", "content": "x", "dry_run": True}),
        ("move_notes", {"paths": ["Open.md"], "to": "Secret/NAME.md"}),
        ("move_notes", {"paths": ["Open.md"], "to": "secret/NAME.md", "dry_run": True}),
        ("extract_section", {"path": "Open.md", "lines": "4", "to": "Secret/NAME.md"}),
        ("add_attachment", {"name": "Secret/NAME.png", "data": "iVBORw0KGgo="}),
    ],
)
def test_nothing_is_put_where_it_may_not_be_and_the_refusal_does_not_tell_what_is_there(
    root: Path, tool: str, arguments: dict[str, Any]
) -> None:
    vault = open_with(root, **DENY)
    (root / "Secret" / "Plan.png").write_bytes(b"x")
    before = snapshot(root)
    said = []
    for name in ("Plan", "None"):
        asked = {
            key: value.replace("NAME", name) if isinstance(value, str) else value for key, value in arguments.items()
        }
        code, message = refusal(vault, tool, **asked)
        assert code == POLICY_DENIED
        said.append(message.replace(name, "NAME"))
    assert said[0] == said[1]
    assert snapshot(root) == before


def test_nothing_is_put_over_a_private_note(root: Path) -> None:
    vault = open_with(root, **PRIVATE)
    for mode in ("create", "overwrite"):
        assert refusal(vault, "write_note", path="Diary.md", content="x", mode=mode)[0] == POLICY_DENIED
    assert refusal(vault, "move_notes", paths=["Open.md"], to="Diary.md")[0] == POLICY_DENIED
    assert "mine" in (root / "Diary.md").read_text()


def test_only_what_may_be_written_is(root: Path) -> None:
    vault = open_with(root, write=rules("write", "/Work/"))
    call(vault, "write_note", path="Work/New.md", content="x")
    call(vault, "write_note", path="work/Task.md", content="x", mode="append")
    assert refusal(vault, "write_note", path="Open.md", content="x", mode="append")[0] == POLICY_DENIED
    assert refusal(vault, "move_notes", paths=["Work/Task.md"], to="/Task.md")[0] == POLICY_DENIED
    assert refusal(vault, "move_notes", paths=["Open.md"], to="Work/Open.md")[0] == POLICY_DENIED
    assert refusal(vault, "rename", what="tag", old="work", new="play")[0] == POLICY_DENIED
    call(vault, "read_note", path="Open.md")


def test_a_note_that_turns_private_is_gone_at_once_and_back_when_it_is_not(root: Path) -> None:
    vault = open_with(root, **PRIVATE)
    assert "Work/Task.md" in everything(vault)
    open_text = (root / "Work" / "Task.md").read_text()
    (root / "Work" / "Task.md").write_text(f"---\nprivate: yes please\n---\n{open_text}")
    assert "Work/Task.md" not in everything(vault)
    (root / "Work" / "Task.md").write_text(open_text)
    assert "Work/Task.md" in everything(vault)


def test_a_note_that_a_client_makes_private_is_gone_for_it(root: Path) -> None:
    vault = open_with(root, **PRIVATE)
    call(vault, "set_properties", path="Open.md", properties=[{"name": "private", "value": "true"}])
    assert refusal(vault, "read_note", path="Open.md")[0] == FILE_NOT_FOUND
    assert "Open.md" not in everything(vault)
    assert refusal(vault, "undo_changes", changes=[1])[0] == FILE_NOT_FOUND


@pytest.mark.parametrize(
    "text",
    [
        "---\nprivate: true\n---\n",
        "\ufeff---\r\nPrivate: TRUE\r\n---\r\n",
        '---\n"priv\\u0061te": yes\n---\n',
        "---\nprivate: [a, true]\n---\n",
        "---\nprivate: 1\n---\n",
        "---\nprivate: true\nprivate: false\n---\n",
        "---\nprivate: true\n: : [\n---\n",
        "---\nprivate: true\nnever closed\n",
        "text #hush\n",
        "text #HUSH/more\n",
        "---\ntags: hush\n---\n",
        "---\ntags: [a, 'HUSH/deep']\n---\n",
        '---\ntags: ["h\\u0075sh"]\n---\n',
        "---\nTags:\n  - hush\n---\n",
        # what may be a tag hides, whether or not search and lists take it for one
        "text #/hush\n",
        "**#hush** text\n",
        "==#hush==\n",
        "~~#hush~~ _#hush_\n",
        "[#hush](x)\n",
        "[[x]]#hush\n",
        "`x`#hush\n",
        "(#hush)\n",
        'say "#hush".\n',
        "x\u2014#hush\n",
        "%% #hush %%\n",
        "%%\n#hush\n%%\n",
        "<!-- #hush -->\n",
        "<div>\n#hush\n</div>\n",
        "costs $5 #hush not 6$\n",
        "$$\n#hush\n$$\n",
        "> ```\n> x\n\n#hush\n",
        "- ```\n  x\n\n#hush\n",
        "one $$ stray\n\n#hush\n",
        "\\`#hush `\n",
        "x ` y\n\n#hush ` z\n",
        "#a#hush\n",
        "# h #hush\nTitle\n===\n",
        "---\ntag: hush\n---\n",
        "---\nTag: [a, '#hush']\n---\n",
        "---\ntags: [[a, [HUSH/deep]], b]\n---\n",
        "---\ntags:\n  - a\n  -\n    - hush\n---\n",
        "---\ntags: {hush: 1}\n---\n",
        "---\ntags: a, hush\n---\n",
        "---\ntags: a hush b\n---\n",
        "---\ntags: ['a #hush']\n---\n",
        "---\ntags: |\n  a\n  hush\n---\n",
    ],
)
def test_text_that_makes_a_note_private(text: str) -> None:
    assert PrivacyRules(["#hush"], {"private": None}).is_private_note(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "private: true\n",
        "---\nprivate: false\n---\n",
        "---\nprivate:\n---\n",
        "---\nprivate: no\n---\n",
        "---\nother: private\n---\n",
        "text #hushed\n",
        "text `#hush`\n",
        "```\n#hush\n```\n",
        "---\ntags: [hushed]\n---\nhush\n",
        # surely no tag: in code, in a link or address, in a word, in another property
        "`a\n#hush`\n",
        "# h\n    #hush\n",
        "[[Note#hush]] [x](Note.md#hush) [y](\n#hush) <https://x/#hush> https://x/#hush\n",
        "word#hush &#hush\n",
        "\\#hush\n",
        "---\nother: '#hush'\n---\n",
        "---\ntags: [hushed]\ntag: ['un/hush']\n---\n",
    ],
)
def test_text_that_does_not_make_a_note_private(text: str) -> None:
    assert not PrivacyRules(["#hush"], {"private": None}).is_private_note(text.encode())


def test_a_value_can_be_what_makes_a_note_private() -> None:
    privacy = PrivacyRules([], {"status": "Draft"})
    assert privacy.is_private_note(b"---\nstatus: draft\n---\n")
    assert privacy.is_private_note(b"---\nstatus: [old, DRAFT]\n---\n")
    assert not privacy.is_private_note(b"---\nstatus: done\n---\n")


def test_a_note_too_large_to_look_into_is_not_there_where_notes_may_be_private(tmp_path: Path) -> None:
    (tmp_path / "Large.md").write_text("x" * 2000)
    (tmp_path / "Small.md").write_text("x")
    files = VisibleFiles(str(tmp_path), 1000, PathRules(**PRIVATE))
    assert [note.path for note in files.walk()] == ["Small.md"]
    assert files.look_at(VaultPath("Large.md")) is None
    with pytest.raises(VaultError, match="is there to read"):  # not how large it is
        files.read(VaultPath("Large.md"))
    vault = open_vault(tmp_path, 1000, rules=PathRules(**PRIVATE))
    assert refusal(vault, "read_note", path="Large.md")[0] == FILE_NOT_FOUND


def test_a_hidden_file_of_any_shape_is_in_no_list_count_or_problem(root: Path, tmp_path: Path) -> None:
    twin = write_vault(tmp_path / "twin" / root.name, VAULT)
    (twin / "Secret" / "Plan.md").unlink()
    (twin / "Secret").rmdir()
    hidden = root / "Secret"
    (hidden / "Vast.md").write_text("[a](b) " * 210_000)  # more marks than are looked into
    (hidden / "Large.md").write_text("x" * 2_000_000)
    (hidden / "Odd.md").write_bytes(b"\xff\xfe#tag [[Open]]")
    (hidden / "Broken.canvas").write_text('{"nodes": [{"file": "Open.md"')
    (hidden / "Broken.md").write_text("---\na: [\n---\n[[Open]] [[Nowhere]] ^x\n\n^x")
    (hidden / "Task.base").write_text("views: [")
    (root / "Board.canvas").write_text('{"nodes": [{"type": "file", "file": "Secret/Vast.md"}]}')
    (twin / "Board.canvas").write_text('{"nodes": [{"type": "file", "file": "Secret/Vast.md"}]}')
    for path in twin.rglob("*"):
        status = (root / path.relative_to(twin)).stat()
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    ours, theirs = (open_vault(vault, 1_500_000, rules=PathRules(**DENY)) for vault in (root, twin))
    for named in ((), ("Open.md", "Board.canvas", "Work/picture.png")):
        assert json.loads(everything(ours, *named)) == json.loads(everything(theirs, *named))


def test_what_another_program_saved_during_a_change_is_hidden_with_the_note_it_was_saved_as(root: Path) -> None:
    (root / "Work" / "Task (saved meanwhile, 3-0).md").write_text("zebra")
    (root / "Work" / "Task (Saved Meanwhile, 3-0) (saved meanwhile, 12-1).md").write_text("zebra")
    vault = open_with(root, deny=rules("deny", "/Work/Task.md"))
    assert call(vault, "list_notes", folder="Work").data["total"] == 0
    assert "zebra" not in everything(vault).replace("status: zebra", "")
    assert call(open_with(root, deny=rules("deny", "/Task.md")), "list_notes", folder="Work").data["total"] == 3


# ---------------------------------------------------------------------- links of the file system


@pytest.fixture
def linked(root: Path) -> Path:
    try:
        (root / "Shortcut.md").symlink_to(root / "Secret" / "Plan.md")
        (root / "Good.md").symlink_to(root / "Work" / "Task.md")
        (root / "Tunnel").symlink_to(root / "Secret", target_is_directory=True)
    except OSError:
        pytest.skip("this system lets nobody make links")
    return root


def test_links_lead_nowhere_unless_they_are_allowed(linked: Path) -> None:
    vault = open_with(linked)
    said = everything(vault)
    assert "Shortcut" not in said
    assert "Good" not in said
    for path in ("Good.md", "Shortcut.md", "Tunnel/Plan.md", "Tunnel/New.md"):
        assert refusal(vault, "read_note", path=path)[0] == FILE_NOT_FOUND, path
        assert refusal(vault, "write_note", path=path, content="x")[0] == POLICY_DENIED, path


def test_a_walk_does_not_begin_behind_a_link(linked: Path) -> None:
    for given in ({}, {**DENY, "follows_links": True}):
        files = VisibleFiles(str(linked), 10_000, PathRules(**given))
        assert list(files.walk(VaultPath("Tunnel"))) == []


def test_links_that_are_allowed_lead_to_nothing_hidden(linked: Path) -> None:
    vault = open_with(linked, **DENY, follows_links=True)
    said = everything(vault)
    assert "Good.md" in said
    assert "Shortcut" not in said
    call(vault, "read_note", path="Good.md")
    for path in ("Shortcut.md", "Tunnel/Plan.md", "Tunnel/New.md"):
        assert refusal(vault, "read_note", path=path)[0] == FILE_NOT_FOUND, path
        assert refusal(vault, "write_note", path=path, content="x")[0] == POLICY_DENIED, path
    (linked / "Work" / "Way").symlink_to(linked / "Work", target_is_directory=True)
    call(vault, "write_note", path="Work/Way/New.md", content="x")
    assert (linked / "Work" / "New.md").exists()


# ---------------------------------------------------------------------- folders


def test_a_folder_of_which_nothing_may_be_seen_is_not_there(root: Path) -> None:
    (root / "Work" / "deep").mkdir()
    (root / "Work" / "deep" / "public.md").write_text("x")
    vault = open_with(root, read=rules("read", "public.md", "/Open.md"))
    assert refusal(vault, "list_notes", folder="Secret")[0] == FILE_NOT_FOUND
    assert call(vault, "list_notes", folder="Work").data["total"] == 1
    assert refusal(open_with(root, deny=rules("deny", "Secret/**")), "list_notes", folder="Secret")[0] == FILE_NOT_FOUND


def test_moving_a_folder_leaves_in_place_what_is_hidden(root: Path) -> None:
    (root / "Work" / "Hidden.md").write_text("[[Task]]")
    (root / "Open.md").write_text("[[Work/Task]]")
    vault = open_with(root, deny=rules("deny", "Hidden.md"))
    call(vault, "move_notes", paths=["Work"], to="Play")
    assert sorted(path.name for path in (root / "Play").iterdir()) == ["Task.md", "picture.png"]
    assert [path.name for path in (root / "Work").iterdir()] == ["Hidden.md"]
    assert (root / "Open.md").read_text() == "[[Task]]"  # found by its name, as Obsidian writes links by itself
    call(vault, "undo_changes", changes=[1])
    assert (root / "Work" / "Task.md").exists()


# ---------------------------------------------------------------------- the journal


def test_changes_of_hidden_notes_are_not_on_record(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    free = open_vault(root, state=state)
    call(free, "write_note", path="Secret/Plan.md", content="more zebra", mode="append")  # 1
    call(free, "write_note", path="Diary.md", content="more mine", mode="append")  # 2
    call(free, "write_note", path="Work/Task.md", content="more", mode="append")  # 3
    call(free, "move_notes", paths=["Work/Task.md"], to="Secret/Task.md")  # 4
    call(free, "move_notes", paths=["Secret/Task.md"], to="Work/Done.md")  # 5
    call(free, "delete_note", path="Secret/Plan.md")  # 6
    call(free, "delete_note", path="Diary.md")  # 7
    shown = {
        "deny": (PathRules(**DENY), {2, 3, 7}),
        "private": (PathRules(**PRIVATE), {1, 3, 4, 5, 6}),
    }
    for its_rules, expected in shown.values():
        vault = open_vault(root, state=state, rules=its_rules)
        assert {change["change"] for change in call(vault, "list_changes").data["changes"]} == expected
        for number in range(1, 8):
            for tool, arguments in (
                ("list_changes", {"change": number}),
                ("undo_changes", {"changes": [number], "dry_run": True}),
                ("restore_note", {"change": number, "dry_run": True}),
            ):
                outcome = attempt(vault, tool, **arguments)
                if number not in expected:
                    assert isinstance(outcome, Failure)
                    assert outcome.message == (
                        f"There is no change {number} on record; list_changes shows those there are."
                    )
    vault = open_vault(root, state=state, rules=PathRules(**DENY))
    assert refusal(vault, "restore_note", path=".trash/Plan.md")[0] == FILE_NOT_FOUND
    code, message = refusal(vault, "restore_note", path="Plan.md")
    assert (code, message.replace("Plan", "None")) == refusal(vault, "restore_note", path="None.md")
    call(vault, "restore_note", path="Diary.md")


@pytest.mark.parametrize(("text", "is_private"), [("zucchini #hush", True), ("zucchini", False)])
def test_changes_of_a_canvas_with_a_private_tag_in_a_card_are_not_on_record(
    root: Path, tmp_path: Path, text: str, is_private: bool
) -> None:
    state = tmp_path / "state"
    board = root / "Board.canvas"
    board.write_text(json.dumps({"nodes": [{"type": "text", "text": text}, {"type": "file", "file": "Work/Task.md"}]}))
    free = open_vault(root, state=state)
    call(free, "move_notes", paths=["Work/Task.md"], to="Work/Done.md")  # 1: edits the canvas
    call(free, "move_notes", paths=["Board.canvas"], to="Chart.canvas")  # 2
    (root / "Chart.canvas").unlink()
    vault = open_vault(root, state=state, rules=PathRules(privacy=PrivacyRules(["hush"])))
    shown = [change["change"] for change in call(vault, "list_changes").data["changes"]]
    assert shown == ([] if is_private else [2, 1])
    for number in (1, 2):
        assert isinstance(attempt(vault, "list_changes", change=number), Failure) is is_private
        assert ("no change" in repr(attempt(vault, "undo_changes", changes=[number], dry_run=True))) is is_private


def test_what_was_public_of_a_note_that_is_private_now_is_not_on_record(root: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    free = open_vault(root, state=state)
    call(free, "write_note", path="Open.md", content="public", mode="append")  # 1
    call(free, "move_notes", paths=["Open.md"], to="Closed.md")  # 2
    call(free, "write_note", path="Work/Task.md", content="public", mode="append")  # 3
    call(free, "set_properties", path="Work/Task.md", properties=[{"name": "private"}, {"name": "a"}])  # 4
    call(free, "set_properties", path="Work/Task.md", properties=[{"name": "private", "value": "yes"}])  # 5
    call(free, "delete_note", path="Work/Task.md")  # 6
    call(free, "write_note", path="New.md", content="x")  # 7

    def recorded() -> set[int]:
        vault = open_vault(root, state=state, rules=PathRules(**PRIVATE))
        return {change["change"] for change in call(vault, "list_changes").data["changes"]}

    assert recorded() == {1, 2, 7}
    (root / "Closed.md").write_text("---\nprivate: true\n---\n")
    assert recorded() == {7}


def test_a_note_deleted_by_who_may_see_it_comes_back(root: Path) -> None:
    vault = open_with(root, **DENY, **PRIVATE)
    call(vault, "delete_note", path="Open.md")
    assert call(vault, "restore_note", path="Open.md").data["files"][0]["to"] == "Open.md"
    call(vault, "delete_note", path="Open.md")
    call(vault, "undo_changes", changes=[3])
    assert (root / "Open.md").exists()


def test_nothing_is_restored_to_a_name_that_is_hidden(root: Path) -> None:
    vault = open_with(root, **DENY, **PRIVATE)
    call(vault, "delete_note", path="Open.md")
    for path in ("Secret/Plan.md", "Secret/None.md", "Diary.md"):
        assert refusal(vault, "restore_note", path="Open.md", to=path)[0] == POLICY_DENIED, path


def test_a_folder_that_was_moved_whole_is_not_moved_back_where_some_of_it_may_be_hidden(
    root: Path, tmp_path: Path
) -> None:
    call(open_vault(root, state=tmp_path / "state"), "move_notes", paths=["Work"], to="Play")
    vault = open_vault(root, state=tmp_path / "state", rules=PathRules(deny=rules("deny", "Hidden.md")))
    assert refusal(vault, "undo_changes", changes=[1])[0] == POLICY_DENIED
    assert (root / "Play" / "Task.md").exists()


# ---------------------------------------------------------------------- settings


def test_settings_tell_nothing_of_what_is_hidden(root: Path) -> None:
    (root / ".obsidian").mkdir()
    daily = {"folder": "Secret/days", "template": "Diary"}
    (root / ".obsidian" / "daily-notes.json").write_text(json.dumps(daily))
    (root / ".obsidian" / "templates.json").write_text(json.dumps({"folder": "Secret"}))
    vault = open_with(root, **DENY, **PRIVATE)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("read_notes", {"paths": ["today"]}),
        ("append_daily_note", {"content": "x"}),
        ("insert_template", {"path": "Open.md", "template": "Plan"}),
        ("create_note", {"path": "New.md", "content": "x", "template": "Plan"}),
    ]
    said = [repr(attempt(vault, tool, **arguments)) for tool, arguments in asked]
    assert not [text for text in said if "Secret" in text or "Diary" in text]
    (root / ".obsidian" / "daily-notes.json").write_text(json.dumps({"template": "Diary"}))
    assert "Diary" not in repr(attempt(vault, "append_daily_note", content="x"))


NO_PATHS = ["Secret/Plan.png", "Secret/.x", "Secret/\\0", "../Secret", "Secret/..", ".Secret/x", "C:/Secret"]


@pytest.mark.parametrize("written", NO_PATHS)
@pytest.mark.parametrize(
    ("file", "setting"),
    [
        ("daily-notes", {"template": "NAME"}),
        ("daily-notes", {"folder": "NAME"}),
        ("daily-notes", {"format": "[NAME]/YYYY"}),
        ("templates", {"folder": "NAME"}),
        ("app", {"newFileLocation": "folder", "newFileFolderPath": "NAME"}),
        ("app", {"attachmentFolderPath": "NAME"}),
        ("app", {"attachmentFolderPath": "./NAME"}),
    ],
)
def test_settings_that_name_no_path_tell_nothing_of_what_is_hidden(
    root: Path, file: str, setting: dict[str, str], written: str
) -> None:
    (root / ".obsidian").mkdir()
    filled = {key: value.replace("NAME", written) for key, value in setting.items()}
    (root / ".obsidian" / f"{file}.json").write_text(json.dumps(filled))
    vault = open_with(root, **DENY)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("read_notes", {"paths": ["today"]}),
        ("append_daily_note", {"content": "x"}),
        ("insert_template", {"path": "Open.md", "template": "x"}),
        ("create_note", {"path": "New", "content": "x", "template": "x"}),
        ("create_note", {"path": "New", "content": "x"}),
        ("write_note", {"path": "Newer", "content": "x"}),
        ("add_attachment", {"name": "x.png", "data": "iVBORw0KGgo="}),
    ]
    for tool, arguments in asked:
        assert "Secret" not in repr(attempt(vault, tool, **arguments)), tool


@pytest.mark.parametrize("written", ["Secret/days", "Secret", *NO_PATHS])
@pytest.mark.parametrize("setting", [{"folder": "NAME"}, {"format": "[NAME]/YYYY"}, {"template": "NAME"}])
@pytest.mark.parametrize("period", ["daily", "weekly", "monthly", "quarterly", "yearly"])
def test_periodic_notes_tell_nothing_of_what_is_hidden(
    root: Path, period: str, setting: dict[str, str], written: str
) -> None:
    plugin = root / ".obsidian" / "plugins" / "periodic-notes"
    plugin.mkdir(parents=True)
    filled = {key: value.replace("NAME", written) for key, value in setting.items()}
    (plugin / "data.json").write_text(json.dumps({period: {"enabled": True, **filled}}))
    vault = open_with(root, **DENY, **PRIVATE)
    day = {"daily": "today", "weekly": "week", "monthly": "month", "quarterly": "quarter", "yearly": "year"}[period]
    assert "Secret" not in repr(attempt(vault, "read_notes", paths=[day]))
    assert "Secret" not in repr(attempt(vault, "append_daily_note", day=day, content="x"))
    assert "Secret" not in repr(vault.settings.periodic_notes)


def test_names_that_differ_only_in_spelling_are_hidden_alike(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Caf\u00e9/A.md\nx\n=== Cafe\u0301 2/A.md\nx\n")
    vault = open_with(tmp_path, deny=rules("deny", "CAFE\u0301/", "caf\u00c9 2/"))
    assert call(vault, "list_notes").data["total"] == 0
    assert refusal(vault, "write_note", path="cafe\u0301/B.md", content="x")[0] == POLICY_DENIED
    assert refusal(vault, "write_note", path="Caf\u00e9 2./B.md", content="x")[0] != NOTE_EXISTS


def test_of_two_names_alike_the_hidden_one_is_not_in_the_way(tmp_path: Path) -> None:
    write_vault(tmp_path, "=== Note.md\n---\nprivate: true\n---\nmine\n=== note.md\nours\n")
    if len(list(tmp_path.iterdir())) == 1:
        pytest.skip("one name on this disk")
    vault = open_with(tmp_path, **PRIVATE)
    for name in ("Note.md", "NOTE.md", "note"):
        assert call(vault, "read_note", path=name).data["path"] == "note.md"


def test_a_note_that_changes_within_a_tick_of_the_clock_is_looked_at_anew(tmp_path: Path) -> None:
    files = VisibleFiles(str(tmp_path), 1000, PathRules(**PRIVATE))
    now = time.time_ns()
    for value, shown in (("false", 1), ("true ", 0), ("false", 1)):
        (tmp_path / "A.md").write_text(f"---\nprivate: {value}\n---\n")
        os.utime(tmp_path / "A.md", ns=(now, now))
        assert len(list(files.walk())) == shown, value


@posix_only
def test_a_note_that_becomes_private_in_place_is_hidden_though_size_and_time_stay(tmp_path: Path) -> None:
    note = tmp_path / "A.md"
    note.write_text("---\nprivate: false\n---\n")
    os.utime(note, (1_000_000_000, 1_000_000_000))
    files = VisibleFiles(str(tmp_path), 1000, PathRules(**PRIVATE))
    assert len(list(files.walk())) == 1
    write_in_place(note, b"---\nprivate: true \n---\n")
    assert list(files.walk()) == []


def test_whether_a_note_is_private_is_looked_up_once_it_is_settled(tmp_path: Path) -> None:
    (tmp_path / "A.md").write_text("x")
    past = time.time() - 60
    os.utime(tmp_path / "A.md", (past, past))
    asked = []

    class Counting(PrivacyRules):
        def is_private_note(self, data: bytes) -> bool:
            asked.append(data)
            return False

    files = VisibleFiles(str(tmp_path), 1000, PathRules(privacy=Counting(["x"])))
    for _ in range(3):
        assert len(list(files.walk())) == 1
    assert len(asked) == 1


# ---------------------------------------------------------------------- the index


def test_an_index_knows_only_what_its_own_run_may_see(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    hidden = VaultPath("Secret/Plan.md")

    def known(files: Files) -> bool:
        index = open_index(files, str(cache))
        try:
            found = index.search(parse_query("coup"), None, 0, 10, NO_PROGRESS).total
            paths = index.paths(NO_PROGRESS)
            assert bool(found) is (hidden in paths)
            return hidden in paths
        finally:
            index.close()

    def limited(**given: Any) -> Files:
        return VisibleFiles(str(root), 10_000, PathRules(**given))

    free = Files(str(root), 10_000)
    assert [known(files) for files in (free, limited(**DENY), free, limited(**PRIVATE), limited(**DENY))] == [
        True,
        False,
        True,
        True,
        False,
    ]
    assert len(list(cache.iterdir())) == 3
    marked: list[bytes] = []
    # A log of the catalog may be written into it and removed meanwhile, so the logs come first.
    for path in sorted(cache.glob(f"*{PathRules(**DENY).stamp}/**/*"), reverse=True):
        with suppress(FileNotFoundError, IsADirectoryError):
            marked.append(path.read_bytes())
    assert marked
    assert not [data for data in marked if b"zebra" in data]


def test_an_index_that_no_run_has_used_for_long_is_removed(root: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for given in (DENY, PRIVATE):
        open_index(VisibleFiles(str(root), 10_000, PathRules(**given)), str(cache)).close()
    (old,) = cache.glob(f"*{PathRules(**DENY).stamp}")
    os.utime(old, (1_000_000_000, 1_000_000_000))
    open_index(VisibleFiles(str(root), 10_000, PathRules(**PRIVATE)), str(cache)).close()
    assert not old.exists()
    assert len(list(cache.iterdir())) == 1


def test_why_a_vault_is_not_watched_names_no_folder(root: Path) -> None:
    files = VisibleFiles(str(root), 10_000, PathRules(**DENY))
    index = open_index(files, None)
    index._fresh.unwatched = f"the system refuses: {root}/Secret"
    stats = index.stats(10, NO_PROGRESS)
    assert stats.unwatched
    assert "Secret" not in repr(stats)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_attachments", {}),
        ("find_duplicates", {"what": "tags"}),
        ("vault_overview", {"what": "tags"}),
        ("list_links", {"what": "orphans"}),
        ("find_notes", {"folder": "Many"}),
        ("check_notes", {}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_list_that_began_before_a_note_became_private_does_not_go_on(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    text = "#{0} #{0}s ![[{0}.png]] [[Missing {0}]]\n"
    for name in ("apple", "garden", "letter", "river"):
        write_vault(tmp_path, f"=== Many/Note {name}.md\n{text.format(name)}=== {name}.png\nx\n")
    vault = open_with(tmp_path, **PRIVATE)
    first, again = (call(vault, tool, **arguments, limit=1).data["next_cursor"] for _ in range(2))
    call(vault, tool, **arguments, limit=1, cursor=first)
    (tmp_path / "Many" / "Note river.md").write_text("---\nprivate: true\n---\n" + text.format("river"))
    refused = attempt(vault, tool, **arguments, limit=1, cursor=again)
    assert isinstance(refused, Failure)
    assert refused.code == CURSOR_EXPIRED
    assert "Note river" not in str(call(vault, tool, **arguments, limit=50).texts)
