"""What was changed in a vault, and taking it back: the journal as one caller uses it. Plans are ``changes.undo``'s."""

from __future__ import annotations

from vaultwire.vault.changes.change import Change, Detailed
from vaultwire.vault.changes.undo import plan_restore, plan_undo
from vaultwire.vault.editing.workbench import Done, Workbench
from vaultwire.vault.errors import INVALID_ARGUMENTS, VaultError
from vaultwire.vault.value_types import Progress


class History:
    """The changes of one vault, for one caller."""

    def __init__(self, bench: Workbench) -> None:
        self._bench = bench

    def latest(self, path: str, limit: int, before: int | None) -> list[Change]:
        """Return the changes on record, the latest first. See ``Changes.latest``; ``path`` may be empty."""
        return self._bench.changes.latest(path.strip().strip("/") or None, limit, before)

    def show(self, number: int) -> Detailed:
        """Return one change with its bytes. See ``Changes.show``."""
        return self._bench.changes.show(number)

    def undo(self, number: int, progress: Progress, *, dry_run: bool) -> Done:
        """Take a change back. See ``plan_undo``."""
        bench = self._bench
        with bench.held(progress):
            steps = plan_undo(bench.changes, bench.files, number)
            return bench.finish(steps, [], progress, dry_run=dry_run, undoes=number)

    def restore(self, path: str, number: int | None, to: str, progress: Progress, *, dry_run: bool) -> Done:
        """Bring a file back from the trash or the journal. See ``plan_restore``; texts may be empty."""
        if not path.strip() and number is None:
            raise VaultError(INVALID_ARGUMENTS, "Name the note to restore by path, or the change that deleted it.")
        bench = self._bench
        with bench.held(progress):
            steps = plan_restore(
                bench.changes, bench.files, path=path.strip() or None, number=number, to=to.strip() or None
            )
            return bench.finish(steps, [], progress, dry_run=dry_run)
