"""The types that a change of the vault is made of: steps on files, their author, and the finished change.

Nothing here touches a disk. ``changes.executor`` carries changes out; ``changes.journal`` records them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from vaultwire.markdown.diffs import unified
from vaultwire.vault.disk.contents import Content, patched, plain_text
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import lies_in
from vaultwire.vault.value_types import VaultPath


class Write:
    """One file's content before and after. ``old`` is None for a new file, ``new`` for a removed one.

    ``before`` and ``after`` are the bytes; they may be read for each call, and then raise what ``Content.data`` raises.
    """

    __slots__ = ("new", "old", "path")

    def __init__(self, path: VaultPath, before: Content | bytes | None, after: Content | bytes | None) -> None:
        self.path = path
        self.old = Content(before) if isinstance(before, bytes) else before
        self.new = Content(after) if isinstance(after, bytes) else after

    @property
    def before(self) -> bytes | None:
        """The file's bytes before."""
        return None if self.old is None else self.old.data

    @property
    def after(self) -> bytes | None:
        """The file's bytes after."""
        return None if self.new is None else self.new.data

    def __eq__(self, other: object) -> bool:
        """Tell whether both write the same."""
        return isinstance(other, Write) and (self.path, self.old, self.new) == (other.path, other.old, other.new)

    def __hash__(self) -> int:
        """Return a number that is the same for the same write."""
        return hash((self.path, self.old, self.new))

    def __repr__(self) -> str:
        """Return the path and what is done there."""
        return f"Write({self.path!r}, {_shown(self.old)}, {_shown(self.new)})"


def edit_of(files: Files, path: VaultPath, data: bytes, after: bytes, place: VaultPath | None = None) -> Write:
    """Return the edit of a file that was just read, without holding its bytes; ``place``: its path then, if it has moved.

    For plans that edit any number of notes.
    """
    before = files.content_of(path, data)
    return Write(place or path, before, patched(before, data, after))


class Move(NamedTuple):
    """A file or a whole folder that gets another path; its bytes stay as they are."""

    source: VaultPath
    target: VaultPath


Step: TypeAlias = Write | Move
"""Steps are taken in order: a ``Write`` after a ``Move`` names the file's new path."""


class Author(NamedTuple):
    """Who changes the vault: the client, by its key and the name it gives itself, the tool it used, and its session.

    ``session`` tells the sessions of one client apart; it is empty in records that older versions made.
    """

    client: str
    tool: str
    session: str = ""


UNKNOWN = Author("", "")
"""For callers that do not say who they are."""


class FileChange(NamedTuple):
    """What one step did: to the file at ``path``, or by moving it to ``target``."""

    kind: Literal["create", "edit", "remove", "move"]
    path: VaultPath
    target: VaultPath | None = None


class Change(NamedTuple):
    """A change that was made. ``id`` ascends with time; it is 0 for a change that had nothing to do.

    ``undoes`` are the changes it undid, ``undone_by`` the one that undid it and still holds. ``unrestored`` are files
    that a roll-back after a crash could not restore, because another program had changed them since; usually empty.
    ``proposal`` is the number of the proposal that the person accepted with it, 0 for none.
    """

    id: int
    time_ns: int
    author: Author
    files: tuple[FileChange, ...]
    undoes: tuple[int, ...] = ()
    undone_by: int | None = None
    unrestored: tuple[VaultPath, ...] = ()
    proposal: int = 0


class DetailedChange(NamedTuple):
    """A change with its bytes. ``contents`` has the content of each moved file, None for a step without any on record.

    ``new_folders`` are the folders that it made, outermost first.
    """

    change: Change
    steps: tuple[Step, ...]
    contents: tuple[Content | None, ...]
    new_folders: tuple[str, ...] = ()


class PriorState(NamedTuple):
    """The place of a step before the change: enough to tell later, from the disk alone, whether the step was taken.

    ``place`` is the file that is written, after links are followed. ``inode`` is its number on the disk before the change, 0
    if it was not there. ``was_free``: nothing was at the path, or at the target of the move, before the change. The rest is
    for moves: ``content`` is what the file held, None if that is not kept, and ``hard_links`` how many names it had.
    """

    place: VaultPath
    content: Content | None = None
    inode: int = 0
    hard_links: int = 1
    is_folder: bool = False
    was_free: bool = True


class Intent(NamedTuple):
    """A change as it is recorded before it begins, with one ``PriorState`` for each step.

    ``token`` is part of the names of its temporary files, so that those of another computer on the same vault differ.
    ``new_folders`` did not exist before; ``removed_folders`` are removed after the last step if they are empty; both
    outermost first. ``is_ready`` says that all temporary files were written, so steps may have been taken; a power cut can
    lose that record. ``unrestored`` is set once all steps are rolled back; it names the exceptions (see ``Change``, also for
    ``proposal``).
    """

    id: int
    token: str
    time_ns: int
    author: Author
    undoes: tuple[int, ...]
    steps: tuple[Step, ...]
    priors: tuple[PriorState, ...]
    new_folders: tuple[str, ...]
    removed_folders: tuple[str, ...]
    is_ready: bool = False
    unrestored: tuple[VaultPath, ...] | None = None
    proposal: int = 0


def paths_of(step: Step) -> tuple[VaultPath, ...]:
    """Return the paths that a step names: of a move the one before and the one after."""
    return (step.source, step.target) if isinstance(step, Move) else (step.path,)


def follow(path: VaultPath, source: str, target: str) -> VaultPath:
    """Return the new path of a file after ``source``, the file itself or a folder above it, has moved to ``target``."""
    return VaultPath(target + path[len(source) :]) if lies_in(path, source) else path


def moves_of(change: Change) -> list[Move]:
    """Return the moves of a change."""
    return [Move(file.path, file.target) for file in change.files if file.target is not None]


def files_of(steps: tuple[Step, ...]) -> tuple[FileChange, ...]:
    """Return what each step does to its file, without the bytes."""
    return tuple(_file_of(step) for step in steps)


def _file_of(step: Step) -> FileChange:
    if isinstance(step, Move):
        return FileChange("move", step.source, step.target)
    kind: Literal["create", "edit", "remove"] = (
        "create" if step.old is None else "remove" if step.new is None else "edit"
    )
    return FileChange(kind, step.path)


class JournalReport(NamedTuple):
    """A vault's journal: its folder, how many changes it has, and why none can be added ("" if one can)."""

    folder: str
    changes: int
    problem: str


def _shown(content: Content | None) -> str:
    return "None" if content is None else f"<{content.size} bytes, {content.digest.hex()}>"


# Renders the steps of a change for a person or a model: what happens to each file, and the diff of each note.

# Bytes with a NUL are no text; Git tells them the same way.
_BINARY = b"\0"


def diff_of(steps: Iterable[Step]) -> str:
    """Return the steps as a unified diff of plain texts; a move or a file that is no text is one line."""
    return "".join(_diff_of_step(step) for step in steps)


def _diff_of_step(step: Step) -> str:
    if isinstance(step, Move):
        return f"move {step.source} → {step.target}\n"
    before, after = step.before or b"", step.after or b""
    verb = "create" if step.old is None else "remove" if step.new is None else "edit"
    if _BINARY in before or _BINARY in after:
        return f"{verb} {step.path} (binary, {len(after or before)} bytes)\n"
    diff = unified(plain_text(before), plain_text(after), step.path)
    return (f"{verb} {step.path}\n" if verb != "edit" or not diff else "") + diff
