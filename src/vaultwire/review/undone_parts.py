"""What is left of a change of which the person has undone parts, and the smaller change that undoes one part more."""

from __future__ import annotations

from collections.abc import Iterable

from vaultwire.review.marks import UndonePart
from vaultwire.review.parts import hunk_count, without_hunks
from vaultwire.vault.changes.change import DetailedChange, Move, Step, Write, paths_of
from vaultwire.vault.errors import INVALID_ARGUMENTS, UNDO_CONFLICT, VaultError


def what_is_left(detailed: DetailedChange, parts: Iterable[UndonePart]) -> DetailedChange:
    """Return a change without the parts of it that were undone. A step of which nothing is left changes nothing."""
    steps = list(detailed.steps)
    for index in {part.file for part in parts if part.file < len(steps)}:
        hunks = {part.hunk for part in parts if part.file == index}
        steps[index] = _without(steps[index], hunks)
    return detailed._replace(steps=tuple(steps))


def is_nothing(step: Step) -> bool:
    """Tell whether a step changes nothing."""
    return isinstance(step, Write) and step.old == step.new


def _without(step: Step, hunks: Iterable[int | None]) -> Step:
    if isinstance(step, Move):
        return Write(step.target, None, None)
    if None in hunks or step.old is None or step.new is None:
        return Write(step.path, step.old, step.old)
    return Write(
        step.path, step.old, without_hunks(step.old.data, step.new.data, {each for each in hunks if each is not None})
    )


def whole_or_hunk(detailed: DetailedChange, file: int, hunk: int | None) -> int | None:
    """Return the hunk, None where it is all of its file. Raises VaultError for a file or hunk that is not there."""
    number = detailed.change.id
    if not 0 <= file < len(detailed.steps):
        raise VaultError(INVALID_ARGUMENTS, f"Change {number} has no file {file}; they count from 0.", argument="file")
    step = detailed.steps[file]
    if hunk is None:
        return None
    count = 0 if isinstance(step, Move) else hunk_count(step.before, step.after)
    if not 0 <= hunk < count:
        named = paths_of(step)[-1]
        raise VaultError(
            INVALID_ARGUMENTS, f"There is no hunk {hunk} in {named!r}; it has {count}, from 0 on.", argument="hunk"
        )
    return None if isinstance(step, Write) and (step.old is None or step.new is None) else hunk


def only_part(detailed: DetailedChange, parts: tuple[UndonePart, ...], file: int, hunk: int | None) -> DetailedChange:
    """Return a change of which one step does only what undoing this part must reverse; the others stay as they were.

    Raises VaultError (UNDO_CONFLICT) if the part was undone already, or cannot be undone by itself.
    """
    number = detailed.change.id
    before = next((each for each in parts if each.file == file and each.hunk in (None, hunk)), None)
    if before is not None:
        raise VaultError(
            UNDO_CONFLICT,
            f"This part of change {number} was undone by change {before.by} already; "
            f"to have it again, undo change {before.by}.",
            id=number,
            changes=[before.by],
        )
    step = detailed.steps[file]
    if isinstance(step, Move):
        if any(isinstance(each, Write) for each in detailed.steps):
            raise VaultError(
                UNDO_CONFLICT,
                f"Links follow the move of {step.source!r}, so it cannot be undone by itself. "
                f"Undo change {number} as a whole.",
                id=number,
                changes=[],
            )
        return detailed
    left = what_is_left(detailed, parts).steps[file]
    wanted = what_is_left(detailed, (*parts, UndonePart(file, hunk, 0))).steps[file]
    assert isinstance(left, Write)
    assert isinstance(wanted, Write)
    steps = list(detailed.steps)
    steps[file] = Write(step.path, wanted.new, left.new)
    return detailed._replace(steps=tuple(steps))


def parts_of(detailed: DetailedChange, undone: tuple[UndonePart, ...], file: int, hunk: int | None) -> list[UndonePart]:
    """Return the parts that an undo of a file or hunk undoes: of a file each hunk, so that one can be brought back."""
    step = detailed.steps[file]
    if hunk is not None or isinstance(step, Move) or step.old is None or step.new is None:
        return [UndonePart(file, hunk, 0)]
    before = {each.hunk for each in undone if each.file == file}
    left = [index for index in range(hunk_count(step.before, step.after)) if index not in before]
    return [UndonePart(file, index, 0) for index in left] or [UndonePart(file, None, 0)]
