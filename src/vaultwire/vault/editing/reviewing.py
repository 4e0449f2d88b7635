"""What the person does about changes on record: undo of all or a part of them, and how files stand now.

What a part is, the room ``review`` says; here it is planned and made, in one block under the vault's lock.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from vaultwire.markdown.parsed_note import Link
from vaultwire.vault.changes.change import Author, Change, DetailedChange, Step, paths_of
from vaultwire.vault.changes.projected_tree import ProjectedTree
from vaultwire.vault.changes.undo import Left, UndoPlan, in_effect, moves_in, plan_part, plan_undo_all
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.search.filters import parse_time
from vaultwire.vault.value_types import NO_PROGRESS, VaultPath


class Reviewing:
    """The changes of one vault, for the person."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    # ------------------------------------------------------------------ the record

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
        latest = self.changes()
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
