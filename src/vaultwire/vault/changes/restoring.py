"""Plans for restoring deleted files from the trash or the journal. ``changes.executor`` executes them as any other plan."""

from __future__ import annotations

from collections.abc import Sequence

from vaultwire.vault.changes.change import Change, DetailedChange, Move, Step, Write, paths_of
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.undo import in_effect, moves_in
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import NOTE_SUFFIX, TRASH, fold, is_note, lies_in, parse_path, place_of
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOTE_EXISTS, VaultError
from vaultwire.vault.value_types import VaultPath


def plan_restore(
    changes: Changes, files: Files, *, path: str = "", number: int | None = None, to: str = ""
) -> list[Step]:
    """Return the steps that restore a file from the trash, or from the journal if it is not in the trash any more.

    The file is the one last deleted at ``path``, or the one at ``path`` in ``.trash``, or every file that change ``number``
    deleted. It comes back to its old path, or, if it is only one, to the path ``to`` (``place_of``: a name alone lies in the
    folder it was in); never over another file.

    Raises VaultError: FILE_NOT_FOUND, NOTE_EXISTS, INVALID_ARGUMENTS, and those of naming a path.
    """
    if number is not None:
        steps = _restored_by_change(changes.show(number), in_effect(changes.since(number)), files)
        if not steps:
            raise VaultError(
                INVALID_ARGUMENTS, f"Change {number} deleted nothing; undo_changes undoes what it did.", id=number
            )
    elif path.strip():
        steps = [_restored_by_path(changes, files, path.strip().replace("\\", "/"))]
    else:
        raise VaultError(INVALID_ARGUMENTS, "Name the note to restore by path, or the change that deleted it.")
    if to.strip():
        if len(steps) != 1:
            raise VaultError(
                INVALID_ARGUMENTS, f"Change {number} deleted {len(steps)} files; they cannot all be {to!r}."
            )
        step = steps[0]
        folder, name = place_of(to.strip(), paths_of(step)[-1].rpartition("/")[0])
        target = _note_like(parse_path(name))
        if folder:
            target = VaultPath(f"{folder}/{target}")
        steps = [Move(step.source, target) if isinstance(step, Move) else Write(target, step.old, step.new)]
    for step in steps:
        spelt, _ = files.spell(paths_of(step)[-1])
        if files.is_taken(spelt):
            raise VaultError(
                NOTE_EXISTS, f"There is a {spelt!r} already. Give another path for what is restored.", path=spelt
            )
    return steps


def _restored_by_path(changes: Changes, files: Files, asked: str) -> Step:
    if asked.startswith(f"{TRASH}/"):
        name = parse_path(asked[len(TRASH) + 1 :])
        return _from_trash(changes, files, VaultPath(f"{TRASH}/{name}"), None)
    path_asked = parse_path(asked)
    for path in dict.fromkeys([path_asked, _note_like(path_asked)]):
        spelt, is_there = files.spell(path)
        if is_there:
            raise VaultError(
                NOTE_EXISTS, f"{spelt!r} is there. What it held before a change comes back by undo_changes.", path=spelt
            )
        for change in reversed(changes.since(0)):
            if any(_is_deletion(file.kind, file.target) and fold(file.path) == fold(path) for file in change.files):
                found = _restored_by_change(changes.show(change.id), in_effect(changes.since(change.id)), files)
                for step in found:
                    if fold(paths_of(step)[-1]) == fold(path):
                        return step
    path = _note_like(path_asked)
    in_trash = VaultPath(f"{TRASH}/{path.rpartition('/')[2]}")
    if files.is_taken(in_trash) and not files.hides_some:
        return _from_trash(changes, files, in_trash, path)
    raise VaultError(
        FILE_NOT_FOUND,
        f"Nothing on record was deleted at {asked!r}, and {TRASH} has nothing of that name. list_changes shows what was.",
        path=asked,
    )


def _from_trash(changes: Changes, files: Files, path: VaultPath, target: VaultPath | None) -> Step:
    """Return the step that moves a file out of the trash: to its old path if that is known, else to the vault's own folder."""
    for change in reversed(changes.since(0)):
        for file in change.files:
            if file.target is not None and fold(file.target) == fold(path):
                for step in _restored_by_change(changes.show(change.id), (), files):
                    if paths_of(step)[-1] == file.path and (isinstance(step, Move) or not files.is_taken(path)):
                        return step
    # Where some of the vault is hidden, only the record tells whether a file in the trash was hidden.
    if not files.is_taken(path) or files.hides_some:
        raise VaultError(FILE_NOT_FOUND, f"There is no {path!r}.", path=path)
    return Move(path, target or VaultPath(path.rpartition("/")[2]))


def _restored_by_change(detailed: DetailedChange, later: Sequence[Change], files: Files) -> list[Step]:
    """Return the steps that restore what a change deleted, each from its place in the trash, else from the journal."""
    found: list[Step] = []
    moved_later = moves_in(later)
    for step, content in zip(detailed.steps, detailed.contents, strict=True):
        if isinstance(step, Write):
            if step.new is None:
                found.append(Write(step.path, None, step.old))
            continue
        if not lies_in(step.target, TRASH):
            continue
        now = moved_later.after(step.target)
        if lies_in(now, TRASH) and files.is_taken(now) and _is_deleted_file(files, now, content):
            found.append(Move(now, step.source))
        elif content is not None:
            found.append(Write(step.source, None, content))
    return found


def _is_deleted_file(files: Files, now: VaultPath, content: Content | None) -> bool:
    """Tell whether the file in the trash is the one that was moved there. A relative link leads nowhere from there."""
    if content is None or files.is_link(now):
        return not files.hides_some
    return files.holds(files.real_path(now), content)


def _is_deletion(kind: str, target: VaultPath | None) -> bool:
    return kind == "remove" or (target is not None and lies_in(target, TRASH))


def _note_like(path: VaultPath) -> VaultPath:
    has_ending = "." in path.rpartition("/")[2]
    return path if is_note(path) or has_ending else VaultPath(path + NOTE_SUFFIX)
