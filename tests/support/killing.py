"""Kills a program at each of its system calls while it changes a vault, and checks what the next program makes of the vault.

Run as a program of its own, because it forks: ``python -m support.killing WHERE SCENARIO [OPTION...]``, options as in ``main``.
The product knows nothing of it: the child that will die has other functions in ``os``.
"""

from __future__ import annotations

import gc
import itertools
import os
import random
import shutil
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple, Self

from support import statements_of_journals
from support.vaults import write_vault
from vaultwire.vault.changes import journal
from vaultwire.vault.changes.change import Author, Move, Step, Write, follow
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.undo import plan_undo_all
from vaultwire.vault.disk import file_operations
from vaultwire.vault.disk import files as disk_files
from vaultwire.vault.disk.files import Files
from vaultwire.vault.index.index import Index
from vaultwire.vault.value_types import VaultPath

# What changes a disk. Reads are left out: nothing lies between two of them that does not lie before the next of these.
CALLS = ["open", "write", "fsync", "replace", "link", "unlink", "mkdir", "rename", "rmdir", "chmod", "ftruncate"]
VAULT = """
=== Note.md
old line
=== Other.md
links to [[Note]]
=== Folder/Third.md
[[Note]] and [[Folder/Third]]
=== Folder/deep/Fourth.md
[[../Note]]
=== Empty.md
"""
AUTHOR = Author("tests", "killing")


class NoIndex:
    """An index that ignores changes."""

    def queue_changes(self, paths: Any, folders: Any = ()) -> None:
        """Hear nothing."""

    def hold_changes(self) -> AbstractContextManager[None]:
        """Hold nothing."""
        return nullcontext()


def open_changes(root: Path, state: Path) -> tuple[Files, Changes]:
    files = Files(str(root), 10_000_000)
    index: Index = NoIndex()  # type: ignore[assignment]
    return files, Changes(files, index, str(state))


def tree(root: Path) -> dict[str, bytes | None]:
    """Return every file's bytes, and None for every folder, hidden ones too."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None for path in sorted(root.rglob("*"))
    }


def path(text: str) -> VaultPath:
    return VaultPath(text)


def rename_with_links(files: Files) -> list[Step]:
    """Rename a note and a folder, and rewrite every link to them, also in files that have moved by then."""
    read = {name: files.read(path(name)).data for name in ("Other.md", "Folder/Third.md", "Folder/deep/Fourth.md")}
    return [
        Move(path("Note.md"), path("New/place/Renamed.md")),
        Write(path("Other.md"), read["Other.md"], b"links to [[Renamed]]\n"),
        Write(path("Folder/Third.md"), read["Folder/Third.md"], b"[[Renamed]] and [[Moved/Third]]\n"),
        Move(path("Folder"), path("Moved")),
        Write(path("Moved/deep/Fourth.md"), read["Folder/deep/Fourth.md"], b"[[Renamed]]\n"),
        Write(path("New/place/Renamed.md"), b"old line\n", b"new line\n"),
        Write(path("Note.md"), None, b"see [[Renamed]]\n"),
        Write(path("Empty.md"), b"", None),
    ]


def swap_names(files: Files) -> list[Step]:
    """Swap the names of two notes: no file appears or disappears."""
    return [
        Move(path("Note.md"), path("between.md")),
        Move(path("Other.md"), path("Note.md")),
        Move(path("between.md"), path("Other.md")),
    ]


def merge(files: Files) -> list[Step]:
    return [
        Write(path("Note.md"), b"old line\n", b"old line\nlinks to [[Note]]\n"),
        Move(path("Other.md"), path(".trash/Other.md")),
        Write(path("Folder/Third.md"), b"[[Note]] and [[Folder/Third]]\n", None),
        Write(path("Made/New.md"), None, b"long\n" * 5000),
    ]


SCENARIOS: dict[str, Callable[[Files], list[Step]]] = {
    "edit": lambda files: [Write(path("Note.md"), b"old line\n", b"new line\n" * 3000)],
    "create": lambda files: [Write(path("New/deep/Note.md"), None, b"new line\n" * 3000)],
    "trash": lambda files: [Move(path("Note.md"), path(".trash/Note.md"))],
    "remove": lambda files: [Write(path("Note.md"), b"old line\n", None)],
    "rename_with_links": rename_with_links,
    "exchange": swap_names,
    "merge": merge,
}


def random_steps(seed: int) -> Callable[[Files], list[Step]]:
    """Return a plan of a few random steps that fit together; the same for the same seed."""

    def plan(files: Files) -> list[Step]:
        chance = random.Random(seed)
        there = {note.path: files.read(note.path).data for note in files.walk()}
        steps: list[Step] = []
        folder = "Folder"  # the one that is there before the change; a planner moves no other
        for number in range(chance.randint(1, 7)):
            kind = chance.choice(["edit", "edit", "create", "move", "trash", "remove", "folder"])
            name = chance.choice(sorted(there)) if there else path("x.md")
            if kind == "create" or not there:
                new = path(f"{chance.choice(['', f'{folder}/', 'N/', 'N/m/'])}new{number}.md")
                there[new] = chance.randbytes(chance.choice([0, 10, 70_000]))
                steps.append(Write(new, None, there[new]))
            elif kind == "edit":
                old, there[name] = there[name], there[name] + chance.randbytes(9)
                steps.append(Write(name, old, there[name]))
            elif kind == "remove":
                steps.append(Write(name, there.pop(name), None))
            elif kind == "folder":
                source, folder = folder, f"F{number}"
                steps.append(Move(path(source), path(folder)))
                there = {follow(each, source, folder): data for each, data in there.items()}
            else:
                target = f".trash/{number}.md" if kind == "trash" else f"{chance.choice(['', 'M/'])}moved{number}.md"
                data = there.pop(name)
                if kind == "move":
                    there[path(target)] = data
                steps.append(Move(name, path(target)))
        return steps

    return plan


def _no_sync(descriptor: int) -> None:
    pass


def _no_link(source: str, target: str, *, follow_symlinks: bool = True) -> None:
    raise PermissionError(1, "Operation not permitted")


def _counted(name: str, steps: Iterator[int]) -> None:
    real = getattr(os, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if next(steps) == 0:
            if name == "write":  # half of it, then the end
                real(args[0], bytes(args[1])[: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **kwargs)

    if real in os.supports_follow_symlinks:
        os.supports_follow_symlinks.add(call)
    setattr(os, name, call)


def _counted_rename(steps: Iterator[int]) -> None:
    """Count the system's own renames, too."""
    real = file_operations.system_rename()

    def call(source: str, target: str, is_exchange: bool) -> int:
        if next(steps) == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        assert real is not None
        return real(source, target, is_exchange)

    if real is not None:
        file_operations.system_rename = lambda: call  # type: ignore[assignment]


