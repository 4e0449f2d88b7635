"""The changes on record, and undoing them: the journal as one caller uses it. Planned by ``changes.undo``."""

from __future__ import annotations

from vaultwire.vault.changes.change import Change, DetailedChange
from vaultwire.vault.changes.undo import plan_restore, plan_undo
from vaultwire.vault.editing.workbench import Asked, Done, Workbench
from vaultwire.vault.value_types import Progress


class History:
    """The changes of one vault, for one caller."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def latest(self, path: str, limit: int, before: int | None) -> list[Change]:
        """Return the changes on record, the latest first. See ``Changes.latest``; ``path`` may be empty."""
        return self._bench.changes.latest(path.strip().strip("/") or None, limit, before)

    def show(self, number: int) -> DetailedChange:
        """Return one change with its bytes. See ``Changes.show``."""
        return self._bench.changes.show(number)

    def undo(self, number: int, progress: Progress, *, dry_run: bool) -> Done:
        """Undo a change. See ``plan_undo``."""
        bench = self._bench
        with bench.locked(progress):
            steps = plan_undo(bench.changes, bench.files, number)
            asked = Asked(f"Undoing change {number}", "that change edited it", undoes=number)
            return bench.finish(steps, [], progress, dry_run=dry_run, asked=asked)

    def restore(self, path: str, number: int | None, to: str, progress: Progress, *, dry_run: bool) -> Done:
        """Restore a file from the trash or the journal. See ``plan_restore``; ``path`` and ``to`` may be empty."""
        bench = self._bench
        with bench.locked(progress):
            steps = plan_restore(bench.changes, bench.files, path=path, number=number, to=to)
            return bench.finish(steps, [], progress, dry_run=dry_run)
