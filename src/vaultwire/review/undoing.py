"""Undo of changes and parts of them, with what stands in the way in words. Each undo is a change of the person's."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from vaultwire.markdown.diffs import differences, lines_of
from vaultwire.review.diff import hunks_of
from vaultwire.review.entries import Entry, Timeline, UndonePart, is_by_person, summary
from vaultwire.vault.changes.change import (
    Change,
    DetailedChange,
    FileChange,
    Move,
    Step,
    Write,
    files_of,
    moves_of,
    paths_of,
)
from vaultwire.vault.changes.undo import UndoConflict
from vaultwire.vault.disk.contents import plain_text, to_bytes
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import INVALID_ARGUMENTS, UNDO_CONFLICT, VaultError
from vaultwire.vault.holding import words
from vaultwire.vault.holding.proposals import Decision
from vaultwire.vault.value_types import NO_PROGRESS
from vaultwire.vault.vault import Vault

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


_MAX_NAMED = 10


class Undoing:
    """Undo in one vault."""

    def __init__(self, vault: Vault, timeline: Timeline) -> None:
        self._vault = vault
        self._reviewing = vault.reviewing
        self._timeline = timeline

    def undo(self, entries: Sequence[Entry], *, dry_run: bool) -> dict[str, Any]:
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
        except UndoConflict as error:
            return _refuse(error.message, _conflicts(error), error.possible, dry_run=dry_run)
        except VaultError as error:
            if error.code != UNDO_CONFLICT:
                raise
            return _refuse(error.message, [_conflict(error, numbers)], [], dry_run=dry_run)
        return done(f"Undid {_named([change.id for change in changes])}.", made.files, made)

    def undo_part(self, entry: Entry, file: int, hunk: int | None, *, dry_run: bool) -> dict[str, Any]:
        """Undo one file of a change, or one hunk. Raises VaultError as ``undo`` does, INVALID_ARGUMENTS."""
        number = entry.change.id if entry.change is not None else 0
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
        except UndoConflict as error:
            return _refuse(error.message, _conflicts(error), [], dry_run=dry_run)
        except VaultError as error:
            if error.code != UNDO_CONFLICT:
                raise
            return _refuse(error.message, [_conflict(error, [number])], [], dry_run=dry_run)
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

    def move_back(self, entry: Entry, *, dry_run: bool) -> dict[str, Any]:
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

    # ------------------------------------------------------------------ planning

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


def done(message: str, files: Sequence[FileChange] = (), made: Change | None = None) -> dict[str, Any]:
    """Return the answer to a decision. ``made``: the change it made, which undoes the decision when it is undone."""
    number = None if made is None or made.id == 0 else made.id
    return {
        "message": message,
        "change": number,
        "undo": number,
        "conflicts": [],
        "possible": [],
        "files": [{"action": file.kind, "path": file.path, "to": file.target} for file in files],
    }


def _would(steps: Sequence[Step], what: str) -> dict[str, Any]:
    files = files_of(tuple(steps))
    return done(
        f"Undoing {what} would {summary(files, is_wish=True)}. What was edited elsewhere since then stays.", files
    )


def _refuse(message: str, conflicts: list[dict[str, Any]], possible: list[int], *, dry_run: bool) -> dict[str, Any]:
    ids = [f"c{number}" for number in possible]
    if not dry_run:
        raise VaultError(UNDO_CONFLICT, message, conflicts=conflicts, possible=ids, files=[])
    return {**done(message), "conflicts": conflicts, "possible": ids}


def _conflicts(error: UndoConflict) -> list[dict[str, Any]]:
    return [
        {
            "id": f"c{each.id}",
            "words": f"Change {each.id} {each.reason}.",
            "changes": [f"c{one}" for one in each.changes],
        }
        for each in error.refused
    ]


def _conflict(error: VaultError, numbers: Collection[int]) -> dict[str, Any]:
    number = error.details.get("id", next(iter(numbers), 0))
    return {
        "id": f"c{number}",
        "words": error.message,
        "changes": [f"c{one}" for one in error.details.get("changes", [])],
    }


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
