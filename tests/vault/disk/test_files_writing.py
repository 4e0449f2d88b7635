"""Writing: in one step, on the disk before it has its name, keeping what is not text, and leaving nothing behind."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.refusals import refused
from support.renaming import without_exchange
from support.vaults import is_in, new_state, open_vault, snapshot, write_vault
from vaultwire.app.engine import open_index
from vaultwire.vault.changes.change import Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk import file_operations
from vaultwire.vault.disk.files import TEMPORARY_PREFIX, Files
from vaultwire.vault.errors import (
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    STALE_EDIT,
    TOO_LARGE,
    WRITE_FAILED,
    VaultError,
)
from vaultwire.vault.value_types import VaultPath, WriteMode

NOTE = VaultPath("Note.md")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="modes and links as POSIX has them")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", "=== Note.md\nold\n=== Folder/Inner.md\ninner\n")


def _record(monkeypatch: pytest.MonkeyPatch, root: Path, *names: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Have calls of these functions of ``os`` for files of the vault noted down with their arguments, then done."""
    calls: list[tuple[str, tuple[Any, ...]]] = []

    def recorded(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_in(root, args[0]):
                calls.append((name, args))
            return real(*args, **kwargs)

        return call

    for name in names:
        monkeypatch.setattr(os, name, recorded(name, getattr(os, name)))
    rename = file_operations.system_rename()
    if rename is not None:
        own = recorded("rename", rename)
        monkeypatch.setattr(file_operations, "system_rename", lambda: own)
    return calls


def _fail(monkeypatch: pytest.MonkeyPatch, root: Path, name: str, number: int) -> None:
    """Have a function of ``os`` fail from now on for files of the vault."""
    real = getattr(os, name)

    def fail(*args: Any, **kwargs: Any) -> Any:
        if not is_in(root, args[0]):
            return real(*args, **kwargs)
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, name, fail)


@pytest.mark.parametrize("has_exchange", [True, False])
@pytest.mark.parametrize("mode", ["create", "overwrite", "append", "prepend"])
def test_bytes_are_on_the_disk_before_they_have_the_notes_name(
    root: Path, monkeypatch: pytest.MonkeyPatch, mode: WriteMode, has_exchange: bool
) -> None:
    if not has_exchange:
        without_exchange(monkeypatch)
    calls = _record(monkeypatch, root, "open", "fsync", "replace", "link", "rename")
    open_vault(root).writing.write("New" if mode == "create" else "Note", "text", mode)
    calls = [call for call in calls if call[0] != "open" or call[1][1] & os.O_CREAT]  # not what is only read
    opened = [call for call in calls if call[0] == "open"]
    assert len(opened) == 1
    temporary = Path(opened[0][1][0])
    assert temporary.parent == root.resolve()  # the same folder, so the same file system
    assert temporary.name.startswith(".")  # Obsidian and its sync pass over it
    assert opened[0][1][1] & os.O_EXCL
    steps = [name for name, args in calls if name == "fsync" or str(args[0]) == str(temporary)]
    assert steps[:2] == ["open", "fsync"]
    assert len(steps) == 3
    assert calls[-1][1][1] == str(root.resolve() / ("New.md" if mode == "create" else "Note.md"))


def test_the_data_that_is_synced_is_all_of_it(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    real_fsync = os.fsync

    def measure(descriptor: int) -> None:
        if is_in(root, descriptor):
            sizes.append(os.fstat(descriptor).st_size)
        real_fsync(descriptor)

    monkeypatch.setattr(os, "fsync", measure)
    open_vault(root).writing.write("Note", "x" * 5000, "overwrite")
    assert sizes == [5001]


@posix_only
@pytest.mark.parametrize("bits", [0o600, 0o640, 0o644, 0o755])
def test_an_edited_note_keeps_its_mode_and_is_another_inode(root: Path, bits: int) -> None:
    (root / "Note.md").chmod(bits)
    before = (root / "Note.md").stat()
    open_vault(root).writing.write("Note", "more", "append")
    after = (root / "Note.md").stat()
    assert stat.S_IMODE(after.st_mode) == bits
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert (root / "Note.md").read_text() == "old\nmore\n"


@posix_only
def test_a_private_notes_text_is_never_in_a_file_others_may_read(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "Note.md").chmod(0o600)
    modes: list[int] = []
    real_open = os.open

    def look(path: Any, flags: int, *args: Any, **kwargs: Any) -> int:
        descriptor = real_open(path, flags, *args, **kwargs)
        if flags & os.O_CREAT and is_in(root, path):
            modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    monkeypatch.setattr(os, "open", look)
    open_vault(root).writing.write("Note", "more", "append")
    assert modes == [0o600]


@posix_only
def test_a_new_note_is_as_open_as_the_umask_lets_it_be(root: Path) -> None:
    before = os.umask(0o027)
    try:
        open_vault(root).writing.write("New/Note", "x", "create")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "New" / "Note.md").stat().st_mode) == 0o640


