"""Taking changes back, and bringing back what is gone: plans only, which ``changes.changing`` carries out like any other.

Made inside ``Changes.held``, so that what they were made from is what they are carried out on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from vaultwire.markdown.diffs import Conflict, revert
from vaultwire.vault.changes.change import Change, Detailed, Move, Step, Write, follow
from vaultwire.vault.changes.changing import Changes
from vaultwire.vault.changes.foresight import Foresight, tidied
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import NOTE_SUFFIX, TRASH, fold, is_note, lies_in, parse_path
from vaultwire.vault.errors import (
    FILE_NOT_FOUND,
    INVALID_ARGUMENTS,
    NOTE_EXISTS,
    UNDO_CONFLICT,
    VaultError,
)
from vaultwire.vault.value_types import VaultPath


def plan_undo(changes: Changes, files: Files, number: int) -> list[Step]:
    """Return the steps that take a change back; carry them out with ``undoes=number``.

    What was changed elsewhere in its notes since then stays. Raises VaultError: FILE_NOT_FOUND if the change is not on
    record, UNDO_CONFLICT if it was taken back already, if the same lines were changed since, or a name is taken now.
    """
    detailed = changes.show(number)
    undone_by = detailed.change.undone_by
    if undone_by is not None:
        raise VaultError(
            UNDO_CONFLICT,
            f"Change {number} was taken back by change {undone_by} already; to have it again, undo change {undone_by}.",
            id=number,
            changes=[undone_by],
        )
    steps = tidied(_Undoing(detailed, _in_effect(changes.since(number)), files).plan())
    if not steps:
        raise VaultError(
            UNDO_CONFLICT, f"Nothing is left of change {number}: its files are as they were before it.", id=number
        )
    return steps


class _Undoing:
    """One change on its way back."""

    def __init__(self, detailed: Detailed, later: Sequence[Change], files: Files) -> None:
        self._detailed = detailed
        self._later = later
        self._foresight = Foresight(files)
        self._files = files
        self._steps: list[Step] = []

    def plan(self) -> list[Step]:
        """Return the steps, which take the change's own back in reverse."""
        for number in reversed(range(len(self._detailed.steps))):
            step = self._detailed.steps[number]
            end = step.target if isinstance(step, Move) else step.path
            for own in self._detailed.steps[number + 1 :]:
                if isinstance(own, Move):
                    end = follow(end, own.source, own.target)
            now = where_now(end, self._later)
            if isinstance(step, Move):
                if now != end:
                    self._refuse(end, f"{end!r} was moved on to {now!r}")
                self._undo_move(step, self._detailed.contents[number])
            elif step.after is None:
                self._undo_removal(step, step.before or b"")
            else:
                # Where it is once the later steps of this change are taken back, or where a later change has put it.
                self._undo_write(step, step.after, step.path if now == end else now)
        return self._steps

    def _add(self, step: Step) -> None:
        self._steps.append(step)
        self._foresight.add(step)

    def _undo_move(self, step: Move, content: bytes | None) -> None:
        is_there = self._foresight.exists(step.target)
        if (
            is_there
            and content is not None
            and lies_in(step.target, TRASH)
            and not self._foresight.is_link(step.target)
        ):
            # The trash may have been cleared, and another note of that name have come there.
            is_there = self._foresight.holds(step.target, content)
        if self._foresight.exists(step.source) and not self._foresight.is_respelling(Move(step.target, step.source)):
            if is_there or not self._is_back(step, content):
                self._refuse(step.source, f"there is another {step.source!r} by now")
        elif is_there:
            self._add(Move(step.target, step.source))
        elif content is not None:
            self._add(Write(step.source, None, content))
        else:
            self._refuse(step.target, f"{step.target!r} is not there any more")

    def _is_back(self, step: Move, content: bytes | None) -> bool:
        """Tell whether somebody has brought it back himself."""
        return content is None or self._foresight.holds(step.source, content)

    def _undo_removal(self, step: Write, before: bytes) -> None:
        if not self._foresight.exists(step.path):
            self._add(Write(step.path, None, before))
        elif not self._foresight.holds(step.path, before):
            self._refuse(step.path, f"there is another {step.path!r} by now")

    def _undo_write(self, step: Write, after: bytes, path: VaultPath) -> None:
        if self._foresight.holds(path, after):
            if step.before is None and lies_in(path, TRASH):
                self._refuse(step.path, f"{step.path!r} was moved to {path!r}")
            self._add(Write(path, after, step.before))
        elif not self._foresight.exists(path):
            if step.before is not None:
                self._refuse(step.path, f"{path!r} is not there any more")
        elif step.before is None:
            self._refuse(step.path, f"{path!r}, which it made, was changed since")
        elif not self._foresight.holds(path, step.before):
            self._revert(step, step.before, after, path)

    def _revert(self, step: Write, before: bytes, after: bytes, path: VaultPath) -> None:
        now = self._foresight.read(path) or b""
        try:
            found = revert(now.decode(), before.decode(), after.decode())
        except UnicodeDecodeError:
            self._refuse(step.path, f"{path!r} was changed since, and is no text to take lines back in")
        if isinstance(found, Conflict):
            lines = [[span.first, span.last] for span in found.spans]
            shown = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in lines)
            self._refuse(step.path, f"what it changed in {path!r} was changed again since, at line {shown}", lines)
        self._add(Write(path, now, found.encode()))

    def _refuse(self, path: VaultPath, reason: str, lines: list[list[int]] | None = None) -> NoReturn:
        number = self._detailed.change.id
        ids = [change.id for change in self._later if _touches(change, path, self._later)]
        named = ", ".join(map(str, ids))
        hint = (
            f" by change {named}. Undo {'that' if len(ids) == 1 else 'those'} first, the latest first"
            if ids
            else " by another program. Edit the note itself"
        )
        raise VaultError(
            UNDO_CONFLICT,
            f"Change {number} cannot be taken back: {reason}{hint}. Nothing was changed.",
            id=number,
            path=path,
            lines=lines or [],
            changes=ids,
        )


