"""The changes on record, undoing them, and what waits for review: the journal as one caller uses it.

Planned by ``changes.undo``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from vaultwire.markdown.inline import linkpath_written
from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.changes.change import Author, Change, DetailedChange, Step, follow, moves_of, paths_of
from vaultwire.vault.changes.projected_tree import ProjectedTree
from vaultwire.vault.changes.undo import (
    Left,
    UndoConflict,
    UndoPlan,
    in_effect,
    moves_in,
    plan_part,
    plan_restore,
    plan_undo_all,
)
from vaultwire.vault.disk.paths import NOTE_SUFFIX, TRASH, fold, lies_in
from vaultwire.vault.editing.workbench import Asked, Done, Workbench
from vaultwire.vault.errors import AMBIGUOUS_NAME, FILE_NOT_FOUND, INVALID_ARGUMENTS, JOURNAL_FAILED, VaultError
from vaultwire.vault.holding.proposals import Decision, Proposal
from vaultwire.vault.links.note_lookup import locate_file, resolve_name
from vaultwire.vault.search.filters import parse_time
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath


class Undone(NamedTuple):
    """What an undo did, and the changes that it undid, the latest first."""

    done: Done
    changes: list[Change]


class History:
    """The changes of one vault, for one caller."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def latest(
        self, name: str, limit: int, before: int | None, since: str = "", progress: Progress = NO_PROGRESS
    ) -> list[Change]:
        """Return the changes on record, the latest first. See ``Changes.latest``; ``name`` and ``since`` may be empty.

        ``name`` is any name of a note, also of one that is gone, or the path of a file or folder. Raises VaultError:
        INVALID_ARGUMENTS if ``since`` is not a time (``parse_time``), AMBIGUOUS_NAME.
        """
        moment = self.parse_time(since) if since else None
        path = self._recorded_path(name, progress) if name.strip() else None
        return self._bench.changes.latest(path, limit, before, moment)

    def with_new_name(self, error: VaultError) -> VaultError:
        """Return an error about a name that no file has, with the path of the file that had this name before it was renamed."""
        name = error.details.get("name") or error.details.get("path")
        if error.code != FILE_NOT_FOUND or not isinstance(name, str):
            return error
        try:
            path = self._new_path(name)
        except VaultError:  # the journal cannot be read
            path = None
        if path is None:
            return error
        hint = f"{error.message} It was renamed: it is {path!r} now."
        return VaultError(error.code, hint, **{**error.details, "near": [path]})

    def _new_path(self, name: str) -> VaultPath | None:
        """Return the path of the file that last had a name and has another one now; None if no change on record says so."""
        key = fold(linkpath_written(name).strip("/").removesuffix(NOTE_SUFFIX))
        path: VaultPath | None = None
        for change in self._bench.changes.since(0) if key else ():
            for source, target in moves_of(change):
                old = fold(source.removesuffix(NOTE_SUFFIX))
                if old == key or old.endswith(f"/{key}"):
                    path = target
                elif key.startswith(f"{old}/"):  # a folder above it
                    path = VaultPath(target + name.strip("/")[len(source) :])
                elif path is not None:
                    path = follow(path, source, target)
        if path is None or lies_in(path, TRASH):
            return None
        for spelling in (path, VaultPath(path + NOTE_SUFFIX)):
            spelt, exists = self._bench.files.spell(spelling)
            if exists:
                return spelt
        return None

    def _recorded_path(self, name: str, progress: Progress) -> str:
        """Return the path that a name means: as it stands if changes of it are on record, else of a file now or then."""
        bench = self._bench
        path = name.strip().strip("/")
        if not path or bench.changes.latest(path, 1):
            return path
        try:
            return locate_file(bench.files, bench.index, name, progress)
        except VaultError as error:
            if error.code == AMBIGUOUS_NAME:
                raise
        files = (file for change in bench.changes.since(0) for file in change.files)
        recorded = {place for file in files for place in (file.path, file.target) if place is not None}
        try:
            return resolve_name(name, recorded)
        except VaultError as error:
            if error.code == AMBIGUOUS_NAME:
                raise
        return path

    def show(self, number: int) -> DetailedChange:
        """Return one change with its bytes. See ``Changes.show``."""
        return self._bench.changes.show(number)

    def undo(self, numbers: Collection[int], since: str, progress: Progress, *, dry_run: bool) -> Undone:
        """Undo changes together: those with these numbers, or all that were made since a time, whichever client made them.

        Of the changes since a time, those that were undone since then stay as they are. Raises VaultError: as
        ``plan_undo_all`` does, and INVALID_ARGUMENTS unless either numbers or a time are given.
        """
        if bool(numbers) is bool(since):
            raise VaultError(
                INVALID_ARGUMENTS,
                "Give either the numbers of changes, from list_changes, or since, such as '1h' or 'today'.",
                argument="changes",
            )
        bench = self._bench
        with bench.locked(progress):
            if since:
                numbers = [change.id for change in self.since(since)]
            try:
                plan = plan_undo_all(bench.changes, bench.files, numbers, progress)
            except UndoConflict as error:
                self._tell_of_parts(error)
                raise
            notices = [f"Nothing is left of change {change.id} to undo." for change in plan.empty]
            ids = tuple(change.id for change in plan.changes)
            if len(ids) == 1:
                asked = Asked(f"Undoing change {ids[0]}", "that change edited it", undoes=ids)
            else:
                asked = Asked(f"Undoing changes {', '.join(map(str, ids))}", "they edited it", undoes=ids)
            return Undone(bench.finish(plan.steps, notices, progress, dry_run=dry_run, asked=asked), plan.changes)

    def _tell_of_parts(self, error: UndoConflict) -> None:
        """Say in the error where the person has undone a part of a change: that must not be undone first."""
        try:
            decisions = self._bench.holding.decisions.all()
        except OSError:
            return
        undone = {
            (decision.change, decision.by)
            for decision in decisions
            if decision.kind == "undone" and decision.file is not None
        }
        for number, _, later in error.refused:
            by = [decision for decision in later if (number, decision) in undone]
            if not by:
                continue
            named = f"change{'s' if len(by) > 1 else ''} {', '.join(map(str, by))}"
            decisions_told = (
                f"The person undid a part of change {number} with {named}. Do not undo {named}: "
                "if the rest must go, too, edit the notes themselves."
            )
            is_all = len(error.refused) == 1 and by == later
            error.message = f"{decisions_told} Nothing was changed." if is_all else f"{error.message} {decisions_told}"
            error.args = (error.message,)

    def restore(self, path: str, number: int | None, to: str, progress: Progress, *, dry_run: bool) -> Done:
        """Restore a file from the trash or the journal. See ``plan_restore``; ``path`` and ``to`` may be empty."""
        bench = self._bench
        with bench.locked(progress):
            steps = plan_restore(bench.changes, bench.files, path=path, number=number, to=to)
            return bench.finish(steps, [], progress, dry_run=dry_run)

    # ------------------------------------------------------------------ the record, for the person (``review``)

    def stamp(self) -> Hashable | None:
        """Return a value that differs once the list of changes may differ; None if only a look at all of them can tell."""
        return None if self._bench.files.hides_some else self._bench.changes.stamp()

    def changes(self) -> list[Change]:
        """Return the changes on record, the oldest first. Raises VaultError (JOURNAL_FAILED)."""
        return self._bench.changes.since(0)

    def detailed(self, numbers: Sequence[int]) -> Iterator[DetailedChange]:
        """Yield changes with their bytes. Raises VaultError: FILE_NOT_FOUND, JOURNAL_FAILED."""
        return self._bench.changes.show_all(numbers)

    def since(self, moment: str) -> list[Change]:
        """Return the changes made since a time that are in effect. Raises VaultError if it is none (``parse_time``)."""
        start = self.parse_time(moment)
        latest = self.changes()  # the numbers count: a clock may have been set back
        first = next((change.id for change in latest if change.time_ns >= start), None)
        return [] if first is None else in_effect([change for change in latest if change.id >= first])

    def in_effect(self, changes: Iterable[Change]) -> list[Change]:
        """Return those of some changes that count now, the oldest first. See ``undo.in_effect``."""
        return in_effect(sorted(changes, key=lambda change: change.id))

    def parse_time(self, moment: str) -> int:
        """Return a time as nanoseconds. See ``parse_time``."""
        return parse_time(moment, "since", self._bench.now().astimezone())

    # ------------------------------------------------------------------ files as they are now

    def tree(self) -> ProjectedTree:
        """Return the files as they are, to add steps to."""
        return ProjectedTree(self._bench.files)

    def path_now(self, path: VaultPath, number: int) -> VaultPath:
        """Return the path that a file has now which had this one after a change."""
        return moves_in(in_effect(self._bench.changes.since(number))).after(path)

    def resolver(self) -> Callable[[str, str], str | None]:
        """Return what tells where a linktext of a note leads, by the files as they are now."""
        resolve = self._bench.index.resolver(NO_PROGRESS)

        def lead(linktext: str, source: str) -> str | None:
            return resolve(VaultPath(source), [Link(linktext, "", 1, is_embed=False, is_markdown=False)])[0]

        return lead

    # ------------------------------------------------------------------ making

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the vault's lock. See ``Changes.locked``."""
        with self._bench.changes.locked():
            yield

    def plan_undo(self, numbers: Sequence[int], left: Left) -> UndoPlan:
        """Plan the undo of changes, inside ``locked`` if it is made. See ``plan_undo_all``."""
        return plan_undo_all(self._bench.changes, self._bench.files, numbers, NO_PROGRESS, left)

    def plan_part(self, detailed: DetailedChange, index: int) -> list[Step]:
        """Plan the undo of a part of one file of a change. See ``undo.plan_part``."""
        return plan_part(self._bench.changes, self._bench.files, detailed, index)

    def make(self, steps: Sequence[Step], undoes: tuple[int, ...] = (), folders_of: int = 0) -> Change:
        """Make a change of the person's, inside ``locked``. See ``Changes.execute``."""
        bench = self._bench
        author = Author(bench.caller.client, bench.tool, bench.caller.session)
        return bench.changes.execute(steps, author, undoes=undoes, folders_of=folders_of)

    def check(self, steps: Iterable[Step]) -> None:
        """Refuse files that may not be changed, for a dry run. Raises VaultError."""
        for step in steps:
            for path in paths_of(step):
                self._bench.files.check_change(path)


