"""``vaultwire install CLIENT --skills``: what is in the client's folder then, and that nothing of the person's is lost."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from support.command_line import run_command
from vaultwire.client_setup import installing, skill_folders
from vaultwire.client_setup.clients import CLIENTS, System, find_skills
from vaultwire.skills import bundled_skills, read_bundled

ALL = {f"{skill.name}/{path}": read_bundled(skill.name, path) for skill in bundled_skills() for path in skill.files}
NOTES = "vaultwire-notes/SKILL.md"


def tree(folder: Path) -> dict[str, bytes | None]:
    """Return all files below a folder with their bytes, and its folders with None."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def files(folder: Path) -> dict[str, bytes]:
    return {path: data for path, data in tree(folder).items() if data is not None}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    for name in (".claude", ".codex", ".cursor", "project"):
        (home / name).mkdir(parents=True)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "VAULTWIRE_VAULT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("VAULTWIRE_STATE", str(tmp_path / "state"))
    monkeypatch.chdir(home / "project")
    return home


def install(client: str, *options: str, code: int = 0) -> str:
    finished = run_command("install", client, "--skills", *options)
    assert finished.returncode == code, finished.stderr
    return finished.stdout + finished.stderr


@pytest.mark.parametrize(
    ("client", "options", "folder"),
    [
        ("claude-code", (), ".claude/skills"),
        ("claude-code", ("--scope", "project"), "project/.claude/skills"),
        ("codex", (), ".agents/skills"),
        ("codex", ("--scope", "project"), "project/.agents/skills"),
    ],
)
def test_skills_come_and_go_without_a_trace(home: Path, client: str, options: tuple[str, ...], folder: str) -> None:
    before = tree(home)
    assert "dry run" in install(client, *options, "--dry-run")
    assert tree(home) == before
    assert "Undo: vaultwire install" in install(client, *options)
    assert files(home / folder) == ALL
    assert "the skills are there" in install(client, *options)
    assert "dry run" in install(client, *options, "--undo", "--dry-run")
    assert files(home / folder) == ALL
    install(client, *options, "--undo")
    assert tree(home) == before
    assert "Nothing to undo" in install(client, *options, "--undo")


def test_what_the_person_changed_or_had_stays(home: Path) -> None:
    folder = home / ".claude" / "skills"
    own = folder / "vaultwire-tidy" / "SKILL.md"
    own.parent.mkdir(parents=True)
    own.write_bytes(b"my own \xff")
    (folder / "mine").mkdir()
    (folder / "mine" / "SKILL.md").write_text("mine")
    assert "vaultwire-tidy/SKILL.md stays as it is" in install("claude-code")
    assert own.read_bytes() == b"my own \xff"
    (folder / NOTES).write_text("changed")
    (folder / "vaultwire-notes" / "extra.md").write_text("added")
    assert f"{NOTES} stays as it is" in install("claude-code")
    assert f"{NOTES} stays as it is" in install("claude-code", "--undo")
    assert files(folder) == {
        "vaultwire-tidy/SKILL.md": b"my own \xff",
        "mine/SKILL.md": b"mine",
        NOTES: b"changed",
        "vaultwire-notes/extra.md": b"added",
    }
    assert not (folder / "vaultwire-markdown").exists()


def test_the_same_file_that_was_there_before_is_not_taken_away(home: Path) -> None:
    folder = home / ".claude" / "skills"
    (folder / "vaultwire-notes").mkdir(parents=True)
    (folder / NOTES).write_bytes(ALL[NOTES])
    install("claude-code")
    install("claude-code", "--undo")
    assert files(folder) == {NOTES: ALL[NOTES]}


def make_older(folder: Path, older: dict[str, bytes]) -> None:
    """Put these files there as an earlier version would have done it, on record as well."""
    record = Path(os.environ["VAULTWIRE_STATE"], "skill-folders.json")
    data = json.loads(record.read_text())
    for path, text in older.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(text)
        data[str(folder.resolve())]["files"][path] = [hashlib.sha256(text).hexdigest()]
    record.write_text(json.dumps(data))


def test_an_upgrade_writes_over_what_is_ours_and_removes_what_is_no_more(home: Path) -> None:
    folder = home / ".claude" / "skills"
    install("claude-code")
    make_older(folder, {NOTES: b"older", "vaultwire-gone/SKILL.md": b"gone"})
    told = install("claude-code")
    assert f"+ {NOTES}" in told
    assert "- vaultwire-gone/SKILL.md" in told
    assert files(folder) == ALL
    assert not (folder / "vaultwire-gone").exists()
    install("claude-code", "--undo")
    assert not folder.exists()


