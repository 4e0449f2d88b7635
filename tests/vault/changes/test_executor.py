"""Carrying changes out: all steps or none, on what is there or not at all, under one lock, with a journal or not at all."""

from __future__ import annotations

import errno
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from support import statements_of_journals
from support.killing import NoIndex, open_changes, swap_names, tree
from support.memory_text import MemoryText
from support.refusals import refusal, refused
from support.renaming import around_calls, nothing, without_exchange
from support.vaults import open_vault, vault_over, write_vault
from vaultwire.vault.changes.change import Author, FileChange, Move, Step, Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.journal import Journal
from vaultwire.vault.disk import file_operations
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    JOURNAL_FAILED,
    NOTE_EXISTS,
    PATH_OUTSIDE_VAULT,
    PERMISSION_DENIED,
    STALE_EDIT,
    TOO_LARGE,
    WRITE_FAILED,
    Stopped,
    VaultError,
)
from vaultwire.vault.index.index import Index
from vaultwire.vault.index.index_folder import IndexFolder
from vaultwire.vault.settings.obsidian_settings import CachedSettings
from vaultwire.vault.value_types import NO_PROGRESS, NoProgress, VaultPath
from vaultwire.vault.visibility.excludes import CachedExcludes, Excludes

VAULT = """
=== A.md
a
=== B.md
b
=== Folder/C.md
c
=== Folder/deep/D.md
d
"""
AUTHOR = Author("someone", "edit_note")
posix_only = pytest.mark.skipif(sys.platform == "win32", reason="modes and links as POSIX has them")


def path(text: str) -> VaultPath:
    return VaultPath(text)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_vault(tmp_path / "vault", VAULT)


@pytest.fixture
def changes(root: Path, tmp_path: Path) -> Changes:
    return open_changes(root, tmp_path / "state")[1]


def execute(changes: Changes, *steps: Step) -> Any:
    with changes.locked():
        return changes.execute(steps, AUTHOR)


def test_steps_are_taken_in_order_each_on_what_the_one_before_left(root: Path, changes: Changes) -> None:
    change = execute(
        changes,
        Write(path("A.md"), b"a\n", b"a2\n"),
        Move(path("A.md"), path("New/A2.md")),
        Write(path("New/A2.md"), b"a2\n", b"a3\n"),
        Write(path("A.md"), None, b"moved\n"),
        Move(path("Folder"), path("Other")),
        Write(path("Other/deep/D.md"), b"d\n", None),
        Move(path("Other/C.md"), path("Other/deep/D.md")),
    )
    assert tree(root) == {
        "A.md": b"moved\n",
        "B.md": b"b\n",
        "New": None,
        "New/A2.md": b"a3\n",
        "Other": None,
        "Other/deep": None,
        "Other/deep/D.md": b"c\n",
    }
    assert change == changes.latest()[0]
    assert (change.id, change.author, change.undoes, change.unrestored) == (1, AUTHOR, (), ())
    assert change.files[:2] == (
        FileChange("edit", path("A.md")),
        FileChange("move", path("A.md"), path("New/A2.md")),
    )


def test_a_step_that_changes_nothing_is_left_out_and_nothing_at_all_is_not_recorded(
    root: Path, changes: Changes, tmp_path: Path
) -> None:
    before = (root / "A.md").stat()
    assert execute(changes, Write(path("A.md"), b"a\n", b"a\n"), Move(path("B.md"), path("B.md"))).id == 0
    assert execute(changes, Write(path("A.md"), b"a\n", b"x"), Write(path("A.md"), b"x", b"a\n")).files == ()
    assert (root / "A.md").stat().st_ctime_ns == before.st_ctime_ns
    assert changes.latest() == []
    assert execute(changes, Write(path("A.md"), b"a\n", b"x"), Write(path("A.md"), b"x", b"y")).files == (
        FileChange("edit", path("A.md")),
    )