def _halved(steps: Iterator[int]) -> None:
    """Kill the process after half of the bytes of a file opened for writing."""
    real = os.fdopen

    class Halfway:
        def __init__(self, file: Any) -> None:
            self.file = file

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *rest: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: bytes) -> None:
            self.file.write(data[: len(data) // 2])
            self.file.flush()
            if next(steps) == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            self.file.write(data[len(data) // 2 :])

    def fdopen(*args: Any, **kwargs: Any) -> Any:
        file = real(*args, **kwargs)
        return Halfway(file) if "w" in args[1] else file

    os.fdopen = fdopen


def _counted_statements(steps: Iterator[int]) -> None:
    """Count what the journal has SQLite do, too."""

    def before(sql: str) -> None:
        if next(steps) == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    statements_of_journals.before = before
    sqlite3.connect = statements_of_journals.connect  # type: ignore[assignment]


def wait_for_no_disk() -> None:
    """Sync nothing from now on: what a kill leaves is in the system's memory, and syncing is a call like any, and slow."""
    os.fsync = _no_sync  # type: ignore[assignment]
    file_operations._syncfs = lambda: None  # type: ignore[assignment]
    statements_of_journals.syncs = False
    sqlite3.connect = statements_of_journals.connect  # type: ignore[assignment]


def calls_to_die_at() -> Iterator[int]:
    """Yield numbers for ``dies_at``: every third call, from which on is up to the seed of the run; in a soak each one."""
    if os.environ.get("HYPOTHESIS_PROFILE") == "soak":
        return itertools.count()
    return itertools.count(random.Random(os.environ["VAULTWIRE_SEED"]).randrange(3), 3)


def dies_at(step: int, act: Callable[[], object]) -> bool:
    """Run ``act`` in a child that kills itself right before its n-th call. Return whether it made so many calls."""
    child = os.fork()
    if child == 0:
        steps = iter(range(step, -1_000_000, -1))
        for name in CALLS:
            _counted(name, steps)
        _halved(steps)
        _counted_rename(steps)
        _counted_statements(steps)
        try:
            act()
        except BaseException as error:  # noqa: BLE001 - told to whoever started this
            sys.stderr.write(f"step {step}: {error!r}\n")
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        assert status == 0, f"the child failed at step {step}"
        return False
    assert os.WTERMSIG(status) == signal.SIGKILL
    return True


class Case(NamedTuple):
    """One plan on one vault, carried out or undone."""

    literal: str
    plan: Callable[[Files], list[Step]]
    undoing: bool


def execute(case: Case, root: Path, state: Path) -> None:
    """Carry the plan out, or undo it."""
    files, changes = open_changes(root, state)
    with changes.locked():
        steps = plan_undo_all(changes, files, [1]).steps if case.undoing else case.plan(files)
        changes.execute(steps, AUTHOR, undoes=(1,) if case.undoing else ())


def prepared(case: Case, place: Path) -> tuple[Path, Path]:
    """Return a fresh vault and its state folder; for an undo, with the change already made."""
    shutil.rmtree(place, ignore_errors=True)
    root, state = write_vault(place / "vault", case.literal), place / "state"
    if case.undoing:
        execute(case._replace(undoing=False), root, state)
    return root, state


def check_case(case: Case, where: Path, *, kill_recovery: bool, first: int = 0, every: int = 1) -> int:
    """Kill the case at each of its calls, or at some, and check the vault. Return the number of kills."""
    root, state = prepared(case, where / "whole")
    old = tree(root)
    execute(case, root, state)
    new = tree(root)
    kills, step, was_new = 0, first, False
    while True:
        root, state = prepared(case, where / "killed")
        killed = dies_at(step, lambda: execute(case, root, state))  # noqa: B023 - run at once
        if kill_recovery and killed:
            again = step // every % every  # with every third one, all of them behind three calls of the change
            while dies_at(again, lambda: _recover(root, state)):  # noqa: B023
                again += every
                kills += 1
        files, changes = open_changes(root, state)
        with changes.locked():
            now = tree(root)
        assert now in (old, new), f"step {step}: {sorted(old)} | {sorted(new)} | {sorted(now)}"
        assert now == new or not was_new, f"step {step}: new before, old now"
        assert killed or now == new
        was_new = was_new or (now == new and now != old)
        _check_journal(case, files, changes, root, old, is_done=now == new, step=step)
        if not killed:
            return kills
        kills += 1
        step += every


def _recover(root: Path, state: Path) -> None:
    _, changes = open_changes(root, state)
    with changes.locked():
        pass


def _check_journal(
    case: Case, files: Files, changes: Changes, root: Path, old: dict[str, bytes | None], *, is_done: bool, step: int
) -> None:
    """Check that the journal has what was done and nothing else, and that it can be undone."""
    found = changes.latest()
    assert not any(change.unrestored for change in found), f"step {step}: {found}"
    assert len(found) == is_done + case.undoing, f"step {step}: {found}"
    if is_done:
        change = found[0]
        assert change.author == AUTHOR
        assert changes.show(change.id).steps
        with changes.locked():
            changes.execute(plan_undo_all(changes, files, [change.id]).steps, AUTHOR, undoes=(change.id,))
        now = tree(root)
        assert now == old, f"undone: {sorted(old)} | {sorted(now)}"
    with changes.locked():
        assert changes.execute([Write(path("And on it goes.md"), None, b"x")]).id


def main(where: str, scenario: str, *options: str) -> None:
    """Check one scenario, and print the number of kills."""
    undoing = "--undo" in options
    kill_recovery = "--kill-recovery" in options
    thirds = [int(option.partition("=")[2]) for option in options if option.startswith("--every-third=")]
    first, every = (thirds[0], 3) if thirds else (0, 1)
    if "--no-links" in options or "--no-exchange" in options:
        file_operations.system_rename = lambda: None  # type: ignore[assignment]
    if "--no-links" in options:
        os.link = _no_link  # type: ignore[assignment]
    # So few files make a change of several batches, synced some at a time.
    journal._BATCH_STEPS = 2
    disk_files._MANY_UNSYNCED = disk_files._MOST_UNSYNCED = 2
    wait_for_no_disk()
    gc.freeze()  # else each child copies what its collections touch
    plan = random_steps(int(scenario)) if scenario.isdecimal() else SCENARIOS[scenario]
    sys.stdout.write(
        f"{check_case(Case(VAULT, plan, undoing), Path(where), kill_recovery=kill_recovery, first=first, every=every)}\n"
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
