"""The file by which clients find the socket: what it holds, who may read it, and that none is left behind."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from vaultwire.transports.lock_file import (
    Identity,
    LastIdentity,
    LockFileError,
    discover_editors,
    gemini_file,
    gemini_folder,
    lock_file,
    lock_folder,
    qwen_file,
    qwen_folder,
    remove_stale_files,
)

ON_POSIX = pytest.mark.skipif(os.name == "nt", reason="modes of files are not Windows'")


def test_the_folder_is_the_clients_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    assert lock_folder() == os.path.join(os.path.expanduser("~"), ".claude", "ide")
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path))
    assert lock_folder() == str(tmp_path / "ide")


def test_the_file_says_what_clients_look_for(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (tmp_path / "link").symlink_to(vault)
    lock_file(str(tmp_path / "ide"), Identity(4711, "secret"), str(tmp_path / "link"), "Obsidian").write()
    found = json.loads((tmp_path / "ide" / "4711.lock").read_text())
    assert found == {
        "pid": os.getpid(),
        "workspaceFolders": [str(tmp_path / "link"), str(vault)],
        "ideName": "Obsidian",
        "transport": "ws",
        "runningInWindows": os.name == "nt",
        "authToken": "secret",
        "port": 4711,
        "madeBy": "vaultwire",
    }


@ON_POSIX
def test_nobody_else_may_read_it(tmp_path: Path) -> None:
    (tmp_path / "ide").mkdir(mode=0o755)
    lock_file(str(tmp_path / "ide"), Identity(4711, "secret"), str(tmp_path), "Obsidian").write()
    assert stat.S_IMODE((tmp_path / "ide").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "ide" / "4711.lock").stat().st_mode) == 0o600
    assert os.listdir(tmp_path / "ide") == ["4711.lock"]


def test_a_file_of_another_server_is_left(tmp_path: Path) -> None:
    first = lock_file(str(tmp_path), Identity(4711, "one"), str(tmp_path), "Obsidian")
    second = lock_file(str(tmp_path), Identity(4711, "two"), str(tmp_path), "Obsidian")
    first.write()
    second.write()
    first.remove()
    assert (tmp_path / "4711.lock").exists()
    second.remove()
    assert not (tmp_path / "4711.lock").exists()
    second.remove()


def test_a_folder_that_cannot_be_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "ide").write_text("a file")
    with pytest.raises(LockFileError, match="ide"):
        lock_file(str(tmp_path / "ide"), Identity(1, "x"), str(tmp_path), "Obsidian").write()


def test_only_what_we_left_and_nobody_holds_is_swept(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", "pass"])
    ended.wait()
    files = {
        "1.lock": {"pid": ended.pid, "madeBy": "vaultwire"},
        "2.lock": {"pid": os.getpid(), "madeBy": "vaultwire"},
        "3.lock": {"pid": ended.pid},
        "4.lock": {"pid": "x", "madeBy": "vaultwire"},
        "5.txt": {"pid": ended.pid, "madeBy": "vaultwire"},
    }
    gemini = "gemini-ide-server-{}-{}.json"
    files |= {
        "7.lock": {"ppid": ended.pid, "madeBy": "vaultwire"},
        "8.lock": {"ppid": os.getpid(), "madeBy": "vaultwire"},
        gemini.format(ended.pid, 1): {"madeBy": "vaultwire"},
        gemini.format(os.getpid(), 2): {"madeBy": "vaultwire"},
        gemini.format(ended.pid, 3): {},
    }
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content))
    (tmp_path / "6.lock").write_text("{")
    remove_stale_files(str(tmp_path))
    left = {"2.lock", "3.lock", "5.txt", "6.lock", "8.lock", gemini.format(os.getpid(), 2), gemini.format(ended.pid, 3)}
    assert set(os.listdir(tmp_path)) == left
    remove_stale_files(str(tmp_path / "nowhere"))


def test_a_server_that_starts_soon_after_is_the_same_to_its_clients(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    last = LastIdentity(str(tmp_path / "editor"), "vault")
    new = last.load()
    assert new.port == 0
    assert uuid.UUID(new.token).version == 4
    last.save(Identity(4711, new.token))
    assert LastIdentity(str(tmp_path / "editor"), "vault").load() == (4711, new.token)
    assert LastIdentity(str(tmp_path / "editor"), "other").load().port == 0
    place = tmp_path / "editor" / "vault.json"
    kept = json.loads(place.read_text())
    place.write_text(json.dumps({**kept, "at": kept["at"] - 301}))
    assert last.load().port == 0
    assert last.load().token != last.load().token


def test_what_the_client_lists_for_a_folder_is_told(tmp_path: Path) -> None:
    vault, ide = tmp_path / "vault", tmp_path / "ide"
    (vault / "Folder").mkdir(parents=True)
    lock_file(str(ide), Identity(4711, "one"), str(vault), "Obsidian").write()
    (ide / "1.lock").write_text(
        json.dumps({"pid": os.getpid(), "ideName": "Code", "workspaceFolders": [f"{tmp_path}/"]})
    )
    (ide / "2.lock").write_text(json.dumps({"pid": os.getpid(), "ideName": "Else", "workspaceFolders": [f"{vault}s"]}))
    (ide / "3.lock").write_text(json.dumps({"pid": 0, "ideName": "Dead", "workspaceFolders": [str(vault)]}))
    (ide / "4.lock").write_text("{")
    assert discover_editors(str(ide), str(vault)) == [("Code", "1", False), ("Obsidian", "4711", True)]
    assert discover_editors(str(ide), str(tmp_path)) == [("Code", "1", False)]
    assert discover_editors(str(tmp_path / "nowhere"), str(vault)) == []


def test_gemini_clis_file_says_what_it_looks_for(tmp_path: Path) -> None:
    place = tmp_path / "gemini" / "ide" / f"gemini-ide-server-{os.getpid()}-4711.json"
    file = gemini_file(str(place.parent), Identity(4711, "secret"), "/vault", "Obsidian")
    file.write()
    assert json.loads(place.read_text()) == {
        "port": 4711,
        "workspacePath": "/vault",
        "authToken": "secret",
        "ideInfo": {"name": "obsidian", "displayName": "Obsidian"},
        "madeBy": "vaultwire",
    }
    assert os.listdir(place.parent) == [place.name]
    file.remove()
    assert os.listdir(place.parent) == []


def test_qwen_codes_file_says_what_it_looks_for(tmp_path: Path) -> None:
    place = tmp_path / ".qwen" / "ide" / "4711.lock"
    file = qwen_file(str(place.parent), Identity(4711, "secret"), "/vault", "Obsidian")
    file.write()
    assert json.loads(place.read_text()) == {
        "port": 4711,
        "workspacePath": "/vault",
        "authToken": "secret",
        "ppid": os.getpid(),
        "ideName": "Obsidian",
        "ideInfo": {"name": "obsidian", "displayName": "Obsidian"},
        "madeBy": "vaultwire",
    }
    assert os.listdir(place.parent) == [place.name]
    file.remove()
    assert os.listdir(place.parent) == []


@ON_POSIX
def test_nobody_else_may_read_the_companions_files(tmp_path: Path) -> None:
    (tmp_path / "gemini").mkdir(mode=0o755)
    (tmp_path / "qwen").mkdir(mode=0o755)
    for make, folder in ((gemini_file, tmp_path / "gemini" / "ide"), (qwen_file, tmp_path / "qwen")):
        make(str(folder), Identity(4711, "secret"), "/vault", "Obsidian").write()
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        [file] = folder.iterdir()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "gemini").stat().st_mode) == 0o700


@ON_POSIX
@pytest.mark.parametrize("taken", ["gemini", "gemini/ide"])
def test_where_anybody_may_write_a_link_in_the_way_is_not_followed(tmp_path: Path, taken: str) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / taken).parent.mkdir(exist_ok=True)
    (tmp_path / taken).symlink_to(elsewhere)
    with pytest.raises(LockFileError, match="not your own folder"):
        gemini_file(str(tmp_path / "gemini" / "ide"), Identity(1, "x"), "/vault", "Obsidian").write()
    assert os.listdir(elsewhere) == []


@ON_POSIX
@pytest.mark.skipif(getattr(os, "getuid", int)() != 0, reason="only root can give folders away")
def test_where_anybody_may_write_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "gemini").mkdir(mode=0o777)
    os.chown(tmp_path / "gemini", 65534, -1)
    with pytest.raises(LockFileError, match="not your own folder"):
        gemini_file(str(tmp_path / "gemini" / "ide"), Identity(1, "x"), "/vault", "Obsidian").write()


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({}, "/tmp/gemini/ide"),
        ({"TMPDIR": "/a/", "TMP": "/b", "TEMP": "/c"}, "/a/gemini/ide"),
        ({"TMPDIR": "", "TMP": "/b", "TEMP": "/c"}, "/b/gemini/ide"),
        ({"TEMP": "/c"}, "/c/gemini/ide"),
    ],
)
@ON_POSIX
def test_gemini_clis_folder_is_where_node_has_temporary_files(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], folder: str
) -> None:
    for name in ("TMPDIR", "TMP", "TEMP"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert gemini_folder() == folder


def test_qwen_codes_folder_is_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("QWEN_HOME", raising=False)
    assert qwen_folder() == os.path.join(os.path.expanduser("~"), ".qwen", "ide")
    monkeypatch.setenv("QWEN_HOME", str(tmp_path))
    assert qwen_folder() == str(tmp_path / "ide")


def test_what_the_companions_find_for_a_folder_is_told(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (tmp_path / "link").symlink_to(vault)
    for make, folder in ((gemini_file, tmp_path / "gemini" / "ide"), (qwen_file, tmp_path / "qwen")):
        make(str(folder), Identity(4711, "x"), str(tmp_path / "link"), "Obsidian").write()
        make(str(folder), Identity(4712, "x"), str(tmp_path / "other"), "Obsidian").write()
        assert discover_editors(str(folder), str(vault)) == [("Obsidian", "4711", True)]
    code = {"port": 5, "workspacePath": f"/x{os.pathsep}{tmp_path}", "ideInfo": {"displayName": "VS Code"}}
    place = tmp_path / "gemini" / "ide" / f"gemini-ide-server-{os.getpid()}-5.json"
    place.write_text(json.dumps(code))
    assert discover_editors(str(place.parent), str(vault)) == [("Obsidian", "4711", True), ("VS Code", "5", False)]