def test_a_folder_that_several_clients_read_is_cleared_by_the_last(home: Path) -> None:
    install("codex")
    install("cursor")
    assert "The skills stay for Cursor" in install("codex", "--undo")
    assert files(home / ".agents" / "skills") == ALL
    assert "Nothing to undo" in install("codex", "--undo")
    install("cursor", "--undo")
    assert not (home / ".agents").exists()


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_nothing_goes_through_a_link_of_the_person(home: Path) -> None:
    elsewhere = home / "dotfiles"
    (elsewhere / "vaultwire-notes").mkdir(parents=True)
    folder = home / ".claude" / "skills"
    folder.mkdir()
    (folder / "vaultwire-notes").symlink_to(elsewhere / "vaultwire-notes", target_is_directory=True)
    (folder / "vaultwire-tidy").mkdir()
    (folder / "vaultwire-tidy" / "SKILL.md").symlink_to(elsewhere / "missing.md")
    told = install("claude-code")
    assert f"{NOTES} stays as it is" in told
    assert "vaultwire-tidy/SKILL.md stays as it is" in told
    assert files(elsewhere) == {}
    install("claude-code", "--undo")
    assert sorted(os.listdir(folder)) == ["vaultwire-notes", "vaultwire-tidy"]


@pytest.mark.skipif(os.name == "nt", reason="links need a right there")
def test_the_folder_itself_may_be_a_link_but_not_out_of_a_project(home: Path) -> None:
    (home / "dotfiles").mkdir()
    (home / ".claude" / "skills").symlink_to(home / "dotfiles", target_is_directory=True)
    install("claude-code")
    assert files(home / "dotfiles") == ALL
    install("claude-code", "--undo")
    assert (home / ".claude" / "skills").is_symlink()
    assert files(home / "dotfiles") == {}
    (home / "project" / ".claude").symlink_to(home / "dotfiles", target_is_directory=True)
    assert "leads out of the project" in install("claude-code", "--scope", "project", code=1)
    assert files(home / "dotfiles") == {}


def test_an_interruption_halfway_leaves_what_the_next_run_and_an_undo_know(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("claude-code")
    make_older(home / ".claude" / "skills", dict.fromkeys(ALL, b"older"))
    calls = iter(range(100))

    def stop(path: str, *rest: object, **options: object) -> None:
        if not path.endswith(".json") and next(calls) == 3:
            raise KeyboardInterrupt
        write(path, *rest, **options)

    write: Callable[..., None] = installing.replace
    with monkeypatch.context() as patch:
        patch.setattr(skill_folders, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            skill_folders.carry_out(
                skill_folders.plan(str(home / ".claude" / "skills"), "claude-code", os.environ["VAULTWIRE_STATE"]),
                os.environ["VAULTWIRE_STATE"],
            )
    now = files(home / ".claude" / "skills")
    assert sum(data == b"older" for data in now.values()) == len(ALL) - 3
    assert "stays" not in install("claude-code", "--undo", "--dry-run")
    assert "stays" not in install("claude-code")
    assert files(home / ".claude" / "skills") == ALL


def test_a_record_that_is_broken_takes_nothing_away(home: Path) -> None:
    install("claude-code")
    Path(os.environ["VAULTWIRE_STATE"], "skill-folders.json").write_text('{"x": 3}')
    assert "Nothing to undo" in install("claude-code", "--undo")
    assert files(home / ".claude" / "skills") == ALL


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("claude-desktop", "--skills"), "reads no folder of skills"),
        (("windsurf", "--skills"), "seems not to be installed"),
        (("claude-code", "--skills", "--vault", "."), "leave --vault out"),
        (("claude-code", "--skills", "--http", "http://127.0.0.1:3000"), "leave --http out"),
        (("--skills",), "name the client"),
    ],
)
def test_what_cannot_be_says_what_would_be_right(home: Path, words: tuple[str, ...], message: str) -> None:
    before = tree(home)
    finished = run_command("install", *words)
    assert finished.returncode in (1, 2)
    assert message in finished.stderr
    assert tree(home) == before


def test_variables_and_systems_lead_to_the_folder(tmp_path: Path) -> None:
    for platform in ("linux", "darwin", "win32"):
        here = System(platform, {"CLAUDE_CONFIG_DIR": str(tmp_path / "else")}, str(tmp_path), str(tmp_path / "p"))
        assert find_skills(CLIENTS["claude-code"], "user", here).path == str(tmp_path / "else" / "skills")
        assert find_skills(CLIENTS["vscode"], "user", here).path == str(tmp_path / ".agents" / "skills")
        assert find_skills(CLIENTS["windsurf"], "project", here).path == str(tmp_path / "p" / ".windsurf" / "skills")
