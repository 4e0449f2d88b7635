"""``vaultwire mention``, ``select`` and ``plugin`` from the command line, over a door that runs."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.editor_door import EditorDoor
from support.vaults import snapshot, write_vault
from vaultwire.cli import main
from vaultwire.editor import Mention, Position, Selection
from vaultwire.installation import server_command
from vaultwire.transports.lock_file import endpoint_file, new_endpoint

TEXT = "=== Folder/My Plan.md\none\ntwo\nthree\n=== Private/Diary.md\nsecret\n"
PARTS = """
=== a.md
# Top
text

## Sub
one

two
three ^b

# C# and more
end
=== C# x.md
one
two
## Sub
"""


@pytest.fixture(autouse=True)
def _state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", TEXT)


@pytest.fixture
def door(vault: Path, tmp_path: Path) -> Iterator[EditorDoor]:
    made = EditorDoor(vault)
    endpoint_file(str(tmp_path / "state" / "editor"), "commands", str(vault), made.commands).write()
    yield made
    made.close()


def run(vault: Path, *arguments: str) -> int:
    return main([*arguments, "--vault", str(vault)])


def test_a_mention_reaches_the_assistants(door: EditorDoor, vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    door.join()
    given = [
        ("Folder/My Plan.md", Mention("Folder/My Plan.md"), ""),
        ("My Plan", Mention("Folder/My Plan.md"), ""),
        ("My Plan#L2", Mention("Folder/My Plan.md", 2, 2), ", line 2"),
        ("Folder/My Plan.md#L2-L3", Mention("Folder/My Plan.md", 2, 3), ", lines 2 to 3"),
        ("Folder/My Plan.md#L2-3", Mention("Folder/My Plan.md", 2, 3), ", lines 2 to 3"),
        (str(vault / "Folder" / "My Plan.md"), Mention("Folder/My Plan.md"), ""),
    ]
    for note, mention, told in given:
        assert run(vault, "mention", note) == 0
        assert door.mentions[-1] == mention
        assert capsys.readouterr().out == f"Mentioned Folder/My Plan.md{told}\n"
    assert len(door.mentions) == len(given)


@pytest.mark.parametrize(
    ("note", "mention"),
    [
        ("C# x.md#L2", Mention("C# x.md", 2, 2)),
        ("C# x#L1-2", Mention("C# x.md", 1, 2)),
        ("C# x", Mention("C# x.md")),
        ("C# x#Sub", Mention("C# x.md", 3, 3)),
        ("[[C# x#Sub|the part]]", Mention("C# x.md", 3, 3)),
        ("a#Sub", Mention("a.md", 4, 9)),
        ("a.md#Top#Sub", Mention("a.md", 4, 9)),
        ("a#^b", Mention("a.md", 7, 8)),
        ("a#C# and more", Mention("a.md", 10, 11)),
        ("A#sub", Mention("a.md", 4, 9)),
    ],
)
def test_a_part_of_a_note_is_its_lines(
    door: EditorDoor, vault: Path, capsys: pytest.CaptureFixture[str], note: str, mention: Mention
) -> None:
    write_vault(vault, PARTS)
    door.join()
    assert run(vault, "mention", note) == 0
    assert door.mentions == [mention]
    assert run(vault, "select", note) == 0
    chosen = (vault / mention.path).read_text().split("\n")[mention.first_line - 1 : mention.last_line]
    assert door.selections[-1].text == ("\n".join(chosen) if mention.first_line else "")
    said = capsys.readouterr().out.splitlines()[-1]
    assert said.startswith(f"Selected {mention.path}")
    assert (f"{mention.first_line}" in said) is (mention.first_line > 0)


def test_a_part_that_is_not_there_is_said_as_a_person_can_put_it_right(
    door: EditorDoor, vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_vault(vault, PARTS)
    door.join()
    for note, said in (
        ("a#Nope", "Its headings are: 'Top', 'Sub'"),
        ("a#^nope", "Its blocks are: ^b."),
        ("a#Sub#L2", "give lines or a part of the note, not both"),
        ("Folder/My Pla", "Folder/My Plan.md?"),
        ("Zzz", "no note is named 'Zzz'. Give its path as Obsidian shows it, such as Folder/Note.md"),
        ("Zzz#Sub", "no note is named 'Zzz#Sub'."),
    ):
        assert run(vault, "mention", note) == 1
        told = capsys.readouterr().err
        assert said in told
        assert "list_notes" not in told
    assert door.mentions == []


def test_a_selection_has_the_notes_own_lines(door: EditorDoor, vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    door.join()
    assert run(vault, "select", "My Plan#L2-L3") == 0
    assert door.selections == [Selection("Folder/My Plan.md", "two\nthree", Position(1, 0), Position(2, 5))]
    assert capsys.readouterr().out == "Selected Folder/My Plan.md, lines 2 to 3\n"
    assert run(vault, "select", "My Plan") == 0
    assert door.selections[-1] == Selection("Folder/My Plan.md")


def test_what_reaches_nobody_is_1_and_a_line(door: EditorDoor, vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command, note, said in (
        ("mention", "My Plan", "no assistant is connected"),
        ("select", "My Plan", "no assistant is connected"),
        ("mention", "Nowhere", "Nowhere"),
        ("mention", "My Plan#L9", "has lines 1 to 4"),
        ("mention", "My Plan#L3-L2", "give the first line first"),
    ):
        assert run(vault, command, note) == 1
        assert said in capsys.readouterr().err
    door.join()
    for command in ("mention", "select"):
        assert run(vault, command, "Private/Diary.md") == 1
        told = capsys.readouterr()
        assert "private" in told.err
        assert "secret" not in told.err + told.out
    assert door.mentions == []


def test_without_a_server_it_is_1_and_says_what_to_start(
    vault: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(vault, "mention", "My Plan") == 1
    assert "start it with vaultwire ide" in capsys.readouterr().err
    door = EditorDoor(vault)
    door.close()  # as one that was killed leaves its file
    endpoint_file(str(tmp_path / "state" / "editor"), "commands", str(vault), new_endpoint(door.port)).write()
    assert run(vault, "mention", "My Plan") == 1
    assert "start it with vaultwire ide" in capsys.readouterr().err


def test_what_makes_no_sense_is_2(vault: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(vault, "mention", str(tmp_path / "Elsewhere.md")) == 2
    assert "is not in" in capsys.readouterr().err
    assert run(vault, "mention", "") == 2
    assert "which note?" in capsys.readouterr().err


# ---------------------------------------------------------------------- the plugin


def test_the_plugin_is_installed_renewed_and_removed_and_nothing_else_is_touched(
    vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (vault / ".obsidian").mkdir()
    (vault / ".obsidian" / "community-plugins.json").write_text('["other"]')
    before = snapshot(vault)
    assert run(vault, "plugin", "install") == 0
    assert "Community plugins" in capsys.readouterr().out
    noted = json.loads(Path(os.environ["VAULTWIRE_STATE"], "editor", "program.json").read_text(encoding="utf-8"))
    assert noted["command"] == server_command()
    folder = vault / ".obsidian" / "plugins" / "vaultwire"
    assert sorted(os.listdir(folder)) == ["main.js", "manifest.json", "styles.css"]
    assert json.loads((folder / "manifest.json").read_text())["id"] == "vaultwire"
    (folder / "main.js").write_text("old")
    (folder / "data.json").write_text("{}")
    assert run(vault, "plugin", "install") == 0
    assert "linkPlace" in (folder / "main.js").read_text(encoding="utf-8")
    assert run(vault, "plugin", "remove") == 0
    assert os.listdir(folder) == ["data.json"]
    (folder / "data.json").unlink()
    assert run(vault, "plugin", "remove") == 0
    assert "There is no plugin" in capsys.readouterr().out
    assert not folder.exists()
    assert snapshot(vault) == before


def test_doctor_says_that_an_old_plugin_must_be_installed_again(
    vault: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (vault / ".obsidian").mkdir()
    old = "the plugin in Obsidian is of another version than vaultwire: run vaultwire plugin install"
    for state in ("none", "new", "old"):
        if state == "new":
            run(vault, "plugin", "install")
        if state == "old":
            (vault / ".obsidian" / "plugins" / "vaultwire" / "main.js").write_text("old")
        capsys.readouterr()
        assert run(vault, "doctor") == 0
        assert (old in capsys.readouterr().out) == (state == "old")


def test_the_plugin_goes_into_no_folder_that_is_not_obsidians(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = snapshot(vault)
    assert run(vault, "plugin", "install") == 1
    assert "open it as a vault in Obsidian once" in capsys.readouterr().err
    assert run(vault, "plugin", "remove") == 0
    assert snapshot(vault) == before
    assert not (vault / ".obsidian").exists()


@pytest.mark.skipif(os.name == "nt" or not os.geteuid(), reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to_is_said(vault: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (vault / ".obsidian" / "plugins").mkdir(parents=True, mode=0o500)
    assert run(vault, "plugin", "install") == 1
    assert "cannot write to" in capsys.readouterr().err
