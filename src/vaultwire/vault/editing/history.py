"""The changes on record, and undoing them: the journal as one caller uses it. Planned by ``changes.undo``."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from vaultwire.markdown.links import linkpath_written
from vaultwire.vault.changes.change import Change, DetailedChange, follow, moves_of
from vaultwire.vault.changes.restoring import plan_restore
from vaultwire.vault.changes.undo import UndoConflict, in_effect, plan_undo_all
from vaultwire.vault.disk.paths import NOTE_SUFFIX, TRASH, fold, lies_in
from vaultwire.vault.editing.workbench import Asked, Done, Workbench
from vaultwire.vault.errors import AMBIGUOUS_NAME, FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
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
        moment = self._moment(since) if since else None
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
        for each in (path, VaultPath(path + NOTE_SUFFIX)):
            found, exists = self._bench.files.spell(each)
            if exists:
                return found
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
        recorded = {each for file in files for each in (file.path, file.target) if each is not None}
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
        moment = self._moment(since) if since else 0
        with bench.locked(progress):
            if since:
                # By the numbers: a clock may have been set back.
                latest = bench.changes.since(0)
                first = next((change.id for change in latest if change.time_ns >= moment), None)
                made = [] if first is None else in_effect([change for change in latest if change.id >= first])
                numbers = [change.id for change in made]
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
        undone = {(each.change, each.by) for each in decisions if each.kind == "undone" and each.file is not None}
        for number, _, later in error.refused:
            by = [each for each in later if (number, each) in undone]
            if not by:
                continue
            named = f"change{'s' if len(by) > 1 else ''} {', '.join(map(str, by))}"
            told = (
                f"The person undid a part of change {number} with {named}. Do not undo {named}: "
                "if the rest must go, too, edit the notes themselves."
            )
            is_all = len(error.refused) == 1 and by == later
            error.message = f"{told} Nothing was changed." if is_all else f"{error.message} {told}"
            error.args = (error.message,)

    def restore(self, path: str, number: int | None, to: str, progress: Progress, *, dry_run: bool) -> Done:
        """Restore a file from the trash or the journal. See ``plan_restore``; ``path`` and ``to`` may be empty."""
        bench = self._bench
        with bench.locked(progress):
            steps = plan_restore(bench.changes, bench.files, path=path, number=number, to=to)
            return bench.finish(steps, [], progress, dry_run=dry_run)

    def _moment(self, since: str) -> int:
        return parse_time(since, "since", self._bench.now().astimezone())