def test_extended_attributes_stay(root: Path) -> None:
    if not hasattr(os, "setxattr"):
        pytest.skip("this system's Python has none")
    try:
        os.setxattr(root / "Note.md", "user.colour", b"red")
    except OSError:
        pytest.skip("this file system has none")
    open_vault(root).writing.write("Note", "more", "append")
    assert os.getxattr(root / "Note.md", "user.colour") == b"red"


def test_a_file_system_without_extended_attributes_is_written_all_the_same(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not hasattr(os, "listxattr"):
        pytest.skip("this system's Python has none")
    _fail(monkeypatch, root, "listxattr", errno.ENOTSUP)
    assert open_vault(root).writing.write("Note", "more", "append").changed


@posix_only
def test_a_linked_note_is_written_through_its_link(root: Path) -> None:
    (root / "Link.md").symlink_to("Folder/Inner.md")
    open_vault(root).writing.write("Link", "more", "append")
    assert (root / "Link.md").is_symlink()
    assert (root / "Folder" / "Inner.md").read_text() == "inner\nmore\n"


@posix_only
def test_a_write_protected_note_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "Note.md").chmod(0o444)
    if os.geteuid() == 0:  # root may write anything; the question itself is what is proved
        real_access = os.access
        monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and real_access(path, mode))
    assert refused(open_vault(root).writing.write, "Note", "x", "append") == PERMISSION_DENIED
    assert (root / "Note.md").read_text() == "old\n"