REFUSED: list[tuple[str, list[Step], str]] = [
    ("another before", [Write(path("A.md"), b"other\n", b"x")], STALE_EDIT),
    ("a new file that is there", [Write(path("A.md"), None, b"x")], NOTE_EXISTS),
    ("a new file where a folder is", [Write(path("Folder"), None, b"x")], NOTE_EXISTS),
    ("an edit of what is not there", [Write(path("Z.md"), b"z", b"x")], FILE_NOT_FOUND),
    ("a removal of what is not there", [Write(path("Z.md"), b"z", None)], FILE_NOT_FOUND),
    ("a removal of something else", [Write(path("A.md"), b"z", None)], STALE_EDIT),
    ("a move of what is not there", [Move(path("Z.md"), path("Y.md"))], FILE_NOT_FOUND),
    ("a move onto a file", [Move(path("A.md"), path("B.md"))], NOTE_EXISTS),
    ("a move onto a folder", [Move(path("A.md"), path("Folder"))], NOTE_EXISTS),
    ("a folder's move onto a file", [Move(path("Folder"), path("A.md"))], NOTE_EXISTS),
    ("a folder into itself", [Move(path("Folder"), path("Folder/deep/Folder"))], INVALID_ARGUMENTS),
    ("a path through a file", [Write(path("A.md/x.md"), None, b"x")], WRITE_FAILED),
    (
        "a name that was moved away",
        [Move(path("A.md"), path("Z.md")), Write(path("A.md"), b"a\n", b"x")],
        FILE_NOT_FOUND,
    ),
    ("a hidden file", [Write(path(".obsidian/app.json"), None, b"x")], PERMISSION_DENIED),
    ("a hidden target", [Move(path("A.md"), path("Folder/.a.md"))], PERMISSION_DENIED),
    ("out of the vault", [Write(path("../x.md"), None, b"x")], PERMISSION_DENIED),
    ("an absolute path", [Write(path("/tmp/x.md"), None, b"x")], PERMISSION_DENIED),
    ("a name too long", [Write(path("x" * 300 + ".md"), None, b"x")], WRITE_FAILED),
    ("too large a file", [Write(path("x.md"), None, b"x" * 10_000_001)], TOO_LARGE),
]


