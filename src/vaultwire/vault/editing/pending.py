"""The proposals of one caller: what of its changes waits for the person, and what was decided."""

from __future__ import annotations

from vaultwire.vault.editing.workbench import Workbench
from vaultwire.vault.errors import FILE_NOT_FOUND, JOURNAL_FAILED, VaultError
from vaultwire.vault.holding.proposals import Proposal


class Pending:
    """What waits, as one client sees it: its own proposals, without those that concern something hidden."""

    def __init__(self, bench: Workbench) -> None:
        self._holding = bench.holding
        self._client = bench.caller.client

    def own(self) -> tuple[list[Proposal], int]:
        """Return the client's proposals, the oldest first, and how many of anyone cannot be read. Raises VaultError."""
        try:
            proposals = [each for each in self._holding.proposals.all() if each.author.client == self._client]
        except OSError as error:
            raise VaultError(JOURNAL_FAILED, f"What waits cannot be read ({error.strerror or error}).") from error
        return self._holding.visible(proposals), len(self._holding.proposals.unreadable())

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
