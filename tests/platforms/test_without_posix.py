"""The program in a Python that lacks what Windows lacks (``support.windows_like``), and what it does there in another way.

Paths and disk are those of Linux, so this shows what is called, not what Windows does then.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from support.calls import call, refusal
from support.vaults import open_vault, snapshot, write_vault
from vaultwire.transports.listening import why_not
from vaultwire.vault.disk import walk
from vaultwire.vault.disk.file_operations import sync_file, when_closed
from vaultwire.vault.disk.files import cannot
from vaultwire.vault.disk.paths import safe_name
from vaultwire.vault.disk.placeholders import is_junction, is_placeholder
from vaultwire.vault.disk.process_lock import is_running_on_windows
from vaultwire.vault.disk.walk import VaultRoot
from vaultwire.vault.value_types import VaultPath

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the real one is here")
SUPPORT = str(Path(__file__).resolve().parents[1])
# Windows' own encoding is not UTF-8: a text file that is opened without saying its encoding is an error here.
STRICT = {"PYTHONPATH": SUPPORT, "PYTHONWARNDEFAULTENCODING": "1"}
VAULT = """
=== One.md
Apples. See [[Two]].
=== Two.md
Pears.
"""


def run(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run ``support.windows_like``."""
    environment = {**os.environ, **STRICT}
    command = [sys.executable, "-m", "support.windows_like", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=100, **options)


def test_every_module_can_be_imported_without_what_windows_lacks() -> None:
    done = run("modules")
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 200


