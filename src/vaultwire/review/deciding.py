"""What the person decides: keep, undo, accept, refuse; of one item, a part of it, or many. Each decision is logged.

The journal comes first, then the log of decisions. If the program dies between them, no note is lost: the next look shows
the change as made or undone, and only a mark or the words to the agent are missing. Each undo is a change of the person's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from vaultwire.markdown.diffs import differences, lines_of
from vaultwire.review.diff.parts import counted
from vaultwire.review.diff.rows import hunks_of
from vaultwire.review.entries import Entry, Timeline, UndonePart, file_dicts, is_by_person, summary
from vaultwire.vault.changes.change import (
    Change,
    DetailedChange,
    FileChange,
    Move,
    Step,
    Write,
    diff_of,
    files_of,
    moves_of,
    paths_of,
)
from vaultwire.vault.changes.projected_tree import Rebased
from vaultwire.vault.changes.undo import UndoConflict
from vaultwire.vault.disk.contents import Content, plain_text, to_bytes
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import INVALID_ARGUMENTS, STALE_EDIT, UNDO_CONFLICT, VaultError
from vaultwire.vault.holding import words
from vaultwire.vault.holding.holding import overlapping
from vaultwire.vault.holding.proposals import Decision, DecisionKind, Proposal
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

_MAX_NAMED = 10
# Of the index of a file. Python refuses to read numbers of thousands of digits.
_MAX_DIGITS = 9
_ACTIONS = ("keep", "unkeep", "undo", "move_back", "accept", "refuse")


class Deciding:
    """The decisions of one vault."""

    def __init__(self, vault: Vault, timeline: Timeline) -> None:
        self._vault = vault
        self._reviewing = vault.history
        self._timeline = timeline

    def decide(
        self,
        entry: Entry,
        action: str,
        part: tuple[int | None, int | None],
        edited: Mapping[str, str],
        reason: str,
        *,
        basis: str,
        dry_run: bool,
    ) -> dict[str, Any]:
        """Decide one item; ``part``: a file of it, and a hunk of that; ``basis``: what was shown. Raises VaultError."""
        _check_action(action)
        file, hunk = part
        if file is None and hunk is not None:
            raise VaultError(INVALID_ARGUMENTS, "A hunk is one of a file: give file, too.", argument="file")
        if action in ("accept", "refuse"):
            proposal = _proposal_of(entry, action)
            if action == "accept" and file is not None:
                return self._accept_part(proposal, file, hunk, basis, dry_run=dry_run)
            if file is not None:
                message = "A proposal is refused as a whole. Accept what is right of it first, then refuse the rest."
                raise VaultError(INVALID_ARGUMENTS, message, argument="file")
            if action == "refuse":
                return self._refuse(proposal, reason, dry_run=dry_run)
            return self._accept(entry, proposal, edited, basis, dry_run=dry_run)
        _change_of(entry, action)
        if action == "move_back":
            return self._move_back(entry, dry_run=dry_run)
        if action == "undo":
            if file is None:
                return self._undo([entry], dry_run=dry_run)
            return self._undo_part(entry, file, hunk, dry_run=dry_run)
        return self._keep([entry], part, is_kept=action == "keep", dry_run=dry_run)

    def decide_many(self, entries: Sequence[Entry], action: str, reason: str, *, dry_run: bool) -> dict[str, Any]:
        """Decide several items: all of them, or none if one of them stands in the way. Raises VaultError."""
        _check_action(action)
        if action == "move_back":
            raise VaultError(INVALID_ARGUMENTS, "Changes are moved back one by one.", argument="action")
        if not entries:
            return done("There is nothing to decide.")
        if action in ("keep", "unkeep", "undo"):
            for entry in entries:
                _change_of(entry, action)
            if action == "undo":
                return self._undo(entries, dry_run=dry_run)
            return self._keep(entries, (None, None), is_kept=action == "keep", dry_run=dry_run)
        return self._decide_proposals(entries, action, reason, dry_run=dry_run)

    # ------------------------------------------------------------------ keeping

    def _keep(
        self, entries: Sequence[Entry], part: tuple[int | None, int | None], *, is_kept: bool, dry_run: bool
    ) -> dict[str, Any]:
        kind: DecisionKind = "kept" if is_kept else "unkept"
        decisions = []
        for entry in entries:
            author = entry.author
            number = entry.number
            file, hunk = part
            if file is not None:
                detailed = next(self._reviewing.detailed([number]))
                whole_or_hunk(detailed, file, hunk)
            decisions.append(Decision(kind, author.session, author.client, change=number, file=file, hunk=hunk))
            if file is not None and is_kept and self._is_all_decided(entry, file, hunk):
                decisions.append(Decision(kind, author.session, author.client, change=number))
        if not dry_run:
            self._vault.holding.decisions.add(*decisions)
        named = f"change {entries[0].number}" if len(entries) == 1 else counted(len(entries), "change")
        what = named if part[0] is None else f"a part of {named}"
        return done(f"{'Kept' if is_kept else 'Marked as not looked at:'} {what}.")

    def _is_all_decided(self, entry: Entry, file: int, hunk: int | None) -> bool:
        """Tell whether all parts of a change are kept or undone once this part is kept, too."""
        number = entry.number
        detailed = next(self._reviewing.detailed([number]))
        undone = {(part.file, part.hunk) for part in entry.parts}
        for index, step in enumerate(detailed.steps):
            count = hunk_count(step.before, step.after) if isinstance(step, Write) else 0
            for each in range(count) if count else [None]:
                is_this = index == file and hunk in (None, each)
                is_undone = bool(undone & {(index, each), (index, None)})
                if not is_this and not is_undone and not self._timeline.kept(number, index, each):
                    return False
        return True

    # ------------------------------------------------------------------ proposals

    def diff(self, entry: Entry) -> str:
        """Return what accepting a proposal would change now, as a unified diff. Raises VaultError for what is none."""
        if entry.proposal is None:
            raise VaultError(INVALID_ARGUMENTS, f"Change {entry.id[1:]} is made already.", argument="id")
        now = self._timeline.rebased(entry)
        return diff_of(entry.proposal.steps if now is None else now.steps)

    def _accept(
        self, entry: Entry, proposal: Proposal, edited: Mapping[str, str], basis: str, *, dry_run: bool
    ) -> dict[str, Any]:
        now = self._timeline.rebased(entry)
        texts = edited_bytes(proposal, now, edited)
        if dry_run:
            obstacle = None if now is None else self._vault.holding.obstacle(proposal, now, texts)
            if obstacle is not None:
                raise obstacle
            return done(f"Accepting proposal {proposal.id} would {summary(entry.files, is_wish=True)}.", entry.files)
        made = self._vault.holding.accept(proposal.id, texts, basis=basis)
        how = " as edited" if texts else ""
        if made.id:
            ending = f": change {made.id}."
        elif proposal.kind == "diff":
            ending = ". Its client writes the file now; its change is listed as soon as it has."
        else:
            ending = "; its files are like that already."
        return done(f"Accepted proposal {proposal.id}{how}{ending}", made.files, made)

    def _accept_part(
        self, proposal: Proposal, file: int, hunk: int | None, basis: str, *, dry_run: bool
    ) -> dict[str, Any]:
        if proposal.kind == "diff" or proposal.undoes:
            what = "the diff of an editor" if proposal.kind == "diff" else "an undo"
            raise VaultError(INVALID_ARGUMENTS, f"This is {what}: accept all of it, or edit it.", argument="file")

        def divide(now: Rebased) -> tuple[list[Step], list[Step]]:
            return divided(proposal.id, now, file, hunk)

        if dry_run:
            files = files_of(tuple(divide(self._vault.holding.rebased(proposal))[0]))
            return done(f"This would {summary(files, is_wish=True)}; the rest waits on.", files)
        made, rest = self._vault.holding.accept_part(proposal.id, divide, basis)
        waits = "" if rest is None else f" The rest waits as proposal {rest.id}."
        answer = done(f"Accepted a part of proposal {proposal.id}: change {made.id}.{waits}", made.files, made)
        return {**answer, "rest": None if rest is None else f"p{rest.id}"}

    def _refuse(self, proposal: Proposal, reason: str, *, dry_run: bool) -> dict[str, Any]:
        if dry_run:
            return done(f"Refusing proposal {proposal.id} changes no file; its agent is told.")
        self._vault.holding.refuse(proposal.id, reason)
        return done(f"Refused proposal {proposal.id}.")

    def _decide_proposals(self, entries: Sequence[Entry], action: str, reason: str, *, dry_run: bool) -> dict[str, Any]:
        entries = sorted(entries, key=lambda entry: entry.key, reverse=True)
        proposals = [(entry, _proposal_of(entry, action)) for entry in entries]
        stale = self._stale_together(proposals) if action == "accept" else {}
        if stale:
            conflicts = [
                {"id": entry.id, "words": stale[entry.id].message, "changes": []}
                for entry, _ in proposals
                if entry.id in stale
            ]
            possible = [entry.id for entry in entries if entry.id not in stale]
            message = f"{len(stale)} of {len(entries)} proposals cannot be accepted, so none was."
            if not dry_run:
                raise VaultError(STALE_EDIT, message, conflicts=conflicts, possible=possible, files=[])
            return {**done(message), "conflicts": conflicts, "possible": possible}
        results = [
            self._refuse(proposal, reason, dry_run=dry_run)
            if action == "refuse"
            else done("", entry.files)  # one by one, a later one may need an older one
            if dry_run
            else self._accept(entry, proposal, {}, "", dry_run=False)
            for entry, proposal in reversed(proposals)  # the oldest first
        ]
        files = [file for result in results for file in result["files"]]
        verb = {"accept": "Accepted", "refuse": "Refused"}[action]
        verb = f"Would have {verb.lower()}" if dry_run else verb
        return {**done(f"{verb} {counted(len(results), 'proposal')}."), "files": files}

    def _stale_together(self, proposals: Sequence[tuple[Entry, Proposal]]) -> dict[str, VaultError]:
        """Return why some cannot be accepted once the older ones were, by their ids."""
        stale: dict[str, VaultError] = {}
        made: list[Step] = []
        holding = self._vault.holding
        for entry, proposal in reversed(proposals):
            tree = self._reviewing.tree()
            for step in made:
                tree.add(step)
            if proposal.outside:
                continue
            now = holding.rebased(proposal, tree=tree)
            obstacle = holding.obstacle(proposal, now)
            if obstacle is not None:
                stale[entry.id] = obstacle
            elif proposal.kind == "write":  # a client writes a diff itself, later
                made += now.steps
        return stale

    # ------------------------------------------------------------------ undoing

    def _undo(self, entries: Sequence[Entry], *, dry_run: bool) -> dict[str, Any]:
        """Undo changes together. A conflict is a VaultError (UNDO_CONFLICT with ``conflicts`` and ``possible``)."""
        numbers = [entry.change.id for entry in entries if entry.change is not None]
        try:
            if dry_run:
                return _would(self._plan(numbers)[0], _named(numbers))
            with self._reviewing.locked():
                steps, changes = self._plan(numbers)
                made = self._reviewing.make(steps, self._with_parts([change.id for change in changes]))
                undone = [self._timeline.entry(f"c{change.id}") for change in changes]
                self._log(*(_decision(entry, made, _told(entry, made)) for entry in undone))
        except VaultError as error:
            return _refuse(error, numbers, dry_run=dry_run)
        return done(f"Undid {_named([change.id for change in changes])}.", made.files, made)

    def _undo_part(self, entry: Entry, file: int, hunk: int | None, *, dry_run: bool) -> dict[str, Any]:
        """Undo one file of a change, or one hunk. Raises VaultError as ``undo`` does, INVALID_ARGUMENTS."""
        number = entry.number
        try:
            if dry_run:
                steps, _, path = self._plan_part(number, file, hunk)
                return _would(steps, f"that part of change {number} in {path}")
            with self._reviewing.locked():
                steps, parts, path = self._plan_part(number, file, hunk)
                entry = self._timeline.entry(f"c{number}")
                undoes = () if parts else self._with_parts([number])
                made = self._reviewing.make(steps, undoes, folders_of=number if parts else 0)
                text = (
                    _told_of_part(entry, made, steps, file, is_hunk=hunk is not None) if parts else _told(entry, made)
                )
                told = _decision(entry, made, text, parts[0] if parts else None)
                self._log(told, *(_decision(entry, made, "", each) for each in parts[1:]))
        except VaultError as error:
            return _refuse(error, [number], dry_run=dry_run)
        what = f"change {number}" if hunk is None or not parts else f"a hunk of change {number}"
        return done(f"Undid {what}{f' in {path}' if parts else ''}.", made.files, made)

    def way_back(self, entry: Entry) -> Move | None:
        """Return the move that takes back a rename whose undo is in conflict: links follow it, whatever was written since."""
        moves = [] if entry.change is None else moves_of(entry.change)
        if len(moves) != 1 or entry.change is None or lies_in(moves[0].target, TRASH) or entry.state == "undone":
            return None
        now = self._reviewing.path_now(moves[0].target, entry.change.id)
        tree = self._reviewing.tree()
        return Move(now, moves[0].source) if tree.exists(now) and not tree.exists(moves[0].source) else None

    def _move_back(self, entry: Entry, *, dry_run: bool) -> dict[str, Any]:
        """Move what a change has renamed back to its name, with all links. Raises VaultError."""
        back = self.way_back(entry)
        if back is None:
            raise VaultError(UNDO_CONFLICT, "There is no name to move back to.", changes=[])
        _, moved = self._vault.arranging.move(back.source, f"/{back.target}", NO_PROGRESS, dry_run=dry_run)
        if dry_run or moved.change is None:
            return _would(moved.steps, f"the rename of {back.target!r}")
        self._log(_decision(entry, moved.change, _told(entry, moved.change)))
        return done(f"Moved {back.source} back to {back.target}. Links follow.", moved.change.files, moved.change)

    def obstacle(self, entry: Entry) -> VaultError | None:
        """Return why a change cannot be undone now, None if it can. ``details["changes"]`` are those in the way."""
        if entry.change is None:
            return VaultError(UNDO_CONFLICT, "There is no change to undo.", changes=[])
        try:
            self._plan([entry.change.id])
        except VaultError as error:
            return error
        return None

    def _plan(self, numbers: Collection[int]) -> tuple[list[Step], list[Change]]:
        for number in numbers:
            self._refuse_part_of_undone(self._timeline.entry(f"c{number}"), numbers)

        def left(detailed: DetailedChange, undone: Collection[int]) -> DetailedChange:
            return what_is_left(detailed, self._timeline.parts_left(detailed.change.id, undone))

        plan = self._reviewing.plan_undo(sorted(numbers), left)
        return plan.steps, plan.changes

    def _with_parts(self, numbers: list[int]) -> tuple[int, ...]:
        """Return the changes that are undone, the latest first, with those that undid parts of them before.

        The undo of the rest ends both: together they did nothing. Undone itself, it brings back what was there before it.
        """
        also = {part.by for number in numbers for part in self._timeline.parts_left(number, numbers)}
        return tuple(sorted({*numbers, *also}, reverse=True))

    def _refuse_part_of_undone(self, entry: Entry, numbers: Collection[int]) -> None:
        """Refuse to bring back a part of a change while all of that change is undone: it would be there half."""
        if entry.undid_part_of is None or entry.change is None:
            return
        whole = self._timeline.entry(f"c{entry.undid_part_of}").change
        by = whole.undone_by if whole is not None else None
        if whole is None or by is None or by in numbers:
            return
        raise VaultError(
            UNDO_CONFLICT,
            f"Change {entry.change.id} undid a part of change {whole.id}, and change {by} undid the rest. "
            f"Undo change {by} first.",
            id=entry.change.id,
            changes=[by],
        )

    def _plan_part(self, number: int, file: int, hunk: int | None) -> tuple[list[Step], list[UndonePart], str]:
        """Return the steps, the parts they undo (none: it is all that is left of the change), and the path of the file."""
        entry = self._timeline.entry(f"c{number}")
        detailed = next(self._reviewing.detailed([number]))
        hunk = whole_or_hunk(detailed, file, hunk)
        if entry.change is not None and entry.change.undone_by is not None:
            return self._plan([number])[0], [], ""  # raises: it was undone already
        part = only_part(detailed, entry.parts, file, hunk)
        path = paths_of(detailed.steps[file])[-1]
        after = what_is_left(detailed, (*entry.parts, UndonePart(file, hunk, 0)))
        if all(map(is_nothing, after.steps)):
            return self._plan([number])[0], [], path
        steps = self._reviewing.plan_part(part, file)
        if not steps:
            message = f"Nothing is left of this part of change {number} in {path!r}."
            raise VaultError(UNDO_CONFLICT, message, id=number, changes=[])
        return steps, parts_of(detailed, entry.parts, file, hunk), path

    def _log(self, *decisions: Decision) -> None:
        try:
            self._vault.holding.decisions.add(*decisions)
        except OSError:  # the change is made and in the journal: only its words to the agent are lost
            pass


def divided(number: int, now: Rebased, file: int, hunk: int | None) -> tuple[list[Step], list[Step]]:
    """Return the steps that make one file or hunk of a proposal, and those of the rest. Raises VaultError."""
    steps = list(now.steps)
    check_file(f"Proposal {number}", steps, file)
    step = steps[file]
    if any(isinstance(each, Move) for each in steps) and any(isinstance(each, Write) for each in steps):
        message = f"Links follow what proposal {number} moves, so it is accepted as a whole."
        raise VaultError(INVALID_ARGUMENTS, message, argument="file")
    if file in now.overlaps:
        raise overlapping(number, [now.overlaps[file]])
    if hunk is None or isinstance(step, Move) or step.old is None or step.new is None:
        return [step], [*steps[:file], *steps[file + 1 :]]
    count = _check_hunk(step, hunk)
    part = Content(without_hunks(step.old.data, step.new.data, set(range(count)) - {hunk}))
    return [Write(step.path, step.old, part)], [*steps[:file], Write(step.path, part, step.new), *steps[file + 1 :]]


def edited_bytes(proposal: Proposal, now: Rebased | None, edited: Mapping[str, str]) -> dict[int, bytes]:
    """Return the person's texts as bytes by the index of their step, without those that change nothing.

    ``now``: what accepting it does; line ends and BOM are those of the file as it is. Raises VaultError (INVALID_ARGUMENTS).
    """
    texts: dict[int, bytes] = {}
    for name, text in edited.items():
        index = int(name) if name.isascii() and name.isdecimal() and len(name) <= _MAX_DIGITS else -1
        step = proposal.steps[index] if 0 <= index < len(proposal.steps) else None
        if not isinstance(step, Write) or step.new is None:
            raise VaultError(
                INVALID_ARGUMENTS, f"File {name!r} of the proposal has no text to edit.", argument="edited"
            )
        overlap = None if now is None else now.overlaps.get(index)
        made = step if now is None or overlap is not None else now.steps[index]
        assert isinstance(made, Write)
        # The person begins with both versions where these overlap.
        begun = (overlap.both if overlap is not None and overlap.both is not None else made.after) or b""
        data = in_the_form_of(begun if overlap is not None else made.before or begun, text)
        if data != begun or overlap is not None:
            texts[index] = data
    return texts


def _check_action(action: str) -> None:
    if action not in _ACTIONS:
        raise VaultError(INVALID_ARGUMENTS, f"{action!r} is no action: give {', '.join(_ACTIONS)}.", argument="action")


def _change_of(entry: Entry, action: str) -> None:
    if entry.change is not None:
        if action == "keep" and entry.change.undone_by is not None:
            message = (
                f"Change {entry.change.id} was undone by change {entry.change.undone_by}; there is nothing to keep."
            )
            raise VaultError(INVALID_ARGUMENTS, message, argument="id")
        return
    number = entry.proposal.id if entry.proposal is not None else 0
    state = "waits: accept or refuse it" if entry.waits else f"was {entry.state}; it changed nothing"
    raise VaultError(INVALID_ARGUMENTS, f"Proposal {number} {state}.", argument="action")


def _proposal_of(entry: Entry, action: str) -> Proposal:
    if entry.proposal is None:
        message = f"Change {entry.number} is made already: keep or undo it."
        raise VaultError(INVALID_ARGUMENTS, message, argument="action")
    if not entry.waits:
        was = entry.state if entry.change is None else "accepted"
        raise VaultError(
            INVALID_ARGUMENTS,
            f"Proposal {entry.proposal.id} was {was} already; there is nothing to {action}.",
            argument="id",
        )
    return entry.proposal


# ---------------------------------------------------------------------- parts of a change

# What is left of a change of which the person has undone parts, and the smaller change that undoes one part more.


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


def check_file(name: str, steps: Sequence[Step], file: int) -> None:
    """Raise VaultError (INVALID_ARGUMENTS) for a file that a change or proposal does not have."""
    if not 0 <= file < len(steps):
        raise VaultError(INVALID_ARGUMENTS, f"{name} has no file {file}; they count from 0.", argument="file")


def _check_hunk(step: Step, hunk: int) -> int:
    """Return how many hunks a step has. Raises VaultError (INVALID_ARGUMENTS) for one that is not there."""
    count = 0 if isinstance(step, Move) else hunk_count(step.before, step.after)
    if not 0 <= hunk < count:
        message = f"There is no hunk {hunk} in {paths_of(step)[-1]!r}; it has {count}, from 0 on."
        raise VaultError(INVALID_ARGUMENTS, message, argument="hunk")
    return count


def whole_or_hunk(detailed: DetailedChange, file: int, hunk: int | None) -> int | None:
    """Return the hunk, None where it is all of its file. Raises VaultError for a file or hunk that is not there."""
    check_file(f"Change {detailed.change.id}", detailed.steps, file)
    step = detailed.steps[file]
    if hunk is None:
        return None
    _check_hunk(step, hunk)
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


def done(message: str, files: Sequence[FileChange] = (), made: Change | None = None) -> dict[str, Any]:
    """Return the answer to a decision. ``made``: the change it made, which undoes the decision when it is undone."""
    number = None if made is None or made.id == 0 else made.id
    return {
        "message": message,
        "change": number,
        "undo": number,
        "conflicts": [],
        "possible": [],
        "files": file_dicts(files),
    }


def _would(steps: Sequence[Step], what: str) -> dict[str, Any]:
    files = files_of(tuple(steps))
    return done(
        f"Undoing {what} would {summary(files, is_wish=True)}. What was edited elsewhere since then stays.", files
    )


def _refuse(error: VaultError, numbers: Collection[int], *, dry_run: bool) -> dict[str, Any]:
    """Return what is in the way of an undo, of a dry run; else raise it. Raises other errors as they are."""
    if error.code != UNDO_CONFLICT:
        raise error
    if isinstance(error, UndoConflict):
        refused = [(each.id, f"Change {each.id} {each.reason}.", each.changes) for each in error.refused]
        possible = error.possible
    else:
        number = error.details.get("id", next(iter(numbers), 0))
        refused, possible = [(number, error.message, error.details.get("changes", []))], []
    answer = {
        "conflicts": [
            {"id": f"c{number}", "words": words_, "changes": [f"c{one}" for one in changes]}
            for number, words_, changes in refused
        ],
        "possible": [f"c{number}" for number in possible],
    }
    if not dry_run:
        raise VaultError(UNDO_CONFLICT, error.message, **answer, files=[])
    return done(error.message) | answer


def _decision(entry: Entry, made: Change, text: str, part: UndonePart | None = None) -> Decision:
    return Decision(
        "undone",
        entry.author.session,
        entry.author.client,
        change=entry.change.id if entry.change is not None else None,
        proposal=entry.proposal.id if entry.proposal is not None else None,
        file=None if part is None else part.file,
        hunk=None if part is None else part.hunk,
        by=made.id,
        text=text,
    )


def _told(entry: Entry, made: Change) -> str:
    """Return what the agent is told of an undo; nothing if the person has made the change."""
    if is_by_person(entry.author) or entry.change is None:
        return ""
    return words.undone(entry.change.id, entry.change.files, made.id)


def _told_of_part(entry: Entry, made: Change, steps: Sequence[Step], file: int, *, is_hunk: bool) -> str:
    if is_by_person(entry.author) or entry.change is None:
        return ""
    step = steps[0]
    if is_hunk and isinstance(step, Write):
        return words.hunk_undone(entry.change.id, step, step.before or b"", step.after or b"", made.id)
    return words.undone(entry.change.id, entry.change.files[file : file + 1], made.id)


def _named(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, sorted(numbers)[:_MAX_NAMED]))
    more = f" and {len(numbers) - _MAX_NAMED} more" if len(numbers) > _MAX_NAMED else ""
    return f"change{'' if len(numbers) == 1 else 's'} {shown}{more}"


# A part of what was done to a file: its bytes without some hunks, and an edited text with the file's own line ends.
#
# Pure functions. Hunks are those of ``hunks_of``; lines end with ``\n``, so the lines of bytes are those of their plain text.

_BOM = b"\xef\xbb\xbf"


def hunk_count(before: bytes | None, after: bytes | None) -> int:
    """Return how many hunks a file's change has; 0 for a file that is no text."""
    if is_binary(before) or is_binary(after):
        return 0
    return len(hunks_of(plain_text(before or b""), plain_text(after or b"")))