def _in_effect(changes: Sequence[Change]) -> list[Change]:
    """Return the changes without those that were taken back, and without what took them back: together they did nothing."""
    gone = {change.id for change in changes if change.undone_by is not None}
    gone |= {change.undone_by for change in changes if change.undone_by is not None}
    return [change for change in changes if change.id not in gone]


def where_now(path: VaultPath, later: Sequence[Change]) -> VaultPath:
    """Return where what was at a path is, once the changes behind have moved it."""
    for change in later:
        for file in change.files if not change.left else ():
            if file.target is not None:
                path = follow(path, file.path, file.target)
    return path


def _touches(change: Change, path: VaultPath, later: Sequence[Change]) -> bool:
    """Tell whether a change concerns what was at a path before the later changes, one of which it is."""
    for each in later:
        if each.id == change.id:
            break
        path = where_now(path, [each])
    return any(
        lies_in(path, file.path) or (file.target is not None and lies_in(path, file.target)) for file in change.files
    )


# ---------------------------------------------------------------------- restoring


def plan_restore(
    changes: Changes, files: Files, *, path: str | None = None, number: int | None = None, to: str | None = None
) -> list[Step]:
    """Return the steps that bring a file back from the trash, or from the journal if the trash has it no more.

    The file is what was at ``path`` when it was deleted last, or is at ``path`` in ``.trash``, or all that change
    ``number`` deleted. It comes back where it was, or, if it is one, at the path ``to``; never over another file.

    Raises VaultError: FILE_NOT_FOUND, NOTE_EXISTS, INVALID_ARGUMENTS, and those of naming a path.
    """
    target = None if to is None else _note_like(parse_path(to.strip()))
    if number is not None:
        steps = _restored_from(changes.show(number), _in_effect(changes.since(number)), files)
        if not steps:
            raise VaultError(
                INVALID_ARGUMENTS, f"Change {number} deleted nothing; undo_change takes back what it did.", id=number
            )
    elif path is not None:
        steps = [_restored(changes, files, path.strip().replace("\\", "/"))]
    else:
        raise VaultError(INVALID_ARGUMENTS, "Say what to restore: a path, or the number of a change that deleted it.")
    if target is not None:
        if len(steps) != 1:
            raise VaultError(
                INVALID_ARGUMENTS, f"Change {number} deleted {len(steps)} files; they cannot all be {to!r}."
            )
        step = steps[0]
        steps = [Move(step.source, target) if isinstance(step, Move) else step._replace(path=target)]
    for step in steps:
        place = step.target if isinstance(step, Move) else step.path
        spelt, _ = files.spell(place)
        if files.is_taken(spelt):
            raise VaultError(
                NOTE_EXISTS, f"There is a {spelt!r} already. Give another path for what is restored.", path=spelt
            )
    return steps