@pytest.mark.parametrize(("steps", "code"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_the_disk_does_not_bear_out_is_refused_and_nothing_changes(
    root: Path, changes: Changes, steps: list[Step], code: str
) -> None:
    before = tree(root)
    good: list[Step] = [Write(path("B.md"), b"b\n", b"x"), Write(path("New/N.md"), None, b"n")]
    for all_steps in (steps, good + steps):
        error = refusal(execute, changes, *all_steps)
        assert error.code == code
        assert str(root) not in error.message
        assert tree(root) == before
    assert changes.latest() == []


@posix_only
@pytest.mark.parametrize("leads", ["out", "in"])
def test_no_step_leads_through_a_link_out_of_the_vault_or_into_what_is_hidden(
    root: Path, changes: Changes, tmp_path: Path, leads: str
) -> None:
    elsewhere = tmp_path / "elsewhere" if leads == "out" else root / ".hidden"
    write_vault(elsewhere, "=== X.md\nx\n")
    (root / "Link").symlink_to(elsewhere, target_is_directory=True)
    before = tree(root), tree(elsewhere)
    code = PATH_OUTSIDE_VAULT if leads == "out" else PERMISSION_DENIED
    for step in (
        Write(path("Link/X.md"), b"x\n", b"y"),
        Write(path("Link/X.md"), b"x\n", None),
        Write(path("Link/N.md"), None, b"y"),
        Move(path("Link/X.md"), path("X.md")),
        Move(path("A.md"), path("Link/A.md")),
    ):
        assert refused(execute, changes, step) == code
    assert (tree(root), tree(elsewhere)) == before


@posix_only
def test_a_link_in_the_vault_is_written_through_and_moved_and_removed_itself(root: Path, changes: Changes) -> None:
    (root / "Link.md").symlink_to("Folder/C.md")
    (root / "Way").symlink_to("Folder", target_is_directory=True)
    execute(changes, Write(path("Link.md"), b"c\n", b"c2\n"), Write(path("Way/deep/D.md"), b"d\n", b"d2\n"))
    assert (root / "Link.md").is_symlink()
    assert (root / "Folder/C.md").read_text() + (root / "Folder/deep/D.md").read_text() == "c2\nd2\n"
    execute(changes, Move(path("Link.md"), path("Link 2.md")))
    assert (root / "Link 2.md").readlink() == Path("Folder/C.md")
    execute(changes, Write(path("Link 2.md"), b"c2\n", None))
    assert not (root / "Link 2.md").is_symlink()
    assert (root / "Folder/C.md").read_text() == "c2\n"


def test_a_name_is_respelt_where_the_disk_takes_both_spellings_for_one(root: Path, changes: Changes) -> None:
    execute(changes, Move(path("A.md"), path("a.MD")))
    assert sorted(name for name in os.listdir(root) if name.lower() == "a.md") == ["a.MD"]
    execute(changes, Move(path("Folder"), path("FOLDER")))
    assert "FOLDER" in os.listdir(root)


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, at: int) -> None:
    """Have a function of ``os`` fail at its n-th call, once."""
    real: Callable[..., Any] = getattr(os, name)
    calls = iter(range(at, -1_000_000, -1))

    def call(*args: Any, **kwargs: Any) -> Any:
        if next(calls) == 0:
            raise OSError(number, os.strerror(number))
        return real(*args, **kwargs)

    if real in os.supports_follow_symlinks:
        os.supports_follow_symlinks.add(call)
    monkeypatch.setattr(os, name, call)


def failing_rename(monkeypatch: pytest.MonkeyPatch, number: int, at: int) -> None:
    """Have the system's own rename fail at its n-th call, once."""
    real = file_operations.system_rename()
    assert real is not None
    calls = iter(range(at, -1_000_000, -1))
    monkeypatch.setattr(
        file_operations, "system_rename", lambda: lambda *args: number if next(calls) == 0 else real(*args)
    )


def failing_journal(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Have the disk be full at the n-th statement of the journal, once."""
    statements = iter(range(at, -1_000_000, -1))

    def before(sql: str) -> None:
        if next(statements) == 0:
            error = sqlite3.OperationalError("database or disk is full")
            error.sqlite_errorcode = sqlite3.SQLITE_FULL
            raise error

    monkeypatch.setattr(sqlite3, "connect", statements_of_journals.connect)
    monkeypatch.setattr(statements_of_journals, "before", before)


FUNCTIONS = ["open", "fsync", "replace", "unlink", "mkdir", "rmdir", "chmod"]


@pytest.mark.parametrize(
    ("name", "has_exchange"),
    [(name, True) for name in [*FUNCTIONS, "renameat2", "journal"]]
    + [(name, False) for name in [*FUNCTIONS, "link", "rename"]],
)
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_a_change_that_fails_half_way_is_taken_back(
    root: Path, changes: Changes, monkeypatch: pytest.MonkeyPatch, name: str, number: int, has_exchange: bool
) -> None:
    if not has_exchange:
        without_exchange(monkeypatch)
    elif file_operations.system_rename() is None:
        pytest.skip("this system has no rename of its own")
    if name == "unlink":  # to make a journal, files are removed that are not there: that may fail
        execute(changes, Write(path("First.md"), None, b"x"))
    before = tree(root)
    steps: list[Step] = [
        Write(path("A.md"), b"a\n", b"a2\n"),
        Move(path("B.md"), path("New/B2.md")),
        Move(path("Folder"), path("Other")),
        Write(path("Other/C.md"), b"c\n", b"c2\n"),
        Write(path("Other/deep/D.md"), b"d\n", None),
        Write(path("E.md"), None, b"e\n"),
    ]
    refusals = 0
    for at in range(60):
        with monkeypatch.context() as patch:
            if name == "journal":
                failing_journal(patch, at)
            elif name == "renameat2":
                failing_rename(patch, number, at)
            else:
                failing(patch, name, number, at)
            try:
                execute(changes, *steps)
            except VaultError as error:
                code, message = error.code, error.message
            else:
                break
        assert code in (WRITE_FAILED, PERMISSION_DENIED, JOURNAL_FAILED), at
        assert str(root) not in message
        refusals += 1
        with changes.locked():
            assert tree(root) == before, at
    else:
        pytest.fail("it never got through")
    # Windows makes no hard links, and waits until a file that is refused once is closed.
    is_waited_out = os.name == "nt" and (name == "link" or number == errno.EACCES)
    if name not in ("chmod", "rmdir") and not is_waited_out:
        assert refusals > 0
    assert (root / "Other/C.md").read_text() == "c2\n"
    with changes.locked():  # that it was done may have found no room in the journal: then the files say so
        assert {change.unrestored for change in changes.latest()} == {()}


def test_somebody_elses_file_in_the_way_of_a_later_step_takes_all_back(
    root: Path, changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:

    def meddle() -> None:
        (root / "New.md").write_text("theirs\n")
        (root / "B.md").write_text("theirs\n")

    before = tree(root)
    for last, code in (
        (Write(path("New.md"), None, b"ours\n"), NOTE_EXISTS),
        (Write(path("B.md"), b"b\n", b"x"), STALE_EDIT),
    ):
        with monkeypatch.context() as patch:
            around_calls(patch, ["replace"], nothing, meddle)
            assert refused(execute, changes, Write(path("A.md"), b"a\n", b"ours\n"), last) == code
        assert tree(root) == {**before, "New.md": b"theirs\n", "B.md": b"theirs\n"}
        (root / "New.md").unlink()
        (root / "B.md").write_text("b\n")
    assert changes.latest() == []


def test_what_somebody_has_changed_since_a_kill_is_left_and_named(root: Path, changes: Changes, tmp_path: Path) -> None:
    code = """
import os, signal, sys
from pathlib import Path
from support.killing import open_changes, path
from vaultwire.vault.disk import file_operations
from vaultwire.vault.changes.change import Move, Write
files, changes = open_changes(Path(sys.argv[1]), Path(sys.argv[2]))
real = file_operations.system_rename() or (lambda source, target, _: os.replace(source, target) or 0)
def rename(source, target, is_exchange):
    number = real(source, target, is_exchange)
    if target.endswith("B.md"):
        os.kill(os.getpid(), signal.SIGKILL)
    return number
file_operations.system_rename = lambda: rename
with changes.locked():
    changes.execute([
        Write(path("A.md"), b"a\\n", b"a2\\n"), Write(path("B.md"), b"b\\n", b"b2\\n"), Move(path("Folder"), path("Other"))
    ])
"""
    command = [sys.executable, "-c", code, str(root), str(tmp_path / "state")]
    subprocess.run(command, check=False, cwd=Path(__file__).parents[2])
    assert (root / "B.md").read_text() == "b2\n"
    (root / "A.md").write_text("a2 and the person's\n")
    with changes.locked():
        pass
    assert (root / "A.md").read_text() == "a2 and the person's\n"
    assert (root / "B.md").read_text() == "b\n"
    (change,) = changes.latest()
    assert change.unrestored == ("A.md",)
    assert sorted(os.listdir(root)) == ["A.md", "B.md", "Folder"]


class Stopping(NoProgress):
    """Says stop from the n-th time on that it is asked."""

    def __init__(self, at: int) -> None:
        self.unrestored = at

    def check(self) -> None:
        self.unrestored -= 1
        if self.unrestored < 0:
            raise Stopped


def test_a_change_is_stopped_before_its_first_visible_step_or_not_at_all(root: Path, changes: Changes) -> None:
    before = tree(root)
    for at in range(20):
        try:
            with changes.locked():
                changes.execute(
                    [Write(path("A.md"), b"a\n", b"x"), Move(path("B.md"), path("N/B.md"))], AUTHOR, Stopping(at)
                )
        except Stopped:
            assert tree(root) == before
            assert changes.latest() == []
        else:
            break
    assert (root / "N/B.md").read_text() == "b\n"
    assert 0 < at < 19


@posix_only
@pytest.mark.parametrize("obstacle", ["a file", "read-only", "full"])
def test_where_no_journal_can_be_kept_nothing_is_changed(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, obstacle: str
) -> None:
    before, state = tree(root), tmp_path / "state"
    if obstacle == "a file":
        state.write_text("in the way")
    elif obstacle == "read-only":
        real = os.mkdir  # root may write anywhere, so the system is made to say no

        def mkdir(name: Any, *args: Any) -> None:
            if str(name).startswith(str(state)):
                raise OSError(errno.EROFS, "Read-only file system")
            real(name, *args)

        monkeypatch.setattr(os, "mkdir", mkdir)
    vault = open_vault(root, state=state)
    if obstacle == "full":
        failing_journal(monkeypatch, 0)
    error = refusal(vault.writing.write, "A", "x", "append")
    assert error.code == JOURNAL_FAILED
    assert "VAULTWIRE_STATE" in error.message
    assert f"{state}{os.sep}journal-" in error.message
    assert refused(vault.writing.delete, "A.md", permanent=True) == JOURNAL_FAILED if obstacle != "full" else True
    if obstacle != "full":
        assert tree(root) == before
    assert vault.read("B").text == "b\n"


@posix_only
def test_what_notes_held_is_nobody_elses_to_read(root: Path, changes: Changes, tmp_path: Path) -> None:
    execute(changes, Write(path("A.md"), b"a\n", b"x"))
    for place in (tmp_path / "state").rglob("*"):
        assert stat.S_IMODE(place.stat().st_mode) == (0o700 if place.is_dir() else 0o600), place


def test_carrying_out_without_the_lock_is_a_mistake(changes: Changes) -> None:
    with pytest.raises(AssertionError):
        changes.execute([Write(path("A.md"), b"a\n", b"x")])


def test_the_index_hears_of_every_file_that_a_change_touched(root: Path, tmp_path: Path) -> None:
    class Heard(NoIndex):
        heard: tuple[list[str], list[str]] = ([], [])

        def queue_changes(self, paths: Any, folders: Any = ()) -> None:
            self.heard = list(paths), list(folders)

    index = Heard()
    changes = Changes(Files(str(root), 1000), index, str(tmp_path / "state"))  # type: ignore[arg-type]
    execute(
        changes,
        Move(path("Folder"), path("Other")),
        Write(path("A.md"), b"a\n", None),
        Move(path("B.md"), path(".trash/B.md")),
    )
    assert index.heard == (["A.md", "B.md"], ["Folder", "Other"])


def test_the_index_is_held_back_from_before_the_first_step_until_after_the_last(root: Path, tmp_path: Path) -> None:
    class Holding(NoIndex):
        def __init__(self) -> None:
            self.seen: list[bytes] = []

        @contextmanager
        def hold_changes(self) -> Iterator[None]:
            self.seen.append((root / "A.md").read_bytes())
            yield
            self.seen.append((root / "A.md").read_bytes())

    index = Holding()
    changes = Changes(Files(str(root), 1000), index, str(tmp_path / "state"))  # type: ignore[arg-type]
    execute(changes, Write(path("A.md"), b"a\n", b"new\n"))
    assert index.seen == [b"a\n", b"new\n"]


def test_trouble_of_the_index_fails_no_change_and_is_over_with_its_cause(root: Path) -> None:
    trouble: list[Exception] = []
    files = Files(str(root), 1000)
    kept = CachedExcludes(files.root, CachedSettings(files.root))

    def excludes() -> Excludes:
        if trouble:
            raise trouble[0]
        return kept.get()

    index = Index(files, IndexFolder(files.root, None, open_text=MemoryText), excludes)
    vault = vault_over(files, index, CachedSettings(files.root))
    assert vault.search("apple", "", 0, 9).total == 0
    for error in (OSError(errno.EIO, "Input/output error"), RuntimeError("a mistake of the index")):
        trouble[:] = [error]
        before = (root / "A.md").read_text()
        assert vault.writing.write("A.md", "apple", "append").changed
        assert (root / "A.md").read_text() == f"{before}apple\n"
        with pytest.raises(type(error)):
            vault.search("apple", "", 0, 9)
    trouble.clear()
    assert [hit.path for hit in vault.search("apple", "", 0, 9).hits] == ["A.md"]
    vault.arranging.move("Folder/", "Moved", NO_PROGRESS, dry_run=False)
    assert vault.overview.paths() == ["A.md", "B.md", "Moved/C.md", "Moved/deep/D.md"]


def test_thirty_appends_from_thirty_threads_are_thirty_lines(root: Path, tmp_path: Path) -> None:
    vault = open_vault(root, state=tmp_path / "state")
    errors: list[BaseException] = []

    def append(number: int) -> None:
        try:
            vault.writing.write("A", f"line {number}", "append")
        except BaseException as error:  # noqa: BLE001 - shown by the assertion below
            errors.append(error)

    threads = [threading.Thread(target=append, args=(number,)) for number in range(30)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert sorted((root / "A.md").read_text().splitlines()) == sorted(
        ["a", *(f"line {number}" for number in range(30))]
    )


WRITER = """
import random, sys
from pathlib import Path
from support.vaults import open_vault
root, state, name = sys.argv[1:]
vault = open_vault(Path(root), state=Path(state))
chance = random.Random(name)
for number in range(30):
    note = chance.choice(["A", "B", "Folder/C"])
    vault.writing.write(note, f"{name} {number}", "append")
"""


def test_two_programs_on_one_vault_lose_nothing(root: Path, tmp_path: Path) -> None:
    names = ["one", "two", "three"]
    programs = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, root, tmp_path / "state", name],
            stderr=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
        )
        for name in names
    ]
    for program in programs:
        _, errors = program.communicate(timeout=100)
        assert program.returncode == 0, errors
    lines = [line for note in ("A", "B", "Folder/C") for line in (root / f"{note}.md").read_text().splitlines()]
    assert sorted(lines) == sorted(["a", "b", "c", *(f"{name} {number}" for name in names for number in range(30))])
    _, changes = open_changes(root, tmp_path / "state")
    assert [change.id for change in changes.latest()] == list(range(90, 0, -1))


def test_waiting_for_another_program_ends_when_nobody_waits_any_more(root: Path, tmp_path: Path) -> None:
    _, one = open_changes(root, tmp_path / "state")
    _, other = open_changes(root, tmp_path / "state")
    with one.locked(), pytest.raises(Stopped), other.locked(Stopping(2)):
        pass
    with one.locked(), pytest.raises(Stopped), one.locked(Stopping(0)):
        pass
    with other.locked(NO_PROGRESS):
        pass


def test_a_client_of_any_name_is_on_record(tmp_path: Path) -> None:
    """JSON can hold half of a character, which UTF-8 cannot."""
    root = write_vault(tmp_path / "vault", VAULT)
    files, changes = open_changes(root, tmp_path / "state")
    author = Author("\ud83d half a key", "edit_note")
    with changes.locked():
        changes.execute([Write(path("A.md"), files.read(path("A.md")).data, b"new\n")], author)
    _, later = open_changes(root, tmp_path / "state")
    assert [change.author for change in later.latest()] == [author]


def test_swapped_names_stay_swapped_if_the_end_of_the_change_cannot_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, state = write_vault(tmp_path / "vault", "=== Note.md\none\n=== Other.md\ntwo\n"), tmp_path / "state"
    files, changes = open_changes(root, state)

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, changes.locked():
        patch.setattr(Journal, "end", refuse)
        assert changes.execute(swap_names(files)).id == 1  # done, and told so
    with open_changes(root, state)[1].locked():
        assert (root / "Note.md").read_text() == "two\n"
        assert (root / "Other.md").read_text() == "one\n"
