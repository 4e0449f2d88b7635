"""Proposals and decisions of one vault together, and the way from an accepted proposal to a change.

Each decision is made under the vault's lock, written to ``proposals`` and added to ``decisions`` here, with what the agent is
told (``words``): whoever calls ``accept`` or ``refuse`` adds nothing. An accepted proposal is executed first and decided
then. A process that is killed between the two leaves a change in the journal with the proposal's number: the next look finds
it as accepted. The journal may remove that change 90 days later, when a later change begins. If nobody looked for so long,
the proposal waits again; that loses nothing, because ``accept`` refuses one whose notes are not what it was made from.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence

from vaultwire.vault.changes.change import Author, Change, Step, Write
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.disk.contents import Content
from vaultwire.vault.disk.files import Files
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, JOURNAL_FAILED, STALE_EDIT, VaultError
from vaultwire.vault.holding import words
from vaultwire.vault.holding.decisions import Decision, DecisionKind, DecisionLog
from vaultwire.vault.holding.proposals import Kind, Proposal, ProposalStore
from vaultwire.vault.holding.visible_proposals import may_be_seen
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath


class Holding:
    """What waits for the person in one vault, and what they decided."""

    def __init__(self, changes: Changes, folder: str, files: Files | None = None) -> None:
        """``folder``: where both are kept, outside the vault. ``files``: what this run may see."""
        self._changes = changes
        self._files = files
        self.proposals = ProposalStore(
            os.path.join(folder, "proposals"),
            made_of=changes.made_of,
            highest_made=changes.highest_proposal,
        )
        self.decisions = DecisionLog(folder)

    def waiting(self) -> list[Proposal]:
        """Return the proposals that wait, the oldest first."""
        return self.proposals.waiting()

    def visible(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Return those of the proposals that concern nothing that is hidden from this run."""
        files = self._files
        if files is None or not files.hides_some:
            return list(proposals)
        return [each for each in proposals if may_be_seen(files, each)]

    def may_tell(self, decisions: Sequence[Decision]) -> list[bool]:
        """Tell of each decision whether this run may see what it is about: a note may be hidden by now. Raises as ``all``."""
        files = self._files
        if not decisions or files is None or not files.hides_some:
            return [True] * len(decisions)
        changes = {change.id for change in self._changes.since(0)}
        told = []
        for each in decisions:
            proposal = None if each.proposal is None else self.proposals.get(each.proposal)
            is_seen = each.proposal is None or (proposal is not None and may_be_seen(files, proposal))
            told.append(is_seen and {each.change, each.by} - {None} <= changes)
        return told

    def hold(self, kind: Kind, author: Author, steps: Sequence[Step], undoes: tuple[int, ...] = ()) -> Proposal:
        """Add a proposal. Raises VaultError: STALE_EDIT, TOO_MANY_WAITING, and JOURNAL_FAILED if it cannot be kept."""
        try:
            return self.proposals.add(kind, author, steps, label=author.tool, undoes=undoes)
        except OSError as error:
            raise VaultError(
                JOURNAL_FAILED,
                f"This change waits for the person, and it cannot be kept until then ({error.strerror or error}). Nothing was "
                "written. Free space, or set VAULTWIRE_STATE to a folder that can be written to.",
            ) from error

    def accept(
        self, number: int, edited: Mapping[int, bytes] | None = None, progress: Progress = NO_PROGRESS
    ) -> Change:
        """Make the change that was proposed. ``edited``: other bytes for some of its steps, by their index.

        Raises VaultError: FILE_NOT_FOUND for a number that is not there, INVALID_ARGUMENTS if it is decided already,
        STALE_EDIT if a file is not what the proposal was made from, and those of ``Changes.execute``.

        The diff of an editor is written by its asker, not here: the change that is returned has the id 0 then, and is on
        record once the asker has written the file (``record``).
        """
        with self._changes.locked(progress):
            proposal = self._open(number)
            if proposal.kind == "diff":
                return self._accept_diff(proposal, edited or {})
            texts = _changed(proposal.steps, edited or {})
            steps = [_with_text(step, texts.get(index)) for index, step in enumerate(proposal.steps)]
            made = self._changes.execute(steps, proposal.author, progress, proposal.undoes, proposal=number)
            self.proposals.decide(number, "accepted", change=made.id or None, is_edited=bool(texts))
            text = words.edited(proposal, made.id, texts) if texts else words.accepted(proposal, made.id)
            self._log(proposal, "edited" if texts else "accepted", text, change=made.id or None)
            return made

    def record(self, proposal: Proposal, after: bytes) -> Change | None:
        """Record what the asker of a diff has written, once; None if it is on record. Raises as ``Changes.record``."""
        with self._changes.locked():
            if self.is_recorded(proposal.id):
                return None
            step = diff_of(proposal)
            return self._changes.record([Write(step.path, step.old, after)], proposal.author, proposal.id)

    def is_recorded(self, number: int) -> bool:
        """Tell whether a change on record was made of this proposal."""
        return bool(self._changes.made_of([number]))

    def bytes_at(self, path: VaultPath) -> bytes | None:
        """Return the bytes of a file, None for no file. Raises VaultError."""
        return self._changes.bytes_at(path)

    def _accept_diff(self, proposal: Proposal, edited: Mapping[int, bytes]) -> Change:
        step, texts = diff_of(proposal), _changed(proposal.steps, edited)
        if not proposal.outside and self.bytes_at(step.path) != step.before:
            message = f"{step.path!r} was changed after this was proposed. Refuse it, and ask for it again."
            raise VaultError(STALE_EDIT, message, path=step.path)
        text = texts[0].decode("utf-8", "replace") if texts else None
        if not self.proposals.decide(proposal.id, "accepted", is_edited=bool(texts), edited_text=text):
            self._open(proposal.id)
        self._log(proposal, "edited" if texts else "accepted", "")  # its client tells its agent
        return Change(0, time.time_ns(), proposal.author, (), proposal=proposal.id)

    def refuse(self, number: int, reason: str = "") -> Proposal:
        """Refuse a proposal. Raises VaultError as ``accept`` does."""
        with self._changes.locked():
            proposal = self._open(number)
            self.proposals.decide(number, "refused", reason=reason)
            # The client of an editor's diff tells its agent itself, but not the reason.
            text = "" if proposal.kind == "diff" and not reason else words.refused(proposal, reason)
            self._log(proposal, "refused", text)
            return proposal

    def withdraw(self, number: int, reason: str = "") -> Proposal:
        """Give a proposal up, for its asker: nothing is told. Raises VaultError as ``accept`` does."""
        with self._changes.locked():
            proposal = self._open(number)
            self.proposals.decide(number, "withdrawn", reason=reason)
            return proposal

    def _log(self, proposal: Proposal, kind: DecisionKind, text: str, change: int | None = None) -> None:
        author = proposal.author
        said = Decision(kind, author.session, author.client, change=change, proposal=proposal.id, by=change, text=text)
        try:
            self.decisions.add(said)
        except OSError:  # a full disk: it is decided all the same, and pending_changes tells it
            pass

    def _open(self, number: int) -> Proposal:
        """Return a proposal that waits. Under the vault's lock, so that no other process decides it meanwhile."""
        proposal = self.proposals.get(number)
        if proposal is None:
            raise VaultError(FILE_NOT_FOUND, f"There is no proposal {number}.", id=number)
        if proposal.state == "accepted" and not proposal.decided_ns:  # a killed process has executed it
            self.proposals.decide(number, "accepted", change=proposal.change)
        if proposal.state != "waiting":
            raise VaultError(INVALID_ARGUMENTS, f"Proposal {number} was {proposal.state} already.", id=number)
        return proposal


def diff_of(proposal: Proposal) -> Write:
    """Return the one write that the diff of an editor is made of."""
    [step] = proposal.steps
    assert isinstance(step, Write)
    return step


def _changed(steps: tuple[Step, ...], edited: Mapping[int, bytes]) -> dict[int, bytes]:
    """Return the bytes that differ from what was proposed. Raises VaultError (INVALID_ARGUMENTS)."""
    found = {}
    for index, data in edited.items():
        step = steps[index] if 0 <= index < len(steps) else None
        if not isinstance(step, Write) or step.new is None:
            raise VaultError(INVALID_ARGUMENTS, f"File {index} of the proposal has no text to edit.", argument="edited")
        if not step.new.is_same(data):
            found[index] = data
    return found


def _with_text(step: Step, data: bytes | None) -> Step:
    return Write(step.path, step.old, Content(data)) if data is not None and isinstance(step, Write) else step