# The proposals of one caller: what of its changes waits for the person, and what was decided.


class Pending:
    """What waits, as one client sees it: its own proposals, without those that concern something hidden."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench
        self._holding = bench.holding

    def _is_own(self, author: Author) -> bool:
        return self._bench.caller.is_author(author.client, author.session)

    def own(self) -> tuple[list[Proposal], int]:
        """Return the client's proposals, the oldest first, and how many of anyone cannot be read. Raises VaultError."""
        try:
            proposals = [proposal for proposal in self._holding.proposals.all() if self._is_own(proposal.author)]
        except OSError as error:
            raise VaultError(JOURNAL_FAILED, f"What waits cannot be read ({error.strerror or error}).") from error
        return self._holding.visible(proposals), len(self._holding.proposals.unreadable())

    def undone(self, most: int) -> list[tuple[Change, Decision]]:
        """Return the client's changes of which the person undid all or a part, the latest undo first. Raises VaultError.

        An undo that was undone itself is left out.
        """
        try:
            decisions = self._holding.decisions.all()
        except OSError as error:
            raise VaultError(JOURNAL_FAILED, f"What was undone cannot be read ({error.strerror or error}).") from error
        changes = {change.id: change for change in self._bench.changes.since(0)}
        undone: list[tuple[Change, Decision]] = []
        for decision in reversed(decisions):
            made, by = changes.get(decision.change or 0), changes.get(decision.by or 0)
            if decision.kind != "undone" or not decision.text or made is None or by is None or len(undone) == most:
                continue
            if self._is_own(made.author) and by.undone_by is None:
                undone.append((made, decision))
        return undone

    def withdraw(self, number: int) -> Proposal:
        """Give up one of the client's proposals. Raises VaultError: FILE_NOT_FOUND, also for another client's proposal."""
        if all(proposal.id != number for proposal in self.own()[0]):
            raise VaultError(
                FILE_NOT_FOUND, f"There is no proposal {number} of yours; pending_changes lists them.", id=number
            )
        try:
            return self._holding.withdraw(number)
        except OSError as error:
            raise VaultError(JOURNAL_FAILED, f"That cannot be recorded ({error.strerror or error}).") from error
