"""The proposals of one caller: what of its changes waits for the person, and what was decided."""

from __future__ import annotations

from vaultwire.vault.changes.change import Author, Change
from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.errors import FILE_NOT_FOUND, JOURNAL_FAILED, VaultError
from vaultwire.vault.holding.decisions import Decision
from vaultwire.vault.holding.proposals import Proposal


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
            proposals = [each for each in self._holding.proposals.all() if self._is_own(each.author)]
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
        found: list[tuple[Change, Decision]] = []
        for each in reversed(decisions):
            made, by = changes.get(each.change or 0), changes.get(each.by or 0)
            if each.kind != "undone" or not each.text or made is None or by is None or len(found) == most:
                continue
            if self._is_own(made.author) and by.undone_by is None:
                found.append((made, each))
        return found

    def withdraw(self, number: int) -> Proposal:
        """Give up one of the client's proposals. Raises VaultError: FILE_NOT_FOUND, also for another client's proposal."""
        if all(each.id != number for each in self.own()[0]):
            raise VaultError(
                FILE_NOT_FOUND, f"There is no proposal {number} of yours; pending_changes lists them.", id=number
            )
        try:
            return self._holding.withdraw(number)
        except OSError as error:
            raise VaultError(JOURNAL_FAILED, f"That cannot be recorded ({error.strerror or error}).") from error
