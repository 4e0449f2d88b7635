"""What a change of the vault is made of, as types: steps on files, who asked for them, what became of them.

Nothing here touches a disk: ``changes.changing`` carries changes out, ``changes.journal`` keeps them.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.value_types import VaultPath


class Write(NamedTuple):
    """One file's bytes, before and after; None where there is no file: a new one has no before, a removed one no after."""

    path: VaultPath
    before: bytes | None
    after: bytes | None


class Move(NamedTuple):
    """A file, or a whole folder, under another path; what it holds stays as it is, byte for byte."""

    source: VaultPath
    target: VaultPath


Step: TypeAlias = Write | Move
"""Steps are taken in order: a ``Write`` behind a ``Move`` names the file where it lies by then."""


class Author(NamedTuple):
    """Who changes the vault: the client, by its key and by what it calls itself, and the tool it used."""

    client: str
    tool: str


UNKNOWN = Author("", "")
"""For callers that do not say who they are."""


class FileChange(NamedTuple):
    """What one step did: to the file at ``path``, or by moving what was there to ``target``."""

    kind: Literal["create", "edit", "remove", "move"]
    path: VaultPath
    target: VaultPath | None = None


class Change(NamedTuple):
    """A change that was carried out. ``id`` ascends with time, and is 0 for one that had nothing to do.

    ``undoes`` is the change it took back, ``undone_by`` the one that took it back and still holds. ``left`` are files that
    could not be put back when the program had ended half-way, because somebody else had changed them since; empty but for
    that.
    """

    id: int
    time_ns: int
    author: Author
    files: tuple[FileChange, ...]
    undoes: int | None = None
    undone_by: int | None = None
    left: tuple[VaultPath, ...] = ()


class Detailed(NamedTuple):
    """A change with its bytes. ``contents`` has what each moved file held, None for a step that has none on record;
    ``made`` the folders that it made, outermost first.
    """

    change: Change
    steps: tuple[Step, ...]
    contents: tuple[bytes | None, ...]
    made: tuple[str, ...] = ()


class Site(NamedTuple):
    """What must be known of a step's place to tell later, from the disk alone, whether the step was taken.

    ``place`` is the file that is written once links are followed; ``inode`` and ``names`` are its number on the disk and
    how many names it has there, if it was there before the change. ``is_fresh``: nothing was at the path, or the target of
    the move, before the change. The rest is for moves: what the file held, None if that is not kept.
    """

    place: VaultPath
    content: bytes | None = None
    inode: int = 0
    names: int = 1
    is_folder: bool = False
    is_fresh: bool = True


class Intent(NamedTuple):
    """A change as written down before it begins. ``token`` is in the names of its temporaries, so that they are told from
    those of another computer that shares the vault.

    ``made`` are folders that were not there before, ``emptied`` those that go, if empty, when all steps are taken;
    outermost first. ``is_ready`` says that all temporaries were there, so that steps may have been taken; a power cut can
    have lost that it was so. ``left`` says that all steps have been taken back, but for these files (see ``Change``).
    """

    id: int
    token: str
    time_ns: int
    author: Author
    undoes: int | None
    steps: tuple[Step, ...]
    sites: tuple[Site, ...]
    made: tuple[str, ...]
    emptied: tuple[str, ...]
    is_ready: bool = False
    left: tuple[VaultPath, ...] | None = None


def paths_of(step: Step) -> tuple[VaultPath, ...]:
    """Return the paths that a step names."""
    return (step.source, step.target) if isinstance(step, Move) else (step.path,)


def follow(path: VaultPath, source: str, target: str) -> VaultPath:
    """Return where a path leads once what was at ``source`` is at ``target``."""
    return VaultPath(target + path[len(source) :]) if lies_in(path, source) else path


def files_of(steps: tuple[Step, ...]) -> tuple[FileChange, ...]:
    """Return what each step does, without its bytes."""
    return tuple(_file_of(step) for step in steps)


def _file_of(step: Step) -> FileChange:
    if isinstance(step, Move):
        return FileChange("move", step.source, step.target)
    kind: Literal["create", "edit", "remove"] = (
        "create" if step.before is None else "remove" if step.after is None else "edit"
    )
    return FileChange(kind, step.path)


class JournalReport(NamedTuple):
    """How a vault's journal is kept: its folder, how many changes are on record, and why none can be added; "" if one can."""

    folder: str
    changes: int
    problem: str