def _restored(changes: Changes, files: Files, asked: str) -> Step:
    if asked.startswith(f"{TRASH}/"):
        name = parse_path(asked[len(TRASH) + 1 :])
        return _from_trash(changes, files, VaultPath(f"{TRASH}/{name}"), None)
    wanted = parse_path(asked)
    for path in dict.fromkeys([wanted, _note_like(wanted)]):
        spelt, is_there = files.spell(path)
        if is_there:
            raise VaultError(
                NOTE_EXISTS, f"{spelt!r} is there. What it held before a change comes back by undo_change.", path=spelt
            )
        for change in reversed(changes.since(0)):
            if any(_deleted(file.kind, file.target) and fold(file.path) == fold(path) for file in change.files):
                found = _restored_from(changes.show(change.id), _in_effect(changes.since(change.id)), files)
                for step in found:
                    if fold(step.target if isinstance(step, Move) else step.path) == fold(path):
                        return step
    path = _note_like(wanted)
    in_trash = VaultPath(f"{TRASH}/{path.rpartition('/')[2]}")
    if files.is_taken(in_trash) and not files.hides_some:
        return _from_trash(changes, files, in_trash, path)
    raise VaultError(
        FILE_NOT_FOUND,
        f"Nothing on record was deleted at {asked!r}, and {TRASH} has nothing of that name. list_changes shows what was.",
        path=asked,
    )


def _from_trash(changes: Changes, files: Files, path: VaultPath, target: VaultPath | None) -> Step:
    """Return the step that takes a file out of the trash: to where it was if that is known, else into the vault's folder."""
    for change in reversed(changes.since(0)):
        for file in change.files:
            if file.target is not None and fold(file.target) == fold(path):
                for step in _restored_from(changes.show(change.id), (), files):
                    place = step.target if isinstance(step, Move) else step.path
                    if place == file.path and (isinstance(step, Move) or not files.is_taken(path)):
                        return step
    # Where some of the vault is hidden, only the record tells whether what lies in the trash was.
    if not files.is_taken(path) or files.hides_some:
        raise VaultError(FILE_NOT_FOUND, f"There is no {path!r}.", path=path)
    return Move(path, target or VaultPath(path.rpartition("/")[2]))


def _restored_from(detailed: Detailed, later: Sequence[Change], files: Files) -> list[Step]:
    """Return the steps that bring back what a change deleted, each from where it lies now, else from the journal."""
    found: list[Step] = []
    for step, content in zip(detailed.steps, detailed.contents, strict=True):
        if isinstance(step, Write):
            if step.after is None:
                found.append(Write(step.path, None, step.before))
            continue
        if not lies_in(step.target, TRASH):
            continue
        now = where_now(step.target, later)
        if lies_in(now, TRASH) and files.is_taken(now) and _is_what_went(files, now, content):
            found.append(Move(now, step.source))
        elif content is not None:
            found.append(Write(step.source, None, content))
    return found


def _is_what_went(files: Files, now: VaultPath, content: bytes | None) -> bool:
    """Tell whether what lies in the trash is what was put there. A relative link leads nowhere from there."""
    if content is None or files.is_link(now):
        return not files.hides_some
    return files.holds(files.real_path(now), content)


def _deleted(kind: str, target: VaultPath | None) -> bool:
    return kind == "remove" or (target is not None and lies_in(target, TRASH))


def _note_like(path: VaultPath) -> VaultPath:
    has_ending = "." in path.rpartition("/")[2]
    return path if is_note(path) or has_ending else VaultPath(path + NOTE_SUFFIX)