def _rewrite_in_place(path: Path) -> None:
    """Another program's edit that leaves size, inode and time as they were: two writes within one clock tick."""
    status = path.stat()
    path.write_text("odd\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


CHANGES: list[Callable[[Path], object]] = [
    lambda path: path.write_text("someone else's\n"),
    lambda path: path.open("a").write("x"),
    _rewrite_in_place,
    lambda path: (path.with_suffix(".tmp").write_text("new\n"), path.with_suffix(".tmp").replace(path)),
]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("change", CHANGES, ids=["rewritten", "appended to", "same size and time", "replaced"])
def test_a_note_that_changes_between_reading_and_writing_is_not_overwritten(
    root: Path, change: Callable[[Path], object]
) -> None:
    files = Files(str(root), 1000)
    changes = Changes(files, open_index(files, None), new_state())
    expected = files.read(NOTE).data
    change(root / "Note.md")
    theirs = (root / "Note.md").read_bytes()
    with changes.locked():
        assert refused(changes.execute, [Write(NOTE, expected, b"ours")]) == STALE_EDIT
    assert (root / "Note.md").read_bytes() == theirs
    assert not [name for name in os.listdir(root) if name.startswith(TEMPORARY_PREFIX)]


def test_the_check_for_changes_comes_after_the_slow_part(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_fsync = os.fsync

    def other_program_writes(descriptor: int) -> None:
        real_fsync(descriptor)
        (root / "Note.md").write_text("theirs\n")

    monkeypatch.setattr(os, "fsync", other_program_writes)
    assert refused(open_vault(root).writing.write, "Note", "ours", "append") == STALE_EDIT
    assert (root / "Note.md").read_text() == "theirs\n"


def test_a_new_note_never_overwrites_one_that_appears_meanwhile(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real_fsync = os.fsync

    def other_program_creates(descriptor: int) -> None:
        real_fsync(descriptor)
        (root / "New.md").write_text("theirs\n")

    monkeypatch.setattr(os, "fsync", other_program_creates)
    for mode in ("create", "overwrite"):
        (root / "New.md").unlink(missing_ok=True)
        assert refused(open_vault(root).writing.write, "New", "ours", mode) == NOTE_EXISTS
        assert (root / "New.md").read_text() == "theirs\n"
    assert sorted(os.listdir(root)) == ["Folder", "New.md", "Note.md"]


@posix_only
@pytest.mark.parametrize("link_error", [errno.EPERM, errno.ENOTSUP, errno.EXDEV, errno.ENOSYS])
def test_a_file_system_without_hard_links_gets_new_notes_too(
    root: Path, monkeypatch: pytest.MonkeyPatch, link_error: int
) -> None:
    without_exchange(monkeypatch)
    _fail(monkeypatch, root, "link", link_error)
    vault = open_vault(root)
    vault.writing.write("New", "text", "create")
    assert (root / "New.md").read_text() == "text"
    assert refused(vault.writing.write, "Note", "x", "create") == NOTE_EXISTS
    assert (root / "Note.md").read_text() == "old\n"
    assert vault.writing.delete("New", permanent=False).trash_path == ".trash/New.md"
    assert sorted(os.listdir(root)) == [".trash", "Folder", "Note.md"]


@pytest.mark.parametrize("name", ["open", "fsync", "replace", "link", "chmod", "mkdir"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("path", ["Note", "New", "New folder/deeper/New"])
def test_a_write_the_system_refuses_leaves_the_vault_as_it_was(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str, number: int, path: str
) -> None:
    if name in ("replace", "link"):
        without_exchange(monkeypatch)
    vault, before, folders = open_vault(root), snapshot(root), sorted(root.rglob("*"))
    with monkeypatch.context() as failing:
        _fail(failing, root, name, number)
        try:
            vault.writing.write(path, "text", "overwrite")
        except VaultError as error:
            code, message = error.code, error.message
        else:
            return  # this write does not need that call
    assert code == (PERMISSION_DENIED if number == errno.EACCES else WRITE_FAILED)
    assert str(root) not in message
    assert snapshot(root) == before
    assert sorted(root.rglob("*")) == folders


@posix_only
@pytest.mark.parametrize("name", ["replace", "unlink"])
def test_a_new_note_that_cannot_be_finished_leaves_no_stump(
    root: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Without hard links the name is held by an empty file; with them, the note has two names for a moment."""
    without_exchange(monkeypatch)
    before = snapshot(root)
    real_unlink = os.unlink
    refusals = [True]

    def refuse_once(path: Any) -> None:
        is_in_vault = os.path.dirname(path).startswith(str(root))
        if is_in_vault and refusals and refusals.pop():
            raise OSError(errno.EIO, "Input/output error")
        real_unlink(path)

    with monkeypatch.context() as failing:
        if name == "replace":
            _fail(failing, root, "link", errno.EPERM)
            _fail(failing, root, "replace", errno.EIO)
        else:
            failing.setattr(os, "unlink", refuse_once)
        assert refused(open_vault(root).writing.write, "New", "text", "create") == WRITE_FAILED
    assert snapshot(root) == before


@posix_only
def test_a_full_disk_leaves_the_note_as_it_was(root: Path) -> None:
    """A real limit of the system on a real write: the file size limit of a child process."""
    code = """
import resource, sys
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.editing.workbench import Workbench
from datetime import datetime
from vaultwire.vault.errors import VaultError
from vaultwire.vault.disk.files import Files
from vaultwire.app.engine import open_index
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.vault import Vault
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
files = Files(sys.argv[1], 1_000_000)
for name in ("Note", "New/Note 2"):
    try:
        index = open_index(files, None)
        changes = Changes(files, index, sys.argv[1] + "-state")
        bench = Workbench(
            files, index, CachedSettings(files.root), changes, now=datetime.now, max_attachment_bytes=1, read_first=False
        )
        vault = Vault(bench)
        vault.writing.write(name, "x" * 900_000, "overwrite")
    except VaultError as error:
        print(error.code)
"""
    before = snapshot(root)
    run = subprocess.run([sys.executable, "-c", code, root], capture_output=True, text=True, check=False)
    assert (run.stdout.split(), run.stderr) == ([WRITE_FAILED, WRITE_FAILED], "")
    assert snapshot(root) == before
    assert sorted(os.listdir(root)) == ["Folder", "Note.md"]


def test_a_path_through_a_file_is_refused(root: Path) -> None:
    assert refused(open_vault(root).writing.write, "Note.md/New", "x", "create") == INVALID_ARGUMENTS
    assert sorted(os.listdir(root)) == ["Folder", "Note.md"]


def test_a_path_too_long_for_the_system_leaves_no_folders(root: Path) -> None:
    name = "/".join(["x" * 200] * 30)
    assert refused(open_vault(root).writing.write, name, "x", "create") == WRITE_FAILED
    assert sorted(os.listdir(root)) == ["Folder", "Note.md"]


def test_too_large_a_note_is_not_written(root: Path) -> None:
    vault = open_vault(root, max_bytes=10)
    assert refused(vault.writing.write, "New/Note", "x" * 11, "create") == TOO_LARGE
    assert refused(vault.writing.write, "Note", "x" * 7, "append") == TOO_LARGE
    assert vault.writing.write("Note", "x" * 5, "append").size == 10
    assert sorted(os.listdir(root)) == ["Folder", "Note.md"]


@posix_only
def test_a_link_to_nowhere_outside_is_not_written_through(root: Path, tmp_path: Path) -> None:
    (root / "Link.md").symlink_to(tmp_path / "made.md")
    for mode in ("create", "overwrite"):
        assert refused(open_vault(root).writing.write, "Link", "x", mode) == PATH_OUTSIDE_VAULT
    assert not (tmp_path / "made.md").exists()
