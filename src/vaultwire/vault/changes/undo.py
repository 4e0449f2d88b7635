"""Plans for undoing changes and for bringing removed files back. ``changes.executor`` carries them out like any other plan.

A plan is made inside ``Changes.locked``, so that the vault it is made from is the vault it is executed on. Several changes
are undone as one: the latest first, each on the files as the undoing of the later ones leaves them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

from vaultwire.vault.changes.change import Change, DetailedChange, Move, Step, Write, moves_of, paths_of
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.projected_tree import MovePaths, ProjectedTree, simplified
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import NOTE_SUFFIX, TRASH, fold, is_note, lies_in, parse_path, place_of
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, NOTE_EXISTS, UNDO_CONFLICT, VaultError
from vaultwire.vault.value_types import NO_PROGRESS, Progress, Stages, VaultPath

# How many conflicts an error explains; the numbers of the others are in its details.
_MAX_EXPLAINED = 10


Left: TypeAlias = Callable[[DetailedChange, Collection[int]], DetailedChange]
"""Returns what is left of a change of which parts were undone before, beside changes that a plan undoes. See ``plan_part``."""


class UndoPlan(NamedTuple):
    """The steps that undo changes, and these changes, the latest first.

    ``empty``: changes that were asked for and of which nothing is left to undo.
    """

    steps: list[Step]
    changes: list[Change]
    empty: list[Change]


def plan_undo_all(
    changes: Changes,
    files: Files,
    numbers: Collection[int],
    progress: Progress = NO_PROGRESS,
    left: Left = lambda detailed, _: detailed,
) -> UndoPlan:
    """Plan to undo these changes together; execute the steps with the plan's changes as ``undoes``.

    ``left`` says what is left of a change of which parts were undone before.
    Later edits elsewhere in their notes stay. Raises VaultError: FILE_NOT_FOUND if a change is not on record, UNDO_CONFLICT if
    one was undone already, if the same lines were changed since, if a name is taken now, or if nothing is left of any. The
    error says which changes could be undone without those.
    """
    latest_first = sorted(set(numbers), reverse=True)
    later = changes.since(latest_first[-1]) if latest_first else []
    plan = UndoPlan([], [], [])
    tree, stages = ProjectedTree(files), Stages(progress)
    conflicts: dict[int, _Refusal] = {}
    for detailed in changes.show_all(latest_first):
        progress.check()
        change = detailed.change
        undone = {each.id for each in plan.changes}
        try:
            if change.undone_by is not None and change.undone_by not in undone:
                _refuse_undone(change)
            since = [each for each in later if each.id > change.id]
            rest = left(detailed, undone)
            steps = simplified(_UndoPlanner(rest, in_effect(since, undone), tree).plan(stages))
        except _Refusal as refusal:
            conflicts[change.id] = refusal
            tree = ProjectedTree(files)  # without the steps of the failed plan
            for step in plan.steps:
                tree.add(step)
            continue
        plan.steps.extend(steps)
        (plan.changes if steps else plan.empty).append(change)
    if conflicts:
        raise _conflict(conflicts, plan, len(latest_first))
    if latest_first and not plan.steps:
        named = ", ".join(map(str, latest_first))
        raise VaultError(
            UNDO_CONFLICT,
            f"Nothing is left of change {named}: its files are as they were before it."
            if len(latest_first) == 1
            else f"Nothing is left of changes {named}: their files are as they were before them.",
            id=latest_first[0],
        )
    return plan


class Refused(NamedTuple):
    """Why one change cannot be undone, and the later changes that are in the way."""

    id: int
    reason: str
    changes: list[int]


class UndoConflict(VaultError):  # noqa: N818 - as UNDO_CONFLICT
    """The error of a plan that cannot be made: ``refused`` explains each change in the way, ``possible`` are the others."""

    def __init__(self, message: str, refused: list[Refused], **details: Any) -> None:
        super().__init__(UNDO_CONFLICT, message, **details)
        self.refused = refused
        self.possible: list[int] = details.get("possible", [])


class _Refusal(Exception):  # noqa: N818 - it becomes an error that names all refusals
    """Why one change cannot be undone. ``changes`` are the later ones that are in the way, None if that is known already."""

    def __init__(self, reason: str, changes: list[int], path: VaultPath | None, lines: list[list[int]]) -> None:
        super().__init__(reason)
        self.reason = reason
        self.changes = changes
        self.path = path
        self.lines = lines


def _refuse_undone(change: Change) -> NoReturn:
    raise _Refusal(
        f"was undone by change {change.undone_by} already; to have it again, undo change {change.undone_by}",
        [change.undone_by or 0],
        None,
        [],
    )


def _conflict(conflicts: dict[int, _Refusal], plan: UndoPlan, asked: int) -> VaultError:
    """Return the error that says why nothing is undone, and what could be."""
    number, first = next(iter(conflicts.items()))
    details: dict[str, Any] = {"id": number, "changes": first.changes}
    if first.path is not None:
        details |= {"path": first.path, "lines": first.lines}
    refused = [Refused(each, refusal.reason, refusal.changes) for each, refusal in conflicts.items()]
    if asked == 1:
        return UndoConflict(f"Change {number} {first.reason}. Nothing was changed.", refused, **details)
    reasons = [f"change {each} {refusal.reason}" for each, refusal in [*conflicts.items()][:_MAX_EXPLAINED]]
    if len(conflicts) > len(reasons):
        reasons.append(f"and {len(conflicts) - len(reasons)} more")
    possible = [change.id for change in plan.changes]
    hint = f" Without these, the others can be undone: {possible}." if possible else ""
    return UndoConflict(
        f"{len(conflicts)} of {asked} changes cannot be undone, so nothing was changed: {'; '.join(reasons)}.{hint}",
        refused,
        **details,
        conflicts=list(conflicts),
        possible=possible,
    )


def plan_part(changes: Changes, files: Files, detailed: DetailedChange, index: int) -> list[Step]:
    """Plan to undo one step of a change, as ``detailed`` has it: with other bytes, a part of what it did to its file.

    The other steps only say how the file's path went on. Raises VaultError (UNDO_CONFLICT).
    """
    number = detailed.change.id
    planner = _UndoPlanner(detailed, in_effect(changes.since(number)), ProjectedTree(files), index)
    try:
        return simplified(planner.plan(Stages(NO_PROGRESS)))
    except _Refusal as refusal:
        raise _conflict({number: refusal}, UndoPlan([], [], []), 1) from None


class _UndoPlanner:
    """Plans the undo of one change, beside later changes that stay. Adds its steps to the tree."""

    def __init__(
        self, detailed: DetailedChange, later: Sequence[Change], tree: ProjectedTree, only: int | None = None
    ) -> None:
        """``only``: the index of the one step to undo, None for all."""
        self._detailed = detailed
        self._only = only
        self._later = later
        self._moved_later = moves_in(later)
        self._tree = tree
        self._steps: list[Step] = []

    def plan(self, stages: Stages) -> list[Step]:
        """Return the steps that undo those of the change, in reverse order."""
        steps = self._detailed.steps
        moves = MovePaths((number, step) for number, step in enumerate(steps) if isinstance(step, Move))
        for number in stages.each(stages.READING, "compared", range(len(steps))[::-1]):
            step, content = steps[number], self._detailed.contents[number]
            if self._only not in (None, number) or (isinstance(step, Write) and step.old == step.new):
                continue
            end = moves.after(paths_of(step)[-1], number + 1)
            now = self._moved_later.after(end)
            if isinstance(step, Move):
                if now != end:
                    self._refuse(end, f"{end!r} was moved on to {now!r}")
                self._undo_move(step, content)
            elif step.new is None:
                self._undo_removal(step, step.old or Content(b""))
            else:
                # The path after the later steps of this change are undone, or the one a later change has given it.
                stays = now == end and self._only is None
                self._undo_write(step, step.new, step.path if stays else now)
        return self._steps

    def _add(self, step: Step) -> None:
        self._steps.append(step)
        self._tree.add(step)

    def _undo_move(self, step: Move, content: Content | None) -> None:
        is_there = self._tree.exists(step.target)
        if is_there and content is not None and lies_in(step.target, TRASH) and not self._tree.is_link(step.target):
            # The person may have emptied the trash, and another note of that name have come there.
            is_there = self._tree.holds(step.target, content)
        if self._tree.exists(step.source) and not self._tree.is_respelling(Move(step.target, step.source)):
            # With the same bytes it is the file itself: the person has moved it back.
            if is_there or not (content is None or self._tree.holds(step.source, content)):
                self._refuse(step.source, f"there is another {step.source!r} by now")
        elif is_there:
            self._add(Move(step.target, step.source))
        elif content is not None:
            self._add(Write(step.source, None, content))
        else:
            self._refuse(step.target, f"{step.target!r} is not there any more")

    def _undo_removal(self, step: Write, before: Content) -> None:
        if not self._tree.exists(step.path):
            self._add(Write(step.path, None, before))
        elif not self._tree.holds(step.path, before):
            self._refuse(step.path, f"there is another {step.path!r} by now")

    def _undo_write(self, step: Write, after: Content, path: VaultPath) -> None:
        if self._tree.holds(path, after):
            if step.old is None and lies_in(path, TRASH):
                self._refuse(step.path, f"{step.path!r} was moved to {path!r}")
            self._add(Write(path, after, step.old))
        elif not self._tree.exists(path):
            if step.old is not None:
                self._refuse(step.path, f"{path!r} is not there any more")
        elif step.old is None:
            self._refuse(step.path, f"{path!r}, which it made, was changed since")
        elif not self._tree.holds(path, step.old):
            self._revert(step, step.old.data, after.data, path)

    def _revert(self, step: Write, before: bytes, after: bytes, path: VaultPath) -> None:
        from vaultwire.markdown.three_way import Conflict, form_of, revert  # noqa: PLC0415 - few runs undo

        now = self._tree.read(path) or b""
        try:
            reverted = revert(now.decode(), before.decode(), after.decode(), form_of(path))
        except UnicodeDecodeError:
            self._refuse(step.path, f"{path!r} is no text and was changed since")
        if isinstance(reverted, Conflict):
            lines = [[span.first, span.last] for span in reverted.spans]
            ranges = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in lines)
            self._refuse(step.path, f"what it changed in {path!r} was changed again since, at line {ranges}", lines)
        self._add(Write(path, now, reverted.encode()))

    def _refuse(self, path: VaultPath, reason: str, lines: list[list[int]] | None = None) -> NoReturn:
        ids = [change.id for change in self._later if _touches(change, path, self._later)]
        named = ", ".join(map(str, ids))
        hint = (
            f" by change {named}. Undo {'that' if len(ids) == 1 else 'those'} first, the latest first"
            if ids
            else " by another program. Edit the note itself"
        )
        raise _Refusal(f"cannot be undone: {reason}{hint}", ids, path, lines or [])


def in_effect(changes: Sequence[Change], undone: Collection[int] = ()) -> list[Change]:
    """Return the changes, which are all after some time, without those that do not count now.

    A change and the one that undid it did nothing together. ``undone`` are changes that a plan undoes.
    """
    there = {change.id for change in changes}
    gone = set(undone)
    for change in reversed(changes):
        if change.id in gone:
            continue
        if change.undone_by is not None and change.undone_by not in there:
            gone.add(change.id)
        elif change.undoes and there.issuperset(change.undoes):
            gone |= {change.id, *change.undoes}
    return [change for change in changes if change.id not in gone]


def moves_in(later: Iterable[Change]) -> MovePaths:
    """Return the moves of later changes."""
    return MovePaths(enumerate(move for change in later if not change.unrestored for move in moves_of(change)))


def _touches(change: Change, path: VaultPath, later: Sequence[Change]) -> bool:
    """Tell whether a change, one of the later ones, concerns the file that was at a path before them."""
    for each in later:
        if each.id == change.id:
            break
        path = moves_in([each]).after(path)
    return any(
        lies_in(path, file.path) or (file.target is not None and lies_in(path, file.target)) for file in change.files
    )


# Plans for restoring deleted files from the trash or the journal. ``changes.executor`` executes them as any other plan.


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
                steps = _restored_by_change(changes.show(change.id), in_effect(changes.since(change.id)), files)
                for step in steps:
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
    steps: list[Step] = []
    moved_later = moves_in(later)
    for step, content in zip(detailed.steps, detailed.contents, strict=True):
        if isinstance(step, Write):
            if step.new is None:
                steps.append(Write(step.path, None, step.old))
            continue
        if not lies_in(step.target, TRASH):
            continue
        now = moved_later.after(step.target)
        if lies_in(now, TRASH) and files.is_taken(now) and _is_deleted_file(files, now, content):
            steps.append(Move(now, step.source))
        elif content is not None:
            steps.append(Write(step.source, None, content))
    return steps


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
