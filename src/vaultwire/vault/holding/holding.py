"""Proposals and decisions of one vault together, and the way from an accepted proposal to a change."""

from __future__ import annotations

import os
from collections.abc import Mapping

from vaultwire.vault.changes.change import Change, Step, Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, VaultError
from vaultwire.vault.holding.decisions import DecisionLog
from vaultwire.vault.holding.proposals import Proposal, ProposalStore
from vaultwire.vault.value_types import NO_PROGRESS, Progress


class Holding:
    """What waits for the person in one vault, and what they decided."""

    def __init__(self, changes: Changes, folder: str) -> None:
        """``folder``: where both are kept, outside the vault."""
        self._changes = changes
        self.proposals = ProposalStore(os.path.join(folder, "proposals"))
        self.decisions = DecisionLog(folder)

    def waiting(self) -> list[Proposal]:
        """Return the proposals that wait, the oldest first."""
        return [proposal for proposal in self.proposals.all() if proposal.state == "waiting"]

    def accept(
        self, number: int, edited: Mapping[int, bytes] | None = None, progress: Progress = NO_PROGRESS
    ) -> Change:
        """Make the change that was proposed. ``edited``: other bytes for some of its steps, by their index.

        Raises VaultError: FILE_NOT_FOUND for a number that is not there, INVALID_ARGUMENTS if it is decided already,
        STALE_EDIT if a file is not what the proposal was made from, and those of ``Changes.execute``.
        """
        with self._changes.locked(progress):
            proposal = self._open(number)
            made = next((change for change in self._changes.since(0) if change.proposal == number), None)
            if made is None:
                steps = _edited(proposal.steps, edited or {})
                made = self._changes.execute(steps, proposal.author, progress, proposal=number)
            self.proposals.decide(number, "accepted", change=made.id, is_edited=bool(edited))
            return made

    def refuse(self, number: int, reason: str = "") -> Proposal:
        """Refuse a proposal. Raises VaultError as ``accept`` does."""
        proposal = self._open(number)
        if not self.proposals.decide(number, "refused", reason=reason):
            self._open(number)
        return proposal

    def _open(self, number: int) -> Proposal:
        proposal = self.proposals.get(number)
        if proposal is None:
            raise VaultError(FILE_NOT_FOUND, f"There is no proposal {number}.", id=number)
        if proposal.state != "waiting":
            raise VaultError(INVALID_ARGUMENTS, f"Proposal {number} was {proposal.state} already.", id=number)
        return proposal


def _edited(steps: tuple[Step, ...], edited: Mapping[int, bytes]) -> list[Step]:
    found = list(steps)
    for index, data in edited.items():
        step = found[index] if 0 <= index < len(found) else None
        if not isinstance(step, Write) or step.new is None:
            raise VaultError(INVALID_ARGUMENTS, f"File {index} of the proposal has no text to edit.", argument="edited")
        found[index] = Write(step.path, step.old, Content(data))
    return found
