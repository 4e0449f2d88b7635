"""Proposals and decisions of one vault together, and the way from an accepted proposal to a change."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from vaultwire.vault.changes.change import Change, Step, Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, STALE_EDIT, VaultError
from vaultwire.vault.holding.decisions import DecisionLog
from vaultwire.vault.holding.proposals import Proposal, ProposalStore
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath


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

        A diff of an editor is written by its asker, not here: the change that is returned has the id 0 then.
        """
        if self._open(number).kind == "diff":
            return self._accept_diff(self._open(number), edited or {})
        with self._changes.locked(progress):
            proposal = self._open(number)
            made = next((change for change in self._changes.since(0) if change.proposal == number), None)
            if made is None:
                steps = _edited(proposal.steps, edited or {})
                made = self._changes.execute(steps, proposal.author, progress, proposal=number)
            self.proposals.decide(number, "accepted", change=made.id, is_edited=bool(edited))
            return made

    def record(self, proposal: Proposal, after: bytes) -> Change:
        """Record what the asker of an accepted diff has written; once. Raises VaultError as ``Changes.record`` does."""
        with self._changes.locked():
            known = next((change for change in self._changes.since(0) if change.proposal == proposal.id), None)
            if known is not None:
                return known
            step = diff_of(proposal)
            return self._changes.record([Write(step.path, step.old, after)], proposal.author, proposal.id)

    def bytes_at(self, path: VaultPath) -> bytes | None:
        """Return the bytes of a file, None for no file. Raises VaultError."""
        return self._changes.bytes_at(path)

    def is_recorded(self, number: int) -> bool:
        """Tell whether a change on record came from this proposal."""
        return any(change.proposal == number for change in self._changes.since(0))

    def _accept_diff(self, proposal: Proposal, edited: Mapping[int, bytes]) -> Change:
        [step] = _edited(proposal.steps, edited)
        wanted = diff_of(proposal)
        if not proposal.outside and self.bytes_at(wanted.path) != wanted.before:
            message = f"{wanted.path!r} was changed after this was proposed. Refuse it, and ask for it again."
            raise VaultError(STALE_EDIT, message, path=wanted.path)
        after = step.after if isinstance(step, Write) else None
        text = None if after is None or after == wanted.after else after.decode("utf-8", "replace")
        if not self.proposals.decide(proposal.id, "accepted", is_edited=text is not None, edited_text=text):
            self._open(proposal.id)
        return Change(0, time.time_ns(), proposal.author, (), proposal=proposal.id)

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


def diff_of(proposal: Proposal) -> Write:
    """Return the one write that the diff of an editor is made of."""
    [step] = proposal.steps
    assert isinstance(step, Write)
    return step


def _edited(steps: tuple[Step, ...], edited: Mapping[int, bytes]) -> list[Step]:
    found = list(steps)
    for index, data in edited.items():
        step = found[index] if 0 <= index < len(found) else None
        if not isinstance(step, Write) or step.new is None:
            raise VaultError(INVALID_ARGUMENTS, f"File {index} of the proposal has no text to edit.", argument="edited")
        found[index] = Write(step.path, step.old, Content(data))
    return found