def test_a_conversation_over_stdio_reads_changes_and_undoes(tmp_path: Path) -> None:
    root = write_vault(tmp_path / "vault", VAULT)
    before = snapshot(root)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("search_notes", {"query": "apples"}),
        ("create_note", {"path": "New/Three.md", "content": "Plums."}),
        ("edit_note", {"path": "One.md", "operation": "append", "content": "More."}),
        ("move_notes", {"paths": ["Two.md"], "to": "New/Pears.md"}),
        ("delete_note", {"path": "New/Three.md"}),
        ("undo_changes", {"changes": [1, 2, 3, 4]}),
    ]
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}}
    frames: list[dict[str, Any]] = [{"id": 0, "method": "initialize", "params": client}]
    frames.append({"method": "notifications/initialized"})
    with subprocess.Popen(
        [sys.executable, "-m", "support.windows_like", "run", "stdio", "--vault", str(root)],
        env={**os.environ, **STRICT},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for number, (name, arguments) in enumerate(calls, 1):
            frames.append({"id": number, "method": "tools/call", "params": {"name": name, "arguments": arguments}})
            for frame in frames:
                server.stdin.write(json.dumps({"jsonrpc": "2.0", **frame}).encode() + b"\n")
            server.stdin.flush()
            answers = [server.stdout.readline() for frame in frames if "id" in frame]
            frames = []
            assert not any(b"\r" in answer for answer in answers)
            answer = json.loads(answers[-1])
            assert answer["id"] == number
            assert not answer["result"].get("isError"), answer
        server.stdin.close()
        assert server.wait(30) == 0
    assert snapshot(root) == before


def test_doctor_finds_nothing_wrong(tmp_path: Path) -> None:
    done = run("run", "doctor", "--vault", str(write_vault(tmp_path / "vault", VAULT)))
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------------- files that others have open


def busy(times: int, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a call of the system that is refused so many times, as Windows refuses it while a file is open."""
    left = [times]

    def refused(*arguments: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise PermissionError(
                errno.EACCES, "The process cannot access the file because it is being used", *arguments
            )
        return call(*arguments)

    return refused


def test_a_file_that_another_program_has_open_is_waited_for(tmp_path: Path) -> None:
    (tmp_path / "new").write_text("new", encoding="utf-8")
    when_closed(busy(2, os.replace), str(tmp_path / "new"), str(tmp_path / "note"), waits=(0, 0, 0))
    assert (tmp_path / "note").read_text(encoding="utf-8") == "new"


def test_a_file_that_stays_open_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(PermissionError) as caught:
        when_closed(busy(9, os.unlink), str(tmp_path / "note"), waits=(0, 0, 0))
    error = cannot("delete", VaultPath("note"), caught.value, on_windows=True)
    assert error.code == "PERMISSION_DENIED"
    assert "another program has it open" in error.message
    assert str(tmp_path) not in error.message


def test_a_path_that_is_too_long_for_windows_is_not_said_to_be_missing() -> None:
    place = "C:\\vault\\" + "x" * 300
    error = cannot("write", VaultPath("x.md"), FileNotFoundError(errno.ENOENT, "not found", place), on_windows=True)
    assert error.code == "WRITE_FAILED"
    assert "309 characters" in error.message
    assert "C:" not in error.message
    for other in (FileNotFoundError(errno.ENOENT, "not found", "C:\\vault\\x"), FileNotFoundError(errno.ENOENT, "no")):
        assert cannot("write", VaultPath("x.md"), other, on_windows=True).code == "FILE_NOT_FOUND"
    long = FileNotFoundError(errno.ENOENT, "not found", place)
    assert cannot("write", VaultPath("x.md"), long, on_windows=False).code == "FILE_NOT_FOUND"


# ---------------------------------------------------------------------- what statuses say


def test_a_file_has_one_stamp_by_every_way_of_asking_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """``os.scandir`` says 0 for the inode there: https://docs.python.org/3/library/os.html#os.DirEntry.stat"""
    monkeypatch.setattr(walk, "_ON_WINDOWS", True)
    by_listing, by_itself = SimpleNamespace(st_ino=0, st_ctime_ns=17), SimpleNamespace(st_ino=5, st_ctime_ns=17)
    assert walk.stamp_of(cast("Any", by_listing)) == walk.stamp_of(cast("Any", by_itself))
    monkeypatch.setattr(walk, "_ON_WINDOWS", False)
    assert walk.stamp_of(cast("Any", by_listing)) != walk.stamp_of(cast("Any", by_itself))


@pytest.mark.parametrize(
    ("status", "is_there"),
    [
        ({"st_file_attributes": 0x20}, True),
        ({"st_file_attributes": 0x400000}, False),  # OneDrive: fetched when its data are read
        ({"st_file_attributes": 0x40000}, False),  # fetched when it is opened
        ({"st_file_attributes": 0x1000}, False),  # offline
        ({"st_file_attributes": 0x80020}, True),  # "always keep on this device"
        ({"st_flags": 0x40000000}, False),  # iCloud
        ({"st_flags": 0}, True),
        ({}, True),
    ],
)
def test_a_file_that_is_only_in_a_cloud_is_known_by_its_status(status: dict[str, int], is_there: bool) -> None:
    assert is_placeholder(cast("Any", SimpleNamespace(**status))) is not is_there


class Entry:
    """An entry of a folder as Windows' ``os.scandir`` gives it: with a reparse tag in its status."""

    def __init__(self, entry: os.DirEntry[str], junctions: set[str]) -> None:
        self.name = entry.name
        self._entry = entry
        self._tag = 0xA0000003 if entry.name in junctions else 0

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return self._entry.is_dir() if self._tag else self._entry.is_dir(follow_symlinks=follow_symlinks)

    def is_symlink(self) -> bool:
        return not self._tag and self._entry.is_symlink()

    def stat(self, *, follow_symlinks: bool = True) -> Any:
        found = self._entry.stat(follow_symlinks=follow_symlinks)
        names = ("st_mode", "st_size", "st_mtime_ns", "st_ctime_ns")
        return SimpleNamespace(**{name: getattr(found, name) for name in names}, st_ino=0, st_reparse_tag=self._tag)


def test_a_walk_enters_no_junction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A junction is a folder to ``is_dir`` and no link to ``is_symlink``; it may lead out of the vault, or in a circle."""
    root = write_vault(tmp_path / "vault", VAULT)
    write_vault(tmp_path / "outside", "=== Private.md\nNo.\n")
    (root / "Away").symlink_to(tmp_path / "outside")
    (root / "Circle").symlink_to(root)
    scandir = os.scandir

    class Listing:
        def __init__(self, place: str) -> None:
            self._entries = scandir(place)

        def __enter__(self) -> list[Entry]:
            return [Entry(each, {"Away", "Circle"}) for each in self._entries]

        def __exit__(self, *_: object) -> None:
            self._entries.close()

    monkeypatch.setattr(walk, "_ON_WINDOWS", True)
    monkeypatch.setattr(os, "scandir", Listing)
    folders = list(walk.walk_folders(VaultRoot(str(root)), None, [], attachments=True))
    assert {folder: [file.path for file in files] for folder, files in folders} == {"": ["One.md", "Two.md"]}


def test_a_status_of_another_system_is_that_of_no_junction(tmp_path: Path) -> None:
    assert not is_junction(tmp_path.stat())


# ---------------------------------------------------------------------- processes, drives, ports, names


class Kernel:
    """Windows' kernel32 as far as it tells about processes. It counts the handles that are not closed."""

    def __init__(self, handle: int, waited: int) -> None:
        self._handle, self._waited, self.open = handle, waited, 0

    def OpenProcess(self, access: int, _inherit: bool, _process: int) -> int:  # noqa: N802 - its name
        assert access == 0x100000  # SYNCHRONIZE, and not PROCESS_TERMINATE
        self.open += self._handle != 0
        return self._handle

    def WaitForSingleObject(self, _handle: int, milliseconds: int) -> int:  # noqa: N802 - its name
        assert milliseconds == 0
        return self._waited

    def CloseHandle(self, _handle: int) -> int:  # noqa: N802 - its name
        self.open -= 1
        return 1


@pytest.mark.parametrize(
    ("handle", "waited", "error", "runs"),
    [
        (7, 0x102, 0, True),
        (7, 0, 0, False),  # it has ended, and somebody still has a handle
        (0, 0, 87, False),  # there is no such process
        (0, 0, 5, True),  # another user's
    ],
)
def test_whether_a_process_runs_is_asked_without_a_signal(handle: int, waited: int, error: int, runs: bool) -> None:
    kernel = Kernel(handle, waited)
    assert is_running_on_windows(4711, kernel, lambda: error) is runs
    assert not kernel.open


def test_a_file_is_passed_to_the_drive_before_the_drive_is_made_to_write(tmp_path: Path) -> None:
    flushed: list[int] = []
    with (tmp_path / "note").open("wb") as file:
        sync_file(file.fileno(), flushed.append)
        assert flushed == [file.fileno()]

        def refuse(_: int) -> None:
            raise OSError(errno.ENOTSUP, "not on this file system")

        sync_file(file.fileno(), refuse)


def test_a_port_that_windows_keeps_to_itself_is_explained() -> None:
    error = PermissionError(errno.EACCES, "An attempt was made to access a socket in a way forbidden")
    assert "reserved by Windows" in why_not(error, "127.0.0.1", 3000, on_windows=True)
    assert "Windows" not in why_not(error, "127.0.0.1", 80, on_windows=False)


@pytest.mark.parametrize("name", ["PRIVAT~1.md", "a~1.md", "ABC~12.md"])
def test_a_new_note_gets_no_name_that_may_be_another_ones_short_name(name: str, tmp_path: Path) -> None:

    vault = open_vault(tmp_path)
    code, message = refusal(vault, "create_note", path=name, content="new")
    assert code == "INVALID_ARGUMENTS"
    assert safe_name(name) in message
    call(vault, "create_note", path=safe_name(name), content="new")
    assert os.listdir(tmp_path) == [safe_name(name)]


def test_a_note_that_has_such_a_name_can_be_used(tmp_path: Path) -> None:

    vault = open_vault(write_vault(tmp_path, "=== ABC~1.md\nOld.\n"))
    before = snapshot(tmp_path)
    call(vault, "edit_note", path="ABC~1", operation="append", content="New.")
    call(vault, "delete_note", path="ABC~1.md")
    call(vault, "undo_changes", changes=[1, 2])
    assert snapshot(tmp_path) == before
