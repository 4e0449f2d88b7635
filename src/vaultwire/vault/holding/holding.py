"""Proposals and decisions of one vault together, and the way from an accepted proposal to a change.

Each decision is made under the vault's lock, written to ``proposals`` and added to ``decisions`` here, with what the agent is
told (``words``): callers of ``accept`` and ``refuse`` add nothing. An accepted proposal is executed first and decided
then. A process that is killed between the two leaves a change in the journal with the proposal's number: the next look finds
it as accepted. The journal may remove that change 90 days later, when a later change begins. If nobody looked for so long,
the proposal waits again; that loses nothing, because the person sees what accepting it does to the notes as they are.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from vaultwire.vault.changes.change import Author, Change, Move, Step, Write, paths_of
from vaultwire.vault.changes.executor import Changes
from vaultwire.vault.changes.projected_tree import Overlap, ProjectedTree, Rebased, rebase
from vaultwire.vault.changes.record_store import RecordsAwayError, busy
from vaultwire.vault.changes.undo import in_effect, moves_in
from vaultwire.vault.disk.files import Files
from vaultwire.vault.disk.paths import TRASH, lies_in
from vaultwire.vault.errors import FILE_NOT_FOUND, INVALID_ARGUMENTS, JOURNAL_FAILED, STALE_EDIT, VaultError
from vaultwire.vault.holding import words
from vaultwire.vault.holding.proposals import Decision, DecisionKind, DecisionLog, Kind, Proposal, ProposalStore
from vaultwire.vault.value_types import NO_PROGRESS, Progress, VaultPath

# Which proposals a run may see if some of the vault is hidden from it: those that concern nothing hidden, now or then.
#
# As with changes on record (``changes.journal``), a proposal of which a part is hidden is not there at all.


def may_be_seen(files: Files, proposal: Proposal) -> bool:
    """Tell whether a run may see a proposal. A file outside the vault is not seen."""
    if proposal.outside:
        return False
    try:
        return all(_may_be_seen(files, step) for step in proposal.steps)
    except VaultError:  # its bytes cannot be read, so they may be private
        return False


def _may_be_seen(files: Files, step: Step) -> bool:
    if not all(_sees(files, path) for path in paths_of(step)):
        return False
    if not isinstance(step, Write) or not files.hides_private_notes:
        return True
    contents = [content for content in (step.old, step.new) if content is not None]
    return not any(files.is_private(step.path, content.data) for content in contents)


def _sees(files: Files, path: VaultPath) -> bool:
    if lies_in(path, TRASH):
        return True  # its former path is checked as well
    if os.path.lexists(files.entry_path(path)):
        return files.is_taken(path)
    return files.may_be_seen(path)


Divide: TypeAlias = Callable[[Rebased], tuple[Sequence[Step], Sequence[Step]]]
"""Divides steps into those to make now and those that wait on. Raises VaultError if that cannot be."""


class Holding:
    """What waits for the person in one vault, and what they decided."""

    def __init__(self, changes: Changes, files: Files | None = None) -> None:
        """``files``: what this run may see."""
        self._changes = changes
        self._files = files
        self.proposals = ProposalStore(changes.store)
        self.decisions = DecisionLog(changes.store)

    def waiting(self) -> list[Proposal]:
        """Return the proposals that wait, the oldest first."""
        return self.proposals.waiting()

    def visible(self, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Return those of the proposals that concern nothing that is hidden from this run."""
        files = self._files
        if files is None or not files.hides_some:
            return list(proposals)
        return [proposal for proposal in proposals if may_be_seen(files, proposal)]

    def may_tell(self, decisions: Sequence[Decision]) -> list[bool]:
        """Tell of each decision whether this run may see what it is about: a note may be hidden by now. Raises as ``all``."""
        files = self._files
        if not decisions or files is None or not files.hides_some:
            return [True] * len(decisions)
        changes = {change.id for change in self._changes.since(0)}
        may_tell = []
        for decision in decisions:
            proposal = None if decision.proposal is None else self.proposals.get(decision.proposal)
            is_seen = decision.proposal is None or (proposal is not None and may_be_seen(files, proposal))
            may_tell.append(is_seen and {decision.change, decision.by} - {None} <= changes)
        return may_tell

    def hold(self, kind: Kind, author: Author, steps: Sequence[Step], undoes: tuple[int, ...] = ()) -> Proposal:
        """Add a proposal. Raises VaultError: STALE_EDIT, TOO_MANY_WAITING, and JOURNAL_FAILED if it cannot be kept."""
        return self._add(kind, author, steps, undoes=undoes)

    def _add(
        self, kind: Kind, author: Author, steps: Sequence[Step], undoes: tuple[int, ...] = (), time_ns: int = 0
    ) -> Proposal:
        try:
            return self.proposals.add(kind, author, steps, label=author.tool, undoes=undoes, time_ns=time_ns)
        except RecordsAwayError as error:
            raise busy(error) from error
        except OSError as error:
            raise VaultError(
                JOURNAL_FAILED,
                f"This change waits for the person, and it cannot be kept until then ({error.strerror or error}). Nothing was "
                "written. Free space, or set VAULTWIRE_STATE to a folder that can be written to.",
            ) from error

    def rebased(
        self, proposal: Proposal, edited: Mapping[int, bytes] | None = None, tree: ProjectedTree | None = None
    ) -> Rebased:
        """Return what accepting a proposal does to the files as they are now, or as they are in a tree. See ``rebase``."""

        def path_now(path: VaultPath) -> VaultPath:
            later = [change for change in self._changes.since(0) if change.time_ns > proposal.time_ns]
            return moves_in(in_effect(later)).after(path)

        tree = tree or ProjectedTree(self._changes.files)
        now = rebase(tree, proposal.steps, path_now, edited)
        early = self._early(proposal, tree)
        return now._replace(overlaps=early | now.overlaps) if early else now

    def _early(self, proposal: Proposal, tree: ProjectedTree) -> dict[int, Overlap]:
        """Return what comes too early: a new file in a folder that the session's earlier proposal moves there.

        Made first, the file would take the folder's place.
        """
        new = {
            index: step.path for index, step in enumerate(proposal.steps) if isinstance(step, Write) and not step.old
        }
        if not new:
            return {}
        moves = [
            (earlier.id, step.target)
            for earlier in self.waiting()
            if earlier.id < proposal.id and earlier.author._replace(tool="") == proposal.author._replace(tool="")
            for step in earlier.steps
            if isinstance(step, Move) and not tree.exists(step.target)
        ]
        return {
            index: Overlap(f"proposal {number} moves the folder {folder!r} there, decide that one first")
            for index, path in new.items()
            for number, folder in moves
            if lies_in(path, folder)
        }

    def obstacle(self, proposal: Proposal, now: Rebased, edited: Collection[int] = ()) -> VaultError | None:
        """Return why a proposal cannot be accepted as it is, None if it can; with other texts for the steps ``edited``.

        Its client writes the diff of an editor, and merges nothing.
        """
        if proposal.kind == "diff" and now.is_moved_on:
            return _stale_diff(diff_of(proposal).path)
        overlaps = [overlap for index, overlap in now.overlaps.items() if index not in edited]
        return overlapping(proposal.id, overlaps) if overlaps else None

    def accept(
        self, number: int, edited: Mapping[int, bytes] | None = None, progress: Progress = NO_PROGRESS, basis: str = ""
    ) -> Change:
        """Make the change that was proposed, on the files as they are now; what was changed since elsewhere in them stays.

        ``edited``: other bytes for some of its steps, by their index, which replace all that is there. ``basis``: what the
        person saw (``Rebased``), needed for edits of files that were changed since.

        Raises VaultError: FILE_NOT_FOUND for a number that is not there, INVALID_ARGUMENTS if it is decided already,
        STALE_EDIT if the same lines were changed since, or anything since the person looked, and those of ``Changes.execute``.

        The diff of an editor is written by its asker, not here: the change that is returned has the id 0 then, and is on
        record once the asker has written the file (``record``).
        """
        with self._changes.locked(progress):
            proposal = self._open(number)
            if proposal.kind == "diff":
                return self._accept_diff(proposal, edited or {})
            texts = _changed(proposal.steps, edited or {})
            seen = self._seen(proposal, basis, is_edited=bool(texts))
            now = self.rebased(proposal, texts) if texts else seen
            obstacle = self.obstacle(proposal, now)
            if obstacle is not None:
                raise obstacle
            made = self._changes.execute(now.steps, proposal.author, progress, proposal.undoes, proposal=number)
            self.proposals.decide(number, "accepted", change=made.id or None, is_edited=bool(texts))
            text = words.accepted(proposal, made.id)
            if texts:
                text = words.edited(proposal._replace(steps=seen.steps), made.id, texts)
            self._log(proposal, "edited" if texts else "accepted", text, change=made.id or None)
            return made

    def accept_part(self, number: int, divide: Divide, basis: str = "") -> tuple[Change, Proposal | None]:
        """Make a part of a proposal; the rest waits on, as a proposal of its own, which is returned with the change.

        A kill in between leaves the part in both proposals; once made, it is not made again. Raises VaultError as ``accept``.
        """
        with self._changes.locked():
            proposal = self._open(number)
            steps, rest = divide(self._seen(proposal, basis))
            waits = None
            if any(isinstance(step, Move) or step.old != step.new for step in rest):
                waits = self._add("write", proposal.author, rest, time_ns=proposal.time_ns)
            try:
                made = self._changes.execute(steps, proposal.author, proposal=number)
            except BaseException:
                if waits is not None:
                    self.proposals.decide(waits.id, "withdrawn", reason="The part before it could not be written.")
                raise
            self.proposals.decide(number, "accepted", change=made.id or None)
            text = words.accepted_in_part(proposal, made, None if waits is None else waits.id)
            self._log(proposal, "accepted", text, change=made.id or None)
            return made, waits

    def _seen(self, proposal: Proposal, basis: str, *, is_edited: bool = False) -> Rebased:
        """Return what accepting a proposal does, after checking that the person has seen that."""
        now = self.rebased(proposal)
        is_moved_on = now.is_moved_on or bool(now.overlaps)
        if basis not in ("", now.basis) or (is_edited and is_moved_on and not basis):
            message = f"What proposal {proposal.id} changes was changed while you looked. Look again, then decide."
            raise VaultError(STALE_EDIT, message, id=proposal.id)
        return now

    def record(self, proposal: Proposal, after: bytes) -> Change | None:
        """Record what the asker of a diff has written, once; None if it is on record. Raises as ``Changes.record``."""
        with self._changes.locked():
            if self.is_recorded(proposal.id):
                return None
            step = diff_of(proposal)
            return self._changes.record([Write(step.path, step.old, after)], proposal.author, proposal.id)

    def is_recorded(self, number: int) -> bool:
        """Tell whether a change on record was made of this proposal."""
        return self._changes.is_made_of(number)

    def bytes_at(self, path: VaultPath) -> bytes | None:
        """Return the bytes of a file, None for no file. Raises VaultError."""
        return self._changes.bytes_at(path)

    def _accept_diff(self, proposal: Proposal, edited: Mapping[int, bytes]) -> Change:
        step, texts = diff_of(proposal), _changed(proposal.steps, edited)
        if not proposal.outside and self.bytes_at(step.path) != step.before:
            raise _stale_diff(step.path)
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


def _stale_diff(path: VaultPath) -> VaultError:
    message = f"{path!r} was changed after this was proposed. Refuse it, and ask for it again."
    return VaultError(STALE_EDIT, message, path=path)


def overlapping(number: int, overlaps: Iterable[Overlap]) -> VaultError:
    """Return the error of a proposal that cannot be made beside what was changed since."""
    reasons = "; ".join(dict.fromkeys(overlap.reason for overlap in overlaps))
    return VaultError(
        STALE_EDIT,
        f"Proposal {number} cannot be accepted as it is: {reasons}. Edit it, or refuse it with that reason.",
        id=number,
    )


def diff_of(proposal: Proposal) -> Write:
    """Return the one write that the diff of an editor is made of."""
    [step] = proposal.steps
    assert isinstance(step, Write)
    return step


def _changed(steps: tuple[Step, ...], edited: Mapping[int, bytes]) -> dict[int, bytes]:
    """Return the bytes that differ from what was proposed. Raises VaultError (INVALID_ARGUMENTS)."""
    contents = {}
    for index, data in edited.items():
        step = steps[index] if 0 <= index < len(steps) else None
        if not isinstance(step, Write) or step.new is None:
            raise VaultError(INVALID_ARGUMENTS, f"File {index} of the proposal has no text to edit.", argument="edited")
        if not step.new.is_same(data):
            contents[index] = data
    return contents
