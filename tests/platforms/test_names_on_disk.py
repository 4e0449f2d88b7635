"""Names on a disk that finds a file by several of them: macOS', Windows', memory sticks, shares, Windows' own disk on Linux.

What is hidden stays hidden under all its names, and a note is one note under all of them.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.calls import attempt, call, refusal
from support.folding_disk import folding_disk
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.config import ConfigError, make_config
from vaultwire.toolkit.registry import Failure
from vaultwire.trust.policy_rules import PathRules, Rule
from vaultwire.vault.disk.walk import VaultRoot, has_entry
from vaultwire.vault.value_types import VaultPath

MARK = "QXZ"
VAULT = f"""
=== Open.md
Apples. See [[Café]].
=== Café/Café.md
Coffee.
=== Private notes/Secret plan.md
{MARK} apples.
=== .obsidian/plugins/one/Read me first.md
{MARK} hidden.
"""
RULES: dict[str, Any] = {"deny": (Rule("deny", "Private notes/**", 1), Rule("deny", "Locked.md", 2))}
# Other names of hidden things, by the kind of disk that finds them.
HIDDEN = {
    "mac": [
        "PRIVATE notes/secret PLAN.md",
        "Private\u200c notes/Secret plan.md",
        "Private notes/Secret\u2060 plan.md",
        "\u200c.obsidian/plugins/one/Read me first.md",
        ".\u200dObsidian/plugins/one/Read me first.md",
    ],
    "windows": [
        "PRIVATE NOTES/SECRET PLAN.MD",
        "PRIVAT~1/SECRET~1.MD",
        "privat~1/secret~1.md",
        "Private notes./Secret plan.md",
        "Private notes /Secret plan.md",
        "Private notes/Secret plan.md.",
        "Private notes::$INDEX_ALLOCATION/Secret plan.md",
        "Private notes/Secret plan.md::$DATA",
        "OBSIDI~1/plugins/one/README~1.MD",
    ],
}
ALL = [(kind, name) for kind, names in HIDDEN.items() for name in names]
READING: list[tuple[str, dict[str, Any]]] = [
    ("read_note", {}),
    ("read_notes", {}),
    ("read_notes", {"part": "outline"}),
    ("list_links", {}),
    ("list_links", {"what": "in"}),
    ("list_links", {"what": "related"}),
]


@pytest.fixture(params=["mac", "windows"])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    with folding_disk(request.param, tmp_path / "stored", tmp_path / "disk") as place:
        yield request.param, write_vault(place / "vault", VAULT)


@pytest.mark.parametrize("has_policy", [True, False])
def test_no_other_name_of_a_hidden_note_reads_it(disk: tuple[str, Path], has_policy: bool) -> None:
    kind, root = disk
    vault = open_vault(root, rules=PathRules(**RULES) if has_policy else None)
    for name in HIDDEN[kind]:
        assert os.path.lexists(root / name), f"this disk does not find {name!r}"
        if not has_policy and "bsidi" not in name:
            continue
        for tool, arguments in READING:
            path: dict[str, Any] = {"paths": [name]} if tool == "read_notes" else {"path": name}
            assert MARK not in repr(attempt(vault, tool, **path, **arguments)), (tool, name)
        for tool in ("list_notes", "find_notes", "search_notes", "list_tasks", "vault_overview", "check_notes"):
            asked: dict[str, Any] = {"query": "apples"} if tool == "search_notes" else {}
            assert MARK not in repr(attempt(vault, tool, folder=name.rpartition("/")[0], **asked)), (tool, name)
        assert not vault.has_file(name)
        assert vault.look_at(name) is None


def test_no_other_name_leads_a_change_into_a_hidden_folder(disk: tuple[str, Path]) -> None:
    kind, root = disk
    vault = open_vault(root, rules=PathRules(**RULES))
    before = snapshot(root)
    for name in HIDDEN[kind]:
        folder = name.rpartition("/")[0]
        attempts: list[tuple[str, dict[str, Any]]] = [
            ("create_note", {"path": f"{folder}/New.md", "content": "new"}),
            ("write_note", {"path": f"{folder}/New.md", "content": "new"}),
            ("write_note", {"path": name, "content": "new", "mode": "overwrite"}),
            ("edit_note", {"path": name, "operation": "append", "content": "new"}),
            ("move_notes", {"paths": ["Open.md"], "to": f"{folder}/"}),
            ("move_notes", {"paths": ["Open.md"], "to": f"{folder}/Open.md"}),
            ("delete_note", {"path": name}),
            ("add_attachment", {"path": f"{folder}/a.png", "data": "iVBORw0KGgo="}),
        ]
        for tool, arguments in attempts:
            outcome = attempt(vault, tool, **arguments)
            assert isinstance(outcome, Failure), (tool, arguments, outcome)
        assert snapshot(root) == before, name


def test_a_short_name_does_not_tell_whether_a_hidden_folder_is_there(tmp_path: Path) -> None:
    with folding_disk("windows", tmp_path / "stored", tmp_path / "disk") as root:
        vault = open_vault(write_vault(root, VAULT), rules=PathRules(**RULES))
        for tool, end in (("create_note", "/New.md"), ("read_note", "/SECRET~1.MD"), ("read_note", "/Secret plan.md")):
            there, absent = (refusal(vault, tool, path=name + end) for name in ("PRIVAT~1", "PRIVAT~2"))
            assert there == (absent[0], absent[1].replace("PRIVAT~2", "PRIVAT~1").replace("PRIVAT-2", "PRIVAT-1"))


def test_a_note_is_one_note_under_all_its_names(disk: tuple[str, Path]) -> None:
    kind, root = disk
    vault = open_vault(root)
    before = snapshot(root)
    others = ["CAFÉ/cafÉ.MD", "café/Café.md"]
    if kind == "mac":
        others.append(unicodedata.normalize("NFD", "Café/Café.md"))
    for name in others:
        assert os.path.lexists(root / name)
        assert call(vault, "read_note", path=name).data["path"] == "Café/Café.md"
        assert refusal(vault, "create_note", path=name, content="new")[0] == "NOTE_EXISTS"
        call(vault, "edit_note", path=name, operation="append", content="More.")
        assert "More." in (root / "Café" / "Café.md").read_text(encoding="utf-8")
        assert call(vault, "list_changes").data["changes"][0]["files"][0]["path"] == "Café/Café.md"
        call(vault, "undo_changes", changes=[call(vault, "list_changes").data["changes"][0]["change"]])
        assert snapshot(root) == before


def test_a_new_note_goes_into_the_folder_as_the_disk_spells_it(disk: tuple[str, Path]) -> None:
    _, root = disk
    vault = open_vault(root)
    call(vault, "create_note", path="CAFÉ/New.md", content="new")
    assert sorted(os.listdir(root / "Café")) == ["Café.md", "New.md"]
    assert "Café/New.md" in call(vault, "list_notes").texts[0]


def test_only_the_case_of_a_name_can_be_changed(disk: tuple[str, Path]) -> None:
    _, root = disk
    vault = open_vault(root)
    before = snapshot(root)
    call(vault, "move_notes", paths=["Café/Café.md"], to="Café/CAFÉ.md")
    assert os.listdir(root / "Café") == ["CAFÉ.md"]
    call(vault, "move_notes", paths=["Open.md"], to="open.md")
    assert "open.md" in os.listdir(root)
    call(vault, "move_notes", paths=["Café/"], to="CAFÉ")
    assert {"CAFÉ", "open.md"} <= set(os.listdir(root))
    notes = call(vault, "find_notes").texts[0]
    assert "CAFÉ/CAFÉ.md" in notes
    assert not {"Open.md", "Café/CAFÉ.md", "Café/Café.md"} & set(notes.split())
    changes = [each["change"] for each in call(vault, "list_changes").data["changes"]]
    call(vault, "undo_changes", changes=changes)
    assert snapshot(root) == before


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' own disks find a name under another spelling")
def test_a_disk_with_exact_names_is_not_asked_for_all_names(tmp_path: Path) -> None:
    def refuse(folder: str) -> list[str]:
        raise AssertionError(folder)

    for name in ("Café.md", "2024", "2024-05 (old)", "❤️ Love", "❤️"):
        (tmp_path / name).touch()
        assert has_entry(str(tmp_path), name, refuse)
    (tmp_path / "日本").mkdir()
    assert has_entry(str(tmp_path), "日本")
    assert not has_entry(str(tmp_path), "CAFÉ.md")
    assert not has_entry(str(tmp_path), unicodedata.normalize("NFD", "Café.md"))
    assert not has_entry(str(tmp_path), "❤ Love")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' own disks cannot hold both")
def test_names_that_differ_in_spelling_alone_are_found_side_by_side(tmp_path: Path) -> None:
    names = ["A.md", "a.md", *(unicodedata.normalize(form, "Café.md") for form in ("NFC", "NFD")), "❤ b.md", "❤️ b.md"]
    for name in names:
        (tmp_path / name).write_text(f"I am {name!a}")
    vault = open_vault(tmp_path)
    for name in names:
        assert has_entry(str(tmp_path), name)
        assert f"I am {name!a}" in call(vault, "read_note", path=name).texts[0]


def test_the_journal_is_kept_out_of_the_vault_however_its_path_is_spelt(
    disk: tuple[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, root = disk
    for inside in ("VAULT/state", "Vault", "vault/CAFÉ/state/deeper"):
        monkeypatch.setenv("VAULTWIRE_STATE", str(root.parent / inside))
        with pytest.raises(ConfigError, match="in the vault"):
            make_config(str(root))
    monkeypatch.setenv("VAULTWIRE_STATE", str(root.parent / "Beside" / "state"))
    make_config(str(root))


@pytest.mark.parametrize(("kind", "name"), ALL)
def test_a_name_that_the_disk_finds_but_does_not_list_is_known_for_one(kind: str, name: str, tmp_path: Path) -> None:
    with folding_disk(kind, tmp_path / "stored", tmp_path / "disk") as root:
        write_vault(root, VAULT)
        folder, _, last = name.rpartition("/")
        assert not (has_entry(str(root), folder) and has_entry(str(root / folder), last))
        found = VaultRoot(str(root))
        is_only_case = name.casefold() == "private notes/secret plan.md"
        assert (found.second_name(VaultPath(name)) is None) is is_only_case