def is_binary(data: bytes | None) -> bool:
    """Tell whether bytes are no text."""
    return data is not None and b"\0" in data


def without_hunks(before: bytes, after: bytes, undone: Collection[int]) -> bytes:
    """Return the bytes after a change with some of its hunks as they were before; without all of them, those before."""
    hunks = hunks_of(plain_text(before), plain_text(after))
    if len(set(undone)) == len(hunks):
        return before
    bom = _BOM if after.startswith(_BOM) else b""
    old, new = _lines(before.removeprefix(_BOM)), _lines(after.removeprefix(_BOM))
    result: list[bytes] = []
    position = 0
    for index, hunk in enumerate(hunks):
        if index in undone:
            result += new[position : hunk.new_start]
            result += old[hunk.start : hunk.end]
            position = hunk.new_end
    return bom + b"".join(result + new[position:])


def in_the_form_of(base: bytes, text: str) -> bytes:
    """Return a text as bytes with the BOM and the line ends of ``base``: lines that stay are byte for byte as there.

    Raises VaultError (INVALID_ARGUMENTS) for a text that no file can hold.
    """
    bom = _BOM if base.startswith(_BOM) else b""
    raw = _lines(base.removeprefix(_BOM))
    ends_crlf = sum(line.endswith(b"\r\n") for line in raw)
    is_crlf = ends_crlf * 2 > sum(line.endswith(b"\n") for line in raw)
    plain = text.replace("\r\n", "\n")
    to_bytes(plain, base)  # refuses what no file can hold
    old, new = lines_of(plain_text(base)), lines_of(plain)
    result: list[bytes] = []
    position = 0
    for each in differences(old, new):
        result += raw[position : each.start]
        added = "".join(new[each.new_start : each.new_end]).encode()
        result.append(added.replace(b"\n", b"\r\n") if is_crlf else added)
        position = each.end
    return bom + b"".join(result + raw[position:])


def _lines(data: bytes) -> list[bytes]:
    lines = [line + b"\n" for line in data.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines
